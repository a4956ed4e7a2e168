//! Interfaces of a capture: the places where packets were seen.
//!
//! A run may be looked at from several places at once (at the sender, at the
//! receiver): each is an interface, and one file holds them all.

/// Default snap length: octets kept of each packet.
pub const DEFAULT_SNAP_LENGTH: u32 = 96;

/// How much of each packet is kept. The original length is always recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapLength {
    /// The first octets of each packet. Segments written by
    /// [`crate::PcapngWriter::write_segment`] keep their headers whole even
    /// where this is less: a capture that loses a SACK block explains nothing.
    Octets(u32),
    /// Everything.
    Whole,
}

impl Default for SnapLength {
    fn default() -> Self {
        Self::Octets(DEFAULT_SNAP_LENGTH)
    }
}

/// A place where packets are seen, and how they are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name shown by readers (`if_name`), such as `sender`.
    pub name: String,
    /// How much of each packet is kept.
    pub snap_length: SnapLength,
    /// Whether a super-segment is written as the segments it is on the wire,
    /// all at the same time and with consecutive IPv4 identifications.
    /// Otherwise it is one long packet, as captures on hosts with segmentation
    /// offload show it.
    pub expand_super_segments: bool,
}

impl Interface {
    /// An interface with the default snap length that keeps super-segments.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            snap_length: SnapLength::default(),
            expand_super_segments: false,
        }
    }

    /// The same with whole packets kept.
    #[must_use]
    pub fn with_whole_packets(mut self) -> Self {
        self.snap_length = SnapLength::Whole;
        self
    }

    /// The same with super-segments written as the segments of the wire.
    #[must_use]
    pub fn with_expanded_super_segments(mut self) -> Self {
        self.expand_super_segments = true;
        self
    }
}

/// One interface of one capture, in the order they were added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InterfaceId(u32);

impl InterfaceId {
    /// The interface that was added as number `index`, counted from 0.
    #[must_use]
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// The number, counted from 0.
    #[must_use]
    pub const fn index(self) -> u32 {
        self.0
    }
}
