//! Everything read from a host, as one plain structure that can be stored.
//!
//! A field is `None` if the value could not be read or does not exist;
//! [`HostFacts::unreadable`] then has the reason. Integers carry their unit in the field's name.
//! Changing the meaning of a field changes [`SCHEMA`].

mod interface;
mod needs;
mod route;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use interface::{Coalescing, Interface, Interrupt, Offloads, Qdisc, Rings};
pub use needs::Fact;
pub use route::{PeerMetrics, Route, RouteMetrics};

/// The schema of stored facts.
pub const SCHEMA: &str = "doctor-facts/1";

/// Everything read from a host.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HostFacts {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the host.
    pub host: Option<String>,
    /// Release of the kernel, as in `6.12.43`.
    pub kernel: Option<String>,
    /// Bytes in a page of memory.
    pub page_bytes: Option<u64>,
    /// CPUs that are online.
    pub cpus: Option<u64>,
    /// Whether the network namespace is another than the machine's first, as in a container.
    pub is_contained: Option<bool>,
    /// Settings below `/proc/sys`, by their dotted name.
    pub sysctls: BTreeMap<String, String>,
    /// The address that the route leads to.
    pub destination: Option<String>,
    /// The route to the destination.
    pub route: Option<Route>,
    /// Metrics that the kernel cached from earlier connections to the destination.
    pub peer: Option<PeerMetrics>,
    /// The interface that the route uses.
    pub interface: Option<Interface>,
    /// Queueing disciplines and classes of the interface.
    pub qdiscs: Option<Vec<Qdisc>>,
    /// Pages that all TCP sockets hold (`mem` of `/proc/net/sockstat`).
    pub tcp_memory_pages: Option<u64>,
    /// Counters of `/proc/net/softnet_stat`, one entry per CPU.
    pub softnet: Option<Vec<Softnet>>,
    /// CPU frequency policies.
    pub frequencies: Option<Vec<Frequency>>,
    /// CPUs of each NUMA node.
    pub nodes: Option<Vec<Node>>,
    /// Limits of the control group of the process that read this.
    pub cgroup: Option<Cgroup>,
    /// Connection tracking of the firewall.
    pub conntrack: Option<Conntrack>,
    /// Facts that could not be read, by [`Fact::name`].
    pub unreadable: BTreeMap<String, Unreadable>,
}

/// Reason why a fact could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unreadable {
    /// The reason.
    pub cause: String,
    /// Access required to read it; `None` if it does not exist on this host.
    pub grant: Option<String>,
}

/// Receive counters of one CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Softnet {
    /// Number of the CPU.
    pub cpu: u64,
    /// Packets processed.
    pub processed: u64,
    /// Packets dropped because the backlog was full.
    pub dropped: u64,
    /// Rounds that ended with work left, because budget or time was used up.
    pub squeezed: u64,
}

/// A CPU frequency policy.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Frequency {
    /// Name of the policy, as in `policy0`.
    pub policy: String,
    /// The governor.
    pub governor: Option<String>,
    /// The driver.
    pub driver: Option<String>,
    /// The lowest frequency the governor may choose.
    pub min_khz: Option<u64>,
    /// The highest frequency of the CPU.
    pub max_khz: Option<u64>,
}

/// A NUMA node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Number of the node.
    pub id: i64,
    /// Its CPUs, as the kernel lists them: `0-7,16-23`.
    pub cpus: String,
}

impl Node {
    /// Whether `cpu` belongs to the node.
    pub fn has(&self, cpu: u64) -> bool {
        self.cpus.split(',').any(|range| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let bounds = low.trim().parse::<u64>().ok().zip(high.trim().parse().ok());
            bounds.is_some_and(|(low, high)| (low..=high).contains(&cpu))
        })
    }
}

/// Limits of a control group, the strictest of it and its ancestors.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cgroup {
    /// Directory of the group with the CPU quota.
    pub cpu_path: Option<String>,
    /// CPU time allowed per period.
    pub cpu_quota_us: Option<u64>,
    /// The period.
    pub cpu_period_us: Option<u64>,
    /// Whether that group is one of version 1, with the quota in a file of its own.
    pub is_cpu_version_1: bool,
    /// Directory of the group with the memory limit.
    pub memory_path: Option<String>,
    /// The memory limit.
    pub memory_max_bytes: Option<u64>,
    /// Memory in use.
    pub memory_current_bytes: Option<u64>,
}

/// Connections that the firewall tracks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conntrack {
    /// Entries in use.
    pub count: u64,
    /// Entries allowed.
    pub max: u64,
}

impl HostFacts {
    /// A setting by its dotted name.
    pub fn sysctl(&self, name: &str) -> Option<&str> {
        self.sysctls.get(name).map(String::as_str)
    }

    /// A numeric setting.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.sysctl(name)?.trim().parse().ok()
    }

    /// Whether a setting that is a switch is off.
    pub fn is_off(&self, name: &str) -> bool {
        self.number(name) == Some(0)
    }

    /// A setting of three numbers: minimum, default and maximum.
    pub fn triple(&self, name: &str) -> Option<[u64; 3]> {
        let mut numbers = self.sysctl(name)?.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some([next()?, next()?, next()?])
    }

    /// Whether the kernel is of this version or later; `None` if its release is unknown.
    pub fn is_kernel_from(&self, major: u64, minor: u64) -> Option<bool> {
        let mut parts = self.kernel.as_deref()?.split(['.', '-']).map(str::parse);
        let version = (parts.next()?.ok()?, parts.next()?.ok()?);
        Some(version >= (major, minor))
    }

    /// Metrics of the route; all unset if the route is unknown.
    pub fn metrics(&self) -> RouteMetrics {
        let metrics = self.route.as_ref().map(|route| route.metrics.clone());
        metrics.unwrap_or_default()
    }

    /// Name of the interface.
    pub fn device(&self) -> Option<&str> {
        Some(self.interface.as_ref()?.name.as_str())
    }
}
