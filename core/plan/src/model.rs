//! A checked plan: every value is typed and every default filled in.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_app::{AppConfig, Make, Reader, Stop, Supply};
use gigatcp_path::{
    ClustersConfig, CpuCosts, HopConfig, RingsConfig, Scheduling, SharedMediumConfig, StealConfig,
};
use gigatcp_tcp::congestion::{self, Entry, REGISTRY, SlowStart};
use gigatcp_tcp::{IpVersion, Profile};
use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration};

use crate::Diagnostics;

/// A checked plan: runs, series and their scenarios.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name that results are filed under; valid in a file name.
    pub name: String,
    /// Title of one line, for people.
    pub title: String,
    /// Purpose of the plan. `None`: unset.
    pub description: Option<String>,
    /// Ids of the published claims that the plan tests.
    pub claims: Vec<String>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Runs per series, at least one. `None`: one, and further seeds if it has few random losses.
    pub repeat: Option<u32>,
    /// Variations, at least one. A plan without `[[series]]` has one, named as the plan.
    pub series: Vec<Series>,
    /// The section `[sweep]`. `None`: unset.
    pub sweep: Option<Sweep>,
    /// Warnings: the plan runs, but probably not as intended. Usually empty.
    pub warnings: Diagnostics,
}

/// The section `[sweep]`: what varies, as texts of the plan.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Sweep {
    /// Axes, in the syntax of [`Axis::read`](crate::axis::Axis::read).
    pub over: Vec<String>,
    /// Combinations to leave out.
    pub exclude: Vec<String>,
    /// Design: the combinations that run.
    pub design: Option<String>,
    /// Order of cells: `random` or `written`.
    pub order: Option<String>,
    /// Repetitions of each cell.
    pub repeat: Option<u32>,
    /// Batches of repetitions.
    pub batches: Option<u32>,
    /// Inputs drawn for each batch, as axes.
    pub draw: Vec<String>,
    /// Column that tables and `until` refer to.
    pub metric: Option<String>,
    /// Half width of the confidence interval to reach, as a share of the mean.
    pub until: Option<f64>,
    /// Maximum repetitions of a cell.
    pub most: Option<u32>,
}

/// A named variation of the plan.
#[derive(Clone, Debug)]
pub struct Series {
    /// Unique in the plan; valid in a file name.
    pub name: String,
    /// Title of one line, for people.
    pub title: String,
    /// Dotted keys of inputs chosen to match published values. A series with any must be reported
    /// as fitted.
    pub fitted: Vec<String>,
    /// The series that this one is a fit of.
    pub fit_of: Option<String>,
    /// Scenario that the series runs.
    pub scenario: Scenario,
}

impl Series {
    /// Series with the start times of its flows drawn. Each flow has its own random stream, so its
    /// start does not depend on the number of flows.
    pub fn with_starts(&self, seed: u64) -> Cow<'_, Self> {
        if self
            .scenario
            .flows
            .iter()
            .all(|flow| flow.start_jitter.is_zero())
        {
            return Cow::Borrowed(self);
        }
        let mut drawn = self.clone();
        for flow in &mut drawn.scenario.flows {
            let share = Stream::new(seed, &flow.name, START_JITTER).uniform();
            let span = flow.start_jitter.as_nanos() as f64;
            flow.start += Duration::from_nanos((share * span) as u64);
        }
        Cow::Owned(drawn)
    }
}

/// Purpose of the random streams of [`Flow::start_jitter`].
const START_JITTER: u64 = 0x73_7461_7274;

