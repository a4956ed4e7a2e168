//! Recovery and undo: the state before a spurious loss is restored.
//!
//! A timeout leaves what is in flight and a segment; the previous window returns at the end of
//! recovery. A loss that proves spurious restores the bounds, and the state that probed if that
//! loss ended it.

use gigatcp_units::Instant;

use super::{Bbr3, State};

/// State before a loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saved {
    prior_cwnd: u64,
    pub(super) in_recovery: bool,
    /// `BBR.undo_state`: Startup or Up, if loss ended it.
    state: Option<State>,
    bw_short: u64,
    inflight_short: u64,
    inflight_long: u64,
}

impl Saved {
    pub(super) fn new() -> Self {
        Self {
            prior_cwnd: 0,
            in_recovery: false,
            state: None,
            bw_short: 0,
            inflight_short: 0,
            inflight_long: 0,
        }
    }
}

impl Bbr3 {
    /// Implements `SaveCwnd`.
    pub(super) fn save_cwnd(&mut self) {
        let again = self.saved.in_recovery || self.state == State::ProbeRtt;
        let before = if again { self.saved.prior_cwnd } else { 0 };
        self.saved.prior_cwnd = before.max(self.cwnd);
    }

    /// Implements `RestoreCwnd`.
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.saved.prior_cwnd);
    }

    pub(super) fn leave_recovery(&mut self) {
        if core::mem::take(&mut self.saved.in_recovery) {
            self.restore_cwnd();
        }
    }

    /// Implements `SaveStateUponLoss`.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.saved.state = None;
        self.saved.bw_short = self.bounds.bw_short;
        self.saved.inflight_short = self.bounds.inflight_short;
        self.saved.inflight_long = self.bounds.inflight_long;
    }

    /// Notes that loss ends the current state, which probes.
    pub(super) fn save_probe(&mut self) {
        self.saved.state = Some(self.state);
    }

    /// Implements `HandleSpuriousLossDetection`.
    pub(super) fn handle_spurious_loss(&mut self, _now: Instant) {
        self.leave_recovery();
        let (bounds, saved) = (&mut self.bounds, &self.saved);
        bounds.loss_in_round = false;
        bounds.bw_short = bounds.bw_short.max(saved.bw_short);
        bounds.inflight_short = bounds.inflight_short.max(saved.inflight_short);
        bounds.inflight_long = bounds.inflight_long.max(saved.inflight_long);
        self.full_bw.restart(0);
        let state = self.saved.state.take();
        match state.filter(|state| *state != self.state) {
            Some(State::Startup) => {
                self.full_bw.is_reached = false;
                if self.state != State::ProbeRtt {
                    self.enter(State::Startup);
                }
            }
            Some(State::Up) if self.state != State::ProbeRtt => self.start_refill(),
            _ => {}
        }
    }
}
