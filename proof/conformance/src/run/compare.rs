//! Comparison of a packet that left with the packet in the script.
//!
//! Both are compared in wire numbers. Fields that the script leaves open (window, ECN, `...`) are
//! not compared.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_wire::{Ecn, Flags};

use super::Leniency;
use super::flow::{Flow, Start};
use super::notation;
use super::verdict::Class;
use crate::ast::{self, IpSpec, TcpOption, TcpSpec};
use crate::data;
use crate::packet::{Body, Packet, Tcp};

/// Class and description of a difference.
pub type Difference = (Class, String);

/// Rule for comparing timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamps {
    /// The stack's own timestamps are not compared; echoes are.
    Free,
    /// They advance as in the script, within this number of ticks.
    Progress(u32),
}

/// Compares a packet, and records values learned from it. These are the stack's initial sequence
/// number and its timestamps.
pub fn compare(
    spec: &ast::Packet,
    packet: &Packet,
    flow: &mut Flow,
    leniency: Leniency,
    stamps: Stamps,
) -> Result<(), Difference> {
    match (&spec.body, &packet.body) {
        (ast::Body::Tcp(wanted), Body::Tcp(found)) => {
            tcp(wanted, found, flow, leniency, stamps)?;
        }
        (ast::Body::Udp { len }, Body::Udp(found)) if *len == u32::from(found.len) => {}
        (ast::Body::Icmp(_), Body::Icmp(_)) => {}
        _ => return Err((Class::Unexpected, "another protocol".into())),
    }
    ip(&spec.ip, packet)
}

fn ip(wanted: &IpSpec, packet: &Packet) -> Result<(), Difference> {
    let ip = &packet.ip;
    let differ = |what: &str, wanted: &dyn core::fmt::Debug, found: &dyn core::fmt::Debug| {
        let said = format!("{what} is {found:?}, not {wanted:?}");
        Err((Class::Ip, said))
    };
    if let Some(ecn) = wanted.ecn
        && ecn != packet.ecn
    {
        return differ("ECN", &ecn, &packet.ecn);
    }
    if wanted.any_ect && !matches!(packet.ecn, Ecn::Ect0 | Ecn::Ect1) {
        return differ("ECN", &"ECT(0) or ECT(1)", &packet.ecn);
    }
    let tos = ip.dscp << 2 | packet.ecn.bits();
    if let Some(wanted) = wanted.tos
        && wanted != tos
    {
        return differ("TOS", &wanted, &tos);
    }
    if let Some(ttl) = wanted.ttl
        && ttl != ip.ttl
    {
        return differ("TTL", &ttl, &ip.ttl);
    }
    match wanted.flow_label {
        Some(label) if label != ip.flow_label => differ("flow label", &label, &ip.flow_label),
        _ => Ok(()),
    }
}

fn tcp(
    wanted: &TcpSpec,
    found: &Tcp,
    flow: &mut Flow,
    leniency: Leniency,
    stamps: Stamps,
) -> Result<(), Difference> {
    let with_syn = wanted.flags.contains(Flags::SYN);
    if with_syn && found.flags.contains(Flags::SYN) && flow.local.is_none() {
        flow.local = Some(Start::new(wanted.seq, found.seq));
    }
    let push = match leniency.push {
        true => Flags::PSH,
        false => Flags::NONE,
    };
    if wanted.flags.without(push) != found.flags.without(push) {
        let (is, not) = (
            notation::letters(found.flags),
            notation::letters(wanted.flags),
        );
        return Err((Class::Flags, format!("control bits are {is}, not {not}")));
    }
    numbers(wanted, found, flow, with_syn)?;
    if let Some(options) = &wanted.options {
        self::options(options, found, flow, leniency, stamps)?;
    }
    payload(found, flow)
}