/// Scenario of one run: path, hosts and flows.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// IP version.
    pub ip: IpVersion,
    /// Hops that data cross, in order, behind the sender's link; shared by all flows. At least one
    /// hop, names unique in the scenario; empty if there is an Ethernet.
    pub forward: Vec<HopConfig>,
    /// Hops that ACKs cross, in order, behind the receiver's link; at least one likewise.
    pub reverse: Vec<HopConfig>,
    /// Nodes of a plan with `[[link]]`, which has no hops above.
    pub nodes: Vec<Node>,
    /// Links between the nodes, one entry per direction. [`Flow::ends`] has the links that a flow
    /// takes.
    pub links: Vec<HopConfig>,
    /// Shared media between the nodes. Their stations are numbered after the links.
    pub media: Vec<SharedMediumConfig>,
    /// Medium that all hosts send on, in place of hops.
    pub ethernet: Option<Ethernet>,
    /// Host that sends data.
    pub sender: Host,
    /// Host that receives data.
    pub receiver: Host,
    /// Connections, at least one.
    pub flows: Vec<Flow>,
    /// Latest end of the run. It ends earlier once every flow has delivered everything.
    pub duration: Duration,
    /// Settings of the throughput report.
    pub tester: Tester,
    /// Records kept in addition to throughput.
    pub record: Record,
}

impl Scenario {
    /// Sending and the receiving host of `flow`.
    pub fn hosts_of(&self, flow: &Flow) -> [&Host; 2] {
        match &flow.ends {
            Some(ends) => [&self.nodes[ends.from].host, &self.nodes[ends.to].host],
            None => [&self.sender, &self.receiver],
        }
    }

    /// Name and delay of the link or station with this number, as in [`Ends`].
    pub fn link(&self, number: usize) -> (String, Duration) {
        if let Some(link) = self.links.get(number) {
            return (link.name.clone(), link.one_way_delay);
        }
        let mut stations = self.media.iter().flat_map(|medium| {
            let stations = 0..medium.recoveries.len();
            stations.map(move |station| (medium, station))
        });
        stations
            .nth(number - self.links.len())
            .map(|(medium, station)| (medium.station(station), medium.delay))
            .unwrap_or_default()
    }

    /// Scenario with one path in place of nodes and links. `None` if they are not one chain of
    /// links from one sender to one receiver.
    pub fn as_path(&self) -> Option<Self> {
        let mut path = self.clone();
        if self.nodes.is_empty() {
            return Some(path);
        }
        let ends = self.flows.first()?.ends.as_ref()?;
        let is_same = |flow: &Flow| flow.ends.as_ref() == Some(ends);
        if !self.media.is_empty() || !self.flows.iter().all(is_same) {
            return None;
        }
        let links = |numbers: &[usize]| {
            let links = numbers.iter().map(|link| self.links[*link].clone());
            links.collect()
        };
        (path.forward, path.reverse) = (links(&ends.forward), links(&ends.reverse));
        [path.sender, path.receiver] =
            [ends.from, ends.to].map(|node| self.nodes[node].host.clone());
        path.nodes.clear();
        path.links.clear();
        path.flows.iter_mut().for_each(|flow| flow.ends = None);
        Some(path)
    }

    /// Whether hosts send on a shared medium.
    pub fn has_media(&self) -> bool {
        self.ethernet.is_some() || !self.media.is_empty()
    }

    /// All hops of the forward and the reverse path, links of hosts included.
    pub fn path(&self) -> [Vec<HopConfig>; 2] {
        let chain = |host: &Host, hops: &[HopConfig]| -> Vec<HopConfig> {
            host.link.iter().chain(hops).cloned().collect()
        };
        [
            chain(&self.sender, &self.forward),
            chain(&self.receiver, &self.reverse),
        ]
    }

    /// Bottleneck rate times [`base_rtt`](Self::base_rtt). `None` if no link has a rate or the plan
    /// has links between nodes.
    pub fn bdp(&self) -> Option<Bytes> {
        let path = self.path();
        let hops = path.iter().flatten().filter_map(HopConfig::nominal_rate);
        let medium = self.ethernet.iter().map(|ethernet| ethernet.medium.rate);
        let rate = hops.chain(medium).min()?;
        Some(rate.amount_in(self.base_rtt()))
    }

