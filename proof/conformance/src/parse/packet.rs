//! `<` and `>` lines: IP, TCP and UDP.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_wire::{Ecn, Flags};

use super::cursor::Cursor;
use super::sequence::{length, sequence};
use super::{Parsed, icmp, options};
use crate::ast::{Body, IpSpec, Packet, TcpSpec};

/// Letters of the control bits, in the order in which they are printed.
pub const FLAG_LETTERS: [(char, Flags); 9] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('U', Flags::URG),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('A', Flags::AE),
    ('.', Flags::ACK),
];

/// Parses a packet whose direction has been parsed.
pub fn packet(cursor: &mut Cursor<'_>, is_inbound: bool) -> Parsed<Packet> {
    cursor.skip_blank()?;
    let encapsulation = encapsulation(cursor)?;
    let ip = ip(cursor)?;
    let ports = ports(cursor)?;
    cursor.skip_blank()?;
    let mut packet = Packet {
        encapsulation,
        ip,
        ports,
        body: Body::Udp { len: 0 },
        inside_udp: None,
    };
    if cursor.take_name("icmp") || cursor.take_name("icmpv6") {
        packet.body = Body::Icmp(icmp::icmp(cursor)?);
    } else if cursor.take_name("udp") {
        packet.ports = self::ports(cursor)?.or(packet.ports);
        packet.body = Body::Udp {
            len: length(cursor)?,
        };
    } else {
        packet.body = Body::Tcp(tcp(cursor, is_inbound)?);
        packet.inside_udp = inside_udp(cursor)?;
    }
    Ok(packet)
}

/// Parses `ipv4 192.0.2.1 > 192.0.2.2:`, `ipv6 ...:`, `gre:`, `mpls ...:`.
fn encapsulation(cursor: &mut Cursor<'_>) -> Parsed<Vec<String>> {
    let mut headers = Vec::new();
    loop {
        let mut ahead = *cursor;
        let start = ahead;
        if !["ipv4", "ipv6", "gre", "mpls"].contains(&ahead.name()) {
            return Ok(headers);
        }
        // IPv6 addresses contain colons: the one that ends a header is followed by a space.
        let line = start.rest().lines().next().unwrap_or_default();
        let end = line
            .find(": ")
            .or(line.ends_with(':').then(|| line.len() - 1));
        let Some(end) = end else {
            return Err(start.mistake("a tunnel header that ends in a colon"));
        };
        headers.push(line[..end].into());
        *cursor = start;
        cursor.advance(end + 1);
        cursor.skip_blank()?;
    }
}

/// Parses `[ect0]`, `[ce, tos 0x10, ttl 3]`, `(flowlabel 0x1)`; may be empty.
fn ip(cursor: &mut Cursor<'_>) -> Parsed<IpSpec> {
    let mut spec = IpSpec::default();
    loop {
        cursor.skip_blank()?;
        let mut ahead = *cursor;
        let close = match ahead.peek() {
            Some('[') => "]",
            Some('(') => ")",
            _ => return Ok(spec),
        };
        ahead.advance(1);
        ahead.skip_spaces();
        // A parenthesis followed by a number contains ports.
        if close == ")" && ahead.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Ok(spec);
        }
        *cursor = ahead;
        while !cursor.take(close) {
            ip_item(cursor, &mut spec)?;
            cursor.skip_spaces();
            if !cursor.take(",") && !cursor.starts_with(close) {
                return Err(cursor.mistake(&format!("`,` or `{close}`")));
            }
            cursor.skip_spaces();
        }
    }
}

fn ip_item(cursor: &mut Cursor<'_>, spec: &mut IpSpec) -> Parsed<()> {
    let start = *cursor;
    let word = cursor.name();
    cursor.skip_spaces();
    match word {
        "ect0" => spec.ecn = Some(Ecn::Ect0),
        "ect1" => spec.ecn = Some(Ecn::Ect1),
        "ce" => spec.ecn = Some(Ecn::Ce),
        "noecn" => spec.ecn = Some(Ecn::NotEct),
        "ect01" => spec.any_ect = true,
        "tos" | "tclass" | "class" => spec.tos = Some(cursor.u8("an octet, as in tos 0x10")?),
        "ttl" | "hlim" => spec.ttl = Some(cursor.u8("a number up to 255")?),
        "flowlabel" => {
            let label = cursor.unsigned(0xf_ffff, "a flow label of 20 bits")?;
            spec.flow_label = Some(label as u32);
        }
        _ => {
            return Err(start.mistake(
                "ect0, ect1, ect01, ce, noecn, tos N, tclass N, ttl N, hlim N or flowlabel N",
            ));
        }
    }
    Ok(())
}

