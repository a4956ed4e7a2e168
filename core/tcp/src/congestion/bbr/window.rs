//! The window: grows to its target; packet conservation in recovery.
//!
//! * target = bdp(gain) + `extra_acked` + 3 super-segments, rounded up to even, + 2 while
//!   probing;
//! * each ACK adds what it delivered, up to the target once the pipe is full;
//! * recovery begins with cwnd = in flight + delivered for a round and subtracts each loss; at
//!   its end the previous window returns.

use super::super::Ack;
use super::{Bbr, INITIAL_CWND, MAX_CWND, MIN_CWND, Mode};
use crate::events::Phase;

/// Whether lost data is being retransmitted.
fn is_repairing(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

impl Bbr {
    /// Saves the window before recovery or ProbeRTT reduces it.
    pub(super) fn save_cwnd(&mut self) {
        self.prior_cwnd = if is_repairing(self.phase_before) || self.mode == Mode::ProbeRtt {
            self.prior_cwnd.max(self.cwnd)
        } else {
            self.cwnd
        };
    }

    /// Segments in flight at this rate and `gain` (`bbr_inflight`).
    pub(super) fn inflight(&self, bw: u64, gain: u64) -> u64 {
        self.with_budget(self.model.bdp(bw, gain))
    }

    /// Adds an allowance for super-segments at both ends and in the ACKs.
    fn with_budget(&self, segments: u64) -> u64 {
        let segments = (segments + 3 * self.tso_goal()).next_multiple_of(2);
        if self.mode == Mode::ProbeBw && self.cycle.probes() {
            segments + 2
        } else {
            segments
        }
    }

    pub(super) fn set_cwnd(&mut self, ack: &Ack) {
        let acked = self.segments(ack.delivered).min(MAX_CWND);
        if acked > 0 && !self.recovers(ack, acked) {
            let bdp = self.model.bdp(self.bw(), self.cwnd_gain);
            let target = self.with_budget(bdp + self.aggregation_allowance());
            if self.full_pipe.is_reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.delivered < INITIAL_CWND * self.mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_CWND);
        }
        self.cwnd = self.cwnd.min(MAX_CWND);
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// Whether recovery determines the window.
    fn recovers(&mut self, ack: &Ack, acked: u64) -> bool {
        let lost = self.segments(ack.lost);
        if lost > 0 {
            self.cwnd = self.cwnd.saturating_sub(lost).max(1);
        }
        let conserved = self.packets_in_flight().min(MAX_CWND) + acked;
        if ack.phase == Phase::Recovery && self.phase_before != Phase::Recovery {
            self.packet_conservation = true;
            self.model.next_round_delivered = self.delivered;
            self.cwnd = conserved;
        } else if !is_repairing(ack.phase) {
            self.leave_recovery();
        }
        self.phase_before = ack.phase;
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    /// Restores the window before recovery, if there was one.
    pub(super) fn leave_recovery(&mut self) {
        if is_repairing(self.phase_before) {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
            self.phase_before = Phase::Open;
        }
    }
}
