//! Keep-alives and the user timeout.

use gigatcp_units::Duration;

/// Keep-alives and the user timeout.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Liveness {
    /// Keep-alives, RFC 9293 section 3.8.4 (MUST-25: off unless requested).
    pub keepalive: bool,
    /// Idle time before the first keep-alive (RFC 9293 MUST-28; Linux `tcp_keepalive_time`).
    pub keepalive_time: Duration,
    /// Time between unanswered keep-alives (Linux `tcp_keepalive_intvl`).
    pub keepalive_interval: Duration,
    /// Unanswered keep-alives that abort a connection, at least two. RFC 9293 MUST-29; Linux
    /// `tcp_keepalive_probes`.
    pub keepalive_probes: u32,
    /// Time data may stay unacknowledged before the connection is aborted; zero: `retries`
    /// decides. RFC 9293 section 3.9.1, Linux `TCP_USER_TIMEOUT`.
    pub user_timeout: Duration,
    /// User timeout option, sent and received, RFC 5482 (ENABLED there, off by default).
    pub user_timeout_option: bool,
    /// The peer's user timeout is adopted (CHANGEABLE of RFC 5482 section 3.1).
    pub user_timeout_adopt: bool,
    /// Minimum user timeout that is adopted (L_LIMIT of RFC 5482 section 3.1: 100 s). R2 of RFC
    /// 9293 SHLD-11 is the same.
    pub user_timeout_min: Duration,
    /// Maximum user timeout that is adopted (U_LIMIT of RFC 5482 section 3.1).
    pub user_timeout_max: Duration,
}
