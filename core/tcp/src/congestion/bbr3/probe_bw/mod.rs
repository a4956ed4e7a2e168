//! ProbeBW: Down, Cruise, Refill, Up, and the changes of `inflight_long`.
//!
//! A probe comes after 2 to 3 s, or after as many rounds as Reno would need to regain half a
//! window: the segments of the BDP, 62 or 63 at most.

mod cruise;
mod down;
mod refill;
mod up;

use gigatcp_units::{Duration, Instant};

use super::super::Ack;
use super::{Bbr3, State, UNBOUNDED};

/// Maximum number of rounds between probes.
const MAX_RENO_ROUNDS: u64 = 63;

/// `BBR.ack_phase`: stage of a probe to which the arriving ACKs belong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AckPhase {
    /// No probe.
    Init,
    /// ACKs of data sent in Refill.
    Refilling,
    /// ACKs of the round before the data sent in Up.
    ProbeStarting,
    /// ACKs of data sent in Up.
    ProbeFeedback,
    /// ACKs of data sent in Up, after Up has ended.
    ProbeStopping,
}

/// Current phase of the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) ack_phase: AckPhase,
    began: Instant,
    wait: Duration,
    pub(super) rounds_since_probe: u64,
    /// Whether samples show the result of a probe (`bw_probe_samples`).
    pub(super) samples_probe: bool,
    pub(super) prev_probe_too_high: bool,
    /// Up ended by precaution, at a bound found by the previous probe
    /// (`prev_probe_precautionary`).
    pub(super) stopped_risky_probe: bool,
    up_rounds: u32,
    pub(super) up_acks: u64,
    /// Octets acknowledged per segment by which `inflight_long` grows (`probe_up_acked_per_inc`).
    acked_per_segment: u64,
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
            acked_per_segment: UNBOUNDED,
        }
    }
}

impl Bbr3 {
    /// Implements `UpdateProbeBWCyclePhase`.
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

    /// Implements `AdaptLongTermModel`; returns whether Refill begins.
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

    /// Ends the cycle of a probe for `max_bw`: the data of Up is acknowledged. Returns whether
    /// Refill begins, which it does if Up ended only by precaution.
    pub(super) fn end_probe(&mut self) -> bool {
        self.cycle.samples_probe = false;
        self.cycle.ack_phase = AckPhase::Init;
        if self.state.is_probe_bw() && !self.sample.app_limited {
            self.rates.next_cycle();
        }
        let was_safe = self.cycle.stopped_risky_probe && !self.cycle.prev_probe_too_high;
        if was_safe && self.state.is_probe_bw() {
            self.start_refill();
            return true;
        }
        false
    }

    /// Implements `IsTimeToProbeBW`, and begins Refill.
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
