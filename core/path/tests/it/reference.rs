//! Random traffic through random hops, compared with a plain model of the
//! same rules that keeps every wire packet in a list and searches it.

use crate::common::{Numbered, Outcome, run};
use gigatcp_path::{DropCause, Hop, HopConfig, LossModel, Release, Reorder};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn small_chance() -> impl Strategy<Value = Probability> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..0.3].prop_map(|p| Probability::try_new(p).unwrap())
}

fn loss() -> impl Strategy<Value = LossModel> {
    prop_oneof![
        small_chance().prop_map(LossModel::Bernoulli),
        (1..20_u64).prop_map(|every| LossModel::Periodic { every }),
        proptest::collection::btree_set(1..200_u64, 0..30)
            .prop_map(|set| LossModel::Listed(set.into_iter().collect())),
    ]
}

prop_compose! {
    fn link()(
        rate in option::of(prop_oneof![1_000_000..20_000_000_000_u64, Just(u64::MAX)]),
        overhead in 0..100_u64,
        per_packet in prop_oneof![Just(0), 0..3_000_u64],
        delay in prop_oneof![Just(0), 0..20_000_u64],
        limit_packets in option::of(0..60_u64),
        limit_bytes in option::of(0..60_000_u64),
        hold_limit in option::of(0..60_u64),
    ) -> HopConfig {
        HopConfig {
            name: "link".into(),
            rate: rate.map(Rate::from_bps),
            link_overhead: Bytes::new(overhead),
            per_packet: Duration::from_nanos(per_packet),
            one_way_delay: Duration::from_nanos(delay),
            limit_packets,
            limit_bytes: limit_bytes.map(Bytes::new),
            hold_limit,
            ..HopConfig::default()
        }
    }
}

prop_compose! {
    fn impaired()(
        link in link(),
        loss in vec(loss(), 0..3),
        reorder in option::of((small_chance(), 0..5_000_u64)),
        duplicate in option::of(small_chance()),
    ) -> HopConfig {
        HopConfig {
            loss,
            reorder: reorder.map(|(probability, ns)| Reorder {
                probability,
                extra_delay: Duration::from_nanos(ns),
            }),
            duplicate,
            ..link
        }
    }
}

/// Super-packets of 1 to 45 wire packets, back to back or with gaps.
fn traffic() -> impl Strategy<Value = Vec<(Instant, Numbered)>> {
    let gap = prop_oneof![Just(0), 0..30_000_u64];
    let parcel = (gap, 1..46_usize, 40..1501_u64, 20..1501_u64);
    vec(parcel, 1..40).prop_map(|parcels| {
        let (mut ns, mut first) = (0, 0);
        let mut place = |(gap, count, size, last): (u64, usize, u64, u64)| {
            ns += gap;
            let last = if count == 1 { size } else { last.min(size) };
            let parcel = Numbered {
                first,
                count,
                size,
                last,
            };
            first += count as u64;
            (Instant::from_nanos(ns), parcel)
        };
        parcels.into_iter().map(&mut place).collect()
    })
}

fn release() -> impl Strategy<Value = Release> {
    prop_oneof![
        Just(Release::PerPacket),
        Just(Release::Whole),
        (0..20_000_u64).prop_map(|ns| Release::Within(Duration::from_nanos(ns))),
    ]
}

fn singles(traffic: &[(Instant, Numbered)]) -> Vec<(Instant, Numbered)> {
    let alone =
        |&(now, parcel): &(Instant, Numbered)| parcel.singles().map(move |single| (now, single));
    traffic.iter().flat_map(alone).collect()
}

fn with_release(config: &HopConfig, release: Release) -> Hop<Numbered> {
    let config = HopConfig {
        release,
        ..config.clone()
    };
    Hop::new(config, 3).unwrap()
}

/// Plain model of the hop. Exact rational time in units of 1/rate nanosecond; every accepted packet
/// is kept indefinitely with its departure and its due time.
struct Plain<'a> {
    config: &'a HopConfig,
    free: u128,
    accepted: Vec<(Instant, Instant, u64)>,
}

