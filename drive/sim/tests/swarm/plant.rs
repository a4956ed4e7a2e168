//! Bugs to plant: the canary that shows that the swarm would notice.
//!
//! A check that never fails proves nothing. Each of these breaks one promise,
//! in front of an engine, inside it or in what is measured of it, in a link's queue, a
//! route or an application, and must make the swarm fail. Those of links, routes and
//! applications are in [`elements`].

mod elements;

use std::sync::atomic::{AtomicU64, Ordering};

use gigatcp_tcp::congestion::{
    self, Ack, Config, Congestion, CongestionControl, Entry, Family, find,
};
use gigatcp_units::{Bytes, Duration, Instant};

pub use elements::{application, links, routes};

/// A bug that can be planted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Plant {
    /// A middlebox removes a segment and renumbers what follows, so that TCP
    /// cannot notice.
    Swallow,
    /// A middlebox delivers the octets of a segment twice and renumbers.
    Repeat,
    /// One delivered octet is changed behind the checksum.
    Corrupt,
    /// Acknowledgments reach the sender with a window twice as large as the
    /// receiver meant.
    WideWindow,
    /// The limit clock loses the time spent under one limit.
    LimitClock,
    /// A congestion control whose window depends on what other worlds do.
    Unsteady,
    /// A congestion control that closes its window for good.
    Stalled,
    /// A packet reaches a host without having been counted.
    Uncounted,
    /// The engine's appointments are kept late, as if a timer were lost.
    LostTimer,
    /// The engine's appointments are forgotten while nothing is in flight.
    IdleTimer,
    /// A sender skips sequence numbers.
    SkippedSequence,
    /// A sender says FIN and goes on.
    MovedFin,
    /// A sender sends more in a segment than the MSS allows.
    Oversize,
    /// A sender's timestamps run backwards.
    ClockBack,
    /// A receiver acknowledges what has not arrived.
    EagerAck,
    /// A receiver's acknowledgments go back.
    BackAck,
    /// A receiver takes its window back.
    ShrunkWindow,
    /// A receiver reports blocks that have not arrived.
    FalseSack,
    /// Somebody marks packets where nobody should.
    PhantomMark,
    /// Urgent marks arrive one octet further on.
    MovedMark,
    /// Both ends forget their keys and take whatever comes.
    Unverified,
    /// A listener keeps more than it was told to.
    Overfull,
    /// A sender believes that every packet meets congestion.
    Credulous,
    /// Who comes back says what was said before it went.
    Haunted,
    /// A packet passes from a link to the next one and reaches it without having been seen.
    Leak,
    /// A flow takes other links than its route says.
    Detour,
    /// A discipline lets in what its limit forbids.
    Overlong,
    /// A server does not count one octet of those it has read.
    LostOctet,
}

impl Plant {
    /// Every bug there is.
    pub const ALL: [Self; 28] = [
        Self::Swallow,
        Self::Repeat,
        Self::Corrupt,
        Self::WideWindow,
        Self::LimitClock,
        Self::Unsteady,
        Self::Stalled,
        Self::Uncounted,
        Self::LostTimer,
        Self::IdleTimer,
        Self::SkippedSequence,
        Self::MovedFin,
        Self::Oversize,
        Self::ClockBack,
        Self::EagerAck,
        Self::BackAck,
        Self::ShrunkWindow,
        Self::FalseSack,
        Self::PhantomMark,
        Self::MovedMark,
        Self::Unverified,
        Self::Overfull,
        Self::Credulous,
        Self::Haunted,
        Self::Leak,
        Self::Detour,
        Self::Overlong,
        Self::LostOctet,
    ];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Swallow => "swallow",
            Self::Repeat => "repeat",
            Self::Corrupt => "corrupt",
            Self::WideWindow => "wide-window",
            Self::LimitClock => "limit-clock",
            Self::Unsteady => "unsteady",
            Self::Stalled => "stalled",
            Self::Uncounted => "uncounted",
            Self::LostTimer => "lost-timer",
            Self::IdleTimer => "idle-timer",
            Self::SkippedSequence => "skipped-sequence",
            Self::MovedFin => "moved-fin",
            Self::Oversize => "oversize",
            Self::ClockBack => "clock-back",
            Self::EagerAck => "eager-ack",
            Self::BackAck => "back-ack",
            Self::ShrunkWindow => "shrunk-window",
            Self::FalseSack => "false-sack",
            Self::PhantomMark => "phantom-mark",
            Self::MovedMark => "moved-mark",
            Self::Unverified => "unverified",
            Self::Overfull => "overfull",
            Self::Credulous => "credulous",
            Self::Haunted => "haunted",
            Self::Leak => "leak",
            Self::Detour => "detour",
            Self::Overlong => "overlong",
            Self::LostOctet => "lost-octet",
        }
    }

    /// The bug of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|plant| plant.name() == name)
    }
}

