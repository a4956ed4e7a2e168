//! Validation of ICMP errors and of suspicious segments.

use gigatcp_units::Duration;

/// Validation of ICMP errors and of suspicious segments.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Defense {
    /// ICMP errors are processed, RFC 9293 section 3.9.2.2 and RFC 5927; those about the path's MTU
    /// only with `pmtud` as well.
    pub icmp_errors: bool,
    /// Every ICMP error aborts an open that is not complete (Linux). RFC 9293 MUST-56 has soft
    /// errors abort nothing.
    pub soft_errors_end_opens: bool,
    /// Defense against blind attacks, RFC 5961 sections 3 and 5 (Linux since 3.6). Only a reset at
    /// exactly RCV.NXT counts; others inside the window are challenged. ACKs older than the
    /// largest window are rejected.
    pub challenge_ack: bool,
    /// SYNs of a synchronized connection are challenged, RFC 5961 section 4.
    pub challenge_syn: bool,
    /// A segment with both SYN and FIN is dropped (FreeBSD `drop_synfin`, off there). Scanners of
    /// operating systems send such.
    pub drop_syn_fin: bool,
    /// Maximum number of challenge ACKs in one `challenge_ack_interval`; 0: no limit. Answers to
    /// segments without data outside the window count too (RFC 5961 section 7).
    pub challenge_ack_limit: u32,
    /// Interval of `challenge_ack_limit`. RFC 5961 proposes 10 in 5 s, Linux one in 500 ms
    /// (`tcp_invalid_ratelimit`).
    pub challenge_ack_interval: Duration,
}
