//! Congestion control: how much may be in flight.
//!
//! One trait, one file per algorithm, one line in [`REGISTRY`]. The trait can
//! host a window-based control (Reno, CUBIC) and a rate-based model (BBR): it
//! learns of acknowledgments with their rate samples ([`Ack`]), of each loss with
//! what the lost transmission had seen when it left ([`Lost`]), of departures
//! ([`Sent`]), and owns cwnd, ssthresh, pacing rate, send quantum and what it
//! needs to take a reduction back. What it draws comes from its own stream
//! ([`Config::seed`]).
//!
//! Loss detection and retransmission belong to another part
//! (`recovery`, a module next to this one): this side only learns that there was congestion.
//! During recovery the engine lets `pipe` (RFC 6675) run up to cwnd, so no
//! control inflates its window by duplicate acknowledgments.
//!
//! To add a control: one file here that implements [`CongestionControl`], one
//! entry in `IN_USE`, one golden snapshot of its window per round.

pub mod cubic;
pub mod reno;

mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod compound;
mod copa;
mod cubic_linux;
mod dctcp;
mod fixed;
mod gate;
mod highspeed;
#[cfg_attr(not(feature = "historic"), path = "historic_off.rs")]
mod historic;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod ledbat_plus_plus;
mod lp;
#[cfg(test)]
mod model_path;
mod nv;
mod prague;
mod rate_model;
mod round_rtt;
mod scalable;
mod signals;
mod slow_start;
mod validation;
mod vegas;
mod veno;
mod westwood;
mod windowed;
mod windowed_filter;
mod yeah;

use alloc::boxed::Box;
use core::fmt::Debug;

use gigatcp_units::{Bytes, Duration, Instant, Rate};
use gigatcp_wire::{RouterReply, RouterRequest};

pub use crate::window_growth::{Counting, SlowStart};
pub use signals::{Ack, Congestion, CongestionKind, Lost, RateSample, Sent, WindowBounds};
pub(crate) use validation::Validation;

/// Everything a control needs to start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Sender maximum segment size (payload octets per segment).
    pub smss: u32,
    /// Seed of whatever the control draws: the connection's own, the same in each
    /// run of the same plan ([`gigatcp_units::random::Stream`]).
    pub seed: u64,
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

impl Default for Config {
    /// A segment of Ethernet, the initial window of RFC 6928, standard slow
    /// start counted in bytes.
    fn default() -> Self {
        Self {
            smss: 1460,
            seed: 0,
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

    /// Octets were marked lost. Comes before the congestion, if it is any, and
    /// before the ACK that showed it; also where a timer found it.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// The handshake is over, and `srtt` is its round-trip time if that could be
    /// measured; nothing was acknowledged yet but the SYN.
    fn on_established(&mut self, _now: Instant, _srtt: Option<Duration>) {}

    /// Data leaves. Where [`Sent::in_flight`] is all of it, nothing was in flight;
    /// before the first of it `on_transmit_start` was called.
    fn on_sent(&mut self, _sent: &Sent) {}

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

    /// Returns what each segment of data asks of the routers of the path; `None`: nothing.
    /// A control asks always or never.
    fn request(&self, _srtt: Option<Duration>) -> Option<RouterRequest> {
        None
    }

    /// Routers answered. Comes after the ACK that brought it.
    fn on_reply(&mut self, _now: Instant, _reply: RouterReply) {}

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

    /// Rate at which to release segments, the first window included; `None`: no
    /// pacing is requested.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Most octets to release at once; `None`: no limit of its own.
    fn send_quantum(&self) -> Option<Bytes> {
        None
    }

    /// Whether the window is below ssthresh.
    fn is_in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// A family of congestion controls: what they have in common whatever happens.
///
/// All keep cwnd at one segment or more, and keep its octets when the segment size
/// changes. What each family promises beyond that is tested for every control
/// (`core/tcp/tests/congestion_rounds/properties.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// A window that congestion alone reduces: no ACK takes it back.
    WindowBased,
    /// A window that rising delay reduces as well, on any ACK.
    DelayBased,
    /// A model of the path's rate and round trip: pacing rate and window follow it
    /// up and down, and a loss need not reduce them.
    RateBased,
    /// A window or rate that routers tell; without their answers window-based.
    Explicit,
}

impl Family {
    /// Its name in lists.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::WindowBased => "window-based",
            Self::DelayBased => "delay-based",
            Self::RateBased => "rate-based",
            Self::Explicit => "explicit",
        }
    }
}

