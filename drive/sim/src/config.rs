//! Configuration of a simulation, complete and typed.

use gigatcp_app::AppConfig;
pub use gigatcp_app::{Reader, Stop, Supply};
pub use gigatcp_path::Scheduling;
use gigatcp_path::{
    ClustersConfig, CpuCosts, HopConfig, RingsConfig, SharedMediumConfig, StealConfig,
};
use gigatcp_tcp::ConnectionConfig;
use gigatcp_units::{Bytes, Duration};

/// Configuration of a simulation: hosts at both ends of a shared path.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Seed of every random stream.
    pub seed: u64,
    /// Links from the senders to the receivers, in order: the default forward route.
    pub forward: Vec<HopConfig>,
    /// Links from the receivers to the senders, in order: the default reverse route.
    pub reverse: Vec<HopConfig>,
    /// Further links for [`FlowConfig::via`], which may also name those above.
    pub links: Vec<HopConfig>,
    /// Media that flows share. Stations are links for [`FlowConfig::via`], by their names
    /// ([`SharedMediumConfig::station`]).
    pub media: Vec<SharedMediumConfig>,
    /// Hosts that flows share, by number.
    pub hosts: Vec<HostConfig>,
    /// The flows.
    pub flows: Vec<FlowConfig>,
    /// Flows that begin one after the other and end: templates, whose applications (of the kind
    /// arrivals) give start times and sizes. Each is a connection over which its sender writes. A
    /// finished flow is added to the [`ArrivalsOutcome`](crate::ArrivalsOutcome) and occupies no
    /// memory. Hosts without numbers are created once, for all flows of a template.
    pub arrivals: Vec<FlowConfig>,
    /// Sources of datagrams, without a connection; their applications are of the kind datagrams.
    /// The receiver's buffer is that of its socket (`SO_RCVBUF`).
    pub datagrams: Vec<FlowConfig>,
    /// Latest end of the simulation.
    pub end: Duration,
    /// Recording options.
    pub observe: Observe,
}

/// One connection, or the connections of one application, and its hosts.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Name in reports.
    pub name: String,
    /// When the sender opens the connection.
    pub start: Duration,
    /// Route of the flow. `None`: [`WorldConfig::forward`] and [`WorldConfig::reverse`].
    pub via: Option<Via>,
    /// One-way delay of its data before the shared hops. It gives flows different RTTs. Requires a
    /// sender that the flow does not share.
    pub extra_delay: Duration,
    /// When the sending application stops.
    pub stop: Stop,
    /// Bytes per write of the application.
    pub write_size: Bytes,
    /// Rate at which data becomes available to the application: a disk, a camera. `None`:
    /// unlimited.
    pub supply: Option<Supply>,
    /// The application at both ends. `None`: a writer that writes until `stop`, and a reader.
    pub application: Option<AppConfig>,
    /// Number of the sending host in [`WorldConfig::hosts`]. `None`: `sender`, used by this flow
    /// alone.
    pub from: Option<usize>,
    /// Number of the receiving host. `None`: `receiver`.
    pub to: Option<usize>,
    /// The sending end: engine and reader, and the host unless `from` has another.
    pub sender: HostConfig,
    /// The receiving end.
    pub receiver: HostConfig,
    /// Length of the tester's intervals.
    pub interval: Duration,
}

/// Links and stations of a route, by their names.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Via {
    /// From sender to receiver, in order. Without a link: a wire with a delay of 1 ns.
    pub forward: Vec<String>,
    /// From receiver to sender, in order. Without a link: a wire with a delay of 1 ns.
    pub reverse: Vec<String>,
}

/// A host: an engine's configuration, CPUs, a network card.
#[derive(Clone, Debug)]
pub struct HostConfig {
    /// The engine's configuration.
    pub tcp: ConnectionConfig,
    /// CPU time of each kind of work. All zero, without coalescing and steal: an ideal host.
    pub costs: CpuCosts,
    /// Distribution of the work over CPUs.
    pub scheduling: Scheduling,
    /// CPU steal: how often and for how long. `None`: never.
    pub steal: Option<StealConfig>,
    /// Minimum time between two interrupts of the network card (interrupt coalescing).
    pub coalesce: Duration,
    /// Whether segments that one interrupt delivers are joined (generic receive offload).
    pub receive_offload: bool,
    /// Packets waiting in the network card that cause an interrupt before `coalesce` has passed.
    /// `None`: unlimited.
    pub coalesce_packets: Option<u32>,
    /// Receive rings and buffers of the card. `None`: unlimited.
    pub rings: Option<RingsConfig>,
    /// Whether connections discard data beyond gaps (renege) if a frame finds no buffer.
    pub reneges: bool,
    /// Maximum of half-open connections at the listening socket, and of connections not yet
    /// accepted. `None`: unlimited. Only on a host with several sockets.
    pub backlog: Option<u32>,
    /// The kernel's buffer pool for received and sent data. `None`: unlimited.
    pub clusters: Option<ClustersConfig>,
    /// Reading behavior of the application at this end. On a host that flows share, the flow's
    /// value applies.
    pub reader: Reader,
    /// The network card and its cable. `None`: packets go directly into the path.
    pub link: Option<HopConfig>,
    /// Queue limit of the network card in wire packets. A full queue holds the host back. Linux
    /// `txqueuelen`, with back-pressure instead of loss. Only with a link.
    pub tx_queue: u64,
}

/// Recording options of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Observe {
    /// Interval between samples of every sender; zero: no samples.
    pub sample_step: Duration,
    /// Size of the samples in `run.json` above which the interval between them doubles.
    pub record_limit: Bytes,
    /// Whether to fingerprint every packet and drop.
    pub fingerprint: bool,
    /// Whether to attribute the time of every sender to causes.
    pub account: bool,
}

impl WorldConfig {
    /// Makes all hosts send on one medium, before the links of their routes.
    ///
    /// Stations have the numbers of hosts: numbered hosts first, then the sender and the receiver
    /// of each flow. `recoveries` are those of even and of odd stations.
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
        let flows = self.flows.iter_mut().chain(&mut self.arrivals);
        for flow in flows.chain(&mut self.datagrams) {
            let via = flow.via.get_or_insert_with(|| path.clone());
            let [from, to] = [flow.from, flow.to].map(&mut station);
            via.forward.insert(0, from);
            via.reverse.insert(0, to);
        }
        medium.recoveries = recoveries.into_iter().cycle().take(hosts).collect();
        self.media.push(medium);
    }

    /// Whether `names` contains a link, not only stations.
    pub(crate) fn has_link(&self, names: &[String]) -> bool {
        let is_station =
            |name: &String| self.media.iter().any(|medium| medium.find(name).is_some());
        !names.iter().all(is_station)
    }

    /// Routes of all flows, arrivals and datagrams, in this order.
    pub(crate) fn vias(&self) -> impl Iterator<Item = Option<&Via>> {
        let flows = self
            .flows
            .iter()
            .chain(&self.arrivals)
            .chain(&self.datagrams);
        flows.map(|flow| flow.via.as_ref())
    }
}

impl Observe {
    /// Records nothing: for measuring the engine's own cost.
    pub const NOTHING: Self = Self {
        sample_step: Duration::ZERO,
        record_limit: Bytes::MAX,
        fingerprint: false,
        account: false,
    };
}
