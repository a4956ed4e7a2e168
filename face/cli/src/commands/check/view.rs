//! A checked plan as it is shown: the same facts as text and as JSON.

use std::collections::BTreeMap;

use gigatcp_path::{HopConfig, SharedMediumConfig};
use gigatcp_plan::{Flow, Host, Scenario, Series, Stop, Template};
use gigatcp_report::grid::Align::{Left, Right};
use gigatcp_report::grid::{grid, line};
use gigatcp_report::group::by_key;
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Bytes, Duration, Rate};
use serde::Serialize;

use crate::output::counted;

/// Series that are shown unless all are wanted.
const MAX_ROWS: usize = 8;

/// Keys of a table that are shown: a list may have thousands of numbers.
const MAX_KEYS: usize = 30;

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
    /// Every key that is set, with its value as the plan writes it. All others have their defaults.
    keys: BTreeMap<String, String>,
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
}

/// A hop, link or medium.
#[derive(Serialize, Clone, PartialEq, Debug)]
struct HopView {
    name: String,
    rate_bps: Option<u64>,
    per_packet_ns: u64,
    delay_ns: u64,
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
    hold_limit_packets: Option<u64>,
}

impl PlanView {
    pub(super) fn of(template: &Template) -> Self {
        let plan = template.plan();
        let series = plan.series.iter().enumerate();
        Self {
            name: plan.name.clone(),
            title: plan.title.clone(),
            claims: plan.claims.clone(),
            seed: plan.seed,
            repeat: plan.repeat.unwrap_or(1),
            series: series
                .map(|(number, series)| SeriesView::of(series, template.leaves(number)))
                .collect(),
        }
    }

    /// A line per series, then paths and hosts: the first, or in full all.
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
        for (environment, names) in all.iter().take(shown) {
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
            false => cells.len().saturating_sub(MAX_ROWS + 1),
        };
        cells.truncate(cells.len() - left_out);
        let more = match left_out {
            0 => String::new(),
            rows => format!("{rows} more rows: -v\n"),
        };
        grid(&columns, &cells) + &more
    }

    /// Distinct paths and hosts, each with the names of its series.
    fn environment(&self) -> Vec<(String, Vec<&str>)> {
        let texts = self.series.iter();
        by_key(texts.map(|series| (series.environment(), &*series.name)))
    }
}

impl SeriesView {
    fn of(series: &Series, keys: BTreeMap<String, String>) -> Self {
        let scenario = &series.scenario;
        let Scenario {
            sender, receiver, ..
        } = scenario;
        let data = sender.link.iter().chain(&scenario.forward);
        let acks = receiver.link.iter().chain(&scenario.reverse);
        let shared = scenario
            .ethernet
            .as_ref()
            .map(|ethernet| HopView::of_shared(&ethernet.medium));
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
            keys,
        }
    }

    /// A line for every kind of flow.
    fn lines(&self) -> Vec<Vec<String>> {
        let kinds = by_key(self.flows.iter().map(|flow| (&flow.kind, flow)));
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
        let columns = [Left, Left, Right, Right, Right, Right];
        let mut cells = vec![line([
            "direction",
            "element",
            "rate",
            "per packet",
            "delay",
            "queue",
        ])];
        let ways = [
            ("data", &self.data_path),
            ("ACKs", &self.ack_path),
            ("link", &self.links),
        ];
        for (way, hops) in ways {
            cells.extend(hops.iter().map(|hop| hop.cells(way)));
        }
        let ways = if self.routes.is_empty() {
            format!("  base RTT {}\n", Duration::from_nanos(self.base_rtt_ns))
        } else {
            self.routes_text()
        };
        let path = indented(&grid(&columns, &cells));
        format!("{ways}{path}{}{}", self.hosts_text(), self.keys_text())
    }

    /// A line for each route.
    fn routes_text(&self) -> String {
        let routes = self.routes.iter();
        let ways = by_key(routes.map(|route| ([&route.links, &route.reverse_links], route)));
        let line = |(_, routes): &(_, Vec<&RouteView>)| {
            let route = routes[0];
            let rtt = Duration::from_nanos(route.base_rtt_ns);
            let flows: Vec<&str> = routes.iter().map(|route| &*route.flow).collect();
            let flows = match flows[..] {
                [first, .., last] if flows.len() > 3 => format!("{first} to {last}"),
                _ => flows.join(", "),
            };
            format!("  {flows}: {}, base RTT {rtt}\n", route.nodes.join(" -> "))
        };
        ways.iter().map(line).collect()
    }

    fn hosts_text(&self) -> String {
        let heading = line(["host", "profile", "MTU"]);
        let hosts = self.hosts().map(|(name, host)| host.cells(name));
        let cells: Vec<_> = std::iter::once(heading).chain(hosts).collect();
        indented(&grid(&[Left, Left, Right], &cells))
    }

    /// A line for each table of the plan that describes path and hosts, with its keys.
    fn keys_text(&self) -> String {
        let mut tables: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (key, value) in &self.keys {
            let (table, key) = key.rsplit_once('.').unwrap_or(("plan", key));
            let section = table.split('.').next().unwrap_or(table);
            if !["flow", "record", "tester"].contains(&section) && key != "duration" {
                let setting = format!("{key} = {}", gigatcp_report::escape::terminal(value));
                tables.entry(table).or_default().push(setting);
            }
        }
        let mut text =
            String::from("  keys set; all others have their defaults (gigatcp list keys)\n");
        for (table, settings) in tables {
            let shown = settings.len().min(MAX_KEYS);
            text += &format!("    {table}: {}", settings[..shown].join(", "));
            text += &match settings.len() - shown {
                0 => "\n".to_owned(),
                left_out => format!(", and {left_out} more\n"),
            };
        }
        text
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
}

