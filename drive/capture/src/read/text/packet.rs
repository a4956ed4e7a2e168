//! Parses a packet printed by tcpdump in running text. Supports the old format (versions up to 3.9,
//! `P 1:513(512) ack 1 win 8760 <nop>`) and the new one (`Flags [P.], seq 1:513, ack 1, win 8760,
//! options [nop], length 512`), with or without the additions of `-v`.
//!
//! The mark of a packet is `host.port > host.port:`. The text behind it is parsed item by item
//! until an item is not part of a packet, so prose may follow immediately. The text before it, back
//! to the last packet, is searched for a time.
//!
//! With `-v` the IPv4 header shows whether a packet is a fragment. The first one is printed with
//! its segment, the others as `host > host: ip-proto-6`.
//!
//! Out of scope: fragments of IPv6 and of the old format (`frag 5:1480@0+`), which are read as
//! ordinary segments or as not TCP; hexadecimal dumps (`-x`); contents of payloads.

use std::net::Ipv4Addr;

use gigatcp_wire::Flags;
use gigatcp_wire::option_kind;

use super::cursor::{Cursor, is_space, parse, parse_hex, words};
use super::endpoint::{Endpoint, is_address};
use super::list::{self, ListedPacket, ListedPayload};
use super::time::{self, Printed};
use crate::Direction;

/// Maximum distance between the time of a packet and the packet. In between are link-layer
/// addresses and the IP header of `-v`.
const BEFORE: usize = 500;

/// An option as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PrintedOption {
    /// An encoded option that does not depend on other values.
    Octets(Vec<u8>),
    /// SACK blocks, whose numbers may be relative.
    Sack(Vec<(u32, u32)>),
}

/// IP header fields printed with `-v`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PrintedIp {
    pub ttl: Option<u8>,
    pub ident: Option<u16>,
    pub traffic_class: Option<u8>,
    pub dont_fragment: Option<bool>,
    /// Offset of a fragment in bytes of payload. The next fields are whether more follow, and its
    /// length with the header.
    pub offset: u16,
    pub is_more: bool,
    pub total: Option<u16>,
    pub is_tcp: bool,
}

/// A fragment other than the first one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedFragment {
    pub start: usize,
    pub end: usize,
    pub time: Option<Printed>,
    pub direction: Option<Direction>,
    pub ends: (Ipv4Addr, Ipv4Addr),
    pub ip: PrintedIp,
}

/// A packet as printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedPacket<'a> {
    /// Start and end in the text.
    pub start: usize,
    pub end: usize,
    pub time: Option<Printed>,
    pub direction: Option<Direction>,
    pub src: Endpoint<'a>,
    pub dst: Endpoint<'a>,
    pub ip: PrintedIp,
    pub flags: Flags,
    pub seq: Option<u32>,
    pub ack: Option<u32>,
    pub wnd: Option<u16>,
    /// Window of a packet list, scaled if the list's program knew the scale.
    pub scaled_wnd: Option<u32>,
    /// Length of the frame in a packet list; 0 elsewhere.
    pub frame_len: u32,
    pub urgent: Option<u16>,
    pub len: u32,
    pub options: Vec<PrintedOption>,
    /// Number of options in unknown words.
    pub unknown_options: u64,
}

impl<'a> PrintedPacket<'a> {
    /// A packet of which nothing else is printed.
    pub(super) fn between(src: Endpoint<'a>, dst: Endpoint<'a>) -> Self {
        Self {
            start: 0,
            end: 0,
            time: None,
            direction: None,
            src,
            dst,
            ip: PrintedIp::default(),
            flags: Flags::NONE,
            seq: None,
            ack: None,
            wnd: None,
            scaled_wnd: None,
            frame_len: 0,
            urgent: None,
            len: 0,
            options: Vec::new(),
            unknown_options: 0,
        }
    }
}

