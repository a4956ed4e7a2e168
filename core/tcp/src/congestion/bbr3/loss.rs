//! Bounds from loss: `inflight_long` while probing, `bw_short` and `inflight_short` otherwise.
//!
//! * too high: more than 2 % of the flight was lost;
//! * inflight at loss = prev + (0.02·prev − `lost_prev`)/0.98, the point within a transmission at
//!   which 2 % was reached;
//! * probing: `inflight_long` = max(inflight at loss, 0.7·min(bdp, cwnd)), once a probe;
//! * otherwise, once a round: short = max(latest, 0.7·short), for loss or a CE mark.

use super::super::Lost;
use super::super::rate_model::scaled;
use super::{Bbr3, State, UNBOUNDED, UNIT};

/// `LossThresh`, in 1/[`UNIT`].
const LOSS_THRESHOLD: u64 = 20;
/// `Beta`: factor of a reduction after loss, in 1/[`UNIT`].
const BETA: u64 = 700;

/// Bounds of the model, and the signals that move them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) bw_short: u64,
    pub(super) inflight_short: u64,
    pub(super) inflight_long: u64,
    bw_latest: u64,
    pub(super) inflight_latest: u64,
    pub(super) loss_in_round: bool,
    pub(super) loss_round_start: bool,
    loss_round_delivered: u64,
}

impl Bounds {
    pub(super) fn new() -> Self {
        Self {
            bw_short: UNBOUNDED,
            inflight_short: UNBOUNDED,
            inflight_long: UNBOUNDED,
            bw_latest: 0,
            inflight_latest: 0,
            loss_in_round: false,
            loss_round_start: false,
            loss_round_delivered: 0,
        }
    }

    /// Implements `ResetShortTermModel`.
    pub(super) fn reset_short_term(&mut self) {
        self.bw_short = UNBOUNDED;
        self.inflight_short = UNBOUNDED;
    }

    /// Implements `ResetCongestionSignals`.
    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }
}

/// `InflightAtLoss` in octets; `lost` includes the lost `size`.
fn inflight_at_loss(tx_in_flight: u64, size: u64, lost: u64) -> u64 {
    let before = tx_in_flight.saturating_sub(size);
    let lost_before = u128::from(lost.saturating_sub(size)) * u128::from(UNIT);
    let threshold = u128::from(before) * u128::from(LOSS_THRESHOLD);
    let prefix = threshold.saturating_sub(lost_before) / u128::from(UNIT - LOSS_THRESHOLD);
    before.saturating_add(prefix as u64)
}

impl Bbr3 {
    /// Implements `IsInflightTooHigh`.
    pub(super) fn is_too_high(&self, lost: u64, tx_in_flight: u64) -> bool {
        lost > scaled(tx_in_flight, LOSS_THRESHOLD, UNIT)
    }

    /// Implements `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_signals(&mut self) {
        let bounds = &mut self.bounds;
        bounds.bw_latest = bounds.bw_latest.max(self.sample.rate);
        bounds.inflight_latest = bounds.inflight_latest.max(self.sample.delivered);
        bounds.loss_round_start = self.sample.prior_delivered >= bounds.loss_round_delivered;
        if bounds.loss_round_start {
            bounds.loss_round_delivered = self.delivered;
        }
    }

    /// Implements `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_signals(&mut self) {
        if self.bounds.loss_round_start {
            self.bounds.bw_latest = self.sample.rate;
            self.bounds.inflight_latest = self.sample.delivered;
        }
    }

    /// Implements `UpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self) {
        self.update_max_bw();
        if self.bounds.loss_round_start {
            self.adapt_lower_bounds();
            self.bounds.loss_in_round = false;
        }
    }

    /// Implements `AdaptLowerBoundsFromCongestion`.
    fn adapt_lower_bounds(&mut self) {
        if self.state.probes() || !self.bounds.loss_in_round {
            return;
        }
        let (max_bw, cwnd) = (self.rates.max_bw(), self.cwnd);
        let bounds = &mut self.bounds;
        let lowered = |short: u64, first: u64, latest: u64| {
            let from = if short == UNBOUNDED { first } else { short };
            latest.max(scaled(from, BETA, UNIT))
        };
        bounds.bw_short = lowered(bounds.bw_short, max_bw, bounds.bw_latest);
        bounds.inflight_short = lowered(bounds.inflight_short, cwnd, bounds.inflight_latest);
    }

    /// Notes congestion in this round, by a loss (`NoteLoss`) or by a mark.
    pub(super) fn note_congestion(&mut self) {
        if !self.bounds.loss_in_round {
            self.bounds.loss_round_delivered = self.delivered;
            self.save_state_upon_loss();
        }
        self.bounds.loss_in_round = true;
    }

    /// Implements `HandleLostPacket`.
    pub(super) fn handle_lost(&mut self, lost: &Lost) {
        self.note_congestion();
        self.full_bw.on_lost(lost.from, lost.octets.as_u64());
        let (tx_in_flight, since) = (lost.tx_in_flight.as_u64(), lost.lost.as_u64());
        if !self.cycle.samples_probe || !self.is_too_high(since, tx_in_flight) {
            return;
        }
        // `HandleInflightTooHigh`.
        self.cycle.samples_probe = false;
        self.cycle.prev_probe_too_high = true;
        if !lost.app_limited {
            let kept = scaled(self.target_inflight(), BETA, UNIT);
            let at_loss = inflight_at_loss(tx_in_flight, lost.octets.as_u64(), since);
            self.bounds.inflight_long = at_loss.max(kept);
        }
        if self.state == State::Up {
            self.save_probe();
            self.start_down(lost.now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flight_at_loss_is_where_two_per_cent_was_reached() {
        // Flight and loss before the segment, in segments, and where 2 % is reached; segments of
        // 1000 octets.
        for (before, lost_before, expected) in
            [(100, 1, 101_020), (1000, 10, 1_010_204), (50, 0, 51_020)]
        {
            let got = inflight_at_loss((before + 1) * 1000, 1000, (lost_before + 1) * 1000);
            assert_eq!(got, expected);
        }
    }
}
