//! A checked plan as it is shown: the same facts as text and as JSON.

use gigatcp_path::{
    AckFilter, CpuCosts, HopConfig, LossModel, Middlebox, Policer, RateSource, WindowScale,
};
use gigatcp_plan::{Ethernet, Flow, Host, Node, Plan, Scenario, Series, Stop};
use gigatcp_tcp::congestion::SlowStart;
use gigatcp_units::{Bytes, Duration, Rate};
use serde::Serialize;

use super::processor;
use crate::grid::{Align, grid, line};
use crate::output::counted;
use crate::profiles;

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
    /// The nodes at which flows begin or end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeView>,
    /// The way of each flow over them.
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

/// What many flows of a series have in common.
#[derive(Serialize, PartialEq, Eq, Debug)]
struct FlowKind {
    congestion_control: &'static str,
    initial_ssthresh: Option<u32>,
    /// Its name in plans; "usual" is the control's own, or the profile's.
    slow_start: &'static str,
    max_ssthresh: Option<u32>,
    /// Absent: none is asked for.
    send_buffer_bytes: Option<u64>,
    receive_buffer_bytes: Option<u64>,
}

/// A node that is a host.
#[derive(Serialize, PartialEq, Debug)]
struct NodeView {
    name: String,
    host: HostView,
}

/// The way of a flow over nodes and links.
#[derive(Serialize, Clone, PartialEq, Debug)]
struct RouteView {
    flow: String,
    /// All nodes of the way there, ends included.
    nodes: Vec<String>,
    /// Links of the way there.
    links: Vec<String>,
    /// Links of the way back.
    reverse_links: Vec<String>,
    /// Delays of all of them.
    base_rtt_ns: u64,
}

/// A hop, link or emulator.
#[derive(Serialize, Clone, PartialEq, Debug)]
struct HopView {
    name: String,
    rate_bps: Option<u64>,
    per_packet_ns: u64,
    delay_ns: u64,
    limit_packets: Option<u64>,
    limit_bytes: Option<u64>,
    hold_limit_packets: Option<u64>,
    /// In words, as the plan says them.
    impairments: Vec<String>,
}

/// A host.
#[derive(Serialize, PartialEq, Debug)]
struct HostView {
    /// Whose TCP it is.
    stack: &'static str,
    profile: &'static str,
    mtu_bytes: u32,
    has_cpu_costs: bool,
    /// What each piece of work costs, as the plan writes it.
    costs: Vec<String>,
    /// How the processors share the work.
    sharing: Vec<String>,
    /// How often and for how long others have the processor, means.
    steal_ns: Option<[u64; 2]>,
    coalesce_ns: u64,
    coalesce_packets: Option<u32>,
    /// What is set otherwise than in the profile, as the plan writes it.
    settings: Vec<String>,
}

impl PlanView {
    /// What `plan` would run.
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

    /// As text: a line per series, then paths and hosts.
    pub(super) fn text(&self) -> String {
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
        text.push_str(&self.series_text());
        for (names, surroundings) in self.surroundings() {
            let whose = if names.len() == self.series.len() {
                "all series".to_owned()
            } else {
                names.join(", ")
            };
            text.push_str(&format!("\npath and hosts of {whose}\n{surroundings}"));
        }
        text
    }

    fn series_text(&self) -> String {
        let columns = [
            Align::Left,
            Align::Right,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
        ];
        let mut cells = vec![line([
            "series",
            "flows",
            "congestion control",
            "first ssthresh",
            "send buffer",
            "receive buffer",
            "starts",
            "sends",
        ])];
        for series in &self.series {
            cells.extend(series.lines());
        }
        grid(&columns, &cells)
    }