impl NodeView {
    fn all(scenario: &Scenario) -> Vec<Self> {
        let is_end = |number: usize| {
            let mut ends = scenario.flows.iter().filter_map(|flow| flow.ends.as_ref());
            ends.any(|ends| ends.from == number || ends.to == number)
        };
        scenario
            .nodes
            .iter()
            .enumerate()
            .filter(|(number, _)| is_end(*number))
            .map(|(_, node)| Self {
                name: node.name.clone(),
                host: HostView::of(&node.host),
            })
            .collect()
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
        }
    }

    fn cells(&self, which: &str) -> Vec<String> {
        let profile = match self.stack {
            "kernel" => "the kernel's",
            _ => self.profile,
        };
        line([which, profile, &self.mtu_bytes.to_string()])
    }
}

impl HopView {
    fn of(hop: &HopConfig) -> Self {
        Self {
            name: hop.name.clone(),
            rate_bps: hop.nominal_rate().map(Rate::as_bps),
            per_packet_ns: hop.per_packet.as_nanos(),
            delay_ns: hop.one_way_delay.as_nanos(),
            limit_packets: hop.limit_packets,
            limit_bytes: hop.limit_bytes.map(Bytes::as_u64),
            hold_limit_packets: hop.hold_limit,
        }
    }

    /// A half-duplex medium shared by both directions.
    fn of_shared(medium: &SharedMediumConfig) -> Self {
        Self {
            name: format!("{}, half-duplex", medium.name),
            rate_bps: Some(medium.rate.as_bps()),
            per_packet_ns: 0,
            delay_ns: medium.delay.as_nanos(),
            limit_packets: medium.limit_packets,
            limit_bytes: None,
            hold_limit_packets: None,
        }
    }

    fn cells(&self, way: &str) -> Vec<String> {
        let rate = self.rate_bps.map(|bps| Rate::from_bps(bps).to_string());
        let limits: Vec<String> = [
            self.limit_packets
                .map(|packets| format!("{packets} packets")),
            self.limit_bytes.map(|bytes| Bytes::new(bytes).to_string()),
        ]
        .into_iter()
        .flatten()
        .collect();
        line([
            way,
            &self.name,
            rate.as_deref().unwrap_or(NONE),
            &time_text(self.per_packet_ns),
            &time_text(self.delay_ns),
            &if limits.is_empty() {
                "unlimited".to_owned()
            } else {
                limits.join(", ")
            },
        ])
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
