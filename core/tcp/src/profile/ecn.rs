//! Explicit congestion notification, RFC 3168 and RFC 9768.

use crate::ecn::{EcnMode, EcnOption};

/// Explicit congestion notification, RFC 3168 and RFC 9768.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Ecn {
    /// ECN feedback requested from peers and granted to them, RFC 3168 and RFC 9768.
    pub mode: EcnMode,
    /// With classic feedback, ECN-Echo follows each change of marking: the DCTCP receiver. RFC
    /// 8257 section 3.2, for senders that measure the share of marks; without, it is sent until
    /// CWR arrives.
    pub dctcp_receiver: bool,
    /// Segments that carry an AccECN option.
    pub ecn_option: EcnOption,
    /// With accurate feedback, acknowledgments, retransmissions and probes leave as ECT(0) too.
    /// Congestion then marks them instead of dropping them (draft-ietf-tcpm-generalized-ecn;
    /// Linux). RFC 3168 sections 5.2 and 6.1.4 to 6.1.6 forbid it outside experiments (RFC 8311
    /// section 4.3).
    pub ecn_everywhere: bool,
    /// With accurate feedback and a scalable congestion control, data leaves as ECT(1). That is
    /// the identifier of L4S (RFC 9331 sections 4.1 to 4.3), in place of ECT(0).
    pub l4s: bool,
    /// ACKs in TIME-WAIT carry no counter of marks (Linux, whose TIME-WAIT state keeps none). RFC
    /// 9768 section 3.2.2 has all segments carry it.
    pub time_wait_forgets_ecn: bool,
    /// No ECN after lost SYNs, no ECT if the ECN field is mangled. RFC 3168 section
    /// 6.1.1.1, RFC 9768 sections 3.1.4 and 3.2.2.3; Linux `tcp_ecn_fallback`.
    pub ecn_fallback: bool,
    /// Feedback is ignored if it reports every packet of the first four rounds as marked. ECT is
    /// then no longer sent (RFC 9768 section 3.2.2.3, advice; not in Linux).
    pub ecn_doubts: bool,
}
