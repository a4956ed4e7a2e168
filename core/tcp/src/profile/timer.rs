//! Round-trip times and the retransmission timer, RFC 6298.

use gigatcp_units::Duration;

/// Round-trip times and the retransmission timer, RFC 6298.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Timer {
    /// Karn's algorithm and exponential backoff, RFC 6298 (3) and (5.5).
    pub backoff: bool,
    /// Retransmission timeout before the first sample, RFC 6298 (2.1).
    pub rto_initial: Duration,
    /// Floor of the retransmission timeout, RFC 6298 (2.4).
    pub rto_min: Duration,
    /// Whether that floor is one of 4 RTTVAR instead of RTO (Linux
    /// `tcp_set_rto`): the timeout is never below SRTT + `rto_min`.
    pub rto_floor_on_variance: bool,
    /// Ceiling of the retransmission timeout, RFC 6298 (2.5).
    pub rto_max: Duration,
    /// How far back the smallest round-trip time is looked for, so that it
    /// follows a change of route (RFC 8985 section 6.2; Linux
    /// `tcp_min_rtt_wlen`); zero is the whole connection.
    pub min_rtt_window: Duration,
    /// Round trips are also measured by what is SACKed and was sent once (Linux
    /// since 3.12, `sack_rtt_us`): without timestamps there is no other sample as
    /// long as a hole is not filled.
    pub rtt_from_sack: bool,
    /// Retransmissions of one segment before giving up (R2 of RFC 9293
    /// section 3.8.3).
    pub retries: u32,
    /// Every partial acknowledgment restarts the retransmission timer, as in
    /// Linux; RFC 6582 section 3.2 step 3 lets only the first do so.
    pub partial_ack_restarts_timer: bool,
    /// Fast retransmit restarts the retransmission timer (BSD `tcp_input`); RFC
    /// 6298 section 5 lets it run on.
    pub repair_restarts_timer: bool,
    /// A peer that is given up is told so with a reset (BSD `tcp_drop`; RFC 9293
    /// section 3.8.3 only asks to close).
    pub reset_on_giving_up: bool,
}
