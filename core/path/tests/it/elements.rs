//! The contract of all elements, tested by one generic driver.

use crate::common::{Numbered, Sent};
use gigatcp_path::queue::{Entry, QueueConfig, REGISTRY, Settings, Value};
use gigatcp_path::{
    Aggregate, Counters, DropCause, Dropped, Hop, HopConfig, Jitter, JitterLaw, LossModel, Network,
    NetworkConfig, Parcel, Policer, Release, Reorder, Route, Routed, Shaper, SharedMedium,
    SharedMediumConfig,
};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// An element that carries parcels.
///
/// * Every wire packet that enters comes out or is dropped, and `counters` account for
///   it at any moment.
/// * Nothing comes out before `poll_timeout`. After `poll_delivery` has
///   returned `None`, that time is later than `now`, or never.
/// * Polling more often than requested changes nothing.
/// * Equal calls have equal results: the only randomness is the seed an element was built with.
trait Element {
    /// Type of parcel it carries.
    type Parcel: Parcel;

    /// Accepts a parcel at `now`.
    fn handle_arrival(&mut self, now: Instant, parcel: Self::Parcel);

    /// Next parcel that has come out by `now`.
    fn poll_delivery(&mut self, now: Instant) -> Option<Self::Parcel>;

    /// Next dropped parcel, and the cause.
    fn poll_dropped(&mut self) -> Option<(Self::Parcel, DropCause)>;

    /// When to poll for a delivery again: not after the next one.
    fn poll_timeout(&self) -> Option<Instant>;

    /// Counters of wire packets so far.
    fn counters(&self) -> Counters;
}

impl<T: Parcel> Element for Hop<T> {
    type Parcel = T;

    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        self.handle_arrival(now, parcel);
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.poll_dropped()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        *self.counters()
    }
}

/// Parcels enter at the station numbered by their flow, modulo the number of stations.
impl<T: Parcel> Element for SharedMedium<T> {
    type Parcel = T;

    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        let stations = self.stations().count().max(1);
        self.handle_arrival(now, parcel.flow() as usize % stations, parcel);
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now).map(|(_, parcel)| parcel)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        self.poll_dropped()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        *self.counters()
    }
}

/// Parcels enter where their routes begin and come out where they end.
impl<T: Routed> Element for Network<T> {
    type Parcel = T;

    fn handle_arrival(&mut self, now: Instant, parcel: T) {
        self.handle_arrival(now, parcel);
    }

    fn poll_delivery(&mut self, now: Instant) -> Option<T> {
        self.poll_delivery(now).map(|delivery| delivery.parcel)
    }

    fn poll_dropped(&mut self) -> Option<(T, DropCause)> {
        let Dropped { parcel, cause, .. } = self.poll_dropped()?;
        Some((parcel, cause))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.poll_timeout()
    }

    fn counters(&self) -> Counters {
        self.counters()
    }
}

/// Configuration from which an element can be built repeatedly.
#[derive(Clone, Debug)]
enum Plan {
    /// As configured: departures known on arrival where that is possible.
    Hop(Box<HopConfig>),
    /// A hop whose rate may change.
    Changeable(Box<HopConfig>),
    /// Half-duplex Ethernet.
    Medium(SharedMediumConfig),
    /// The first N links forward, the others reverse.
    Network(usize, Vec<HopConfig>),
    /// Both directions, and an Ethernet for both before this place in either.
    Joined(Vec<HopConfig>, Vec<HopConfig>, usize, SharedMediumConfig),
}

/// Times at which a driver polls, apart from arrivals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Comes {
    /// At each instant that the element requests.
    OnTime,
    /// Also a nanosecond before, and once between.
    TooOften,
    /// Never before the last arrival.
    Late,
}

/// Output of an element.
#[derive(Clone, PartialEq, Debug)]
struct Outcome {
    /// Time, route, wire packets, whether an error.
    delivered: Vec<(Instant, usize, Vec<u64>, bool)>,
    /// Wire packets, their causes, and whether errors; in order of the numbers.
    dropped: Vec<(u64, DropCause, bool)>,
    counters: Counters,
}

