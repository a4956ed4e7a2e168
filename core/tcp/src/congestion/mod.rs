//! Congestion control: how much may be in flight.
//!
//! One trait, one file per algorithm, one line in [`REGISTRY`]. The trait can
//! host a window-based control (Reno, CUBIC) and a rate-based model: an
//! [`Ack`] carries the rate sample (delivered, interval, round-trip time,
//! losses, what was in flight, whether the application was slow), and the
//! control owns cwnd, ssthresh, pacing rate, send quantum and what it needs to
//! take a reduction back.
//!
//! Finding losses and repairing them is somebody else's work
//! (`recovery`, a module beside this one): this side only learns that there was congestion.
//! During recovery the engine lets `pipe` (RFC 6675) run up to cwnd, so no
//! control inflates its window by duplicate acknowledgments.
//!
//! To add a control: one file here that implements [`CongestionControl`], one
//! entry in [`REGISTRY`], one golden snapshot of its window per round.

pub mod cubic;
pub mod reno;

mod bic;
mod bic_2_6_20;
mod cdg;
mod compound;
mod copa;
mod cubic_2_6_20;
mod cubic_linux;
mod cute;
mod dctcp;
mod decbit;
mod fixed;
mod gate;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod linux_2_6_20;
mod lp;
mod nv;
mod prague;
mod round_rtt;
mod scalable;
mod slow_start;
mod tahoe;
mod validation;
mod vegas;
mod veno;
mod westwood;
mod windowed;
mod yeah;

use alloc::boxed::Box;
use core::fmt::Debug;

use gigatcp_events::Phase;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use crate::profile::Profile;

pub(crate) use validation::Validation;

/// What a congestion control learns from one arriving acknowledgment.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Instant,
    /// Octets newly acknowledged cumulatively.
    pub acked: Bytes,
    /// Octets newly acknowledged selectively.
    pub sacked: Bytes,
    /// Octets newly marked lost.
    pub lost: Bytes,
    /// Of the octets delivered, those that arrived with a congestion mark (CE):
    /// `DCTCP.BytesMarked` of RFC 8257 section 3.3. With accurate feedback (RFC
    /// 9768) what the receiver counted; with the classic one (RFC 3168) all
    /// that an ACK with ECN-Echo covers, which is right only where the receiver
    /// echoes as RFC 8257 section 3.2 says.
    pub ce_marked: Bytes,
    /// The same in wire segments.
    pub ce_marked_segments: u32,
    /// Transmissions wholly acknowledged by this ACK: a super-segment counts
    /// once. Linux before 2.6.29 showed its controls this number as `packets
    /// acked` while segmentation offload was on.
    pub acked_transmissions: u32,
    /// Recovery phase after this ACK was processed.
    pub phase: Phase,
    /// `pipe` before this ACK: what was in flight, in octets.
    pub prior_in_flight: Bytes,
    /// Whether the sender had filled cwnd since the ACK before (otherwise the
    /// window has not been tested and should not grow; RFC 7661).
    pub cwnd_limited: bool,
    /// Round-trip time measured by this ACK, if it allows one (Karn).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time; absent before the first sample.
    pub srtt: Option<Duration>,
    /// Smallest round-trip time of the connection so far.
    pub min_rtt: Option<Duration>,
    /// Whether this ACK ends a round and begins the next: it is the first to
    /// report, cumulatively or selectively, something that was sent after the
    /// round before had begun.
    pub round_end: bool,
    /// Delivery rate sample, if this ACK allows one.
    pub rate: Option<RateSample>,
}

/// How fast the network delivered, measured over the flight of the most
/// recently sent segment that was just acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Octets delivered between the sending of that segment and now.
    pub delivered: Bytes,
    /// Total delivered when that segment was sent (marks its round).
    pub prior_delivered: Bytes,
    /// The longer of send interval and ACK interval.
    pub interval: Duration,
    /// Whether the application was the limit when that segment was sent.
    pub app_limited: bool,
    /// Whether this ACK was probably held back by the receiver (delayed ACK).
    pub ack_delayed: bool,
}

/// How congestion showed itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss found by duplicate or selective acknowledgments: recovery begins.
    Loss,
    /// An explicit notification (RFC 3168): as loss, but nothing to repair.
    Ecn,
    /// First retransmission timeout of a segment. A repeated timeout of the
    /// same segment is not reported again (RFC 5681 section 3.1, eq. 4).
    Timeout,
}