impl Plain<'_> {
    fn unit(&self) -> u128 {
        self.config.rate.map_or(1, |rate| u128::from(rate.as_bps()))
    }

    fn service(&self, size: u64) -> u128 {
        let bits = u128::from(size + self.config.link_overhead.as_u64()) * 8;
        let at_rate = self.config.rate.map_or(0, |_| bits * 1_000_000_000);
        at_rate.max(u128::from(self.config.per_packet.as_nanos()) * self.unit())
    }

    fn arrive(&mut self, now: Instant, size: u64) -> Result<Instant, DropCause> {
        let inside = self.accepted.iter().filter(|(_, due, _)| *due > now);
        if inside.count() as u64 >= self.config.hold_limit.unwrap_or(u64::MAX) {
            return Err(DropCause::HoldLimit);
        }
        let queued = self.accepted.iter().filter(|(gone, _, _)| *gone > now);
        let (packets, bytes) = queued.fold((0, 0), |(p, b), (_, _, size)| (p + 1, b + size));
        let byte_limit = self.config.limit_bytes.map_or(u64::MAX, Bytes::as_u64);
        if packets >= self.config.limit_packets.unwrap_or(u64::MAX) || bytes + size > byte_limit {
            return Err(DropCause::QueueFull);
        }
        let now = u128::from(now.as_nanos()) * self.unit();
        self.free = now.max(self.free) + self.service(size);
        let departure = Instant::from_nanos(self.free.div_ceil(self.unit()) as u64);
        let due = departure + self.config.one_way_delay;
        self.accepted.push((departure, due, size));
        Ok(due)
    }
}

/// Result of the plain model for wire packets that arrive one by one.
fn plain_outcome(config: &HopConfig, traffic: &[(Instant, Numbered)]) -> Outcome {
    let mut plain = Plain {
        config,
        free: 0,
        accepted: Vec::new(),
    };
    let mut outcome = Outcome::default();
    for (now, parcel) in singles(traffic) {
        match plain.arrive(now, parcel.size) {
            Ok(due) => outcome.delivered.push((due, parcel)),
            Err(cause) => outcome.dropped.push((parcel.first, cause)),
        }
    }
    outcome
}