impl Outcome {
    /// Wire packets that came out, in order.
    fn packets(&self) -> Vec<(usize, u64, bool)> {
        let each = |(_, route, numbers, is_error): &(Instant, usize, Vec<u64>, bool)| {
            let (route, is_error) = (*route, *is_error);
            numbers
                .clone()
                .into_iter()
                .map(move |number| (route, number, is_error))
        };
        self.delivered.iter().flat_map(each).collect()
    }
}

/// Nanoseconds since the previous one, route, wire packets, their size.
type Traffic = Vec<(i64, usize, usize, u64)>;

/// An element and its output so far.
struct Driver<E> {
    element: E,
    outcome: Outcome,
}

impl<E: Element<Parcel = Sent>> Driver<E> {
    /// Collects what has come out by `now`.
    fn poll(&mut self, now: Instant) -> usize {
        let before = self.outcome.delivered.len();
        while let Some(parcel) = self.element.poll_delivery(now) {
            let numbers = parcel.packets.numbers().collect();
            let delivered = (now, parcel.route, numbers, parcel.is_error);
            self.outcome.delivered.push(delivered);
            assert!(self.element.counters().is_conserved());
        }
        let next = self.element.poll_timeout();
        assert!(
            next.is_none_or(|next| next > now),
            "{next:?} again at {now:?}"
        );
        self.outcome.delivered.len() - before
    }

    /// Polls whenever the element requests, up to `now`; if `often`, in between too.
    fn poll_until(&mut self, before: Instant, now: Instant, often: bool) {
        let mut last = before;
        while let Some(due) = self.element.poll_timeout().filter(|due| *due <= now) {
            if often {
                let nanos = due.saturating_since(last).as_nanos();
                let before = [nanos / 2, 1].into_iter();
                for early in before.filter(|early| (1..nanos).contains(early)) {
                    let early = Instant::from_nanos(due.as_nanos() - early);
                    assert_eq!(self.poll(early), 0, "before {due:?}, at {early:?}");
                }
            }
            // A change may have brought it forward before the driver polled.
            last = due.max(last);
            self.poll(last);
        }
    }

    fn poll_dropped(&mut self) {
        while let Some((parcel, cause)) = self.element.poll_dropped() {
            let numbers = parcel.packets.numbers();
            let dropped = numbers.map(|number| (number, cause, parcel.is_error));
            self.outcome.dropped.extend(dropped);
        }
    }
}

fn drive<E: Element<Parcel = Sent>>(element: E, traffic: &Traffic, comes: Comes) -> Outcome {
    let outcome = Outcome {
        delivered: Vec::new(),
        dropped: Vec::new(),
        counters: element.counters(),
    };
    let mut driver = Driver { element, outcome };
    let (mut now, mut first) = (Instant::from_nanos(1_000_000), 0);
    for &(gap, route, count, size) in traffic {
        let before = now;
        let nanos = now.as_nanos().saturating_add_signed(gap);
        now = Instant::from_nanos(nanos);
        if comes != Comes::Late {
            driver.poll_until(before, now, comes == Comes::TooOften);
        }
        let packets = Numbered {
            first,
            count,
            size,
            last: size,
        };
        first += count as u64;
        driver.element.handle_arrival(
            now,
            Sent {
                packets,
                route,
                stage: 0,
                is_error: false,
            },
        );
        assert!(driver.element.counters().is_conserved());
        driver.poll_dropped();
    }
    driver.poll_until(now, Instant::FAR_FUTURE, comes == Comes::TooOften);
    driver.poll_dropped();
    let mut outcome = driver.outcome;
    outcome.counters = driver.element.counters();
    outcome.dropped.sort_by_key(|(number, ..)| *number);
    outcome
}

