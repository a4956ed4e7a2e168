//! Interfaces described by capture files, and records before they borrow their bytes.

use gigatcp_units::Instant;
use gigatcp_wire::link::LinkType;

use super::input::Input;
use super::notes::{NoteKind, Notes, Place};
use super::options::Order;
use super::record::Direction;
use super::timing::{Clock, Resolution};

/// An interface that a file describes. A pcap file and a text have one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedInterface {
    /// Its name, if the file has one; cut if it is very long.
    pub name: Option<String>,
    /// Link type of its packets.
    pub link: LinkType,
    /// Maximum bytes kept of a packet; zero: unlimited.
    pub snap_len: u32,
    /// Bytes of the frame check sequence at the end of each packet.
    pub fcs_len: u8,
    /// Total of packets that the capturing host reports as lost, from the file's statistics.
    pub lost: Option<u64>,
    /// Its clock.
    pub(super) clock: Clock,
}

impl CapturedInterface {
    /// An interface with microsecond times and default values.
    pub(super) const fn new(link: LinkType, snap_len: u32) -> Self {
        Self {
            name: None,
            link,
            snap_len,
            fcs_len: 0,
            lost: None,
            clock: Clock::new(Resolution::DEFAULT),
        }
    }

    /// Converts ticks to a time, and notes its oddities.
    #[inline(always)]
    pub(super) fn time(&mut self, ticks: u64, notes: &mut Notes, place: Place) -> Option<Instant> {
        let Some(time) = self.clock.time(ticks) else {
            notes.add(NoteKind::TimeOutOfRange, place);
            return None;
        };
        Some(self.on_time(time, notes, place))
    }

    /// Records the time of a packet, and notes if the clock stepped back.
    #[inline]
    pub(super) fn on_time(&mut self, time: Instant, notes: &mut Notes, place: Place) -> Instant {
        if let Some(back) = self.clock.on_time(time) {
            notes.add_amount(NoteKind::ClockStepsBack, place, back);
        }
        time
    }
}

/// A range of the bytes in memory.
#[derive(Clone, Copy, Default, Debug)]
pub struct ByteRange {
    pub start: usize,
    pub len: usize,
}

/// A record before it borrows its bytes. Ranges refer to the bytes in memory.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord {
    pub time: Option<Instant>,
    pub wire_len: u32,
    pub interface: u32,
    pub link: LinkType,
    pub direction: Option<Direction>,
    pub dropped: u64,
    pub octets: ByteRange,
    pub options: ByteRange,
    pub order: Order,
}

/// Length on the wire and the captured bytes of it. Both are without the frame check sequence. A
/// cut by the snap length is noted, and more captured bytes than the packet had.
#[inline]
pub fn lengths(
    (captured, mut wire): (u32, u32),
    fcs_len: u8,
    notes: &mut Notes,
    place: Place,
) -> (u32, usize) {
    if captured > wire {
        let more = u64::from(captured - wire);
        notes.add_amount(NoteKind::CapturedBeyondWire, place, more);
        wire = captured;
    }
    let without_fcs = wire.saturating_sub(u32::from(fcs_len));
    if captured < without_fcs {
        let missing = u64::from(without_fcs - captured);
        notes.add_amount(NoteKind::SnapLength, place, missing);
    }
    (without_fcs, captured.min(without_fcs) as usize)
}

/// State that the reader of a format works on.
#[derive(Debug)]
pub struct ReadContext {
    pub input: Input,
    pub notes: Notes,
    /// Number of the next record.
    pub number: u64,
}

impl ReadContext {
    /// Place `ahead` bytes after the position of the input.
    #[inline]
    pub const fn place(&self, ahead: usize) -> Place {
        Place {
            offset: self.input.offset() + ahead as u64,
            record: self.number,
        }
    }

    /// Counts an oddity with an amount.
    #[inline]
    pub fn note(&mut self, kind: NoteKind, place: Place, amount: u64) {
        self.notes.add_amount(kind, place, amount);
    }

    /// Passes all bytes in memory, after a record of `pending` bytes. What is behind it is too
    /// short for the `head` bytes that begin a record.
    pub fn end(&mut self, pending: usize, head: usize) {
        let rest = self.input.octets().len() - pending;
        if rest > 0 {
            self.note(
                NoteKind::TruncatedTail,
                self.place(pending),
                (head - rest) as u64,
            );
        }
        self.pass_rest();
    }

    /// Passes all bytes in memory.
    pub fn pass_rest(&mut self) {
        let rest = self.input.octets().len();
        self.input.pass(rest);
    }
}
