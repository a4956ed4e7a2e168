//! Packets that are due and not yet written to the device of their end.
//!
//! If a device accepts several packets per call ([`gigatcp_linux::batch`]), packets that become due
//! during reading wait here. They wait until the batch is full, until no more can be read, or for
//! [`LONGEST`]. If no packets wait to be read, none waits here; if many do, they were late already.
//! The wait is counted as lateness.

use gigatcp_units::{Duration, Instant};

use crate::packet::Packet;

/// Maximum time that a packet waits for others, plus the time to read one more.
pub(crate) const LONGEST: Duration = Duration::from_micros(10);

/// Packets that are due and wait to be written together.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Maximum packets of a batch.
    most: usize,
    packets: Vec<Packet>,
    /// Due time of each packet.
    due: Vec<Instant>,
    /// Start of the first packet's wait.
    since: Instant,
}

impl Outbox {
    /// An empty outbox for `most` packets.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            packets: Vec::with_capacity(most),
            due: Vec::with_capacity(most),
            since: Instant::ZERO,
        }
    }

    /// Adds a packet that was due at `due` and waits from `now`.
    pub(crate) fn put(&mut self, now: Instant, due: Instant, packet: Packet) {
        if self.packets.is_empty() {
            self.since = now;
        }
        self.packets.push(packet);
        self.due.push(due);
    }

    /// Whether the packets must be written now.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.packets.len() >= self.most
            || (!self.packets.is_empty() && now.saturating_since(self.since) >= LONGEST)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Waiting packets and their due times.
    pub(crate) fn packets(&self) -> (&[Packet], &[Instant]) {
        (&self.packets, &self.due)
    }

    /// Removes the packets after they were written.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.due.clear();
    }
}