impl Plan {
    /// Plan without errors that join the reverse path.
    fn without_errors(mut self) -> Self {
        if let Self::Network(_, links) = &mut self {
            for link in links {
                link.notifies_too_big = false;
            }
        }
        if let Self::Joined(forward, reverse, ..) = &mut self {
            for link in forward.iter_mut().chain(reverse) {
                link.notifies_too_big = false;
            }
        }
        self
    }

    fn run(&self, traffic: &Traffic, comes: Comes) -> Outcome {
        match self {
            Self::Hop(config) => {
                let hop = Hop::new(HopConfig::clone(config), 5).expect("a hop");
                drive(hop, traffic, comes)
            }
            Self::Changeable(config) => {
                let hop = Hop::changeable(HopConfig::clone(config), 5).expect("a hop");
                drive(hop, traffic, comes)
            }
            Self::Medium(config) => {
                let medium = SharedMedium::new(config.clone(), 5);
                drive(medium.expect("a medium"), traffic, comes)
            }
            Self::Network(there, links) => {
                let (there, back) = links.split_at(*there);
                let config = NetworkConfig::path(there.to_vec(), back.to_vec());
                drive(Network::new(config, 5).expect("a network"), traffic, comes)
            }
            Self::Joined(forward, reverse, place, medium) => {
                let config = joined(forward, reverse, *place, medium);
                drive(Network::new(config, 5).expect("a network"), traffic, comes)
            }
        }
    }
}

/// A path whose directions share a medium. Each enters it at its own station.
fn joined(
    forward: &[HopConfig],
    reverse: &[HopConfig],
    place: usize,
    medium: &SharedMediumConfig,
) -> NetworkConfig {
    let mut config = NetworkConfig::path(forward.to_vec(), reverse.to_vec());
    let links = config.links.len();
    let [forward, reverse] = [0, 1].map(|way| {
        let mut route = config.routes[way].links.clone();
        route.insert(place.min(route.len()), links + way);
        route
    });
    config.media.push(medium.clone());
    config.routes = Route::pair(0, forward, reverse).into();
    config
}

fn nanos(most: u64) -> impl Strategy<Value = Duration> {
    prop_oneof![Just(0), Just(1000), 0..most].prop_map(Duration::from_nanos)
}

fn chance() -> impl Strategy<Value = Option<Probability>> {
    option::weighted(
        0.2,
        (0.0..0.3).prop_map(|p| Probability::try_new(p).unwrap()),
    )
}

prop_compose! {
    fn fates()(
        loss in chance(),
        duplicate in chance(),
        reorder in chance(),
        extra_delay in nanos(5_000),
        policer in option::weighted(0.2, 1_000_000_000..20_000_000_000_u64),
        mtu in option::weighted(0.2, 500..1500_u64),
    ) -> HopConfig {
        HopConfig {
            loss: loss.map(LossModel::Bernoulli).into_iter().collect(),
            duplicate,
            reorder: reorder.map(|probability| Reorder { probability, extra_delay }),
            policer: policer.map(|bps| Policer {
                rate: Rate::from_bps(bps),
                burst: Bytes::new(20_000),
            }),
            mtu: mtu.map(Bytes::new),
            notifies_too_big: true,
            ..HopConfig::default()
        }
    }
}

/// A discipline, with a small hierarchy if it has classes: one leaf that borrows, one that does not.
fn of(discipline: &'static Entry) -> QueueConfig {
    let class = |settings: &[(&str, Value)]| {
        let mut class = Settings::new();
        for (name, value) in settings {
            let set = class.set(discipline.class_parameters, name, *value);
            set.expect("a parameter of a class");
        }
        class
    };
    let gbps = |name, gbps: u64| (name, Value::Rate(Rate::from_bps(gbps * 1_000_000_000)));
    let parent = ("parent", Value::Count(1));
    let hierarchy = || {
        vec![
            class(&[gbps("rate", 4)]),
            class(&[parent, gbps("rate", 1), gbps("ceil", 4)]),
            class(&[parent, gbps("rate", 2)]),
        ]
    };
    let has_classes = !discipline.class_parameters.is_empty();
    QueueConfig {
        discipline,
        settings: Settings::new(),
        classes: has_classes.then(hierarchy).unwrap_or_default(),
    }
}

