//! Analyzes packets without a file, as simulators and tests produce them.

use gigatcp_flows::Observed;
use gigatcp_why::Watcher;

use crate::capture::seed;
use crate::connections::Connections;

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
    /// Returns an analyzer without packets.
    #[must_use]
    pub fn new() -> Self {
        Self {
            connections: Connections::new(vec![Watcher::new(seed())]),
            packets: 0,
        }
    }

    /// Analyzes the next packet.
    pub fn handle_packet(&mut self, packet: &Observed) {
        self.packets += 1;
        self.connections.handle_packet(self.packets, packet);
    }

    /// Returns the number of packets analyzed.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the connections so far.
    #[must_use]
    pub const fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Returns the connections after the last packet.
    #[must_use]
    pub fn finish(self) -> Connections {
        self.connections
    }
}

/// Analyzes packets that are in memory, numbered from 1.
#[must_use]
pub fn analyze_packets(packets: impl IntoIterator<Item = Observed>) -> Connections {
    let mut analyzer = Analyzer::new();
    for packet in packets {
        analyzer.handle_packet(&packet);
    }
    analyzer.finish()
}
