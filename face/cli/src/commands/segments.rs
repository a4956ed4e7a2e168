//! The segments of a capture, one after the other.
//!
//! Nearly all of them are plain ones that are read at once
//! ([`gigatcp_flows::Plain`]); whoever passes most of them over pays for a look
//! at each and no more. What came in fragments is one segment
//! ([`gigatcp_flows::Datagrams`]). What shows no TCP is counted by the reader.

use gigatcp_capture::{CaptureReader, Note, NoteKind, Place, ReadError, Record};
use gigatcp_flows::{Arrival, Datagrams, Glance, Observed, Odd, Packet, Pair, Plain};
use gigatcp_units::Instant;

/// A segment, its fields not yet in one place.
pub(super) enum Segment<'a> {
    /// One that is read at once.
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
    fn glance(&self) -> Glance {
        match self {
            Self::Plain(plain) => plain.glance(),
            Self::Other(observed) => observed.glance(),
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
pub(super) struct Found<'a> {
    /// Which one, from 1.
    pub(super) number: u64,
    /// When it came; one without a time came with the one before.
    pub(super) at: Instant,
    /// The segment in it, if there is one.
    pub(super) segment: Option<Segment<'a>>,
}

/// Whoever takes the records of a capture.
pub(super) trait Take {
    fn take(&mut self, found: Found<'_>);
}

impl<F: FnMut(Found<'_>)> Take for F {
    #[inline(always)]
    fn take(&mut self, found: Found<'_>) {
        self(found);
    }
}

/// A capture on the way from its first record to its last.
pub(super) struct Walk {
    reader: CaptureReader,
    now: Instant,
    datagrams: Datagrams,
}

impl Walk {
    pub(super) fn new(reader: CaptureReader) -> Self {
        Self {
            reader,
            now: Instant::ZERO,
            datagrams: Datagrams::new(),
        }
    }

    /// Hands on the next records, up to 128 KiB of them; false behind the last
    /// one.
    #[inline(always)]
    pub(super) fn stretch(&mut self, to: &mut impl Take) -> Result<bool, ReadError> {
        if !self.datagrams.is_empty() {
            return self.slowly(to);
        }
        let now = &mut self.now;
        self.reader.next_plain(|record| {
            let (at, link) = (record.time, record.link);
            let Some(plain) = Plain::read(at, link, record.octets, record.wire_len) else {
                return false;
            };
            *now = at;
            to.take(Found {
                number: record.number,
                at: record.time,
                segment: Some(Segment::Plain(&plain)),
            });
            true
        });
        let Some(record) = self.reader.next_record()? else {
            self.datagrams.handle_end();
            self.hand_on(to);
            return Ok(false);
        };
        self.now = record.time.unwrap_or(self.now);
        let at = self.now;
        let mut show = |number, segment| {
            to.take(Found {
                number,
                at,
                segment,
            });
        };
        if let Some(plain) = Plain::read(at, record.link, record.octets, record.wire_len) {
            show(record.number, Some(Segment::Plain(&plain)));
            return Ok(true);
        }
        let (place, number) = (record.place(), record.number);
        match record.look() {
            (_, Some(_)) => {
                self.datagrams.handle_packet(&arrival(&record, at));
                self.hand_on(to);
            }
            (Ok(segment), None) => {
                let observed = Observed::new(at, &segment);
                show(number, Some(Segment::Other(&observed)));
            }
            (Err(obstacle), None) => {
                show(number, None);
                self.reader.note_obstacle(place, &obstacle);
            }
        }
        Ok(true)
    }

    /// The next record while others wait for what comes of a fragment.
    #[cold]
    #[inline(never)]
    fn slowly(&mut self, to: &mut impl Take) -> Result<bool, ReadError> {
        let record = self.reader.next_record()?;
        let is_more = record.is_some();
        match &record {
            Some(record) => {
                self.now = record.time.unwrap_or(self.now);
                self.datagrams.handle_packet(&arrival(record, self.now));
            }
            None => self.datagrams.handle_end(),
        }
        self.hand_on(to);
        Ok(is_more)
    }

    /// Hands on what has waited long enough.
    #[cold]
    #[inline(never)]
    fn hand_on(&mut self, to: &mut impl Take) {
        while let Some(packet) = self.datagrams.poll_packet() {
            let (number, at) = (packet.number, packet.at);
            let observed = packet.found.unwrap_or_else(|obstacle| {
                let place = Place {
                    offset: packet.offset,
                    record: number,
                };
                self.reader.note_obstacle(place, &obstacle);
                None
            });
            to.take(Found {
                number,
                at,
                segment: observed.as_ref().map(Segment::Other),
            });
        }
        while let Some(odd) = self.datagrams.poll_odd() {
            let place = Place {
                offset: odd.offset,
                record: odd.number,
            };
            let kind = match odd.what {
                Odd::FirstAlone => NoteKind::FirstFragmentAlone,
                Odd::WithoutHeader => NoteKind::LaterFragment,
                Odd::Contradiction => NoteKind::FragmentsContradict,
                Odd::Twice => NoteKind::FragmentTwice,
            };
            let count = odd.count.into();
            self.reader.notes_mut().add_late(kind, place, count);
        }
    }

    /// What there is to say of the capture itself, after the last record.
    pub(super) fn about(&self) -> About {
        About {
            format: self.reader.format().to_string(),
            packets: self.reader.records(),
            notes: self.reader.notes().iter().cloned().collect(),
        }
    }
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

/// What there is to say of a capture itself.
#[derive(Default)]
pub(super) struct About {
    pub(super) format: String,
    pub(super) packets: u64,
    pub(super) notes: Vec<Note>,
}
