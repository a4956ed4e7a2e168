//! A checked plan as it is shown: the same facts as text and as JSON.

mod hop;

use gigatcp_path::CpuCosts;
use gigatcp_plan::{Flow, Host, Node, Plan, Scenario, Series, Stop};
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Bytes, Duration};
use serde::Serialize;

use self::hop::HopView;
use super::processor;
use crate::output::counted;
use crate::profiles;

/// Series that are shown unless all are wanted.
const MOST_ROWS: usize = 8;

/// Stands for what is not there.
const NONE: &str = "-";

/// A plan.
#[derive(Serialize, Debug)]
pub(super) struct PlanView {
    name: String,
    title: String,
    claims: Vec<String>,
    seed: u64,
    repeat: u32,
    series: Vec<SeriesView>,
}

/// A series.
#[derive(Serialize, Debug)]
struct SeriesView {
    name: String,
    title: String,
    fitted: Vec<String>,
    fit_of: Option<String>,
    base_rtt_ns: u64,
    duration_ns: u64,
    flows: Vec<FlowView>,
    data_path: Vec<HopView>,
    ack_path: Vec<HopView>,
    /// Links between nodes, where the plan has them in place of a path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links: Vec<HopView>,
    /// Nodes at which flows begin or end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeView>,
    /// Route of each flow over the links.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<RouteView>,
    sender: HostView,
    receiver: HostView,
}

/// A flow.
#[derive(Serialize, Debug)]
struct FlowView {
    name: String,
    start_ns: u64,
    bytes: Option<u64>,
    duration_ns: Option<u64>,
    #[serde(flatten)]
    kind: FlowKind,
}

/// Settings of a flow; flows with equal settings share a line.
#[derive(Serialize, PartialEq, Eq, Debug)]
struct FlowKind {
    congestion_control: String,
    initial_ssthresh: Option<u32>,
    /// Name in plans; "usual" is the default of the congestion control or of the profile.
    slow_start: &'static str,
    max_ssthresh: Option<u32>,
    /// `None`: no buffer is requested.
    send_buffer_bytes: Option<u64>,
    receive_buffer_bytes: Option<u64>,
    /// Buffers that the hosts grant for these requests; also in a connection's `info`.
    granted_send_buffer_bytes: Option<u64>,
    granted_receive_buffer_bytes: Option<u64>,
}

/// A node that is a host.
#[derive(Serialize, PartialEq, Debug)]
struct NodeView {
    name: String,
    host: HostView,
}

/// Route of a flow over nodes and links.
#[derive(Serialize, Clone, PartialEq, Debug)]
struct RouteView {
    flow: String,
    /// Nodes of the forward path, both ends included.
    nodes: Vec<String>,
    /// Links of the forward path.
    links: Vec<String>,
    /// Links of the reverse path.
    reverse_links: Vec<String>,
    /// Sum of the delays of these links.
    base_rtt_ns: u64,
}

/// A host.
#[derive(Serialize, PartialEq, Debug)]
struct HostView {
    /// Stack of the host: engine or kernel.
    stack: &'static str,
    profile: &'static str,
    mtu_bytes: u32,
    has_cpu_costs: bool,
    /// Cost of each operation, as the plan writes it.
    costs: Vec<String>,
    /// Number of CPUs and queues, polling, and bounds of the receive path.
    sharing: Vec<String>,
    /// Mean interval between CPU steals, and their mean duration.
    steal_ns: Option<[u64; 2]>,
    coalesce_ns: u64,
    coalesce_packets: Option<u32>,
    /// Settings that differ from the profile, as the plan writes them.
    settings: Vec<String>,
}

