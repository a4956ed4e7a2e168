//! What of ICMP errors and of unlikely segments is believed.

use gigatcp_units::Duration;

/// What of ICMP errors and of unlikely segments is believed.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Defense {
    /// ICMP errors other than "too big" are listened to, RFC 9293 section
    /// 3.9.2.2 and RFC 5927.
    pub icmp_errors: bool,
    /// Every ICMP error ends an open that is not complete (Linux); RFC 9293
    /// MUST-56 has soft ones end nothing.
    pub soft_errors_end_opens: bool,
    /// Only a reset at exactly RCV.NXT counts, other resets and SYNs inside
    /// the window are challenged, and acknowledgments older than the largest
    /// window are refused (RFC 5961; Linux since 3.6).
    pub challenge_ack: bool,
    /// Most challenge ACKs, and answers to segments without data outside the
    /// window, in one `challenge_ack_interval`; 0 is without limit (RFC 5961
    /// section 7).
    pub challenge_ack_limit: u32,
    /// See `challenge_ack_limit`. RFC 5961 proposes 10 in 5 s, Linux one in
    /// 500 ms (`tcp_invalid_ratelimit`).
    pub challenge_ack_interval: Duration,
}
