//! Packets of scripts to segments of the engine, and back, by way of octets:
//! what the engine sees is what the wire would have shown it.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Segment, decode, encode};

use alloc::vec;

use crate::packet::Tcp;

/// The segment as the engine reads it; nothing for octets it would drop.
pub fn to_segment(tcp: &Tcp) -> Option<Segment<Bytes>> {
    let octets = Bytes::from(tcp.octets());
    let segment = decode(&octets).ok()?;
    Some(segment.map_payload(|payload| octets.slice_ref(payload)))
}

/// The segment with its options as they are laid out on the wire.
pub fn from_segment(segment: &Segment<Bytes>, endpoints: &Endpoints) -> Option<Tcp> {
    let mut octets = vec![0; segment.header_len() + segment.payload.len()];
    encode(segment, endpoints, &mut octets).ok()?;
    let tcp = Tcp::read(&octets).ok()?;
    Some(Tcp {
        segment_size: segment.segment_size,
        ..tcp
    })
}
