//! When the half-open connections of a listener, and those that wait, are looked at again.

use gigatcp_units::Instant;
use gigatcp_wire::Payload;

use super::Listener;
use crate::four_tuple::FourTuple;

impl<P: Payload> Listener<P> {
    /// `tuple` is looked at when it is `due`, and no longer at the time before.
    pub(super) fn set_timer(&mut self, tuple: FourTuple, before: Instant, due: Instant) {
        if before != Instant::FAR_FUTURE {
            self.timers.remove(&(before, tuple));
        }
        if due != Instant::FAR_FUTURE {
            self.timers.insert((due, tuple));
        }
    }

    /// The next SYN-ACK is due a timeout after the last one (RFC 6298 section 5).
    pub(super) fn put_off(&mut self, tuple: FourTuple, due: Instant) {
        if let Some(half) = self.half_open.get_mut(&tuple) {
            let before = core::mem::replace(&mut half.due, due);
            self.set_timer(tuple, before, due);
        }
    }
}