/// Parses `(2000>8080)`.
fn ports(cursor: &mut Cursor<'_>) -> Parsed<Option<(u16, u16)>> {
    cursor.skip_blank()?;
    let mut ahead = *cursor;
    if !ahead.take("(") {
        return Ok(None);
    }
    ahead.skip_spaces();
    let Ok(from) = ahead.u16("a port") else {
        return Ok(None);
    };
    ahead.skip_spaces();
    if !ahead.take(">") {
        return Ok(None);
    }
    ahead.skip_spaces();
    let to = ahead.u16("a port")?;
    ahead.skip_spaces();
    ahead.expect(")", "`)` after two ports")?;
    *cursor = ahead;
    Ok(Some((from, to)))
}

/// Parses `/udp(9899>9899)`.
fn inside_udp(cursor: &mut Cursor<'_>) -> Parsed<Option<Option<(u16, u16)>>> {
    let mut ahead = *cursor;
    ahead.skip_spaces();
    if !ahead.take("/udp") {
        return Ok(None);
    }
    let ports = ports(&mut ahead)?;
    *cursor = ahead;
    Ok(Some(ports))
}

fn tcp(cursor: &mut Cursor<'_>, is_inbound: bool) -> Parsed<TcpSpec> {
    let flags = flags(cursor)?;
    cursor.skip_blank()?;
    let (seq, len) = sequence(cursor)?;
    let is_absolute = cursor.take("!");
    let mut spec = TcpSpec {
        flags,
        seq,
        is_absolute,
        len,
        ack: None,
        win: None,
        urg: None,
        options: Some(Vec::new()),
    };
    loop {
        // A packet is on one line, or continues on the next one if that does not begin like an
        // event.
        let mut ahead = *cursor;
        ahead.skip_blank()?;
        if ahead.take_name("ack") {
            ahead.skip_spaces();
            spec.ack = Some(ahead.u32("an acknowledgment number")?);
        } else if ahead.take_name("win") {
            ahead.skip_spaces();
            spec.win = Some(ahead.u16("a window field: a number up to 65535")?);
        } else if ahead.take_name("urg") {
            ahead.skip_spaces();
            spec.urg = Some(ahead.u16("an urgent pointer: a number up to 65535")?);
        } else if ahead.take("<") {
            spec.options = options::options(&mut ahead)?;
            *cursor = ahead;
            break;
        } else {
            break;
        }
        *cursor = ahead;
    }
    if is_inbound && spec.win.is_none() && !flags.contains(Flags::RST) {
        return Err(cursor
            .mistake("`win N`: a packet that arrives needs a window")
            .hint("add `win 257`, or whatever the peer offers"));
    }
    Ok(spec)
}

/// Parses `S`, `P.`, `SEWA`, `-`, `5.`: letters of control bits. At most one digit gives the ACE
/// field.
fn flags(cursor: &mut Cursor<'_>) -> Parsed<Flags> {
    let start = *cursor;
    let word = cursor.take_while(|c| !c.is_whitespace());
    let expected = "control bits: letters of SFRPUEWA and a dot for ACK, or - for none";
    if word == "-" {
        return Ok(Flags::NONE);
    }
    let mut flags = Flags::NONE;
    for c in word.chars() {
        let bit = match c {
            '0'..='7' => ace(c as u16 - '0' as u16),
            // Further letters of CWR and of AE, once the nonce sum.
            'C' => Flags::CWR,
            'N' => Flags::AE,
            _ => match FLAG_LETTERS.iter().find(|(letter, _)| *letter == c) {
                Some((_, bit)) => *bit,
                None => return Err(start.mistake(expected)),
            },
        };
        if flags.intersects(bit) {
            return Err(start.mistake("each control bit once"));
        }
        flags |= bit;
    }
    match word.is_empty() {
        true => Err(start.mistake(expected)),
        false => Ok(flags),
    }
}

/// Flags of an ACE value. RFC 9768 section 3.1: ACE is AE, CWR and ECE, highest first.
fn ace(n: u16) -> Flags {
    let bit = |mask: u16, flag: Flags| if n & mask != 0 { flag } else { Flags::NONE };
    bit(4, Flags::AE) | bit(2, Flags::CWR) | bit(1, Flags::ECE)
}
