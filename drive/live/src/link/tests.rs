//! Tests of pieces sent in batches.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use bytes::{Bytes, BytesMut};
use gigatcp_linux::batch::BatchWriter;
use gigatcp_linux::virtio::HEADER_LEN;
use gigatcp_linux::{device, packets};
use gigatcp_wire::SeqNumber;

use super::*;
use crate::device::{Received, Wire};

const ENDPOINTS: Endpoints = Endpoints::V4 {
    src: Ipv4Addr::new(10, 0, 0, 1),
    dst: Ipv4Addr::new(10, 0, 0, 2),
};
/// Bytes of a piece's payload.
const SIZE: u16 = 1000;
/// Pieces of a segment: more than a single call writes.
const PIECES: u32 = 64;

/// A link that segments, whether its device writes batches, and the other end.
fn link(writer: BatchWriter) -> (Link, bool, OwnedFd) {
    let [near, far] = packets::pair().unwrap();
    let wire = Wire::over(near, Interface::new([])).with_writer(writer);
    let is_batching = wire.is_batching();
    (Link::new(Box::new(wire)), is_batching, far)
}

fn segment(number: u32) -> Segment<Octets> {
    let octets = vec![number as u8; (PIECES * u32::from(SIZE)) as usize];
    Segment {
        seq: SeqNumber::new(number * PIECES * u32::from(SIZE)),
        flags: Flags::ACK,
        payload: Bytes::from(octets).into(),
        segment_size: SIZE,
        ..Segment::default()
    }
}

/// Sequence numbers of all arrived packets.
fn arrived(far: &OwnedFd) -> Vec<u32> {
    let mut found = Vec::new();
    let mut packet = BytesMut::with_capacity(4096);
    while device::read_packet(far, &mut packet).is_ok() {
        let received = Received {
            skip: HEADER_LEN,
            ..Received::default()
        };
        let Ok(Read::Segment(ParsedSegment { segment, .. })) = arrival::read(&received, &packet)
        else {
            panic!("a segment");
        };
        found.push(segment.seq.as_u32());
        packet.clear();
    }
    found
}

#[test]
fn what_a_full_device_does_not_take_is_left_and_nothing_is_there_twice() {
    for writer in [BatchWriter::new(), BatchWriter::one_by_one()] {
        let (mut link, is_batching, far) = link(writer);
        let mut left = VecDeque::new();
        let mut numbers = 0;
        while left.is_empty() {
            link.write(ENDPOINTS, segment(numbers), &mut left).unwrap();
            numbers += 1;
        }
        let mut found = arrived(&far);
        assert_eq!(found.len() as u64, link.counters().writes);
        assert!(found.is_sorted());
        assert_eq!(link.counters().batched > 0, is_batching);
        let before = link.counters().batched;
        while let Some((endpoints, segment)) = left.pop_front() {
            let mut again = VecDeque::new();
            link.write(endpoints, segment, &mut again).unwrap();
            assert!(again.is_empty());
            found.extend(arrived(&far));
        }
        // One by one, for a while.
        assert_eq!(link.counters().batched, before);
        let expected = (0..numbers * PIECES).map(|piece| piece * u32::from(SIZE));
        assert_eq!(found.len(), expected.len());
        assert!(BTreeSet::from_iter(found).into_iter().eq(expected));
        assert_eq!(link.counters().refused, 0);
    }
}

#[test]
fn packets_leave_with_the_time_to_live_that_was_asked_for() {
    // RFC 9293 MUST-49.
    for ttl in [64, 3] {
        let [near, far] = packets::pair().unwrap();
        let interface = Interface {
            ttl,
            ..Interface::new([])
        };
        let mut link = Link::new(Box::new(Wire::over(near, interface)));
        let segment = Segment {
            flags: Flags::ACK,
            ..Segment::default()
        };
        link.write(ENDPOINTS, segment, &mut VecDeque::new())
            .unwrap();
        let mut packet = BytesMut::with_capacity(4096);
        device::read_packet(&far, &mut packet).unwrap();
        let ip = &packet[gigatcp_linux::virtio::HEADER_LEN..];
        assert_eq!(IpHeader::decode(ip).unwrap().0.ttl, ttl);
    }
}
