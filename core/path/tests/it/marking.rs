//! Marking instead of dropping: affected wire packets, their number, and absence of side effects.

use std::collections::VecDeque;

use gigatcp_path::{DropCause, Hop, HopConfig, LossModel, MarkAbove, Parcel, Release};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::prelude::*;

/// Equal wire packets of 1000 octets with one ECN field: none, capable, marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ect {
    first: u64,
    count: usize,
    field: Field,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    None,
    Capable,
    Marked,
}

const SIZE: u64 = 1000;

impl Parcel for Ect {
    fn wire_packets(&self) -> usize {
        self.count
    }

    fn ip_bytes(&self) -> u64 {
        self.count as u64 * SIZE
    }

    fn leading_ip_bytes(&self) -> u64 {
        SIZE
    }

    fn split_front(&mut self, n: usize) -> Self {
        let front = Self { count: n, ..*self };
        self.first += n as u64;
        self.count -= n;
        front
    }

    fn is_markable(&self) -> bool {
        self.field == Field::Capable
    }

    fn try_mark(&mut self) -> bool {
        let is_new = self.is_markable();
        if is_new {
            self.field = Field::Marked;
        }
        is_new
    }

    fn try_bleach(&mut self) -> bool {
        std::mem::replace(&mut self.field, Field::None) != Field::None
    }
}

fn parcel(first: u64, count: usize, field: Field) -> Ect {
    Ect {
        first,
        count,
        field,
    }
}

/// A link that needs one microsecond per packet.
fn link() -> HopConfig {
    HopConfig {
        name: "link".into(),
        rate: Some(Rate::from_bps(8_000_000_000)),
        ..HopConfig::default()
    }
}

fn marking(mark_above: MarkAbove) -> HopConfig {
    HopConfig {
        mark_above: Some(mark_above),
        ..link()
    }
}

/// Every wire packet that came out, in order, with its number and field.
fn run(config: HopConfig, arrivals: &[(u64, Ect)]) -> (Vec<(u64, Field)>, Hop<Ect>) {
    let mut hop = Hop::new(config, 5).unwrap();
    let mut out = Vec::new();
    let mut arrivals: VecDeque<_> = arrivals.iter().copied().collect();
    loop {
        let due = hop.poll_timeout().unwrap_or(Instant::FAR_FUTURE);
        let next = arrivals.front().map(|(ns, _)| Instant::from_nanos(*ns));
        let now = due.min(next.unwrap_or(Instant::FAR_FUTURE));
        if now == Instant::FAR_FUTURE {
            return (out, hop);
        }
        while let Some(parcel) = hop.poll_delivery(now) {
            out.extend((0..parcel.count as u64).map(|n| (parcel.first + n, parcel.field)));
        }
        if next == Some(now) {
            let (_, parcel) = arrivals.pop_front().unwrap();
            hop.handle_arrival(now, parcel);
            while hop.poll_dropped().is_some() {}
        }
        assert!(hop.counters().is_conserved());
    }
}

fn marked(out: &[(u64, Field)]) -> Vec<u64> {
    let marked = out.iter().filter(|(_, field)| *field == Field::Marked);
    marked.map(|(number, _)| *number).collect()
}

#[test]
fn what_finds_more_than_the_threshold_is_marked_and_nothing_is_lost() {
    let thresholds = [
        MarkAbove::Bytes(Bytes::new(3000)),
        MarkAbove::Packets(3),
        // Of packets 0, 1, 2, ... the n-th waits n microseconds.
        MarkAbove::Sojourn(Duration::from_micros(2)),
    ];
    for threshold in thresholds {
        let (out, hop) = run(marking(threshold), &[(0, parcel(0, 8, Field::Capable))]);
        assert_eq!(marked(&out), [3, 4, 5, 6, 7], "{threshold:?}");
        assert_eq!(out.len(), 8);
        let counters = hop.counters();
        assert_eq!(
            (counters.marked.packets, counters.marked.bytes),
            (5, Bytes::new(5000))
        );
        assert!(counters.drops.total().is_zero());
    }
}

#[test]
fn packets_that_speak_no_ecn_are_neither_marked_nor_split() {
    let config = HopConfig {
        release: Release::Whole,
        ..marking(MarkAbove::Packets(1))
    };
    let mut hop = Hop::new(config, 5).unwrap();
    hop.handle_arrival(Instant::ZERO, parcel(0, 8, Field::None));
    let whole = hop.poll_delivery(Instant::from_nanos(8000));
    assert_eq!(whole, Some(parcel(0, 8, Field::None)));
    assert!(hop.counters().marked.is_zero());
}

