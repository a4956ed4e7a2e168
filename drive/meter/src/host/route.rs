//! The route to a destination, its metrics, and the metrics the kernel remembers of the peer.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use crate::doctor::HostFacts;
use crate::doctor::facts::{Fact, PeerMetrics, Route, RouteMetrics, Unreadable};
use crate::doctor::shell;
use gigatcp_linux::netlink_request::{self, attribute, attributes, value, word};

use super::{absent, noted, number, text};

const GET_ROUTE: u16 = 26;
/// `struct rtmsg`.
const ROUTE_HEADER: usize = 12;
/// Flag for the route as it was entered, not the result of the lookup.
const FIB_MATCH: u32 = 0x2000;

/// Family of addresses (`AF_INET6`).
const IPV6: u8 = 10;

const DESTINATION: u16 = 1;
const INTERFACE: u16 = 4;
const GATEWAY: u16 = 5;
const PRIORITY: u16 = 6;
const SOURCE: u16 = 7;
const METRICS: u16 = 8;
const TABLE: u16 = 15;

/// An address that no network uses (RFC 5737), to find the default route.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
/// Type of routes to this host itself.
const LOCAL_ROUTE: u8 = 2;
/// Default table of `ip route`.
const MAIN: u32 = 254;
const LOCAL: u32 = 255;

pub(super) fn read(facts: &mut HostFacts, destination: Option<IpAddr>) {
    let to = destination.unwrap_or(ELSEWHERE.into());
    facts.route = noted(facts, Fact::Route, route(to));
    match destination {
        Some(to) => facts.peer = noted(facts, Fact::PeerMetrics, peer(to)),
        None => {
            let why = Unreadable {
                cause: "no HOST was given".into(),
                grant: None,
            };
            facts
                .unreadable
                .insert(Fact::PeerMetrics.name().into(), why);
        }
    }
}

fn route(to: IpAddr) -> io::Result<Route> {
    let found = lookup(to, 0)?;
    // A kernel before 4.13 does not support the flag; then the result of the lookup is used.
    let entered = lookup(to, FIB_MATCH).unwrap_or_else(|_| found.clone());
    let attributes_of_found = &found[ROUTE_HEADER..];
    let index = number(attributes_of_found, INTERFACE);
    let device = index.and_then(name_of).ok_or_else(|| absent("interface"))?;
    let source = value(attributes_of_found, SOURCE).and_then(address);
    let metrics = metrics_of(&entered);
    let learned = metrics_of(&found).mtu_bytes;
    Ok(Route {
        spec: spec(&entered, &device),
        device,
        source: source.map(|source| source.to_string()),
        path_mtu_bytes: learned.filter(|mtu| Some(*mtu) != metrics.mtu_bytes),
        metrics,
    })
}

/// Name of the interface that packets to an address leave through.
pub fn interface_towards(to: IpAddr) -> Option<String> {
    let found = lookup(to, 0).ok()?;
    number(&found[ROUTE_HEADER..], INTERFACE).and_then(name_of)
}

fn lookup(to: IpAddr, flags: u32) -> io::Result<Vec<u8>> {
    let (family, octets) = match to {
        IpAddr::V4(to) => (2, to.octets().to_vec()),
        IpAddr::V6(to) => (10, to.octets().to_vec()),
    };
    let bits = (8 * octets.len()) as u8;
    let mut body = vec![family, bits, 0, 0, 0, 0, 0, 0];
    body.extend_from_slice(&flags.to_ne_bytes());
    attribute(&mut body, DESTINATION, &octets);
    let answers = netlink_request::route(GET_ROUTE, &body, false)?;
    let answer = answers.into_iter().next();
    let is_whole = |answer: &Vec<u8>| answer.len() >= ROUTE_HEADER;
    answer.filter(is_whole).ok_or_else(|| absent("route"))
}

