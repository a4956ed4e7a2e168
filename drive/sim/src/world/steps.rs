//! Access to a simulation between two steps: reads its state, reconfigures links.

use gigatcp_path::{ConfigError, Hop, HopConfig};

use super::World;
use crate::host::Socket;
use crate::packet::Packet;

impl World {
    /// Number of connections, in the order of the flows of the plan.
    pub fn flows(&self) -> usize {
        self.connections.len()
    }

    /// Socket of a connection at its sender (0) or receiver (1).
    pub fn end(&self, flow: usize, end: usize) -> &Socket {
        self.socket(self.connections[flow].places[end])
    }

    /// Links: forward, reverse, then further ones, as in the configuration.
    pub fn links(&self) -> &[Hop<Packet>] {
        self.network.links()
    }

    /// Reconfigures a link, as [`Hop::reconfigure`] does.
    ///
    /// # Errors
    /// If the configuration is invalid; then nothing has changed.
    pub fn reconfigure(&mut self, link: usize, config: HopConfig) -> Result<(), ConfigError> {
        let now = self.now;
        let changed = self
            .network
            .with_link(now, link, |hop| hop.reconfigure(now, config));
        self.follow_network();
        changed
    }
}
