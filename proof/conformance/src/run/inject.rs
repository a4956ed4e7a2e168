//! Conversion of a packet in the script to an arriving packet.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_wire::{Ecn, Endpoints, Flags, IpHeader};

use super::flow::Flow;
use crate::ast::{self, Cookie, IcmpSpec, Quoted, TcpOption, TcpSpec};
use crate::data;
use crate::packet::{Body, Icmp, Packet, Tcp, Udp};
use crate::stack::{Addresses, Unsupported};

/// Packet that `spec` describes, from the peer to the stack.
pub fn packet(
    spec: &ast::Packet,
    flow: &mut Flow,
    addresses: &Addresses,
    defines: &BTreeMap<String, Vec<u8>>,
) -> Result<Packet, Unsupported> {
    if let Some(header) = spec.encapsulation.first() {
        return Err(Unsupported::new("packet", header.clone()));
    }
    if spec.inside_udp.is_some() {
        return Err(Unsupported::new("packet", "TCP inside UDP"));
    }
    let Some(endpoints) = Endpoints::new(addresses.remote, addresses.local) else {
        return Err(Unsupported::new("address", "of two families"));
    };
    let mut ip = IpHeader::new(endpoints);
    if let Some(tos) = spec.ip.tos {
        ip.dscp = tos >> 2;
    }
    let tos_ecn = spec.ip.tos.map(Ecn::from_bits);
    let ecn = spec.ip.ecn.or(tos_ecn).unwrap_or_default();
    ip.ttl = spec.ip.ttl.unwrap_or(ip.ttl);
    ip.flow_label = spec.ip.flow_label.unwrap_or(0);
    let body = match &spec.body {
        ast::Body::Tcp(tcp) => Body::Tcp(segment(tcp, flow, defines)?),
        ast::Body::Udp { len } => Body::Udp(Udp {
            src_port: flow.remote_port,
            dst_port: flow.local_port,
            len: u16::try_from(*len).map_err(|_| Unsupported::new("packet", "large UDP"))?,
        }),
        ast::Body::Icmp(icmp) => Body::Icmp(message(icmp, flow, endpoints)?),
    };
    Ok(Packet { ip, ecn, body })
}

fn segment(
    spec: &TcpSpec,
    flow: &mut Flow,
    defines: &BTreeMap<String, Vec<u8>>,
) -> Result<Tcp, Unsupported> {
    let with_syn = spec.flags.contains(Flags::SYN);
    let remote = flow.remote_or_start(with_syn.then_some(spec.seq));
    let seq = if spec.is_absolute {
        spec.seq
    } else {
        remote.to_wire(spec.seq, with_syn)
    };
    let ack = match spec.ack {
        Some(ack) => flow.local_or_any().to_wire(ack, with_syn),
        // packetdrill's number where a line has none.
        None if spec.flags.contains(Flags::ACK) => flow.local_or_any().to_wire(0, with_syn),
        None => 0,
    };
    let options = spec.options.as_deref().unwrap_or_default();
    let options: Result<Vec<TcpOption>, Unsupported> =
        options.iter().map(|o| option(o, flow, defines)).collect();
    // The SYN occupies one sequence number before the data it carries.
    let offset = remote.offset(seq).wrapping_add(u32::from(with_syn));
    Ok(Tcp {
        src_port: flow.remote_port,
        dst_port: flow.local_port,
        seq,
        ack,
        flags: spec.flags,
        win: spec.win.unwrap_or(0),
        urg: spec.urg.unwrap_or(0),
        options: options?,
        payload: data::octets(offset, spec.len as usize),
        segment_size: 0,
    })
}

fn option(
    option: &TcpOption,
    flow: &mut Flow,
    defines: &BTreeMap<String, Vec<u8>>,
) -> Result<TcpOption, Unsupported> {
    Ok(match option {
        TcpOption::Sack(blocks) => {
            let start = flow.local_or_any();
            let wire = |edge: u32| start.to_wire(edge, false);
            TcpOption::Sack(blocks.iter().map(|(l, r)| (wire(*l), wire(*r))).collect())
        }
        TcpOption::Timestamps { val, ecr } => TcpOption::Timestamps {
            val: *val,
            ecr: ecr.map(|ecr| flow.echoed_stamp(ecr)),
        },
        other => defined(other, defines)?,
    })
}

/// Option with names replaced by their `-D` definitions.
pub fn defined(
    option: &TcpOption,
    defines: &BTreeMap<String, Vec<u8>>,
) -> Result<TcpOption, Unsupported> {
    let resolve = |cookie: &Cookie| match cookie {
        Cookie::Octets(octets) => Ok(Cookie::Octets(octets.clone())),
        Cookie::Name(name) => match defines.get(name) {
            Some(octets) => Ok(Cookie::Octets(octets.clone())),
            None => Err(Unsupported::new("definition", name.clone())),
        },
    };
    Ok(match option {
        TcpOption::FastOpen(cookie) => TcpOption::FastOpen(resolve(cookie)?),
        TcpOption::FastOpenExperimental(cookie) => {
            TcpOption::FastOpenExperimental(resolve(cookie)?)
        }
        other => other.clone(),
    })
}

