//! The rules, one file each, and the table of them.
//!
//! A rule reads [`HostFacts`] and a [`Path`] and returns a finding if the host limits connections
//! over that path. To add one: a file here and a line in [`RULES`].

macro_rules! rules {
    ($($name:ident),* $(,)?) => {
        $(mod $name;)*

        /// Every rule.
        pub const RULES: &[Rule] = &[$($name::RULE),*];
    };
}

mod text;

/// Names that most rules use.
mod prelude {
    pub(super) use std::format;
    pub(super) use std::string::{String, ToString};
    pub(super) use std::vec::Vec;

    pub(super) use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
    pub(super) use gigatcp_units::{Bytes, Duration, Rate};

    pub(super) use super::Rule;
    pub(super) use super::text::*;
    pub(super) use crate::doctor::facts::{Fact, HostFacts};
    pub(super) use crate::doctor::finding::Finding;
    pub(super) use crate::doctor::law::{self, Work};
    pub(super) use crate::doctor::path::{Direction, Path};
    pub(super) use crate::doctor::shell::word;
}

use crate::doctor::facts::{Fact, HostFacts};
use crate::doctor::finding::Finding;
use crate::doctor::path::Path;

/// A rule: what it means, how it is detected, and the check.
#[derive(Debug)]
pub struct Rule {
    /// Its id in output and on the command line.
    pub id: &'static str,
    /// The limit, in a few words that follow "limited by".
    pub name: &'static str,
    /// Meaning of the limit.
    pub meaning: &'static str,
    /// Detection, and the law that gives the cost.
    pub detection: &'static str,
    /// Change that removes the limit.
    pub fix: &'static str,
    /// Man pages, kernel documentation, RFCs, papers.
    pub references: &'static [&'static str],
    /// Facts that the check requires.
    pub needs: &'static [Fact],
    /// A finding if the host limits connections over the path.
    pub check: fn(&HostFacts, &Path) -> Option<Finding>,
}

/// Rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.id == id)
}

rules! {
    // Windows and buffers.
    receive_buffer_max,
    receive_buffer_default,
    receive_autotuning_off,
    send_buffer_max,
    rcvbuf_limit,
    sndbuf_limit,
    window_scaling_off,
    window_share,
    tcp_memory,
    memory_limit,
    output_limit,
    // Protocol.
    congestion_control,
    sack_off,
    timestamps_off,
    idle_restart,
    cached_threshold,
    // The route.
    route_window,
    route_cwnd,
    route_advmss,
    route_mtu,
    route_initcwnd,
    route_initrwnd,
    route_rto_min,
    // Packet size.
    small_mtu,
    path_mtu,
    mtu_probing_off,
    // Output.
    shaper,
    short_queue,
    link_speed,
    half_duplex,
    tso_off,
    tx_checksum_off,
    // Input.
    gro_off,
    rx_checksum_off,
    receive_ring,
    coalescing,
    interrupt_per_packet,
    interface_drops,
    interface_errors,
    softnet_drops,
    softnet_squeezed,
    short_backlog,
    one_interrupt_cpu,
    remote_node,
    // The CPU.
    governor,
    cpu_quota,
    // The firewall.
    conntrack_full,
}
