//! Oddities of a capture: counted, named, and placed.
//!
//! A reader continues past oddities where it can, and counts what it skips. Each kind of oddity has
//! one counter and the place of the first. The memory is thus constant for a hostile file of any
//! length; of a thousand cut records only the first has a place.
//!
//! Packets without a TCP segment are one note, [`NoteKind::NotRead`], with a count for each of up
//! to [`MOST_REASONS`] reasons. Kinds that are reasons of it also have counters, but are not
//! separate notes.

use std::fmt;

use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};
use gigatcp_wire::link::Reason;

/// Maximum reasons with separate counts.
const MOST_REASONS: usize = 64;

/// Maximum reasons printed separately.
const PRINTED_REASONS: usize = 8;

/// Defines the kinds of oddities, each with the beginning of its sentence. Kinds with an amount also
/// have its unit.
macro_rules! note_kinds {
    ($($(#[$doc:meta])+ $kind:ident = $words:literal $(, $unit:literal)?;)+) => {
        /// A kind of oddity.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum NoteKind {
            $($(#[$doc])+ $kind,)+
        }

        impl NoteKind {
            /// Every kind, in order.
            pub const ALL: [Self; KINDS] = [$(Self::$kind),+];

            /// Beginning of a sentence, and the unit of the amount. The unit is empty if there is
            /// no amount.
            const fn words(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$kind => ($words, concat!($($unit)?)),)+
                }
            }
        }
    };
}

note_kinds! {
    /// Bytes outside of records were skipped until records were plausible again. The amount is
    /// their number.
    SkippedOctets = "damaged, resumed behind it", "octets passed over";
    /// The file ends inside a record; the amount is the number of bytes missing.
    TruncatedTail = "the file ends inside a record", "octets missing";
    /// The compressed stream is broken or ends early. The part before was read.
    BrokenCompression = "the compressed stream is broken";
    /// The file claims more captured bytes than the packet had. The amount is the difference.
    CapturedBeyondWire = "captured more than the packet had", "octets too many";
    /// The fraction of a second is a second or more.
    OddFraction = "a fraction of a second or more";
    /// A time before 1970 or beyond 64 bits of nanoseconds. The record is read without a time.
    TimeOutOfRange = "time out of range";
    /// A packet names an interface that the file never described.
    UnknownInterface = "interface never described";
    /// More interfaces than are kept; packets of the others are skipped.
    TooManyInterfaces = "too many interfaces";
    /// A block whose contents do not fit its kind was skipped.
    BadBlock = "block that contradicts itself";
    /// The two lengths of a block differ; the first one was right.
    BadTrailer = "block with two different lengths";
    /// A block without packets, larger than any packet, was skipped.
    HugeBlock = "huge block without packets", "octets passed over";
    /// The version of the format is unknown; read anyway.
    UnknownVersion = "unknown version of the format";
    /// The clock of an interface stepped back; the amount is in nanoseconds.
    ClockStepsBack = "the clock stepped back", "ns";
    /// A packet was cut by the snap length. The amount is the number of bytes missing.
    SnapLength = "cut by the snap length", "octets not captured";
    /// The snap length cut the TCP options of a packet: its window scale, MSS, SACK and timestamps are
    /// unknown.
    OptionsCut = "TCP options cut by the snap length, which 128 bytes of a packet keep";
    /// Packets that the capturing host reports as lost; the amount is their number.
    DropsReported = "lost by the capturing host", "packets";
    /// Packets without a readable TCP segment; [`Note::reasons`] has the reasons with counts.
    NotRead = "not read";
    /// The link type is unknown; the detail is its number.
    UnknownLinkType = "unknown link type";
    /// The headers are cut before the end of the fixed TCP header.
    HeadersCut = "headers cut";
    /// Neither IPv4 nor IPv6. The detail is the EtherType or protocol number of the link layer.
    NotIp = "not IP";
    /// An IP packet that is not TCP; the detail is its protocol number.
    NotTcp = "not TCP";
    /// A fragment other than the first, of a packet that was not reassembled. It has no TCP header.
    LaterFragment = "fragment without a TCP header";
    /// A first fragment without the others. It is read as a segment with the data it contains.
    FirstFragmentAlone = "first fragment whose rest did not come";
    /// Fragments that overlap, or differ in the end of their packet. The packet was not reassembled
    /// (RFC 5722).
    FragmentsContradict = "fragments that overlap or contradict one another";
    /// A duplicate fragment.
    FragmentTwice = "fragment that came twice";
    /// A form of packet that cannot be read, such as encrypted 802.11.
    UnreadForm = "form of packet that is not read";
    /// Malformed headers.
    MalformedHeaders = "malformed headers";
    /// Headers nested deeper than the limit.
    NestedTooDeep = "headers nested too deep";
    /// Text in the form of a packet that cannot be parsed.
    UnreadText = "shape of a packet that cannot be read";
    /// A printed packet that is not TCP.
    TextNotTcp = "printed packet that is not TCP";
    /// A name in place of an address; an address was assigned to it.
    /// [`crate::CaptureReader::names`] has the names.
    NameForAddress = "name in place of an address";
    /// The name of a service is unknown; a port was assigned to it.
    UnknownService = "unknown name of a service";
    /// The printed times are times of day without a date.
    NoDate = "time of day without a date";
    /// A packet is printed without a time.
    NoTime = "packet without a time";
    /// The text has an ellipsis here: packets were left out.
    Omission = "packets left out by the writer";
    /// A TCP option was printed in unknown words. It was left out.
    UnknownOption = "TCP option in unknown words";
}

/// Number of kinds.
const KINDS: usize = NoteKind::UnknownOption as usize + 1;

impl NoteKind {
    /// Whether it is a reason of [`Self::NotRead`], which counts it too.
    pub const fn is_reason(self) -> bool {
        matches!(
            self,
            Self::UnknownLinkType
                | Self::HeadersCut
                | Self::NotIp
                | Self::NotTcp
                | Self::LaterFragment
                | Self::UnreadForm
                | Self::MalformedHeaders
                | Self::NestedTooDeep
                | Self::TextNotTcp
        )
    }

    /// Whether notes of this kind print their detail.
    const fn has_detail(self) -> bool {
        matches!(self, Self::UnknownLinkType | Self::NotIp | Self::NotTcp)
    }
}

/// Count of one kind of oddity, with the place of the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Its kind.
    pub kind: NoteKind,
    /// Number of occurrences.
    pub count: u64,
    /// Offset of the first, in bytes from the beginning of the file, uncompressed.
    pub first_offset: u64,
    /// Record of the first, counted from 1.
    pub first_record: u64,
    /// Detail of the first, for kinds with a detail; otherwise zero.
    pub first_detail: u64,
    /// Sum of the amounts; see the kind for the unit.
    pub total: u64,
    /// The largest amount.
    pub most: u64,
    /// Reasons of [`NoteKind::NotRead`] with the number of packets, in order of occurrence.
    reasons: Vec<(Reason, u64)>,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, unit) = self.kind.words();
        if self.kind == NoteKind::NotRead {
            return self.write_reasons(f);
        }
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

