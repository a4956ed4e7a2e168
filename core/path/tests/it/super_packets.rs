//! Super-packets through every discipline that decides per wire packet: each has the same outcome
//! as alone.

use crate::common::Numbered;
use gigatcp_path::queue::{self, QueueConfig, Settings, Value};
use gigatcp_path::{Counters, DropCause, Hop, HopConfig, Parcel, Release};
use gigatcp_units::{Duration, Instant, Rate};
use proptest::prelude::*;

/// The ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// Wire packets of one flow, all with the same ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Super {
    packets: Numbered,
    flow: u32,
    field: Field,
}

impl Super {
    /// Its wire packets, each as a parcel.
    fn singles(self) -> impl Iterator<Item = Self> {
        let singles = self.packets.singles();
        singles.map(move |packets| Self { packets, ..self })
    }
}

impl Parcel for Super {
    fn wire_packets(&self) -> usize {
        self.packets.wire_packets()
    }

    fn ip_bytes(&self) -> u64 {
        self.packets.ip_bytes()
    }

    fn leading_ip_bytes(&self) -> u64 {
        self.packets.leading_ip_bytes()
    }

    fn split_front(&mut self, n: usize) -> Self {
        let packets = self.packets.split_front(n);
        Self { packets, ..*self }
    }

    fn flow(&self) -> u32 {
        self.flow
    }

    fn is_l4s(&self) -> bool {
        matches!(self.field, Field::Ect1 | Field::Ce)
    }

    fn is_markable(&self) -> bool {
        matches!(self.field, Field::Ect0 | Field::Ect1)
    }

    fn try_mark(&mut self) -> bool {
        let is_new = self.is_markable();
        if is_new {
            self.field = Field::Ce;
        }
        is_new
    }

    const JOINS: bool = true;

    fn join(&mut self, next: &Self) {
        assert_eq!((self.flow, self.field), (next.flow, next.field));
        self.packets.join(&next.packets);
    }
}

/// Every discipline except the plain FIFOs, with settings for short queues.
fn disciplines() -> [(&'static str, Vec<(&'static str, Value)>); 6] {
    let ms = |ms| Value::Time(Duration::from_millis(ms));
    [
        (
            "step",
            vec![("packets", Value::Count(9)), ("ce_threshold", ms(3))],
        ),
        (
            "red",
            vec![
                ("min", Value::Count(3)),
                ("max", Value::Count(30)),
                ("weight", Value::Number(0.2)),
                ("maxp", Value::Number(0.2)),
                ("gentle", Value::Flag(true)),
                ("ecn", Value::Flag(true)),
            ],
        ),
        (
            "codel",
            vec![
                ("target", ms(1)),
                ("interval", ms(3)),
                ("ecn", Value::Flag(true)),
            ],
        ),
        ("fq_codel", vec![("target", ms(1)), ("interval", ms(3))]),
        (
            "pie",
            vec![
                ("target", ms(1)),
                ("tupdate", ms(1)),
                ("alpha", Value::Number(20.0)),
                ("beta", Value::Number(200.0)),
                ("max_burst", ms(0)),
                ("ecn", Value::Flag(true)),
            ],
        ),
        (
            "dualpi2",
            vec![
                ("target", ms(1)),
                ("tupdate", ms(1)),
                ("alpha", Value::Number(10.0)),
                ("beta", Value::Number(100.0)),
            ],
        ),
    ]
}

/// A link of 100 Mbit/s: 120 us for 1500 bytes.
fn link(name: &str, set: &[(&str, Value)], limit: u64, release: Release) -> HopConfig {
    let discipline = queue::find(name).unwrap();
    let mut settings = Settings::new();
    for (name, value) in set {
        settings.set(discipline.parameters, name, *value).unwrap();
    }
    HopConfig {
        name: "link".into(),
        rate: Some(Rate::from_bps(100_000_000)),
        limit_packets: Some(limit),
        queue: QueueConfig {
            discipline,
            settings,
            ..QueueConfig::default()
        },
        release,
        ..HopConfig::default()
    }
}

/// Outcome of each wire packet.
#[derive(Default)]
struct Outcome {
    /// In the order of delivery: time, number, ECN field.
    delivered: Vec<(Instant, u64, Field)>,
    /// In the order of the drops.
    dropped: Vec<(u64, DropCause)>,
    counters: Counters,
}

impl Outcome {
    /// Delivered wire packets, without times.
    fn fields(&self) -> Vec<(u64, Field)> {
        let mut fields: Vec<_> = self
            .delivered
            .iter()
            .map(|delivery| (delivery.1, delivery.2))
            .collect();
        fields.sort_unstable_by_key(|delivery| delivery.0);
        fields
    }

