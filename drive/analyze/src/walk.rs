//! Iterates over the segments of a capture.
//!
//! Most segments are plain and parsed in place ([`gigatcp_flows::Plain`]); skipping one costs only
//! a brief check. Fragments are reassembled ([`gigatcp_flows::Datagrams`]). Packets without
//! readable TCP are counted by the reader, except ICMP errors about a segment.

use std::sync::atomic::Ordering;

use gigatcp_capture::{CaptureReader, Format, Note, NoteKind, Place, Record};
use gigatcp_flows::{
    Arrival, Datagrams, FragmentIssue, Observed, Packet, PacketSummary, Pair, Plain,
};
use gigatcp_units::Instant;
use gigatcp_wire::link::{CapturedIcmpError, Reason, dissect_icmp_error, dissect_name_message};

use crate::error::Halt;
use crate::name_lookups::NameLookups;
use crate::options::{Options, Progress};
use crate::source::Source;

/// Bytes between two reports of progress.
const REPORT_EVERY: u64 = 1 << 20;

/// A segment whose fields are not yet in one place.
pub(crate) enum Segment<'a> {
    /// A segment that is parsed in place.
    Plain(&'a Plain<'a>),
    /// Any other.
    Other(&'a Observed),
}

impl Packet for Segment<'_> {
    #[inline(always)]
    fn pair(&self) -> Pair {
        match self {
            Self::Plain(plain) => plain.pair(),
            Self::Other(observed) => observed.pair(),
        }
    }

    #[inline(always)]
    fn summary(&self) -> PacketSummary {
        match self {
            Self::Plain(plain) => plain.summary(),
            Self::Other(observed) => observed.summary(),
        }
    }

    #[inline(always)]
    fn observed(&self) -> Observed {
        match self {
            Self::Plain(plain) => plain.observed(),
            Self::Other(observed) => observed.observed(),
        }
    }
}

/// A record of the capture.
pub(crate) struct CapturedRecord<'a> {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// Time of capture; a record without a time has that of the record before.
    pub(crate) at: Instant,
    /// Its segment, if any.
    pub(crate) segment: Option<Segment<'a>>,
    /// The ICMP error about a segment that it is, if any.
    pub(crate) icmp_error: Option<&'a CapturedIcmpError>,
}

impl CapturedRecord<'_> {
    /// A record without a segment.
    #[inline(always)]
    const fn empty(number: u64, at: Instant) -> Self {
        Self {
            number,
            at,
            segment: None,
            icmp_error: None,
        }
    }
}

/// A pass over a capture, from its first record to its last.
pub(crate) struct Walk<'a> {
    reader: CaptureReader,
    now: Instant,
    datagrams: Datagrams,
    /// Lookups of names so far, where they are wanted.
    lookups: Option<NameLookups>,
    options: Options<'a>,
    /// Offset of the next progress report.
    report_at: u64,
    total_bytes: Option<u64>,
}

impl<'a> Walk<'a> {
    /// A walk that neither reports progress nor can be stopped.
    pub(crate) fn quiet(reader: CaptureReader) -> Self {
        Self {
            reader,
            now: Instant::ZERO,
            datagrams: Datagrams::new(),
            lookups: None,
            options: Options::default(),
            report_at: u64::MAX,
            total_bytes: None,
        }
    }

    /// A walk that can be stopped. It reports progress if it `is_first` of several.
    pub(crate) fn new(
        reader: CaptureReader,
        source: &Source,
        options: &Options<'a>,
        is_first: bool,
    ) -> Self {
        let progress = options.progress.filter(|_| is_first);
        let is_watched = progress.is_some() || options.stop.is_some();
        Self {
            options: Options {
                progress,
                ..*options
            },
            report_at: if is_watched { 0 } else { u64::MAX },
            total_bytes: source.size().filter(|_| reader.compression().is_none()),
            ..Self::quiet(reader)
        }
    }