/// A place in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Place {
    /// Offset in bytes from the beginning of the file, uncompressed.
    pub offset: u64,
    /// The record, counted from 1: the current one, or the next.
    pub record: u64,
}

impl Note {
    /// Why packets were not read, with counts, most frequent first.
    pub fn reasons(&self) -> Vec<(Reason, u64)> {
        let mut reasons = self.reasons.clone();
        reasons.sort_by_key(|&(reason, count)| (std::cmp::Reverse(count), reason));
        reasons
    }

    /// Writes the counts of all reasons in one line.
    fn write_reasons(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = self.reasons();
        for (index, (reason, count)) in reasons.iter().take(PRINTED_REASONS).enumerate() {
            f.write_str(if index == 0 { "not read: " } else { ", " })?;
            write!(f, "{count} {reason}")?;
        }
        if let Some(others @ [_, ..]) = reasons.get(PRINTED_REASONS..) {
            let count: u64 = others.iter().map(|(_, count)| count).sum();
            write!(f, ", {count} of {} other kinds", others.len())?;
        }
        let (record, offset) = (self.first_record, self.first_offset);
        write!(f, "; first at record {record}, offset {offset}")
    }

    fn add_reason(&mut self, reason: Reason, count: u64) {
        let is_full = self.reasons.len() >= MOST_REASONS;
        let found = self.reasons.iter_mut().find(|(known, _)| *known == reason);
        match found {
            Some((_, counted)) => *counted += count,
            None if is_full && reason != Reason::OTHER => self.add_reason(Reason::OTHER, count),
            None => self.reasons.push((reason, count)),
        }
    }
}

/// All oddities of one capture.
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
    /// A note with a count of zero.
    pub(super) const fn none(kind: NoteKind) -> Self {
        Self {
            kind,
            count: 0,
            first_offset: 0,
            first_record: 0,
            first_detail: 0,
            total: 0,
            most: 0,
            reasons: Vec::new(),
        }
    }
}

