//! Tunnels in UDP: VXLAN (RFC 7348) and its generic form VXLAN-GPE
//! (draft-ietf-nvo3-vxlan-gpe), Geneve (RFC 8926), GTP-U (3GPP TS 29.281), MPLS (RFC 7510).
//!
//! The destination port selects the tunnel, and the first octets of the header must match it:
//! anything else is UDP. A tunnel on another port is not recognized.
//!
//! Out of scope: reassembly of the outer packet. Of a fragmented UDP packet the first fragment is
//! read: its inner header has the length of the whole segment. Later fragments are counted as UDP.

use super::{DissectError, Layer, Next, Walk, word};

/// The protocol number of UDP.
pub(super) const UDP: u8 = 17;

const VXLAN: u16 = 4789;
/// Linux default from before the registration; flannel and others kept it.
const VXLAN_LINUX: u16 = 8472;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const GTP_U: u16 = 2152;
const MPLS: u16 = 6635;

const NOT_TCP: DissectError = DissectError::NotTcp { protocol: UDP };

pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    // UDP whose ports were not captured is still UDP.
    let Some(header) = walk.octets.first_chunk::<8>() else {
        return Err(NOT_TCP);
    };
    let port = word(header, 2);
    if !matches!(
        port,
        VXLAN | VXLAN_LINUX | VXLAN_GPE | GENEVE | GTP_U | MPLS
    ) {
        return Err(NOT_TCP);
    }
    walk.take(8, Layer::Udp)?;
    match port {
        GENEVE => geneve(walk),
        GTP_U => gtp(walk),
        MPLS => Ok(Next::Mpls),
        _ => vxlan(walk, port == VXLAN_GPE),
    }
}

/// Reads flags, next protocol (GPE), VNI. RFC 7348 section 5: flag I is set, the others are
/// ignored. GPE: flag P means that the next protocol is given, O that this is no data.
fn vxlan(walk: &mut Walk<'_>, is_generic: bool) -> Result<Next, DissectError> {
    const INSTANCE: u8 = 0x08;
    const NEXT_PROTOCOL: u8 = 0x04;
    const VERSION: u8 = 0x30;
    const OAM: u8 = 0x01;
    let header = walk.peek(8, Layer::Vxlan)?;
    let (flags, protocol) = (header[0], header[3]);
    let is_data = !is_generic || flags & (VERSION | OAM) == 0;
    if flags & INSTANCE == 0 || !is_data {
        return Err(NOT_TCP);
    }
    walk.take(8, Layer::Vxlan)?;
    if !is_generic || flags & NEXT_PROTOCOL == 0 {
        return Ok(Next::Ethernet);
    }
    match protocol {
        1 | 2 => Ok(Next::Ip),
        3 => Ok(Next::Ethernet),
        5 => Ok(Next::Mpls),
        _ => Err(DissectError::NotIp {
            layer: Layer::Vxlan,
            kind: protocol.into(),
        }),
    }
}

/// Reads the Geneve header of RFC 8926 section 3.4. Version, length of the options in words, flags,
/// EtherType, VNI.
fn geneve(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const CONTROL: u8 = 0x80;
    let header = walk.peek(8, Layer::Geneve)?;
    let (version, words) = (header[0] >> 6, header[0] & 0x3f);
    if version != 0 || header[1] & CONTROL != 0 {
        return Err(NOT_TCP);
    }
    let kind = word(header, 2);
    walk.take(8 + 4 * usize::from(words), Layer::Geneve)?;
    Ok(Next::EtherType(kind))
}

/// Reads version 1, protocol type GTP, messages with a packet (T-PDU). TS 29.281 section 5.1. Any
/// of the flags E, S and PN adds four octets; E adds extension headers after them.
fn gtp(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const VERSION_AND_TYPE: u8 = 0xf0;
    const GTP_VERSION_1: u8 = 0x30;
    const EXTENSION: u8 = 0x04;
    const OPTIONAL: u8 = 0x07;
    const T_PDU: u8 = 255;
    let layer = Layer::Gtp;
    let header = walk.peek(8, layer)?;
    let (flags, message) = (header[0], header[1]);
    if flags & VERSION_AND_TYPE != GTP_VERSION_1 || message != T_PDU {
        return Err(NOT_TCP);
    }
    walk.take(8, layer)?;
    if flags & OPTIONAL != 0 {
        let mut kind = walk.take(4, layer)?[3];
        // Every header is at least four octets, so the chain ends with the packet.
        while flags & EXTENSION != 0 && kind != 0 {
            let words = usize::from(walk.peek(1, layer)?[0]);
            let header = walk.take(4 * words, layer)?;
            let Some(next) = header.last() else {
                return Err(DissectError::Malformed { layer });
            };
            kind = *next;
        }
    }
    match walk.peek(1, layer)?[0] {
        first if matches!(first >> 4, 4 | 6) => Ok(Next::Ip),
        // PPP, or an Ethernet frame of 5G: only the signaling shows which.
        _ => Err(DissectError::Unread {
            what: "GTP-U without IP",
        }),
    }
}
