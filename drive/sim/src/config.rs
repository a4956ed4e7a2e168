//! What a world is made of: everything typed, nothing left to decide.

use gigatcp_app::AppConfig;
pub use gigatcp_app::{Reader, Stop, Supply};
pub use gigatcp_path::Scheduling;
use gigatcp_path::{
    ClustersConfig, CpuCosts, HopConfig, RingsConfig, SharedMediumConfig, StealConfig,
};
use gigatcp_tcp::Config as TcpConfig;
use gigatcp_units::{Bytes, Duration};

/// A world: hosts at both ends of a shared path.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Seed of every random stream.
    pub seed: u64,
    /// Links from the senders to the receivers, in order: the forward route of flows
    /// without one of their own.
    pub forward: Vec<HopConfig>,
    /// Links from the receivers to the senders, in order.
    pub reverse: Vec<HopConfig>,
    /// Further links for [`FlowConfig::via`], which may also name those above.
    pub links: Vec<HopConfig>,
    /// Media that flows share: stations are links for [`FlowConfig::via`], by their
    /// names ([`SharedMediumConfig::station`]).
    pub media: Vec<SharedMediumConfig>,
    /// Hosts that flows share, by number.
    pub hosts: Vec<HostConfig>,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// Flows that begin while the world runs.
    pub arrivals: Vec<ArrivalsConfig>,
    /// Datagrams, without a connection.
    pub datagrams: Vec<DatagramsConfig>,
    /// When the world ends even if a flow has not.
    pub end: Duration,
    /// What to record.
    pub observe: Observe,
}

/// One connection, or the connections of one application, and its hosts.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Name in reports.
    pub name: String,
    /// When the sender opens the connection.
    pub start: Duration,
    /// The links it takes. `None`: [`WorldConfig::forward`] and
    /// [`WorldConfig::reverse`].
    pub via: Option<Via>,
    /// One-way delay of its data before the shared hops: makes the round trips
    /// of flows differ. Only where the flow has its sender to itself.
    pub extra_delay: Duration,
    /// When the sending application stops.
    pub stop: Stop,
    /// Octets the application writes at once.
    pub write_size: Bytes,
    /// Rate at which data becomes available to the application: a disk, a camera.
    /// None: unlimited.
    pub supply: Option<Supply>,
    /// The application at both ends. None: a writer that writes until `stop`, and a
    /// reader.
    pub application: Option<AppConfig>,
    /// Number of the sending host in [`WorldConfig::hosts`]. None: `sender`, which the
    /// flow has to itself.
    pub from: Option<usize>,
    /// Number of the receiving host. None: `receiver`.
    pub to: Option<usize>,
    /// The sending end: engine and reader, and the host unless `from` has another.
    pub sender: HostConfig,
    /// The receiving end.
    pub receiver: HostConfig,
    /// Length of the tester's intervals.
    pub interval: Duration,
    /// Whether to keep time-sequence data.
    pub time_sequence: bool,
}

/// Flows that begin while the world runs, one after the other, and end.
///
/// Each is a connection over which its sender writes the size that was drawn. A flow that
/// has ended is added to the [`ArrivalsOutcome`](crate::ArrivalsOutcome) and needs no memory.
#[derive(Clone, Debug)]
pub struct ArrivalsConfig {
    /// The flow that all of them are like. Its start is the start of the process; `stop`,
    /// `supply`, `application` and `time_sequence` are not used. Hosts without numbers are
    /// made once, for all of these flows.
    pub flow: FlowConfig,
    /// When they begin, and their sizes: an entry of kind arrivals.
    pub arrivals: AppConfig,
}

/// Datagrams from one host to another.
#[derive(Clone, Debug)]
pub struct DatagramsConfig {
    /// Name in reports.
    pub name: String,
    /// When the source begins.
    pub start: Duration,
    /// The source: an entry of kind datagrams.
    pub application: AppConfig,
    /// The links they take. `None`: those of flows without a route of their own.
    pub via: Option<Via>,
    /// Number of the sending host in [`WorldConfig::hosts`]. None: `sender`, which the
    /// source has to itself.
    pub from: Option<usize>,
    /// Number of the receiving host. None: `receiver`.
    pub to: Option<usize>,
    /// The sending host, unless `from` has another; the version of IP.
    pub sender: HostConfig,
    /// The receiving host, unless `to` has another.
    pub receiver: HostConfig,
    /// Bytes of payload that may wait to be read (`SO_RCVBUF`).
    pub receive_buffer: Bytes,
}