/// Route as arguments of `ip route`, without metrics. Empty for a route with more than these
/// arguments and the metrics that are read say, as one of several hops: `ip route replace` would
/// lose the rest.
fn spec(message: &[u8], device: &str) -> String {
    let (bits, attributes) = (message[1], &message[ROUTE_HEADER..]);
    if !is_modelled(message) {
        return String::new();
    }
    let to = value(attributes, DESTINATION).and_then(address);
    let to = match to {
        Some(to) if bits > 0 => format!("{to}/{bits}"),
        _ if message[0] == IPV6 => "::/0".into(),
        _ => "default".into(),
    };
    let mut words = match message[7] {
        LOCAL_ROUTE => format!("local {to}"),
        _ => to,
    };
    if let Some(gateway) = value(attributes, GATEWAY).and_then(address) {
        words.push_str(&format!(" via {gateway}"));
    }
    words.push_str(&format!(" dev {}", shell::word(device)));
    match number(attributes, TABLE).unwrap_or(MAIN) {
        MAIN => {}
        LOCAL => words.push_str(" table local"),
        table => words.push_str(&format!(" table {table}")),
    }
    // `ip route` takes a number for each; 3 is its own.
    match message[5] {
        3 => {}
        2 => words.push_str(" proto kernel"),
        4 => words.push_str(" proto static"),
        9 => words.push_str(" proto ra"),
        16 => words.push_str(" proto dhcp"),
        protocol => words.push_str(&format!(" proto {protocol}")),
    }
    if let Some(source) = value(attributes, SOURCE).and_then(address) {
        words.push_str(&format!(" src {source}"));
    }
    if let Some(priority) = number(attributes, PRIORITY) {
        words.push_str(&format!(" metric {priority}"));
    }
    words
}

/// Whether the words of [`spec`] and the metrics of [`metrics_of`] are all that a route has.
fn is_modelled(message: &[u8]) -> bool {
    /// Last used, number of users and expiry.
    const CACHE: u16 = 12;
    const PREFERENCE: u16 = 20;
    const PADDING: u16 = 24;
    /// The answer's own flags (`RTM_F_LOOKUP_TABLE`, `RTM_F_FIB_MATCH`), and state that the driver
    /// reports (`RTNH_F_OFFLOAD`, `RTM_F_OFFLOAD`).
    const FLAGS: u32 = 0x1000 | FIB_MATCH | 0x8 | 0x4000;
    const UNIVERSE: u8 = 0;
    const LINK: u8 = 253;
    const HOST: u8 = 254;
    const UNICAST: u8 = 1;
    let all = &message[ROUTE_HEADER..];
    let [source_bits, tos, scope, kind] = [2, 3, 6, 7].map(|offset| message[offset]);
    // As `ip route` derives it.
    let usual_scope = match kind {
        _ if message[0] == IPV6 => UNIVERSE,
        LOCAL_ROUTE => HOST,
        _ if value(all, GATEWAY).is_some() => UNIVERSE,
        _ => LINK,
    };
    let flags = word(message, 8).unwrap_or(u32::MAX);
    let is_known = |(kind, value): (u16, &[u8])| match kind {
        DESTINATION | INTERFACE | GATEWAY | PRIORITY | SOURCE | TABLE | PADDING => true,
        METRICS => attributes(value).all(|(kind, value)| is_modelled_metric(kind, value)),
        // Clients, last use, and the time until it expires.
        CACHE => word(value, 8) == Some(0),
        PREFERENCE => value == [0],
        _ => false,
    };
    (source_bits, tos) == (0, 0)
        && scope == usual_scope
        && matches!(kind, UNICAST | LOCAL_ROUTE)
        && flags & !FLAGS == 0
        && attributes(all).all(is_known)
}

/// Whether [`metrics_of`] reads a metric, or it is unset.
fn is_modelled_metric(kind: u16, value: &[u8]) -> bool {
    const LOCKS: u16 = 1;
    const READ: [u16; 9] = [2, 3, 6, 7, 8, 11, 13, 14, 16];
    let number = word(value, 0);
    match kind {
        LOCKS => number.is_some_and(|locks| {
            let read = READ.iter().fold(0, |bits, kind| bits | 1_u32 << kind);
            locks & !read == 0
        }),
        kind => READ.contains(&kind) || number == Some(0),
    }
}

/// Metrics by their numbers (`RTAX_*` of linux/rtnetlink.h).
fn metrics_of(message: &[u8]) -> RouteMetrics {
    let all = value(&message[ROUTE_HEADER..], METRICS).unwrap_or_default();
    let mut metrics = RouteMetrics::default();
    for (kind, value) in attributes(all) {
        let number = word(value, 0).map(u64::from);
        match kind {
            1 => metrics.locks = number.unwrap_or(0),
            2 => metrics.mtu_bytes = number,
            3 => metrics.window_bytes = number,
            6 => metrics.ssthresh_segments = number,
            7 => metrics.cwnd_segments = number,
            8 => metrics.advmss_bytes = number,
            11 => metrics.initcwnd_segments = number,
            13 => metrics.rto_min_ms = number,
            14 => metrics.initrwnd_segments = number,
            16 => metrics.congctl = Some(text(value)),
            _ => {}
        }
    }
    metrics
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    match octets.len() {
        4 => Some(IpAddr::from(<[u8; 4]>::try_from(octets).ok()?)),
        16 => Some(IpAddr::from(<[u8; 16]>::try_from(octets).ok()?)),
        _ => None,
    }
}

