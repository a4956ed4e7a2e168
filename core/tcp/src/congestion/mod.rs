//! Congestion control: limits the data in flight.
//!
//! A control is a [`ControllerFactory`], the algorithm with its parameters, and a [`Controller`],
//! its state for one connection. Controls that can be selected by name have one file per algorithm
//! and one line in [`REGISTRY`]. The trait serves window-based
//! controls (Reno, CUBIC) and rate-based models (BBR). A control receives acknowledgments with
//! their rate samples ([`Ack`]), each loss with the state when the lost transmission left
//! ([`Lost`]), and departures ([`Sent`]). It owns cwnd, ssthresh, pacing rate, send quantum and
//! the state for undo. Random draws come from its own stream ([`Config::seed`]).
//!
//! Loss detection and retransmission belong to `recovery`, a module next to this one; a control
//! only receives the congestion. During recovery the engine lets `pipe` (RFC 6675) grow up to
//! cwnd, so no control inflates its window by duplicate ACKs.
//!
//! To add a control: one file here that implements [`Controller`], one entry in `IN_USE`, one golden
//! snapshot of its window per round. A program's own needs no entry:
//!
//! ```
//! use gigatcp_tcp::TransportConfig;
//! use gigatcp_tcp::congestion::{Ack, Config, Congestion, Controller, ControllerFactory};
//! use gigatcp_units::Bytes;
//!
//! /// A window of as many segments, until the connection was idle.
//! #[derive(Debug)]
//! struct Constant {
//!     segments: u64,
//! }
//!
//! impl ControllerFactory for Constant {
//!     fn name(&self) -> &str {
//!         "constant"
//!     }
//!
//!     fn build(&self, config: &Config) -> Box<dyn Controller> {
//!         let cwnd = Bytes::new(self.segments * u64::from(config.smss));
//!         Box::new(Window { cwnd })
//!     }
//! }
//!
//! #[derive(Debug)]
//! struct Window {
//!     cwnd: Bytes,
//! }
//!
//! impl Controller for Window {
//!     fn cwnd(&self) -> Bytes {
//!         self.cwnd
//!     }
//!
//!     fn ssthresh(&self) -> Bytes {
//!         Bytes::MAX
//!     }
//!
//!     fn set_cwnd(&mut self, cwnd: Bytes) {
//!         self.cwnd = cwnd;
//!     }
//!
//!     fn on_ack(&mut self, _ack: &Ack) {}
//!
//!     fn on_congestion(&mut self, _event: &Congestion) {}
//! }
//!
//! let config = TransportConfig::default().with_congestion(Constant { segments: 20 });
//! assert_eq!(config.congestion.name(), "constant");
//! ```

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
mod linux;
mod lp;
#[cfg(test)]
mod model_path;
mod nv;
mod prague;
mod rate_limit;
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
pub(crate) use rate_limit::RateLimit;
pub use signals::{Ack, Congestion, CongestionKind, Lost, RateSample, Sent, WindowBounds};
pub(crate) use validation::Validation;

/// Initial configuration of a control.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// Sender maximum segment size (payload octets per segment).
    pub smss: u32,
    /// Seed of the control's random stream ([`gigatcp_units::random::Stream`]). Each connection
    /// has one, the same in each run of the same plan.
    pub seed: u64,
    /// Initial window.
    pub initial_window: Bytes,
    /// Initial ssthresh in segments; 0: unset ("arbitrarily high"); `None`: the control's
    /// default. The default is unset, but 100 for the controls of Linux 2.6.20, where it was a
    /// module parameter of that default.
    pub initial_ssthresh: Option<u32>,
    /// Slow-start variant.
    pub slow_start: SlowStart,
    /// Meaning of [`SlowStart::Usual`] for a control without a slow start of its own.
    pub usual_slow_start: SlowStart,
    /// Rule by which acknowledgments are counted.
    pub counting: Counting,
    /// Whether the sender paces. `HyStart` and `HyStart++` then read ACK trains and counts
    /// differently.
    pub paced: bool,
    /// CUBIC's fast convergence (RFC 9438 section 4.7). It lowers the plateau if the window did
    /// not return to it.
    pub fast_convergence: bool,
    /// ECN reduces the window less than a loss (ABE, RFC 8511).
    pub abe: bool,
    /// Whether a timeout in a window already reduced keeps ssthresh, for a control without a rule
    /// of its own.
    pub reduces_cwnd: bool,
    /// Tick of the clock of a Linux kernel, in whole milliseconds. Its CUBIC counts in ticks.
    pub kernel_tick: Duration,
}

impl Default for Config {
    /// A configuration with an Ethernet segment and the initial window of RFC 6928. Slow start is
    /// the standard one, counted in bytes.
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
            reduces_cwnd: false,
            kernel_tick: Duration::from_millis(1),
        }
    }
}

/// A congestion control with its parameters, which connections share.
///
/// It builds the state of each connection.
pub trait ControllerFactory: Debug + Send + Sync {
    /// Name in reports.
    fn name(&self) -> &str;

    /// Builds the state of a connection.
    ///
    /// Called when a connection is created, and again when its segment size changes, as when the
    /// peer's MSS is known.
    fn build(&self, config: &Config) -> Box<dyn Controller>;
}

/// State of a congestion control for one connection.
///
/// Five methods are required. The others have defaults, which fit a window-based control: what a
/// default does not handle (a spurious reduction, for instance) is less efficient, not unsafe.
pub trait Controller: Debug + Send {
    /// Congestion window, in octets.
    fn cwnd(&self) -> Bytes;

    /// Slow-start threshold, in octets; [`Bytes::MAX`] while unset.
    fn ssthresh(&self) -> Bytes;

