//! A plan that has been checked: everything typed, nothing left to decide.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_app::{AppConfig, Make};
use gigatcp_path::{
    ClustersConfig, CpuCosts, HopConfig, RingsConfig, Scheduling, SharedMediumConfig, StealConfig,
};
use gigatcp_tcp::congestion::{self, Entry, REGISTRY, SlowStart};
use gigatcp_tcp::{IpVersion, Profile};
use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Rate};

use crate::Diagnostics;

/// What to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What results are filed under; can be part of a file's name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// What the plan is to show, if it says so.
    pub description: Option<String>,
    /// Ids of the published claims it tests.
    pub claims: Vec<String>,
    /// Root of every random stream.
    pub seed: u64,
    /// Runs per series, at least one. None: one, and further seeds where one says little.
    pub repeat: Option<u32>,
    /// The variations, at least one; a plan that names none has one of the
    /// plan's own name.
    pub series: Vec<Series>,
    /// What a sweep of the plan varies. None: the plan does not say.
    pub sweep: Option<Sweep>,
    /// What runs, but hardly as meant; mostly empty.
    pub warnings: Diagnostics,
}

/// The section `[sweep]`: what varies, in the words of the plan.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Sweep {
    /// Axes, as [`Axis::read`](crate::axis::Axis::read) takes them.
    pub over: Vec<String>,
    /// Combinations to leave out.
    pub exclude: Vec<String>,
    /// Switches to leave out one at a time.
    pub ablate: Vec<String>,
    /// Which combinations run.
    pub design: Option<String>,
    /// Order of cells: `random` or `written`.
    pub order: Option<String>,
    /// Repetitions of each cell.
    pub repeat: Option<u32>,
    /// Batches of repetitions.
    pub batches: Option<u32>,
    /// Draws of a batch, as axes.
    pub draw: Vec<String>,
    /// Column that tables and `until` are about.
    pub metric: Option<String>,
    /// Half width of the confidence interval to reach, as a share of the mean.
    pub until: Option<f64>,
    /// Repetitions of a cell at most.
    pub most: Option<u32>,
}

/// A named variation of the plan.
#[derive(Clone, Debug)]
pub struct Series {
    /// Unique in the plan; can be part of a file's name.
    pub name: String,
    /// One line for people.
    pub title: String,
    /// Inputs that were chosen to match what was published, by dotted key. A
    /// series with any must be reported as fitted.
    pub fitted: Vec<String>,
    /// The series that this one is a fit of.
    pub fit_of: Option<String>,
    /// The run.
    pub scenario: Scenario,
}

impl Series {
    /// Returns the series with the starts of its flows drawn: each has a stream of its
    /// own, so no flow's start depends on how many others there are.
    #[must_use]
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

/// The purpose of the random streams of [`Flow::start_jitter`].
const START_JITTER: u64 = 0x73_7461_7274;

/// One run.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The version of IP underneath.
    pub ip: IpVersion,
    /// What data cross, in order, behind the sender's link; shared by all
    /// flows. At least one hop, names unique in the scenario; empty if there
    /// is an Ethernet.
    pub forward: Vec<HopConfig>,
    /// What ACKs cross, in order, behind the receiver's link; as many.
    pub reverse: Vec<HopConfig>,
    /// The nodes of a plan with `[[link]]`, which has no hops above.
    pub nodes: Vec<Node>,
    /// The links between them, each direction by itself; [`Flow::ends`] says which a
    /// flow takes.
    pub links: Vec<HopConfig>,
    /// The media between them; their stations have the numbers after those of the links.
    pub media: Vec<SharedMediumConfig>,
    /// The medium that all hosts send on, in place of hops.
    pub ethernet: Option<Ethernet>,
    /// The host that sends data.
    pub sender: Host,
    /// The host that receives data.
    pub receiver: Host,
    /// The connections, at least one.
    pub flows: Vec<Flow>,
    /// The run ends at the latest then; it ends before when every flow has
    /// delivered everything.
    pub duration: Duration,
    /// How throughput is reported.
    pub tester: Tester,
    /// What is recorded next to throughput.
    pub record: Record,
}

impl Scenario {
    /// Returns the sending and the receiving host of `flow`.
    #[must_use]
    pub fn hosts_of(&self, flow: &Flow) -> [&Host; 2] {
        match &flow.ends {
            Some(ends) => [&self.nodes[ends.from].host, &self.nodes[ends.to].host],
            None => [&self.sender, &self.receiver],
        }
    }

    /// Returns name and delay of the link or station with this number of [`Ends`].
    #[must_use]
    pub fn link(&self, number: usize) -> (String, Duration) {
        if let Some(link) = self.links.get(number) {
            return (link.name.clone(), link.one_way_delay);
        }
        let mut stations = self.media.iter().flat_map(|medium| {
            let stations = 0..medium.recoveries.len();
            stations.map(move |station| (medium, station))
        });
        let station = stations.nth(number - self.links.len());
        let station = station.map(|(medium, station)| (medium.station(station), medium.delay));
        station.unwrap_or_default()
    }