impl PlanView {
    /// Returns the view of `plan`.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            claims: plan.claims.clone(),
            seed: plan.seed,
            repeat: plan.repeat.unwrap_or(1),
            series: plan.series.iter().map(SeriesView::of).collect(),
        }
    }

    /// Returns a line per series, then paths and hosts: the first, or in full all.
    pub(super) fn text(&self, is_full: bool) -> String {
        let title = if self.title == self.name {
            String::new()
        } else {
            format!(": {}", gigatcp_report::escape::terminal(&self.title))
        };
        let mut text = format!(
            "{}{title}\n{} series, {} each, seed {}\n\n",
            self.name,
            self.series.len(),
            counted(self.repeat.into(), "run"),
            self.seed,
        );
        text.push_str(&self.series_text(is_full));
        let all = self.environment();
        let shown = if is_full { all.len() } else { 1 };
        for (names, environment) in all.iter().take(shown) {
            let whose = match names[..] {
                _ if names.len() == self.series.len() => "all series".to_owned(),
                [first, ..] if !is_full && names.len() > 3 => {
                    format!("{first} and {} more", names.len() - 1)
                }
                _ => names.join(", "),
            };
            text.push_str(&format!("\npath and hosts of {whose}\n{environment}"));
        }
        if all.len() > shown {
            let others = all.len() - shown;
            text.push_str(&format!(
                "\nother paths or hosts: {others} more; -v shows all\n"
            ));
        }
        text
    }

    fn series_text(&self, is_full: bool) -> String {
        let columns = [Left, Right, Left, Right, Right, Right, Left, Left];
        let mut cells = vec![line([
            "series",
            "flows",
            "congestion control",
            "initial ssthresh",
            "send buffer",
            "receive buffer",
            "starts",
            "sends",
        ])];
        for series in &self.series {
            cells.extend(series.lines());
        }
        let left_out = match is_full {
            true => 0,
            false => cells.len().saturating_sub(MOST_ROWS + 1),
        };
        cells.truncate(cells.len() - left_out);
        let more = match left_out {
            0 => String::new(),
            rows => format!("{rows} more rows: -v\n"),
        };
        grid(&columns, &cells) + &more
    }

    /// Distinct paths and hosts, each with the names of its series.
    fn environment(&self) -> Vec<(Vec<&str>, String)> {
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for series in &self.series {
            let text = series.environment();
            match groups.iter_mut().find(|(_, known)| *known == text) {
                Some((names, _)) => names.push(&series.name),
                None => groups.push((vec![&series.name], text)),
            }
        }
        groups
    }
}

impl SeriesView {
    fn of(series: &Series) -> Self {
        let scenario = &series.scenario;
        let Scenario {
            sender, receiver, ..
        } = scenario;
        let data = sender.link.iter().chain(&scenario.forward);
        let acks = receiver.link.iter().chain(&scenario.reverse);
        let shared = scenario.ethernet.as_ref().map(HopView::of_ethernet);
        Self {
            name: series.name.clone(),
            title: series.title.clone(),
            fitted: series.fitted.clone(),
            fit_of: series.fit_of.clone(),
            base_rtt_ns: scenario.base_rtt().as_nanos(),
            duration_ns: scenario.duration.as_nanos(),
            flows: scenario
                .flows
                .iter()
                .map(|flow| FlowView::of(flow, scenario.hosts_of(flow)))
                .collect(),
            data_path: data.map(HopView::of).chain(shared.clone()).collect(),
            ack_path: acks.map(HopView::of).chain(shared).collect(),
            nodes: NodeView::all(scenario),
            links: (scenario.links.iter().map(HopView::of))
                .chain(scenario.media.iter().map(HopView::of_shared))
                .collect(),
            routes: scenario
                .flows
                .iter()
                .filter_map(|flow| RouteView::of(scenario, flow))
                .collect(),
            sender: HostView::of(sender),
            receiver: HostView::of(receiver),
        }
    }

    /// A line for every kind of flow.
    fn lines(&self) -> Vec<Vec<String>> {
        let mut kinds: Vec<(&FlowKind, Vec<&FlowView>)> = Vec::new();
        for flow in &self.flows {
            match kinds.iter_mut().find(|(kind, _)| **kind == flow.kind) {
                Some((_, flows)) => flows.push(flow),
                None => kinds.push((&flow.kind, vec![flow])),
            }
        }
        let names = std::iter::once(self.name.as_str()).chain(std::iter::repeat(""));
        let lines = names.zip(&kinds).map(|(name, (kind, flows))| {
            let mut cells = vec![name.to_owned(), flows.len().to_string()];
            cells.extend(kind.cells());
            let starts = flows.iter().map(|flow| Duration::from_nanos(flow.start_ns));
            cells.push(span(starts).unwrap_or_else(|| NONE.to_owned()));
            cells.push(stops(flows));
            cells
        });
        lines.collect()
    }

    /// Path and hosts.
    fn environment(&self) -> String {
        let columns = [Left, Left, Right, Right, Right, Right, Left];
        let mut cells = vec![line([
            "direction",
            "element",
            "rate",
            "per packet",
            "delay",
            "queue",
            "other settings",
        ])];
        let ways = [
            ("data", &self.data_path),
            ("ACKs", &self.ack_path),
            ("link", &self.links),
        ];
        for (way, hops) in ways {
            cells.extend(hops.iter().map(|hop| hop.cells(way)));
        }
        let path = indented(&grid(&columns, &cells));
        if self.routes.is_empty() {
            let rtt = Duration::from_nanos(self.base_rtt_ns);
            return format!("  base RTT {rtt}\n{path}{}", self.hosts_text());
        }
        format!("{}{path}{}", self.routes_text(), self.hosts_text())
    }

