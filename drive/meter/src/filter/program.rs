//! A filter of connections as the filter of a packet socket, and in tcpdump's words.
//!
//! A condition is a block of instructions with two exits: its end if the condition holds, one
//! instruction behind its end otherwise. [`and`], [`or`] and [`not`] join such blocks.
//!
//! Packets are selected by their own headers. A fragment without a TCP header has no port, nor has
//! an IPv6 packet with extension headers. ICMP errors are always selected: they report segments
//! that did not arrive.

use std::net::IpAddr;

use gigatcp_linux::socket_filter::{
    BYTE, HALF, Instruction, MAX_INSTRUCTIONS, REJECT, WORD, accept, and as mask, equal, load,
    load_behind, load_ether_type, set_base, skip,
};

use super::{Ends, Filter, Place};
use crate::tester::Network;

/// EtherTypes, and the numbers of protocols above IP.
const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const ICMP: u32 = 1;
const TCP: u32 = 6;
const ICMPV6: u32 = 58;
/// IPv6 extension headers that may precede TCP: hop-by-hop, routing, fragment, destination.
const EXTENSIONS: [u32; 4] = [0, 43, 44, 60];

/// Offsets in an IPv4 packet.
const V4_FRAGMENT: u32 = 6;
const V4_PROTOCOL: u32 = 9;
const V4_ADDRESSES: [u32; 2] = [12, 16];

/// Offsets in an IPv6 packet.
const V6_NEXT_HEADER: u32 = 6;
const V6_ADDRESSES: [u32; 2] = [8, 24];
const V6_LENGTH: u32 = 40;

/// Bits of the offset of an IPv4 fragment.
const FRAGMENT_OFFSET: u32 = 0x1fff;

/// Offsets of the ports in a TCP header.
const PORTS: [u32; 2] = [0, 2];

/// Types of ICMP and ICMPv6 errors: unreachable, source quench, time exceeded, parameter problem;
/// unreachable, too big, time exceeded, parameter problem.
const ICMP_ERRORS: [u32; 4] = [3, 4, 11, 12];
const ICMPV6_ERRORS: [u32; 4] = [1, 2, 3, 4];

/// A condition.
type Block = Vec<Instruction>;

impl Filter {
    /// The program that selects the TCP packets of these connections, in both directions, and ICMP
    /// errors. It accepts the first `snap` bytes of each.
    ///
    /// # Errors
    /// A term that packets do not have, or too many terms.
    pub fn program(&self, snap: u32) -> Result<Vec<Instruction>, String> {
        let selected = or([icmp_error(), and([tcp(), self.block()?])]);
        let program = [selected, vec![accept(snap), REJECT]].concat();
        if program.len() > MAX_INSTRUCTIONS {
            return Err("it has more terms than the kernel takes".into());
        }
        Ok(program)
    }

    /// The filter in tcpdump's words.
    pub fn tcpdump(&self) -> String {
        match self.words() {
            None => "tcp".into(),
            Some(words) => format!("tcp and {words}"),
        }
    }

    fn block(&self) -> Result<Block, String> {
        match self {
            Self::Any => Ok(Vec::new()),
            Self::Not(inner) => inner.block().map(not),
            Self::All(terms) => Ok(and(blocks(terms)?)),
            Self::Either(terms) => Ok(or(blocks(terms)?)),
            Self::At(Ends::Either, place) => Ok(or([0, 1].map(|end| at(place, end)))),
            Self::At(..) => Err(
                "src, dst, sport and dport tell ends apart, and both directions are needed: \
                 write host A or port N"
                    .into(),
            ),
            Self::State(_) => Err("packets do not have the state of a socket".into()),
            Self::Pid(_) | Self::Process(_) => Err("packets do not have a process".into()),
        }
    }

    /// Its words, in parentheses if it has several terms; `None` if it selects everything.
    fn words(&self) -> Option<String> {
        let joined = |terms: &[Self], word: &str| {
            let words: Vec<String> = terms.iter().filter_map(Self::words).collect();
            (!words.is_empty()).then(|| format!("({})", words.join(word)))
        };
        match self {
            Self::Any | Self::State(_) | Self::Pid(_) | Self::Process(_) => None,
            Self::Not(inner) => inner.words().map(|words| format!("not {words}")),
            Self::All(terms) => joined(terms, " and "),
            Self::Either(terms) if terms.iter().any(|term| term.words().is_none()) => None,
            Self::Either(terms) => joined(terms, " or "),
            Self::At(_, place) => Some(place_words(place)),
        }
    }
}

fn blocks(terms: &[Filter]) -> Result<Vec<Block>, String> {
    terms.iter().map(Filter::block).collect()
}

fn place_words(place: &Place) -> String {
    let words: Vec<String> = place.networks.iter().map(network_words).collect();
    let networks = match &words[..] {
        [] => None,
        [single] => Some(single.clone()),
        _ => Some(format!("({})", words.join(" or "))),
    };
    let port = place.port.map(|port| format!("port {port}"));
    match (networks, port) {
        (Some(networks), Some(port)) => format!("({networks} and {port})"),
        (networks, port) => networks.or(port).unwrap_or_else(|| "tcp".into()),
    }
}

fn network_words(network: &Network) -> String {
    match network.parts() {
        (IpAddr::V4(_), 0) => "ip".into(),
        (IpAddr::V6(_), 0) => "ip6".into(),
        (address @ IpAddr::V4(_), 32) | (address, 128) => format!("host {address}"),
        (address, prefix) => format!("net {address}/{prefix}"),
    }
}