/// The congestion control to run: the one drawn, unless the planted bug is
/// one of congestion control.
pub fn control(plant: Option<Plant>, drawn: &'static Entry) -> &'static Entry {
    match plant {
        Some(Plant::Unsteady) => &UNSTEADY,
        Some(Plant::Stalled) => &STALLED,
        _ => drawn,
    }
}

static UNSTEADY: Entry = Entry {
    name: "unsteady",
    summary: "Reno whose window depends on what other worlds do",
    family: Family::WindowBased,
    reacts_to: "losses",
    deployed: "nowhere",
    draws: false,
    build: |config| Box::new(Unsteady(reno(config))),
};

static STALLED: Entry = Entry {
    name: "stalled",
    summary: "Reno that closes its window for good",
    family: Family::WindowBased,
    reacts_to: "losses",
    deployed: "nowhere",
    draws: false,
    build: |config| {
        Box::new(Stalled {
            reno: reno(config),
            acks: 0,
        })
    },
};

fn reno(config: &Config) -> Box<dyn CongestionControl> {
    let entry = find("reno").expect("Reno is registered");
    (entry.build)(config)
}

/// Acknowledgments counted over all worlds of the process.
static ACKS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Unsteady(Box<dyn CongestionControl>);

#[derive(Debug)]
struct Stalled {
    reno: Box<dyn CongestionControl>,
    acks: u32,
}

impl CongestionControl for Unsteady {
    fn cwnd(&self) -> Bytes {
        self.0.cwnd() + Bytes::new(ACKS.load(Ordering::Relaxed) % 7919)
    }
    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
    fn on_ack(&mut self, ack: &Ack) {
        ACKS.fetch_add(97, Ordering::Relaxed);
        self.0.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.0.on_congestion(event);
    }
    fn on_idle_restart(&mut self, now: Instant, restart_window: Bytes) {
        self.0.on_idle_restart(now, restart_window);
    }
    fn on_smss_change(&mut self, smss: u32) {
        self.0.on_smss_change(smss);
    }
    fn undo(&mut self, now: Instant) {
        self.0.undo(now);
    }
}

impl CongestionControl for Stalled {
    fn cwnd(&self) -> Bytes {
        if self.acks > 3 {
            Bytes::ZERO
        } else {
            self.reno.cwnd()
        }
    }
    fn ssthresh(&self) -> Bytes {
        self.reno.ssthresh()
    }
    fn on_ack(&mut self, ack: &congestion::Ack) {
        self.acks += 1;
        self.reno.on_ack(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.reno.on_congestion(event);
    }
    fn on_idle_restart(&mut self, now: Instant, restart_window: Bytes) {
        self.reno.on_idle_restart(now, restart_window);
    }
    fn on_smss_change(&mut self, smss: u32) {
        self.reno.on_smss_change(smss);
    }
    fn undo(&mut self, now: Instant) {
        self.reno.undo(now);
    }
}

/// The limit times of an engine as the planted bug lets them be seen.
pub fn limit_times(plant: Option<Plant>, times: &[Duration]) -> Duration {
    let skipped = match plant {
        Some(Plant::LimitClock) => times.iter().position(|time| !time.is_zero()),
        _ => None,
    };
    times
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != skipped)
        .fold(Duration::ZERO, |sum, (_, time)| sum + *time)
}
