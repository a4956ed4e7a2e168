//! Cruise: the rate of the model, with headroom for other flows, until the next probe.

use gigatcp_units::Instant;

use super::super::{Bbr3, State};

impl Bbr3 {
    pub(in super::super) fn start_cruise(&mut self) {
        self.enter(State::Cruise);
    }

    pub(super) fn check_cruise(&mut self, now: Instant) {
        self.probes_now(now);
    }
}
