//! Parses lines of a packet list, as tshark prints it and Wireshark exports and copies it: number,
//! time, source, destination, protocol, length, info. Also as CSV, and with other columns in front.
//!
//! A printed window is scaled if Wireshark knew the scale, in contrast to tcpdump's: it is divided by
//! the scale that the SYNs of the list have, so that later code scales it once. A list without SYNs
//! shows no scale; its windows stay as printed, up to what a header holds, and are known to be
//! possibly larger.
//!
//! A line of a protocol on TCP, such as TLS, has no TCP header in its info. It is a segment of the
//! only connection between its two hosts: it has the next sequence number, and its length follows
//! from that of the frame.
//!
//! Out of scope: lines wrapped by mail, and segments of such protocols that were retransmitted or
//! reordered, or are between hosts with several connections: these count as left out.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use gigatcp_wire::{Flags, option_kind};

use super::cursor::parse;
use super::endpoint::{Endpoint, Host, Port};
use super::packet::{PrintedOption, PrintedPacket};
use super::time::{self, Printed};

/// Words of a line that are examined. More follow only in info that is not TCP's.
const MAX_WORDS: usize = 80;

/// Maximum connections tracked simultaneously.
const MAX_CONNECTIONS: usize = 1 << 16;

/// Frame and header bytes before a payload, if no line shows them: Ethernet, IPv4, TCP.
const HEADERS: u32 = 54;

/// Minimum Ethernet frame without its check sequence. A bare ACK of this length may be padded.
const PADDED: u32 = 60;

/// Protocols in lists that do not run on TCP.
const NOT_TCP: [&str; 22] = [
    "ARP", "UDP", "DNS", "MDNS", "LLMNR", "DHCP", "DHCPv6", "NTP", "SSDP", "ICMP", "ICMPv6",
    "QUIC", "SNMP", "NBNS", "RTP", "RTCP", "STUN", "IGMPv2", "IGMPv3", "ESP", "SCTP", "GRE",
];

/// A line of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListedPacket<'a> {
    /// A TCP segment.
    Segment(Box<PrintedPacket<'a>>),
    /// A segment whose info is of a protocol on TCP.
    Payload(ListedPayload),
    /// Not TCP.
    NotTcp,
}

/// A line of a protocol on TCP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedPayload {
    pub start: usize,
    pub end: usize,
    pub time: Option<Printed>,
    pub src: IpAddr,
    pub dst: IpAddr,
    pub frame_len: u32,
    /// Whether it follows the data before it, as far as Wireshark knew.
    pub is_next: bool,
}

/// Parses the line at `start..end` of a text, if it is one of a list.
pub fn read(text: &[u8], start: usize, end: usize) -> Option<ListedPacket<'_>> {
    let line = &text[start..end];
    let first = line.iter().find(|octet| !matches!(octet, b' ' | b'\t'))?;
    if !first.is_ascii_digit() && *first != b'"' {
        return None;
    }
    let words = words(line);
    let place = (0..words.len().min(8)).find(|place| address(&words, *place).is_some())?;
    let src = address(&words, place)?;
    let is_arrow = words.get(place + 1).is_some_and(|word| arrow(word));
    let next = place + 1 + usize::from(is_arrow);
    let dst = address(&words, next)?;
    let [protocol, frame_len, info @ ..] = words.get(next + 1..)? else {
        return None;
    };
    let frame_len: u32 = parse(frame_len)?;
    let time = time(&words[..place]);
    let protocol = str::from_utf8(protocol).ok()?;
    protocol
        .starts_with(|c: char| c.is_ascii_alphabetic())
        .then_some(())?;
    if let Some(segment) = segment((src, dst), info) {
        return Some(ListedPacket::Segment(Box::new(PrintedPacket {
            start,
            end,
            time,
            frame_len,
            ..segment
        })));
    }
    if protocol == "TCP" || NOT_TCP.contains(&protocol) || protocol.starts_with("0x") {
        return Some(ListedPacket::NotTcp);
    }
    Some(ListedPacket::Payload(ListedPayload {
        start,
        end,
        time,
        src,
        dst,
        frame_len,
        is_next: !is_misplaced(info),
    }))
}

