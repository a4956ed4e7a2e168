//! Packets in fragments, cut anywhere, in any order, and the reports about them.

use std::collections::BTreeMap;

use gigatcp_flows::{
    Arrival, Datagrams, DissectedPacket, FlowTable, FragmentIssue, MAX_HELD, Observed,
};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::link::{DissectError, Fragmentation, LinkType, dissect};
use gigatcp_wire::{
    Endpoints, Flags, IpHeader, Options, Segment, SeqNumber, Timestamps, WireWindow, append_packet,
};
use proptest::prelude::*;

#[path = "../../../wire/tests/cut/mod.rs"]
mod cut;
use cut::cut;
#[path = "../../../wire/tests/ends/mod.rs"]
mod ends;
use ends::{V4, V6};

/// An IP packet of the stream.
fn packet(endpoints: Endpoints, seq: u32, len: usize, ident: u16) -> Vec<u8> {
    let segment = Segment {
        src_port: 1072,
        dst_port: 5001,
        seq: SeqNumber::new(seq),
        ack: SeqNumber::new(77),
        flags: Flags::ACK,
        wnd: WireWindow(1234),
        options: Options {
            timestamps: Some(Timestamps { val: seq, ecr: 12 }),
            ..Options::default()
        },
        payload: vec![7_u8; len].into(),
        ..Segment::<gigatcp_wire::bytes::Bytes>::default()
    };
    let ip = IpHeader {
        ident,
        dont_fragment: false,
        ..IpHeader::new(endpoints)
    };
    let mut out = Vec::new();
    append_packet(&ip, &segment, &mut out).unwrap();
    out
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(1_000_000_000) + Duration::from_micros(micros)
}

/// A capture of these packets, a microsecond apart.
#[derive(Default)]
struct Capture {
    datagrams: Datagrams,
    number: u64,
    told: Vec<DissectedPacket>,
    most_held: usize,
}

impl Capture {
    fn take(&mut self, now: Instant, octets: &[u8]) {
        self.number += 1;
        self.datagrams.handle_packet(&Arrival {
            number: self.number,
            offset: 100 * self.number,
            at: now,
            link: LinkType::RAW,
            octets,
            wire_len: octets.len() as u32,
        });
        self.drain();
        let held = self.number as usize - self.told.len();
        self.most_held = self.most_held.max(held);
    }

    fn drain(&mut self) {
        while let Some(told) = self.datagrams.poll_packet() {
            self.told.push(told);
        }
    }

    fn end(&mut self) {
        self.datagrams.handle_end();
        self.drain();
        assert!(self.datagrams.is_empty());
        let numbers: Vec<u64> = self.told.iter().map(|told| told.number).collect();
        let all: Vec<u64> = (1..=self.number).collect();
        assert_eq!(numbers, all, "each once, in order");
    }

    fn of(packets: &[Vec<u8>]) -> Self {
        let mut capture = Self::default();
        for (index, octets) in packets.iter().enumerate() {
            capture.take(at(index as u64), octets);
        }
        capture.end();
        capture
    }

    /// Number, payload and kind of every segment.
    fn segments(&self) -> Vec<(u64, u32, Fragmentation)> {
        let segments = self.told.iter().filter_map(|told| {
            let segment = told.found.ok()??;
            assert_eq!(segment.at, told.at, "told at the time of its packet");
            Some((told.number, segment.payload_len, segment.fragmentation))
        });
        segments.collect()
    }

    /// Irregular fragments: of which packet, and their number.
    fn odd(&mut self) -> BTreeMap<String, (u64, u32)> {
        let mut all = BTreeMap::new();
        while let Some(odd) = self.datagrams.poll_odd() {
            let name = format!("{:?}", odd.what);
            assert!(all.insert(name, (odd.number, odd.count)).is_none(), "twice");
        }
        all
    }
}

fn named(odd: &[(FragmentIssue, u64, u32)]) -> BTreeMap<String, (u64, u32)> {
    let named = odd
        .iter()
        .map(|(what, number, count)| (format!("{what:?}"), (*number, *count)));
    named.collect()
}

