//! Restart from idle: at the rate of the model, without a burst or ProbeRTT.
//!
//! The idle time itself was a ProbeRTT.

use gigatcp_units::Instant;

use super::{Bbr3, State, UNIT};

impl Bbr3 {
    /// Implements `HandleRestartFromIdle`: nothing was in flight, and the flow was
    /// application-limited.
    pub(super) fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }
}
