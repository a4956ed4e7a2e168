//! The segments of a capture, one after the other.
//!
//! Nearly all of them are plain ones that are read at once
//! ([`gigatcp_flows::Plain`]); whoever passes most of them over pays for a look
//! at each and no more. What shows no TCP is counted by the reader.

use gigatcp_capture::{CaptureReader, Note, ReadError};
use gigatcp_flows::{Glance, Observed, Packet, Pair, Plain};
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
}

impl Walk {
    pub(super) const fn new(reader: CaptureReader) -> Self {
        Self {
            reader,
            now: Instant::ZERO,
        }
    }

    /// Hands on the next records, up to 128 KiB of them; false behind the last
    /// one.
    #[inline(always)]
    pub(super) fn stretch(&mut self, to: &mut impl Take) -> Result<bool, ReadError> {
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
        match record.dissect() {
            Ok(segment) => {
                let observed = Observed::new(at, &segment);
                show(number, Some(Segment::Other(&observed)));
            }
            Err(obstacle) => {
                show(number, None);
                self.reader.note_obstacle(place, &obstacle);
            }
        }
        Ok(true)
    }

    /// What there is to say of the capture itself, after the last record.
    pub(super) fn about(&self) -> About {
        About {
            format: self.reader.format().to_string(),
            packets: self.reader.records(),
            notes: self.reader.notes().iter().copied().collect(),
        }
    }
}

/// What there is to say of a capture itself.
#[derive(Default)]
pub(super) struct About {
    pub(super) format: String,
    pub(super) packets: u64,
    pub(super) notes: Vec<Note>,
}
