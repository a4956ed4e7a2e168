//! Linux cooked captures, versions 1 and 2 (LINKTYPE_LINUX_SLL and SLL2).
//!
//! The kernel uses them if there is no link layer or several. The protocol is an EtherType, or one
//! of two numbers for frames without one.

use super::{DissectError, Layer, Next, Walk, word};

/// 802.3 frames without LLC, and with LLC.
const WITHOUT_LLC: u16 = 1;
const WITH_LLC: u16 = 4;

pub(super) fn first_version(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(16, Layer::Cooked)?;
    of_protocol(word(header, 14))
}

pub(super) fn second_version(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let header = walk.take(20, Layer::Cooked)?;
    of_protocol(word(header, 0))
}

const fn of_protocol(kind: u16) -> Result<Next, DissectError> {
    match kind {
        WITH_LLC => Ok(Next::Llc),
        WITHOUT_LLC => Err(DissectError::NotIp {
            layer: Layer::Cooked,
            kind,
        }),
        _ => Ok(Next::EtherType(kind)),
    }
}
