//! ERSPAN: frames mirrored by a switch, in GRE (draft-foschiano-erspan).
//!
//! Type I has no header of its own and GRE without a sequence number. Type II has eight octets.
//! Type III has twelve, and eight more if its flag O is set.

use super::{DissectError, Layer, Next, Walk, word};

/// Types I and II.
pub(super) const TYPE_2: u16 = 0x88be;
pub(super) const TYPE_3: u16 = 0x22eb;

/// Reads the header after the GRE header, whose protocol was `kind`.
pub(super) fn step(
    walk: &mut Walk<'_>,
    kind: u16,
    has_sequence: bool,
) -> Result<Next, DissectError> {
    const SUBHEADER: u16 = 1;
    const FRAME_TYPE_SHIFT: u16 = 10;
    const IP: u16 = 2;
    let layer = Layer::Erspan;
    if kind == TYPE_2 && !has_sequence {
        return Ok(Next::Ethernet);
    }
    let (version, len) = if kind == TYPE_2 { (1, 8) } else { (2, 12) };
    let header = walk.take(len, layer)?;
    if header[0] >> 4 != version {
        return Err(DissectError::Malformed { layer });
    }
    if kind == TYPE_2 {
        return Ok(Next::Ethernet);
    }
    let field = word(header, 10);
    if field & SUBHEADER != 0 {
        walk.take(8, layer)?;
    }
    Ok(match field >> FRAME_TYPE_SHIFT & 0x1f {
        IP => Next::Ip,
        _ => Next::Ethernet,
    })
}
