//! Bugs to inject, which show that the swarm detects them.
//!
//! A check that never fails proves nothing. Each bug breaks one guarantee: in front of an engine,
//! inside it or in its measurements, in a link's queue, a route or an application. It must make the
//! swarm fail. Those of links, routes and applications are in [`elements`].

mod elements;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gigatcp_tcp::congestion::{
    self, Ack, Config, Congestion, Controller, ControllerFactory, Entry, Family, find,
};
use gigatcp_units::{Bytes, Duration, Instant};

pub use elements::{application, links, routes};

/// A bug that can be injected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InjectedBug {
    /// A middlebox removes a segment and renumbers the following ones. TCP cannot detect it.
    Swallow,
    /// A middlebox delivers the bytes of a segment twice and renumbers.
    Repeat,
    /// One delivered byte is changed after the checksum check.
    Corrupt,
    /// ACKs reach the sender with twice the receiver's window.
    WideWindow,
    /// The limit clock loses the time spent under one limit.
    LimitClock,
    /// A congestion control whose window depends on other simulations.
    Unsteady,
    /// A congestion control that closes its window permanently.
    Stalled,
    /// A packet reaches a host without having been counted.
    Uncounted,
    /// The engine's timers are served late, as if one were lost.
    LostTimer,
    /// The engine's timers are ignored while nothing is in flight.
    IdleTimer,
    /// A sender skips sequence numbers.
    SkippedSequence,
    /// A sender sends data after its FIN.
    MovedFin,
    /// A sender sends a segment larger than the MSS.
    Oversize,
    /// A sender's timestamps run backwards.
    ClockBack,
    /// A receiver acknowledges data that has not arrived.
    EagerAck,
    /// A receiver's acknowledgments go back.
    BackAck,
    /// A receiver shrinks its window.
    ShrunkWindow,
    /// A receiver reports blocks that have not arrived.
    FalseSack,
    /// Packets are marked on a path without marks.
    PhantomMark,
    /// Urgent marks arrive one byte further on.
    MovedMark,
    /// Both ends forget their keys and accept any segment.
    Unverified,
    /// A listener keeps more than its limit.
    Overfull,
    /// A sender trusts a path that marks every packet.
    Credulous,
    /// A restarted host sends data of its previous incarnation.
    Haunted,
    /// A packet passes from a link to the next one without having been recorded.
    Leak,
    /// A flow takes other links than those of its route.
    Detour,
    /// A discipline accepts packets beyond its limit.
    Overlong,
    /// A server does not count one byte of those it has read.
    LostOctet,
}

impl InjectedBug {
    /// All bugs.
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

    /// Bug of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bug| bug.name() == name)
    }
}

/// Congestion control to run: the one drawn, or that of the injected bug.
pub fn control(
    bug: Option<InjectedBug>,
    drawn: &Arc<dyn ControllerFactory>,
) -> Arc<dyn ControllerFactory> {
    match bug {
        Some(InjectedBug::Unsteady) => Arc::new(&UNSTEADY),
        Some(InjectedBug::Stalled) => Arc::new(&STALLED),
        _ => drawn.clone(),
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

fn reno(config: &Config) -> Box<dyn Controller> {
    let entry = find("reno").expect("Reno is registered");
    (entry.build)(config)
}

/// Acknowledgments counted over all simulations of the process.
static ACKS: AtomicU64 = AtomicU64::new(0);

#[derive(Debug)]
struct Unsteady(Box<dyn Controller>);

#[derive(Debug)]
struct Stalled {
    reno: Box<dyn Controller>,
    acks: u32,
}

impl Controller for Unsteady {
    fn cwnd(&self) -> Bytes {
        self.0.cwnd() + Bytes::new(ACKS.load(Ordering::Relaxed) % 7919)
    }
    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.0.set_cwnd(cwnd);
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

impl Controller for Stalled {
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
    fn set_cwnd(&mut self, cwnd: Bytes) {
        self.reno.set_cwnd(cwnd);
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

/// Limit times of an engine as the injected bug shows them.
pub fn limit_times(bug: Option<InjectedBug>, times: &[Duration]) -> Duration {
    let skipped = match bug {
        Some(InjectedBug::LimitClock) => times.iter().position(|time| !time.is_zero()),
        _ => None,
    };
    times
        .iter()
        .enumerate()
        .filter(|(index, _)| Some(*index) != skipped)
        .fold(Duration::ZERO, |sum, (_, time)| sum + *time)
}