/// Result of parsing at a mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ParsedPacket<'a> {
    Packet(Box<PrintedPacket<'a>>),
    Fragment(Box<PrintedFragment>),
    /// A segment in a packet list whose TCP header is not printed.
    Payload(ListedPayload),
    /// Not TCP: start and end of the mark.
    NotTcp(usize, usize),
    /// TCP that cannot be read: start and end.
    Unread(usize, usize),
}

impl ParsedPacket<'_> {
    /// Start and end.
    pub fn span(&self) -> (usize, usize) {
        match self {
            Self::Packet(packet) => (packet.start, packet.end),
            Self::Fragment(fragment) => (fragment.start, fragment.end),
            Self::Payload(payload) => (payload.start, payload.end),
            Self::NotTcp(start, end) | Self::Unread(start, end) => (*start, *end),
        }
    }
}

/// Next packet in `text` from `from` on, if any.
pub fn next_packet(text: &[u8], from: usize) -> Option<ParsedPacket<'_>> {
    let mut at = from;
    loop {
        let len = text[at..].iter().position(|octet| *octet == b'\n');
        let end = len.map_or(text.len(), |len| at + len);
        let begins_line = at == 0 || text[at - 1] == b'\n';
        if begins_line && let Some(listed) = list::read(text, at, end) {
            return Some(match listed {
                ListedPacket::Segment(packet) => ParsedPacket::Packet(packet),
                ListedPacket::Payload(payload) => ParsedPacket::Payload(payload),
                ListedPacket::NotTcp => ParsedPacket::NotTcp(at, end),
            });
        }
        let marks = (at..end).filter(|place| text[*place] == b'>');
        if let Some(parsed) = marks.filter_map(|mark| packet_at(text, from, mark)).next() {
            return Some(parsed);
        }
        at = end + 1;
        if at > text.len() {
            return None;
        }
    }
}

/// Parses the text around the `>` at `mark`.
fn packet_at(text: &[u8], from: usize, mark: usize) -> Option<ParsedPacket<'_>> {
    let left = word_before(text, from, mark)?;
    let mut cursor = Cursor::new(text, mark + 1);
    cursor.spaces();
    if cursor.at == mark + 1 {
        return None;
    }
    let letters = cursor.rest().iter().take_while(|octet| !is_space(**octet));
    let right = cursor.rest()[..letters.take(300).count()].strip_suffix(b":")?;
    let end = cursor.at + right.len() + 1;
    let (src, dst) = (Endpoint::read(&text[left.clone()]), Endpoint::read(right));
    let (Some(src), Some(dst)) = (src, dst) else {
        let are_addresses = is_address(&text[left.clone()]) && is_address(right);
        return are_addresses.then(|| {
            let ends = parse(&text[left.clone()]).zip(parse(right));
            let fragment = ends.and_then(|ends| fragment(text, (from, left.start, end), ends));
            fragment.unwrap_or(ParsedPacket::NotTcp(left.start, end))
        });
    };
    cursor.at = end;
    let before = preceding_fields(text, from, left.start);
    if before.ip.offset > 0 {
        return Some(ParsedPacket::NotTcp(before.start, end));
    }
    let packet = PrintedPacket {
        start: before.start,
        end,
        time: before.time,
        direction: before.direction,
        ip: before.ip,
        ..PrintedPacket::between(src, dst)
    };
    Some(read_body(packet, cursor))
}

/// Parses a fragment without a TCP header, if its IP header shows TCP.
fn fragment<'a>(
    text: &[u8],
    (from, start, end): (usize, usize, usize),
    ends: (Ipv4Addr, Ipv4Addr),
) -> Option<ParsedPacket<'a>> {
    let before = preceding_fields(text, from, start);
    let is_one = before.ip.is_tcp && before.ip.offset > 0 && before.ip.total.is_some();
    is_one.then(|| {
        ParsedPacket::Fragment(Box::new(PrintedFragment {
            start: before.start,
            end,
            time: before.time,
            direction: before.direction,
            ends,
            ip: before.ip,
        }))
    })
}

