//! Octets of a stream. Each offset has a different octet, so that misplaced data is detected.
//!
//! Offset 1 is the first octet after the SYN. Injected packets and application writes both use
//! these octets, and the runner compares what a stack sends with them.

use alloc::vec::Vec;

use gigatcp_wire::bytes::Bytes;

/// Octet at `offset`.
pub fn octet(offset: u32) -> u8 {
    (offset ^ (offset >> 8) ^ (offset >> 16)) as u8
}

/// `len` octets from `offset` on.
pub fn octets(offset: u32, len: usize) -> Bytes {
    let places = (0..len as u32).map(|n| offset.wrapping_add(n));
    places.map(octet).collect::<Vec<u8>>().into()
}

/// First index at which `found` differs from the stream from `offset` on.
pub fn first_difference(offset: u32, found: &[u8]) -> Option<usize> {
    let places = (0..).map(|n: u32| offset.wrapping_add(n));
    found
        .iter()
        .zip(places)
        .position(|(found, place)| *found != octet(place))
}