/// Whether Wireshark's remark says that a segment is not the next one.
fn is_misplaced(info: &[&[u8]]) -> bool {
    info.iter()
        .take(4)
        .any(|word| matches!(*word, b"Previous" | b"Retransmission]" | b"Out-Of-Order]"))
}

/// The words of a line, without quotation marks and commas of CSV.
fn words(line: &[u8]) -> Vec<&[u8]> {
    let is_between = |octet: &u8| octet.is_ascii_whitespace() || matches!(octet, b'"' | b',');
    line.split(is_between)
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .collect()
}

fn address(words: &[&[u8]], place: usize) -> Option<IpAddr> {
    parse(words.get(place)?)
}

fn arrow(word: &[u8]) -> bool {
    word == "→".as_bytes() || matches!(word, b"->" | b">" | b"\xe2\x86\x92")
}

/// Parses the time before the source, or before further columns.
fn time(words: &[&[u8]]) -> Option<Printed> {
    (1..=words.len())
        .rev()
        .find_map(|end| match time::read(&words[..end]) {
            Some((printed, _)) => Some(printed),
            // Wireshark prints as few decimals as requested.
            None => {
                let (whole, fraction) = str::from_utf8(words[end - 1]).ok()?.split_once('.')?;
                let padded = format!("{whole}.{fraction:0<6}");
                let word = format!("{padded:0>9}");
                time::read(&[word.as_bytes()]).map(|(printed, _)| printed)
            }
        })
}

/// Parses the info of a segment: `40000 → 5001 [ACK] Seq=1 Ack=1 Win=501 Len=0`.
fn segment<'a>((src, dst): (IpAddr, IpAddr), info: &[&'a [u8]]) -> Option<PrintedPacket<'a>> {
    let (ports, rest) = ports(info)?;
    let flags_end = rest.iter().position(|word| word.ends_with(b"]"))? + 1;
    let (names, fields) = rest.split_at(flags_end);
    names.first()?.starts_with(b"[").then_some(())?;
    let mut flags = Flags::NONE;
    for name in names {
        flags |= flag(name.trim_ascii_start().strip_prefix(b"[").unwrap_or(name))?;
    }
    let [src, dst] = [(src, ports[0]), (dst, ports[1])].map(|(address, port)| Endpoint {
        host: Host::Address(address),
        port,
    });
    let mut packet = PrintedPacket {
        flags,
        ..PrintedPacket::between(src, dst)
    };
    let mut timestamps = [None; 2];
    let mut sack = Vec::new();
    for field in fields {
        let Some(at) = field.iter().position(|octet| *octet == b'=') else {
            if *field == b"SACK_PERM" {
                packet
                    .options
                    .push(PrintedOption::Octets(vec![option_kind::SACK_PERMITTED, 2]));
            }
            continue;
        };
        let Some(number) = parse::<u32>(&field[at + 1..]) else {
            continue;
        };
        match &field[..at] {
            b"Seq" => packet.seq = Some(number),
            b"Ack" => packet.ack = Some(number),
            b"Win" => packet.scaled_wnd = Some(number),
            b"Len" => packet.len = number,
            b"Urg" => packet.urgent = u16::try_from(number).ok(),
            b"MSS" => packet.options.push(mss(number)),
            b"WS" => packet.options.push(scale(number)),
            b"SACK_PERM" => packet
                .options
                .push(PrintedOption::Octets(vec![option_kind::SACK_PERMITTED, 2])),
            b"TSval" => timestamps[0] = Some(number),
            b"TSecr" => timestamps[1] = Some(number),
            b"SLE" => sack.push((number, number)),
            b"SRE" => {
                if let Some(block) = sack.last_mut() {
                    block.1 = number;
                }
            }
            _ => {}
        }
    }
    if let [Some(value), Some(echo)] = timestamps {
        let head = [option_kind::TIMESTAMPS, 10];
        let octets = [&head[..], &value.to_be_bytes(), &echo.to_be_bytes()].concat();
        packet.options.push(PrintedOption::Octets(octets));
    }
    sack.truncate(4);
    if !sack.is_empty() {
        packet.options.push(PrintedOption::Sack(sack));
    }
    packet.seq.is_some().then_some(packet)
}

