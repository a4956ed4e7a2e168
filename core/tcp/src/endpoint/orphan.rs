//! Connection that the application has released.
//!
//! It sends what was written and its FIN. It is aborted if data arrives, which no application
//! would read (RFC 9293 section 3.10.4, RFC 2525 section 2.17). It is also aborted if the peer's
//! FIN does not come within a minute of FIN-WAIT-2 (Linux `tcp_fin_timeout`).

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use crate::connection::Connection;
use crate::events::State;

/// Time such a connection waits for the peer's FIN.
const WAITS: Duration = Duration::from_secs(60);

/// Timer of a connection without an application.
#[derive(Clone, Copy, Default, Debug)]
pub struct Orphan {
    until: Option<Instant>,
}

impl Orphan {
    /// Starts when the application releases the connection. With unread data the connection is
    /// aborted, since a FIN would signal success; otherwise it closes.
    pub fn begin<P: Payload>(now: Instant, connection: &mut Connection<P>) -> Self {
        if connection.readable() > 0 {
            connection.abort(now);
        } else {
            connection.shutdown(now);
        }
        Self::default()
    }

    /// Time of the next call of [`Self::after_input`] without input before; `None`: not needed.
    #[inline]
    pub const fn deadline(&self) -> Option<Instant> {
        self.until
    }

    /// Ends the connection if it is due. Called after each input while no application has the
    /// connection.
    pub fn after_input<P: Payload>(&mut self, now: Instant, connection: &mut Connection<P>) {
        if connection.readable() > 0 {
            connection.abort(now);
        }
        if connection.state() != State::FinWait2 {
            self.until = None;
            return;
        }
        if *self.until.get_or_insert(now + WAITS) <= now {
            connection.abort(now);
            self.until = None;
        }
    }
}
