//! Interfaces as capture files describe them, and what a format's reader
//! found before it becomes a record.

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
    /// Its name, where the file says it; cut where it is very long.
    pub name: Option<String>,
    /// What its packets begin with.
    pub link: LinkType,
    /// The most octets kept of a packet; zero where there is no limit.
    pub snap_len: u32,
    /// Octets of the frame check sequence at the end of each packet.
    pub fcs_len: u8,
    /// Packets that the capturing host says it lost in all, from the file's
    /// statistics.
    pub lost: Option<u64>,
    /// Its clock.
    pub(super) clock: Clock,
}

impl CapturedInterface {
    /// An interface with microseconds and nothing else said.
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

    /// The time of that many ticks, with notes about it.
    #[inline(always)]
    pub(super) fn time(&mut self, ticks: u64, notes: &mut Notes, place: Place) -> Option<Instant> {
        let Some(time) = self.clock.time(ticks) else {
            notes.add(NoteKind::TimeOutOfRange, place);
            return None;
        };
        Some(self.on_time(time, notes, place))
    }

    /// Takes a record's time, with a note where the clock stepped back.
    #[inline]
    pub(super) fn on_time(&mut self, time: Instant, notes: &mut Notes, place: Place) -> Instant {
        if let Some(back) = self.clock.on_time(time) {
            notes.add_amount(NoteKind::ClockStepsBack, place, back);
        }
        time
    }
}

/// A piece of what is in memory.
#[derive(Clone, Copy, Default, Debug)]
pub struct Piece {
    pub start: usize,
    pub len: usize,
}

/// A record before it borrows its octets. Places are within what the input has
/// in memory.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord {
    pub time: Option<Instant>,
    pub wire_len: u32,
    pub interface: u32,
    pub link: LinkType,
    pub direction: Option<Direction>,
    pub dropped: u64,
    pub octets: Piece,
    pub options: Piece,
    pub order: Order,
}

/// Takes the frame check sequence off a packet and notes what the snap length
/// took: the length on the wire, and how many octets of it are there.
#[inline]
pub fn lengths(
    (captured, wire): (u32, u32),
    fcs_len: u8,
    notes: &mut Notes,
    place: Place,
) -> (u32, usize) {
    let wire = wire.saturating_sub(u32::from(fcs_len));
    if captured < wire {
        let missing = u64::from(wire - captured);
        notes.add_amount(NoteKind::SnapLength, place, missing);
    }
    (wire, captured.min(wire) as usize)
}

/// What a reader of a format works with.
pub struct Work<'a> {
    pub input: &'a mut Input,
    pub notes: &'a mut Notes,
    /// The number of the next record.
    pub number: u64,
}

impl Work<'_> {
    /// The place `ahead` octets before which the input stands.
    #[inline]
    pub const fn place(&self, ahead: usize) -> Place {
        Place {
            offset: self.input.offset() + ahead as u64,
            record: self.number,
        }
    }

    /// Passes everything that is in memory.
    pub fn pass_rest(&mut self) {
        let rest = self.input.octets().len();
        self.input.pass(rest);
    }
}