/// Parses the two ports, behind Wireshark's remarks in brackets. Also returns the words after them.
fn ports<'a, 'b>(info: &'b [&'a [u8]]) -> Option<([Port<'a>; 2], &'b [&'a [u8]])> {
    let mut rest = info;
    while rest.first()?.starts_with(b"[") {
        let end = rest.iter().position(|word| word.ends_with(b"]"))?;
        rest = &rest[end + 1..];
    }
    let [first, second, third, ..] = rest else {
        return None;
    };
    if arrow(second) {
        return Some(([port(first)?, port(third)?], &rest[3..]));
    }
    // Old versions: 40000→80.
    let at = first.windows(3).position(|three| three == "→".as_bytes())?;
    Some(([port(&first[..at])?, port(&first[at + 3..])?], &rest[1..]))
}

/// Parses `80`, `http` or `http(80)`.
fn port(word: &[u8]) -> Option<Port<'_>> {
    let word = str::from_utf8(word).ok()?;
    let number = word
        .split_once('(')
        .map_or(word, |(_, number)| number.trim_end_matches(')'));
    if let Ok(number) = number.parse() {
        return Some(Port::Number(number));
    }
    let is_name = word.starts_with(|c: char| c.is_ascii_lowercase());
    is_name.then_some(Port::Name(word))
}

fn flag(name: &[u8]) -> Option<Flags> {
    Some(match name.strip_suffix(b"]").unwrap_or(name) {
        b"SYN" => Flags::SYN,
        b"ACK" => Flags::ACK,
        b"PSH" => Flags::PSH,
        b"FIN" => Flags::FIN,
        b"RST" => Flags::RST,
        b"URG" => Flags::URG,
        b"ECE" | b"ECN" => Flags::ECE,
        b"CWR" => Flags::CWR,
        b"AE" | b"ACE" | b"NS" | b"NONCE" => Flags::AE,
        b"<None>" => Flags::NONE,
        _ => return None,
    })
}

fn mss(number: u32) -> PrintedOption {
    let [.., high, low] = number.to_be_bytes();
    PrintedOption::Octets(vec![option_kind::MSS, 4, high, low])
}

fn scale(factor: u32) -> PrintedOption {
    let shift = factor.max(1).ilog2() as u8;
    PrintedOption::Octets(vec![option_kind::WINDOW_SCALE, 3, shift])
}

/// Connections of a list.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    connections: BTreeMap<(SocketAddr, SocketAddr), ListedConnection>,
    /// The connection between two hosts; `None` if there are several.
    hosts: BTreeMap<(IpAddr, IpAddr), Option<(SocketAddr, SocketAddr)>>,
}

#[derive(Clone, Copy, Default, Debug)]
struct ListedConnection {
    /// Whether a SYN of each direction was listed, and its scale.
    syn: [Option<Option<u8>>; 2],
    /// The last acknowledgment number and window printed in each direction.
    ack: [Option<u32>; 2],
    wnd: [Option<u16>; 2],
    /// Bytes of a frame before its payload.
    headers: Option<u32>,
}