prop_compose! {
    /// Any discipline, jitter, a shaper, groups.
    fn general()(
        queue in option::weighted(0.5, 0..REGISTRY.len()),
        jitter in option::weighted(0.3, (nanos(3_000), any::<bool>())),
        shaper in option::weighted(0.2, 1_000_000_000..20_000_000_000_u64),
        group in option::weighted(0.2, (1..9_u32, nanos(2_000))),
    ) -> HopConfig {
        HopConfig {
            queue: queue.map_or_else(QueueConfig::default, |place| of(&REGISTRY[place])),
            jitter: jitter.map(|(spread, overtaking)| Jitter {
                spread,
                law: JitterLaw::Uniform,
                hold: Duration::ZERO,
                overtaking,
            }),
            shaper: shaper.map(|bps| Shaper {
                rate: Rate::from_bps(bps),
                burst: Bytes::new(4_000),
            }),
            aggregate: group.map(|(packets, overhead)| Aggregate { packets, overhead }),
            ..HopConfig::default()
        }
    }
}

prop_compose! {
    fn hop()(
        fates in fates(),
        general in option::weighted(0.5, general()),
        rate in option::of(100_000_000..20_000_000_000_u64),
        one_way_delay in nanos(20_000),
        limit_packets in option::of(1..60_u64),
        is_whole in any::<bool>(),
    ) -> HopConfig {
        let release = if is_whole { Release::Whole } else { Release::PerPacket };
        let general = general.unwrap_or_default();
        HopConfig {
            name: "hop".into(),
            rate: rate.map(Rate::from_bps),
            one_way_delay,
            limit_packets,
            release,
            queue: general.queue,
            jitter: general.jitter,
            shaper: general.shaper,
            aggregate: general.aggregate,
            ..fates
        }
    }
}

prop_compose! {
    fn medium()(
        stations in 2..6_usize,
        delay in 0..2_000_u64,
        limit_packets in option::of(1..20_u64),
    ) -> SharedMediumConfig {
        SharedMediumConfig {
            name: "coax".into(),
            rate: Rate::from_bps(100_000_000),
            delay: Duration::from_nanos(delay),
            limit_packets,
            recoveries: vec![Duration::ZERO; stations],
        }
    }
}

prop_compose! {
    fn network()(mut links in vec(hop(), 2..7), cut in any::<prop::sample::Index>()) -> Plan {
        for (number, link) in links.iter_mut().enumerate() {
            link.name = format!("link {number}");
        }
        Plan::Network(cut.index(links.len()), links)
    }
}

fn element() -> impl Strategy<Value = Plan> {
    prop_oneof![
        hop().prop_map(|hop| Plan::Hop(Box::new(hop))),
        hop().prop_map(|hop| Plan::Changeable(Box::new(hop))),
        medium().prop_map(Plan::Medium),
        network(),
        (network(), medium(), 0..4_usize).prop_map(|(network, medium, place)| match network {
            Plan::Network(there, mut links) => {
                let reverse = links.split_off(there);
                Plan::Joined(links, reverse, place, medium)
            }
            _ => unreachable!("a network"),
        }),
    ]
}

fn traffic(least_gap: i64) -> impl Strategy<Value = Traffic> {
    let gap = prop_oneof![Just(0), Just(1000), least_gap..10_000, 0..200_000_i64];
    let size = prop_oneof![Just(1000), 40..1501_u64];
    vec((gap, 0..2_usize, 1..9_usize, size), 1..40)
}

