//! RTT measurement and the retransmission timer, RFC 6298.

use gigatcp_units::Duration;

use crate::rtt::RtoRule;

/// RTT that an earlier connection measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EarlierRtt {
    /// Smoothed RTT.
    pub srtt: Duration,
    /// Mean deviation of the RTT.
    pub rttvar: Duration,
}

/// RTT measurement and the retransmission timer, RFC 6298.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Timer {
    /// Karn's algorithm and exponential backoff, RFC 6298 (3) and (5.5).
    pub backoff: bool,
    /// Retransmission timeout before the first sample, RFC 6298 (2.1).
    pub rto_initial: Duration,
    /// RTT of an earlier connection over the path, of which that of the handshake is a later sample
    /// (RFC 9040); see [`crate::path_metrics`]. `None`: unknown.
    pub earlier_rtt: Option<EarlierRtt>,
    /// Minimum of the retransmission timeout, RFC 6298 (2.4).
    pub rto_min: Duration,
    /// Time added to each retransmission timeout except the first of a SYN (FreeBSD `rexmit_slop`,
    /// 200 ms). RFC 6298 has none.
    pub rto_slop: Duration,
    /// `rto_min` bounds 4 RTTVAR instead of RTO (Linux `tcp_set_rto`). The timeout is never below
    /// SRTT + `rto_min`.
    pub rto_floor_on_variance: bool,
    /// Rule by which RTT samples become a timeout.
    pub rto_rule: RtoRule,
    /// Clock tick of the integer rules (BSD: 500 ms).
    pub rto_tick: Duration,
    /// Maximum of the retransmission timeout, RFC 6298 (2.5).
    pub rto_max: Duration,
    /// Window of the minimum RTT; zero: the whole connection. The minimum follows a change of
    /// route: RFC 8985 section 6.2; Linux `tcp_min_rtt_wlen`.
    pub min_rtt_window: Duration,
    /// SACKed segments that were sent once give RTT samples (Linux since 3.12, `sack_rtt_us`).
    /// Without timestamps there is no other sample until the gap is filled.
    pub rtt_from_sack: bool,
    /// Retransmissions of one segment before the connection is aborted (R2 of RFC 9293 section
    /// 3.8.3).
    pub retries: u32,
    /// Every partial acknowledgment restarts the retransmission timer, as in Linux. RFC 6582
    /// section 3.2 step 3 lets only the first do so.
    pub partial_ack_restarts_timer: bool,
    /// Fast retransmit restarts the retransmission timer (BSD `tcp_input`). By RFC 6298 section 5
    /// the timer continues.
    pub repair_restarts_timer: bool,
    /// An aborted connection sends a reset (BSD `tcp_drop`). RFC 9293 section 3.8.3 only says to
    /// close.
    pub reset_on_giving_up: bool,
}
