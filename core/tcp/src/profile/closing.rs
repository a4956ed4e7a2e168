//! Closing a connection: FIN, FIN-WAIT-2 and TIME-WAIT.

use gigatcp_units::Duration;

/// Closing a connection: FIN, FIN-WAIT-2 and TIME-WAIT.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Closing {
    /// Delayed ACK of the peer's FIN, so that our FIN can carry it (Linux).
    pub delayed_fin_ack: bool,
    /// An ACK repeats our FIN while that is unacknowledged (BSD `tcp_output`, whose flags follow
    /// from the state). Challenge ACKs do not.
    pub fin_on_acks: bool,
    /// A reset in CLOSING and LAST-ACK is reported as a failure (FreeBSD). RFC 9293 section
    /// 3.10.7.4 has the connection end there as if it were acknowledged.
    pub late_reset_fails: bool,
    /// A reset advertises no window (FreeBSD). It means nothing to the peer either way.
    pub reset_without_window: bool,
    /// Idle time after which FIN-WAIT-2 ends; zero: never. Linux waits 60 s (`tcp_fin_timeout`),
    /// but only if the application no longer reads.
    pub fin_wait_2_timeout: Duration,
    /// Duration of TIME-WAIT, 2 MSL.
    pub time_wait: Duration,
    /// TIME-WAIT ends for a SYN that cannot be an old duplicate, RFC 6191.
    pub time_wait_reuse: bool,
    /// A reset does not end TIME-WAIT, RFC 1337 fix F1.
    pub time_wait_ignores_reset: bool,
}
