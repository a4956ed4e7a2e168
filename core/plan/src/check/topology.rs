//! Reads `[[node]]` and `[[link]]`: the topology and the route of each flow.
//!
//! A flow takes the fewest links from node to node, past the nodes of its `via`. Its ACKs return
//! through the same nodes, or through those of `via_reverse`. Links are numbered in the order of
//! the plan, the two directions of one in succession, with the stations of media behind them. Equal
//! plans thus give equal runs.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_path::{HopConfig, SharedMediumConfig};
use gigatcp_units::Duration;

use super::ethernet;
use super::host::{self, Draft};
use super::path::{self, Hop, QueueLimitContext};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::ValueKind;
use crate::keys;
use crate::model::{Ends, Ethernet, sum};
use crate::nearest::nearest;
use crate::reader::Reader;

/// Nodes, links and routes of a plan.
#[derive(Default)]
pub(crate) struct Topology {
    /// Every node, those of `[[node]]` first.
    pub(crate) nodes: Vec<Node>,
    /// Every link in each direction.
    pub(crate) links: Vec<HopConfig>,
    /// Every medium, with a station for each node on it.
    pub(crate) media: Vec<SharedMediumConfig>,
    /// Ends and routes of the flows of each `[[flow]]`. `None` if they are wrong.
    pub(crate) ends: Vec<Option<Ends>>,
    /// The longest RTT of an empty route.
    pub(crate) rtt: Duration,
}

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    /// Host that `[[node]]` describes, if any.
    pub(crate) draft: Option<Draft>,
    /// Its access link.
    pub(crate) link: Option<HopConfig>,
}

/// One direction of a link, or a station of a medium.
struct Edge {
    from: usize,
    /// Nodes that it leads to; from a station, every other node on the medium.
    to: Vec<usize>,
}

/// A medium and the nodes on it.
struct Medium {
    ethernet: Ethernet,
    nodes: Vec<usize>,
    name_place: Place,
}

/// Keys and texts for one direction of a flow.
#[derive(Clone, Copy)]
struct Direction {
    /// The key that lists the nodes it passes.
    key: &'static str,
    name: &'static str,
    /// Effect on the flow if the route does not arrive.
    effect: &'static str,
}

const FORWARD: Direction = Direction {
    key: "via",
    name: "route",
    effect: "nothing would ever be received",
};

const REVERSE: Direction = Direction {
    key: "via_reverse",
    name: "reverse route",
    effect: "no ACK would ever be received",
};

/// Graph of nodes, links and media while a plan is read.
struct Graph<'a> {
    plan: &'a Reader<'a>,
    nodes: Vec<Node>,
    hops: Vec<Hop>,
    media: Vec<Medium>,
    /// Edges of hops, in their order, and behind them those of stations.
    edges: Vec<Edge>,
}

/// Reads the topology of a plan with `[[link]]`. `None` without `[[link]]`.
pub(crate) fn topology(plan: &Reader, flows: &[Reader], mtu: u32) -> Option<Topology> {
    if !plan.has("link") {
        if plan.has("node") {
            Diagnostic::error(plan.place_of("node"), "a node needs links")
                .label("joined to nothing")
                .hint("[[link]] with from, to, rate and delay")
                .report(plan.findings());
        }
        return None;
    }
    if plan.has("path") {
        plan.report_conflict("path", "link", "a plan is one path or nodes and links");
    }
    let mut graph = Graph {
        plan,
        nodes: Vec::new(),
        hops: Vec::new(),
        media: Vec::new(),
        edges: Vec::new(),
    };
    graph.read_nodes();
    graph.read_links();
    graph.check_names();
    let ends: Vec<Option<Ends>> = flows.iter().map(|flow| graph.ends(flow)).collect();
    graph.check_use(&ends);
    Some(graph.settled(ends, mtu))
}