/// A congestion event: at most one per window of data.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was found.
    pub now: Instant,
    /// What it was.
    pub kind: CongestionKind,
    /// `FlightSize` of RFC 5681: octets sent and not cumulatively acknowledged.
    pub flight_size: Bytes,
    /// `pipe` of RFC 6675: octets estimated to be in the network.
    pub pipe: Bytes,
}

/// How the window opens while it is below ssthresh.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SlowStart {
    /// As the control has it or, where it has no way of its own, the profile.
    #[default]
    Usual,
    /// RFC 5681 section 3.1: until ssthresh or congestion.
    Standard,
    /// Limited slow start, RFC 3742, with `max_ssthresh` in segments.
    Limited {
        /// Window above which growth is limited; the RFC proposes 100.
        max_ssthresh: u32,
    },
    /// `HyStart` as in Linux 6: ends by the length of ACK trains or by delay.
    HyStart,
    /// `HyStart++`, RFC 9406: delay leads into five slower rounds first.
    HyStartPlusPlus,
    /// SEARCH, draft-chung-ccwg-search-09: ends where less is delivered than was
    /// sent a round-trip time before, and leads the window down.
    Search,
}

impl SlowStart {
    /// Names in plans, in the order of the variants.
    pub const NAMES: [&'static str; 6] = [
        "usual",
        "standard",
        "limited",
        "hystart",
        "hystart++",
        "search",
    ];

    /// Its name in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES[match self {
            Self::Usual => 0,
            Self::Standard => 1,
            Self::Limited { .. } => 2,
            Self::HyStart => 3,
            Self::HyStartPlusPlus => 4,
            Self::Search => 5,
        }]
    }

    /// The way of that name; `max_ssthresh` is for the limited one.
    #[must_use]
    pub fn find(name: &str, max_ssthresh: u32) -> Option<Self> {
        let ways = [
            Self::Usual,
            Self::Standard,
            Self::Limited { max_ssthresh },
            Self::HyStart,
            Self::HyStartPlusPlus,
            Self::Search,
        ];
        ways.into_iter().find(|way| way.name() == name)
    }
}

/// How acknowledgments are counted when the window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// One step per acknowledgment, however much it covers (before RFC 3465;
    /// Linux 2.6.20 with `tcp_abc = 0`).
    PerAck,
    /// Appropriate byte counting, RFC 3465, with the limit L in segments per
    /// acknowledgment; after a timeout L is 1.
    Bytes {
        /// L of RFC 3465 section 2.2: at most 2 there; larger values mean
        /// "as many as were acknowledged", as Linux does since 3.x.
        limit: u32,
    },
}

/// Everything a control needs to start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Sender maximum segment size (payload octets per segment).
    pub smss: u32,
    /// Initial window.
    pub initial_window: Bytes,
    /// Start value of ssthresh in segments; 0 = unset ("arbitrarily high").
    /// Absent = the control's own default: unset, but 100 for the controls of
    /// Linux 2.6.20, which had it as a module parameter of that default.
    pub initial_ssthresh: Option<u32>,
    /// Slow-start variant.
    pub slow_start: SlowStart,
    /// What [`SlowStart::Usual`] means for a control without a way of its own.
    pub usual_slow_start: SlowStart,
    /// How acknowledgments are counted.
    pub counting: Counting,
    /// Whether the sender spaces its segments: `HyStart` and `HyStart++` read
    /// trains and counts of ACKs otherwise then.
    pub paced: bool,
    /// CUBIC gives up part of its plateau when it did not come back to it
    /// (RFC 9438 section 4.7).
    pub fast_convergence: bool,
    /// An explicit notification of congestion reduces the window less than a
    /// loss (RFC 8511).
    pub abe: bool,
}

impl Config {
    /// What that profile says, for segments of `smss` octets.
    #[must_use]
    pub fn new(profile: &Profile, smss: u32) -> Self {
        let paced = profile.pacing && profile.pacing_by_window;
        Self {
            smss,
            initial_window: profile.initial_window.bytes(smss),
            usual_slow_start: match profile.slow_start {
                SlowStart::Usual => SlowStart::HyStart,
                chosen => chosen,
            },
            paced,
            counting: profile.counting,
            fast_convergence: profile.fast_convergence,
            abe: profile.abe,
            ..Self::default()
        }
    }
}

