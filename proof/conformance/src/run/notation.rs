//! Wire packets in script notation, for messages.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

use gigatcp_wire::{Ecn, Flags};

use super::flow::Flow;
use crate::ast::{Cookie, EcnCounter, TcpOption};
use crate::packet::{Body, Packet, Tcp};
use crate::parse::FLAG_LETTERS;

/// Control bits as letters.
pub fn letters(flags: Flags) -> String {
    let set = FLAG_LETTERS
        .iter()
        .filter(|(_, flag)| flags.contains(*flag));
    match flags {
        Flags::NONE => "-".into(),
        _ => set.map(|(letter, _)| *letter).collect(),
    }
}

/// Notation of a packet that the stack sent (`is_sent`) or received.
pub fn packet(packet: &Packet, flow: Option<&Flow>, is_sent: bool) -> String {
    let mark = match packet.ecn {
        Ecn::NotEct => "",
        Ecn::Ect0 => "[ect0] ",
        Ecn::Ect1 => "[ect1] ",
        Ecn::Ce => "[ce] ",
    };
    let body = match &packet.body {
        Body::Tcp(tcp) => segment(tcp, flow, is_sent),
        Body::Udp(udp) => format!("udp ({})", udp.len),
        Body::Icmp(icmp) => format!(
            "icmp {} code {} mtu {} and {} octets",
            icmp.kind,
            icmp.code,
            icmp.rest & 0xffff,
            icmp.quoted.len()
        ),
    };
    format!("{mark}{body}")
}

fn segment(tcp: &Tcp, flow: Option<&Flow>, is_sent: bool) -> String {
    let (own, other) = match (flow, is_sent) {
        (Some(flow), true) => (flow.local, flow.remote),
        (Some(flow), false) => (flow.remote, flow.local),
        (None, _) => (None, None),
    };
    let with_syn = tcp.flags.contains(Flags::SYN);
    let number = |start: Option<super::flow::Start>, wire: u32| match start {
        Some(start) => start.to_script(wire, with_syn),
        // The first SYN is the origin of its side's numbers.
        None if with_syn && flow.is_some() => 0,
        None => wire,
    };
    let seq = number(own, tcp.seq);
    let len = tcp.payload.len() as u32;
    let mut text = letters(tcp.flags);
    let _ = write!(text, " {seq}:{}({len})", seq.wrapping_add(len));
    if tcp.flags.contains(Flags::ACK) {
        let _ = write!(text, " ack {}", number(other, tcp.ack));
    }
    let _ = write!(text, " win {}", tcp.win);
    if tcp.flags.contains(Flags::URG) {
        let _ = write!(text, " urg {}", tcp.urg);
    }
    if !tcp.options.is_empty() {
        let shown: Vec<String> = tcp
            .options
            .iter()
            .map(|o| option(o, flow, is_sent, |edge| number(other, edge)))
            .collect();
        let _ = write!(text, " <{}>", shown.join(","));
    }
    text
}

fn option(
    option: &TcpOption,
    flow: Option<&Flow>,
    is_sent: bool,
    edge: impl Fn(u32) -> u32,
) -> String {
    match option {
        TcpOption::Nop => "nop".into(),
        TcpOption::Eol => "eol".into(),
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".into(),
        TcpOption::Sack(blocks) => {
            let shown: String = blocks
                .iter()
                .map(|(left, right)| format!(" {}:{}", edge(*left), edge(*right)))
                .collect();
            format!("sack{shown}")
        }
        TcpOption::Timestamps { val, ecr } => {
            let own = |stamp: u32| flow.map_or(stamp, |flow| flow.stamp_in_script(stamp));
            let (val, ecr) = (val.unwrap_or(0), ecr.unwrap_or(0));
            match is_sent {
                true => format!("TS val {} ecr {ecr}", own(val)),
                false => format!("TS val {val} ecr {}", own(ecr)),
            }
        }
        TcpOption::FastOpen(found) => format!("FO {}", cookie(found)).trim_end().into(),
        TcpOption::FastOpenExperimental(found) => {
            format!("FOEXP {}", cookie(found)).trim_end().into()
        }
        TcpOption::AccEcn(counters) => {
            let shown = counters.iter().map(|(which, count)| match which {
                EcnCounter::E0 => format!(" e0b {count}"),
                EcnCounter::Ce => format!(" ceb {count}"),
                EcnCounter::E1 => format!(" e1b {count}"),
            });
            format!("ECN{}", shown.collect::<String>())
        }
        TcpOption::Md5(digest) => format!("md5 {}", hexadecimal(digest)),
        TcpOption::Unknown { kind, data } => format!("unknown {kind} {}", hexadecimal(data))
            .trim_end()
            .into(),
    }
}

fn cookie(cookie: &Cookie) -> String {
    match cookie {
        Cookie::Octets(octets) => hexadecimal(octets),
        Cookie::Name(name) => name.to_string(),
    }
}

fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}
