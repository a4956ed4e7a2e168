//! Ethernet II and IEEE 802.3 with LLC (802.2) and SNAP (RFC 1042), VLAN tags (802.1Q, 802.1ad and
//! the numbers used before it), provider backbones (802.1ah), FDDI (RFC 1390) for old captures.
//! EtherTypes from the IEEE registry.
//!
//! Out of scope: 802.1AE (encrypted) and preambles.

use super::{DissectError, Layer, Next, Walk, word};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
/// Service tags, and the two numbers that vendors used for them earlier.
const SERVICE_VLAN: [u16; 3] = [0x88a8, 0x9100, 0x9200];
const MPLS: u16 = 0x8847;
const MPLS_UPSTREAM: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
const PPP: u16 = 0x880b;
/// The instance tag of a provider backbone (802.1ah): four octets, and a whole frame.
const PROVIDER_BACKBONE: u16 = 0x88e7;
/// Transparent Ethernet bridging, in GRE and Geneve.
const BRIDGED: u16 = 0x6558;
/// Values up to here are lengths of an 802.3 frame.
const MAX_LENGTH: u16 = 1500;

#[inline]
pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(14, Layer::Ethernet)?;
    Ok(of_type(word(header, 12)))
}

/// Layer that a type or length field announces.
#[inline]
const fn of_type(kind: u16) -> Next {
    match kind {
        IPV4 => Next::Ip,
        0..=MAX_LENGTH => Next::Llc,
        _ => Next::EtherType(kind),
    }
}

/// Layer after an EtherType; tags are skipped.
pub(super) fn ether_type(walk: &mut Walk<'_>, kind: u16) -> Result<Next, DissectError> {
    Ok(match kind {
        IPV4 | IPV6 => Next::Ip,
        MPLS | MPLS_UPSTREAM => Next::Mpls,
        PPPOE_SESSION => Next::Pppoe,
        PPP => Next::Ppp,
        BRIDGED => Next::Ethernet,
        _ if kind == VLAN || SERVICE_VLAN.contains(&kind) => {
            let tag = walk.take(4, Layer::Vlan)?;
            let id = word(tag, 0) & 0x0fff;
            walk.vlan = walk.vlan.or(Some(id));
            of_type(word(tag, 2))
        }
        PROVIDER_BACKBONE => {
            walk.take(4, Layer::Vlan)?;
            Next::Ethernet
        }
        _ => {
            let layer = Layer::Ethernet;
            return Err(DissectError::NotIp { layer, kind });
        }
    })
}

/// Reads LLC: SNAP, the service access point of IP, or Novell's frames without LLC.
pub(super) fn llc(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const SNAP: u8 = 0xaa;
    const IP: u8 = 0x06;
    const UNNUMBERED: u8 = 0x03;
    let header = walk.peek(3, Layer::Llc)?;
    match *header {
        [SNAP, SNAP, UNNUMBERED] => {
            let snap = walk.take(8, Layer::Llc)?;
            // The organization of Ethernet's own types, and that of bridges.
            if !matches!(snap[3..6], [0, 0, 0] | [0, 0, 0xf8]) {
                return Err(DissectError::NotIp {
                    layer: Layer::Llc,
                    kind: word(snap, 6),
                });
            }
            Ok(Next::EtherType(word(snap, 6)))
        }
        [IP, IP, UNNUMBERED] => {
            walk.take(3, Layer::Llc)?;
            Ok(Next::Ip)
        }
        _ => Err(DissectError::NotIp {
            layer: Layer::Llc,
            kind: word(header, 0),
        }),
    }
}

/// Reads FDDI: frame control, two addresses, LLC.
pub(super) fn fddi(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const LLC_FRAME: u8 = 0x50;
    let header = walk.take(13, Layer::Ethernet)?;
    if header[0] & 0xf0 != LLC_FRAME {
        return Err(DissectError::Unread {
            what: "FDDI without LLC",
        });
    }
    Ok(Next::Llc)
}
