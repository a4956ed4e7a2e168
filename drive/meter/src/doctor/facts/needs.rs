//! Names of facts, for the rules that need them.

use super::{HostFacts, Interface};

/// Declares facts other than settings: names, and whether they were read.
macro_rules! facts {
    ($($(#[$doc:meta])* $Fact:ident $name:literal $is_known:expr;)+) => {
        /// A fact that a rule may need.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Fact {
            /// A setting below `/proc/sys`.
            Sysctl(&'static str),
            $($(#[$doc])* $Fact,)+
        }

        impl Fact {
            /// Its name in [`HostFacts::unreadable`] and in output.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Sysctl(name) => name,
                    $(Self::$Fact => $name,)+
                }
            }

            /// Whether the fact was read.
            pub fn is_known(self, facts: &HostFacts) -> bool {
                let is_known: fn(&HostFacts) -> bool = match self {
                    Self::Sysctl(name) => return facts.sysctl(name).is_some(),
                    $(Self::$Fact => $is_known,)+
                };
                is_known(facts)
            }
        }
    };
}

facts! {
    /// The route to the destination and its metrics.
    Route "route" |facts| facts.route.is_some();
    /// Metrics that the kernel cached for the peer.
    PeerMetrics "peer metrics" |facts| facts.peer.is_some();
    /// MTU of the interface.
    Mtu "MTU" |facts| of_card(facts, |card| card.mtu_bytes.is_some());
    /// Queueing disciplines.
    Qdiscs "queueing disciplines" |facts| facts.qdiscs.is_some();
    /// Speed and duplex of the link.
    Speed "link speed" |facts| of_card(facts, |card| card.speed_mbit.is_some());
    /// Sizes of the rings.
    Rings "ring sizes" |facts| of_card(facts, |card| card.rings.is_some());
    /// Interrupt coalescing.
    Coalescing "interrupt coalescing" |facts| of_card(facts, |card| card.coalescing.is_some());
    /// Offloads.
    Offloads "offloads" |facts| of_card(facts, |card| card.offloads.is_some());
    /// Counters of the interface.
    Statistics "interface counters" |facts| of_card(facts, |card| card.statistics.is_some());
    /// Counters of the driver.
    DriverCounters "driver counters" |facts| of_card(facts, |card| card.driver_counters.is_some());
    /// Interrupts of the interface.
    Interrupts "interrupts" |facts| of_card(facts, |card| card.interrupts.is_some());
    /// NUMA node of the card.
    NumaNode "NUMA node" |facts| of_card(facts, |card| card.numa_node.is_some());
    /// Receive packet steering.
    Steering "packet steering" |facts| of_card(facts, |card| card.rps_cpus.is_some());
    /// `/proc/net/softnet_stat`.
    Softnet "softnet counters" |facts| facts.softnet.is_some();
    /// Memory of all TCP sockets.
    TcpMemory "TCP memory" |facts| facts.tcp_memory_pages.is_some();
    /// CPU frequency policies.
    Frequencies "CPU frequencies" |facts| facts.frequencies.is_some();
    /// Limits of the control group.
    Cgroup "cgroup limits" |facts| facts.cgroup.is_some();
    /// Connection tracking.
    Conntrack "connection tracking" |facts| facts.conntrack.is_some();
}

fn of_card(facts: &HostFacts, is_known: fn(&Interface) -> bool) -> bool {
    facts.interface.as_ref().is_some_and(is_known)
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
}
