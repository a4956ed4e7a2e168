//! A path that is polled late: results inside do not change.

#[allow(dead_code, reason = "each test file uses its part")]
mod common;

use common::{Made, make};
use gigatcp_emulate::Packet;
use gigatcp_path::{
    Delivery, HopConfig, LossModel, Network, NetworkConfig, Parcel, Release, Reorder,
};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::prelude::*;

/// Three hops that queue, delay, lose, reorder and duplicate.
fn hops(release: Release) -> [HopConfig; 3] {
    let chance = |p| Probability::try_new(p).unwrap();
    let first = HopConfig {
        name: "first".into(),
        rate: Some(Rate::from_bps(400_000_000)),
        limit_bytes: Some(Bytes::new(90_000)),
        one_way_delay: Duration::from_micros(300),
        release,
        ..HopConfig::default()
    };
    let second = HopConfig {
        name: "second".into(),
        rate: Some(Rate::from_bps(300_000_000)),
        limit_packets: Some(40),
        loss: vec![LossModel::Bernoulli(chance(0.05))],
        reorder: Some(Reorder {
            probability: chance(0.05),
            extra_delay: Duration::from_micros(200),
        }),
        release,
        ..HopConfig::default()
    };
    let third = HopConfig {
        name: "third".into(),
        one_way_delay: Duration::from_micros(50),
        hold_limit: Some(12),
        duplicate: Some(chance(0.02)),
        release,
        ..HopConfig::default()
    };
    [first, second, third]
}

fn path(release: Release) -> Network<Packet> {
    let config = NetworkConfig::path(hops(release).into(), Vec::new());
    Network::new(config.last_link_first(), 5).unwrap()
}

/// Polls all deliveries due by `now`.
fn poll(path: &mut Network<Packet>, now: Instant, into: &mut Vec<(Instant, usize, u64)>) {
    while let Some(Delivery { due, parcel }) = path.poll_delivery(now) {
        assert!(due <= now);
        into.push((due, parcel.wire_packets(), parcel.ip_bytes()));
    }
    while path.poll_dropped().is_some() {}
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(100)
    })]

    #[test]
    fn who_polls_late_gets_what_who_polls_in_time_gets(
        arrivals in prop::collection::vec((0..400_000_u64, 1..40_000_usize), 1..60),
    ) {
        let (mut in_time, mut late) = (path(Release::PerPacket), path(Release::PerPacket));
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let mut now = Instant::ZERO;
        for (gap, len) in arrivals {
            now += Duration::from_nanos(gap);
            while let Some(due) = in_time.poll_timeout().filter(|due| *due <= now) {
                poll(&mut in_time, due, &mut one);
            }
            poll(&mut late, now, &mut other);
            let packet = make(&Made { len, ..Made::default() });
            in_time.handle_arrival(now, packet.clone());
            late.handle_arrival(now, packet);
        }
        poll(&mut in_time, Instant::FAR_FUTURE, &mut one);
        poll(&mut late, Instant::FAR_FUTURE, &mut other);
        prop_assert_eq!(one, other);
        for (one, other) in in_time.links().iter().zip(late.links()) {
            prop_assert_eq!(one.counters(), other.counters());
            prop_assert!(one.counters().is_conserved());
        }
    }

    #[test]
    fn super_segments_that_stay_together_are_counted_hop_by_hop(
        lens in prop::collection::vec(1..60_000_usize, 1..40),
        grain_us in 0..500_u64,
    ) {
        let mut path = path(Release::Within(Duration::from_micros(grain_us)));
        let mut delivered = Vec::new();
        let mut now = Instant::ZERO;
        for len in lens {
            now += Duration::from_micros(700);
            poll(&mut path, now, &mut delivered);
            path.handle_arrival(now, make(&Made { len, ..Made::default() }));
        }
        poll(&mut path, Instant::FAR_FUTURE, &mut delivered);
        // The last link comes first.
        let hops = path.links();
        for pair in hops.windows(2) {
            prop_assert_eq!(pair[1].counters().delivered, pair[0].counters().arrived);
        }
        prop_assert!(hops.iter().all(|hop| hop.counters().inside.is_zero()));
        let packets: usize = delivered.iter().map(|(_, packets, _)| packets).sum();
        let bytes: u64 = delivered.iter().map(|(_, _, bytes)| bytes).sum();
        let out = hops[0].counters().delivered;
        prop_assert_eq!((out.packets, out.bytes.as_u64()), (packets as u64, bytes));
    }
}
