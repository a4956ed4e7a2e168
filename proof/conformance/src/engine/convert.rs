//! Conversion between packets of scripts and segments of the engine. It goes through octets, so the
//! engine sees what it would receive from the wire.

use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{Endpoints, Segment, decode, encode};

use alloc::vec;

use crate::packet::Tcp;

/// Segment as the engine reads it; `None` for octets it would drop.
pub fn to_segment(tcp: &Tcp) -> Option<Segment<Bytes>> {
    let octets = Bytes::from(tcp.octets());
    let segment = decode(&octets).ok()?;
    Some(segment.map_payload(|payload| octets.slice_ref(payload)))
}

/// Segment with its options as laid out on the wire.
pub fn from_segment(segment: &Segment<Bytes>, endpoints: &Endpoints) -> Option<Tcp> {
    let mut octets = vec![0; segment.header_len() + segment.payload.len()];
    encode(segment, endpoints, &mut octets).ok()?;
    let tcp = Tcp::read(&octets).ok()?;
    Some(Tcp {
        segment_size: segment.segment_size,
        ..tcp
    })
}
