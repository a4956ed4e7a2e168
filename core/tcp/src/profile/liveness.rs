//! Keep-alives and the user timeout.

use gigatcp_units::Duration;

/// Keep-alives and the user timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Liveness {
    /// Keep-alives, RFC 9293 section 3.8.4 (MUST-25: off unless asked for).
    pub keepalive: bool,
    /// Silence before the first keep-alive (RFC 9293 MUST-28; Linux
    /// `tcp_keepalive_time`).
    pub keepalive_time: Duration,
    /// Time between keep-alives without answer (Linux `tcp_keepalive_intvl`).
    pub keepalive_interval: Duration,
    /// Keep-alives without answer that end a connection, at least two (RFC
    /// 9293 MUST-29; Linux `tcp_keepalive_probes`).
    pub keepalive_probes: u32,
    /// How long data may go without acknowledgment before the peer is given up,
    /// instead of by `retries`; zero is without (RFC 9293 section 3.9.1, Linux
    /// `TCP_USER_TIMEOUT`).
    pub user_timeout: Duration,
    /// Telling the user timeout and listening to the peer's, RFC 5482 (ENABLED
    /// there, off by default).
    pub user_timeout_option: bool,
    /// Adopting the peer's (CHANGEABLE of RFC 5482 section 3.1).
    pub user_timeout_adopt: bool,
    /// The least that is adopted (L_LIMIT of RFC 5482 section 3.1: 100 s, as R2
    /// of RFC 9293 SHLD-11).
    pub user_timeout_min: Duration,
    /// The most that is adopted (U_LIMIT of RFC 5482 section 3.1).
    pub user_timeout_max: Duration,
}
