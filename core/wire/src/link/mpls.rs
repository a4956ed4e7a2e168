//! MPLS label stacks (RFC 3032 section 2.1) and Ethernet in them (RFC 4448).
//!
//! Labels do not indicate what they carry. By convention the first nibble decides: 4 and 6 are IP,
//! 0 is a control word followed by Ethernet (RFC 4385), anything else is Ethernet without one. An
//! Ethernet address that begins with 4 or 6 without a control word is mistaken for IP; the two
//! cannot be distinguished.

use super::{DissectError, Layer, Next, Walk};

pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    const BOTTOM: u8 = 1;
    // Every step advances four octets, so the stack ends with the packet.
    while walk.take(4, Layer::Mpls)?[2] & BOTTOM == 0 {}
    match walk.peek(1, Layer::Mpls)?[0] >> 4 {
        4 | 6 => Ok(Next::Ip),
        0 => {
            walk.take(4, Layer::Mpls)?;
            Ok(Next::Ethernet)
        }
        _ => Ok(Next::Ethernet),
    }
}
