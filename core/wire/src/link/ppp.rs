//! PPP (RFC 1661, RFC 1662) with or without its address and control octets and
//! with compressed protocol numbers, PPPoE sessions (RFC 2516), Cisco HDLC.
//!
//! Out of scope: compressed TCP headers (RFC 1144), multilink, and the discovery of PPPoE.

use super::{DissectError, Layer, Next, Walk, word};

pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    match walk.peek(1, Layer::Ppp)?[0] {
        0xff => {
            walk.take(2, Layer::Ppp)?;
        }
        // Cisco's framing under the same link type: unicast or broadcast.
        0x0f | 0x8f => return hdlc(walk),
        _ => {}
    }
    protocol(walk)
}

/// Reads the protocol number: one octet if its lowest bit is set, else two.
fn protocol(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const IPV4: u16 = 0x21;
    const IPV6: u16 = 0x57;
    const MPLS: u16 = 0x281;
    const MPLS_UPSTREAM: u16 = 0x283;
    let is_short = walk.peek(1, Layer::Ppp)?[0] & 1 == 1;
    let number = if is_short {
        u16::from(walk.take(1, Layer::Ppp)?[0])
    } else {
        word(walk.take(2, Layer::Ppp)?, 0)
    };
    match number {
        IPV4 | IPV6 => Ok(Next::Ip),
        MPLS | MPLS_UPSTREAM => Ok(Next::Mpls),
        kind => Err(DissectError::NotIp {
            layer: Layer::Ppp,
            kind,
        }),
    }
}

/// Reads PPPoE: version and type 1, code 0, session, length.
pub(super) fn pppoe(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(6, Layer::Pppoe)?;
    if header[0] != 0x11 {
        let layer = Layer::Pppoe;
        return Err(DissectError::Malformed { layer });
    }
    if header[1] != 0 {
        // Discovery under the type of sessions.
        return Err(DissectError::NotIp {
            layer: Layer::Pppoe,
            kind: u16::from(header[1]),
        });
    }
    protocol(walk)
}

/// Reads Cisco HDLC: address, control, EtherType.
pub(super) fn hdlc(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(4, Layer::Ppp)?;
    Ok(Next::EtherType(word(header, 2)))
}