/// Word before the white space before `mark`.
fn word_before(text: &[u8], from: usize, mark: usize) -> Option<std::ops::Range<usize>> {
    let gap = text[from..mark].iter().rev().take_while(|o| is_space(**o));
    let end = mark - gap.count();
    if end == mark {
        return None;
    }
    let letters = text[from..end].iter().rev().take(300);
    let start = end - letters.take_while(|octet| !is_space(**octet)).count();
    (start < end).then_some(start..end)
}

/// Fields found before a packet.
struct PrecedingFields {
    start: usize,
    time: Option<Printed>,
    direction: Option<Direction>,
    ip: PrintedIp,
}

fn preceding_fields(text: &[u8], earliest: usize, start: usize) -> PrecedingFields {
    let from = earliest.max(start.saturating_sub(BEFORE));
    let mut found = PrecedingFields {
        start,
        time: None,
        direction: None,
        ip: PrintedIp::default(),
    };
    let mut end = start;
    let trimmed = text[from..start].trim_ascii_end();
    if trimmed.ends_with(b")")
        && let Some(open) = matching_open(trimmed)
        && ends_with_ip(&trimmed[..open])
    {
        found.ip = read_ip_header(&trimmed[open + 1..trimmed.len() - 1]);
        end = from + open;
        found.start = end;
    }
    let words = words(&text[from..end]);
    for last in (0..words.len()).rev() {
        if let Some((time, count)) = time::read(&words[..=last]) {
            let first = words[last + 1 - count];
            found.start = first.as_ptr() as usize - text.as_ptr() as usize;
            found.time = Some(time);
            found.direction = direction(&words[last + 1..]);
            break;
        }
    }
    found
}

/// Direction from the words between time and packet. These are `eth0 Out IP`, or the old `eth0 >`.
/// Link-layer addresses also have a `>`, but not at the end.
fn direction(words: &[&[u8]]) -> Option<Direction> {
    match words.last() {
        Some(&b"<") => return Some(Direction::Inbound),
        Some(&b">") => return Some(Direction::Outbound),
        _ => {}
    }
    words.iter().find_map(|word| match *word {
        b"In" => Some(Direction::Inbound),
        b"Out" => Some(Direction::Outbound),
        _ => None,
    })
}

