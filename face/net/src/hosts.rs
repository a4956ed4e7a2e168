//! Calls of the network on its hosts: crash and restart, tasks, and what waits at the end.

use std::task::Waker;

use tokio::task::AbortHandle;

use crate::world::{TopologyError, World};

/// End of the line of a socket whose task was not woken.
pub(crate) const LOST_WAKEUP: &str =
    ": it is ready, and its task was not woken: this is a fault of gigatcp-net";

impl World {
    /// The host, if there is only one.
    pub(crate) fn only_host(&self) -> Option<u32> {
        let mut hosts = (0..self.nodes.len() as u32).filter(|node| self.host(*node).is_some());
        let first = hosts.next()?;
        hosts.next().is_none().then_some(first)
    }

    /// Adds a task that ends with its host.
    pub(crate) fn add_task(&mut self, node: u32, task: AbortHandle) {
        if let Some(host) = self.host_mut(node) {
            if host.tasks.len().is_power_of_two() {
                host.tasks.retain(|task| !task.is_finished());
            }
            host.tasks.push(task);
        }
    }

    /// Ends the programs and sockets of a host.
    pub(crate) fn crash(&mut self, name: &str, vanishes: bool) -> Result<(), TopologyError> {
        let node = self.known(name)?;
        let now = self.now;
        let mut wakers: Vec<Waker> = Vec::new();
        self.host_named(name)?.crash(now, vanishes, &mut wakers);
        self.wakers.append(&mut wakers);
        self.flush(node);
        Ok(())
    }

    /// Makes a host reachable again; a program that still runs is ended.
    pub(crate) fn restart(&mut self, name: &str) -> Result<u32, TopologyError> {
        let is_running = |task: &AbortHandle| !task.is_finished();
        if self.host_named(name)?.tasks.iter().any(is_running) {
            self.crash(name, false)?;
        }
        let host = self.host_named(name)?;
        host.is_up = true;
        self.known(name)
    }

    /// What tasks wait for, a line for each socket with a waiting task.
    pub(crate) fn waiting(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for node in &self.nodes {
            let Some(host) = &node.host else {
                continue;
            };
            for (at, waiting) in &host.listeners {
                if !waiting.is_empty() {
                    lines.push(format!("{}: waits to accept at {at}", node.name));
                }
            }
            let mut connections: Vec<_> = host.connections.iter().collect();
            connections.sort_unstable_by_key(|(_, connection)| connection.tuple);
            for (handle, connection) in connections {
                let waits = match (connection.readers.is_empty(), connection.writers.is_empty()) {
                    (true, true) => continue,
                    (false, true) => "read",
                    (true, false) => "write or connect",
                    (false, false) => "read and to write",
                };
                let tuple = connection.tuple;
                let mut line = format!(
                    "{}: waits to {waits} on {}:{} -> {}:{}",
                    node.name,
                    tuple.local_address(),
                    tuple.local_port,
                    tuple.remote_address(),
                    tuple.remote_port
                );
                if let Some(engine) = host.endpoint.connection(*handle) {
                    let info = engine.info();
                    line += &format!(
                        " ({:?}, {} bytes read or readable, {} bytes written and unacknowledged, peer's window {} bytes)",
                        engine.state(),
                        info.rcv_nxt.saturating_sub(1),
                        engine.send_queue(),
                        info.snd_wnd.as_u64()
                    );
                    if connection.is_overdue(engine) {
                        line += LOST_WAKEUP;
                    }
                }
                lines.push(line);
            }
            for (at, socket) in &host.datagrams {
                if !socket.readers.is_empty() {
                    lines.push(format!("{}: waits for a datagram at {at}", node.name));
                }
            }
        }
        lines
    }
}
