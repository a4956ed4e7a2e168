//! The kernel's pool of clusters: what is received and not read, and what is written
//! and not acknowledged, all sockets together.
//!
//! What a card has not yet handed over lies in its own buffers (`receive_rings`), and
//! datagrams that are sent leave at once: neither counts.

use gigatcp_path::{ClusterPool, Parcel};
use gigatcp_tcp::Connection;
use gigatcp_units::Instant;

use super::Host;
use super::card::{Card, Frame};

impl Card {
    /// Bytes for which a write finds clusters.
    #[inline]
    pub(super) fn free_bytes(&self) -> u64 {
        self.pool.as_ref().map_or(u64::MAX, ClusterPool::free_bytes)
    }

    /// A frame takes the clusters that it needs; returns whether the pool had them.
    pub(super) fn take_clusters(&mut self, frame: &mut Frame) -> bool {
        let Some(pool) = &mut self.pool else {
            return true;
        };
        let clusters = pool.of_packet(frame.packet.ip_bytes());
        let is_there = pool.take(clusters);
        if is_there {
            frame.held.clusters = clusters;
        }
        is_there
    }

    /// A write of `len` begins, which was found to have room.
    pub(super) fn reserve_clusters(&mut self, len: u64) {
        if let Some(pool) = &mut self.pool {
            let is_there = pool.take(pool.of_buffer(len));
            debug_assert!(is_there, "a write beyond what is free");
        }
    }

    /// The write is done: its bytes count with its socket's.
    pub(super) fn unreserve_clusters(&mut self, len: u64) {
        if let Some(pool) = &mut self.pool {
            pool.release(pool.of_buffer(len));
        }
    }
}

impl Host {
    /// The pool, where it has a limit.
    #[must_use]
    pub fn clusters(&self) -> Option<&ClusterPool> {
        self.card.pool.as_ref()
    }

    /// Counts what waits in the send buffer of a socket, which may have changed.
    #[inline]
    pub(super) fn count_written(&mut self, number: usize) {
        let Some(pool) = &mut self.card.pool else {
            return;
        };
        let socket = &mut self.sockets[number];
        let queued = socket.connection().map_or(0, Connection::send_queue);
        pool.release(socket.clusters);
        socket.clusters = pool.of_buffer(queued);
        let is_there = pool.take(socket.clusters);
        debug_assert!(is_there, "bytes for which there was no cluster");
    }

    /// Whether an application would write if there were clusters.
    pub(super) fn is_starved(&self, number: usize, at: Instant) -> bool {
        let socket = &self.sockets[number];
        let program = &*self.programs[socket.program as usize].application;
        self.card.free_bytes() == 0 && socket.next_call(at, program) > 0
    }

    /// Writers that waited for clusters get their turn once there are some.
    #[inline]
    pub(super) fn wake_starved(&mut self, now: Instant) {
        if self.several.starved.is_empty() || self.card.free_bytes() == 0 {
            return;
        }
        for socket in std::mem::take(&mut self.several.starved) {
            self.settle(now, socket as usize);
        }
    }
}
