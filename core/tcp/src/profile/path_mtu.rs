//! Discovery of the path's MTU, RFC 1191, RFC 8201 and RFC 8899.

use gigatcp_units::Duration;

/// Discovery of the path's MTU, RFC 1191, RFC 8201 and RFC 8899.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct PathMtu {
    /// Path MTU discovery by ICMP errors of routers, RFC 1191 and RFC 8201.
    pub pmtud: bool,
    /// Smallest estimate of an IPv4 path that an ICMP error can set (Linux `min_pmtu`). A forged
    /// error with a smaller one could make the host send a million tiny segments.
    pub pmtu_min: u32,
    /// An ICMP "too big" about a size that got through before is not believed immediately. It
    /// takes effect once the segment it quotes has timed out, RFC 5927 section 7.2.
    pub too_big_waits: bool,
    /// Path MTU discovery without ICMP errors, RFC 4821 and RFC 8899. It detects black holes, and
    /// probes of real data find what passes (Linux `tcp_mtu_probing` 1, there off by default).
    pub plpmtud: bool,
    /// With `plpmtud`: every connection begins at `pmtu_base` and probes from the start. No black
    /// hole can stall it (Linux `tcp_mtu_probing` 2).
    pub plpmtud_from_base: bool,
    /// Packet size in octets that passes almost everywhere (`BASE_PLPMTU`, RFC 8899 section
    /// 5.1.2).
    pub pmtu_base: u32,
    /// Lost probes of one size after which it counts as too big. `MAX_PROBES` of RFC 8899 section
    /// 5.1.2.
    pub pmtu_probes: u32,
    /// Age of an estimate at which larger sizes are tried again. RFC 1191 section 6.3;
    /// `PMTU_RAISE_TIMER`, RFC 8899 section 5.1.1.
    pub pmtu_raise: Duration,
    /// Consecutive timeouts of full-sized segments that indicate a black hole. RFC 4821 section
    /// 7.7; Linux `tcp_retries1`, R1 of RFC 9293 section 3.8.3.
    pub black_hole_timeouts: u32,
    /// Smallest MSS that is accepted, in octets without options (Linux `tcp_min_snd_mss`). Below
    /// it headers outweigh data: a peer or a forged ICMP error could make the host send a million
    /// tiny segments. Linux has it since 2019, after the SACK attacks of CVE-2019-11479.
    pub mss_min: u32,
    /// A SYN announces no larger MSS than the known path MTU allows (Linux
    /// `ipv4_default_advmss`). By RFC 1191 section 3.1 that of the interface counts: the other
    /// direction may have another path.
    pub mss_of_path: bool,
    /// Packet size remembered of the route to the peer, in octets; 0: none. The estimate of the
    /// path's MTU begins there, whatever both SYNs say, and ages from there (RFC 1191 section
    /// 6.3). BSD kept it in the route (`rmx_mtu`); before anything was learned, that was the
    /// driver's value.
    pub route_mtu: u32,
}
