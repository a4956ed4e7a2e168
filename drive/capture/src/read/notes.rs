//! What was odd about a capture: counted, named, and placed.
//!
//! A reader goes on past whatever it can; what it passed over must not be
//! silent. There is one counter for each kind of oddity, with the place of
//! the first, so that a hostile file of any length costs no memory. The price:
//! of a thousand cut records only the first can be pointed at.

use std::fmt;

use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};

/// A kind of oddity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum NoteKind {
    /// Octets that belong to no record were passed over until records made
    /// sense again; the amount is their number.
    SkippedOctets,
    /// The file ends inside a record; the amount is how many octets are
    /// missing.
    TruncatedTail,
    /// The compressed stream is broken or ends early; what came out of it
    /// before was read.
    BrokenCompression,
    /// More octets were captured than the packet had, as the file says; the
    /// amount is the difference.
    CapturedBeyondWire,
    /// The fraction of a second is a second or more.
    OddFraction,
    /// A time before 1970, or after what 64 bits of nanoseconds hold: the
    /// record is read without a time.
    TimeOutOfRange,
    /// A packet names an interface that the file never described.
    UnknownInterface,
    /// More interfaces than are kept; packets of the rest are passed over.
    TooManyInterfaces,
    /// A block whose contents do not fit its kind was passed over.
    BadBlock,
    /// The two lengths of a block differ, and the first one led on.
    BadTrailer,
    /// A block without packets and larger than any packet was passed over.
    HugeBlock,
    /// The version of the format is none that is known; read all the same.
    UnknownVersion,
    /// The clock of an interface stepped back; the amount is by how many
    /// nanoseconds.
    ClockStepsBack,
    /// A packet was cut by the snap length; the amount is how many octets are
    /// missing.
    SnapLength,
    /// Packets that the capturing host says it lost; the amount is their
    /// number.
    DropsReported,
    /// The link type is none that is read; the detail is its number.
    UnknownLinkType,
    /// The headers are cut before the end of the fixed TCP header.
    HeadersCut,
    /// Neither IPv4 nor IPv6; the detail is the EtherType or protocol number
    /// of the link layer.
    NotIp,
    /// An IP packet that is not TCP; the detail is its protocol number.
    NotTcp,
    /// A fragment other than the first, of a packet that was not put together:
    /// it has no TCP header.
    LaterFragment,
    /// A first fragment whose rest did not come: read as a segment of what it
    /// holds.
    FirstFragmentAlone,
    /// Fragments that overlap, or say different things of where their packet
    /// ends, so that it was not put together (RFC 5722).
    FragmentsContradict,
    /// A fragment that came again.
    FragmentTwice,
    /// Headers that cannot be.
    MalformedHeaders,
    /// More headers inside one another than are followed.
    NestedTooDeep,
    /// Text that has the shape of a packet and cannot be read as one.
    UnreadText,
    /// A printed packet that is not TCP.
    TextNotTcp,
    /// A name stands where an address would; an address was made up for it.
    /// The names are [`crate::CaptureReader::names`].
    NameForAddress,
    /// The name of a service is unknown; a port was made up for it.
    UnknownService,
    /// The printed times are times of day without a date.
    NoDate,
    /// A packet is printed without a time.
    NoTime,
    /// The text says that packets were left out here.
    Omission,
    /// An option of TCP was printed in words that are not known; it was left
    /// out.
    UnknownOption,
}

/// Kinds of notes.
const KINDS: usize = NoteKind::UnknownOption as usize + 1;

impl NoteKind {
    /// Every kind, in order.
    pub const ALL: [Self; KINDS] = [
        Self::SkippedOctets,
        Self::TruncatedTail,
        Self::BrokenCompression,
        Self::CapturedBeyondWire,
        Self::OddFraction,
        Self::TimeOutOfRange,
        Self::UnknownInterface,
        Self::TooManyInterfaces,
        Self::BadBlock,
        Self::BadTrailer,
        Self::HugeBlock,
        Self::UnknownVersion,
        Self::ClockStepsBack,
        Self::SnapLength,
        Self::DropsReported,
        Self::UnknownLinkType,
        Self::HeadersCut,
        Self::NotIp,
        Self::NotTcp,
        Self::LaterFragment,
        Self::FirstFragmentAlone,
        Self::FragmentsContradict,
        Self::FragmentTwice,
        Self::MalformedHeaders,
        Self::NestedTooDeep,
        Self::UnreadText,
        Self::TextNotTcp,
        Self::NameForAddress,
        Self::UnknownService,
        Self::NoDate,
        Self::NoTime,
        Self::Omission,
        Self::UnknownOption,
    ];