/// Same configuration, without hold limit if the wire takes no time. There, packets are inside only
/// until the driver polls, which the plain model does not know.
fn without_hold_limit_on_a_bare_wire(mut config: HopConfig) -> HopConfig {
    if config.rate.is_none() && config.per_packet.is_zero() && config.one_way_delay.is_zero() {
        config.hold_limit = None;
    }
    config
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn a_clean_hop_agrees_with_the_plain_model(config in link(), traffic in traffic()) {
        let config = without_hold_limit_on_a_bare_wire(config);
        let mut hop = with_release(&config, Release::PerPacket);
        let outcome = run(&mut hop, traffic.clone());
        let plain = plain_outcome(&config, &traffic);
        prop_assert_eq!(outcome.delivered_packets(), plain.delivered_packets());
        prop_assert_eq!(outcome.dropped, plain.dropped);
    }

    #[test]
    fn nothing_appears_or_vanishes(
        config in impaired(),
        release in release(),
        traffic in traffic(),
    ) {
        let mut hop = with_release(&config, release);
        // `run` asserts conservation after every arrival.
        let outcome = run(&mut hop, traffic.clone());
        let counters = *hop.counters();
        prop_assert!(counters.is_conserved());
        prop_assert!(counters.inside.is_zero());
        prop_assert!(hop.backlog(Instant::FAR_FUTURE).is_zero());
        let sent: usize = traffic.iter().map(|(_, parcel)| parcel.count).sum();
        prop_assert_eq!(counters.arrived.packets, sent as u64);
        prop_assert_eq!(counters.drops.total().packets, outcome.dropped.len() as u64);
        let delivered = outcome.delivered_packets();
        prop_assert_eq!(counters.delivered.packets, delivered.len() as u64);
        prop_assert!(delivered.is_sorted_by_key(|(at, _)| *at));
    }

    #[test]
    fn a_super_packet_fares_as_its_wire_packets_alone(
        config in impaired(),
        traffic in traffic(),
    ) {
        let mut together = with_release(&config, Release::PerPacket);
        let mut alone = with_release(&config, Release::PerPacket);
        let one = run(&mut together, traffic.clone());
        let other = run_together(&mut alone, &traffic);
        prop_assert_eq!(&one.delivered, &other.delivered);
        prop_assert_eq!(&one.dropped, &other.dropped);
        prop_assert_eq!(together.counters(), alone.counters());
        let end = traffic.last().unwrap().0;
        prop_assert_eq!(together.busy_time(end), alone.busy_time(end));
        prop_assert_eq!(together.wait(end), alone.wait(end));
    }

    #[test]
    fn a_super_packet_kept_whole_loses_the_same_and_arrives_with_its_last(
        config in impaired(),
        traffic in traffic(),
    ) {
        let config = HopConfig { hold_limit: None, ..config };
        let mut whole = with_release(&config, Release::Whole);
        let mut cut = with_release(&config, Release::PerPacket);
        let one = run(&mut whole, traffic.clone());
        let other = run(&mut cut, traffic);
        prop_assert_eq!(&one.dropped, &other.dropped);
        prop_assert_eq!(whole.counters(), cut.counters());
        // A duplicate follows its original, so the n-th occurrence of a number is the same packet
        // in both.
        let ends = |outcome: &Outcome| {
            let mut ends: Vec<_> = outcome
                .delivered
                .iter()
                .map(|(at, parcel)| (parcel.first + parcel.count as u64 - 1, *at))
                .collect();
            ends.sort_unstable();
            ends
        };
        let cut_ends = ends(&other);
        for end in ends(&one) {
            prop_assert!(cut_ends.binary_search(&end).is_ok(), "{end:?} at no departure");
        }
    }

    #[test]
    fn a_super_packet_released_within_a_time_is_never_early_and_no_later_than_that(
        config in impaired(),
        longest in 0..20_000_u64,
        traffic in traffic(),
    ) {
        let config = HopConfig { hold_limit: None, ..config };
        let longest = Duration::from_nanos(longest);
        let mut within = with_release(&config, Release::Within(longest));
        let mut cut = with_release(&config, Release::PerPacket);
        let one = run(&mut within, traffic.clone());
        let other = run(&mut cut, traffic);
        prop_assert_eq!(&one.dropped, &other.dropped);
        prop_assert_eq!(within.counters(), cut.counters());
        let sorted = |outcome: &Outcome| {
            let mut packets = outcome.delivered_packets();
            packets.sort_unstable_by_key(|&(at, number)| (number, at));
            packets
        };
        for (one, other) in sorted(&one).into_iter().zip(sorted(&other)) {
            prop_assert_eq!(one.1, other.1);
            prop_assert!(one.0 >= other.0 && one.0 <= other.0 + longest, "{one:?} {other:?}");
        }
    }

    #[test]
    fn the_backlog_seen_at_any_time_is_that_of_the_plain_model(
        config in link(),
        traffic in traffic(),
        release in release(),
    ) {
        let config = HopConfig { hold_limit: None, ..config };
        let mut hop = with_release(&config, release);
        let mut plain = Plain { config: &config, free: 0, accepted: Vec::new() };
        for (now, parcel) in traffic {
            let departed = plain.accepted.iter().filter(|(gone, _, _)| *gone > now);
            let expected = departed.fold((0, 0), |(p, b), (_, _, size)| (p + 1, b + size));
            let backlog = hop.backlog(now);
            prop_assert_eq!((backlog.packets, backlog.bytes.as_u64()), expected);
            Outcome::default().collect_until(&mut hop, now);
            hop.handle_arrival(now, parcel);
            for one in parcel.singles() {
                let _verdict = plain.arrive(now, one.size);
            }
        }
    }
}

/// Sends the wire packets of each super-packet one by one. It polls only between super-packets, so
/// that all arrive together.
fn run_together(hop: &mut Hop<Numbered>, traffic: &[(Instant, Numbered)]) -> Outcome {
    let mut outcome = Outcome::default();
    for &(now, parcel) in traffic {
        outcome.collect_until(hop, now);
        for one in parcel.singles() {
            hop.handle_arrival(now, one);
        }
        outcome.collect_dropped(hop);
    }
    outcome.collect_until(hop, Instant::FAR_FUTURE);
    outcome
}