#[test]
fn a_super_packet_is_split_only_where_the_threshold_lies() {
    let config = HopConfig {
        release: Release::Whole,
        ..marking(MarkAbove::Packets(5))
    };
    let mut hop = Hop::new(config, 5).unwrap();
    hop.handle_arrival(Instant::ZERO, parcel(0, 8, Field::Capable));
    let later = Instant::from_nanos(8000);
    assert_eq!(hop.poll_delivery(later), Some(parcel(0, 5, Field::Capable)));
    assert_eq!(hop.poll_delivery(later), Some(parcel(5, 3, Field::Marked)));
    assert_eq!(hop.poll_delivery(later), None);
}

#[test]
fn what_finds_no_room_counts_as_dropped_and_not_as_marked() {
    let config = HopConfig {
        limit_packets: Some(6),
        ..marking(MarkAbove::Packets(2))
    };
    let (out, hop) = run(config, &[(0, parcel(0, 10, Field::Capable))]);
    assert_eq!(marked(&out), [2, 3, 4, 5]);
    let counters = hop.counters();
    assert_eq!(
        (
            counters.marked.packets,
            counters.drops[DropCause::QueueFull].packets
        ),
        (4, 4)
    );
}

#[test]
fn a_bleaching_hop_clears_marks_and_counts_them_and_then_marks_nothing() {
    let config = HopConfig {
        ecn_bleach: true,
        ..marking(MarkAbove::Packets(1))
    };
    let arrivals = [
        (0, parcel(0, 3, Field::Marked)),
        (0, parcel(3, 3, Field::Capable)),
        (0, parcel(6, 3, Field::None)),
    ];
    let (out, hop) = run(config, &arrivals);
    assert!(out.iter().all(|(_, field)| *field == Field::None));
    assert_eq!(hop.counters().bleached.packets, 6);
    assert!(hop.counters().marked.is_zero());
}

#[test]
fn the_random_mark_has_its_own_stream_and_its_own_share() {
    let chance = |p: f64| Some(Probability::try_new(p).unwrap());
    let lossy = HopConfig {
        loss: vec![LossModel::Bernoulli(Probability::try_new(0.05).unwrap())],
        ..link()
    };
    let both = HopConfig {
        mark: chance(0.1),
        ..lossy.clone()
    };
    let arrivals: Vec<_> = (0..1000)
        .map(|n| (n * 50_000, parcel(n * 45, 45, Field::Capable)))
        .collect();
    let (lost_only, _) = run(lossy, &arrivals);
    let (out, hop) = run(both, &arrivals);
    let numbers = |out: &[(u64, Field)]| out.iter().map(|(n, _)| *n).collect::<Vec<_>>();
    assert_eq!(numbers(&lost_only), numbers(&out), "marks shift no loss");
    let share = marked(&out).len() as f64 / out.len() as f64;
    // Four standard deviations of a binomial share at n = 42,750.
    assert!((share - 0.1).abs() < 0.006, "{share}");
    assert_eq!(hop.counters().marked.packets, marked(&out).len() as u64);
}

fn threshold() -> impl Strategy<Value = MarkAbove> {
    prop_oneof![
        (0..30_000_u64).prop_map(|n| MarkAbove::Bytes(Bytes::new(n))),
        (0..30_u64).prop_map(MarkAbove::Packets),
        (0..30_000_u64).prop_map(|ns| MarkAbove::Sojourn(Duration::from_nanos(ns))),
    ]
}

proptest! {
    /// Plain model: each wire packet alone against the queue it finds.
    #[test]
    fn super_packets_are_marked_as_their_wire_packets_alone_would_be(
        threshold in threshold(),
        limit in proptest::option::of(1..40_u64),
        parcels in proptest::collection::vec((0..60_000_u64, 1..46_usize, 0..3_u8), 1..30),
        whole in any::<bool>(),
    ) {
        let (mut ns, mut first) = (0, 0);
        let arrivals: Vec<_> = parcels.into_iter().map(|(gap, count, field)| {
            ns += gap;
            let field = [Field::None, Field::Capable, Field::Marked][usize::from(field)];
            let parcel = parcel(first, count, field);
            first += count as u64;
            (ns, parcel)
        }).collect();
        let alone: Vec<_> = arrivals.iter().flat_map(|&(ns, whole)| {
            (0..whole.count as u64).map(move |n| (ns, parcel(whole.first + n, 1, whole.field)))
        }).collect();
        let config = HopConfig { limit_packets: limit, ..marking(threshold) };
        let release = if whole { Release::Whole } else { Release::PerPacket };
        let (together, hop) = run(HopConfig { release, ..config.clone() }, &arrivals);
        let (apart, reference) = run(config, &alone);
        prop_assert_eq!(together, apart);
        prop_assert_eq!(hop.counters(), reference.counters());
    }
}
