//! What every reader of captures hands out: one packet as the file holds it.

use gigatcp_units::Instant;
use gigatcp_wire::link::{Captured, DissectError, Fragment, LinkType, dissect, look};

use super::notes::Place;
use super::options::Options;

/// Which way a packet went past the capturing interface.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Received by the capturing host.
    Inbound,
    /// Sent by the capturing host.
    Outbound,
}

/// What of a record the file says itself. A printed packet lacks fields that
/// the octets made of it must have: there they are zero and not known.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Known(u16);

impl Known {
    /// Everything: the octets are those of the packet.
    pub const ALL: Self = Self(u16::MAX);
    /// Nothing but what any printed packet has.
    pub const TEXT: Self = Self(0);
    /// Time to live or hop limit.
    pub const TTL: Self = Self(1);
    /// IPv4 identification.
    pub const IDENT: Self = Self(2);
    /// Traffic class, and with it the ECN field.
    pub const TRAFFIC_CLASS: Self = Self(4);
    /// The sequence numbers are those of the wire, and not relative to some
    /// that are nowhere in the text.
    pub const ABSOLUTE: Self = Self(8);
    /// Every option.
    pub const OPTIONS: Self = Self(32);
    /// IPv4's don't-fragment bit.
    pub const DONT_FRAGMENT: Self = Self(64);
    /// The sequence number; where it is not printed, it is the next one.
    pub const SEQ: Self = Self(128);
    /// The window.
    pub const WINDOW: Self = Self(256);

    /// Whether all of `other` is known.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These without those.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// One packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Which one in the file, counted from 1.
    pub number: u64,
    /// Where it begins: octets from the beginning of the file, uncompressed.
    pub offset: u64,
    /// When it was captured: since 1970 where the file says so, which printed
    /// packets without a date do not; `None` if there is no time at all.
    pub time: Option<Instant>,
    /// Octets it had on the wire, without the frame check sequence.
    pub wire_len: u32,
    /// Octets of it that the file holds, again without the check sequence.
    pub octets: &'a [u8],
    /// The interface: an index into [`crate::CaptureReader::interfaces`].
    pub interface: u32,
    /// What the octets begin with.
    pub link: LinkType,
    /// Which way it went, where the format says so.
    pub direction: Option<Direction>,
    /// Packets lost on the interface since the record before, where the
    /// format says so.
    pub dropped: u64,
    /// Whether the text says that packets were left out before this one.
    pub follows_omission: bool,
    /// What of the octets comes from the file.
    pub known: Known,
    /// Options of the format: comments and more.
    pub options: Options<'a>,
}

/// One packet of a capture, if nothing about its record is out of the ordinary:
/// the fields of [`Record`] that are of use then.
#[derive(Clone, Copy, Debug)]
pub struct PlainRecord<'a> {
    /// Which one in the file, counted from 1.
    pub number: u64,
    /// When it was captured.
    pub time: Instant,
    /// Octets it had on the wire.
    pub wire_len: u32,
    /// Octets of it that the file holds.
    pub octets: &'a [u8],
    /// What the octets begin with.
    pub link: LinkType,
}

impl<'a> Record<'a> {
    /// The TCP segment in the packet.
    ///
    /// # Errors
    /// [`DissectError`], where there is none or it cannot be seen; see
    /// [`crate::CaptureReader::note_obstacle`].
    #[inline]
    pub fn dissect(&self) -> Result<Captured<'a>, DissectError> {
        dissect(self.link, self.octets, self.wire_len)
    }

    /// The same, and the fragment that it is, if it is one of a packet that may have
    /// TCP in it; see [`gigatcp_wire::link::look`].
    #[inline]
    pub fn look(&self) -> (Result<Captured<'a>, DissectError>, Option<Fragment<'a>>) {
        look(self.link, self.octets, self.wire_len)
    }

    /// Where it stands, for notes.
    #[inline]
    #[must_use]
    pub const fn place(&self) -> Place {
        Place {
            offset: self.offset,
            record: self.number,
        }
    }
}