    /// Passes on all records.
    #[inline(always)]
    pub(crate) fn all(&mut self, to: &mut impl FnMut(CapturedRecord<'_>)) -> Result<(), Halt> {
        while self.next_batch(to)? {}
        Ok(())
    }

    /// Passes on the next records, up to 128 KiB. Returns false after the last one.
    #[inline(always)]
    pub(crate) fn next_batch(
        &mut self,
        to: &mut impl FnMut(CapturedRecord<'_>),
    ) -> Result<bool, Halt> {
        if self.reader.offset() >= self.report_at {
            self.report()?;
        }
        if !self.datagrams.is_empty() {
            return self.next_reassembled(to);
        }
        let now = &mut self.now;
        self.reader.next_plain(|record| {
            let (at, link) = (record.time, record.link);
            let Some(plain) = Plain::read(at, link, record.octets, record.wire_len) else {
                return false;
            };
            *now = at;
            to(CapturedRecord {
                segment: Some(Segment::Plain(&plain)),
                ..CapturedRecord::empty(record.number, at)
            });
            true
        });
        let Some(record) = self.reader.next_record()? else {
            self.datagrams.handle_end();
            self.release_reassembled(to);
            return self.end();
        };
        self.now = record.time.unwrap_or(self.now);
        let at = self.now;
        if let Some(plain) = Plain::read(at, record.link, record.octets, record.wire_len) {
            to(CapturedRecord {
                segment: Some(Segment::Plain(&plain)),
                ..CapturedRecord::empty(record.number, at)
            });
            return Ok(true);
        }
        let (place, number) = (record.place(), record.number);
        match record.dissect_with_fragment() {
            (_, Some(_)) => {
                self.datagrams.handle_packet(&arrival(&record, at));
                self.release_reassembled(to);
            }
            (Ok(segment), None) => {
                let observed = Observed::new(at, &segment);
                let has_all_options = segment.has_all_options();
                to(CapturedRecord {
                    segment: Some(Segment::Other(&observed)),
                    ..CapturedRecord::empty(number, at)
                });
                if !has_all_options {
                    self.reader.notes_mut().add(NoteKind::OptionsCut, place);
                }
            }
            (Err(error), None) => {
                if !show_icmp_error(&record, at, to) {
                    to(CapturedRecord::empty(number, at));
                    if let Some(lookups) = &mut self.lookups {
                        let (link, octets) = (record.link, record.octets);
                        if let Some(message) = dissect_name_message(link, octets, record.wire_len) {
                            lookups.handle_message(at, &message);
                        }
                    }
                    self.reader.note_dissect_error(place, &error);
                }
            }
        }
        Ok(true)
    }

    /// Passes on the next record while others wait for the rest of a fragmented packet.
    #[cold]
    #[inline(never)]
    fn next_reassembled(&mut self, to: &mut impl FnMut(CapturedRecord<'_>)) -> Result<bool, Halt> {
        let record = self.reader.next_record()?;
        let is_more = record.is_some();
        match &record {
            Some(record) => {
                self.now = record.time.unwrap_or(self.now);
                if !show_icmp_error(record, self.now, to) {
                    self.datagrams.handle_packet(&arrival(record, self.now));
                }
            }
            None => self.datagrams.handle_end(),
        }
        self.release_reassembled(to);
        if is_more { Ok(true) } else { self.end() }
    }

    /// Passes on packets that have waited long enough.
    #[cold]
    #[inline(never)]
    fn release_reassembled(&mut self, to: &mut impl FnMut(CapturedRecord<'_>)) {
        while let Some(packet) = self.datagrams.poll_packet() {
            let (number, at) = (packet.number, packet.at);
            let observed = packet.found.unwrap_or_else(|error| {
                let place = Place {
                    offset: packet.offset,
                    record: number,
                };
                self.reader.note_dissect_error(place, &error);
                None
            });
            to(CapturedRecord {
                segment: observed.as_ref().map(Segment::Other),
                ..CapturedRecord::empty(number, at)
            });
        }
        while let Some(odd) = self.datagrams.poll_odd() {
            let place = Place {
                offset: odd.offset,
                record: odd.number,
            };
            let kind = match odd.what {
                FragmentIssue::FirstAlone => NoteKind::FirstFragmentAlone,
                FragmentIssue::WithoutHeader => NoteKind::LaterFragment,
                FragmentIssue::Contradiction => NoteKind::FragmentsContradict,
                FragmentIssue::Twice => NoteKind::FragmentTwice,
            };
            let count = odd.count.into();
            self.reader.notes_mut().add_late(kind, place, count);
        }
    }

    /// Reports progress, and stops if the caller requests it.
    #[cold]
    #[inline(never)]
    fn report(&mut self) -> Result<(), Halt> {
        let is_stopped = |stop: &std::sync::atomic::AtomicBool| stop.load(Ordering::Relaxed);
        if self.options.stop.is_some_and(is_stopped) {
            return Err(Halt::Stopped);
        }
        let bytes = self.reader.offset();
        self.report_at = bytes + REPORT_EVERY;
        if let Some(progress) = self.options.progress {
            progress(Progress {
                packets: self.reader.records(),
                bytes,
                total_bytes: self.total_bytes,
            });
        }
        Ok(())
    }

    /// Handles the end of the capture.
    #[cold]
    #[inline(never)]
    fn end(&mut self) -> Result<bool, Halt> {
        let cut = self.reader.notes().of(NoteKind::TruncatedTail);
        if self.reader.records() == 0 && cut.count > 0 {
            return Err(Halt::NoPacket {
                format: self.reader.format(),
                missing: cut.total,
            });
        }
        if self.report_at != u64::MAX {
            self.report()?;
        }
        Ok(false)
    }

    /// Keeps the lookups of names from here on.
    pub(crate) fn keep_lookups(&mut self) {
        self.lookups = Some(NameLookups::default());
    }

    /// The lookups of names that were kept.
    pub(crate) const fn lookups(&self) -> Option<&NameLookups> {
        self.lookups.as_ref()
    }

    /// Returns format, notes and counts of the capture itself, after the last record.
    ///
    /// A snap length is no note: no payload is needed. Headers that it cuts are noted by themselves.
    pub(crate) fn info(&self) -> CaptureInfo {
        let notes = self
            .reader
            .notes()
            .iter()
            .filter(|note| note.kind != NoteKind::SnapLength);
        CaptureInfo {
            format: self.reader.format(),
            packets: self.reader.records(),
            notes: notes.cloned().collect(),
        }
    }
}

/// Passes on a record that is an ICMP error about a segment; false if it is none.
#[cold]
#[inline(never)]
fn show_icmp_error(
    record: &Record<'_>,
    at: Instant,
    to: &mut impl FnMut(CapturedRecord<'_>),
) -> bool {
    let error = dissect_icmp_error(record.link, record.octets, record.wire_len);
    if let Some(error) = &error {
        to(CapturedRecord {
            icmp_error: Some(error),
            ..CapturedRecord::empty(record.number, at)
        });
    }
    error.is_some()
}

fn arrival<'a>(record: &Record<'a>, at: Instant) -> Arrival<'a> {
    Arrival {
        number: record.number,
        offset: record.offset,
        at,
        link: record.link,
        octets: record.octets,
        wire_len: record.wire_len,
    }
}

/// Format, notes and counts of a capture itself.
#[derive(Clone, Debug)]
pub struct CaptureInfo {
    /// Format of the file.
    pub format: Format,
    /// Packets read, with and without TCP.
    pub packets: u64,
    /// Oddities of the capture, each kind with its count and first place.
    pub notes: Vec<Note>,
}

impl CaptureInfo {
    /// Why packets were not analyzed, with counts, most frequent first.
    pub fn unread(&self) -> Vec<(Reason, u64)> {
        let not_read = self
            .notes
            .iter()
            .find(|note| note.kind == NoteKind::NotRead);
        not_read.map(Note::reasons).unwrap_or_default()
    }

    /// Number of packets not analyzed.
    pub fn unread_packets(&self) -> u64 {
        self.unread().iter().map(|(_, count)| count).sum()
    }
}

/// Unit of all times of a capture.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Unit {
    is_finer: bool,
}

impl Unit {
    /// In nanoseconds.
    const MICROSECOND: u64 = 1_000;

    #[inline(always)]
    pub(crate) const fn add(&mut self, at: Instant) {
        self.is_finer |= !at.as_nanos().is_multiple_of(Self::MICROSECOND);
    }

    /// Unit of two parts of a capture.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self {
            is_finer: self.is_finer | other.is_finer,
        }
    }

    /// Unit in nanoseconds: 1000 or 1.
    pub(crate) const fn as_nanos(self) -> u64 {
        if self.is_finer { 1 } else { Self::MICROSECOND }
    }
}