/// Holds if `block` does not.
fn not(mut block: Block) -> Block {
    block.push(skip(1));
    block
}

/// Holds if all of `blocks` do.
fn and(blocks: impl IntoIterator<Item = Block>) -> Block {
    let mut rest = blocks.into_iter();
    let first = rest.next().unwrap_or_default();
    rest.fold(first, |mut all, next| {
        all.extend([skip(1), skip(next.len() + 1)]);
        all.extend(next);
        all
    })
}

/// Holds if one of `blocks` does.
fn or(blocks: impl IntoIterator<Item = Block>) -> Block {
    let mut rest = blocks.into_iter();
    let first = rest.next().unwrap_or_default();
    rest.fold(first, |mut any, next| {
        any.push(skip(next.len()));
        any.extend(next);
        any
    })
}

/// Holds if the value that `loads` load is `value`.
fn is(loads: &[Instruction], value: u32) -> Block {
    [loads, &[equal(value, 0, 1)]].concat()
}

/// Holds if that is one of `values`.
fn is_one_of(loads: &[Instruction], values: &[u32]) -> Block {
    or(values.iter().map(|value| is(loads, *value)))
}

fn is_v4(protocol: u32) -> Block {
    and([
        is(&[load_ether_type()], IPV4),
        is(&[load(BYTE, V4_PROTOCOL)], protocol),
    ])
}

fn is_v6(next_headers: &[u32]) -> Block {
    and([
        is(&[load_ether_type()], IPV6),
        is_one_of(&[load(BYTE, V6_NEXT_HEADER)], next_headers),
    ])
}

fn tcp() -> Block {
    or([is_v4(TCP), is_v6(&[&[TCP][..], &EXTENSIONS].concat())])
}

fn icmp_error() -> Block {
    let v4 = [set_base(0), load_behind(BYTE, 0)];
    or([
        and([is_v4(ICMP), is_one_of(&v4, &ICMP_ERRORS)]),
        and([
            is_v6(&[ICMPV6]),
            is_one_of(&[load(BYTE, V6_LENGTH)], &ICMPV6_ERRORS),
        ]),
    ])
}

/// Holds if the source (0) or the destination (1) is the place.
fn at(place: &Place, end: usize) -> Block {
    let is_there = place.networks.iter().map(|network| is_in(network, end));
    let address = (!place.networks.is_empty()).then(|| or(is_there));
    let port = place.port.map(|port| has_port(port.into(), end));
    and(address.into_iter().chain(port))
}

fn is_in(network: &Network, end: usize) -> Block {
    let (address, prefix) = network.parts();
    let (ether_type, place, bits) = match address {
        IpAddr::V4(address) => (
            IPV4,
            V4_ADDRESSES[end],
            address.to_bits().to_be_bytes().to_vec(),
        ),
        IpAddr::V6(address) => (IPV6, V6_ADDRESSES[end], address.octets().to_vec()),
    };
    let words = bits.chunks_exact(4).zip((0..).step_by(4));
    let equal_words = words.filter_map(|(octets, offset)| {
        let left = u32::from(prefix).saturating_sub(8 * offset).min(32);
        let kept = u32::MAX.checked_shl(32 - left)?;
        let value = octets
            .iter()
            .fold(0, |word, octet| word << 8 | u32::from(*octet));
        Some(is(&[load(WORD, place + offset), mask(kept)], value & kept))
    });
    let is_version = is(&[load_ether_type()], ether_type);
    and([is_version].into_iter().chain(equal_words))
}

fn has_port(port: u32, end: usize) -> Block {
    let place = PORTS[end];
    let v4 = [set_base(0), load_behind(HALF, place)];
    or([
        and([
            is_v4(TCP),
            is(&[load(HALF, V4_FRAGMENT), mask(FRAGMENT_OFFSET)], 0),
            is(&v4, port),
        ]),
        and([is_v6(&[TCP]), is(&[load(HALF, V6_LENGTH + place)], port)]),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Filter {
        Filter::parse(text, &|_| Vec::new()).unwrap()
    }

    #[test]
    fn filter_in_words_of_tcpdump_has_its_terms() {
        for (text, words) in [
            ("", "tcp"),
            ("tcp", "tcp"),
            ("port 443", "tcp and port 443"),
            (":443", "tcp and port 443"),
            (
                "host 10.0.0.1 and port 443",
                "tcp and (host 10.0.0.1 and port 443)",
            ),
            ("10.0.0.1:443", "tcp and (host 10.0.0.1 and port 443)"),
            (
                "net 10.0.0.0/8 or not ip6",
                "tcp and (net 10.0.0.0/8 or not ip6)",
            ),
            ("tcp or port 1", "tcp"),
            ("host ::1", "tcp and host ::1"),
        ] {
            assert_eq!(parsed(text).tcpdump(), words, "{text}");
        }
    }

    #[test]
    fn terms_that_packets_do_not_have_are_errors() {
        for (text, word) in [
            ("dport = :443", "host A"),
            ("port 1 and src 10.0.0.1", "directions"),
            ("state established", "state"),
            ("not pid:1", "process"),
        ] {
            let error = parsed(text).program(120).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
        let many = ["port 1"; 1000].join(" or ");
        assert!(parsed(&many).program(120).unwrap_err().contains("terms"));
    }
}