impl Notes {
    /// Notes that occurred, in order of kind. Reasons of [`NoteKind::NotRead`] are left out, since
    /// it contains them.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        let is_note = |note: &&Note| note.count > 0 && !note.kind.is_reason();
        self.counters.iter().filter(is_note)
    }

    /// Whether there are no notes.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Counter of one kind.
    pub const fn of(&self, kind: NoteKind) -> &Note {
        &self.counters[kind as usize]
    }

    /// Count of one kind.
    pub const fn count(&self, kind: NoteKind) -> u64 {
        self.of(kind).count
    }

    /// Counts an oddity.
    pub fn add(&mut self, kind: NoteKind, place: Place) {
        self.add_amount(kind, place, 0);
    }

    /// Counts an oddity with a number that specifies it.
    pub fn add_detail(&mut self, kind: NoteKind, place: Place, detail: u64) {
        if self.count(kind) == 0 {
            self.counters[kind as usize].first_detail = detail;
        }
        self.add(kind, place);
    }

    /// Counts an unreadable packet under its kind, its reason and [`NoteKind::NotRead`].
    pub fn add_unread(&mut self, kind: NoteKind, reason: Reason, place: Place, detail: u64) {
        self.add_detail(kind, place, detail);
        self.add(NoteKind::NotRead, place);
        self.counters[NoteKind::NotRead as usize].add_reason(reason, 1);
    }

    /// Counts an oddity with an amount.
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

    /// Counts several of one kind, the first possibly before those already counted. Fragments
    /// without a TCP header are packets that are not read.
    pub fn add_late(&mut self, kind: NoteKind, first: Place, count: u64) {
        self.count_late(kind, first, count);
        if kind == NoteKind::LaterFragment {
            self.count_late(NoteKind::NotRead, first, count);
            self.counters[NoteKind::NotRead as usize].add_reason(Reason::FRAGMENT, count);
        }
    }

    fn count_late(&mut self, kind: NoteKind, first: Place, count: u64) {
        let note = &mut self.counters[kind as usize];
        if note.count == 0 || first.record < note.first_record {
            note.first_offset = first.offset;
            note.first_record = first.record;
        }
        note.count += count;
    }

    /// Counts several of one kind; `several.first_*` is the place of the first.
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
    use gigatcp_wire::link::{DissectError, Layer};

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
        notes.add_late(NoteKind::FirstFragmentAlone, place(3), 1);
        let said: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert_eq!(
            said,
            [
                "not read: 4 in fragments without a TCP header; first at record 4, offset 400",
                "first fragment whose rest did not come: once, at record 3, offset 300"
            ]
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
        for (record, protocol) in [(2, 1), (3, 17), (5, 17)] {
            let reason = DissectError::NotTcp { protocol }.reason();
            notes.add_unread(NoteKind::NotTcp, reason, place(record), protocol.into());
        }
        let said: Vec<String> = notes.iter().map(Note::to_string).collect();
        assert_eq!(
            said,
            [
                "the clock stepped back: 2 times, first at record 7, offset 700; \
                 1.50 us, at most 1.20 us at once",
                "cut by the snap length: once, at record 4, offset 400; 65.1 kB not captured",
                "not read: 2 UDP, 1 ICMP; first at record 2, offset 200",
            ]
        );
        assert_eq!(notes.count(NoteKind::NotTcp), 3);
    }

    #[test]
    fn of_many_reasons_each_packet_is_counted_and_memory_is_bounded() {
        let mut notes = Notes::default();
        for number in 0..1000 {
            let layer = Layer::Ethernet;
            let kind = 0x1000 + number % 100;
            let reason = DissectError::NotIp { layer, kind }.reason();
            notes.add_unread(NoteKind::NotIp, reason, Place::default(), kind.into());
        }
        let note = notes.of(NoteKind::NotRead);
        let reasons = note.reasons();
        assert_eq!(reasons.len(), MOST_REASONS + 1);
        assert_eq!(reasons[0], (Reason::OTHER, 360));
        assert_eq!(reasons.iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert_eq!(note.count, 1000);
        let said = note.to_string();
        let start = "not read: 360 of other kinds, 10 EtherType 0x1000, 10 EtherType 0x1001";
        assert!(said.starts_with(start), "{said}");
        assert!(said.contains(", 570 of 57 other kinds; first"), "{said}");
    }
}
