//! Finding and repairing losses, and taking back what was none.

use gigatcp_units::Duration;

use crate::prr::PrrRule;
use crate::recovery::ReduceAgain;

/// Finding and repairing losses, and taking back what was none.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Recovery {
    /// Selective acknowledgment, RFC 2018, and recovery by it, RFC 6675.
    pub sack: bool,
    /// Reporting duplicates received, RFC 2883 (needs `sack`).
    pub dsack: bool,
    /// A reduction is taken back when all that was sent again is reported as
    /// received twice (RFC 3708, Linux `undo_retrans`; needs `sack`).
    pub dsack_undo: bool,
    /// Fast retransmit and fast recovery, RFC 5681 section 3.2; without it
    /// only the timer repairs losses.
    pub fast_retransmit: bool,
    /// Duplicate acknowledgments that mean loss, `DupThresh` of RFC 6675.
    pub dup_thresh: u32,
    /// What is no duplicate acknowledgment ends a row of them, though it
    /// acknowledges nothing: a window update, or data (BSD `tcp_input`, which
    /// sets `t_dupacks` to 0). RFC 5681 section 3.2 does not say.
    pub row_of_duplicates_ends: bool,
    /// NewReno's answer to partial acknowledgments, RFC 6582.
    pub newreno: bool,
    /// Limited transmit, RFC 3042.
    pub limited_transmit: bool,
    /// Rescue retransmission, RFC 6675 `NextSeg` rule 4.
    pub rescue_retransmission: bool,
    /// Loss by time, RFC 8985 section 6, in place of counting (needs `sack`).
    pub rack: bool,
    /// Tail loss probe, RFC 8985 section 7 (needs `sack`).
    pub tlp: bool,
    /// How much longer a probe waits for the acknowledgment of a single
    /// segment: `TLP.max_ack_delay` of RFC 8985 section 7.2.
    pub tlp_max_ack_delay: Duration,
    /// What a probe waits beyond 2 SRTT while several segments are in flight:
    /// none by RFC 8985; two ticks of the clock in Linux (`TCP_TIMEOUT_MIN`).
    pub tlp_slack: Duration,
    /// Proportional rate reduction, RFC 9937; absent: silent until `pipe` is
    /// down, as RFC 6675 and 5681 have it.
    pub prr: Option<PrrRule>,
    /// Whether the loss of a retransmission, which only `rack` finds, reduces the
    /// window once more, RFC 5681 section 4.3.
    pub reduce_again: ReduceAgain,
    /// Detection of spurious timeouts by what comes back, RFC 5682.
    pub frto: bool,
    /// Detection of spurious recovery by timestamps, RFC 3522 (needs
    /// `timestamps`), and a more careful timer after a spurious timeout, RFC
    /// 4015.
    pub eifel: bool,
}