/// A congestion control that can be requested by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One line of what it is, with its source.
    pub summary: &'static str,
    /// What it moves, and so what holds for it whatever happens.
    pub family: Family,
    /// What it reacts to.
    pub reacts_to: &'static str,
    /// Where it is deployed.
    pub deployed: &'static str,
    /// Whether it draws at random: from the seed of its connection.
    pub draws: bool,
    /// Makes one.
    pub build: fn(&Config) -> Box<dyn CongestionControl>,
}

/// CUBIC, the default.
pub const CUBIC: &Entry = &Entry {
    name: "cubic",
    summary: "window a cubic function of time since the last loss (RFC 9438)",
    family: Family::WindowBased,
    reacts_to: "losses, marks as losses",
    deployed: "Linux, Windows, macOS, FreeBSD from 14: the default",
    draws: false,
    build: |config| Box::new(cubic::Cubic::new(config)),
};

/// Every congestion control there is: those in use, then those of the feature
/// `historic`.
pub const REGISTRY: &[Entry] = &{
    let mut all = [*CUBIC; IN_USE.len() + historic::ENTRIES.len()];
    let mut n = 0;
    while n < all.len() {
        all[n] = match n.checked_sub(IN_USE.len()) {
            None => IN_USE[n],
            Some(n) => historic::ENTRIES[n],
        };
        n += 1;
    }
    all
};