    fn collect(&mut self, hop: &mut Hop<Super>, until: Instant) {
        while let Some(now) = hop.poll_timeout().filter(|now| *now <= until) {
            while let Some(parcel) = hop.poll_delivery(now) {
                let numbers = parcel.packets.numbers();
                self.delivered
                    .extend(numbers.map(|n| (now, n, parcel.field)));
            }
            self.collect_dropped(hop);
        }
    }

    fn collect_dropped(&mut self, hop: &mut Hop<Super>) {
        while let Some((parcel, cause)) = hop.poll_dropped() {
            let numbers = parcel.packets.numbers();
            self.dropped.extend(numbers.map(|number| (number, cause)));
        }
    }
}

fn run(config: HopConfig, arrivals: impl IntoIterator<Item = (Instant, Super)>) -> Outcome {
    let mut hop = Hop::new(config, 3).unwrap();
    let mut outcome = Outcome::default();
    for (now, parcel) in arrivals {
        outcome.collect(&mut hop, now);
        hop.handle_arrival(now, parcel);
        outcome.collect_dropped(&mut hop);
    }
    outcome.collect(&mut hop, Instant::FAR_FUTURE);
    outcome.counters = *hop.counters();
    assert!(outcome.counters.is_conserved());
    outcome
}

/// Generates super-packets of 1 to 45 wire packets from three flows. Their rate is about that of
/// the link.
fn traffic() -> impl Strategy<Value = Vec<(Instant, Super)>> {
    let gap = prop_oneof![2 => Just(0), 8 => 0..5_000_000_u64];
    let parcel = (
        gap,
        1..46_usize,
        400..1501_u64,
        20..1501_u64,
        0..3_u32,
        0..4_usize,
    );
    proptest::collection::vec(parcel, 10..60).prop_map(|parcels| {
        let (mut ns, mut first) = (0, 0);
        let place = |(gap, count, size, last, flow, field): (u64, usize, u64, u64, u32, usize)| {
            ns += gap;
            let last = if count == 1 { size } else { last.min(size) };
            let fields = [Field::NotEct, Field::Ect0, Field::Ect1, Field::Ce];
            let packets = Numbered {
                first,
                count,
                size,
                last,
            };
            let parcel = Super {
                packets,
                flow,
                field: fields[field],
            };
            first += count as u64;
            (Instant::from_nanos(ns), parcel)
        };
        parcels.into_iter().map(place).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn wire_packets_of_super_packets_are_dropped_and_marked_as_they_would_be_alone(
        arrivals in traffic(),
        limit in prop_oneof![Just(50), Just(100_000), 2..200_u64],
    ) {
        for (name, set) in disciplines() {
            let link = |release| link(name, &set, limit, release);
            let singles = arrivals.iter().flat_map(|(now, parcel)| {
                parcel.singles().map(|single| (*now, single))
            });
            let alone = run(link(Release::PerPacket), singles);
            let cut = run(link(Release::PerPacket), arrivals.iter().copied());
            prop_assert_eq!(&cut.delivered, &alone.delivered, "{}", name);
            prop_assert_eq!(&cut.dropped, &alone.dropped, "{}", name);
            prop_assert_eq!(cut.counters, alone.counters, "{}", name);
            let whole = run(link(Release::Whole), arrivals.iter().copied());
            prop_assert_eq!(whole.fields(), alone.fields(), "{}", name);
            prop_assert_eq!(&whole.dropped, &alone.dropped, "{}", name);
            prop_assert_eq!(whole.counters, alone.counters, "{}", name);
        }
    }
}

/// Otherwise the property above would compare nothing.
#[test]
fn each_discipline_marks_or_drops_part_of_a_super_packet() {
    for (name, set) in disciplines() {
        let arrivals = (0..40).map(|n| {
            let parcel = Super {
                packets: Numbered {
                    first: 45 * n,
                    count: 45,
                    size: 1500,
                    last: 1500,
                },
                flow: 0,
                field: if n % 2 == 0 {
                    Field::NotEct
                } else {
                    Field::Ect0
                },
            };
            (Instant::from_nanos(4_500_000 * n), parcel)
        });
        let outcome = run(link(name, &set, 100_000, Release::Whole), arrivals);
        let dropped = outcome.dropped.len() as u64;
        let acted = dropped + outcome.counters.marked.packets;
        assert!((40..1700).contains(&acted), "{name}: {acted}");
    }
}