    /// Sets cwnd, to a segment at least; ssthresh stays. The engine sets it after idle time, for a
    /// larger segment, and in a jump (RFC 9959).
    fn set_cwnd(&mut self, cwnd: Bytes);

    /// Handles an acknowledgment (also in recovery: see [`Ack::phase`]).
    fn on_ack(&mut self, ack: &Ack);

    /// Handles congestion: sets ssthresh and cwnd.
    ///
    /// On [`CongestionKind::Timeout`] cwnd becomes the loss window of one segment (RFC 5681
    /// section 3.1), otherwise the reduced window. The previous values are saved for
    /// [`Controller::undo`].
    fn on_congestion(&mut self, event: &Congestion);

    /// Handles octets marked lost, by an ACK or a timer.
    ///
    /// Called before the congestion event, if there is one, and before the ACK that showed the
    /// loss.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// Handles the end of the handshake, before any data is acknowledged. `srtt` is the RTT of
    /// the handshake, if measured.
    fn on_established(&mut self, _now: Instant, _srtt: Option<Duration>) {}

    /// Handles a departure of data.
    ///
    /// If [`Sent::in_flight`] equals its octets, nothing was in flight. `on_transmit_start` was
    /// called before the first such departure.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// Handles the ACK of everything that was outstanding at the last congestion event.
    fn on_recovery_end(&mut self, _now: Instant) {}

    /// Handles the start of sending with nothing in flight, after idle time. The last data left
    /// at `last_sent_at`.
    fn on_transmit_start(&mut self, _now: Instant, _last_sent_at: Instant) {}

    /// Handles a restart after more than one timeout of idle time. cwnd falls to `restart_window`
    /// (RFC 5681 section 4.1), ssthresh stays.
    fn on_idle_restart(&mut self, _now: Instant, restart_window: Bytes) {
        if restart_window < self.cwnd() {
            self.set_cwnd(restart_window);
        }
    }

    /// Limits an unvalidated window to `bounds` (RFC 7661).
    fn on_unvalidated(&mut self, now: Instant, bounds: &WindowBounds) {
        self.on_idle_restart(now, bounds.cwnd_at_most);
    }

    /// Handles a change of the maximum segment size (path MTU). By default cwnd keeps its octets,
    /// but holds one segment at least.
    fn on_smss_change(&mut self, smss: u32) {
        let least = Bytes::new(u64::from(smss));
        if self.cwnd() < least {
            self.set_cwnd(least);
        }
    }

    /// Undoes the last congestion event, which proved spurious (D-SACK, Eifel, F-RTO). cwnd and
    /// ssthresh return to their previous values, or stay if larger now. By default they stay.
    fn undo(&mut self, _now: Instant) {}

    /// Request of each data segment to routers; `None`: no request. A control requests always or
    /// never.
    fn request(&self, _srtt: Option<Duration>) -> Option<RouterRequest> {
        None
    }

    /// Handles a reply of routers, after the ACK that carried it.
    fn on_reply(&mut self, _now: Instant, _reply: RouterReply) {}

    /// Whether the control spreads its reductions itself. Proportional rate reduction (RFC 9937) is
    /// then off: cwnd is no target for the flight.
    fn reduces_by_itself(&self) -> bool {
        false
    }

    /// Whether marks per RTT are independent of the rate (RFC 9331 section 4.3).
    fn is_scalable(&self) -> bool {
        false
    }

    /// Pacing rate, for the first window too; `None`: no pacing is requested.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Most octets to release in one burst; `None`: no limit.
    fn send_quantum(&self) -> Option<Bytes> {
        None
    }

    /// Whether the window is below ssthresh.
    fn is_in_slow_start(&self) -> bool {
        self.cwnd() < self.ssthresh()
    }
}

/// Family of congestion controls with common invariants.
///
/// All keep cwnd at one segment or more, and keep its octets when the segment size changes. The
/// further invariants of each family are tested for every control
/// (`core/tcp/tests/congestion_rounds/properties.rs`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// The window is reduced by congestion only, never by an ACK.
    WindowBased,
    /// The window is also reduced by rising delay, on any ACK.
    DelayBased,
    /// A model of the path's rate and RTT sets pacing rate and window. They follow it up and
    /// down, and a loss need not reduce them.
    RateBased,
    /// Routers set the window or rate; without their replies, window-based.
    Explicit,
}

impl Family {
    /// Name in lists.
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

/// Congestion control that can be selected by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One-line description, with its source.
    pub summary: &'static str,
    /// Family, which determines its invariants.
    pub family: Family,
    /// Signals it reacts to.
    pub reacts_to: &'static str,
    /// Systems and networks that deploy it.
    pub deployed: &'static str,
    /// Whether it draws random numbers, from the seed of its connection.
    pub draws: bool,
    /// Builds a control from its configuration.
    pub build: fn(&Config) -> Box<dyn Controller>,
}

impl ControllerFactory for &'static Entry {
    fn name(&self) -> &str {
        self.name
    }

    fn build(&self, config: &Config) -> Box<dyn Controller> {
        (self.build)(config)
    }
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

/// All congestion controls: those in use, then those of the feature `historic`.
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
        summary: "a model of rate, RTT and loss, version 3 (draft-ietf-ccwg-bbr-06)",
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

/// Absence of a congestion control. It is not in [`REGISTRY`], because it keeps none of the
/// invariants of those.
pub const FIXED: &Entry = &Entry {
    name: "fixed",
    summary: "no congestion control: the initial window, whatever happens (before 1988)",
    family: Family::WindowBased,
    reacts_to: "nothing",
    deployed: "nowhere since 1988",
    draws: false,
    build: |config| Box::new(fixed::Fixed::new(config)),
};

/// Everything that can be selected by name.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.iter().chain([FIXED])
}

/// Control named `name`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.name == name)
}