fn numbers(wanted: &TcpSpec, found: &Tcp, flow: &Flow, with_syn: bool) -> Result<(), Difference> {
    let seq = match flow.local {
        Some(start) if !wanted.is_absolute => start.to_script(found.seq, with_syn),
        _ => found.seq,
    };
    if seq != wanted.seq || found.payload.len() as u32 != wanted.len {
        let end = seq.wrapping_add(found.payload.len() as u32);
        let said = format!("it is {seq}:{end}({})", found.payload.len());
        return Err((Class::Sequence, said));
    }
    if let Some(wanted) = wanted.ack {
        let ack = match flow.remote {
            Some(start) => start.to_script(found.ack, with_syn),
            None => found.ack,
        };
        if ack != wanted {
            return Err((Class::Ack, format!("it acknowledges {ack}")));
        }
    }
    if let Some(win) = wanted.win
        && win != found.win
    {
        return Err((Class::Window, format!("its window is {}", found.win)));
    }
    match wanted.urg {
        Some(urg) if urg != found.urg => {
            let said = format!("its urgent pointer is {}", found.urg);
            Err((Class::Urgent, said))
        }
        _ => Ok(()),
    }
}

fn options(
    wanted: &[TcpOption],
    found: &Tcp,
    flow: &mut Flow,
    leniency: Leniency,
    stamps: Stamps,
) -> Result<(), Difference> {
    let is_padding = |option: &TcpOption| matches!(option, TcpOption::Nop | TcpOption::Eol);
    let layout = |options: &[TcpOption]| -> Vec<TcpOption> {
        let mut options = options.to_vec();
        if leniency.layout {
            options.retain(|option| !is_padding(option));
            // RFC 9768 has two orders of the counters; the sender chooses.
            for option in &mut options {
                if let TcpOption::AccEcn(counters) = option {
                    counters.sort_by_key(|(which, _)| *which as u8);
                }
            }
            options.sort_by_key(kind);
        }
        options
    };
    let differ = |said: &str| Err((Class::Options, said.into()));
    let (wanted, given) = (layout(wanted), layout(&found.options));
    if wanted.len() != given.len() {
        let (n, m) = (given.len(), wanted.len());
        return differ(&format!("{n} options, padding included, not {m}"));
    }
    for (wanted, given) in wanted.iter().zip(&given) {
        match (wanted, given) {
            (
                TcpOption::Timestamps { val, ecr },
                TcpOption::Timestamps {
                    val: Some(given_val),
                    ecr: Some(given_ecr),
                },
            ) => {
                timestamps((*val, *ecr), (*given_val, *given_ecr), flow, stamps)?;
            }
            (TcpOption::Sack(blocks), TcpOption::Sack(given)) => {
                let edge = |edge: u32| match flow.remote {
                    Some(start) => start.to_wire(edge, false),
                    None => edge,
                };
                let wanted = blocks.iter().map(|(l, r)| (edge(*l), edge(*r)));
                if !wanted.eq(given.iter().copied()) {
                    return differ("SACK blocks differ");
                }
            }
            _ if wanted == given => {}
            _ => return differ("an option differs"),
        }
    }
    Ok(())
}

/// A sort key of options, for comparing them as a set.
fn kind(option: &TcpOption) -> u8 {
    let mut octets = Vec::new();
    option.write(&mut octets);
    octets.first().copied().unwrap_or(0)
}

fn timestamps(
    wanted: (Option<u32>, Option<u32>),
    found: (u32, u32),
    flow: &mut Flow,
    stamps: Stamps,
) -> Result<(), Difference> {
    if let (Some(script), Stamps::Progress(tolerance)) = (wanted.0, stamps)
        && let Some((said, went)) = flow.stamp_progress(script, found.0)
        && said.wrapping_sub(went).cast_signed().unsigned_abs() > tolerance
    {
        let text = format!("its timestamp is {}", flow.stamp_in_script(found.0));
        return Err((Class::Timestamps, text));
    }
    if let Some(script) = wanted.0 {
        flow.note_stamp(script, found.0);
    }
    match wanted.1 {
        Some(ecr) if ecr != found.1 => {
            let text = format!("it echoes timestamp {}", found.1);
            Err((Class::Timestamps, text))
        }
        _ => Ok(()),
    }
}

fn payload(found: &Tcp, flow: &Flow) -> Result<(), Difference> {
    let Some(start) = flow.local else {
        return Ok(());
    };
    let syn = u32::from(found.flags.contains(Flags::SYN));
    let offset = start.offset(found.seq).wrapping_add(syn);
    match data::first_difference(offset, &found.payload) {
        Some(at) => {
            let place = offset.wrapping_add(at as u32);
            let said = format!("octet {place} of the stream is another one");
            Err((Class::Payload, said))
        }
        None => Ok(()),
    }
}