impl Lists {
    /// Sets the window of a segment's header from the printed one.
    pub fn set_window(&mut self, packet: &mut PrintedPacket<'_>, ends: (SocketAddr, SocketAddr)) {
        let Some(printed) = packet.scaled_wnd else {
            return;
        };
        let (connection, way) = self.connection(ends);
        let is_syn = packet.flags.contains(Flags::SYN);
        if is_syn {
            if !packet.flags.contains(Flags::ACK) {
                connection.syn = [None; 2];
            }
            connection.syn[way] = Some(packet.options.iter().find_map(|option| match option {
                PrintedOption::Octets(octets) if octets[0] == option_kind::WINDOW_SCALE => {
                    octets.get(2).copied()
                }
                _ => None,
            }));
        }
        let shift = match connection.syn {
            [Some(Some(first)), Some(Some(second))] if !is_syn => [first, second][way],
            _ => 0,
        };
        packet.wnd = Some((printed >> shift).min(u16::MAX.into()) as u16);
        connection.wnd[way] = packet.wnd;
        connection.ack[way] = packet.ack.or(connection.ack[way]);
        // A bare ACK has the options of a segment with data, unless it reports SACK blocks.
        let has_sack = packet
            .options
            .iter()
            .any(|option| matches!(option, PrintedOption::Sack(_)));
        let is_bare = packet.len == 0 && !is_syn && !has_sack && packet.frame_len != PADDED;
        let shows_headers = packet.len > 0 || is_bare && connection.headers.is_none();
        if shows_headers && packet.frame_len > packet.len {
            connection.headers = Some(packet.frame_len - packet.len);
        }
    }

