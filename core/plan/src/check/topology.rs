//! `[[node]]` and `[[link]]`: who is joined to whom, and the route of each flow.
//!
//! A flow goes from node to node over the fewest links, past the nodes of its `via`;
//! its ACKs take the same nodes back. Links stand one after the other as the plan has
//! them, the two directions of one together, so that equal plans give equal runs.

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_path::HopConfig;
use gigatcp_units::Duration;

use super::host::{self, Draft};
use super::path::{self, Hop, Settling};
use crate::diagnostic::{Diagnostic, Place};
use crate::keys;
use crate::model::{Ends, sum};
use crate::nearest::nearest;
use crate::reader::Reader;

/// What nodes and links of a plan come to.
#[derive(Default)]
pub(crate) struct Topology {
    /// Every node, those first that `[[node]]` declares.
    pub(crate) nodes: Vec<Node>,
    /// Every link in each direction.
    pub(crate) links: Vec<HopConfig>,
    /// Ends and routes of the flows of each `[[flow]]`; `None` where they are wrong.
    pub(crate) ends: Vec<Option<Ends>>,
    /// The longest round trip of an empty route.
    pub(crate) rtt: Duration,
}

/// A node.
pub(crate) struct Node {
    pub(crate) name: String,
    /// What `[[node]]` says of it as a host.
    pub(crate) draft: Option<Draft>,
    /// The link of its own.
    pub(crate) link: Option<HopConfig>,
}

/// One direction of a link.
struct Edge {
    from: usize,
    to: usize,
    hop: Hop,
}

/// The graph that plans describe.
struct Graph<'a> {
    plan: &'a Reader<'a>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
}

