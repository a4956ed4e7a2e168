//! A network interface: its sizes, offloads, counters, queues and interrupts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A network interface.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Whether it has no hardware: veth, TUN, bridge, loopback.
    pub is_virtual: Option<bool>,
    /// Driver.
    pub driver: Option<String>,
    /// MTU.
    pub mtu_bytes: Option<u64>,
    /// Packets that its default queue holds (`txqueuelen`).
    pub tx_queue_packets: Option<u64>,
    /// Speed of the link.
    pub speed_mbit: Option<u64>,
    /// `full` or `half`.
    pub duplex: Option<String>,
    /// NUMA node of the card.
    pub numa_node: Option<i64>,
    /// Sizes of the rings.
    pub rings: Option<Rings>,
    /// Interrupt coalescing.
    pub coalescing: Option<Coalescing>,
    /// Offloads.
    pub offloads: Option<Offloads>,
    /// Counters of the kernel (`ip -s -s link`).
    pub statistics: Option<BTreeMap<String, u64>>,
    /// Counters of the driver (`ethtool -S`) that count drops and errors.
    pub driver_counters: Option<BTreeMap<String, u64>>,
    /// CPU masks of receive packet steering, one entry per receive queue.
    pub rps_cpus: Option<Vec<String>>,
    /// Its interrupts.
    pub interrupts: Option<Vec<Interrupt>>,
}

/// Sizes of the rings in descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rings {
    /// Receive ring.
    pub rx: u64,
    /// The largest receive ring that the driver allows.
    pub rx_max: u64,
    /// Transmit ring.
    pub tx: u64,
    /// The largest transmit ring that the driver allows.
    pub tx_max: u64,
}

/// Interrupt coalescing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coalescing {
    /// Whether the driver adapts the receive side to the load.
    pub adaptive_rx: bool,
    /// Delay of an interrupt after a packet arrived.
    pub rx_us: u64,
    /// Maximum number of packets per interrupt; 0: no such bound.
    pub rx_frames: u64,
    /// Delay of an interrupt after a packet was sent.
    pub tx_us: u64,
}

/// Whether each offload is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Offloads {
    /// Segmentation by the card.
    pub tso: Option<bool>,
    /// Segmentation below the stack.
    pub gso: Option<bool>,
    /// Joining of received segments.
    pub gro: Option<bool>,
    /// Checksums of sent packets.
    pub tx_checksum: Option<bool>,
    /// Checksums of received packets.
    pub rx_checksum: Option<bool>,
}

/// An interrupt line.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    /// Its number.
    pub number: u64,
    /// Interrupts so far, one entry per CPU.
    pub per_cpu: Vec<u64>,
}

/// A queueing discipline or a class of one.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Qdisc {
    /// Its name, as in `fq_codel`; that of the parent with ` class` for a class.
    pub kind: String,
    /// Its handle, as in `1:`.
    pub handle: String,
    /// Its parent; `root` for the first.
    pub parent: String,
    /// Packets it holds.
    pub limit_packets: Option<u64>,
    /// Bytes it holds.
    pub limit_bytes: Option<u64>,
    /// Bytes that may pass at once (TBF).
    pub burst_bytes: Option<u64>,
    /// Rate that it shapes to.
    pub rate_bps: Option<u64>,
    /// Whether the rate applies to each flow.
    pub is_per_flow: bool,
    /// The class for packets that match no filter (HTB).
    pub default_class: Option<String>,
    /// All parameters of a class (HTB) in the words of `tc`, if they are known.
    pub parameters: Option<String>,
    /// Packets dropped so far.
    pub dropped: Option<u64>,
}

impl Interface {
    /// Sum of those counters of `names` that exist.
    pub fn count(&self, names: &[&str]) -> u64 {
        let statistics = self.statistics.iter().flatten();
        let named = statistics.filter(|(name, _)| names.contains(&name.as_str()));
        named.map(|(_, count)| *count).fold(0, u64::saturating_add)
    }

    /// Whether received packets are steered to other CPUs.
    pub fn is_steered(&self) -> bool {
        let masks = self.rps_cpus.iter().flatten();
        masks
            .into_iter()
            .any(|mask| mask.contains(|c: char| c != '0' && c != ','))
    }

    /// Whether segments leave the stack as super-packets.
    pub fn has_segmentation(&self) -> bool {
        let offloads = self.offloads.unwrap_or_default();
        offloads.gso != Some(false) || offloads.tso == Some(true)
    }

    /// Interrupts per CPU, summed over all lines.
    pub fn interrupts_per_cpu(&self) -> Vec<u64> {
        let lines = self.interrupts.as_deref().unwrap_or_default();
        let cpus = lines.iter().map(|line| line.per_cpu.len()).max();
        let sum = |cpu: usize| {
            let counts = lines.iter().filter_map(|line| line.per_cpu.get(cpu));
            counts.copied().fold(0, u64::saturating_add)
        };
        (0..cpus.unwrap_or(0)).map(sum).collect()
    }
}
