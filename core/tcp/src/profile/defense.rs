//! Validation of ICMP errors and of suspicious segments.

use gigatcp_units::Duration;

/// Validation of ICMP errors and of suspicious segments.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Defense {
    /// ICMP errors other than "too big" are processed, RFC 9293 section 3.9.2.2 and RFC 5927.
    pub icmp_errors: bool,
    /// Every ICMP error aborts an open that is not complete (Linux). RFC 9293 MUST-56 has soft
    /// errors abort nothing.
    pub soft_errors_end_opens: bool,
    /// Defense against blind attacks, RFC 5961 (Linux since 3.6). Only a reset at exactly RCV.NXT
    /// counts; other resets and SYNs inside the window are challenged. ACKs older than the
    /// largest window are rejected.
    pub challenge_ack: bool,
    /// Maximum number of challenge ACKs in one `challenge_ack_interval`; 0: no limit. Answers to
    /// segments without data outside the window count too (RFC 5961 section 7).
    pub challenge_ack_limit: u32,
    /// Interval of `challenge_ack_limit`. RFC 5961 proposes 10 in 5 s, Linux one in 500 ms
    /// (`tcp_invalid_ratelimit`).
    pub challenge_ack_interval: Duration,
}