impl Default for Config {
    /// A segment of Ethernet, the initial window of RFC 6928, standard slow
    /// start counted in bytes.
    fn default() -> Self {
        Self {
            smss: 1460,
            initial_window: Bytes::new(14_600),
            initial_ssthresh: None,
            slow_start: SlowStart::Usual,
            usual_slow_start: SlowStart::Standard,
            counting: Counting::Bytes { limit: u32::MAX },
            paced: false,
            fast_convergence: true,
            abe: false,
        }
    }
}

/// Bounds for a window that was not in use (RFC 7661).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBounds {
    /// cwnd falls to this, but not below one segment.
    pub cwnd_at_most: Bytes,
    /// ssthresh rises to this.
    pub ssthresh_at_least: Bytes,
    /// ssthresh falls to this, but not below two segments.
    pub ssthresh_at_most: Bytes,
}

/// A congestion control algorithm.
pub trait CongestionControl: Debug + Send {
    /// Congestion window in octets.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold in octets, [`Bytes::MAX`] while unset.
    fn ssthresh(&self) -> Bytes;

    /// An acknowledgment arrived (also in recovery: see [`Ack::phase`]).
    fn on_ack(&mut self, ack: &Ack);

    /// There was congestion. Sets ssthresh and cwnd: on
    /// [`CongestionKind::Timeout`] cwnd becomes the loss window of one segment
    /// (RFC 5681 section 3.1), otherwise the reduced window. What stood before
    /// is remembered for [`CongestionControl::undo`].
    fn on_congestion(&mut self, event: &Congestion);

    /// Everything outstanding at the last congestion event is acknowledged.
    fn on_recovery_end(&mut self, _now: Instant) {}

    /// Data leaves and nothing was in flight: what passed since the last
    /// acknowledgment was silence. Data left last at `last_sent_at`.
    fn on_transmit_start(&mut self, _now: Instant, _last_sent_at: Instant) {}

    /// Sending resumes after more than one timeout of silence: cwnd falls to
    /// `restart_window` (RFC 5681 section 4.1), ssthresh stays.
    fn on_idle_restart(&mut self, now: Instant, restart_window: Bytes);

    /// The window was not in use, and no more of it is to be trusted than
    /// `bounds` say.
    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        self.on_idle_restart(now, bounds.cwnd_at_most);
    }

    /// The maximum segment size changed (path MTU).
    fn on_smss_change(&mut self, smss: u32);

    /// The last congestion event was no congestion (D-SACK, Eifel, F-RTO):
    /// cwnd and ssthresh return to what they were, or stay if larger now.
    fn undo(&mut self, now: Instant);

    /// Whether the control spreads its reductions itself, so that proportional
    /// rate reduction (RFC 9937) must not come between: a control whose cwnd is
    /// no target for the flight.
    fn reduces_by_itself(&self) -> bool {
        false
    }

    /// Returns whether marks per RTT stay the same at any rate (RFC 9331 section 4.3).
    fn is_scalable(&self) -> bool {
        false
    }

    /// Rate at which to release segments; absent = no pacing asked for.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Most octets to release at once; absent = no wish.
    fn send_quantum(&self) -> Option<Bytes> {
        None
    }

    /// Whether the window is below ssthresh.
    fn is_in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// A congestion control that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One line of what it is, with its source.
    pub summary: &'static str,
    /// Makes one.
    pub build: fn(&Config) -> Box<dyn CongestionControl>,
}

