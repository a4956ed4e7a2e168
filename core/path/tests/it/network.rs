//! Networks compared with hops joined by hand and polled at every relevant instant. The network
//! itself is polled late.

use crate::common::{Numbered, Sent};
use gigatcp_path::queue::{self, QueueConfig};
use gigatcp_path::{
    ConfigError, Delivery, DropCause, Hop, HopConfig, Jitter, JitterLaw, LossModel, Network,
    NetworkConfig, Release, Reorder, Route, Routed,
};
use gigatcp_units::{Bytes, Duration, Instant, Probability, Rate};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// Wire packets at the end of a route: time, route, numbers, whether an error.
type Arrived = (Instant, usize, Vec<u64>, bool);

fn arrived(due: Instant, parcel: &Sent) -> Arrived {
    let numbers = parcel.packets.numbers().collect();
    (due, parcel.route, numbers, parcel.is_error)
}

/// Hops joined by hand, each polled at the exact instant.
struct Joined {
    hops: Vec<Hop<Sent>>,
    config: NetworkConfig,
    arrived: Vec<Arrived>,
    dropped: Vec<(usize, u64, DropCause)>,
}

impl Joined {
    fn new(config: &NetworkConfig) -> Self {
        let hops = config.links.iter().map(|link| Hop::new(link.clone(), 3));
        Self {
            hops: hops.collect::<Result<_, _>>().unwrap(),
            config: config.clone(),
            arrived: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn run_until(&mut self, now: Instant) {
        loop {
            let due = |(at, hop): (usize, &Hop<Sent>)| Some((hop.poll_timeout()?, at));
            let first = self.hops.iter().enumerate().filter_map(due).min();
            let Some((at, link)) = first.filter(|(at, _)| *at <= now) else {
                return;
            };
            while self.hops[link].poll_timeout().is_some_and(|due| due <= at) {
                if let Some(parcel) = self.hops[link].poll_delivery(at) {
                    self.send(at, parcel);
                }
            }
        }
    }

    fn send(&mut self, now: Instant, mut parcel: Sent) {
        let route = &self.config.routes[parcel.route];
        let Some(&link) = route.links.get(parcel.stage) else {
            self.arrived.push(arrived(now, &parcel));
            return;
        };
        parcel.stage += 1;
        self.hops[link].handle_arrival(now, parcel);
        let dropped: Vec<_> = std::iter::from_fn(|| self.hops[link].poll_dropped()).collect();
        for (parcel, cause) in dropped {
            self.drop(link, &parcel, cause);
            let of_link = &self.config.links[link];
            let back = &self.config.routes[parcel.route].back;
            if let (DropCause::TooBig, true, Some((back, left_out))) =
                (cause, of_link.notifies_too_big, back)
                && let Some(error) =
                    parcel.too_big(of_link.mtu.unwrap(), *back, left_out[parcel.stage - 1])
            {
                self.send(now, error);
            }
        }
    }

    fn drop(&mut self, link: usize, parcel: &Sent, cause: DropCause) {
        let numbers = parcel.packets.numbers();
        self.dropped
            .extend(numbers.map(|number| (link, number, cause)));
    }

    fn finish(&mut self) {
        self.run_until(Instant::FAR_FUTURE);
        for link in 0..self.hops.len() {
            while let Some((parcel, cause)) = self.hops[link].poll_dropped() {
                self.drop(link, &parcel, cause);
            }
        }
    }
}

/// Polls all that is due by `now`.
fn poll(network: &mut Network<Sent>, now: Instant, into: &mut Vec<Arrived>) {
    while let Some(Delivery { due, parcel }) = network.poll_delivery(now) {
        assert!(due <= now);
        into.push(arrived(due, &parcel));
    }
    assert!(network.poll_timeout().is_none_or(|due| due > now));
}

fn poll_dropped(network: &mut Network<Sent>, into: &mut Vec<(usize, u64, DropCause)>) {
    while let Some(dropped) = network.poll_dropped() {
        let numbers = dropped.parcel.packets.numbers();
        into.extend(numbers.map(|number| (dropped.link, number, dropped.cause)));
    }
}

fn chance() -> impl Strategy<Value = Probability> {
    (0.0..0.2).prop_map(|p| Probability::try_new(p).unwrap())
}

fn rate() -> impl Strategy<Value = Rate> {
    // Round rates and sizes produce many simultaneous events.
    prop_oneof![Just(8_000_000_000), 100_000_000..20_000_000_000_u64].prop_map(Rate::from_bps)
}

prop_compose! {
    fn hop()(
        rate in option::of(rate()),
        delay in prop_oneof![Just(0), Just(1000), 0..20_000_u64],
        limits in (option::of(1..60_u64), option::of(1..20_u64)),
        loss in option::weighted(0.2, chance()),
        reorder in option::weighted(0.2, (chance(), 0..5_000_u64)),
        duplicate in option::weighted(0.2, chance()),
        mtu in option::weighted(0.3, (500..1500_u64, any::<bool>())),
        general in option::weighted(0.3, (any::<bool>(), 0..3_000_u64, any::<bool>())),
    ) -> HopConfig {
        let mut hop = HopConfig {
            rate,
            one_way_delay: Duration::from_nanos(delay),
            limit_packets: limits.0,
            hold_limit: limits.1,
            loss: loss.map(LossModel::Bernoulli).into_iter().collect(),
            reorder: reorder.map(|(probability, ns)| Reorder {
                probability,
                extra_delay: Duration::from_nanos(ns),
            }),
            duplicate,
            mtu: mtu.map(|(octets, _)| Bytes::new(octets)),
            notifies_too_big: mtu.is_some_and(|(_, tells)| tells),
            ..HopConfig::default()
        };
        if let Some((is_codel, spread, overtaking)) = general {
            if is_codel {
                let discipline = queue::find("codel").unwrap();
                hop.queue = QueueConfig { discipline, ..QueueConfig::default() };
            }
            hop.jitter = Some(Jitter {
                spread: Duration::from_nanos(spread),
                law: JitterLaw::Uniform,
                hold: Duration::ZERO,
                overtaking,
            });
        }
        hop
    }
}

fn network(release: impl Strategy<Value = Release>) -> impl Strategy<Value = NetworkConfig> {
    let links = vec(hop(), 2..9);
    let routes = vec(
        (vec(any::<prop::sample::Index>(), 0..6), any::<bool>()),
        1..7,
    );
    let stages = any::<prop::sample::Index>();
    (links, routes, stages, release).prop_map(|(mut links, routes, stages, release)| {
        for (number, link) in links.iter_mut().enumerate() {
            link.name = format!("link {number}");
            link.release = release;
        }
        let over = |choice: &Vec<prop::sample::Index>| {
            let mut left: Vec<usize> = (0..links.len()).collect();
            let take = |index: &prop::sample::Index| {
                (!left.is_empty()).then(|| left.swap_remove(index.index(left.len())))
            };
            choice.iter().filter_map(take).collect::<Vec<_>>()
        };
        let ways: Vec<_> = routes.iter().map(|(choice, _)| over(choice)).collect();
        let route = |(number, (_, tells)): (usize, &(_, bool))| {
            let back = (number + 1) % ways.len();
            let left_out = |place| (stages.index(7) + place) % (ways[back].len() + 1);
            let places = 0..ways[number].len();
            Route {
                links: ways[number].clone(),
                back: tells.then(|| (back, places.map(left_out).collect())),
            }
        };
        NetworkConfig {
            links,
            routes: routes.iter().enumerate().map(route).collect(),
            ..NetworkConfig::default()
        }
    })
}

/// Gap before, whether the network is polled, route, wire packets, size, last size.
type Traffic = Vec<(u64, bool, usize, usize, u64, u64)>;

fn traffic() -> impl Strategy<Value = Traffic> {
    let gap = prop_oneof![Just(0), Just(1000), 0..10_000_u64];
    let size = prop_oneof![Just(1000), 40..1501_u64];
    vec(
        (
            gap,
            any::<bool>(),
            0..7_usize,
            1..20_usize,
            size,
            20..1501_u64,
        ),
        1..50,
    )
}

/// Outcome of `traffic` with hops joined by hand, and with a network. The network is polled rarely.
fn both(config: &NetworkConfig, traffic: Traffic) -> (Joined, Network<Sent>, Vec<Arrived>) {
    let mut joined = Joined::new(config);
    let mut network = Network::new(config.clone(), 3).unwrap();
    let mut out = Vec::new();
    let (mut now, mut first) = (Instant::ZERO, 0);
    for (gap, is_polled, route, count, size, last) in traffic {
        now += Duration::from_nanos(gap);
        let last = if count == 1 { size } else { last.min(size) };
        let sent = Sent {
            packets: Numbered {
                first,
                count,
                size,
                last,
            },
            route: route % config.routes.len(),
            stage: 0,
            is_error: false,
        };
        first += count as u64;
        joined.run_until(now);
        joined.send(now, sent.clone());
        // Without a poll events happen anyway; output waits.
        if is_polled {
            poll(&mut network, now, &mut out);
        } else {
            network.with_link(now, 0, |_| ());
        }
        network.handle_arrival(now, sent);
    }
    joined.finish();
    poll(&mut network, Instant::FAR_FUTURE, &mut out);
    (joined, network, out)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    /// Compares parcels, instants, order, drops, counters, backlogs.
    #[test]
    fn a_network_does_what_hops_joined_by_hand_do_however_late_it_is_asked(
        config in network(Just(Release::PerPacket)),
        traffic in traffic(),
    ) {
        let (mut joined, mut network, out) = both(&config, traffic);
        prop_assert_eq!(&out, &joined.arrived);
        let mut dropped = Vec::new();
        poll_dropped(&mut network, &mut dropped);
        // A discipline's own drops become known earlier or later.
        dropped.sort_by_key(|(link, ..)| *link);
        joined.dropped.sort_by_key(|(link, ..)| *link);
        prop_assert_eq!(&dropped, &joined.dropped);
        for (one, other) in network.links().iter().zip(&joined.hops) {
            prop_assert_eq!(one.counters(), other.counters());
        }
    }

    /// Gathered parcels may leave in other pieces; everything else is as if polled exactly.
    #[test]
    fn what_leaves_in_larger_pieces_changes_nothing_inside(
        config in network((0..5_000_u64).prop_map(|ns| Release::Within(Duration::from_nanos(ns)))),
        traffic in traffic(),
    ) {
        let (joined, network, out) = both(&config, traffic);
        for (one, other) in network.links().iter().zip(&joined.hops) {
            prop_assert_eq!(one.counters(), other.counters());
        }
        for route in 0..config.routes.len() {
            let of_route = |all: &[Arrived]| -> Vec<u64> {
                all.iter()
                    .filter(|delivery| delivery.1 == route)
                    .flat_map(|(_, _, numbers, _)| numbers.clone())
                    .collect()
            };
            let (mut one, mut other) = (of_route(&out), of_route(&joined.arrived));
            let dues = out.iter().filter(|delivery| delivery.1 == route).map(|delivery| delivery.0);
            prop_assert!(dues.collect::<Vec<_>>().is_sorted());
            // Two links may end packets of one route at one instant, never one link.
            one.sort_unstable();
            other.sort_unstable();
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn no_packet_appears_or_vanishes(
        config in network(Just(Release::PerPacket)),
        traffic in traffic(),
    ) {
        let given: usize = traffic.iter().map(|sent| sent.3).sum();
        let (_, mut network, out) = both(&config, traffic);
        let counters = network.counters();
        prop_assert!(counters.is_conserved());
        prop_assert!(counters.inside.is_zero());
        let packets: usize = out.iter().map(|(_, _, numbers, _)| numbers.len()).sum();
        prop_assert_eq!(counters.delivered.packets, packets as u64);
        let mut dropped = Vec::new();
        poll_dropped(&mut network, &mut dropped);
        prop_assert_eq!(counters.drops.total().packets, dropped.len() as u64);
        // All further arrivals are errors generated inside.
        let told = counters.arrived.packets - given as u64;
        prop_assert!(told <= counters.drops[DropCause::TooBig].packets);
    }
}

fn plain(name: &str, delay_ns: u64) -> HopConfig {
    HopConfig {
        name: name.into(),
        one_way_delay: Duration::from_nanos(delay_ns),
        ..HopConfig::default()
    }
}

fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

fn one(first: u64, route: usize) -> Sent {
    Sent {
        packets: Numbered::one(first, 1500),
        route,
        stage: 0,
        is_error: false,
    }
}

/// Sends a packet of 1500 octets that exceeds the path's MTU; returns the output. The path has
/// three links forward and two reverse; one of the first has a smaller MTU.
fn refused_at(link: usize, tells: bool) -> Vec<Arrived> {
    let mut forward = vec![plain("a", 1), plain("b", 10), plain("c", 100)];
    forward[link].mtu = Some(Bytes::new(1400));
    forward[link].notifies_too_big = tells;
    let reverse = vec![plain("d", 1000), plain("e", 10_000)];
    let config = NetworkConfig::path(forward, reverse);
    let mut network = Network::new(config, 1).unwrap();
    network.handle_arrival(at(5), one(0, 0));
    let mut out = Vec::new();
    poll(&mut network, Instant::FAR_FUTURE, &mut out);
    let dropped = network.poll_dropped().unwrap();
    assert_eq!((dropped.link, dropped.cause), (link, DropCause::TooBig));
    assert_eq!(network.poll_dropped(), None);
    let entered: u64 = network.answers().iter().map(|tally| tally.packets).sum();
    assert_eq!(entered, u64::from(tells && link > 0));
    assert!(network.counters().is_conserved());
    out
}

#[test]
fn an_error_crosses_as_many_links_of_the_way_back_as_the_packet_had_crossed() {
    assert_eq!(refused_at(0, true), [(at(5), 1, vec![0], true)]);
    assert_eq!(
        refused_at(1, true),
        [(at(5 + 1 + 10_000), 1, vec![0], true)]
    );
    let over_both = at(5 + 1 + 10 + 1000 + 10_000);
    assert_eq!(refused_at(2, true), [(over_both, 1, vec![0], true)]);
    assert_eq!(refused_at(1, false), []);
}

#[test]
fn an_error_that_is_too_large_itself_causes_no_error() {
    let refuses = |name| HopConfig {
        mtu: Some(Bytes::new(500)),
        notifies_too_big: true,
        ..plain(name, 10)
    };
    let config = NetworkConfig::path(
        vec![plain("a", 1), refuses("b")],
        vec![plain("c", 1), refuses("d")],
    );
    let mut network = Network::new(config, 1).unwrap();
    network.handle_arrival(at(0), one(0, 0));
    let mut out = Vec::new();
    poll(&mut network, Instant::FAR_FUTURE, &mut out);
    assert_eq!(out, []);
    let links = [network.poll_dropped(), network.poll_dropped()];
    assert_eq!(links.map(|dropped| dropped.unwrap().link), [1, 3]);
    assert_eq!(network.poll_timeout(), None);
}

#[test]
fn numbered_from_the_last_link_what_leaves_makes_room_for_what_comes() {
    let held = HopConfig {
        hold_limit: Some(1),
        ..plain("held", 1000)
    };
    let along = NetworkConfig::path(vec![plain("first", 10), held], Vec::new());
    let against = along.clone().last_link_first();
    assert_eq!(against.links[0].name, "held");
    let delivered = |config: &NetworkConfig| {
        let mut network = Network::new(config.clone(), 1).unwrap();
        for n in 0..5 {
            network.handle_arrival(at(1000 * n), one(n, 0));
        }
        let mut out = Vec::new();
        poll(&mut network, Instant::FAR_FUTURE, &mut out);
        out.len()
    };
    assert_eq!((delivered(&along), delivered(&against)), (3, 5));
}

#[test]
fn a_rate_that_is_set_moves_what_is_due() {
    let slow = HopConfig {
        rate: Some(Rate::from_bps(12_000)),
        ..plain("slow", 0)
    };
    let config = NetworkConfig::path(vec![slow, plain("next", 5)], Vec::new());
    let mut network = Network::new(config, 1).unwrap();
    network.handle_arrival(at(0), one(0, 0));
    assert_eq!(network.poll_timeout(), Some(at(1_000_000_000)));
    let half = at(500_000_000);
    let fast = Some(Rate::from_bps(12_000_000_000));
    network.with_link(half, 0, |link| link.set_rate(half, fast));
    let mut out = Vec::new();
    poll(&mut network, Instant::FAR_FUTURE, &mut out);
    assert_eq!(out, [(at(500_000_000 + 500 + 5), 0, vec![0], false)]);
}

#[test]
fn a_route_of_no_links_is_a_wire_of_no_length() {
    let config = NetworkConfig::path(Vec::new(), Vec::new());
    let mut network = Network::new(config, 1).unwrap();
    network.handle_arrival(at(5), one(0, 0));
    assert_eq!(network.poll_timeout(), Some(at(5)));
    assert_eq!(network.poll_delivery(at(5)).unwrap().due, at(5));
    assert_eq!(network.poll_timeout(), None);
    assert_eq!(network.poll_delivery(Instant::FAR_FUTURE), None);
    assert_eq!(network.counters().delivered.packets, 1);
}

#[test]
fn what_passes_from_link_to_link_is_seen_if_it_is_watched() {
    let config = NetworkConfig::path(vec![plain("a", 1), plain("b", 10)], Vec::new());
    let mut network = Network::new(config, 1).unwrap();
    network.handle_arrival(at(0), one(0, 0));
    network.watch();
    assert!(network.poll_delivery(at(20)).is_some());
    let passed = network.poll_passed().unwrap();
    assert_eq!((passed.due, passed.parcel.stage), (at(1), 1));
    assert_eq!(network.poll_passed(), None);
}

#[test]
fn routes_that_cannot_be_are_refused() {
    let sound = NetworkConfig::path(vec![plain("a", 1)], vec![plain("b", 1)]);
    assert_eq!(sound.check(), Ok(()));
    let mut config = sound.clone();
    config.routes[1].links[0] = 2;
    assert_eq!(config.check(), Err(ConfigError::NoSuchLink));
    let again = config.last_link_first().check();
    assert_eq!(again, Err(ConfigError::NoSuchLink));
    for back in [(2, vec![0]), (1, vec![2]), (1, Vec::new())] {
        let mut config = sound.clone();
        config.routes[0].back = Some(back);
        assert_eq!(config.check(), Err(ConfigError::NoReverseRoute));
    }
}