/// Returns what the plan says with `[[link]]`; `None` where it has none.
pub(crate) fn topology(plan: &Reader, flows: &[Reader], mtu: u32) -> Option<Topology> {
    if !plan.has("link") {
        if let Some(key) = ["node"].into_iter().find(|key| plan.has(key)) {
            let finding = Diagnostic::error(plan.place_of(key), "a node needs links");
            plan.findings().add(
                finding
                    .label("joined to nothing")
                    .hint("[[link]] with from, to, rate and delay"),
            );
        }
        return None;
    }
    for other in ["path"] {
        if plan.has(other) {
            plan.report_conflict(other, "link", "a plan is one path or nodes and links");
        }
    }
    let mut graph = Graph {
        plan,
        nodes: Vec::new(),
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
                let finding = Diagnostic::error(place, format!("two nodes are called `{name}`"));
                findings.add(finding.label("a second one"));
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
            let (Some(from), Some(to)) = (reader.name("from"), reader.name("to")) else {
                continue;
            };
            if from == to {
                let message = format!("a link from `{from}` to itself");
                let finding = Diagnostic::error(reader.place_of_value("to"), message);
                findings.add(finding.label("the same node as `from`"));
                continue;
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
                let hop = path::hop(&reader, &name).renamed(name);
                self.edges.push(Edge { from, to, hop });
            }
        }
    }

    /// The number of the node of that name, which may be a new one.
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

    /// Names select random streams, so links have one each.
    fn check_names(&self) {
        let mut seen: BTreeMap<&str, &Place> = BTreeMap::new();
        for edge in &self.edges {
            let (name, place) = (edge.hop.name(), edge.hop.name_place());
            if let Some(first) = seen.insert(name, place) {
                let message = format!("two links are called `{name}`");
                let finding = Diagnostic::error(place, message)
                    .label("a second one")
                    .related(first, "the first one");
                self.plan
                    .findings()
                    .add(finding.hint("name = \"...\" for one of them"));
            }
        }
    }

    /// A node that is declared and on no link is hardly meant so.
    fn check_use(&self, ends: &[Option<Ends>]) {
        let declared = self.nodes.iter().enumerate();
        for (number, node) in declared.filter(|(_, node)| node.draft.is_some()) {
            let ended = ends.iter().flatten();
            let mut ended = ended.flat_map(|ends| [ends.from, ends.to]);
            if !ended.any(|end| end == number) {
                let message = format!("no flow begins or ends at `{}`", node.name);
                let finding = Diagnostic::warning(self.plan.place_of("node"), message);
                self.plan.findings().add(
                    finding
                        .label("a node that only forwards needs no [[node]]")
                        .effect("what is said of it as a host has no effect"),
                );
            }
        }
    }

    /// Ends and routes of a flow.
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
            let finding = Diagnostic::error(flow.place_of_value("to"), message);
            let finding = finding.label("the same node as `from`");
            flow.findings().add(finding.hint("two different nodes"));
            return None;
        }
        let past = flow.texts("via");
        let past = past.iter().map(|name| self.known(flow, "via", name));
        let past = past.collect::<Option<Vec<usize>>>()?;
        let forward = self.route(flow, from, &past, to)?;
        let back: Vec<usize> = past.into_iter().rev().collect();
        let reverse = self.route(flow, to, &back, from)?;
        let passed = forward.iter().map(|link| self.edges[*link].to);
        Some(Ends {
            from,
            to,
            nodes: [from].into_iter().chain(passed).collect(),
            forward,
            reverse,
        })
    }

    /// The node of that name, which `key` of a flow says.
    fn known(&self, flow: &Reader, key: &str, name: &str) -> Option<usize> {
        let found = self.nodes.iter().position(|node| node.name == name);
        if found.is_none() {
            let names = self.nodes.iter().map(|node| node.name.as_str());
            let near = nearest(name, names).map(|near| format!("\"{near}\""));
            let message = format!("there is no node `{name}`");
            flow.findings().add(
                Diagnostic::error(flow.place_of_value(key), message)
                    .label("no link begins or ends there")
                    .nearest(near)
                    .hint("[[link]] with from and to"),
            );
        }
        found
    }

    /// The links from `from` past the nodes of `past` to `to`.
    fn route(&self, flow: &Reader, from: usize, past: &[usize], to: usize) -> Option<Vec<usize>> {
        let mut links = Vec::new();
        let mut visited = vec![from];
        let mut at = from;
        for next in past.iter().copied().chain([to]) {
            let Some(leg) = self.fewest(at, next) else {
                let [at, next] = [at, next].map(|node| self.nodes[node].name.as_str());
                let message =
                    format!("the route does not arrive: no links lead from `{at}` to `{next}`");
                let finding = Diagnostic::error(flow.place_of("to"), message);
                let finding = finding.label("nothing would ever be received");
                flow.findings().add(finding.hint("a [[link]] between them"));
                return None;
            };
            visited.extend(leg.iter().map(|link| self.edges[*link].to));
            links.extend(leg);
            at = next;
        }
        let repeated =
            (1..visited.len()).find(|place| visited[..*place].contains(&visited[*place]));
        if let Some(place) = repeated {
            let name = &self.nodes[visited[place]].name;
            let message = format!("the route is a loop: it comes to `{name}` twice");
            let finding = Diagnostic::error(flow.place_of("via"), message);
            flow.findings()
                .add(finding.label("nodes to go past, in their order"));
            return None;
        }
        Some(links)
    }

    /// The fewest links from one node to another; of equals those that stand first.
    fn fewest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut reached: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut open = VecDeque::from([from]);
        while let Some(node) = open.pop_front() {
            for (number, edge) in self.edges.iter().enumerate() {
                if edge.from == node && edge.to != from && reached[edge.to].is_none() {
                    reached[edge.to] = Some(number);
                    open.push_back(edge.to);
                }
            }
        }
        let mut links = Vec::new();
        let mut at = to;
        while at != from {
            let link = reached[at]?;
            links.push(link);
            at = self.edges[link].from;
        }
        links.reverse();
        Some(links)
    }

    /// The delays of a route there and back, with the links of its ends.
    fn round_trip(&self, ends: &Ends) -> Duration {
        let links = ends.forward.iter().chain(&ends.reverse);
        let links = links.map(|link| self.edges[*link].hop.delay());
        let own = [ends.from, ends.to].into_iter().filter_map(|node| {
            let draft = self.nodes[node].draft.as_ref()?;
            Some(draft.link.as_ref()?.delay())
        });
        sum(links.chain(own))
    }

    /// Everything with its queues settled: those that are as large as a BDP go by the
    /// longest round trip that crosses them.
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
        let of_links: Vec<Duration> = (0..self.edges.len()).map(of_link).collect();
        let settling = |rtt| Settling {
            rtt,
            mtu,
            carries_data: true,
            findings: self.plan.findings(),
        };
        let links = self.edges.into_iter().zip(of_links);
        let links = links
            .map(|(edge, rtt)| settling(rtt).settle(edge.hop))
            .collect();
        let nodes = self.nodes.into_iter().map(|mut node| {
            let link = node.draft.as_mut().and_then(|draft| draft.link.take());
            node.link = link.map(|link| settling(rtt).settle(link));
            node
        });
        Topology {
            nodes: nodes.collect(),
            links,
            ends: ends.clone(),
            rtt,
        }
    }
}

/// Flows of a plan with one path have no ends to choose.
pub(crate) fn check_no_ends(flows: &[Reader]) {
    for flow in flows {
        for key in ["from", "to", "via"]
            .into_iter()
            .filter(|key| flow.has(key))
        {
            let message = format!("`{key}` has no meaning in a plan without [[link]]");
            let finding = Diagnostic::error(flow.place_of(key), message);
            flow.findings().add(
                finding
                    .label("every flow goes from `sender` to `receiver`")
                    .hint("[[link]] with from and to in place of [path]".to_owned()),
            );
        }
    }
}
