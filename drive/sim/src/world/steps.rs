//! Between two steps of a world: what can be read of it, and links that change.

use gigatcp_path::{ConfigError, Hop, HopConfig};

use super::World;
use crate::host::Socket;
use crate::packet::Packet;

impl World {
    /// Returns the number of connections, which flows of the plan have in their order.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.connections.len()
    }

    /// Returns the socket of a connection at its sender (0) or receiver (1).
    #[must_use]
    pub fn end(&self, flow: usize, end: usize) -> &Socket {
        self.socket(self.connections[flow].places[end])
    }

    /// Returns the links: forward, reverse, then further ones, as in the configuration.
    #[must_use]
    pub fn links(&self) -> &[Hop<Packet>] {
        self.network.links()
    }

    /// Gives a link another configuration, as [`Hop::reconfigure`] does.
    ///
    /// # Errors
    /// What is wrong with the configuration; then nothing has changed.
    pub fn reconfigure(&mut self, link: usize, config: HopConfig) -> Result<(), ConfigError> {
        let now = self.now;
        let changed = self
            .network
            .with_link(now, link, |hop| hop.reconfigure(now, config));
        self.follow_network();
        changed
    }
}
