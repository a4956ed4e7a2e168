//! The simulated network: nodes, links with queues, and what is due next.
//!
//! A pure function of time and calls, as the engine and the path elements that it consists of. The
//! driver (`driver.rs`) calls [`World::act`] at each instant of [`World::due`]; sockets call the
//! hosts and then [`World::flush`].
//!
//! A link is one hop in each direction. A node without a host is a router. Packets take the fewest
//! links; among equals, those that were added first. Time at one instant: links before hosts, each
//! in the order in which they were added.
//!
//! Out of scope: several hops in one direction of a link (add a router between two links), shared
//! media, and timers of hosts by clocks that differ.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::task::Waker;

use gigatcp_path::{ConfigError, DropCause, EventSchedule, Hop, Parcel};
use gigatcp_tcp::events::EventHash;
use gigatcp_units::nearest::nearest;
use gigatcp_units::random::mix;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::IcmpKind;

use crate::host::{Host, addresses_of};
use crate::observe::Observers;
use crate::packet::{Content, IpFields, Packet, Passing};
use crate::words::{Words, WordsError};

/// Maximum steps at one instant; more are a bug, not a busy instant.
const MAX_STEPS_PER_INSTANT: u32 = 10_000_000;

/// Words of the loopback of each host: the delay of Linux's.
const LOOPBACK: &str = "rtt=20us";

/// Whether a packet passes.
pub(crate) struct Filter(pub(crate) Box<dyn FnMut(&Passing) -> bool + Send>);

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Filter")
    }
}

/// A node: a host, or a router.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) host: Option<Box<Host>>,
    /// The loopback's ways, once something was sent over it.
    loopback: Option<[usize; 2]>,
}

/// A link between two nodes.
#[derive(Debug)]
struct Link {
    ends: [u32; 2],
    words: Words,
    /// From the first end to the second, and back.
    ways: [usize; 2],
}

/// One direction of a link.
#[derive(Debug)]
struct Way {
    hop: Hop<Packet>,
    to: u32,
    is_cut: bool,
}

/// All nodes and links.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) now: Instant,
    pub(crate) nodes: Vec<Node>,
    names: BTreeMap<String, u32>,
    addresses: HashMap<IpAddr, u32>,
    links: Vec<Link>,
    ways: Vec<Way>,
    way_times: EventSchedule,
    host_times: EventSchedule,
    /// First way from a node towards another; cleared if links change.
    routes: HashMap<[u32; 2], Option<usize>>,
    default_link: Option<Words>,
    loopback_words: Words,
    hash: EventHash,
    pub(crate) delivered: u64,
    /// Virtual time after which a run is an error.
    pub(crate) time_limit: Option<Duration>,
    /// Unique numbers of datagrams.
    pub(crate) next_datagram: u64,
    pub(crate) observers: Observers,
    /// Decides which packets of hosts pass.
    pub(crate) filter: Option<Filter>,
    /// Tasks to wake once the lock is released.
    pub(crate) wakers: Vec<Waker>,
    still: (Instant, u32),
}

