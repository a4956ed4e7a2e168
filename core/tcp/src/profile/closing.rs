//! Closing a connection: FIN, FIN-WAIT-2 and TIME-WAIT.

use gigatcp_units::Duration;

/// Closing a connection: FIN, FIN-WAIT-2 and TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Closing {
    /// The acknowledgment of the peer's FIN waits like that of data for ours to
    /// ride on (Linux).
    pub delayed_fin_ack: bool,
    /// Silence after which FIN-WAIT-2 ends; zero is never. Linux waits 60 s
    /// (`tcp_fin_timeout`), but only where nobody reads any more.
    pub fin_wait_2_timeout: Duration,
    /// 2 MSL: how long TIME-WAIT lasts.
    pub time_wait: Duration,
    /// TIME-WAIT gives way to a SYN that is no ghost, RFC 6191.
    pub time_wait_reuse: bool,
    /// A reset does not end TIME-WAIT, RFC 1337 fix F1.
    pub time_wait_ignores_reset: bool,
}
