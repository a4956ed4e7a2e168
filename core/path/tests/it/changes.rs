//! Reconfiguration of hops while packets are inside: every packet is accounted for, order holds,
//! and unchanged parts continue.

use std::collections::BTreeSet;

use crate::common::Numbered;
use gigatcp_path::queue::{self, QueueConfig, Settings, Value};
use gigatcp_path::{
    Aggregate, DropCause, Hop, HopConfig, Jitter, JitterLaw, LossModel, Parcel, Policer,
    RateSource, Reorder, Schedule, Shaper, Trace,
};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Numbered wire packets of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Train {
    packets: Numbered,
    flow: u32,
}

impl Train {
    fn one(number: u64, size: u64) -> Self {
        let packets = Numbered::one(number, size);
        Self { packets, flow: 0 }
    }
}

impl Parcel for Train {
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

    const JOINS: bool = true;

    fn join(&mut self, next: &Self) {
        self.packets.join(&next.packets);
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(time: Duration) -> Instant {
    Instant::ZERO + time
}

fn mbit(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// A discipline, with one class of 500 Mbit/s if it has classes.
fn queue(name: &str) -> QueueConfig {
    let discipline = queue::find(name).unwrap();
    let class = |parameters| {
        let mut class = Settings::new();
        class
            .set(parameters, "rate", Value::Rate(mbit(500)))
            .unwrap();
        class
    };
    let parameters = Some(discipline.class_parameters).filter(|known| !known.is_empty());
    QueueConfig {
        discipline,
        classes: parameters.map(class).into_iter().collect(),
        ..QueueConfig::default()
    }
}

/// A hop and its output.
struct Trial {
    hop: Hop<Train>,
    /// Wire packets with the times at which they came out.
    delivered: Vec<(Instant, u64)>,
    dropped: Vec<(u64, DropCause)>,
}

impl Trial {
    fn new(config: &HopConfig) -> Self {
        Self {
            hop: Hop::new(named(config), 7).unwrap(),
            delivered: Vec::new(),
            dropped: Vec::new(),
        }
    }

    /// Collects everything due, at the instants that the hop requests.
    fn until(&mut self, now: Instant) {
        while let Some(due) = self.hop.poll_timeout().filter(|due| *due <= now) {
            while let Some(train) = self.hop.poll_delivery(due) {
                let numbers = train.packets.numbers().map(|number| (due, number));
                self.delivered.extend(numbers);
            }
        }
        while let Some((train, cause)) = self.hop.poll_dropped() {
            let numbers = train.packets.numbers().map(|number| (number, cause));
            self.dropped.extend(numbers);
        }
        assert!(self.hop.counters().is_conserved());
    }

    fn arrive(&mut self, now: Instant, train: Train) {
        self.until(now);
        self.hop.handle_arrival(now, train);
    }

    fn change(&mut self, now: Instant, config: &HopConfig) {
        self.until(now);
        self.hop.reconfigure(now, named(config)).unwrap();
    }

    /// Waits until it is empty.
    fn end(mut self) -> Self {
        self.until(Instant::FAR_FUTURE);
        self
    }

    fn numbers(&self) -> Vec<u64> {
        self.delivered.iter().map(|(_, number)| *number).collect()
    }

    /// Times at which packets came out, in microseconds.
    fn times(&self) -> Vec<u64> {
        let times = self.delivered.iter().map(|(at, _)| *at);
        times
            .map(|at| at.saturating_since(Instant::ZERO).as_micros())
            .collect()
    }
}

fn named(config: &HopConfig) -> HopConfig {
    HopConfig {
        name: "hop".into(),
        ..config.clone()
    }
}

/// 1250 bytes are 10 000 bits: 1 ms at 10 Mbit/s.
fn ten_mbit() -> HopConfig {
    HopConfig {
        rate: Some(mbit(10)),
        ..HopConfig::default()
    }
}

#[test]
fn what_is_in_service_goes_on_at_the_new_rate() {
    let mut trial = Trial::new(&ten_mbit());
    for number in 0..3 {
        trial.arrive(Instant::ZERO, Train::one(number, 1250));
    }
    let slower = HopConfig {
        rate: Some(mbit(1)),
        ..ten_mbit()
    };
    // Half of the first is served; the other half takes 5 ms, each further one 10 ms.
    trial.change(at(Duration::from_micros(500)), &slower);
    assert_eq!(trial.end().times(), [5_500, 15_500, 25_500]);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let long = HopConfig {
        one_way_delay: ms(50),
        ..HopConfig::default()
    };
    let short = HopConfig {
        one_way_delay: ms(10),
        ..HopConfig::default()
    };
    let mut trial = Trial::new(&long);
    trial.arrive(Instant::ZERO, Train::one(0, 1250));
    trial.change(at(ms(1)), &short);
    trial.arrive(at(ms(2)), Train::one(1, 1250));
    trial.arrive(at(ms(45)), Train::one(2, 1250));
    let ended = trial.end();
    assert_eq!(ended.numbers(), [0, 1, 2]);
    assert_eq!(ended.times(), [50_000, 50_000, 55_000]);
}

#[test]
fn what_waits_moves_to_another_discipline() {
    for name in queue::REGISTRY.iter().map(|entry| entry.name) {
        let mut trial = Trial::new(&ten_mbit());
        for number in 0..20 {
            trial.arrive(Instant::ZERO, Train::one(number, 1250));
        }
        let managed = HopConfig {
            queue: queue(name),
            ..ten_mbit()
        };
        trial.change(at(ms(2)), &managed);
        let ended = trial.end();
        assert_eq!(
            ended.numbers(),
            (0..20).collect::<Vec<_>>(),
            "{name}: {:?}",
            ended.dropped
        );
        assert_eq!(ended.times().last(), Some(&20_000), "{name}");
    }
}

/// Six packets of 1250 bytes at a link without a rate, whose queue is one class of HTB.
fn six_behind_a_class() -> Trial {
    let held = HopConfig {
        queue: queue("htb"),
        ..HopConfig::default()
    };
    let mut trial = Trial::new(&held);
    for number in 0..6 {
        trial.arrive(Instant::ZERO, Train::one(number, 1250));
    }
    trial
}

/// A class of 500 Mbit/s on a link without a rate: buckets of 1600 bytes take two packets of 1250 and
/// 14, and then one each 20.224 us from -928 bytes on, which is 14.848 us away.
#[test]
fn packets_that_a_class_holds_back_leave_a_link_that_is_free() {
    let trial = six_behind_a_class();
    // With another queue the rest leaves at once.
    let mut other = six_behind_a_class();
    other.change(at(Duration::from_micros(40)), &HopConfig::default());
    assert_eq!(trial.end().times(), [0, 0, 14, 35, 55, 75]);
    let other_ended = other.end();
    assert_eq!(other_ended.times(), [0, 0, 14, 35, 40, 40]);
    assert_eq!(other_ended.numbers(), [0, 1, 2, 3, 4, 5]);
}

/// The six packets of the test above: the link has work until the last has left, at 75.52 us.
#[test]
fn link_whose_queue_holds_packets_back_is_busy_and_makes_them_wait() {
    let mut trial = six_behind_a_class();
    let soon = at(Duration::from_micros(30));
    trial.until(soon);
    assert_eq!(trial.hop.busy_time(soon), Duration::from_micros(30));
    assert_eq!(trial.hop.wait(soon), Duration::from_nanos(14_848));
    let late = at(Duration::from_micros(500));
    trial.until(late);
    assert_eq!(trial.hop.busy_time(late), Duration::from_nanos(75_520));
    assert_eq!(trial.hop.wait(late), Duration::ZERO);
}

#[test]
fn what_finds_no_room_in_a_smaller_queue_is_dropped_and_counted() {
    let mut trial = Trial::new(&ten_mbit());
    // A super-packet, which the limit splits.
    let packets = Numbered {
        first: 0,
        count: 10,
        size: 1250,
        last: 1250,
    };
    trial.arrive(Instant::ZERO, Train { packets, flow: 0 });
    trial.arrive(Instant::ZERO, Train::one(10, 1250));
    let smaller = HopConfig {
        limit_packets: Some(4),
        ..ten_mbit()
    };
    // Two have left, the third is in service and counts.
    trial.change(at(Duration::from_micros(2_500)), &smaller);
    let ended = trial.end();
    assert_eq!(ended.numbers(), [0, 1, 2, 3, 4, 5]);
    let expected: Vec<_> = (6..11)
        .map(|number| (number, DropCause::QueueFull))
        .collect();
    assert_eq!(ended.dropped, expected);
}

#[test]
fn a_schedule_that_is_set_counts_from_then() {
    let mut trial = Trial::new(&ten_mbit());
    let steps = vec![(ms(1), mbit(1)), (ms(11), mbit(10))];
    let changing = HopConfig {
        rate_source: Some(RateSource::Schedule(Schedule { steps, every: None })),
        ..ten_mbit()
    };
    trial.change(at(ms(100)), &changing);
    for number in 0..3 {
        trial.arrive(at(ms(100)), Train::one(number, 1250));
    }
    assert_eq!(trial.end().times(), [101_000, 111_000, 112_000]);
}

#[test]
fn a_trace_that_is_set_counts_from_then_and_may_be_taken_back() {
    let mut trial = Trial::new(&ten_mbit());
    let trace = HopConfig {
        rate: None,
        rate_source: Some(RateSource::Trace(Trace::parse("7\n500").unwrap())),
        ..HopConfig::default()
    };
    trial.change(at(Duration::from_micros(100_250)), &trace);
    for number in 0..3 {
        trial.arrive(at(ms(101)), Train::one(number, 1250));
    }
    // The second one no longer needs to wait for the next line.
    trial.change(at(ms(200)), &ten_mbit());
    assert_eq!(trial.end().times(), [107_250, 201_000, 202_000]);
}

#[test]
fn a_shaper_that_stands_still_can_be_replaced() {
    let shaped = |bps| HopConfig {
        shaper: Some(Shaper {
            rate: Rate::from_bps(bps),
            burst: Bytes::new(1250),
        }),
        ..HopConfig::default()
    };
    let mut trial = Trial::new(&shaped(0));
    for number in 0..3 {
        trial.arrive(Instant::ZERO, Train::one(number, 1250));
    }
    // A new bucket is full: one leaves then, one 1 ms later.
    trial.change(at(ms(50)), &shaped(10_000_000));
    assert_eq!(trial.end().times(), [0, 50_000, 51_000]);
}

#[test]
fn what_is_not_changed_goes_on_as_it_was() {
    let lossy = HopConfig {
        loss: vec![LossModel::Periodic { every: 10 }],
        ..ten_mbit()
    };
    let mut trial = Trial::new(&lossy);
    for number in 1..=5 {
        trial.arrive(Instant::ZERO, Train::one(number, 1250));
    }
    let faster = HopConfig {
        rate: Some(mbit(100)),
        ..lossy
    };
    trial.change(at(ms(1)), &faster);
    for number in 6..=20 {
        trial.arrive(at(ms(2)), Train::one(number, 1250));
    }
    let lost: Vec<u64> = trial
        .end()
        .dropped
        .iter()
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(lost, [10, 20]);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut hop: Hop<Train> = Hop::new(named(&ten_mbit()), 1).unwrap();
    let impossible = HopConfig {
        loss: vec![LossModel::Periodic { every: 0 }],
        ..HopConfig::default()
    };
    assert!(hop.reconfigure(at(ms(1)), impossible).is_err());
    assert_eq!(*hop.config(), named(&ten_mbit()));
}

fn chance() -> impl Strategy<Value = Probability> {
    (0.0..0.3).prop_map(|p| Probability::try_new(p).unwrap())
}

fn source() -> impl Strategy<Value = Option<RateSource>> {
    let schedule = (0..50_000_u64, 1_000_000..1_000_000_000_u64).prop_map(|(ns, bps)| {
        let steps = vec![(Duration::from_nanos(ns), Rate::from_bps(bps))];
        RateSource::Schedule(Schedule { steps, every: None })
    });
    let trace = Just(RateSource::Trace(Trace::parse("0\n0\n1").unwrap()));
    prop_oneof![3 => Just(None), 1 => schedule.prop_map(Some), 1 => trace.prop_map(Some)]
}

fn jitter() -> impl Strategy<Value = Jitter> {
    (0..20_000_u64, any::<bool>()).prop_map(|(ns, overtaking)| Jitter {
        spread: Duration::from_nanos(ns),
        law: JitterLaw::Uniform,
        hold: Duration::ZERO,
        overtaking,
    })
}

prop_compose! {
    fn hop()(
        rate in option::of(1_000_000..2_000_000_000_u64),
        source in source(),
        delay in prop_oneof![Just(0), 0..200_000_u64],
        discipline in 0..queue::REGISTRY.len(),
        limits in (option::of(1..60_u64), option::of(1500..60_000_u64), option::of(1..60_u64)),
        loss in option::of(chance()),
        reorder in option::of((chance(), 0..5_000_u64)),
        duplicate in option::of(chance()),
        policer in option::of((1_000_000..1_000_000_000_u64, 1500..9_000_u64)),
        shaper in option::of((1_000_000..1_000_000_000_u64, 1500..9_000_u64)),
        group in option::of(1..8_u32),
        jitter in option::of(jitter()),
    ) -> HopConfig {
        HopConfig {
            rate: rate.map(Rate::from_bps),
            rate_source: source,
            one_way_delay: Duration::from_nanos(delay),
            queue: queue(queue::REGISTRY[discipline].name),
            limit_packets: limits.0,
            limit_bytes: limits.1.map(Bytes::new),
            hold_limit: limits.2,
            loss: loss.map(LossModel::Bernoulli).into_iter().collect(),
            reorder: reorder.map(|(probability, ns)| Reorder {
                probability,
                extra_delay: Duration::from_nanos(ns),
            }),
            duplicate,
            policer: policer.map(|(bps, burst)| Policer {
                rate: Rate::from_bps(bps),
                burst: Bytes::new(burst),
            }),
            shaper: shaper.map(|(bps, burst)| Shaper {
                rate: Rate::from_bps(bps),
                burst: Bytes::new(burst),
            }),
            aggregate: group.map(|packets| Aggregate { packets, overhead: Duration::from_nanos(900) }),
            jitter,
            ..HopConfig::default()
        }
    }
}

/// One action, after a number of nanoseconds.
#[derive(Clone, Debug)]
enum Step {
    Train(u64, Numbered, u32),
    Change(u64, Box<HopConfig>),
}

fn steps(hops: impl Strategy<Value = HopConfig>) -> impl Strategy<Value = Vec<Step>> {
    let gap = || prop_oneof![Just(0), 0..60_000_u64];
    let train = (gap(), 1..20_usize, 40..1501_u64, 0..4_u32).prop_map(|(ns, count, size, flow)| {
        let packets = Numbered {
            first: 0,
            count,
            size,
            last: size,
        };
        Step::Train(ns, packets, flow)
    });
    let change = (gap(), hops).prop_map(|(ns, hop)| Step::Change(ns, Box::new(hop)));
    vec(prop_oneof![4 => train, 1 => change], 1..60)
}

/// Runs all steps; returns the result and the number of wire packets sent.
fn run(config: &HopConfig, steps: Vec<Step>) -> (Trial, u64) {
    let mut trial = Trial::new(config);
    let (mut now, mut first) = (Instant::ZERO, 0);
    for step in steps {
        match step {
            Step::Train(ns, packets, flow) => {
                now += Duration::from_nanos(ns);
                let packets = Numbered { first, ..packets };
                first += packets.count as u64;
                trial.arrive(now, Train { packets, flow });
            }
            Step::Change(ns, config) => {
                now += Duration::from_nanos(ns);
                trial.change(now, &config);
            }
        }
    }
    (trial.end(), first)
}

/// Hop without settings that allow overtaking.
fn in_order(hop: HopConfig) -> HopConfig {
    let is_fair = ["fq_codel", "cake", "dualpi2"].contains(&hop.queue.discipline.name);
    HopConfig {
        reorder: None,
        jitter: hop.jitter.map(|jitter| Jitter {
            overtaking: false,
            ..jitter
        }),
        queue: if is_fair { queue("codel") } else { hop.queue },
        ..hop
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any hop can be reconfigured to any other at any time. Each wire packet comes out or is
    /// dropped for a cause, apart from duplicates; none stays inside.
    #[test]
    fn no_packet_is_lost_unaccounted(first in hop(), steps in steps(hop())) {
        let (trial, sent) = run(&first, steps);
        let counters = trial.hop.counters();
        prop_assert!(counters.inside.is_zero(), "{:?}", counters.inside);
        let delivered = trial.delivered.iter().map(|(_, number)| *number);
        let fates: Vec<u64> = delivered.chain(trial.dropped.iter().map(|(number, _)| *number)).collect();
        prop_assert_eq!(fates.len() as u64, sent + counters.duplicated.packets);
        let different: BTreeSet<u64> = fates.into_iter().collect();
        prop_assert_eq!(different.len() as u64, sent);
    }

    /// A reconfiguration causes no overtaking.
    #[test]
    fn order_holds_where_nothing_may_overtake(
        first in hop().prop_map(in_order),
        steps in steps(hop().prop_map(in_order)),
    ) {
        let (trial, _) = run(&first, steps);
        // A duplicate comes after its original.
        prop_assert!(trial.numbers().is_sorted());
    }

    /// A reconfiguration to the same configuration changes nothing, packet by packet.
    #[test]
    fn a_change_to_the_same_changes_nothing(first in hop(), steps in steps(Just(HopConfig::default()))) {
        let same: Vec<Step> = steps.iter().cloned().map(|step| match step {
            Step::Change(ns, _) => Step::Change(ns, Box::new(first.clone())),
            train => train,
        }).collect();
        let none = steps.into_iter().map(|step| match step {
            Step::Change(ns, _) => Step::Train(ns, Numbered::one(0, 40), 0),
            train => train,
        });
        // The same packets at the same times, but without changes.
        let same = same.into_iter().flat_map(|step| match step {
            Step::Change(ns, config) => vec![Step::Change(ns, config), Step::Train(0, Numbered::one(0, 40), 0)],
            train => vec![train],
        }).collect();
        let (changed, _) = run(&first, same);
        let (left, _) = run(&first, none.collect());
        prop_assert_eq!(changed.delivered, left.delivered);
        prop_assert_eq!(changed.dropped, left.dropped);
    }
}