/// Every congestion control there is.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "reno",
        summary: "additive increase, multiplicative decrease by half (RFC 5681)",
        build: |config| Box::new(reno::Reno::new(config)),
    },
    Entry {
        name: "cubic",
        summary: "window a cubic function of time since the last loss (RFC 9438)",
        build: |config| Box::new(cubic::Cubic::new(config)),
    },
    Entry {
        name: "cubic-linux",
        summary: "CUBIC in whole numbers with HyStart, as in Linux 6",
        build: |config| Box::new(cubic_linux::CubicLinux::new(config)),
    },
    Entry {
        name: "dctcp",
        summary: "a reduction in proportion to what was marked, for data centres (RFC 8257)",
        build: |config| Box::new(dctcp::Dctcp::new(config)),
    },
    Entry {
        name: "highspeed",
        summary: "steps that grow with the window, by the formula of RFC 3649",
        build: |config| Box::new(highspeed::control(config)),
    },
    Entry {
        name: "scalable",
        summary: "a hundredth of what is acknowledged, an eighth off by loss (Kelly 2003)",
        build: |config| Box::new(scalable::control(config)),
    },
    Entry {
        name: "htcp",
        summary: "steps that grow with the time since the last loss (Leith, Shorten 2004; Linux)",
        build: |config| Box::new(htcp::control(config)),
    },
    Entry {
        name: "westwood",
        summary: "Westwood+: loss leaves bandwidth times minimum RTT (Grieco, Mascolo 2004)",
        build: |config| Box::new(westwood::control(config)),
    },
    Entry {
        name: "hybla",
        summary: "the rate of a flow over 25 ms whatever the RTT, for satellites (2004; Linux)",
        build: |config| Box::new(hybla::control(config)),
    },
    Entry {
        name: "illinois",
        summary: "loss reduces, delay says how far and how fast to grow (Liu 2006; Linux)",
        build: |config| Box::new(illinois::control(config)),
    },
    Entry {
        name: "veno",
        summary: "Reno that takes loss without a queue for random (Fu, Liew 2003)",
        build: |config| Box::new(veno::control(config)),
    },
    Entry {
        name: "vegas",
        summary: "two to four segments queued, by delay (Brakmo, O'Malley, Peterson 1994; Linux)",
        build: |config| Box::new(vegas::control(config)),
    },
    Entry {
        name: "yeah",
        summary: "Scalable while the queue is short, Reno otherwise (Baiocchi 2007; Linux)",
        build: |config| Box::new(yeah::control(config)),
    },
    Entry {
        name: "lp",
        summary: "low priority: backs off at the first queueing delay (Kuzmanovic, Knightly 2003)",
        build: |config| Box::new(lp::control(config)),
    },
    Entry {
        name: "bic",
        summary: "binary increase as in Linux 6 (Xu, Harfoush, Rhee 2004)",
        build: |config| Box::new(bic::control(config)),
    },
    Entry {
        name: "cdg",
        summary: "backs off at random where the RTT rises (Hayes, Armitage 2011; Linux)",
        build: |config| Box::new(cdg::control(config)),
    },
    Entry {
        name: "nv",
        summary: "the window that the measured rate fills at the minimum RTT (Brakmo 2010; Linux)",
        build: |config| Box::new(nv::control(config)),
    },
    Entry {
        name: "ledbat",
        summary: "background transfers: 100 ms of queueing delay, less if others want the path (RFC 6817)",
        build: |config| Box::new(ledbat::control(config)),
    },
    Entry {
        name: "ledbat++",
        summary: "LEDBAT with 60 ms, periodic slowdowns and multiplicative decrease (IRTF draft)",
        build: |config| Box::new(ledbat_plus_plus::control(config)),
    },
    Entry {
        name: "compound",
        summary: "a window for loss and one for delay, added (Tan 2006; Windows)",
        build: |config| Box::new(compound::control(config)),
    },
    Entry {
        name: "copa",
        summary: "a rate inverse to the queueing delay (Arun, Balakrishnan 2018)",
        build: |config| Box::new(copa::control(config)),
    },
    Entry {
        name: "prague",
        summary: "DCTCP for the Internet: ECT(1), accurate ECN, rates less by RTT (RFC 9331)",
        build: |config| Box::new(prague::control(config)),
    },
    Entry {
        name: "tahoe",
        summary: "slow start after every loss (Jacobson 1988; 4.3BSD-Tahoe)",
        build: |config| Box::new(tahoe::control(config)),
    },
    Entry {
        name: "decbit",
        summary: "half of the packets marked: an eighth less, otherwise one more (Ramakrishnan, Jain 1990)",
        build: |config| Box::new(decbit::control(config)),
    },
    Entry {
        name: "cute",
        summary: "loss leaves one segment, a window without adds one (Jain 1986)",
        build: |config| Box::new(cute::control(config)),
    },
    Entry {
        name: "bic-2.6.20",
        summary: "binary increase as in Linux 2.6.20, May 2007 (Xu, Harfoush, Rhee 2004)",
        build: |config| Box::new(bic_2_6_20::control(config)),
    },
    Entry {
        name: "cubic-2.6.20",
        summary: "CUBIC 2.0 as in Linux 2.6.20, May 2007 (Rhee, Xu 2005)",
        build: |config| Box::new(cubic_2_6_20::control(config)),
    },
];

/// What stands where there is no congestion control: not one of [`REGISTRY`],
/// because it keeps none of the promises that those do.
pub const FIXED: &Entry = &Entry {
    name: "fixed",
    summary: "no congestion control: the initial window, whatever happens (before 1988)",
    build: |config| Box::new(fixed::Fixed::new(config)),
};

/// Everything that can be asked for by name.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.iter().chain([FIXED])
}

/// The control of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}