/// Name of the interface with this number.
fn name_of(index: u32) -> Option<String> {
    super::interface::link_with(index).ok()?.name()
}

/// Metrics remembered of a peer (`linux/tcp_metrics.h`); none is not an error.
fn peer(to: IpAddr) -> io::Result<PeerMetrics> {
    const GET: u8 = 1;
    const VALUES: u16 = 6;
    // Numbers of metrics, each one more than in the kernel's enumeration.
    const RTT_MS: u16 = 1;
    const SSTHRESH: u16 = 3;
    const CWND: u16 = 4;
    const RTT_US: u16 = 6;
    let mut wanted = Vec::new();
    match to {
        IpAddr::V4(to) => attribute(&mut wanted, 1, &to.octets()),
        IpAddr::V6(to) => attribute(&mut wanted, 2, &to.octets()),
    }
    let answer = match netlink_request::generic("tcp_metrics", GET, &wanted) {
        // There is no entry.
        Err(error) if error.raw_os_error() == Some(ESRCH) => return Ok(PeerMetrics::default()),
        answer => answer?,
    };
    let values = value(&answer, VALUES).unwrap_or_default();
    let number = |kind| number(values, kind).map(u64::from);
    Ok(PeerMetrics {
        rtt_us: number(RTT_US).or(number(RTT_MS).map(|millis| millis * 1000)),
        ssthresh_segments: number(SSTHRESH),
        cwnd_segments: number(CWND),
    })
}

/// "No such process".
const ESRCH: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv4 route by a gateway, as the kernel answers with it.
    fn route(flags: u32, further: &[(u16, &[u8])]) -> Vec<u8> {
        let mut message = vec![2, 24, 0, 0, 254, 4, 0, 1];
        message.extend_from_slice(&(flags | FIB_MATCH).to_ne_bytes());
        attribute(&mut message, TABLE, &254_u32.to_ne_bytes());
        attribute(&mut message, DESTINATION, &[192, 0, 2, 0]);
        attribute(&mut message, GATEWAY, &[198, 51, 100, 1]);
        for (kind, value) in further {
            attribute(&mut message, *kind, value);
        }
        message
    }

    /// The attribute of one metric.
    fn metric(kind: u16, number: u32) -> Vec<u8> {
        let mut metrics = Vec::new();
        attribute(&mut metrics, kind, &number.to_ne_bytes());
        metrics
    }

    #[test]
    fn route_that_its_words_describe_has_a_command_with_its_device_quoted() {
        let plain = route(0, &[(METRICS, &metric(2, 1400)), (20, &[0])]);
        let words = "192.0.2.0/24 via 198.51.100.1 dev eth0 proto static";
        assert_eq!(spec(&plain, "eth0"), words);
        let quoted = words.replace("eth0", "'$(x)'");
        assert_eq!(spec(&plain, "$(x)"), quoted);
    }

    #[test]
    fn route_with_more_than_its_words_say_has_no_command() {
        let (several_hops, via, realms, encapsulated, next_hop) = (9, 18, 11, 22, 30);
        for kind in [several_hops, via, realms, encapsulated, next_hop] {
            assert_eq!(
                spec(&route(0, &[(kind, &[1, 0, 0, 0])]), "eth0"),
                "",
                "{kind}"
            );
        }
        let (hop_limit, features, quick_ack) = (10, 12, 15);
        for kind in [hop_limit, features, quick_ack] {
            let metrics = metric(kind, 1);
            assert_eq!(
                spec(&route(0, &[(METRICS, &metrics)]), "eth0"),
                "",
                "{kind}"
            );
        }
        let locked = metric(1, 1 << hop_limit);
        assert_eq!(spec(&route(0, &[(METRICS, &locked)]), "eth0"), "");
        let preferred = route(0, &[(20, &[1])]);
        let expiring = route(0, &[(12, &[7; 32])]);
        const ON_LINK: u32 = 4;
        for other in [preferred, expiring, route(ON_LINK, &[])] {
            assert_eq!(spec(&other, "eth0"), "");
        }
        // Type of service, and scope.
        for (offset, wrong) in [(3, 8), (6, 253)] {
            let mut other = route(0, &[]);
            other[offset] = wrong;
            assert_eq!(spec(&other, "eth0"), "", "{offset}");
        }
    }
}
