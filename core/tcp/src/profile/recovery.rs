//! Loss detection, loss recovery, and the undo of spurious reductions.

use gigatcp_units::Duration;

use crate::prr::PrrRule;
use crate::recovery::ReduceAgain;

/// Loss detection, loss recovery, and the undo of spurious reductions.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Recovery {
    /// Selective acknowledgment, RFC 2018, and loss recovery with it, RFC 6675.
    pub sack: bool,
    /// Reports of duplicates received, RFC 2883 (needs `sack`).
    pub dsack: bool,
    /// The SYN-ACK that completes a simultaneous open repeats the peer's SYN, and is acknowledged as
    /// a duplicate (Linux). RFC 2883 is about data.
    pub dsack_of_syn: bool,
    /// Undo by D-SACK (RFC 3708, Linux `undo_retrans`; needs `sack`). A reduction is undone when
    /// all that was retransmitted is reported as received twice.
    pub dsack_undo: bool,
    /// Fast retransmit and fast recovery, RFC 5681 section 3.2. Without it only the timer
    /// retransmits.
    pub fast_retransmit: bool,
    /// Number of duplicate acknowledgments that mean loss, `DupThresh` of RFC 6675.
    pub dup_thresh: u32,
    /// A segment other than a duplicate ACK resets their count, even if it acknowledges nothing.
    /// Such are window updates and data (BSD `tcp_input`, which sets `t_dupacks` to 0). RFC 5681
    /// section 3.2 leaves it open.
    pub row_of_duplicates_ends: bool,
    /// NewReno's response to partial acknowledgments, RFC 6582.
    pub newreno: bool,
    /// Limited transmit, RFC 3042.
    pub limited_transmit: bool,
    /// Rescue retransmission, RFC 6675 `NextSeg` rule 4.
    pub rescue_retransmission: bool,
    /// Loss detection by time, RFC 8985 section 6, instead of counting (needs `sack`).
    pub rack: bool,
    /// Tail loss probe, RFC 8985 section 7 (needs `sack`).
    pub tlp: bool,
    /// Additional time that a probe waits for the acknowledgment of a single segment.
    /// `TLP.max_ack_delay` of RFC 8985 section 7.2.
    pub tlp_max_ack_delay: Duration,
    /// Time that a probe waits beyond 2 SRTT while several segments are in flight. None by RFC
    /// 8985; two ticks of the clock in Linux (`TCP_TIMEOUT_MIN`).
    pub tlp_slack: Duration,
    /// Proportional rate reduction, RFC 9937. `None`: nothing is sent until `pipe` has fallen
    /// below cwnd, as in RFC 6675 and 5681.
    pub prr: Option<PrrRule>,
    /// Whether the loss of a retransmission reduces the window again, RFC 5681 section 4.3. Only
    /// `rack` detects it.
    pub reduce_again: ReduceAgain,
    /// Detection of spurious timeouts by the ACKs that follow, RFC 5682.
    pub frto: bool,
    /// The test also follows a repeated timeout of the same segment (Linux). RFC 5682 section 2.1
    /// excludes these.
    pub frto_again: bool,
    /// Detection of spurious recovery by timestamps, RFC 3522 (needs `timestamps`). After a
    /// spurious timeout the timer is more careful, RFC 4015.
    pub eifel: bool,
}
