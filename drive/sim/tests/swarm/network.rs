//! Simulations of many paths: 2 to 12 nodes, links in both directions between neighbors, flows
//! whose routes share links.
//!
//! Random: a tree of nodes and some further links, so that a flow has several paths and may use
//! different ones in the two directions; links as [`super::dumbbell`] draws its hops, up to three
//! of them with impairments, disciplines and varying rates. [`Crossed`] compares the counters of
//! every link with the packets that passed it.
//!
//! Further limits for survival: propagation along the longest route is that of three hops, and all
//! other links neither lose nor reorder.

use gigatcp_path::{HopConfig, Parcel, Tally};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Observe, Outcome, Stop, Via, WorldConfig};
use gigatcp_units::{Bytes, Duration, Rate};

use super::draw::Draw;
use super::injected_bug::InjectedBug;
use super::{dumbbell, hosts, links};

/// Number of links that may do more than queue and delay.
const IMPAIRED: usize = 3;

/// Configuration for a seed.
pub fn world(seed: u64, bug: Option<InjectedBug>) -> WorldConfig {
    let draw = &mut Draw::new(seed, "network");
    let nodes = draw.between(2, 12) as usize;
    let pairs = neighbors(draw, nodes);
    let mut all: Vec<HopConfig> = pairs
        .iter()
        .flat_map(|(from, to)| [name(*from, *to), name(*to, *from)])
        .map(|name| link(draw, name, nodes as u64))
        .collect();
    for _ in 0..IMPAIRED {
        let place = draw.between(0, all.len() as u64 - 1) as usize;
        let one_way_delay = all[place].one_way_delay;
        let hop = dumbbell::hop(draw, all[place].name.clone());
        all[place] = HopConfig {
            one_way_delay,
            ..hop
        };
        links::change(draw, &mut all[place]);
    }
    let count = draw.pick(&[1, 2, 3, 4, 6, 8]);
    let flows = (0..count).map(|number| {
        let via = via(draw, &pairs, nodes);
        let taken = |link: &&HopConfig| {
            via.forward
                .iter()
                .chain(&via.reverse)
                .any(|n| *n == link.name)
        };
        let rates = all.iter().filter(taken).filter_map(|link| link.rate);
        let share = rates
            .min()
            .map(|rate| Rate::from_bps(rate.as_bps() / count));
        let limits = all
            .iter()
            .filter(taken)
            .filter_map(|link| link.limit_packets);
        let segments = match limits.min() {
            Some(..10) => 100,
            _ => 3000,
        };
        let ip = hosts::ip(seed);
        let mut flow = dumbbell::flow(draw, ip, number, segments / count, share, bug);
        flow.via = Some(via);
        if let (Stop::After(_), Some(room)) = (flow.stop, flow.sender.tcp.transport.send_buffer) {
            // In any time a sender may fill a buffer that its profile enlarged.
            flow.stop = Stop::Bytes(room);
        }
        flow
    });
    let flows = flows.collect();
    WorldConfig {
        seed,
        forward: Vec::new(),
        reverse: Vec::new(),
        links: all,
        media: Vec::new(),
        hosts: Vec::new(),
        flows,
        arrivals: Vec::new(),
        datagrams: Vec::new(),
        end: dumbbell::PATIENCE,
        observe: Observe {
            sample_step: Duration::ZERO,
            record_limit: Bytes::MAX,
            fingerprint: true,
            account: draw.chance(50),
        },
    }
}