    /// What happened, as the beginning of a sentence, and the unit of the
    /// amount where there is one.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::SkippedOctets => ("damaged, resumed behind it", "octets passed over"),
            Self::TruncatedTail => ("the file ends inside a record", "octets missing"),
            Self::BrokenCompression => ("the compressed stream is broken", ""),
            Self::CapturedBeyondWire => ("captured more than the packet had", "octets too many"),
            Self::OddFraction => ("a fraction of a second or more", ""),
            Self::TimeOutOfRange => ("time out of range", ""),
            Self::UnknownInterface => ("interface never described", ""),
            Self::TooManyInterfaces => ("too many interfaces", ""),
            Self::BadBlock => ("block that contradicts itself", ""),
            Self::BadTrailer => ("block with two different lengths", ""),
            Self::HugeBlock => ("huge block without packets", "octets passed over"),
            Self::UnknownVersion => ("unknown version of the format", ""),
            Self::ClockStepsBack => ("the clock stepped back", "ns"),
            Self::SnapLength => ("cut by the snap length", "octets not captured"),
            Self::DropsReported => ("lost by the capturing host", "packets"),
            Self::UnknownLinkType => ("unknown link type", ""),
            Self::HeadersCut => ("headers cut", ""),
            Self::NotIp => ("not IP", ""),
            Self::NotTcp => ("not TCP", ""),
            Self::LaterFragment => ("fragment without a TCP header", ""),
            Self::FirstFragmentAlone => ("first fragment whose rest did not come", ""),
            Self::FragmentsContradict => ("fragments that overlap or contradict one another", ""),
            Self::FragmentTwice => ("fragment that came twice", ""),
            Self::MalformedHeaders => ("malformed headers", ""),
            Self::NestedTooDeep => ("headers nested too deep", ""),
            Self::UnreadText => ("shape of a packet that cannot be read", ""),
            Self::TextNotTcp => ("printed packet that is not TCP", ""),
            Self::NameForAddress => ("name in place of an address", ""),
            Self::UnknownService => ("unknown name of a service", ""),
            Self::NoDate => ("time of day without a date", ""),
            Self::NoTime => ("packet without a time", ""),
            Self::Omission => ("packets left out by the writer", ""),
            Self::UnknownOption => ("TCP option in unknown words", ""),
        }
    }

    /// Whether the detail of a note of this kind is a number worth showing.
    const fn has_detail(self) -> bool {
        matches!(self, Self::UnknownLinkType | Self::NotIp | Self::NotTcp)
    }
}

/// How often one kind of oddity was met, and where first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Note {
    /// What it is.
    pub kind: NoteKind,
    /// How often.
    pub count: u64,
    /// Where first: octets from the beginning of the file, uncompressed.
    pub first_offset: u64,
    /// At which record first, counted from 1.
    pub first_record: u64,
    /// What was met first, where the kind says what that is; zero otherwise.
    pub first_detail: u64,
    /// The amounts added up; see the kind for the unit.
    pub total: u64,
    /// The largest amount.
    pub most: u64,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = self.kind.words();
        write!(f, "{what}")?;
        if self.kind.has_detail() {
            write!(f, " ({})", self.first_detail)?;
        }
        let (record, offset) = (self.first_record, self.first_offset);
        match self.count {
            1 => write!(f, ": once, at record {record}, offset {offset}")?,
            count => write!(
                f,
                ": {count} times, first at record {record}, offset {offset}"
            )?,
        }
        let amount = |amount: u64| match (unit, unit.strip_prefix("octets ")) {
            ("ns", _) => human_duration(Duration::from_nanos(amount)),
            (_, Some(what)) => format!("{} {what}", human_bytes(Bytes::new(amount))),
            _ => format!("{amount} {unit}"),
        };
        match (unit, self.count) {
            ("", _) => Ok(()),
            (_, 1) => write!(f, "; {}", amount(self.total)),
            _ => {
                let most = amount(self.most);
                write!(f, "; {}, at most {most} at once", amount(self.total))
            }
        }
    }
}