    /// The segment of a line of a protocol on TCP. `None` if its connection or place is not known.
    pub fn segment(&mut self, payload: &ListedPayload) -> Option<PrintedPacket<'static>> {
        payload.is_next.then_some(())?;
        let key = (payload.src.min(payload.dst), payload.src.max(payload.dst));
        let (first, second) = (*self.hosts.get(&key)?)?;
        let is_first = first.ip() == payload.src;
        let ends = if is_first {
            (first, second)
        } else {
            (second, first)
        };
        let (connection, way) = self.connection(ends);
        let len = payload
            .frame_len
            .saturating_sub(connection.headers.unwrap_or(HEADERS));
        let endpoint = |end: SocketAddr| Endpoint {
            host: Host::Address(end.ip()),
            port: Port::Number(end.port()),
        };
        Some(PrintedPacket {
            start: payload.start,
            end: payload.end,
            time: payload.time,
            flags: Flags::PSH | Flags::ACK,
            ack: connection.ack[way],
            wnd: connection.wnd[way],
            frame_len: payload.frame_len,
            len,
            unknown_options: 1,
            ..PrintedPacket::between(endpoint(ends.0), endpoint(ends.1))
        })
    }

    fn connection(
        &mut self,
        (src, dst): (SocketAddr, SocketAddr),
    ) -> (&mut ListedConnection, usize) {
        let key = (src.min(dst), src.max(dst));
        if !self.connections.contains_key(&key) {
            if self.connections.len() >= MAX_CONNECTIONS {
                self.connections.pop_first();
            }
            if self.hosts.len() >= MAX_CONNECTIONS {
                self.hosts.pop_first();
            }
            let hosts = (src.ip().min(dst.ip()), src.ip().max(dst.ip()));
            let is_other = self.hosts.contains_key(&hosts);
            self.hosts.insert(hosts, (!is_other).then_some(key));
        }
        let connection = self.connections.entry(key).or_default();
        (connection, usize::from(src > dst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str =
        "40000 → 80 [PSH, ACK] Seq=1 Ack=2 Win=64256 Len=1408 TSval=7 TSecr=8 SLE=3 SRE=4";

    fn listed(text: &str) -> Option<ListedPacket<'_>> {
        read(text.as_bytes(), 0, text.len())
    }

    /// All of a segment but its place in the text.
    fn segment_of(text: &str) -> String {
        match listed(text) {
            Some(ListedPacket::Segment(packet)) => {
                format!("{:?}", PrintedPacket { end: 0, ..*packet })
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn lines_of_every_form_are_the_same_segment() {
        let line = format!("    4   0.000400    192.0.2.1 → 198.51.100.2 TCP 1474 {INFO}");
        let Some(ListedPacket::Segment(packet)) = listed(&line) else {
            panic!("{line}");
        };
        assert_eq!(
            (packet.seq, packet.ack, packet.len),
            (Some(1), Some(2), 1408)
        );
        assert_eq!((packet.scaled_wnd, packet.frame_len), (Some(64_256), 1474));
        assert_eq!(packet.flags, Flags::PSH | Flags::ACK);
        assert_eq!(packet.options.len(), 2);
        let expected = segment_of(&line);
        let remark = "[TCP Retransmission]";
        let (csv, old) = (INFO.replace('→', ">"), INFO.replace(" → ", "→"));
        for text in [
            format!("      4 0.0004     192.0.2.1     198.51.100.2    TCP   1474   {INFO}"),
            format!("4\t0.000400\t192.0.2.1\t198.51.100.2\tTCP\t1474\t{INFO}"),
            format!("\"4\",\"0.000400\",\"192.0.2.1\",\"198.51.100.2\",\"TCP\",\"1474\",\"{csv}\""),
            format!("4 0.000400 192.0.2.1 -> 198.51.100.2 TCP 1474 {old}"),
            format!(
                "4 0.000400 192.0.2.1 → 198.51.100.2 TCP 1474 {remark} {INFO} [TCP segment of a]"
            ),
        ] {
            assert_eq!(segment_of(&text), expected, "{text}");
        }
    }

    /// The length of a payload in a frame of 1500 bytes, behind an ACK in a frame of `ack_frame`.
    fn payload_after_ack(ack_frame: u32, options: &str) -> Option<u32> {
        let ack = format!(
            "3 0.1 192.0.2.1 → 198.51.100.2 TCP {ack_frame} 40000 → 80 [ACK] Seq=1 Ack=1 Win=502 Len=0 {options}"
        );
        let data = "4 0.2 198.51.100.2 → 192.0.2.1 HTTP 1500 Continuation";
        let mut lists = Lists::default();
        let (Some(ListedPacket::Segment(mut packet)), Some(ListedPacket::Payload(payload))) =
            (listed(&ack), listed(data))
        else {
            panic!("{ack}");
        };
        let ends = ["192.0.2.1:40000", "198.51.100.2:80"].map(|end| end.parse().unwrap());
        lists.set_window(&mut packet, (ends[0], ends[1]));
        lists.segment(&payload).map(|segment| segment.len)
    }

    #[test]
    fn payload_where_all_data_is_of_another_protocol_has_the_headers_of_a_bare_ack() {
        assert_eq!(payload_after_ack(52, "TSval=7 TSecr=8"), Some(1448));
        assert_eq!(payload_after_ack(66, "TSval=7 TSecr=8"), Some(1434));
        // Padded, or with SACK blocks: the ACK does not show the headers.
        assert_eq!(payload_after_ack(60, ""), Some(1446));
        assert_eq!(
            payload_after_ack(78, "TSval=7 TSecr=8 SLE=3 SRE=4"),
            Some(1446)
        );
    }

    #[test]
    fn payload_that_was_retransmitted_has_no_place() {
        for (remark, is_next) in [
            ("[TCP Window Full] Continuation", true),
            ("[TCP Fast Retransmission] Continuation", false),
            ("[TCP Out-Of-Order] Continuation", false),
            ("[TCP Previous segment not captured] Continuation", false),
        ] {
            let line = format!("4 0.2 198.51.100.2 → 192.0.2.1 HTTP 1500 {remark}");
            let Some(ListedPacket::Payload(payload)) = listed(&line) else {
                panic!("{line}");
            };
            assert_eq!(payload.is_next, is_next, "{line}");
        }
    }

    #[test]
    fn lines_of_other_protocols_are_payloads_or_not_tcp() {
        let line = |protocol: &str| {
            let text = format!("9 1.000000 192.0.2.1 → 198.51.100.2 {protocol} 583 Client Hello");
            match listed(&text) {
                Some(ListedPacket::Payload(payload)) => Some(payload.frame_len),
                Some(ListedPacket::NotTcp) => Some(0),
                _ => None,
            }
        };
        assert_eq!(line("TLSv1.3"), Some(583));
        assert_eq!((line("DNS"), line("TCP")), (Some(0), Some(0)));
        for text in [
            "",
            "9",
            "4 apples 5",
            "12:00:00.1 IP 192.0.2.1.80 > 192.0.2.2.90: Flags [S]",
        ] {
            assert_eq!(listed(text), None, "{text}");
        }
    }
}
