//! The path's MTU, RFC 1191, RFC 8201 and RFC 8899.

use gigatcp_units::Duration;

/// The path's MTU, RFC 1191, RFC 8201 and RFC 8899.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct PathMtu {
    /// The path's MTU as routers tell it, RFC 1191 and RFC 8201.
    pub pmtud: bool,
    /// No estimate of an IPv4 path below this by an ICMP error alone (Linux
    /// `min_pmtu`): one forged error could make us send a million tiny segments.
    pub pmtu_min: u32,
    /// An ICMP "too big" about a size that got through before is believed only
    /// once the segment it quotes has timed out, RFC 5927 section 7.2.
    pub too_big_waits: bool,
    /// The path's MTU where routers keep silent, RFC 4821 and RFC 8899: black
    /// holes are noticed, and probes of real data find what passes (Linux
    /// `tcp_mtu_probing` 1, there off by default).
    pub plpmtud: bool,
    /// With `plpmtud`: every connection begins at `pmtu_base` and searches at
    /// once, so that no black hole can stall it (Linux `tcp_mtu_probing` 2).
    pub plpmtud_from_base: bool,
    /// Packet size that passes almost everywhere, octets (`BASE_PLPMTU`, RFC
    /// 8899 section 5.1.2).
    pub pmtu_base: u32,
    /// Probes of one size that must be lost before it counts as too big
    /// (`MAX_PROBES`, RFC 8899 section 5.1.2).
    pub pmtu_probes: u32,
    /// How long an estimate holds before more is tried (RFC 1191 section 6.3;
    /// `PMTU_RAISE_TIMER`, RFC 8899 section 5.1.1).
    pub pmtu_raise: Duration,
    /// Timeouts in a row at full size that mean a black hole (RFC 4821 section
    /// 7.7; Linux `tcp_retries1`, R1 of RFC 9293 section 3.8.3).
    pub black_hole_timeouts: u32,
    /// Smallest MSS taken at its word, octets without options: below it headers
    /// outweigh data, and a peer or a forged ICMP error could make us send a
    /// million tiny segments (Linux `tcp_min_snd_mss`, 2019, after the attacks
    /// on SACK of CVE-2019-11479).
    pub mss_min: u32,
    /// Packet size that the host remembers of the route to the peer, octets; 0:
    /// nothing is remembered. The estimate of the path's MTU begins there,
    /// whatever both SYNs say, and ages from there (RFC 1191 section 6.3). BSD
    /// kept it in the route (`rmx_mtu`), and where nothing had been learned, what
    /// the driver had put there.
    pub route_mtu: u32,
}
