//! Names of facts, for the rules that need them.

use super::{HostFacts, Interface};

/// A fact that a rule may need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fact {
    /// A setting below `/proc/sys`.
    Sysctl(&'static str),
    /// The route to the destination and its metrics.
    Route,
    /// Metrics that the kernel cached for the peer.
    PeerMetrics,
    /// MTU of the interface.
    Mtu,
    /// Queueing disciplines.
    Qdiscs,
    /// Speed and duplex of the link.
    Speed,
    /// Sizes of the rings.
    Rings,
    /// Interrupt coalescing.
    Coalescing,
    /// Offloads.
    Offloads,
    /// Counters of the interface.
    Statistics,
    /// Counters of the driver.
    DriverCounters,
    /// Interrupts of the interface.
    Interrupts,
    /// NUMA node of the card.
    NumaNode,
    /// Receive packet steering.
    Steering,
    /// `/proc/net/softnet_stat`.
    Softnet,
    /// Memory of all TCP sockets.
    TcpMemory,
    /// CPU frequency policies.
    Frequencies,
    /// Limits of the control group.
    Cgroup,
    /// Connection tracking.
    Conntrack,
}

impl Fact {
    /// Facts about the interface of the route.
    pub const OF_INTERFACE: [Self; 11] = [
        Self::Mtu,
        Self::Qdiscs,
        Self::Speed,
        Self::Rings,
        Self::Coalescing,
        Self::Offloads,
        Self::Statistics,
        Self::DriverCounters,
        Self::Interrupts,
        Self::NumaNode,
        Self::Steering,
    ];

    /// Returns its name in [`HostFacts::unreadable`] and in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sysctl(name) => name,
            Self::Route => "route",
            Self::PeerMetrics => "peer metrics",
            Self::Mtu => "MTU",
            Self::Qdiscs => "queueing disciplines",
            Self::Speed => "link speed",
            Self::Rings => "ring sizes",
            Self::Coalescing => "interrupt coalescing",
            Self::Offloads => "offloads",
            Self::Statistics => "interface counters",
            Self::DriverCounters => "driver counters",
            Self::Interrupts => "interrupts",
            Self::NumaNode => "NUMA node",
            Self::Steering => "packet steering",
            Self::Softnet => "softnet counters",
            Self::TcpMemory => "TCP memory",
            Self::Frequencies => "CPU frequencies",
            Self::Cgroup => "cgroup limits",
            Self::Conntrack => "connection tracking",
        }
    }

    /// Whether the fact was read.
    #[must_use]
    pub fn is_known(self, facts: &HostFacts) -> bool {
        let interface = |known: fn(&Interface) -> bool| facts.interface.as_ref().is_some_and(known);
        match self {
            Self::Sysctl(name) => facts.sysctl(name).is_some(),
            Self::Route => facts.route.is_some(),
            Self::PeerMetrics => facts.peer.is_some(),
            Self::Mtu => interface(|card| card.mtu_bytes.is_some()),
            Self::Qdiscs => facts.qdiscs.is_some(),
            Self::Speed => interface(|card| card.speed_mbit.is_some()),
            Self::Rings => interface(|card| card.rings.is_some()),
            Self::Coalescing => interface(|card| card.coalescing.is_some()),
            Self::Offloads => interface(|card| card.offloads.is_some()),
            Self::Statistics => interface(|card| card.statistics.is_some()),
            Self::DriverCounters => interface(|card| card.driver_counters.is_some()),
            Self::Interrupts => interface(|card| card.interrupts.is_some()),
            Self::NumaNode => interface(|card| card.numa_node.is_some()),
            Self::Steering => interface(|card| card.rps_cpus.is_some()),
            Self::Softnet => facts.softnet.is_some(),
            Self::TcpMemory => facts.tcp_memory_pages.is_some(),
            Self::Frequencies => facts.frequencies.is_some(),
            Self::Cgroup => facts.cgroup.is_some(),
            Self::Conntrack => facts.conntrack.is_some(),
        }
    }
}
