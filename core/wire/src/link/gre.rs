//! GRE (RFC 2784) with key and sequence number (RFC 2890), and the version of PPTP (RFC 2637
//! section 4.1). It carries an EtherType, bridged Ethernet too, or frames mirrored by a switch
//! (`erspan.rs`).
//!
//! Out of scope: source routes of RFC 1701, which RFC 2784 removed.

use super::{DissectError, Layer, Next, Walk, erspan, word};

const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;

pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(4, Layer::Gre)?;
    let (flags, kind) = (word(header, 0), word(header, 2));
    let version = flags & VERSION;
    if version > 1 || flags & ROUTING != 0 {
        let layer = Layer::Gre;
        return Err(DissectError::Malformed { layer });
    }
    let mut fields = flags & (CHECKSUM | KEY | SEQUENCE);
    if version == 1 {
        fields |= flags & ACKNOWLEDGMENT;
    }
    walk.take(4 * fields.count_ones() as usize, Layer::Gre)?;
    if kind == 0 {
        // A keep-alive.
        let layer = Layer::Gre;
        return Err(DissectError::NotIp { layer, kind });
    }
    if matches!(kind, erspan::TYPE_2 | erspan::TYPE_3) {
        return erspan::step(walk, kind, flags & SEQUENCE != 0);
    }
    Ok(Next::EtherType(kind))
}