/// Position of the bracket that closes at the end of the text.
fn matching_open(text: &[u8]) -> Option<usize> {
    let mut depth = 0;
    text.iter().rposition(|octet| {
        match octet {
            b')' => depth += 1,
            b'(' => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

fn ends_with_ip(text: &[u8]) -> bool {
    let trimmed = text.trim_ascii_end();
    trimmed.ends_with(b"IP") || trimmed.ends_with(b"IP6")
}

/// Parses the IP header of `-v`: `tos 0x0, ttl 64, id 1, offset 0, flags [DF], proto TCP (6),
/// length 60`. For IPv6 it is `flowlabel 0x1, hlim 64, next-header TCP (6) payload length: 40`.
fn read_ip_header(text: &[u8]) -> PrintedIp {
    let mut ip = PrintedIp {
        traffic_class: Some(0),
        ..PrintedIp::default()
    };
    for item in text.split(|octet| *octet == b',') {
        let words = words(item.trim_ascii());
        match words[..] {
            [b"ttl" | b"hlim", number, ..] => ip.ttl = parse(number),
            [b"id", number, ..] => ip.ident = parse(number),
            [b"tos" | b"class", class, ..] => {
                ip.traffic_class = parse_hex(class).map(|class| class as u8);
            }
            [b"offset", offset, ..] => ip.offset = parse(offset).unwrap_or(0),
            [b"proto", b"TCP", ..] => ip.is_tcp = true,
            [b"length", total, ..] => ip.total = parse(total),
            [b"flags", flags, ..] => {
                let has_df = flags.windows(2).any(|pair| pair == b"DF");
                ip.dont_fragment = Some(has_df);
                ip.is_more = flags.contains(&b'+');
            }
            _ => {}
        }
    }
    ip
}

/// Parses the text behind the mark.
fn read_body<'a>(mut packet: PrintedPacket<'a>, mut cursor: Cursor<'a>) -> ParsedPacket<'a> {
    let (start, mark_end) = (packet.start, packet.end);
    cursor.spaces();
    let is_new = cursor.take("Flags [");
    let flags = if is_new {
        new_flags(&mut cursor)
    } else {
        old_flags(&mut cursor)
    };
    let Some(flags) = flags else {
        return ParsedPacket::NotTcp(start, mark_end);
    };
    packet.flags = flags;
    if !is_new {
        // Old versions print `DF` if it is set, with or without `-v`.
        packet.ip.dont_fragment = packet.ip.dont_fragment.or(Some(false));
    }
    let mut items = 0;
    packet.end = cursor.at;
    loop {
        cursor.take(",");
        cursor.spaces();
        if !read_item(&mut packet, &mut cursor) {
            break;
        }
        items += 1;
        packet.end = cursor.at;
    }
    // A letter without an item behind it may be anything.
    let says_something = packet.seq.is_some() || packet.ack.is_some() || packet.wnd.is_some();
    if items == 0 || !says_something {
        return if is_new {
            ParsedPacket::Unread(start, mark_end)
        } else {
            ParsedPacket::NotTcp(start, mark_end)
        };
    }
    if packet.ack.is_some() {
        packet.flags |= Flags::ACK;
    }
    ParsedPacket::Packet(Box::new(packet))
}

const fn flag(letter: u8) -> Option<Flags> {
    Some(match letter {
        b'S' => Flags::SYN,
        b'F' => Flags::FIN,
        b'R' => Flags::RST,
        b'P' => Flags::PSH,
        b'.' => Flags::ACK,
        b'U' => Flags::URG,
        b'E' => Flags::ECE,
        b'W' => Flags::CWR,
        b'e' => Flags::AE,
        _ => return None,
    })
}

/// Parses the flag letters up to the bracket.
fn new_flags(cursor: &mut Cursor<'_>) -> Option<Flags> {
    if cursor.take("none]") {
        return Some(Flags::NONE);
    }
    let letters = cursor.rest().iter().take_while(|octet| **octet != b']');
    let letters = &cursor.rest()[..letters.take(12).count()];
    let mut flags = Flags::NONE;
    for letter in letters {
        flags |= flag(*letter)?;
    }
    cursor.at += letters.len();
    cursor.take("]").then_some(flags)
}

/// Parses one word of flag letters. The dot of old versions means "none of the others"; ACK follows
/// from the number behind it.
fn old_flags(cursor: &mut Cursor<'_>) -> Option<Flags> {
    let letters = cursor
        .rest()
        .iter()
        .take_while(|o| !is_space(**o) && **o != b',');
    let word = &cursor.rest()[..letters.take(12).count()];
    let mut flags = Flags::NONE;
    for letter in word {
        if *letter != b'.' {
            flags |= flag(*letter)?;
        }
    }
    cursor.at += word.len();
    (!word.is_empty()).then_some(flags)
}

/// Parses one item; returns whether there was one.
fn read_item(packet: &mut PrintedPacket<'_>, cursor: &mut Cursor<'_>) -> bool {
    if let Some(ack) = cursor.number_behind("ack ") {
        packet.ack = Some(ack);
    } else if let Some(wnd) = cursor.number_behind("win ") {
        packet.wnd = u16::try_from(wnd).ok();
    } else if let Some(urgent) = cursor.number_behind("urg ") {
        packet.urgent = u16::try_from(urgent).ok();
        packet.flags |= Flags::URG;
    } else if let Some(len) = cursor.number_behind("length ") {
        packet.len = len;
    } else if cursor.take("seq ") {
        return read_range(packet, cursor, false);
    } else {
        return match cursor.rest().first() {
            Some(b'0'..=b'9') => read_range(packet, cursor, true),
            Some(b'<') => read_options(packet, cursor, b'<', b'>'),
            Some(b'o') => cursor.take("options ") && read_options(packet, cursor, b'[', b']'),
            Some(b'(') => read_parenthesis(packet, cursor),
            Some(b'[') => read_bracket(packet, cursor),
            Some(b'c') => read_checksum(cursor),
            _ => false,
        };
    }
    true
}

/// Parses `seq`, `seq:end` or `seq:end(len)`. If `bare`, only the last form is accepted, since the
/// time of the next packet may look like the others.
fn read_range(packet: &mut PrintedPacket<'_>, cursor: &mut Cursor<'_>, bare: bool) -> bool {
    let mut probe = *cursor;
    let Some(seq) = probe.number() else {
        return false;
    };
    let end = probe.take(":").then(|| probe.number()).flatten();
    let said = probe.take("(").then(|| probe.number()).flatten();
    let is_closed = said.is_none() || probe.take(")");
    let has_form = end.is_some() && said.is_some() || !bare;
    if !is_closed || !has_form || packet.seq.is_some() {
        return false;
    }
    let range = end.map_or(0, |end| end.wrapping_sub(seq));
    packet.len = said.unwrap_or(range);
    packet.seq = Some(seq);
    *cursor = probe;
    true
}

/// Skips `cksum 0x1234 (correct)`, since the payload is unknown.
fn read_checksum(cursor: &mut Cursor<'_>) -> bool {
    let mut probe = *cursor;
    if !probe.take("cksum 0x") {
        return false;
    }
    let digits = probe.rest().iter().take_while(|o| o.is_ascii_hexdigit());
    probe.at += digits.count();
    let behind_digits = probe;
    probe.spaces();
    *cursor = match probe.bracketed(b'(', b')') {
        Some(_) => probe,
        None => behind_digits,
    };
    true
}

/// Parses `(DF)` and `(ttl 64, id 1)`, and skips a few others.
fn read_parenthesis(packet: &mut PrintedPacket<'_>, cursor: &mut Cursor<'_>) -> bool {
    let mut probe = *cursor;
    let Some(inside) = probe.bracketed(b'(', b')') else {
        return false;
    };
    let begins = |word: &str| inside.starts_with(word.as_bytes());
    if inside == b"DF" {
        packet.ip.dont_fragment = Some(true);
    } else if begins("ttl ") || begins("hlim ") || begins("len ") {
        let said = read_ip_header(inside);
        packet.ip.ttl = said.ttl.or(packet.ip.ttl);
        packet.ip.ident = said.ident.or(packet.ip.ident);
        // With `-v` a type of service of zero is not printed.
        packet.ip.traffic_class = packet.ip.traffic_class.or(Some(0));
    } else if !(begins("frag ") || begins("correct") || begins("incorrect")) {
        return false;
    }
    *cursor = probe;
    true
}

/// Parses `[tos 0x10]`, and skips `[ECN-Echo,CWR]` and others.
fn read_bracket(packet: &mut PrintedPacket<'_>, cursor: &mut Cursor<'_>) -> bool {
    let mut probe = *cursor;
    let Some(inside) = probe.bracketed(b'[', b']') else {
        return false;
    };
    let begins = |word: &str| inside.starts_with(word.as_bytes());
    if begins("tos ") || begins("class ") {
        let word = inside.split(|o| matches!(o, b' ' | b',')).nth(1);
        let class = word.and_then(parse_hex).map(|class| class as u8);
        packet.ip.traffic_class = class.or(packet.ip.traffic_class);
    } else if begins("ECN-Echo") || begins("CWR") {
        for word in inside.split(|octet| *octet == b',') {
            packet.flags |= match word {
                b"ECN-Echo" => Flags::ECE,
                b"CWR" => Flags::CWR,
                _ => Flags::NONE,
            };
        }
    } else if begins("ttl ") || begins("hlim ") {
        packet.ip.ttl = read_ip_header(inside).ttl;
    } else if begins("|tcp") {
        packet.unknown_options += 1;
    } else if !(begins("tcp sum") || begins("bad ") || begins("flowlabel") || begins("ECT")) {
        return false;
    }
    *cursor = probe;
    true
}

/// Parses the list of options between brackets.
fn read_options(
    packet: &mut PrintedPacket<'_>,
    cursor: &mut Cursor<'_>,
    open: u8,
    close: u8,
) -> bool {
    let Some(inside) = cursor.bracketed(open, close) else {
        return false;
    };
    let items = inside.split(|octet| *octet == b',');
    for item in items.map(<[u8]>::trim_ascii) {
        if item.is_empty() {
            continue;
        }
        match read_option(item) {
            Some(option) => packet.options.push(option),
            None => packet.unknown_options += 1,
        }
    }
    true
}

fn read_option(item: &[u8]) -> Option<PrintedOption> {
    let words = words(item);
    let number = |word: &[u8]| parse::<u32>(word).map(u32::to_be_bytes);
    let octets = match words[..] {
        [b"nop"] => vec![option_kind::NO_OPERATION],
        [b"eol"] => vec![option_kind::END],
        [b"mss", mss] => {
            let mss = parse::<u16>(mss)?.to_be_bytes();
            vec![option_kind::MSS, 4, mss[0], mss[1]]
        }
        [b"wscale", shift] => vec![option_kind::WINDOW_SCALE, 3, parse(shift)?],
        [b"sackOK"] | [b"sackOK", b"eol"] => vec![option_kind::SACK_PERMITTED, 2],
        [b"timestamp", val, ecr] | [b"TS", b"val", val, b"ecr", ecr] => {
            let head = [option_kind::TIMESTAMPS, 10];
            [&head[..], &number(val)?, &number(ecr)?].concat()
        }
        // Old versions print the word twice.
        [b"sack", b"sack", ref rest @ ..] | [b"sack", ref rest @ ..] => {
            return read_sack(rest).map(PrintedOption::Sack);
        }
        [b"tfo", b"cookiereq"] => vec![option_kind::FAST_OPEN, 2],
        [b"tfo", b"cookie", cookie] => with_data(option_kind::FAST_OPEN, cookie)?,
        [b"cc", count] => [&[11, 6][..], &number(count)?].concat(),
        [b"ccnew", count] => [&[12, 6][..], &number(count)?].concat(),
        [b"ccecho", count] => [&[13, 6][..], &number(count)?].concat(),
        [b"echo", value] => [&[6, 6][..], &number(value)?].concat(),
        [b"echoreply", value] => [&[7, 6][..], &number(value)?].concat(),
        [kind, ref data @ ..] => {
            let kind: u8 = parse(kind.strip_prefix(b"unknown-")?)?;
            let digits = data.first().map_or(&b""[..], |word| word);
            with_data(kind, digits.strip_prefix(b"0x").unwrap_or(digits))?
        }
        [] => return None,
    };
    Some(PrintedOption::Octets(octets))
}

/// An option of `kind` with hexadecimal digits as data.
fn with_data(kind: u8, digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if pairs.len() > 38 || !rest.is_empty() {
        return None;
    }
    let mut option = vec![kind, 2 + pairs.len() as u8];
    for pair in pairs {
        option.push(u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?);
    }
    Some(option)
}

/// Parses `2 {1:2}{3:4}`, with or without spaces.
fn read_sack(words: &[&[u8]]) -> Option<Vec<(u32, u32)>> {
    let mut blocks = Vec::new();
    for word in words.iter().skip(1) {
        for block in word.split(|octet| matches!(octet, b'{' | b'}')) {
            if block.is_empty() {
                continue;
            }
            let colon = block.iter().position(|octet| *octet == b':')?;
            blocks.push((parse(&block[..colon])?, parse(&block[colon + 1..])?));
        }
    }
    (1..=4).contains(&blocks.len()).then_some(blocks)
}
