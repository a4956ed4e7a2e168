//! Counts of wire packets and their bytes.

use gigatcp_units::Bytes;

/// A number of wire packets and their IP bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Wire packets.
    pub packets: u64,
    /// IP bytes (headers included, link overhead not) of those packets.
    pub bytes: Bytes,
}

impl Tally {
    /// A tally of `packets` wire packets with `bytes` IP bytes together.
    pub const fn new(packets: u64, bytes: u64) -> Self {
        Self {
            packets,
            bytes: Bytes::new(bytes),
        }
    }

    /// Whether nothing has been counted.
    pub const fn is_zero(&self) -> bool {
        self.packets == 0 && self.bytes.as_u64() == 0
    }

    /// Counts `more` in.
    pub fn add(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }

    /// Takes `less` out, which was counted in before.
    pub fn subtract(&mut self, less: Self) {
        self.packets -= less.packets;
        self.bytes -= less.bytes;
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, more: Self) -> Self {
        self.add(more);
        self
    }
}