    /// Returns the same with one path in place of nodes and links. `None`: they are not
    /// one chain of links from one sender to one receiver.
    #[must_use]
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

    /// Returns whether hosts send on a medium that they share.
    #[must_use]
    pub fn has_media(&self) -> bool {
        self.ethernet.is_some() || !self.media.is_empty()
    }

    /// All hops from sender to receiver and back, the links of the hosts among
    /// them.
    #[must_use]
    pub fn path(&self) -> [Vec<HopConfig>; 2] {
        let chain = |host: &Host, hops: &[HopConfig]| -> Vec<HopConfig> {
            host.link.iter().chain(hops).cloned().collect()
        };
        [
            chain(&self.sender, &self.forward),
            chain(&self.receiver, &self.reverse),
        ]
    }

    /// Returns the rate of the slowest link of the path times [`base_rtt`](Self::base_rtt).
    /// None: no link has a rate, or the plan has links between nodes.
    #[must_use]
    pub fn bdp(&self) -> Option<Bytes> {
        let path = self.path();
        let hops = path.iter().flatten().filter_map(HopConfig::nominal_rate);
        let medium = self.ethernet.iter().map(|ethernet| ethernet.medium.rate);
        let rate = hops.chain(medium).min()?;
        Some(rate.amount_in(self.base_rtt()))
    }

    /// Round-trip time of the empty path: all delays of hops and links,
    /// without those that single flows add and without service times.
    #[must_use]
    pub fn base_rtt(&self) -> Duration {
        let links = [&self.sender.link, &self.receiver.link];
        let hops = self.forward.iter().chain(&self.reverse);
        let hops = hops.chain(links.into_iter().flatten());
        let medium = self.ethernet.iter();
        let medium = medium.map(|ethernet| ethernet.medium.delay.saturating_mul(2));
        sum(hops.map(|hop| hop.one_way_delay).chain(medium))
    }
}

/// A node of a plan with `[[link]]`.
#[derive(Clone, Debug)]
pub struct Node {
    /// Unique in the scenario.
    pub name: String,
    /// What it is where flows end there. A node that `[[node]]` does not declare is as
    /// `[sender]` if a flow begins there, else as `[receiver]`.
    pub host: Host,
}

/// Where a flow begins and ends, and its routes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ends {
    /// The sending node, by its place in [`Scenario::nodes`].
    pub from: usize,
    /// The receiving node.
    pub to: usize,
    /// The nodes that data pass, both ends included.
    pub nodes: Vec<usize>,
    /// What data cross, by place in [`Scenario::links`], with the stations of
    /// [`Scenario::media`] behind them.
    pub forward: Vec<usize>,
    /// What ACKs cross.
    pub reverse: Vec<usize>,
}

/// A half-duplex Ethernet and the cards at it.
#[derive(Clone, PartialEq, Debug)]
pub struct Ethernet {
    /// The medium, without stations.
    pub medium: SharedMediumConfig,
    /// What the cards of senders and of receivers need after a collision.
    pub recoveries: [Duration; 2],
}

/// The sum of the times, staying at the longest there is.
pub(crate) fn sum(times: impl Iterator<Item = Duration>) -> Duration {
    let total = times.fold(0u64, |total, time| total.saturating_add(time.as_nanos()));
    Duration::from_nanos(total)
}

/// Whose TCP a host has.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Stack {
    /// The engine's.
    #[default]
    Engine,
    /// That of the machine's own kernel; in real time only.
    Kernel,
}

impl Stack {
    /// The names in plans, in the order of the variants.
    pub const NAMES: [&'static str; 2] = ["engine", "kernel"];

    /// Its name in plans.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        [Self::Engine, Self::Kernel]
            .into_iter()
            .find(|stack| stack.name() == name)
    }
}

/// One end of the path.
#[derive(Clone, Debug)]
pub struct Host {
    /// Whose TCP it has.
    pub stack: Stack,
    /// Largest IP packet in bytes, 576 to 65535.
    pub mtu: u32,
    /// Switches and constants of its TCP.
    pub profile: Profile,
    /// The settings of the profile that the plan itself sets, by name.
    pub settings: Vec<&'static str>,
    /// What protocol work costs its processor.
    pub costs: CpuCosts,
    /// How its processors share the work.
    pub scheduling: Scheduling,
    /// How often and for how long others have its processor; absent: never.
    pub steal: Option<StealConfig>,
    /// Shortest time between two interrupts of its network card.
    pub coalesce: Duration,
    /// Packets that wait in the card before it interrupts without regard to that time.
    /// None: any number.
    pub coalesce_packets: Option<u32>,
    /// Packets its network card queues before the host holds back; only with
    /// a link.
    pub tx_queue: u64,
    /// What its network card can receive before the host runs out of buffers;
    /// absent: everything.
    pub rings: Option<RingsConfig>,
    /// Whether, where a packet finds no buffer, what lies beyond a hole is given
    /// back.
    pub reneges: bool,
    /// Connections that may be half open at its listening socket, and as many that may
    /// wait to be accepted. None: unlimited.
    pub backlog: Option<u32>,
    /// The kernel's pool for what is received and sent. None: unlimited.
    pub clusters: Option<ClustersConfig>,
    /// How its application reads.
    pub application: Application,
    /// What everything it sends crosses before the path: its network card or
    /// access link.
    pub link: Option<HopConfig>,
}

