//! Packets on the doorstep: due, and not yet handed to the device of their end.
//!
//! Where a device takes several packets in a call ([`gigatcp_linux::batch`]), those
//! that are due while others are still being read wait for them here: for as many
//! as a call takes, for the last one that can be read, or for [`LONGEST`]. Where
//! nothing else waits to be read, nothing waits here; where much does, packets were
//! late already. What waits is counted as late as any other.

use gigatcp_units::{Duration, Instant};

use crate::packet::Packet;

/// Maximum time that a packet waits for others, plus the time to read one more.
pub(crate) const LONGEST: Duration = Duration::from_micros(10);

/// Packets that are due and wait to be written together.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Packets that go together.
    most: usize,
    packets: Vec<Packet>,
    /// When each of them was due.
    due: Vec<Instant>,
    /// Since when the first waits.
    since: Instant,
}

impl Outbox {
    /// An empty one that holds `most` packets.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            packets: Vec::with_capacity(most),
            due: Vec::with_capacity(most),
            since: Instant::ZERO,
        }
    }

    /// `packet` was due, and waits since `now`.
    pub(crate) fn put(&mut self, now: Instant, due: Instant, packet: Packet) {
        if self.packets.is_empty() {
            self.since = now;
        }
        self.packets.push(packet);
        self.due.push(due);
    }

    /// Whether nothing shall wait any longer.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.packets.len() >= self.most
            || (!self.packets.is_empty() && now.saturating_since(self.since) >= LONGEST)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// What waits, and when it was due.
    pub(crate) fn packets(&self) -> (&[Packet], &[Instant]) {
        (&self.packets, &self.due)
    }

    /// They were handed over.
    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.due.clear();
    }
}