#[test]
fn a_segment_in_fragments_is_there_with_the_last_of_them() {
    let [a, b, c] =
        <[Vec<u8>; 3]>::try_from(cut(&packet(V4, 1, 3000, 5), 5, &[1480, 2960])).unwrap();
    let mut capture = Capture::of(&[b, packet(V4, 9001, 100, 6), a, c, packet(V4, 9101, 100, 7)]);
    let whole = Fragmentation::Whole;
    let expected = [
        (2, 100, whole),
        (4, 3000, Fragmentation::Reassembled),
        (5, 100, whole),
    ];
    assert_eq!(capture.segments(), expected);
    assert!(capture.odd().is_empty());
}

#[test]
fn a_first_fragment_alone_is_what_it_holds_in_its_place() {
    let parts = cut(&packet(V4, 1, 3000, 5), 5, &[1480, 2960]);
    let (before, after) = (packet(V4, 8901, 100, 4), packet(V4, 9001, 100, 6));
    let mut capture = Capture::of(&[before, parts[0].clone(), after, parts[1].clone()]);
    let (whole, first) = (Fragmentation::Whole, Fragmentation::First);
    assert_eq!(
        capture.segments(),
        [(1, 100, whole), (2, 1448, first), (3, 100, whole)]
    );
    let odd = [
        (FragmentIssue::FirstAlone, 2, 1),
        (FragmentIssue::WithoutHeader, 4, 1),
    ];
    assert_eq!(capture.odd(), named(&odd));
}

#[test]
fn fragments_without_the_first_are_counted() {
    let parts = cut(&packet(V6, 1, 3000, 5), 5, &[1480, 2960]);
    let mut capture = Capture::of(&parts[1..]);
    assert_eq!(capture.segments(), []);
    assert_eq!(
        capture.odd(),
        named(&[(FragmentIssue::WithoutHeader, 1, 2)])
    );
}

#[test]
fn a_header_in_two_fragments_of_which_one_is_missing_is_none() {
    let parts = cut(&packet(V4, 1, 3000, 5), 5, &[8, 1480]);
    let mut capture = Capture::of(&[parts[0].clone(), parts[2].clone()]);
    assert_eq!(capture.segments(), []);
    assert_eq!(
        capture.odd(),
        named(&[(FragmentIssue::WithoutHeader, 1, 2)])
    );
    assert_eq!(
        Capture::of(&parts).segments(),
        [(3, 3000, Fragmentation::Reassembled)]
    );
}

#[test]
fn what_contradicts_is_not_put_together() {
    let parts = cut(&packet(V4, 1, 3000, 5), 5, &[1480]);
    let other = cut(&packet(V4, 1, 3000, 5), 5, &[1400]);
    let mut capture = Capture::of(&[parts[0].clone(), other[1].clone(), parts[1].clone()]);
    assert_eq!(capture.segments(), [(1, 1448, Fragmentation::First)]);
    let mut found = Vec::new();
    while let Some(odd) = capture.datagrams.poll_odd() {
        found.push((odd.what, odd.number, odd.count));
    }
    found.sort_by_key(|odd| odd.1);
    let expected = [
        (FragmentIssue::FirstAlone, 1, 1),
        (FragmentIssue::Contradiction, 2, 1),
        (FragmentIssue::WithoutHeader, 2, 1),
        (FragmentIssue::WithoutHeader, 3, 1),
    ];
    assert_eq!(found.len(), expected.len());
    assert!(expected.iter().all(|odd| found.contains(odd)), "{found:?}");
}

#[test]
fn no_more_is_held_than_is_promised_and_no_longer() {
    let parts = cut(&packet(V4, 1, 3000, 5), 5, &[1480]);
    let mut capture = Capture::default();
    capture.take(at(0), &parts[0]);
    for index in 0..2 * MAX_HELD as u32 {
        capture.take(at(1), &packet(V4, 9001 + index, 1, 6));
    }
    assert!(capture.most_held <= MAX_HELD, "{}", capture.most_held);
    assert!(capture.datagrams.is_empty());
    assert_eq!(capture.odd(), named(&[(FragmentIssue::FirstAlone, 1, 1)]));

    // A minute later it is known that nothing comes.
    let mut capture = Capture::default();
    capture.take(at(0), &parts[0]);
    capture.take(at(60_000_000), &packet(V4, 9001, 1, 6));
    assert_eq!(capture.told.len(), 0);
    capture.take(at(60_000_001), &packet(V4, 9002, 1, 6));
    assert_eq!(capture.told.len(), 3);
}