    /// Different paths and hosts, each with the names of its series.
    fn surroundings(&self) -> Vec<(Vec<&str>, String)> {
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for series in &self.series {
            let text = series.surroundings();
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
            flows: scenario.flows.iter().map(FlowView::of).collect(),
            data_path: data.map(HopView::of).chain(shared.clone()).collect(),
            ack_path: acks.map(HopView::of).chain(shared).collect(),
            nodes: NodeView::all(scenario),
            links: scenario.links.iter().map(HopView::of).collect(),
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
    fn surroundings(&self) -> String {
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Left,
        ];
        let mut cells = vec![line([
            "way",
            "element",
            "rate",
            "per packet",
            "delay",
            "queue",
            "besides",
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

    /// A line for each way that flows take.
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
        let columns = [
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Left,
            Align::Left,
        ];
        let heading = line([
            "host",
            "profile",
            "MTU",
            "coalescing",
            "processor",
            "besides",
        ]);
        let hosts = self.hosts().map(|(name, host)| host.cells(name));
        let cells: Vec<_> = std::iter::once(heading).chain(hosts).collect();
        indented(&grid(&columns, &cells)) + &self.costs_text()
    }

    /// The hosts with their names.
    fn hosts(&self) -> impl Iterator<Item = (&str, &HostView)> {
        let ends = [("sender", &self.sender), ("receiver", &self.receiver)];
        let nodes = self.nodes.iter();
        let nodes = nodes.map(|node| (node.name.as_str(), &node.host));
        let ends = ends.into_iter().filter(|_| self.nodes.is_empty());
        ends.chain(nodes)
    }

    /// A line for each host whose work costs something.
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
        let nodes = scenario.nodes.iter().enumerate();
        let nodes = nodes.filter(|(number, _)| is_end(*number));
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
            let links = links.iter().map(|link| &scenario.links[*link]);
            links.map(|link| link.name.clone()).collect()
        };
        let node = |number: &usize| scenario.nodes[*number].name.clone();
        let both = ends.forward.iter().chain(&ends.reverse);
        let delays = both.map(|link| scenario.links[*link].one_way_delay.as_nanos());
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
    fn of(flow: &Flow) -> Self {
        let (bytes, duration) = match flow.stop {
            Stop::Bytes(bytes) => (Some(bytes.as_u64()), None),
            Stop::Duration(span) => (None, Some(span.as_nanos())),
        };
        Self {
            name: flow.name.clone(),
            start_ns: flow.start.as_nanos(),
            bytes,
            duration_ns: duration,
            kind: FlowKind::of(flow),
        }
    }
}

impl FlowKind {
    fn of(flow: &Flow) -> Self {
        Self {
            congestion_control: flow.congestion.name,
            initial_ssthresh: flow.initial_ssthresh,
            slow_start: flow.slow_start.name(),
            max_ssthresh: match flow.slow_start {
                SlowStart::Limited { max_ssthresh } => Some(max_ssthresh),
                _ => None,
            },
            send_buffer_bytes: flow.send_buffer.map(Bytes::as_u64),
            receive_buffer_bytes: flow.receive_buffer.map(Bytes::as_u64),
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
                None => "its own".to_owned(),
                Some(0) => "none".to_owned(),
                Some(segments) => segments.to_string(),
            },
            buffer_text(self.send_buffer_bytes),
            buffer_text(self.receive_buffer_bytes),
        ]
    }
}

/// A buffer as a plan says it.
fn buffer_text(requested: Option<u64>) -> String {
    requested.map_or_else(
        || "auto".to_owned(),
        |octets| Bytes::new(octets).to_string(),
    )
}

impl HopView {
    fn of(hop: &HopConfig) -> Self {
        let losses = hop.loss.iter().map(|loss| harm_text(loss, "lost"));
        let mut impairments: Vec<String> = losses.collect();
        impairments.extend(hop.loss_period.map(|period| {
            let (from, until) = (period.from, period.until);
            match until.as_nanos() {
                u64::MAX => format!("losses from {from}"),
                _ => format!("losses from {from} until {until}"),
            }
        }));
        let corruptions = hop.corrupt.iter();
        impairments.extend(corruptions.map(|harm| harm_text(harm, "corrupted")));
        impairments.extend(hop.reorder.map(|reorder| {
            let (chance, delay) = (reorder.probability, reorder.extra_delay);
            format!("{chance} reordered by {delay}")
        }));
        impairments.extend(hop.duplicate.map(|chance| format!("{chance} duplicated")));
        impairments.extend(hop.policer.map(|policer| {
            let Policer { rate, burst, peak } = policer;
            match peak {
                None => format!("dropped beyond {rate}, bursts of {burst}"),
                Some(peak) => format!(
                    "dropped beyond {}, bursts of {}; {} beyond {rate}, bursts of {burst}",
                    peak.rate,
                    peak.burst,
                    peak.yellow.name(),
                ),
            }
        }));
        impairments.extend(changes(hop));
        impairments.extend(hop.mtu.map(|mtu| {
            let told = match (hop.fragments, hop.tells_too_big) {
                (true, _) => "fragments",
                (false, true) => "told",
                (false, false) => "silent",
            };
            format!("packets of at most {} octets, {told}", mtu.as_u64())
        }));
        Self {
            name: hop.name.clone(),
            rate_bps: hop.rate.map(Rate::as_bps),
            per_packet_ns: hop.per_packet.as_nanos(),
            delay_ns: hop.one_way_delay.as_nanos(),
            limit_packets: hop.limit_packets,
            limit_bytes: hop.limit_bytes.map(Bytes::as_u64),
            hold_limit_packets: hop.hold_limit,
            impairments,
        }
    }

    /// The medium that both ways share.
    fn of_ethernet(ethernet: &Ethernet) -> Self {
        let medium = &ethernet.medium;
        let recoveries = [
            ("sender's", ethernet.sender_recovery),
            ("receiver's", ethernet.receiver_recovery),
        ];
        let recoveries = recoveries.into_iter().filter(|(_, span)| !span.is_zero());
        let recoveries =
            recoveries.map(|(whose, span)| format!("{span} after a collision of the {whose}"));
        Self {
            name: medium.name.clone(),
            rate_bps: Some(medium.rate.as_bps()),
            per_packet_ns: 0,
            delay_ns: medium.delay.as_nanos(),
            limit_packets: medium.limit_packets,
            limit_bytes: None,
            hold_limit_packets: None,
            impairments: std::iter::once("half-duplex, shared".to_owned())
                .chain(recoveries)
                .collect(),
        }
    }

    fn cells(&self, way: &str) -> Vec<String> {
        let hold = self.hold_limit_packets;
        let mut besides: Vec<String> = hold
            .map(|packets| format!("holds {packets} packets"))
            .into_iter()
            .collect();
        besides.extend(self.impairments.iter().cloned());
        vec![
            way.to_owned(),
            self.name.clone(),
            self.rate_bps
                .map_or_else(|| NONE.to_owned(), |bps| Rate::from_bps(bps).to_string()),
            time_text(self.per_packet_ns),
            time_text(self.delay_ns),
            self.queue_text(),
            besides.join(", "),
        ]
    }

    fn queue_text(&self) -> String {
        let packets = self
            .limit_packets
            .map(|packets| format!("{packets} packets"));
        let bytes = self.limit_bytes.map(|bytes| Bytes::new(bytes).to_string());
        let limits: Vec<String> = packets.into_iter().chain(bytes).collect();
        if limits.is_empty() {
            return "unlimited".to_owned();
        }
        limits.join(", ")
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
            "infinitely fast".to_owned()
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

/// What flows of one kind send, each.
fn stops(flows: &[&FlowView]) -> String {
    let times = flows.iter().filter_map(|flow| flow.duration_ns);
    let times = span(times.map(Duration::from_nanos)).map(|times| format!("for {times}"));
    let amounts = span(flows.iter().filter_map(|flow| flow.bytes).map(Bytes::new));
    let parts: Vec<String> = times.into_iter().chain(amounts).collect();
    parts.join(" or ")
}

/// The least and the most of `values`, or the one that all are.
fn span<T: Ord + Copy + ToString>(values: impl Iterator<Item = T> + Clone) -> Option<String> {
    let (least, most) = (values.clone().min()?, values.max()?);
    Some(if least == most {
        least.to_string()
    } else {
        format!("{} to {}", least.to_string(), most.to_string())
    })
}

/// A time, or nothing where there is none.
fn time_text(ns: u64) -> String {
    match ns {
        0 => NONE.to_owned(),
        ns => Duration::from_nanos(ns).to_string(),
    }
}

/// Which packets are `harmed`: lost, or corrupted.
fn harm_text(model: &LossModel, harmed: &str) -> String {
    /// More packets than this are counted, not listed.
    const LISTED: usize = 4;
    match model {
        LossModel::Bernoulli(chance) => format!("{chance} {harmed}"),
        LossModel::GilbertElliott(chain) => format!(
            "{:.4} % {harmed} in bursts of {:.1}",
            100.0 * chain.mean_loss(),
            1.0 / chain.to_good.as_f64()
        ),
        LossModel::Periodic { every } => format!("every {every}. packet {harmed}"),
        LossModel::Listed(packets) if packets.len() > LISTED => {
            format!("{} listed packets {harmed}", packets.len())
        }
        LossModel::Listed(packets) => {
            let words: Vec<String> = packets.iter().map(u64::to_string).collect();
            format!("{harmed}: packet {}", words.join(", "))
        }
    }
}

/// What of a hop is no queue and no impairment of single packets.
fn changes(hop: &HopConfig) -> Vec<String> {
    let mut said = Vec::new();
    if !hop.queue.is_fifo() {
        let mut queue = hop.queue.discipline.name.to_owned();
        for setting in hop.queue.settings.iter() {
            queue.push_str(&format!(", {} {}", setting.name, setting.value));
        }
        said.push(queue);
    }
    if let Some(RateSource::Schedule(schedule)) = &hop.rate_source {
        said.push(format!("rate changes {} times", schedule.steps.len()));
    }
    if let Some(RateSource::Trace(trace)) = &hop.rate_source {
        let rate = Rate::from_bps(trace.mean_bps());
        said.push(format!("trace of {rate} on average"));
    }
    if let Some(schedule) = &hop.delay_schedule {
        said.push(format!("delay changes {} times", schedule.steps.len()));
    }
    if let Some(jitter) = hop.jitter {
        said.push(format!("jitter {}", jitter.spread));
    }
    said.extend(hop.middlebox.iter().flat_map(rewritten));
    match hop.ack_filter {
        Some(AckFilter::Queue) => said.push("ACKs filtered in the queue".to_owned()),
        Some(AckFilter::Every(n)) => said.push(format!("ACKs filtered to 1 of {n}")),
        None => {}
    }
    if let Some(shaper) = hop.shaper {
        said.push(format!(
            "shaped to {}, bursts of {}",
            shaper.rate, shaper.burst
        ));
    }
    if let Some(group) = hop.aggregate {
        let (packets, overhead) = (group.packets, group.overhead);
        said.push(format!("groups of {packets}, {overhead} each"));
    }
    said
}

/// What a middlebox does to segments with SYN.
fn rewritten(middlebox: &Middlebox) -> Vec<String> {
    let Middlebox {
        mss,
        window_scale,
        clears_sack,
        clears_timestamps,
        clears_ecn,
    } = middlebox;
    let mut said: Vec<String> = Vec::new();
    said.extend(mss.map(|most| format!("MSS clamped to {most}")));
    match window_scale {
        WindowScale::Pass => {}
        WindowScale::Clamp(most) => said.push(format!("window scale clamped to {most}")),
        WindowScale::Clear => said.push("window scale cleared".to_owned()),
    }
    let cleared = [
        (clears_sack, "SACK"),
        (clears_timestamps, "timestamps"),
        (clears_ecn, "ECN"),
    ];
    let cleared = cleared.into_iter().filter(|(is_cleared, _)| **is_cleared);
    said.extend(cleared.map(|(_, what)| format!("{what} cleared")));
    said
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
