//! BSD loopback (LINKTYPE_NULL, LINKTYPE_LOOP): an address family of 32 bits, in the byte order of
//! the capturing machine, which may not be the file's. The numbers of IPv6 differ between systems;
//! all are accepted.

use super::{DissectError, Layer, Next, Walk, long};

const IPV4: u32 = 2;
/// NetBSD and OpenBSD; FreeBSD; macOS; Linux; Windows.
const IPV6: [u32; 5] = [24, 28, 30, 10, 23];

pub(super) fn step(walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    let family = long(walk.take(4, Layer::Loopback)?, 0);
    let is_ip = |family: u32| family == IPV4 || IPV6.contains(&family);
    if is_ip(family) || is_ip(family.swap_bytes()) {
        return Ok(Next::Ip);
    }
    // Families have small numbers: use the half that is not zero.
    let kind = (family | family >> 16) as u16;
    Err(DissectError::NotIp {
        layer: Layer::Loopback,
        kind,
    })
}
