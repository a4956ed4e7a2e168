//! The octets of a stream: every place has its own, so that data in the wrong
//! place shows.
//!
//! Offset 1 is the first octet after the SYN. Both what scripts inject and
//! what their applications write is made of these, and the runner compares
//! what a stack sends with them.

use alloc::vec::Vec;

use gigatcp_wire::bytes::Bytes;

/// The octet at `offset`.
#[must_use]
pub fn octet(offset: u32) -> u8 {
    (offset ^ (offset >> 8) ^ (offset >> 16)) as u8
}

/// `len` octets from `offset` on.
#[must_use]
pub fn octets(offset: u32, len: usize) -> Bytes {
    let places = (0..len as u32).map(|n| offset.wrapping_add(n));
    places.map(octet).collect::<Vec<u8>>().into()
}

/// The first place in `found` that is not the stream's from `offset` on.
#[must_use]
pub fn first_difference(offset: u32, found: &[u8]) -> Option<usize> {
    let places = (0..).map(|n: u32| offset.wrapping_add(n));
    found
        .iter()
        .zip(places)
        .position(|(found, place)| *found != octet(place))
}