/// Where something was met.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// Octets from the beginning of the file, uncompressed.
    pub offset: u64,
    /// The record, counted from 1: the one at hand, or the next.
    pub record: u64,
}

/// Every oddity of one capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Notes {
    counters: [Note; KINDS],
}

impl Default for Notes {
    fn default() -> Self {
        Self {
            counters: NoteKind::ALL.map(Note::none),
        }
    }
}

impl Note {
    /// This kind was not met.
    pub(super) const fn none(kind: NoteKind) -> Self {
        Self {
            kind,
            count: 0,
            first_offset: 0,
            first_record: 0,
            first_detail: 0,
            total: 0,
            most: 0,
        }
    }
}

impl Notes {
    /// What was met at least once, in order of kind.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        self.counters.iter().filter(|note| note.count > 0)
    }

    /// Whether nothing was odd.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// The counter of one kind.
    #[must_use]
    pub const fn of(&self, kind: NoteKind) -> &Note {
        &self.counters[kind as usize]
    }

    /// How often one kind was met.
    #[must_use]
    pub const fn count(&self, kind: NoteKind) -> u64 {
        self.of(kind).count
    }

    /// Counts one oddity.
    pub fn add(&mut self, kind: NoteKind, place: Place) {
        self.add_amount(kind, place, 0);
    }

    /// Counts one oddity with a number that says which it was.
    pub fn add_detail(&mut self, kind: NoteKind, place: Place, detail: u64) {
        if self.count(kind) == 0 {
            self.counters[kind as usize].first_detail = detail;
        }
        self.add(kind, place);
    }

    /// Counts one oddity of some size.
    #[inline]
    pub fn add_amount(&mut self, kind: NoteKind, place: Place, amount: u64) {
        let note = &mut self.counters[kind as usize];
        if note.count == 0 {
            note.first_offset = place.offset;
            note.first_record = place.record;
        }
        note.count += 1;
        note.total = note.total.saturating_add(amount);
        note.most = note.most.max(amount);
    }

    /// Counts several of one kind, of which it was found out late where the first
    /// was: maybe before what was counted already.
    pub fn add_late(&mut self, kind: NoteKind, first: Place, count: u64) {
        let note = &mut self.counters[kind as usize];
        if note.count == 0 || first.record < note.first_record {
            note.first_offset = first.offset;
            note.first_record = first.record;
        }
        note.count += count;
    }

    /// Counts several of one kind at once; `several.first_*` say where the
    /// first was.
    pub(super) fn add_several(&mut self, several: &Note) {
        let note = &mut self.counters[several.kind as usize];
        if note.count == 0 {
            note.first_offset = several.first_offset;
            note.first_record = several.first_record;
        }
        note.count += several.count;
        note.total = note.total.saturating_add(several.total);
        note.most = note.most.max(several.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_counts_in_its_own_place() {
        for (index, kind) in NoteKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
            assert_eq!(Notes::default().of(kind).kind, kind);
        }
    }

    #[test]
    fn what_is_found_out_late_may_come_first() {
        let mut notes = Notes::default();
        let place = |record| Place {
            offset: 100 * record,
            record,
        };
        notes.add_late(NoteKind::LaterFragment, place(9), 1);
        notes.add_late(NoteKind::LaterFragment, place(4), 2);
        notes.add_late(NoteKind::LaterFragment, place(7), 1);
        let said: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert_eq!(
            said,
            ["fragment without a TCP header: 4 times, first at record 4, offset 400"]
        );
    }

    #[test]
    fn a_note_says_what_how_often_and_where_first() {
        let mut notes = Notes::default();
        let place = |record| Place {
            offset: 100 * record,
            record,
        };
        notes.add_amount(NoteKind::ClockStepsBack, place(7), 300);
        notes.add_amount(NoteKind::ClockStepsBack, place(9), 1200);
        notes.add_amount(NoteKind::SnapLength, place(4), 65_112);
        notes.add_detail(NoteKind::NotTcp, place(2), 17);
        notes.add_detail(NoteKind::NotTcp, place(3), 1);
        let said: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert_eq!(
            said,
            [
                "the clock stepped back: 2 times, first at record 7, offset 700; \
                 1.50 us, at most 1.20 us at once",
                "cut by the snap length: once, at record 4, offset 400; 65.1 kB not captured",
                "not TCP (17): 2 times, first at record 2, offset 200",
            ]
        );
    }
}
