//! Explicit congestion notification, RFC 3168 and RFC 9768.

use crate::ecn::{EcnMode, EcnOption};

/// Explicit congestion notification, RFC 3168 and RFC 9768.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Ecn {
    /// What is asked of peers and granted to them, RFC 3168 and RFC 9768.
    pub mode: EcnMode,
    /// With classic feedback, echo each change of marking at once instead of
    /// until CWR comes: the receiver of RFC 8257 section 3.2, for peers that
    /// measure how much was marked.
    pub dctcp_receiver: bool,
    /// When AccECN options leave.
    pub ecn_option: EcnOption,
    /// With accurate feedback acknowledgments, retransmissions and probes leave
    /// as ECT(0) too, so that congestion marks them instead of dropping them
    /// (draft-ietf-tcpm-generalized-ecn; Linux). RFC 3168 sections 5.2 and
    /// 6.1.4 to 6.1.6 forbid it outside experiments (RFC 8311 section 4.3).
    pub ecn_everywhere: bool,
    /// With accurate feedback and a scalable congestion control, ECT is ECT(1), the
    /// identifier of L4S (RFC 9331 sections 4.1 to 4.3), in place of ECT(0).
    pub l4s: bool,
    /// Acknowledgments of TIME-WAIT carry no counter of marks (Linux, which keeps
    /// little more than numbers in that state); RFC 9768 section 3.2.2 has all
    /// segments carry it.
    pub time_wait_forgets_ecn: bool,
    /// ECN is done without where SYNs that ask for it get lost, and ECT where
    /// the ECN field arrives mangled (RFC 3168 section 6.1.1.1, RFC 9768
    /// sections 3.1.4 and 3.2.2.3; Linux `tcp_ecn_fallback`).
    pub ecn_fallback: bool,
    /// Accurate feedback that says of each of the first four rounds that every
    /// packet was marked is not believed, and ECT is sent no more (RFC 9768
    /// section 3.2.2.3, advice; not in Linux).
    pub ecn_doubts: bool,
}
