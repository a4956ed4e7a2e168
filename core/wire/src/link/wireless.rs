//! IEEE 802.11 (LINKTYPE_IEEE802_11), with a radiotap header in front
//! (LINKTYPE_IEEE802_11_RADIOTAP, radiotap.org).
//!
//! Data frames have LLC and SNAP after their header. A protected frame is encrypted and not read,
//! even if the key is known. A monitor sees a frame again at each hop and for each retransmission
//! on the radio link; each of them is a packet of the capture.
//!
//! Out of scope: several packets in one frame (A-MSDU), frames in fragments, mesh headers,
//! decryption. Such frames are named.

use super::{DissectError, Layer, Next, Walk};

/// Radiotap flag: the 802.11 header is padded to four octets.
const PADDED: u8 = 0x20;

/// Reads radiotap: version, length, present fields; all in little-endian order.
pub(super) fn radiotap(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let layer = Layer::Wireless;
    let fixed = walk.peek(8, layer)?;
    let len = usize::from(u16::from_le_bytes([fixed[2], fixed[3]]));
    if fixed[0] != 0 || len < 8 {
        return Err(DissectError::Malformed { layer });
    }
    let header = walk.take(len, layer)?;
    frame(walk, flags(header).unwrap_or(0) & PADDED != 0)
}

/// Field "Flags". It follows the presence words and, if present, the time of eight octets, aligned.
fn flags(header: &[u8]) -> Option<u8> {
    const TSFT: u8 = 1;
    const FLAGS: u8 = 2;
    const MORE_WORDS: u8 = 0x80;
    let present = *header.get(4)?;
    if present & FLAGS == 0 {
        return None;
    }
    let mut at = 4;
    while header.get(at + 3)? & MORE_WORDS != 0 {
        at += 4;
    }
    at += 4;
    if present & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    header.get(at).copied()
}

/// Reads a frame that begins with its own header.
pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    frame(walk, false)
}

fn frame(walk: &mut Walk<'_>, is_padded: bool) -> Result<Next, DissectError> {
    const BOTH_DS: u8 = 0x03;
    const MORE_FRAGMENTS: u8 = 0x04;
    const PROTECTED: u8 = 0x40;
    const ORDER: u8 = 0x80;
    const NO_DATA: u8 = 0x40;
    const QOS: u8 = 0x80;
    const AGGREGATED: u8 = 0x80;
    let unread = |what| Err(DissectError::Unread { what });
    let layer = Layer::Wireless;
    let &[kind, flags] = walk.peek(2, layer)? else {
        return Err(DissectError::Malformed { layer });
    };
    match kind & 0x0f {
        0x08 => {}
        0x00 => return unread("802.11 management"),
        0x04 => return unread("802.11 control"),
        _ => return Err(DissectError::Malformed { layer }),
    }
    if kind & NO_DATA != 0 {
        return unread("802.11 without data");
    }
    if flags & PROTECTED != 0 {
        return unread("encrypted 802.11");
    }
    let mut len: usize = 24;
    if flags & BOTH_DS == BOTH_DS {
        len += 6;
    }
    let qos_at = len;
    if kind & QOS != 0 {
        len += if flags & ORDER != 0 { 6 } else { 2 };
    }
    if is_padded {
        len = len.next_multiple_of(4);
    }
    let header = walk.take(len, layer)?;
    if kind & QOS != 0 && header[qos_at] & AGGREGATED != 0 {
        return unread("802.11 with several packets (A-MSDU)");
    }
    let fragment = header[22] & 0x0f;
    if flags & MORE_FRAGMENTS != 0 || fragment != 0 {
        return unread("802.11 in fragments");
    }
    Ok(Next::Llc)
}
