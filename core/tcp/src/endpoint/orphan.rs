//! A connection that no application holds any more.
//!
//! It sends what was written and its FIN. It is aborted if data arrives, which
//! no application would read (RFC 9293 section 3.10.4, RFC 2525 section 2.17), and if the
//! peer's FIN does not come within a minute of FIN-WAIT-2 (Linux `tcp_fin_timeout`).

use gigatcp_events::State;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::Payload;

use crate::connection::Connection;

/// How long such a connection waits for the peer's FIN.
const WAITS: Duration = Duration::from_secs(60);

/// The timer of a connection without an application.
#[derive(Clone, Copy, Debug)]
pub struct Orphan {
    until: Instant,
}

impl Default for Orphan {
    fn default() -> Self {
        Self {
            until: Instant::FAR_FUTURE,
        }
    }
}

impl Orphan {
    /// The application lets go of the connection: with something unread it is
    /// aborted, for a FIN would say that all was well; otherwise it closes.
    pub fn begin<P: Payload>(now: Instant, connection: &mut Connection<P>) -> Self {
        if connection.readable() > 0 {
            connection.abort(now);
        } else {
            connection.close(now);
        }
        Self::default()
    }

    /// When it is to be looked at, if nothing happens before.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Instant {
        self.until
    }

    /// Ends the connection if it is time; called after each input while no
    /// application holds it.
    pub fn look<P: Payload>(&mut self, now: Instant, connection: &mut Connection<P>) {
        if connection.readable() > 0 {
            connection.abort(now);
        }
        if connection.state() != State::FinWait2 {
            self.until = Instant::FAR_FUTURE;
            return;
        }
        self.until = self.until.min(now + WAITS);
        if self.until <= now {
            connection.abort(now);
            self.until = Instant::FAR_FUTURE;
        }
    }
}
