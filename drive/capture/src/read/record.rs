//! A packet as a capture file holds it, the output of every reader of captures.

use gigatcp_units::Instant;
use gigatcp_wire::link::{
    Captured, DissectError, Fragment, LinkType, dissect, dissect_with_fragment,
};

use super::notes::Place;
use super::options::Options;

/// Direction of a packet at the capturing interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Received by the capturing host.
    Inbound,
    /// Sent by the capturing host.
    Outbound,
}

/// Fields of a record that come from the file. A printed packet lacks fields that its encoded form
/// must have; those are zero and not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KnownFields(u16);

impl KnownFields {
    /// Everything: the bytes are those of the packet.
    pub const ALL: Self = Self(u16::MAX);
    /// Only the fields that any printed packet has.
    pub const TEXT: Self = Self(0);
    /// Time to live or hop limit.
    pub const TTL: Self = Self(1);
    /// IPv4 identification.
    pub const IDENT: Self = Self(2);
    /// Traffic class, including the ECN field.
    pub const TRAFFIC_CLASS: Self = Self(4);
    /// The sequence numbers are absolute. Otherwise they are relative to numbers that are not in
    /// the text.
    pub const ABSOLUTE: Self = Self(8);
    /// Every option.
    pub const OPTIONS: Self = Self(32);
    /// IPv4's don't-fragment bit.
    pub const DONT_FRAGMENT: Self = Self(64);
    /// The sequence number. If it is not printed, the next one is assumed.
    pub const SEQ: Self = Self(128);
    /// The window.
    pub const WINDOW: Self = Self(256);

    /// Whether all of `other` is known.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Union of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// One packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Its number in the file, counted from 1.
    pub number: u64,
    /// Its offset: bytes from the beginning of the file, uncompressed.
    pub offset: u64,
    /// Time of capture, since 1970 if the file has dates. Printed packets may have no date; `None`
    /// if there is no time.
    pub time: Option<Instant>,
    /// Length on the wire in bytes, without the frame check sequence.
    pub wire_len: u32,
    /// Captured bytes, without the frame check sequence.
    pub octets: &'a [u8],
    /// Interface: an index into [`crate::CaptureReader::interfaces`].
    pub interface: u32,
    /// Link type of the bytes.
    pub link: LinkType,
    /// Direction of the packet, if the format has it.
    pub direction: Option<Direction>,
    /// Packets lost on the interface since the previous record, if the format has it.
    pub dropped: u64,
    /// Whether the text omits packets before this one.
    pub follows_omission: bool,
    /// Fields that come from the file.
    pub known: KnownFields,
    /// Options of the format, such as comments.
    pub options: Options<'a>,
}

/// One packet of a capture whose record is ordinary. It has the fields of [`Record`] that matter
/// then.
#[derive(Clone, Copy, Debug)]
pub struct PlainRecord<'a> {
    /// Its number in the file, counted from 1.
    pub number: u64,
    /// Time of capture.
    pub time: Instant,
    /// Length on the wire in bytes.
    pub wire_len: u32,
    /// Captured bytes.
    pub octets: &'a [u8],
    /// Link type of the bytes.
    pub link: LinkType,
}

impl<'a> Record<'a> {
    /// TCP segment in the packet.
    ///
    /// # Errors
    /// [`DissectError`], if there is none or it cannot be read; see
    /// [`crate::CaptureReader::note_dissect_error`].
    #[inline]
    pub fn dissect(&self) -> Result<Captured<'a>, DissectError> {
        dissect(self.link, self.octets, self.wire_len)
    }

    /// TCP segment and, for a fragment, the fragment. The fragment is one of a packet that may
    /// contain TCP; see [`gigatcp_wire::link::dissect_with_fragment`].
    #[inline]
    pub fn dissect_with_fragment(
        &self,
    ) -> (Result<Captured<'a>, DissectError>, Option<Fragment<'a>>) {
        dissect_with_fragment(self.link, self.octets, self.wire_len)
    }

    /// Its place, for notes.
    #[inline]
    pub const fn place(&self) -> Place {
        Place {
            offset: self.offset,
            record: self.number,
        }
    }
}
