//! The route to a destination, its metrics, and the metrics the kernel remembers of the peer.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use gigatcp_doctor::HostFacts;
use gigatcp_doctor::facts::{Fact, PeerMetrics, Route, RouteMetrics, Unreadable};
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
const SEVERAL_HOPS: u16 = 9;
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

/// Returns the name of the interface that packets to an address leave through.
#[must_use]
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

/// Returns the route as arguments of `ip route`, without metrics. Empty for a route of several
/// hops, which has no short form.
fn spec(message: &[u8], device: &str) -> String {
    let (bits, attributes) = (message[1], &message[ROUTE_HEADER..]);
    if value(attributes, SEVERAL_HOPS).is_some() {
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
    words.push_str(&format!(" dev {device}"));
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

/// Returns the metrics by their numbers (`RTAX_*` of linux/rtnetlink.h).
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

/// Returns the name of the interface with this number.
fn name_of(index: u32) -> Option<String> {
    super::interface::link_with(index).ok()?.name()
}

/// Returns the metrics remembered of a peer (`linux/tcp_metrics.h`); none is not an error.
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
