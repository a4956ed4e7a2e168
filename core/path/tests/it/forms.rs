//! The two forms of a hop, compared packet by packet: random traffic through random
//! hops whose departures are known on arrival, and through the same hops when they
//! are not.

use crate::common::{Numbered, Outcome, run};
use gigatcp_path::{Hop, HopConfig, LossModel, MarkAbove, Release, Reorder};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn chance() -> impl Strategy<Value = Probability> {
    (0.0..0.3).prop_map(|p| Probability::try_new(p).unwrap())
}

fn threshold() -> impl Strategy<Value = MarkAbove> {
    prop_oneof![
        (0..60_000_u64).prop_map(|bytes| MarkAbove::Bytes(Bytes::new(bytes))),
        (0..60_u64).prop_map(MarkAbove::Packets),
        (0..60_000_u64).prop_map(|ns| MarkAbove::Sojourn(Duration::from_nanos(ns))),
    ]
}

prop_compose! {
    fn hop()(
        rate in option::of(prop_oneof![1_000_000..20_000_000_000_u64, Just(333_333_333)]),
        overhead in 0..100_u64,
        per_packet in prop_oneof![Just(0), 0..3_000_u64],
        delay in prop_oneof![Just(0), 0..20_000_u64],
        limits in (option::of(0..60_u64), option::of(0..60_000_u64), option::of(0..60_u64)),
        loss in option::of(chance()),
        reorder in option::of((chance(), 0..5_000_u64)),
        duplicate in option::of(chance()),
        mark_above in option::of(threshold()),
        mark in option::of(chance()),
    ) -> HopConfig {
        HopConfig {
            name: "hop".into(),
            rate: rate.map(Rate::from_bps),
            link_overhead: Bytes::new(overhead),
            per_packet: Duration::from_nanos(per_packet),
            one_way_delay: Duration::from_nanos(delay),
            limit_packets: limits.0,
            limit_bytes: limits.1.map(Bytes::new),
            hold_limit: limits.2,
            loss: loss.map(LossModel::Bernoulli).into_iter().collect(),
            reorder: reorder.map(|(probability, ns)| Reorder {
                probability,
                extra_delay: Duration::from_nanos(ns),
            }),
            duplicate,
            mark_above,
            mark,
            ..HopConfig::default()
        }
    }
}

/// Super-packets of 1 to 45 wire packets, back to back or with gaps.
fn traffic() -> impl Strategy<Value = Vec<(Instant, Numbered)>> {
    let gap = prop_oneof![Just(0), 0..30_000_u64];
    let parcel = (gap, 1..46_usize, 40..1501_u64, 20..1501_u64);
    vec(parcel, 1..40).prop_map(|parcels| {
        let (mut ns, mut first) = (0, 0);
        let place = |(gap, count, size, last): (u64, usize, u64, u64)| {
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
        parcels.into_iter().map(place).collect()
    })
}

/// Outcome of `arrivals`. If `changes`, the hop's rate and delay are set again halfway to the same
/// values.
fn through(
    mut hop: Hop<Numbered>,
    arrivals: &[(Instant, Numbered)],
    changes: bool,
) -> (Outcome, Hop<Numbered>) {
    if !changes {
        let outcome = run(&mut hop, arrivals.iter().copied());
        return (outcome, hop);
    }
    let (before, after) = arrivals.split_at(arrivals.len() / 2);
    let mut outcome = Outcome::default();
    for (now, parcel) in before {
        outcome.collect_until(&mut hop, *now);
        hop.handle_arrival(*now, *parcel);
        outcome.collect_dropped(&mut hop);
    }
    if let Some((now, _)) = after.first() {
        outcome.collect_until(&mut hop, *now);
        let (rate, delay) = (hop.config().rate, hop.config().one_way_delay);
        hop.set_rate(*now, rate);
        hop.set_delay(*now, delay);
    }
    for (now, parcel) in after {
        outcome.collect_until(&mut hop, *now);
        hop.handle_arrival(*now, *parcel);
        outcome.collect_dropped(&mut hop);
        assert!(hop.counters().is_conserved());
    }
    outcome.collect_until(&mut hop, Instant::FAR_FUTURE);
    (outcome, hop)
}

proptest! {
    /// Compares verdicts, departures to the nanosecond, counters, and the busy time of the
    /// serializer.
    #[test]
    fn both_forms_do_the_same_packet_by_packet(hop in hop(), arrivals in traffic()) {
        let closed = Hop::new(hop.clone(), 7).unwrap();
        let (expected, closed) = through(closed, &arrivals, false);
        let open = Hop::changeable(hop.clone(), 7).unwrap();
        let (outcome, mut open) = through(open, &arrivals, false);
        prop_assert_eq!(&outcome, &expected);
        prop_assert_eq!(open.counters(), closed.counters());
        let end = Instant::from_nanos(1_000_000_000);
        prop_assert_eq!(open.busy_time(end), closed.busy_time(end));
        if !hop.never_queues() {
            let mut closed = closed;
            let (open, closed_form) = (open.sojourns(end).clone(), closed.sojourns(end));
            prop_assert_eq!(open.sum(), closed_form.sum());
            prop_assert_eq!(open.histogram(), closed_form.histogram());
        }
    }

    /// Compares both forms for super-packets that stay whole. Not with a hold limit or reordered
    /// packets: the closed form counts a super-packet until all of it has arrived. Not with marks:
    /// the closed form splits at marks even of a transport without ECN.
    #[test]
    fn both_forms_deliver_the_same_wire_packets_whole(hop in hop(), arrivals in traffic()) {
        let hop = HopConfig { release: Release::Whole, hold_limit: None, reorder: None, mark: None, mark_above: None, ..hop };
        let (expected, closed) = through(Hop::new(hop.clone(), 7).unwrap(), &arrivals, false);
        let (outcome, open) = through(Hop::changeable(hop, 7).unwrap(), &arrivals, false);
        prop_assert_eq!(outcome.delivered_packets(), expected.delivered_packets());
        prop_assert_eq!(open.counters(), closed.counters());
    }

    /// Switching from one form to the other while packets are inside changes nothing.
    #[test]
    fn a_change_to_what_is_changes_nothing(hop in hop(), arrivals in traffic()) {
        let hop = HopConfig { mark_above: None, ..hop };
        let (expected, _) = through(Hop::new(hop.clone(), 7).unwrap(), &arrivals, false);
        let (outcome, hop) = through(Hop::new(hop, 7).unwrap(), &arrivals, true);
        prop_assert_eq!(outcome.delivered_packets(), expected.delivered_packets());
        prop_assert_eq!(outcome.dropped, expected.dropped);
        prop_assert!(hop.counters().is_conserved());
    }
}
