//! Packets cut into fragments and reassembled, by the rules one by one.

use alloc::vec;
use alloc::vec::Vec;

use bytes::Bytes;

use super::*;
use crate::link::tests::ends::{V4, V6};
use crate::link::{ChecksumVerdict, LinkType, dissect_with_fragment};
use crate::{Flags, Options, Segment, SeqNumber, Timestamps, WireWindow, append_packet};

#[path = "../../../tests/cut/mod.rs"]
mod cut;
use cut::cut;

fn segment(len: usize) -> Segment<Bytes> {
    Segment {
        src_port: 1072,
        dst_port: 5001,
        seq: SeqNumber::new(0xffff_fff0),
        ack: SeqNumber::new(77),
        flags: Flags::ACK | Flags::PSH,
        wnd: WireWindow(1234),
        options: Options {
            timestamps: Some(Timestamps { val: 11, ecr: 12 }),
            ..Options::default()
        },
        payload: (0..len).map(|octet| octet as u8).collect(),
        ..Segment::default()
    }
}

fn packet(endpoints: Endpoints, len: usize) -> Vec<u8> {
    let mut out = Vec::new();
    append_packet(&IpHeader::new(endpoints), &segment(len), &mut out).unwrap();
    out
}

const NOW: Instant = Instant::from_nanos(7_000);

/// Results of packets that are captured simultaneously.
struct Seen {
    reassembly: Reassembly,
    complete: Vec<(u32, Fragmentation)>,
    said: alloc::string::String,
}

impl Seen {
    fn new() -> Self {
        Self {
            reassembly: Reassembly::default(),
            complete: Vec::new(),
            said: alloc::string::String::new(),
        }
    }

    /// Reassembles a packet cut by a snap length, and records the result as a letter.
    fn take(&mut self, at: Instant, octets: &[u8], snap: usize) {
        let (captured, wire) = (&octets[..octets.len().min(snap)], octets.len() as u32);
        let fragment = dissect_with_fragment(LinkType::RAW, captured, wire)
            .1
            .expect("a fragment");
        while self.reassembly.poll_given_up(at).is_some() {
            self.said.push('g');
        }
        self.said
            .push(match self.reassembly.handle_fragment(at, &fragment) {
                Outcome::Incomplete(_) => '.',
                Outcome::Duplicate(_) => 'd',
                Outcome::Contradicts(_) => 'x',
                Outcome::Complete(_, Ok(read)) => {
                    assert_eq!((read.src_port, read.seq), (1072, segment(0).seq));
                    assert_eq!(read.timestamps(), segment(0).options.timestamps);
                    self.complete.push((read.payload_len, read.fragmentation));
                    'c'
                }
                Outcome::Complete(_, Err(DissectError::Cut { layer: Layer::Tcp })) => 'h',
                Outcome::Complete(_, Err(other)) => panic!("{other}"),
            });
    }

    fn all(octets: &[Vec<u8>], snap: usize) -> Self {
        let mut seen = Self::new();
        octets
            .iter()
            .for_each(|packet| seen.take(NOW, packet, snap));
        seen
    }
}

fn said(octets: &[Vec<u8>]) -> alloc::string::String {
    Seen::all(octets, usize::MAX).said
}

#[test]
fn fragments_in_any_order_make_the_segment_of_the_whole() {
    for endpoints in [V4, V6] {
        let whole = packet(endpoints, 100);
        let parts = cut(&whole, 9, &[40, 64]);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0], [2, 0, 1]] {
            let seen = Seen::all(&order.map(|index| parts[index].clone()), usize::MAX);
            assert_eq!(seen.said, "..c");
            assert_eq!(seen.complete, [(100, Fragmentation::Reassembled)]);
        }
    }
}

