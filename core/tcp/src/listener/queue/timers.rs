//! Timers of a listener's half-open and waiting connections.

use gigatcp_units::Instant;
use gigatcp_wire::Payload;

use super::Listener;
use crate::four_tuple::FourTuple;

impl<P: Payload> Listener<P> {
    /// Moves the timer of `tuple` from the time `before` to `due`.
    pub(super) fn set_timer(&mut self, tuple: FourTuple, before: Instant, due: Instant) {
        if before != Instant::FAR_FUTURE {
            self.timers.remove(&(before, tuple));
        }
        if due != Instant::FAR_FUTURE {
            self.timers.insert((due, tuple));
        }
    }

    /// Sets the next retransmission of the SYN-ACK (RFC 6298 section 5). It is due a timeout
    /// after the last one.
    pub(super) fn put_off(&mut self, tuple: FourTuple, due: Instant) {
        if let Some(half) = self.half_open.get_mut(&tuple) {
            let before = core::mem::replace(&mut half.due, due);
            self.set_timer(tuple, before, due);
        }
    }
}