/// Names of ICMP types with IPv4 number (RFC 792, 1122, 1812) and IPv6 number. IPv6: RFC 4443; 255
/// if the version has none.
const KINDS: [(&str, u8, u8); 9] = [
    ("echo_reply", 0, 129),
    ("unreachable", 3, 1),
    ("source_quench", 4, 255),
    ("redirect", 5, 255),
    ("echo_request", 8, 128),
    ("time_exceeded", 11, 3),
    ("parameter_problem", 12, 4),
    ("packet_too_big", 255, 2),
    ("dest_unreachable", 3, 1),
];

/// Names of ICMP codes, with numbers as in [`KINDS`].
const CODES: [(&str, u8, u8); 29] = [
    ("net_unreachable", 0, 0),
    ("host_unreachable", 1, 3),
    ("protocol_unreachable", 2, 255),
    ("port_unreachable", 3, 4),
    ("frag_needed", 4, 255),
    ("source_route_failed", 5, 255),
    ("net_unknown", 6, 255),
    ("host_unknown", 7, 255),
    ("source_host_isolated", 8, 255),
    ("net_prohibited", 9, 255),
    ("host_prohibited", 10, 255),
    ("net_unreachable_for_tos", 11, 255),
    ("host_unreachable_for_tos", 12, 255),
    ("packet_filtered", 13, 1),
    ("host_precedence_violation", 14, 255),
    ("precedence_cutoff", 15, 255),
    ("exceeded_in_transit", 0, 0),
    ("ttl_exceeded_in_transit", 0, 255),
    ("exceeded_hop_limit", 255, 0),
    ("unknown_next_header", 255, 1),
    ("reassembly_time_exceeded", 1, 1),
    ("no_route", 0, 0),
    ("admin_prohibited", 13, 1),
    ("beyond_scope", 255, 2),
    ("not_neighbour", 255, 2),
    ("address_unreachable", 1, 3),
    ("addr_unreachable", 1, 3),
    ("exceed_hopl", 0, 0),
    ("exceed_frag_time", 1, 1),
];

fn number(word: &str, names: &[(&str, u8, u8)], v6: bool) -> Result<u8, Unsupported> {
    if let Ok(number) = word.parse() {
        return Ok(number);
    }
    let found = names.iter().find(|(name, _, _)| *name == word);
    let number = found.map(|(_, v4, six)| if v6 { *six } else { *v4 });
    let known = number.filter(|number| *number != 255);
    known.ok_or_else(|| Unsupported::new("packet", alloc::format!("icmp {word}")))
}

fn message(spec: &IcmpSpec, flow: &mut Flow, arriving: Endpoints) -> Result<Icmp, Unsupported> {
    let v6 = matches!(arriving, Endpoints::V6 { .. });
    let code = spec.code.as_deref().unwrap_or("0");
    let quoted = match &spec.quoted {
        Some(quoted) => quoted_octets(quoted, flow, arriving),
        None => Vec::new(),
    };
    Ok(Icmp {
        kind: number(&spec.kind, &KINDS, v6)?,
        code: number(code, &CODES, v6)?,
        rest: spec.mtu.unwrap_or(0),
        quoted,
    })
}

/// Quoted front of the stack's packet that the message answers. It is the IP header and the first
/// eight octets after it (RFC 792).
fn quoted_octets(quoted: &Quoted, flow: &mut Flow, arriving: Endpoints) -> Vec<u8> {
    let ip = IpHeader::new(arriving.reversed());
    let (body, len) = match quoted {
        Quoted::Tcp { seq, len } => {
            let wire = flow.local_or_any().to_wire(*seq, false);
            let tcp = Tcp {
                src_port: flow.local_port,
                dst_port: flow.remote_port,
                seq: wire,
                ack: 0,
                flags: Flags::ACK,
                win: 0,
                urg: 0,
                options: Vec::new(),
                payload: data::octets(0, *len as usize),
                segment_size: 0,
            };
            (Body::Tcp(tcp), 8)
        }
        Quoted::Udp { len } => {
            let udp = Udp {
                src_port: flow.local_port,
                dst_port: flow.remote_port,
                len: u16::try_from(*len).unwrap_or(u16::MAX - 28),
            };
            (Body::Udp(udp), 8)
        }
    };
    let mut octets = Packet {
        ip,
        ecn: Ecn::NotEct,
        body,
    }
    .octets();
    octets.truncate(arriving.header_len() + len);
    octets
}
