//! ProbeBW: Down, Cruise, Refill, Up, and what moves `inflight_long`.
//!
//! A probe comes after 2 to 3 s, or after as many rounds as Reno would need to regain
//! the loss of half a window: the segments of the BDP, 62 or 63 at most.

mod cruise;
mod down;
mod refill;
mod up;

use gigatcp_units::{Duration, Instant};

use super::super::Ack;
use super::{Bbr3, State, UNBOUNDED};

/// Most rounds between probes.
const MAX_RENO_ROUNDS: u64 = 63;

/// `BBR.ack_phase`: what the ACKs that arrive belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    /// No probe.
    Init,
    /// What was sent in Refill.
    Refilling,
    /// The round before what was sent in Up.
    ProbeStarting,
    /// What was sent in Up.
    ProbeFeedback,
    /// What was sent in Up, and Up is over.
    ProbeStopping,
}

/// Where the cycle stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    began: Instant,
    wait: Duration,
    pub(super) rounds_since_probe: u64,
    /// Samples show what a probe found (`bw_probe_samples`).
    pub(super) samples_probe: bool,
    pub(super) prev_probe_too_high: bool,
    /// Up ended by precaution, at a bound that the probe before had found.
    stopped_risky_probe: bool,
    up_rounds: u32,
    up_acks: u64,
    /// Octets acknowledged per octet by which `inflight_long` grows.
    up_count: u64,
}

impl Cycle {
    pub(super) fn new() -> Self {
        Self {
            ack_phase: AckPhase::Init,
            began: Instant::ZERO,
            wait: Duration::ZERO,
            rounds_since_probe: 0,
            samples_probe: false,
            prev_probe_too_high: false,
            stopped_risky_probe: false,
            up_rounds: 0,
            up_acks: 0,
            up_count: UNBOUNDED,
        }
    }
}

impl Bbr3 {
    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle_phase(&mut self, ack: &Ack, has_rate: bool) {
        if !self.full_bw.is_reached || (has_rate && self.adapt_long_term_model(ack)) {
            return;
        }
        match self.state {
            State::Down => self.check_down(ack.now),
            State::Cruise => self.check_cruise(ack.now),
            State::Refill => self.check_refill(),
            State::Up => self.check_up(ack.now),
            State::Startup | State::Drain | State::ProbeRtt => {}
        }
    }

    /// `AdaptLongTermModel`; returns whether Refill begins.
    fn adapt_long_term_model(&mut self, ack: &Ack) -> bool {
        let phase = self.cycle.ack_phase;
        if self.rates.round_start && phase == AckPhase::ProbeStarting {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.rates.round_start && phase == AckPhase::ProbeStopping && self.end_probe() {
            return true;
        }
        let sample = self.sample;
        if self.bounds.inflight_long == UNBOUNDED
            || self.is_too_high(sample.lost, sample.tx_in_flight)
        {
            return false;
        }
        self.bounds.inflight_long = self.bounds.inflight_long.max(sample.tx_in_flight);
        if self.state == State::Up {
            self.probe_upward(ack.delivered.as_u64());
        }
        false
    }

    /// What Up sent has been answered: its cycle is over for `max_bw`. Returns whether
    /// Refill begins, where only precaution had ended Up.
    fn end_probe(&mut self) -> bool {
        self.cycle.samples_probe = false;
        self.cycle.ack_phase = AckPhase::Init;
        if self.state.is_probe_bw() && !self.sample.app_limited {
            self.rates.next_cycle();
        }
        let was_safe =
            core::mem::take(&mut self.cycle.stopped_risky_probe) && !self.cycle.prev_probe_too_high;
        if was_safe && self.state.is_probe_bw() {
            self.start_refill();
            return true;
        }
        false
    }

    /// `IsTimeToProbeBW`, which begins Refill.
    fn probes_now(&mut self, now: Instant) -> bool {
        let reno = (self.target_inflight() / self.smss).min(MAX_RENO_ROUNDS);
        let is_time = now.saturating_since(self.cycle.began) > self.cycle.wait
            || self.cycle.rounds_since_probe >= reno;
        if is_time {
            self.start_refill();
        }
        is_time
    }
}