/// Pairs of neighbors: a tree, and some more.
fn neighbors(draw: &mut Draw, nodes: usize) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = (1..nodes)
        .map(|node| (draw.between(0, node as u64 - 1) as usize, node))
        .collect();
    for _ in 0..draw.between(0, nodes as u64) {
        let [one, other] = [0; 2].map(|_| draw.between(0, nodes as u64 - 1) as usize);
        let pair = (one.min(other), one.max(other));
        if one != other && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

fn name(from: usize, to: usize) -> String {
    format!("{from}>{to}")
}

/// A link that queues and delays.
fn link(draw: &mut Draw, name: String, nodes: u64) -> HopConfig {
    let hop = dumbbell::hop(draw, name);
    let delay = hop.one_way_delay.as_nanos() * 3 / nodes.max(3);
    HopConfig {
        one_way_delay: Duration::from_nanos(delay.max(1)),
        hold_limit: None,
        loss: Vec::new(),
        corrupt: Vec::new(),
        loss_period: None,
        reorder: None,
        duplicate: None,
        policer: None,
        ..hop
    }
}

/// Paths from one node to another and back, perhaps over other nodes.
fn via(draw: &mut Draw, pairs: &[(usize, usize)], nodes: usize) -> Via {
    let from = draw.between(0, nodes as u64 - 1) as usize;
    let to = (from + draw.between(1, nodes as u64 - 1) as usize) % nodes;
    let [forward, reverse] = [(from, to), (to, from)].map(|(from, to)| {
        let mut path = vec![from];
        assert!(walk(draw, pairs, &mut path, to), "the nodes are connected");
        path.windows(2).map(|pair| name(pair[0], pair[1])).collect()
    });
    Via { forward, reverse }
}

/// Extends `path` to a path to `end` without repeated nodes.
fn walk(draw: &mut Draw, pairs: &[(usize, usize)], path: &mut Vec<usize>, end: usize) -> bool {
    let here = path[path.len() - 1];
    if here == end {
        return true;
    }
    let other = |pair: &(usize, usize)| match *pair {
        (one, other) if one == here => Some(other),
        (one, other) if other == here => Some(one),
        _ => None,
    };
    let mut next: Vec<usize> = pairs.iter().filter_map(other).collect();
    while !next.is_empty() {
        let node = next.swap_remove(draw.between(0, next.len() as u64 - 1) as usize);
        if path.contains(&node) {
            continue;
        }
        path.push(node);
        if walk(draw, pairs, path, end) {
            return true;
        }
        path.pop();
    }
    false
}

/// Packets that passed each link, as a tap sees them.
pub struct Crossed {
    /// Links of each flow, forward and reverse.
    routes: Vec<[Vec<usize>; 2]>,
    /// Packets into each link and out of it.
    links: Vec<[Tally; 2]>,
}

impl Crossed {
    pub fn new(config: &WorldConfig) -> Self {
        let all = config
            .forward
            .iter()
            .chain(&config.reverse)
            .chain(&config.links);
        let names: Vec<&String> = all.map(|link| &link.name).collect();
        // Stations of a shared medium are not links: their frames are counted elsewhere.
        let numbers = |route: &[String]| {
            let place = |name| names.iter().position(|known| *known == name);
            route.iter().filter_map(place).collect()
        };
        let own = config.forward.len()..config.forward.len() + config.reverse.len();
        let routes = config.flows.iter().map(|flow| match &flow.via {
            Some(via) => [numbers(&via.forward), numbers(&via.reverse)],
            None => [(0..own.start).collect(), own.clone().collect()],
        });
        Self {
            routes: routes.collect(),
            links: vec![[Tally::default(); 2]; names.len()],
        }
    }

    fn route(&self, packet: &Packet) -> &[usize] {
        &self.routes[packet.flow as usize][usize::from(packet.reverse())]
    }

    fn count(&mut self, link: usize, is_out: bool, packet: &Packet) {
        let packets = packet.wire_packets() as u64;
        let Some(crossed) = self.links.get_mut(link) else {
            return;
        };
        crossed[usize::from(is_out)].add(Tally {
            packets,
            bytes: Bytes::new(packet.ip_bytes()),
        });
    }

    /// Records a packet that leaves its host or reaches the other one.
    pub fn at_host(&mut self, packet: &Packet, departs: bool) {
        let route = self.route(packet);
        let link = if departs { route.first() } else { route.last() };
        if let Some(link) = link.copied() {
            self.count(link, !departs, packet);
        }
    }

    /// Records a packet that passes from link `place` of its route to the next.
    pub fn on_hop(&mut self, packet: &Packet, place: usize) {
        let route = self.route(packet);
        let (Some(&out_of), Some(&into)) = (route.get(place), route.get(place + 1)) else {
            return;
        };
        self.count(out_of, true, packet);
        self.count(into, false, packet);
    }

    /// Compares with the counters of the links.
    pub fn check(&self, outcome: &Outcome) -> Result<(), String> {
        for (hop, [into, out_of]) in outcome.hops.iter().zip(&self.links) {
            let counters = hop.counters();
            let name = &hop.config().name;
            if !counters.is_conserved() {
                return Err(format!("link {name} made or lost packets: {counters:?}"));
            }
            if counters.arrived != *into || counters.delivered != *out_of {
                return Err(format!(
                    "link {name}: {into:?} went in and {out_of:?} came out, it counts {counters:?}"
                ));
            }
        }
        Ok(())
    }
}