impl Graph<'_> {
    fn read_nodes(&mut self) {
        let findings = self.plan.findings();
        for value in self.plan.tables("node").unwrap_or(&[]) {
            let Some(reader) = Reader::of_value(&keys::NODE, value, findings) else {
                continue;
            };
            let Some(name) = reader.name("name") else {
                continue;
            };
            if self.nodes.iter().any(|node| node.name == name) {
                let place = reader.place_of_value("name");
                Diagnostic::error(place, format!("two nodes are called `{name}`"))
                    .label("a second one")
                    .report(findings);
            }
            let draft = host::read(&reader, &name);
            self.nodes.push(Node {
                name,
                draft: Some(draft),
                link: None,
            });
        }
    }

    fn read_links(&mut self) {
        let findings = self.plan.findings();
        for value in self.plan.tables("link").unwrap_or(&[]) {
            let Some(reader) = Reader::of_value(&keys::LINK, value, findings) else {
                continue;
            };
            if reader.has("nodes") || reader.has("ethernet") {
                self.read_medium(&reader);
            } else {
                self.read_link(&reader);
            }
        }
        for medium in &self.media {
            self.edges.extend(medium.nodes.iter().map(|from| {
                Edge {
                    from: *from,
                    to: medium
                        .nodes
                        .iter()
                        .copied()
                        .filter(|to| to != from)
                        .collect(),
                }
            }));
        }
    }

    /// Reads a link between two nodes.
    fn read_link(&mut self, reader: &Reader) {
        let [from, to] = ["from", "to"].map(|key| {
            if !reader.has(key) {
                reader.report_missing(keys::LINK.find(key)?);
            }
            reader.name(key)
        });
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        if from == to {
            let message = format!("a link from `{from}` to itself");
            Diagnostic::error(reader.place_of_value("to"), message)
                .label("the same node as `from`")
                .report(reader.findings());
            return;
        }
        let [from, to] = [from, to].map(|name| self.node(name));
        let named = reader.name("name");
        let is_one_way = reader.flag("one_way").unwrap_or(false);
        for (from, to, is_back) in [(from, to, false), (to, from, true)] {
            if is_back && is_one_way {
                continue;
            }
            let name = match &named {
                Some(name) if is_back => format!("{name}-reverse"),
                Some(name) => name.clone(),
                None => format!("{}-{}", self.nodes[from].name, self.nodes[to].name),
            };
            self.hops.push(path::hop(reader, &name).renamed(name));
            self.edges.push(Edge { from, to: vec![to] });
        }
    }

    /// Reads an Ethernet and the nodes on it.
    fn read_medium(&mut self, reader: &Reader) {
        let needs = ["nodes", "ethernet"].into_iter();
        for key in needs.filter(|key| !reader.has(key)) {
            if let Some(key) = keys::LINK.find(key) {
                reader.report_missing(key);
            }
        }
        let own = ["nodes", "ethernet", "name"];
        let others = reader
            .entries()
            .map(|entry| entry.key.as_str())
            .filter(|key| keys::LINK.find(key).is_some() && !own.contains(key));
        for other in others {
            let why = "an Ethernet is the whole link, for all its nodes";
            reader.report_conflict(other, "ethernet", why);
        }
        let names = reader.texts("nodes");
        let listed = reader.value("nodes").map(|value| &value.kind);
        if !matches!(listed, Some(ValueKind::Array(_))) {
            return;
        }
        let place = reader.place_of_value("nodes");
        let twice = (1..names.len()).find(|place| names[..*place].contains(&names[*place]));
        if let Some(repeated) = twice {
            let message = format!("`{}` is on the Ethernet twice", names[repeated]);
            Diagnostic::error(place, message)
                .label("a node has one station")
                .hint("each node once")
                .report(reader.findings());
            return;
        }
        if names.len() < 2 {
            Diagnostic::error(place, "an Ethernet joins two nodes or more")
                .label("nothing to send to")
                .hint("nodes = [\"a\", \"b\"]")
                .report(reader.findings());
            return;
        }
        let name = reader.name("name").unwrap_or_else(|| names.join("-"));
        let nodes = names.into_iter().map(|name| self.node(name)).collect();
        if let Some(ethernet) = ethernet::medium(reader, name) {
            self.media.push(Medium {
                ethernet,
                nodes,
                name_place: reader.place_of_value("name").clone(),
            });
        }
    }

    /// Returns the index of the node with that name, and adds it if missing.
    fn node(&mut self, name: String) -> usize {
        let known = self.nodes.iter().position(|node| node.name == name);
        known.unwrap_or_else(|| {
            self.nodes.push(Node {
                name,
                draft: None,
                link: None,
            });
            self.nodes.len() - 1
        })
    }

    /// Checks that links have unique names, since names select random streams.
    fn check_names(&self) {
        let mut seen: BTreeMap<&str, &Place> = BTreeMap::new();
        let hops = self.hops.iter().map(|hop| (hop.name(), hop.name_place()));
        let media = self
            .media
            .iter()
            .map(|medium| (medium.ethernet.medium.name.as_str(), &medium.name_place));
        for (name, place) in hops.chain(media) {
            if let Some(first) = seen.insert(name, place) {
                let message = format!("two links are called `{name}`");
                Diagnostic::error(place, message)
                    .label("a second one")
                    .related(first, "the first one")
                    .hint("name = \"...\" for one of them")
                    .report(self.plan.findings());
            }
        }
    }

    /// Warns about a declared node without a link or flow.
    fn check_use(&self, ends: &[Option<Ends>]) {
        let declared = self.nodes.iter().enumerate();
        for (number, node) in declared.filter(|(_, node)| node.draft.is_some()) {
            let mut ended = ends.iter().flatten().flat_map(|ends| [ends.from, ends.to]);
            if !ended.any(|end| end == number) {
                let message = format!("no flow begins or ends at `{}`", node.name);
                Diagnostic::warning(self.plan.place_of("node"), message)
                    .label("a node that only forwards needs no [[node]]")
                    .effect("its host settings have no effect")
                    .report(self.plan.findings());
            }
        }
    }

    fn ends(&self, flow: &Reader) -> Option<Ends> {
        let [from, to] = ["from", "to"].map(|key| {
            if !flow.has(key) {
                flow.report_missing(keys::FLOW.find(key)?);
            }
            self.known(flow, key, &flow.name(key)?)
        });
        let (from, to) = (from?, to?);
        if from == to {
            let message = format!("`{}` is its own peer", self.nodes[from].name);
            Diagnostic::error(flow.place_of_value("to"), message)
                .label("the same node as `from`")
                .hint("two different nodes")
                .report(flow.findings());
            return None;
        }
        let past = self.past(flow, FORWARD)?;
        let (forward, nodes) = self.route(flow, FORWARD, from, &past, to)?;
        let (back, direction) = match flow.has(REVERSE.key) {
            true => (self.past(flow, REVERSE)?, REVERSE),
            false => (past.into_iter().rev().collect(), FORWARD),
        };
        let (reverse, _) = self.route(flow, direction, to, &back, from)?;
        Some(Ends {
            from,
            to,
            nodes,
            forward,
            reverse,
        })
    }

    /// Nodes that the key of a direction lists.
    fn past(&self, flow: &Reader, direction: Direction) -> Option<Vec<usize>> {
        let names = flow.texts(direction.key);
        let nodes = names
            .iter()
            .map(|name| self.known(flow, direction.key, name));
        nodes.collect()
    }

    /// Index of the node with that name, which `key` of a flow contains.
    fn known(&self, flow: &Reader, key: &str, name: &str) -> Option<usize> {
        let found = self.nodes.iter().position(|node| node.name == name);
        if found.is_none() {
            let names = self.nodes.iter().map(|node| node.name.as_str());
            let near = nearest(name, names).map(|near| format!("\"{near}\""));
            let message = format!("there is no node `{name}`");
            Diagnostic::error(flow.place_of_value(key), message)
                .label("no link begins or ends there")
                .nearest(near)
                .hint("[[link]] with from and to")
                .report(flow.findings());
        }
        found
    }

    /// Links from `from` past the nodes of `past` to `to`, and all nodes.
    fn route(
        &self,
        flow: &Reader,
        direction: Direction,
        from: usize,
        past: &[usize],
        to: usize,
    ) -> Option<(Vec<usize>, Vec<usize>)> {
        let Direction { key, name, effect } = direction;
        let mut links = Vec::new();
        let mut visited = vec![from];
        let mut at = from;
        for next in past.iter().copied().chain([to]) {
            let Some(leg) = self.fewest(at, next) else {
                let [at, next] = [at, next].map(|node| self.nodes[node].name.as_str());
                let message =
                    format!("the {name} does not arrive: no links lead from `{at}` to `{next}`");
                let place = match direction.key == REVERSE.key {
                    true => flow.place_of(key),
                    false => flow.place_of("to"),
                };
                Diagnostic::error(place, message)
                    .label("no way there")
                    .effect(effect)
                    .hint("a [[link]] between them")
                    .report(flow.findings());
                return None;
            };
            for (link, to) in leg {
                links.push(link);
                visited.push(to);
            }
            at = next;
        }
        let repeated =
            (1..visited.len()).find(|place| visited[..*place].contains(&visited[*place]));
        if let Some(place) = repeated {
            let node = &self.nodes[visited[place]].name;
            let message = format!("the {name} is a loop: it comes to `{node}` twice");
            let hint = format!("{key} without `{node}`, or in another order");
            Diagnostic::error(flow.place_of(key), message)
                .label("nodes to go past, in their order")
                .effect("packets would cross a link twice")
                .hint(hint)
                .report(flow.findings());
            return None;
        }
        Some((links, visited))
    }

    /// Shortest route as links, each with the node it leads to. Among equal routes the earlier
    /// links win, media last.
    fn fewest(&self, from: usize, to: usize) -> Option<Vec<(usize, usize)>> {
        let mut reached: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            let edges = self.edges.iter().enumerate();
            for (number, edge) in edges.filter(|(_, edge)| edge.from == node) {
                for to in edge.to.iter().copied().filter(|to| *to != from) {
                    if reached[to].is_none() {
                        reached[to] = Some(number);
                        open.push_back(to);
                    }
                }
            }
        }
        let mut links = Vec::new();
        let mut at = to;
        while at != from {
            let link = reached[at]?;
            links.push((link, at));
            at = self.edges[link].from;
        }
        links.reverse();
        Some(links)
    }

    /// Delay of a link, or of the medium of a station.
    fn delay(&self, link: usize) -> Duration {
        let station = link.checked_sub(self.hops.len());
        let Some(station) = station else {
            return self.hops[link].delay();
        };
        let media = self.media.iter();
        let mut stations = media.flat_map(|medium| medium.nodes.iter().map(move |_| medium));
        let medium = stations.nth(station);
        medium.map_or(Duration::ZERO, |medium| medium.ethernet.medium.delay)
    }

    /// Sum of a route's delays in both directions, access links of its ends included.
    fn round_trip(&self, ends: &Ends) -> Duration {
        let links = ends
            .forward
            .iter()
            .chain(&ends.reverse)
            .map(|link| self.delay(*link));
        let own = [ends.from, ends.to].into_iter().filter_map(|node| {
            let draft = self.nodes[node].draft.as_ref()?;
            Some(draft.link.as_ref()?.delay())
        });
        sum(links.chain(own))
    }

    /// Topology with all queue limits computed. A limit in BDP uses the longest RTT of the routes
    /// that cross the link.
    fn settled(self, ends: Vec<Option<Ends>>, mtu: u32) -> Topology {
        let trips: Vec<(&Ends, Duration)> = ends
            .iter()
            .flatten()
            .map(|ends| (ends, self.round_trip(ends)))
            .collect();
        let longest = |crosses: &dyn Fn(&Ends) -> bool| {
            let crossing = trips.iter().filter(|(ends, _)| crosses(ends));
            crossing.map(|(_, trip)| *trip).max().unwrap_or_default()
        };
        let rtt = longest(&|_| true);
        let of_link =
            |link| longest(&|ends| ends.forward.contains(&link) || ends.reverse.contains(&link));
        let of_links: Vec<Duration> = (0..self.hops.len()).map(of_link).collect();
        let context = |rtt| QueueLimitContext {
            rtt,
            mtu,
            carries_data: true,
            findings: self.plan.findings(),
        };
        let links = self.hops.into_iter().zip(of_links);
        let links = links
            .map(|(hop, rtt)| context(rtt).with_limits(hop))
            .collect();
        let begins = |node: &usize| ends.iter().flatten().any(|ends| ends.from == *node);
        let media = self
            .media
            .into_iter()
            .map(|medium| {
                let recovery = |node| medium.ethernet.recoveries[usize::from(!begins(node))];
                SharedMediumConfig {
                    recoveries: medium.nodes.iter().map(recovery).collect(),
                    ..medium.ethernet.medium
                }
            })
            .collect();
        let nodes = self.nodes.into_iter().map(|mut node| {
            let link = node.draft.as_mut().and_then(|draft| draft.link.take());
            node.link = link.map(|link| context(rtt).with_limits(link));
            node
        });
        Topology {
            nodes: nodes.collect(),
            links,
            media,
            ends: ends.clone(),
            rtt,
        }
    }
}

/// Rejects node keys of flows in a plan with one path.
pub(crate) fn check_no_ends(flows: &[Reader]) {
    for flow in flows {
        for key in ["from", "to", FORWARD.key, REVERSE.key]
            .into_iter()
            .filter(|key| flow.has(key))
        {
            let message = format!("`{key}` has no meaning in a plan without [[link]]");
            Diagnostic::error(flow.place_of(key), message)
                .label("every flow goes from `sender` to `receiver`")
                .hint("[[link]] with from and to in place of [path]".to_owned())
                .report(flow.findings());
        }
    }
}