/// How the application that receives reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Application {
    /// Bytes it takes at once, at most.
    pub read_size: Bytes,
    /// It pauses once, after this number of bytes and for this time.
    pub pause: Option<(Bytes, Duration)>,
    /// Maximum rate at which it reads. None: unlimited.
    pub rate: Option<Rate>,
}

/// Data that becomes available to a sending application piece by piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Supply {
    /// Bytes that become available at a time.
    pub amount: Bytes,
    /// Time from one piece to the next.
    pub every: Duration,
    /// When everything else becomes available, from the first write. None: never.
    pub until: Option<Duration>,
}

/// When the application of a flow stops sending. What it has handed over by
/// then is still delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// After this number of bytes.
    Bytes(Bytes),
    /// So long after the flow's start.
    Duration(Duration),
}

/// Congestion control of a flow's sender.
#[derive(Clone, Debug)]
pub enum Control {
    /// One of the engine's.
    Engine(&'static Entry),
    /// A kernel's, by the name that it has there: any that the kernel has.
    Kernel(String),
}

impl Control {
    /// Its name in the plan.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Engine(entry) => entry.name,
            Self::Kernel(name) => name,
        }
    }

    /// The control of an engine at either end. Where a kernel sends by one that the
    /// engine has not, the engine only receives, and nothing is held back by any.
    #[must_use]
    pub fn of_engine(&self) -> &'static Entry {
        match self {
            Self::Engine(entry) => entry,
            Self::Kernel(name) => congestion::find(name).unwrap_or(&REGISTRY[0]),
        }
    }
}

/// A connection from sender to receiver.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Unique in the scenario.
    pub name: String,
    /// What the flows of its table are called together, if there are several.
    pub group: Option<String>,
    /// Nodes and routes, in a plan with `[[link]]`.
    pub ends: Option<Ends>,
    /// What runs at both ends. None: one end sends, as `stop` and `supply` say.
    pub application: Option<AppConfig>,
    /// When it opens, from the start of the run; in [`Series::with_starts`] as drawn.
    pub start: Duration,
    /// By how much later it opens at most, at random.
    pub start_jitter: Duration,
    /// When its application stops.
    pub stop: Stop,
    /// How data becomes available to its application. None: everything at the start.
    pub supply: Option<Supply>,
    /// Its congestion control.
    pub congestion: Control,
    /// Start value of ssthresh in segments; 0 is "none", absent is the
    /// control's own.
    pub initial_ssthresh: Option<u32>,
    /// How its window opens.
    pub slow_start: SlowStart,
    /// Send buffer requested (the profile decides what is granted); `None`:
    /// none, and the profile decides whether the buffer is autotuned.
    pub send_buffer: Option<Bytes>,
    /// Receive buffer requested; `None`: as with the send buffer.
    pub receive_buffer: Option<Bytes>,
    /// One-way delay of its data beyond that of the path.
    pub extra_delay: Duration,
    /// Whether every segment and ACK of it is recorded; `None`: unset.
    pub time_sequence: Option<bool>,
}

impl Flow {
    /// Returns how its application is made; of one without a name, as of all that run on
    /// connections.
    #[must_use]
    pub fn kind(&self) -> FlowKind {
        match self.application.as_ref().map(|one| one.entry.make) {
            Some(Make::Arrivals(_)) => FlowKind::Arrivals,
            Some(Make::Datagrams(_)) => FlowKind::Datagrams,
            Some(Make::Stream(_) | Make::Reader(_)) | None => FlowKind::Connections,
        }
    }
}

/// What a flow consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowKind {
    /// Connections that exist from its start on.
    Connections,
    /// Connections that begin during the run, one for each arrival.
    Arrivals,
    /// Datagrams.
    Datagrams,
}

/// How throughput is reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tester {
    /// Time between two lines.
    pub interval: Duration,
    /// Time at the start that is left out of the average.
    pub omit: Duration,
}

/// What is recorded next to throughput; whole connections are recorded where
/// [`Flow::time_sequence`] says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Time between samples of window, queue and rate.
    pub sample: Duration,
}