/// Error of a call that names a node or link.
#[derive(Debug)]
pub(crate) enum TopologyError {
    Words(WordsError),
    Config(ConfigError),
    /// There is no such node; the second has the nearest name.
    NoNode(String, Option<String>),
    NoLink(String, String),
    SameNode(String),
    NoHost(String),
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            now: Instant::ZERO,
            nodes: Vec::new(),
            names: BTreeMap::new(),
            addresses: HashMap::new(),
            links: Vec::new(),
            ways: Vec::new(),
            way_times: EventSchedule::new(0),
            host_times: EventSchedule::new(0),
            routes: HashMap::new(),
            default_link: None,
            loopback_words: Words::read(LOOPBACK).unwrap_or_default(),
            hash: EventHash::default(),
            delivered: 0,
            time_limit: None,
            next_datagram: 0,
            observers: Observers::default(),
            filter: None,
            wakers: Vec::new(),
            still: (Instant::ZERO, 0),
        }
    }

    /// Hash of all deliveries so far: times, headers and payloads.
    pub(crate) fn hash(&self) -> u64 {
        self.hash.finish()
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.names.get(name).copied()
    }

    pub(crate) fn known(&self, name: &str) -> Result<u32, TopologyError> {
        let found = self.find(name);
        found.ok_or_else(|| {
            let known = self.names.keys().map(String::as_str);
            TopologyError::NoNode(name.to_owned(), nearest(name, known).map(str::to_owned))
        })
    }

    /// A host that was configured and never had a program, except `own`, and the host with a program
    /// whose name is nearest.
    pub(crate) fn configured_in_vain(&self, own: &str) -> Option<(String, Option<String>)> {
        let hosts = self.nodes.iter().filter_map(|node| {
            let host = node.host.as_deref()?;
            Some((node.name.as_str(), host))
        });
        let (name, _) = hosts
            .clone()
            .find(|(name, host)| host.is_configured && !host.has_program && *name != own)?;
        let others = hosts
            .filter(|(name, host)| host.has_program || *name == own)
            .map(|(other, _)| other);
        Some((name.to_owned(), nearest(name, others).map(str::to_owned)))
    }

    /// The node with that name; without one, a router is added.
    fn node(&mut self, name: &str) -> u32 {
        self.find(name).unwrap_or_else(|| {
            let number = self.nodes.len() as u32;
            self.nodes.push(Node {
                name: name.to_owned(),
                host: None,
                loopback: None,
            });
            self.names.insert(name.to_owned(), number);
            self.observers.add_node(name);
            self.host_times.grow(self.nodes.len());
            number
        })
    }

    /// Makes a node a host, if it is none.
    pub(crate) fn add_host(&mut self, name: &str) -> u32 {
        let node = self.node(name);
        if self.nodes[node as usize].host.is_none() {
            let host = Host::new(self.now, node, self.seed);
            for address in addresses_of(node) {
                self.addresses.insert(address, node);
            }
            self.nodes[node as usize].host = Some(Box::new(host));
        }
        node
    }

    pub(crate) fn host(&self, node: u32) -> Option<&Host> {
        self.nodes.get(node as usize)?.host.as_deref()
    }

    pub(crate) fn host_mut(&mut self, node: u32) -> Option<&mut Host> {
        self.nodes.get_mut(node as usize)?.host.as_deref_mut()
    }

    pub(crate) fn host_named(&mut self, name: &str) -> Result<&mut Host, TopologyError> {
        let node = self.known(name)?;
        let host = self.nodes[node as usize].host.as_deref_mut();
        host.ok_or_else(|| TopologyError::NoHost(name.to_owned()))
    }

    pub(crate) fn name_of(&self, node: u32) -> &str {
        &self.nodes[node as usize].name
    }

    /// The node with that address, as `from` sees it.
    pub(crate) fn node_at(&self, from: u32, address: IpAddr) -> Option<u32> {
        if address.is_loopback() {
            return Some(from);
        }
        self.addresses.get(&address).copied()
    }

    /// Adds a link, or replaces the words of the link between the same nodes.
    pub(crate) fn link(&mut self, a: &str, b: &str, text: &str) -> Result<(), TopologyError> {
        let words = Words::read(text)?;
        if a == b {
            return Err(TopologyError::SameNode(a.to_owned()));
        }
        let ends = [a, b].map(|name| self.node(name));
        if let Some((link, direction)) = self.link_between(ends[0], ends[1]) {
            return self.reconfigure(link, words.seen_from(direction));
        }
        self.add_link(ends, words)
    }

    fn add_link(&mut self, ends: [u32; 2], words: Words) -> Result<(), TopologyError> {
        let ways = self.add_ways(ends, &words)?;
        self.links.push(Link { ends, words, ways });
        self.routes.clear();
        Ok(())
    }

    fn add_ways(&mut self, ends: [u32; 2], words: &Words) -> Result<[usize; 2], TopologyError> {
        let hops = words.link()?;
        let first = self.ways.len();
        for (mut config, [from, to]) in hops.into_iter().zip([ends, [ends[1], ends[0]]]) {
            let way = self.ways.len();
            config.name = format!("{}-{}", self.name_of(from), self.name_of(to));
            if from == to {
                config.name = format!("{}-loopback-{}", self.name_of(from), way - first);
            }
            let hop = Hop::new(config, self.seed)?;
            let is_cut = false;
            self.ways.push(Way { hop, to, is_cut });
        }
        self.way_times.grow(self.ways.len());
        Ok([first, first + 1])
    }

    /// The link between two nodes, and the direction from `a` to `b`.
    fn link_between(&self, a: u32, b: u32) -> Option<(usize, usize)> {
        self.links.iter().enumerate().find_map(|(number, link)| {
            let direction = [[a, b], [b, a]].iter().position(|ends| *ends == link.ends);
            Some((number, direction?))
        })
    }

    /// The link between two nodes by name. Hosts without one get the default link, if there is one.
    fn link_named(&mut self, a: &str, b: &str) -> Result<(usize, usize), TopologyError> {
        let ends = [self.known(a)?, self.known(b)?];
        if self.link_between(ends[0], ends[1]).is_none()
            && self.route(ends[0], ends[1]).is_none()
            && let Some(words) = self.default_link.clone()
        {
            self.add_link(ends, words)?;
        }
        let found = self.link_between(ends[0], ends[1]);
        found.ok_or_else(|| TopologyError::NoLink(a.to_owned(), b.to_owned()))
    }

    /// Sets the words of links between hosts that have no route.
    pub(crate) fn set_default_link(&mut self, text: &str) -> Result<(), TopologyError> {
        let words = Words::read(text)?;
        words.link()?;
        self.default_link = Some(words);
        self.routes.clear();
        Ok(())
    }

    /// Sets the words of every host's loopback.
    pub(crate) fn set_loopback(&mut self, text: &str) -> Result<(), TopologyError> {
        let words = self.loopback_words.merged(&Words::read(text)?);
        self.reconfigure_loopbacks(words)
    }

    fn reconfigure_loopbacks(&mut self, words: Words) -> Result<(), TopologyError> {
        let configs = words.link()?;
        self.loopback_words = words;
        let loopbacks = self.nodes.iter().filter_map(|node| node.loopback);
        for ways in loopbacks.collect::<Vec<_>>() {
            self.apply(ways, configs.clone())?;
        }
        Ok(())
    }

    /// Merges words into those of a link; `None`: of all links, the default and the loopbacks.
    pub(crate) fn set(
        &mut self,
        between: Option<(&str, &str)>,
        text: &str,
    ) -> Result<(), TopologyError> {
        let words = Words::read(text)?;
        let Some((a, b)) = between else {
            return self.set_all(&words);
        };
        let (link, direction) = self.link_named(a, b)?;
        let merged = self.links[link].words.merged(&words.seen_from(direction));
        self.reconfigure(link, merged)
    }

    /// Checks the words with those of every link before it changes one.
    fn set_all(&mut self, words: &Words) -> Result<(), TopologyError> {
        let loopback = self.loopback_words.merged_where_possible(words)?;
        let default = self.default_link.as_ref().map(|link| link.merged(words));
        if let Some(default) = &default {
            default.link().map_err(|error| error.on("default link"))?;
        }
        let mut changes = Vec::with_capacity(self.links.len());
        for link in &self.links {
            let merged = link.words.merged(words);
            let [a, b] = link.ends.map(|end| self.name_of(end));
            let configs = merged
                .link()
                .map_err(|error| error.on(&format!("link {a}-{b}")))?;
            changes.push((merged, configs));
        }
        for (link, (words, configs)) in changes.into_iter().enumerate() {
            self.apply(self.links[link].ways, configs)?;
            self.links[link].words = words;
        }
        self.default_link = default;
        self.reconfigure_loopbacks(loopback)
    }

    /// Merges words into those of one direction of a link.
    pub(crate) fn set_one_way(
        &mut self,
        from: &str,
        to: &str,
        text: &str,
    ) -> Result<(), TopologyError> {
        let words = Words::read(text)?;
        let (link, direction) = self.link_named(from, to)?;
        let merged = self.links[link].words.merged(&words.one_way(direction));
        self.reconfigure(link, merged)
    }

    fn reconfigure(&mut self, link: usize, words: Words) -> Result<(), TopologyError> {
        let configs = words.link()?;
        let ways = self.links[link].ways;
        self.apply(ways, configs)?;
        self.links[link].words = words;
        Ok(())
    }

    fn apply(
        &mut self,
        ways: [usize; 2],
        configs: [gigatcp_path::HopConfig; 2],
    ) -> Result<(), TopologyError> {
        for (way, config) in ways.into_iter().zip(configs) {
            self.ways[way].hop.reconfigure(self.now, config)?;
            self.after_way(way);
        }
        Ok(())
    }

    /// Cuts or heals a link in the directions chosen: from `a` to `b`, and back.
    pub(crate) fn set_cut(
        &mut self,
        a: &str,
        b: &str,
        is_cut: bool,
        directions: [bool; 2],
    ) -> Result<(), TopologyError> {
        let (link, direction) = self.link_named(a, b)?;
        for (place, _) in directions.iter().enumerate().filter(|(_, chosen)| **chosen) {
            let way = self.links[link].ways[place ^ direction];
            self.ways[way].is_cut = is_cut;
        }
        Ok(())
    }

    /// Cuts or heals all links of a node.
    pub(crate) fn set_isolated(&mut self, name: &str, is_cut: bool) -> Result<(), TopologyError> {
        let node = self.known(name)?;
        let links = self.links.iter().filter(|link| link.ends.contains(&node));
        for way in links.flat_map(|link| link.ways).collect::<Vec<_>>() {
            self.ways[way].is_cut = is_cut;
        }
        Ok(())
    }

    /// Whether packets can get from one host to another.
    pub(crate) fn has_route(&mut self, from: u32, to: u32) -> bool {
        if from == to || self.route(from, to).is_some() {
            return true;
        }
        let are_hosts = [from, to].iter().all(|node| self.host(*node).is_some());
        match self.default_link.clone().filter(|_| are_hosts) {
            Some(words) => self.add_link([from, to], words).is_ok(),
            None => false,
        }
    }

    /// The first way from a node towards another.
    fn route(&mut self, from: u32, to: u32) -> Option<usize> {
        if let Some(known) = self.routes.get(&[from, to]) {
            return *known;
        }
        let found = self.search(from, to);
        self.routes.insert([from, to], found);
        found
    }

    /// Breadth-first search from the destination: the first node that reaches `from` is next.
    fn search(&self, from: u32, to: u32) -> Option<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = VecDeque::from([to]);
        seen[to as usize] = true;
        while let Some(at) = open.pop_front() {
            for link in self.links.iter().filter(|link| link.ends.contains(&at)) {
                let is_second = usize::from(link.ends[1] == at);
                let other = link.ends[1 - is_second];
                if other == from {
                    // Towards `at`: the second end is that of the forward way.
                    return Some(link.ways[1 - is_second]);
                }
                // Hosts do not forward.
                let is_router = self.nodes[other as usize].host.is_none();
                if is_router && !seen[other as usize] {
                    seen[other as usize] = true;
                    open.push_back(other);
                }
            }
        }
        None
    }

    /// The time of the next event.
    pub(crate) fn due(&self) -> Instant {
        self.way_times.first().0.min(self.host_times.first().0)
    }

    /// Processes the next event.
    pub(crate) fn act(&mut self) {
        let (way_due, way) = self.way_times.first();
        let (host_due, node) = self.host_times.first();
        self.now = self.now.max(way_due.min(host_due));
        self.still = match self.still {
            (at, steps) if at == self.now => (at, steps + 1),
            _ => (self.now, 0),
        };
        assert!(
            self.still.1 < MAX_STEPS_PER_INSTANT,
            "time stands still at {:?}",
            self.now
        );
        if way_due <= host_due {
            self.serve_way(way);
        } else {
            self.serve_host(node as u32);
        }
    }

    fn serve_way(&mut self, way: usize) {
        let to = self.ways[way].to;
        while let Some(packet) = self.ways[way].hop.poll_delivery(self.now) {
            self.arrive(to, packet);
        }
        self.after_way(way);
    }

    fn serve_host(&mut self, node: u32) {
        let now = self.now;
        if let Some(host) = self.host_mut(node) {
            host.endpoint.handle_timeout(now);
        }
        self.flush(node);
    }

    /// Handles a packet that has reached a node.
    fn arrive(&mut self, node: u32, mut packet: Packet) {
        if packet.to == node {
            return self.deliver(node, packet);
        }
        packet.fields.ttl = packet.fields.ttl.saturating_sub(1);
        if packet.fields.ttl == 0 {
            return self.answer(node, &packet, IcmpKind::TimeExceeded);
        }
        match self.route(node, packet.to) {
            Some(way) => self.enter(way, packet),
            None => self.answer(node, &packet, IcmpKind::NetworkUnreachable),
        }
    }

    /// Delivers a packet to its host.
    fn deliver(&mut self, node: u32, packet: Packet) {
        self.fingerprint(&packet);
        let now = self.now;
        let is_loopback = self.node_at(node, packet.endpoints.src()) == Some(node);
        let Some(host) = self.nodes[node as usize].host.as_deref_mut() else {
            return;
        };
        if !host.is_up {
            return;
        }
        self.delivered += 1;
        self.observers
            .on_packet(now, node, &packet, true, is_loopback);
        if let Some(unreachable) = host.handle(now, packet, &mut self.wakers) {
            self.answer(node, &unreachable, IcmpKind::PortUnreachable);
        }
        self.flush(node);
    }

    /// Sends an ICMP error about a packet to its sender.
    fn answer(&mut self, node: u32, about: &Packet, kind: IcmpKind) {
        let Some(icmp) = about.icmp(kind) else {
            return;
        };
        let Some(to) = self.node_at(node, about.endpoints.src()) else {
            return;
        };
        let answer = Packet {
            endpoints: about.endpoints.reversed(),
            to,
            fields: IpFields::default(),
            content: Content::Icmp(Box::new(icmp)),
        };
        self.send(node, answer);
    }

    /// Sends a packet from a node.
    pub(crate) fn send(&mut self, from: u32, mut packet: Packet) {
        if self.filter.is_none() {
            return self.forward(from, packet);
        }
        // The filter sees wire packets.
        while packet.wire_packets() > 1 {
            let front = packet.split_front(1);
            self.send_filtered(from, front);
        }
        self.send_filtered(from, packet);
    }

    fn send_filtered(&mut self, from: u32, packet: Packet) {
        let passes = match (&mut self.filter, packet.passing()) {
            (Some(Filter(filter)), Some(passing)) => filter(&passing),
            _ => true,
        };
        if passes {
            self.forward(from, packet);
        }
    }

    fn forward(&mut self, from: u32, packet: Packet) {
        let is_loopback = packet.to == from;
        self.observers
            .on_packet(self.now, from, &packet, false, is_loopback);
        let way = if is_loopback {
            self.loopback(from, &packet)
        } else {
            self.route(from, packet.to)
        };
        if let Some(way) = way {
            self.enter(way, packet);
        }
    }

    /// The loopback's way for a packet: one for each direction of a connection.
    fn loopback(&mut self, node: u32, packet: &Packet) -> Option<usize> {
        let direction = packet.loopback_direction();
        if let Some(ways) = self.nodes[node as usize].loopback {
            return Some(ways[direction]);
        }
        let words = self.loopback_words.clone();
        let ways = self.add_ways([node, node], &words).ok()?;
        self.nodes[node as usize].loopback = Some(ways);
        Some(ways[direction])
    }

    fn enter(&mut self, way: usize, packet: Packet) {
        let Way { hop, is_cut, .. } = &mut self.ways[way];
        if *is_cut {
            return;
        }
        hop.handle_arrival(self.now, packet);
        self.after_way(way);
    }

    /// Handles what a way has dropped, and sets its next time.
    fn after_way(&mut self, way: usize) {
        while let Some((packet, cause)) = self.ways[way].hop.poll_dropped() {
            if cause == DropCause::TooBig
                && let Some(mtu) = self.ways[way].hop.reported_mtu()
            {
                let mtu = u32::try_from(mtu.as_u64()).unwrap_or(u32::MAX);
                // The directions of a link have neighboring numbers.
                let from = self.ways[way ^ 1].to;
                self.answer(from, &packet, IcmpKind::TooBig { mtu });
            }
        }
        let due = self.ways[way].hop.poll_timeout();
        self.way_times
            .set(way, due.unwrap_or(Instant::FAR_FUTURE).max(self.now));
    }

    /// Sends what a host has to send, and wakes tasks that its events concern.
    pub(crate) fn flush(&mut self, node: u32) {
        let now = self.now;
        loop {
            let Some(host) = self.nodes[node as usize].host.as_deref_mut() else {
                return;
            };
            let Some((endpoints, segment)) = host.endpoint.poll_transmit(now) else {
                host.collect_events(&mut self.wakers);
                let due = host
                    .endpoint
                    .poll_timeout()
                    .unwrap_or(Instant::FAR_FUTURE)
                    .max(now);
                self.host_times.set(node as usize, due);
                return;
            };
            if !host.is_up {
                continue;
            }
            let fields = host.fields_of(endpoints, &segment);
            let Some(to) = self.node_at(node, endpoints.dst()) else {
                continue;
            };
            let content = Content::Segment(segment);
            self.send(
                node,
                Packet {
                    endpoints,
                    to,
                    fields,
                    content,
                },
            );
        }
    }

    /// Absorbs a delivery into the hash of the run.
    fn fingerprint(&mut self, packet: &Packet) {
        let [src, dst] = packet.ports();
        self.hash.absorb(self.now.as_nanos());
        self.hash
            .absorb(u64::from(packet.to) << 32 | u64::from(src) << 16 | u64::from(dst));
        packet.fingerprint(&mut self.hash);
    }
}

/// A seed for one purpose of one host.
pub(crate) fn derived_seed(seed: u64, node: u32, boot: u32) -> u64 {
    mix(seed ^ mix(u64::from(node) << 32 | u64::from(boot)))
}

impl From<WordsError> for TopologyError {
    fn from(error: WordsError) -> Self {
        Self::Words(error)
    }
}

impl From<ConfigError> for TopologyError {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}