    /// RTT of the empty path: all delays of hops and links. Excludes extra delays of single flows
    /// and service times.
    pub fn base_rtt(&self) -> Duration {
        let links = [&self.sender.link, &self.receiver.link];
        let hops = self
            .forward
            .iter()
            .chain(&self.reverse)
            .chain(links.into_iter().flatten());
        let medium = self
            .ethernet
            .iter()
            .map(|ethernet| ethernet.medium.delay.saturating_mul(2));
        sum(hops.map(|hop| hop.one_way_delay).chain(medium))
    }
}

/// Node of a plan with `[[link]]`.
#[derive(Clone, Debug)]
pub struct Node {
    /// Unique in the scenario.
    pub name: String,
    /// Host that the node is where flows end there. A node without `[[node]]` is as `[sender]` if a
    /// flow begins there, otherwise as `[receiver]`.
    pub host: Host,
}

/// Sending and receiving node of a flow, and its routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Sending node, an index into [`Scenario::nodes`].
    pub from: usize,
    /// Receiving node, an index into [`Scenario::nodes`].
    pub to: usize,
    /// Nodes that data pass, both ends included.
    pub nodes: Vec<usize>,
    /// Links that data cross, as indices into [`Scenario::links`]. Stations of [`Scenario::media`]
    /// are numbered behind them.
    pub forward: Vec<usize>,
    /// Links that ACKs cross, numbered alike.
    pub reverse: Vec<usize>,
}

/// Half-duplex Ethernet and the cards at it.
#[derive(Clone, PartialEq, Debug)]
pub struct Ethernet {
    /// Medium, without stations.
    pub medium: SharedMediumConfig,
    /// Time that cards of senders and of receivers need after a collision.
    pub recoveries: [Duration; 2],
}

/// Sum of the times, saturating at the maximum.
pub(crate) fn sum(times: impl Iterator<Item = Duration>) -> Duration {
    let total = times.fold(0u64, |total, time| total.saturating_add(time.as_nanos()));
    Duration::from_nanos(total)
}

/// Implementation of a host's TCP.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Stack {
    /// Engine of this project.
    #[default]
    Engine,
    /// Kernel of the machine; in real time only.
    Kernel,
}

impl Stack {
    /// Names in plans, in the order of the variants.
    pub const NAMES: [&'static str; 2] = ["engine", "kernel"];

    /// Its name in plans.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// Stack with that name.
    pub fn find(name: &str) -> Option<Self> {
        [Self::Engine, Self::Kernel]
            .into_iter()
            .find(|stack| stack.name() == name)
    }
}

/// One end of the path.
#[derive(Clone, Debug)]
pub struct Host {
    /// Implementation of its TCP.
    pub stack: Stack,
    /// Largest IP packet in bytes, 576 to 65535.
    pub mtu: u32,
    /// Switches and constants of its TCP.
    pub profile: Profile,
    /// Names of the profile settings that the plan itself sets.
    pub settings: Vec<&'static str>,
    /// CPU costs of protocol work.
    pub costs: CpuCosts,
    /// Distribution of the work over its CPUs.
    pub scheduling: Scheduling,
    /// Interval and length of steal times. `None`: never.
    pub steal: Option<StealConfig>,
    /// Minimum time between two interrupts of its network card.
    pub coalesce: Duration,
    /// Packets waiting in the card that make it interrupt before that time has passed. `None`:
    /// unlimited.
    pub coalesce_packets: Option<u32>,
    /// Queue limit of its network card, in packets; only with a link.
    pub tx_queue: u64,
    /// Receive rings of its network card. `None`: unlimited buffers.
    pub rings: Option<RingsConfig>,
    /// Whether the host reneges: discards data beyond a gap if a packet finds no buffer.
    pub reneges: bool,
    /// Maximum of half-open connections at its listening socket, and of connections waiting for
    /// accept. `None`: unlimited.
    pub backlog: Option<u32>,
    /// Kernel pool for data received and sent. `None`: unlimited.
    pub clusters: Option<ClustersConfig>,
    /// Reading behavior of its application.
    pub reader: Reader,
    /// Hop that all its packets cross before the path: its network card or access link.
    pub link: Option<HopConfig>,
}

/// Congestion control of a flow's sender.
#[derive(Clone, Debug)]
pub enum Control {
    /// A control of the engine.
    Engine(&'static Entry),
    /// A control of the kernel, by the kernel's name for it.
    Kernel(String),
    /// A BPF object that the kernel loads for the run.
    Bpf {
        /// Its name in the plan, `bpf:FILE.o`.
        name: String,
        /// Path of the object.
        object: String,
    },
}

impl Control {
    /// Its name in the plan.
    pub fn name(&self) -> &str {
        match self {
            Self::Engine(entry) => entry.name,
            Self::Kernel(name) | Self::Bpf { name, .. } => name,
        }
    }