/// Every wire packet sent came out or was dropped. This happened once, or as often as it was
/// duplicated.
fn check_complete(outcome: &Outcome, traffic: &Traffic) -> Result<(), TestCaseError> {
    prop_assert!(outcome.counters.inside.is_zero());
    let given = traffic.iter().map(|(_, _, count, _)| *count).sum();
    let mut seen = vec![0_u64; given];
    let out = outcome
        .packets()
        .into_iter()
        .filter(|(.., is_error)| !is_error);
    let dropped = outcome.dropped.iter().filter(|(.., is_error)| !is_error);
    let numbers = out.map(|(_, number, _)| number);
    for number in numbers.chain(dropped.map(|(number, ..)| *number)) {
        seen[number as usize] += 1;
    }
    prop_assert!(seen.iter().all(|times| *times > 0), "some vanished");
    let copies: u64 = seen.iter().map(|times| times - 1).sum();
    prop_assert!(copies <= outcome.counters.duplicated.packets);
    let counted = outcome.counters.delivered.packets;
    prop_assert_eq!(counted, outcome.packets().len() as u64);
    let counted = outcome.counters.drops.total().packets;
    prop_assert_eq!(counted, outcome.dropped.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(600)
    })]

    #[test]
    fn every_wire_packet_comes_out_or_is_dropped(
        plan in element(),
        traffic in traffic(0),
    ) {
        check_complete(&plan.run(&traffic, Comes::OnTime), &traffic)?;
    }

    #[test]
    fn polling_too_often_changes_nothing_and_equal_calls_have_equal_results(
        plan in element(),
        traffic in traffic(0),
    ) {
        let outcome = plan.run(&traffic, Comes::OnTime);
        prop_assert_eq!(&plan.run(&traffic, Comes::OnTime), &outcome);
        prop_assert_eq!(&plan.run(&traffic, Comes::TooOften), &outcome);
    }

    #[test]
    fn a_driver_that_comes_late_gets_the_same_packets_in_the_same_order(
        plan in element(),
        traffic in traffic(0),
    ) {
        // An error may reach a link at the very instant of a packet. It then comes before or after
        // it, depending on the polls, and may take its random number.
        let plan = plan.without_errors();
        let outcome = plan.run(&traffic, Comes::OnTime);
        let late = plan.run(&traffic, Comes::Late);
        // In a network, per route.
        let of_routes = |outcome: &Outcome| {
            let mut packets = outcome.packets();
            packets.sort_by_key(|(route, _, is_error)| (*route, *is_error));
            packets
        };
        prop_assert_eq!(of_routes(&late), of_routes(&outcome));
        prop_assert_eq!(late.dropped, outcome.dropped);
        prop_assert_eq!(late.counters, outcome.counters);
    }

    #[test]
    fn a_clock_that_runs_backwards_loses_no_packet(
        plan in element(),
        traffic in traffic(-5_000),
    ) {
        check_complete(&plan.run(&traffic, Comes::Late), &traffic)?;
    }
}

/// The properties can fail. A hop that does not report when it is due fails them.
#[test]
#[should_panic(expected = "before")]
fn an_element_that_names_a_late_instant_is_found() {
    struct Sluggish(Hop<Sent>);

    impl Element for Sluggish {
        type Parcel = Sent;

        fn handle_arrival(&mut self, now: Instant, parcel: Sent) {
            self.0.handle_arrival(now, parcel);
        }

        fn poll_delivery(&mut self, now: Instant) -> Option<Sent> {
            self.0.poll_delivery(now)
        }

        fn poll_dropped(&mut self) -> Option<(Sent, DropCause)> {
            self.0.poll_dropped()
        }

        fn poll_timeout(&self) -> Option<Instant> {
            let due = self.0.poll_timeout()?;
            Some(due + Duration::from_nanos(2))
        }

        fn counters(&self) -> Counters {
            *self.0.counters()
        }
    }

    let config = HopConfig {
        one_way_delay: Duration::from_micros(1),
        ..HopConfig::default()
    };
    let hop = Hop::new(config, 1).expect("a hop");
    drive(Sluggish(hop), &vec![(0, 0, 1, 1500)], Comes::TooOften);
}
