//! Analyzes packets without a file, as simulators and tests produce them.

use gigatcp_flows::{Observed, WindowScales};
use gigatcp_units::Instant;
use gigatcp_why::Watcher;
use gigatcp_wire::link::{LinkType, dissect};

use crate::capture::seed;
use crate::connections::Connections;
use crate::name_lookups::LookupsByAddress;

/// Analyzes packets one by one, numbered from 1 in the order of their arrival.
#[derive(Debug)]
pub struct Analyzer {
    connections: Connections,
    packets: u64,
}

impl Default for Analyzer {
    fn default() -> Self {
        Self::new()
    }
}

impl Analyzer {
    /// An analyzer without packets.
    pub fn new() -> Self {
        Self::with_window_scales(WindowScales::default())
    }

    /// An analyzer that knows window scales of connections that begin without a SYN.
    pub fn with_window_scales(window_scales: WindowScales) -> Self {
        let watcher = Watcher::new(seed()).with_window_scales(window_scales);
        Self {
            connections: Connections::new(vec![watcher], LookupsByAddress::default()),
            packets: 0,
        }
    }

    /// Analyzes the next packet.
    pub fn handle_packet(&mut self, packet: &Observed) {
        self.packets += 1;
        self.connections.handle_packet(self.packets, packet);
    }

    /// Analyzes the next packet of a capture in progress, from its IP header on, if it is a TCP
    /// segment. Fragments are not reassembled.
    pub fn handle_captured(&mut self, at: Instant, octets: &[u8], wire_len: u32) {
        if let Ok(segment) = dissect(LinkType::RAW, octets, wire_len) {
            self.handle_packet(&Observed::new(at, &segment));
        }
    }

    /// Number of packets analyzed.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Connections so far.
    pub const fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Connections after the last packet.
    pub fn finish(self) -> Connections {
        self.connections
    }
}