    /// Control of an engine at either end. Where a kernel sends by a control that the engine lacks,
    /// the engine only receives, and the control limits nothing.
    pub fn of_engine(&self) -> &'static Entry {
        match self {
            Self::Engine(entry) => entry,
            Self::Kernel(name) | Self::Bpf { name, .. } => {
                congestion::find(name).unwrap_or(&REGISTRY[0])
            }
        }
    }
}

/// A connection from sender to receiver.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Unique in the scenario.
    pub name: String,
    /// Common name of the flows of its `[[flow]]`. `None` if that is a single flow.
    pub group: Option<String>,
    /// Nodes and routes, in a plan with `[[link]]`.
    pub ends: Option<Ends>,
    /// Application at both ends. `None`: one end sends, as `stop` and `supply` define.
    pub application: Option<AppConfig>,
    /// Time of its opening, from the start of the run; after [`Series::with_starts`] as drawn.
    pub start: Duration,
    /// Maximum random delay of its opening.
    pub start_jitter: Duration,
    /// When its application stops.
    pub stop: Stop,
    /// Data supply of its application. `None`: everything at the start.
    pub supply: Option<Supply>,
    /// Its congestion control.
    pub congestion: Control,
    /// Initial ssthresh in segments; 0: unlimited. `None`: the control's default.
    pub initial_ssthresh: Option<u32>,
    /// Slow start algorithm.
    pub slow_start: SlowStart,
    /// Send buffer requested; the profile decides what is granted. `None`: not requested, and the
    /// profile decides whether the buffer is autotuned.
    pub send_buffer: Option<Bytes>,
    /// Receive buffer requested. `None`: not requested, as with the send buffer.
    pub receive_buffer: Option<Bytes>,
    /// One-way delay of its data in addition to that of the path.
    pub extra_delay: Duration,
    /// Whether its time-sequence graph is recorded. `None`: unset.
    pub time_sequence: Option<bool>,
}

impl Flow {
    /// What the flow consists of, by its application. A flow without an application consists of
    /// connections.
    pub fn kind(&self) -> FlowKind {
        match self
            .application
            .as_ref()
            .map(|application| application.entry.make)
        {
            Some(Make::Arrivals(_)) => FlowKind::Arrivals,
            Some(Make::Datagrams(_)) => FlowKind::Datagrams,
            Some(Make::Stream(_) | Make::Reader(_)) | None => FlowKind::Connections,
        }
    }
}

/// Composition of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// Connections that exist from its start.
    Connections,
    /// Connections that begin during the run, one for each arrival.
    Arrivals,
    /// Datagrams.
    Datagrams,
}

/// Settings of the throughput report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tester {
    /// Length of an interval.
    pub interval: Duration,
    /// Time at the start that is left out of the average.
    pub omit: Duration,
}

/// Records kept in addition to throughput. Whole connections are recorded if
/// [`Flow::time_sequence`] is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time between samples of window, queue and rate.
    pub sample: Duration,
    /// Whether a run may sample at longer intervals to limit its record: the plan sets none.
    pub may_sample_less: bool,
}
