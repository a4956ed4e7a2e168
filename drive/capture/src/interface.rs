//! Interfaces of a capture: the capture points of its packets.
//!
//! A run may be captured at several points simultaneously, such as sender and receiver. Each is an
//! interface of the one file.

use gigatcp_wire::link::LinkType;

/// Default snap length: bytes kept of each packet.
pub const DEFAULT_SNAP_LENGTH: u32 = 96;

/// Number of bytes kept of each packet. The original length is always recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapLength {
    /// The first bytes of each packet. Segments written by [`crate::PcapngWriter::write_segment`]
    /// keep their headers complete even if this is less: without SACK blocks a capture cannot be
    /// analyzed.
    Octets(u32),
    /// Whole packets.
    Whole,
}

impl Default for SnapLength {
    fn default() -> Self {
        Self::Octets(DEFAULT_SNAP_LENGTH)
    }
}

/// A capture point and its settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Interface {
    /// Name shown by readers (`if_name`), such as `sender`; empty: none.
    pub name: String,
    /// Link type of its packets. Segments are written as bare IP.
    pub link: LinkType,
    /// Number of bytes kept of each packet.
    pub snap_length: SnapLength,
    /// Whether a super-segment is written as its wire segments. They then have the same time and
    /// consecutive IPv4 identifications. Otherwise it is one long packet, as in captures on hosts
    /// with segmentation offload.
    pub expand_super_segments: bool,
}

impl Interface {
    /// An interface of bare IP packets with the default snap length that keeps super-segments.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            link: LinkType::RAW,
            snap_length: SnapLength::default(),
            expand_super_segments: false,
        }
    }

    /// Keeps whole packets.
    #[must_use]
    pub fn with_whole_packets(mut self) -> Self {
        self.snap_length = SnapLength::Whole;
        self
    }

    /// Writes super-segments as wire segments.
    #[must_use]
    pub fn with_expanded_super_segments(mut self) -> Self {
        self.expand_super_segments = true;
        self
    }
}

/// Identifies an interface of a capture, in the order they were added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct InterfaceId(u32);

impl InterfaceId {
    /// Interface with that index, counted from 0.
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }

    /// Index, counted from 0.
    pub const fn index(self) -> u32 {
        self.0
    }
}