#[test]
fn first_fragments_without_end_cost_no_more_than_promised() {
    let mut capture = Capture::default();
    for ident in 0..3 * MAX_HELD as u32 {
        let parts = cut(&packet(V4, 1, 3000, 5), ident, &[1480]);
        capture.take(at(u64::from(ident)), &parts[0]);
    }
    assert!(capture.most_held <= 257, "{}", capture.most_held);
    capture.end();
    assert_eq!(capture.segments().len(), 3 * MAX_HELD);
}

#[test]
fn a_packet_that_is_no_tcp_stays_in_its_place() {
    let parts = cut(&packet(V4, 1, 3000, 5), 5, &[1480]);
    let mut udp = packet(V4, 1, 10, 6);
    udp[9] = 17;
    let capture = Capture::of(&[parts[0].clone(), udp, parts[1].clone()]);
    let found = capture.told.iter().map(|told| told.found.err());
    let not_tcp = Some(DissectError::NotTcp { protocol: 17 });
    assert_eq!(found.collect::<Vec<_>>(), [None, not_tcp, None]);
}

/// Manner of sending a packet: length, cuts, order of the parts, duplicated parts.
type Sending = (usize, Vec<usize>, Vec<u32>, Vec<bool>);

fn sending() -> impl Strategy<Value = Sending> {
    let cuts = prop::collection::btree_set(1_usize..370, 0..6);
    let order = prop::collection::vec(any::<u32>(), 7);
    let twice = prop::collection::vec(any::<bool>(), 7);
    (0_usize..3000, cuts, order, twice).prop_map(|(len, cuts, order, twice)| {
        // TCP's header and its timestamps stand before the payload.
        let places = cuts.into_iter().map(|word| 8 * word);
        let within = places.filter(|place| *place < len + 32).collect();
        (len, within, order, twice)
    })
}

proptest! {
    #[test]
    fn any_segments_in_any_fragments_make_the_connection_of_the_whole_ones(
        sendings in prop::collection::vec(sending(), 1..12),
        is_v6 in any::<bool>(),
        side_by_side in any::<bool>(),
    ) {
        let endpoints = if is_v6 { V6 } else { V4 };
        let mut capture = Capture::default();
        let mut whole = FlowTable::new(1);
        let mut seq = 1_u32;
        let mut queues: Vec<(Vec<u8>, Vec<Vec<u8>>)> = Vec::new();
        for (index, (len, cuts, order, twice)) in sendings.iter().enumerate() {
            let octets = packet(endpoints, seq, *len, index as u16);
            seq = seq.wrapping_add(*len as u32);
            let parts = if cuts.is_empty() {
                vec![octets.clone()]
            } else {
                cut(&octets, index as u32, cuts)
            };
            let mut places: Vec<usize> = (0..parts.len()).collect();
            places.sort_by_key(|place| order[*place]);
            let last = places.len() - 1;
            let mut sent = Vec::new();
            for (nth, place) in places.iter().enumerate() {
                sent.push(parts[*place].clone());
                // One that comes again when all are there begins another packet.
                if nth < last && twice[nth] {
                    sent.push(parts[*place].clone());
                }
            }
            queues.push((octets, sent));
        }
        let mut now = 0;
        let mut completed = Vec::new();
        while queues.iter().any(|(_, sent)| !sent.is_empty()) {
            for (octets, sent) in &mut queues {
                let count = if side_by_side { 1.min(sent.len()) } else { sent.len() };
                for part in sent.drain(..count).collect::<Vec<_>>() {
                    now += 10;
                    capture.take(at(now), &part);
                    if sent.is_empty() {
                        completed.retain(|(before, _)| before != octets);
                        completed.push((octets.clone(), now));
                    }
                }
            }
        }
        capture.end();
        for (octets, when) in &completed {
            let segment = dissect(LinkType::RAW, octets, octets.len() as u32).unwrap();
            whole.handle_packet(&Observed::new(at(*when), &segment));
        }
        let mut parts = FlowTable::new(1);
        for told in &capture.told {
            if let Some(segment) = told.found.unwrap() {
                parts.handle_packet(&segment);
            }
        }
        let of = |table: &FlowTable| {
            let connections = table.connections();
            connections.map(|connection| format!("{connection:?}")).collect::<Vec<_>>()
        };
        prop_assert_eq!(of(&parts), of(&whole));
        while let Some(odd) = capture.datagrams.poll_odd() {
            prop_assert_eq!(odd.what, FragmentIssue::Twice);
        }
    }
}
