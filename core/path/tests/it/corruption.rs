//! Corruption: affected wire packets, their number, and absence of side effects.

use gigatcp_path::{GilbertElliott, Hop, HopConfig, LossModel, Parcel, Release};
use gigatcp_units::{Duration, Instant, Probability, Rate};

/// Equal wire packets of 1000 bytes, intact or corrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fragile {
    first: u64,
    count: usize,
    is_corrupted: bool,
}

impl Parcel for Fragile {
    fn wire_packets(&self) -> usize {
        self.count
    }

    fn ip_bytes(&self) -> u64 {
        1000 * self.count as u64
    }

    fn leading_ip_bytes(&self) -> u64 {
        1000
    }

    fn split_front(&mut self, n: usize) -> Self {
        let front = Self { count: n, ..*self };
        self.first += n as u64;
        self.count -= n;
        front
    }

    fn try_corrupt(&mut self) -> bool {
        assert_eq!(self.count, 1, "damage is done to single wire packets");
        !std::mem::replace(&mut self.is_corrupted, true)
    }
}

fn chance(p: f64) -> Probability {
    Probability::try_new(p).unwrap()
}

fn link(corrupt: Vec<LossModel>, release: Release) -> HopConfig {
    HopConfig {
        name: "radio".into(),
        rate: Some(Rate::from_bps(100_000_000)),
        one_way_delay: Duration::from_millis(5),
        corrupt,
        release,
        ..HopConfig::default()
    }
}

/// Every wire packet that comes out: number, time, and whether it is corrupted.
fn carry(
    config: HopConfig,
    packets: u64,
    at_once: usize,
) -> (Vec<(u64, Instant, bool)>, Hop<Fragile>) {
    let mut hop = Hop::new(config, 1).unwrap();
    let mut out = Vec::new();
    for first in (0..packets).step_by(at_once) {
        let parcel = Fragile {
            first,
            count: at_once,
            is_corrupted: false,
        };
        hop.handle_arrival(Instant::ZERO, parcel);
    }
    while let Some(due) = hop.poll_timeout() {
        while let Some(parcel) = hop.poll_delivery(due) {
            let numbers = parcel.first..parcel.first + parcel.count as u64;
            out.extend(numbers.map(|number| (number, due, parcel.is_corrupted)));
        }
    }
    (out, hop)
}

#[test]
fn what_is_damaged_arrives_in_its_place_and_nothing_else_is_touched() {
    for release in [Release::PerPacket, Release::Whole] {
        let (plain, _) = carry(link(Vec::new(), release), 640, 64);
        let listed = vec![LossModel::Listed(vec![2, 3, 130])];
        let (damaged, hop) = carry(link(listed, release), 640, 64);
        let numbers = |out: &[(u64, Instant, bool)]| {
            out.iter().map(|delivery| delivery.0).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&plain), numbers(&damaged));
        let corrupted = damaged
            .iter()
            .filter(|delivery| delivery.2)
            .map(|delivery| delivery.0);
        assert_eq!(corrupted.collect::<Vec<_>>(), [1, 2, 129]);
        if release == Release::PerPacket {
            let times = |out: &[(u64, Instant, bool)]| {
                out.iter().map(|delivery| delivery.1).collect::<Vec<_>>()
            };
            assert_eq!(times(&plain), times(&damaged));
        }
        let counters = hop.counters();
        assert_eq!(counters.corrupted.packets, 3);
        assert_eq!(counters.delivered.packets, 640);
        assert!(counters.drops.total().is_zero() && counters.is_conserved());
    }
}

/// Expected: 1 % of 100,000, a binomial whose standard deviation is 31.5.
#[test]
fn the_share_is_the_one_that_was_requested_and_losses_are_not_shifted_by_it() {
    let random = LossModel::Bernoulli(chance(0.01));
    let (out, hop) = carry(link(vec![random.clone()], Release::PerPacket), 100_000, 1);
    let damaged = hop.counters().corrupted.packets;
    assert!(damaged.abs_diff(1000) < 5 * 32, "{damaged}");
    assert_eq!(
        out.iter().filter(|delivery| delivery.2).count() as u64,
        damaged
    );
    let lossy = |corrupt| HopConfig {
        loss: vec![random.clone()],
        ..link(corrupt, Release::PerPacket)
    };
    let numbers = |config| -> Vec<u64> {
        carry(config, 20_000, 1)
            .0
            .iter()
            .map(|delivery| delivery.0)
            .collect()
    };
    let chain = GilbertElliott::of_bursts(chance(0.02), 4.0).unwrap();
    let corrupt = vec![random.clone(), LossModel::GilbertElliott(chain)];
    assert_eq!(numbers(lossy(Vec::new())), numbers(lossy(corrupt)));
}

#[test]
fn a_copy_is_made_before_the_damage() {
    let config = HopConfig {
        duplicate: Some(chance(1.0)),
        ..link(vec![LossModel::Periodic { every: 1 }], Release::PerPacket)
    };
    let (out, hop) = carry(config, 3, 3);
    let seen: Vec<(u64, bool)> = out
        .iter()
        .map(|delivery| (delivery.0, delivery.2))
        .collect();
    let pairs = (0..3).flat_map(|n| [(n, true), (n, false)]);
    assert_eq!(seen, pairs.collect::<Vec<_>>());
    assert_eq!(hop.counters().corrupted.packets, 3);
    assert_eq!(hop.counters().duplicated.packets, 3);
}