/// Controls that a system offers today, or that are under trial.
const IN_USE: &[Entry] = &[
    Entry {
        name: "reno",
        summary: "additive increase, multiplicative decrease by half (RFC 5681)",
        family: Family::WindowBased,
        reacts_to: "losses, marks as losses",
        deployed: "the standard; FreeBSD before 14",
        draws: false,
        build: |config| Box::new(reno::Reno::new(config)),
    },
    *CUBIC,
    Entry {
        name: "cubic-linux",
        summary: "CUBIC in whole numbers with HyStart, as in Linux 6",
        family: Family::WindowBased,
        reacts_to: "losses, marks as losses, delay and ACK trains in slow start",
        deployed: "Linux, the default since 2.6.19",
        draws: false,
        build: |config| Box::new(cubic_linux::CubicLinux::new(config)),
    },
    Entry {
        name: "bbr",
        summary: "a model of rate and RTT, version 1, in whole numbers as in Linux 6",
        family: Family::RateBased,
        reacts_to: "delivery rate and minimum RTT; losses of a fifth or more",
        deployed: "Google from 2016; Linux, a choice",
        draws: true,
        build: |config| Box::new(bbr::Bbr::new(config)),
    },
    Entry {
        name: "bbr3",
        summary: "a model of rate, RTT and loss, version 3 (draft-ietf-ccwg-bbr)",
        family: Family::RateBased,
        reacts_to: "delivery rate and minimum RTT; losses above 2 % of a round; marks",
        deployed: "Google from 2023",
        draws: true,
        build: |config| Box::new(bbr3::Bbr3::new(config)),
    },
    Entry {
        name: "dctcp",
        summary: "a reduction in proportion to what was marked, for data centres (RFC 8257)",
        family: Family::WindowBased,
        reacts_to: "the share of marked octets, losses",
        deployed: "data centers; Linux, Windows Server, FreeBSD",
        draws: false,
        build: |config| Box::new(dctcp::Dctcp::new(config)),
    },
    Entry {
        name: "highspeed",
        summary: "steps that grow with the window, by the formula of RFC 3649",
        family: Family::WindowBased,
        reacts_to: "losses; marks as losses",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(highspeed::control(config)),
    },
    Entry {
        name: "scalable",
        summary: "a hundredth of what is acknowledged, an eighth off by loss (Kelly 2003)",
        family: Family::WindowBased,
        reacts_to: "losses; marks as losses",
        deployed: "Linux, a choice since 2.6.13",
        draws: false,
        build: |config| Box::new(scalable::control(config)),
    },
    Entry {
        name: "htcp",
        summary: "steps that grow with the time since the last loss (Leith, Shorten 2004; Linux)",
        family: Family::WindowBased,
        reacts_to: "losses, by the time between them; RTTs for the decrease",
        deployed: "Linux, FreeBSD: a choice",
        draws: false,
        build: |config| Box::new(htcp::control(config)),
    },
    Entry {
        name: "westwood",
        summary: "Westwood+: loss leaves bandwidth times minimum RTT (Grieco, Mascolo 2004)",
        family: Family::WindowBased,
        reacts_to: "losses, by measured bandwidth",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(westwood::control(config)),
    },
    Entry {
        name: "hybla",
        summary: "the rate of a flow over 25 ms whatever the RTT, for satellites (2004; Linux)",
        family: Family::WindowBased,
        reacts_to: "losses; marks as losses",
        deployed: "Linux, a choice; satellite links",
        draws: false,
        build: |config| Box::new(hybla::control(config)),
    },
    Entry {
        name: "illinois",
        summary: "loss reduces, delay says how far and how fast to grow (Liu 2006; Linux)",
        family: Family::WindowBased,
        reacts_to: "losses; mean queueing delay for both steps",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(illinois::control(config)),
    },
    Entry {
        name: "veno",
        summary: "Reno that takes loss without a queue for random (Fu, Liew 2003)",
        family: Family::WindowBased,
        reacts_to: "losses, by queueing delay",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(veno::control(config)),
    },
    Entry {
        name: "vegas",
        summary: "two to four segments queued, by delay (Brakmo, O'Malley, Peterson 1994; Linux)",
        family: Family::DelayBased,
        reacts_to: "queueing delay; losses",
        deployed: "Linux, FreeBSD: a choice",
        draws: false,
        build: |config| Box::new(vegas::control(config)),
    },
    Entry {
        name: "yeah",
        summary: "Scalable while the queue is short, Reno otherwise (Baiocchi 2007; Linux)",
        family: Family::DelayBased,
        reacts_to: "queueing delay; losses",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(yeah::control(config)),
    },
    Entry {
        name: "lp",
        summary: "low priority: backs off at the first queueing delay (Kuzmanovic, Knightly 2003)",
        family: Family::DelayBased,
        reacts_to: "rising delay; losses",
        deployed: "Linux, a choice; background transfers",
        draws: false,
        build: |config| Box::new(lp::control(config)),
    },
    Entry {
        name: "bic",
        summary: "binary increase as in Linux 6 (Xu, Harfoush, Rhee 2004)",
        family: Family::WindowBased,
        reacts_to: "losses; marks as losses",
        deployed: "Linux, a choice",
        draws: false,
        build: |config| Box::new(bic::control(config)),
    },
    Entry {
        name: "cdg",
        summary: "backs off at random where the RTT rises (Hayes, Armitage 2011; Linux)",
        family: Family::DelayBased,
        reacts_to: "rising delay, at random; losses",
        deployed: "Linux, FreeBSD: a choice",
        draws: true,
        build: |config| Box::new(cdg::control(config)),
    },
    Entry {
        name: "nv",
        summary: "the window that the measured rate fills at the minimum RTT (Brakmo 2010; Linux)",
        family: Family::DelayBased,
        reacts_to: "delivery rate against minimum RTT; losses",
        deployed: "Linux, a choice; data centers",
        draws: true,
        build: |config| Box::new(nv::control(config)),
    },
    Entry {
        name: "ledbat",
        summary: "background transfers: 100 ms of queueing delay, less if others want the path (RFC 6817)",
        family: Family::DelayBased,
        reacts_to: "queueing delay; losses",
        deployed: "BitTorrent (uTP), Apple: background transfers",
        draws: false,
        build: |config| Box::new(ledbat::control(config)),
    },
    Entry {
        name: "ledbat++",
        summary: "LEDBAT with 60 ms, periodic slowdowns and multiplicative decrease (IRTF draft)",
        family: Family::DelayBased,
        reacts_to: "queueing delay; losses",
        deployed: "Windows, Apple: background transfers",
        draws: false,
        build: |config| Box::new(ledbat_plus_plus::control(config)),
    },
    Entry {
        name: "compound",
        summary: "a window for loss and one for delay, added (Tan 2006; Windows)",
        family: Family::DelayBased,
        reacts_to: "queueing delay; losses",
        deployed: "Windows, the default before CUBIC",
        draws: false,
        build: |config| Box::new(compound::control(config)),
    },
    Entry {
        name: "copa",
        summary: "a rate inverse to the queueing delay (Arun, Balakrishnan 2018)",
        family: Family::DelayBased,
        reacts_to: "queueing delay",
        deployed: "mvfst, a choice",
        draws: false,
        build: |config| Box::new(copa::control(config)),
    },
    Entry {
        name: "prague",
        summary: "DCTCP for the Internet: ECT(1), accurate ECN, rates less by RTT (RFC 9331)",
        family: Family::WindowBased,
        reacts_to: "the share of marked octets; losses",
        deployed: "L4S trials",
        draws: false,
        build: |config| Box::new(prague::control(config)),
    },
];

/// What stands where there is no congestion control: not one of [`REGISTRY`],
/// because it keeps none of the promises that those do.
pub const FIXED: &Entry = &Entry {
    name: "fixed",
    summary: "no congestion control: the initial window, whatever happens (before 1988)",
    family: Family::WindowBased,
    reacts_to: "nothing",
    deployed: "nowhere since 1988",
    draws: false,
    build: |config| Box::new(fixed::Fixed::new(config)),
};

/// Everything that can be requested by name.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.iter().chain([FIXED])
}

/// The control of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}
