//! The kernel's pool of clusters: buffers for received data that is unread and written data that is
//! unacknowledged, of all sockets together.
//!
//! Two kinds of data do not count: frames still in the card's own buffers (`receive_rings`), and
//! sent datagrams, which leave immediately.

use gigatcp_path::{ClusterPool, Parcel};
use gigatcp_units::Instant;

use super::Host;
use super::card::{Card, Frame};

impl Card {
    /// Bytes for which a write finds clusters.
    #[inline]
    pub(super) fn free_bytes(&self) -> u64 {
        self.pool.as_ref().map_or(u64::MAX, ClusterPool::free_bytes)
    }

    /// Takes the clusters for a frame; returns whether the pool had them.
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

    /// Reserves clusters for a write of `len` that begins. The caller has checked that they are
    /// free.
    pub(super) fn reserve_clusters(&mut self, len: u64) {
        if let Some(pool) = &mut self.pool {
            let is_there = pool.take(pool.of_buffer(len));
            debug_assert!(is_there, "a write beyond what is free");
        }
    }

    /// Releases the reservation when the write is done: its bytes now count as its socket's.
    pub(super) fn unreserve_clusters(&mut self, len: u64) {
        if let Some(pool) = &mut self.pool {
            pool.release(pool.of_buffer(len));
        }
    }
}

impl Host {
    /// Pool, if it is limited.
    pub fn clusters(&self) -> Option<&ClusterPool> {
        self.card.pool.as_ref()
    }

    /// Updates the clusters of a socket's send buffer, whose size may have changed.
    #[inline]
    pub(super) fn count_written(&mut self, number: usize) {
        let Some(pool) = &mut self.card.pool else {
            return;
        };
        let socket = &mut self.sockets[number];
        let queued = socket.connection().map_or(0, |c| c.send_queue());
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

    /// Gives a turn to writers that waited for clusters, once some are free.
    #[inline]
    pub(super) fn wake_starved(&mut self, now: Instant) {
        if self.shared.starved.is_empty() || self.card.free_bytes() == 0 {
            return;
        }
        for socket in std::mem::take(&mut self.shared.starved) {
            self.schedule_socket(now, socket as usize);
        }
    }
}