    /// A line for each route.
    fn routes_text(&self) -> String {
        let mut ways: Vec<(&RouteView, Vec<&str>)> = Vec::new();
        for route in &self.routes {
            let is_same = |known: &RouteView| {
                (&known.links, &known.reverse_links) == (&route.links, &route.reverse_links)
            };
            match ways.iter_mut().find(|(known, _)| is_same(known)) {
                Some((_, flows)) => flows.push(&route.flow),
                None => ways.push((route, vec![&route.flow])),
            }
        }
        let line = |(route, flows): &(&RouteView, Vec<&str>)| {
            let rtt = Duration::from_nanos(route.base_rtt_ns);
            let flows = match flows[..] {
                [first, .., last] if flows.len() > 3 => format!("{first} to {last}"),
                _ => flows.join(", "),
            };
            format!("  {flows}: {}, base RTT {rtt}\n", route.nodes.join(" -> "))
        };
        ways.iter().map(line).collect()
    }

    fn hosts_text(&self) -> String {
        let columns = [Left, Left, Right, Right, Left, Left];
        let heading = line([
            "host",
            "profile",
            "MTU",
            "coalescing",
            "CPU",
            "other settings",
        ]);
        let hosts = self.hosts().map(|(name, host)| host.cells(name));
        let cells: Vec<_> = std::iter::once(heading).chain(hosts).collect();
        indented(&grid(&columns, &cells)) + &self.costs_text()
    }

    /// The hosts with their names.
    fn hosts(&self) -> impl Iterator<Item = (&str, &HostView)> {
        let ends = [("sender", &self.sender), ("receiver", &self.receiver)];
        let nodes = self
            .nodes
            .iter()
            .map(|node| (node.name.as_str(), &node.host));
        ends.into_iter()
            .filter(|_| self.nodes.is_empty())
            .chain(nodes)
    }

    /// A line for each host with CPU costs.
    fn costs_text(&self) -> String {
        let costly = self.hosts().filter(|(_, host)| !host.costs.is_empty());
        costly
            .map(|(name, host)| format!("  costs of {name}: {}\n", host.costs.join(", ")))
            .collect()
    }
}

impl NodeView {
    fn all(scenario: &Scenario) -> Vec<Self> {
        let is_end = |number: usize| {
            let mut ends = scenario.flows.iter().filter_map(|flow| flow.ends.as_ref());
            ends.any(|ends| ends.from == number || ends.to == number)
        };
        let nodes = scenario
            .nodes
            .iter()
            .enumerate()
            .filter(|(number, _)| is_end(*number));
        let view = |(_, node): (usize, &Node)| Self {
            name: node.name.clone(),
            host: HostView::of(&node.host),
        };
        nodes.map(view).collect()
    }
}

impl RouteView {
    fn of(scenario: &Scenario, flow: &Flow) -> Option<Self> {
        let ends = flow.ends.as_ref()?;
        let names = |links: &[usize]| -> Vec<String> {
            links.iter().map(|link| scenario.link(*link).0).collect()
        };
        let node = |number: &usize| scenario.nodes[*number].name.clone();
        let both = ends.forward.iter().chain(&ends.reverse);
        let delays = both.map(|link| scenario.link(*link).1.as_nanos());
        Some(Self {
            flow: flow.name.clone(),
            nodes: ends.nodes.iter().map(node).collect(),
            links: names(&ends.forward),
            reverse_links: names(&ends.reverse),
            base_rtt_ns: delays.fold(0, u64::saturating_add),
        })
    }
}

impl FlowView {
    fn of(flow: &Flow, hosts: [&Host; 2]) -> Self {
        let (bytes, duration) = match flow.stop {
            Stop::Bytes(bytes) => (Some(bytes.as_u64()), None),
            Stop::After(span) => (None, Some(span.as_nanos())),
        };
        Self {
            name: flow.name.clone(),
            start_ns: flow.start.as_nanos(),
            bytes,
            duration_ns: duration,
            kind: FlowKind::of(flow, hosts),
        }
    }
}