/// The links and stations that a flow takes, by their names.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Via {
    /// From sender to receiver, in order. Without a link: a wire of a nanosecond.
    pub forward: Vec<String>,
    /// From receiver to sender, in order. Without a link: a wire of a nanosecond.
    pub reverse: Vec<String>,
}

/// A host: an engine's configuration, a processor, a network card.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The engine's configuration.
    pub tcp: TcpConfig,
    /// What work costs; all zero, without coalescing and steal, is an ideal host.
    pub costs: CpuCosts,
    /// How its processors share the work.
    pub scheduling: Scheduling,
    /// How often and for how long others have the processor; absent: never.
    pub steal: Option<StealConfig>,
    /// Shortest time between two interrupts of the network card; what arrives
    /// in between is shown to the processor together.
    pub coalesce: Duration,
    /// Packets that wait in the network card at most before it interrupts without regard to `coalesce`.
    /// None: any number.
    pub coalesce_packets: Option<u32>,
    /// What the card can receive before the host runs out of buffers; absent:
    /// everything.
    pub rings: Option<RingsConfig>,
    /// Whether, where a frame finds no buffer, connections give back what lies
    /// beyond holes.
    pub reneges: bool,
    /// Connections that may be half open at its listening socket, and as many that may
    /// wait to be accepted. None: unlimited. Only on a host with several sockets.
    pub backlog: Option<u32>,
    /// The kernel's pool for what is received and sent. None: unlimited.
    pub clusters: Option<ClustersConfig>,
    /// How an application of this end reads; of a host that flows share, see the flow.
    pub reader: Reader,
    /// The network card and its cable; absent: straight into the path.
    pub link: Option<HopConfig>,
    /// Wire packets the network card's queue takes before the host holds
    /// further ones back (Linux `txqueuelen`, with back-pressure instead of
    /// loss). Only with a link.
    pub tx_queue: u64,
}

/// What to record while the world runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observe {
    /// Distance between samples of every sender; zero = no samples.
    pub sample_step: Duration,
    /// Whether to fingerprint every packet and drop.
    pub fingerprint: bool,
    /// Whether to attribute the time of every sender to causes.
    pub account: bool,
}

impl WorldConfig {
    /// Lets all hosts send on one medium, before the links of their routes. Stations have
    /// the numbers of hosts: numbered ones first, then the sender and the receiver of each
    /// flow. `recoveries` are those of even numbers and of odd ones.
    pub fn share(&mut self, mut medium: SharedMediumConfig, recoveries: [Duration; 2]) {
        let names = |links: &[HopConfig]| links.iter().map(|link| link.name.clone()).collect();
        let path = Via {
            forward: names(&self.forward),
            reverse: names(&self.reverse),
        };
        let mut hosts = self.hosts.len();
        let mut station = |numbered: Option<usize>| {
            let number = numbered.unwrap_or(hosts);
            hosts += usize::from(numbered.is_none());
            medium.station(number)
        };
        let arrivals = self.arrivals.iter_mut().map(|one| &mut one.flow);
        let flows = self.flows.iter_mut().chain(arrivals);
        let flows = flows.map(|flow| (&mut flow.via, [flow.from, flow.to]));
        let datagrams = self.datagrams.iter_mut();
        let datagrams = datagrams.map(|one| (&mut one.via, [one.from, one.to]));
        for (via, ends) in flows.chain(datagrams) {
            let via = via.get_or_insert_with(|| path.clone());
            let [from, to] = ends.map(&mut station);
            via.forward.insert(0, from);
            via.reverse.insert(0, to);
        }
        medium.recoveries = recoveries.into_iter().cycle().take(hosts).collect();
        self.media.push(medium);
    }

    /// Returns whether links and not only stations are among `names`.
    pub(crate) fn has_link(&self, names: &[String]) -> bool {
        let is_station = |name: &String| self.media.iter().any(|one| one.find(name).is_some());
        !names.iter().all(is_station)
    }

    /// The links that each flow names: of the flows, the arrivals, the datagrams.
    pub(crate) fn vias(&self) -> impl Iterator<Item = Option<&Via>> {
        let flows = self.flows.iter().map(|flow| flow.via.as_ref());
        let arrivals = self.arrivals.iter().map(|one| one.flow.via.as_ref());
        let datagrams = self.datagrams.iter().map(|one| one.via.as_ref());
        flows.chain(arrivals).chain(datagrams)
    }
}

impl Observe {
    /// Record nothing: for measuring the engine's own cost.
    pub const NOTHING: Self = Self {
        sample_step: Duration::ZERO,
        fingerprint: false,
        account: false,
    };
}