#[test]
fn all_octets_that_fit_into_the_head_are_there_to_be_summed() {
    let parts = cut(&packet(V4, 100), 9, &[8]);
    let mut reassembly = Reassembly::default();
    for (index, part) in parts.iter().enumerate() {
        let (_, fragment) = dissect_with_fragment(LinkType::RAW, part, part.len() as u32);
        match reassembly.handle_fragment(NOW, &fragment.unwrap()) {
            Outcome::Incomplete(_) if index == 0 => {}
            Outcome::Complete(_, Ok(read)) if index == 1 => {
                assert_eq!(read.payload, &segment(100).payload[..]);
                assert_eq!(read.tcp_checksum(), ChecksumVerdict::Right);
                assert_eq!(read.ip_checksum(), None);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_header_in_pieces_is_put_together_where_all_of_it_was_captured() {
    for endpoints in [V4, V6] {
        // Ports alone, then numbers, then the remaining header and options.
        let parts = cut(&packet(endpoints, 3000), 9, &[8, 16, 1480]);
        assert_eq!(said(&parts), "...c");
        // The headers before, and four octets of TCP: its header is missing.
        let before = endpoints.header_len() + if endpoints == V6 { 8 } else { 0 };
        let seen = Seen::all(&parts, before + 4);
        assert_eq!(seen.said, "...h");
        // If it lies in the first fragment, nothing else is needed.
        let parts = cut(&packet(endpoints, 3000), 9, &[1480, 2960]);
        let seen = Seen::all(&parts, before + 32);
        assert_eq!(seen.complete, [(3000, Fragmentation::Reassembled)]);
    }
}

#[test]
fn what_comes_again_is_passed_over_and_what_overlaps_is_the_end_of_it() {
    let whole = packet(V4, 100);
    let parts = cut(&whole, 9, &[40, 64]);
    let others = cut(&whole, 9, &[48, 72]);
    let inner = cut(&whole, 9, &[72, 80]);
    let of = |list: &[&Vec<u8>]| said(&list.iter().map(|part| (*part).clone()).collect::<Vec<_>>());
    assert_eq!(
        of(&[&parts[0], &parts[0], &parts[1], &parts[1], &parts[2]]),
        ".d.dc"
    );
    // RFC 5722: with all later ones.
    assert_eq!(of(&[&parts[0], &others[1], &parts[1], &parts[2]]), "..xx");
    assert_eq!(of(&[&parts[0], &parts[1], &others[1], &parts[2]]), "..xx");
    assert_eq!(of(&[&parts[0], &others[0]]), ".x");
    assert_eq!(of(&[&parts[2], &inner[1]]), ".x");
}

#[test]
fn ends_that_contradict_one_another_are_the_end_of_it() {
    let parts = cut(&packet(V4, 100), 9, &[40, 64]);
    let shorter = cut(&packet(V4, 20), 9, &[40]);
    let longer = cut(&packet(V4, 200), 9, &[160]);
    let of = |list: &[&Vec<u8>]| said(&list.iter().map(|part| (*part).clone()).collect::<Vec<_>>());
    // Two ends; data after the end; an end before earlier data.
    assert_eq!(of(&[&parts[2], &longer[1]]), ".x");
    assert_eq!(of(&[&shorter[1], &parts[1]]), ".x");
    assert_eq!(of(&[&longer[0], &shorter[1]]), ".x");
}

#[test]
fn what_no_packet_can_have_is_refused() {
    let part = |field: u16, len: usize| {
        let mut part = cut(&packet(V4, 100), 9, &[40])[0].clone();
        part.resize(20 + len, 0);
        part[2..4].copy_from_slice(&(20 + len as u16).to_be_bytes());
        part[6..8].copy_from_slice(&field.to_be_bytes());
        part
    };
    assert_eq!(said(&[part(0x2001, 12)]), "x", "not a multiple of eight");
    assert_eq!(said(&[part(0x2001, 0)]), "x", "nothing in it");
    assert_eq!(said(&[part(0x1fff, 16)]), "x", "beyond 64 KiB");
    assert_eq!(said(&[part(0x1fff, 7)]), ".", "up to them");
}

#[test]
fn packets_are_told_apart_by_addresses_identification_and_protocol() {
    let parts = |ident| cut(&packet(V4, 100), ident, &[64]);
    let mut other = parts(9);
    for part in &mut other {
        part[9] = 47;
    }
    let mixed = [&parts(9)[0], &parts(10)[1], &other[1]];
    assert_eq!(said(&mixed.map(Clone::clone)), "...");
    // In IPv6 only the first fragment has the protocol.
    let mut parts = cut(&packet(V6, 100), 9, &[64]);
    parts[1][40] = 60;
    assert_eq!(said(&parts), ".c");
}

#[test]
fn fragments_of_what_has_no_tcp_are_told_as_that() {
    for endpoints in [V4, V6] {
        let mut parts = cut(&packet(endpoints, 100), 9, &[64]);
        for part in &mut parts {
            part[if endpoints == V4 { 9 } else { 40 }] = 17;
            let (found, fragment) = dissect_with_fragment(LinkType::RAW, part, part.len() as u32);
            assert_eq!(found.err(), Some(DissectError::NotTcp { protocol: 17 }));
            assert!(fragment.is_none());
        }
    }
}

#[test]
fn a_minute_is_waited_and_no_longer() {
    let parts = cut(&packet(V4, 100), 9, &[64]);
    let mut seen = Seen::new();
    seen.take(NOW, &parts[0], usize::MAX);
    seen.take(NOW + LIMIT, &parts[1], usize::MAX);
    seen.take(NOW, &parts[0], usize::MAX);
    seen.take(NOW + LIMIT + Duration::from_nanos(1), &parts[1], usize::MAX);
    assert_eq!(seen.said, ".c.g.");
}

#[test]
fn no_more_is_kept_than_is_promised() {
    let mut seen = Seen::new();
    let parts = |ident| cut(&packet(V4, 100), ident, &[64]);
    for ident in 0..3 * MAX_DATAGRAMS as u32 {
        seen.take(NOW, &parts(ident)[0], usize::MAX);
    }
    assert_eq!(seen.reassembly.datagrams.len(), MAX_DATAGRAMS);
    assert_eq!(seen.said.matches('g').count(), 2 * MAX_DATAGRAMS - 1);
    // The latest are still there.
    seen.take(NOW, &parts(3 * MAX_DATAGRAMS as u32 - 1)[1], usize::MAX);
    assert!(seen.said.ends_with('c'));

    let mut seen = Seen::new();
    let places: Vec<usize> = (1..=MAX_PIECES).map(|index| 8 * index).collect();
    let parts = cut(&packet(V4, 4000), 9, &places);
    for part in parts.iter().rev() {
        seen.take(NOW, part, usize::MAX);
    }
    assert_eq!(seen.said, [&".".repeat(MAX_PIECES), "x"].concat());
    let size = size_of::<Datagram>() + MAX_PIECES * size_of::<Range>();
    assert!(MAX_DATAGRAMS * size < 1 << 20, "a megabyte: {size}");
}

#[test]
fn one_marked_fragment_marks_the_packet() {
    let mut parts = cut(&packet(V4, 100), 9, &[64]);
    parts[1][1] |= 3;
    let mut reassembly = Reassembly::default();
    let mut ecn = vec![];
    for part in &parts {
        let (_, fragment) = dissect_with_fragment(LinkType::RAW, part, part.len() as u32);
        if let Outcome::Complete(_, Ok(read)) = reassembly.handle_fragment(NOW, &fragment.unwrap())
        {
            ecn.push(read.ecn);
        }
    }
    assert_eq!(ecn, [Ecn::Ce]);
}

#[test]
fn a_tunnel_in_fragments_shows_what_is_in_it() {
    let inner = packet(V4, 2000);
    let mut outer = packet(V4, 0)[..20].to_vec();
    outer[9] = 4;
    outer[2..4].copy_from_slice(&(20 + inner.len() as u16).to_be_bytes());
    outer.extend(&inner);
    let seen = Seen::all(&cut(&outer, 9, &[1480]), usize::MAX);
    assert_eq!(seen.said, ".c");
    assert_eq!(seen.complete, [(2000, Fragmentation::Reassembled)]);
}

#[test]
fn what_was_not_captured_of_all_fragments_is_told() {
    let parts = cut(&packet(V4, 100), 9, &[40, 64]);
    for (snap, missing) in [(usize::MAX, 0), (60, 28)] {
        let mut reassembly = Reassembly::default();
        let mut told = Vec::new();
        for part in &parts {
            let captured = &part[..part.len().min(snap)];
            let (_, fragment) = dissect_with_fragment(LinkType::RAW, captured, part.len() as u32);
            let outcome = reassembly.handle_fragment(NOW, &fragment.unwrap());
            if let Outcome::Complete(_, Ok(read)) = outcome {
                told.push((read.payload_len, read.uncaptured_len()));
            }
        }
        assert_eq!(told, [(100, missing)]);
    }
}