impl FlowKind {
    fn of(flow: &Flow, [sender, receiver]: [&Host; 2]) -> Self {
        let granted_send = (flow.send_buffer)
            .map(|requested| sender.profile.send_buffer_for(Some(requested)).as_u64());
        let granted_receive = (flow.receive_buffer).map(|requested| {
            receiver
                .profile
                .receive_buffer_for(Some(requested))
                .as_u64()
        });
        Self {
            congestion_control: flow.congestion.name().to_owned(),
            initial_ssthresh: flow.initial_ssthresh,
            slow_start: flow.slow_start.name(),
            max_ssthresh: match flow.slow_start {
                SlowStart::Limited { max_ssthresh } => Some(max_ssthresh),
                _ => None,
            },
            send_buffer_bytes: flow.send_buffer.map(Bytes::as_u64),
            receive_buffer_bytes: flow.receive_buffer.map(Bytes::as_u64),
            granted_send_buffer_bytes: granted_send,
            granted_receive_buffer_bytes: granted_receive,
        }
    }

    fn cells(&self) -> [String; 4] {
        let opens = match (self.slow_start, self.max_ssthresh) {
            ("usual", _) => String::new(),
            (name, None) => format!(", {name} slow start"),
            (name, Some(segments)) => format!(", {name} slow start {segments}"),
        };
        [
            format!("{}{opens}", self.congestion_control),
            match self.initial_ssthresh {
                None => "default".to_owned(),
                Some(0) => "none".to_owned(),
                Some(segments) => segments.to_string(),
            },
            buffer_text(self.send_buffer_bytes, self.granted_send_buffer_bytes),
            buffer_text(self.receive_buffer_bytes, self.granted_receive_buffer_bytes),
        ]
    }
}

/// Formats a buffer size as a plan writes it, and the size granted if that differs.
fn buffer_text(requested: Option<u64>, granted: Option<u64>) -> String {
    match requested.map(Bytes::new).zip(granted.map(Bytes::new)) {
        None => "auto".to_owned(),
        Some((requested, granted)) if requested == granted => requested.to_string(),
        Some((requested, granted)) => format!("{requested}, granted {granted}"),
    }
}

impl HostView {
    fn of(host: &Host) -> Self {
        Self {
            stack: host.stack.name(),
            profile: host.profile.name,
            mtu_bytes: host.mtu,
            has_cpu_costs: host.costs != CpuCosts::default(),
            costs: processor::costs(&host.costs),
            sharing: processor::sharing(host),
            steal_ns: host
                .steal
                .map(|steal| [steal.every.as_nanos(), steal.span.as_nanos()]),
            coalesce_ns: host.coalesce.as_nanos(),
            coalesce_packets: host.coalesce_packets,
            settings: profiles::changes(&host.profile),
        }
    }

    fn cells(&self, which: &str) -> Vec<String> {
        let mut processor = if self.has_cpu_costs {
            "declared costs".to_owned()
        } else {
            "no cost".to_owned()
        };
        for part in &self.sharing {
            processor += &format!(", {part}");
        }
        if let Some([every, span]) = self.steal_ns {
            let (every, span) = (time_text(every), time_text(span));
            processor += &format!(", away for {span} each {every}");
        }
        vec![
            which.to_owned(),
            match self.stack {
                "kernel" => "the kernel's".to_owned(),
                _ => self.profile.to_owned(),
            },
            self.mtu_bytes.to_string(),
            self.moderation(),
            processor,
            self.settings.join(", "),
        ]
    }
}

impl HostView {
    /// Interrupt moderation: a time, and the packets that end it.
    fn moderation(&self) -> String {
        let time = time_text(self.coalesce_ns);
        match self.coalesce_packets {
            Some(packets) => format!("{time}, {packets} packets"),
            None => time,
        }
    }
}

/// Formats the amount or time after which flows of one kind stop, each.
fn stops(flows: &[&FlowView]) -> String {
    let times = flows.iter().filter_map(|flow| flow.duration_ns);
    let times = span(times.map(Duration::from_nanos)).map(|times| format!("for {times}"));
    let amounts = span(flows.iter().filter_map(|flow| flow.bytes).map(Bytes::new));
    let parts: Vec<String> = times.into_iter().chain(amounts).collect();
    parts.join(" or ")
}

/// Formats the minimum and maximum of `values`, or their common value.
fn span<T: Ord + Copy + ToString>(values: impl Iterator<Item = T> + Clone) -> Option<String> {
    let (least, most) = (values.clone().min()?, values.max()?);
    Some(if least == most {
        least.to_string()
    } else {
        format!("{} to {}", least.to_string(), most.to_string())
    })
}

/// Formats a time; empty if there is none.
fn time_text(ns: u64) -> String {
    match ns {
        0 => NONE.to_owned(),
        ns => Duration::from_nanos(ns).to_string(),
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
