//! Every connection of a capture in figures alone: for very many of them.
//!
//! The analysis is the whole one; what is left out are sentences and evidence.
//! Threads share the connections of a file (`shares.rs`).
//!
//! A connection that has ended becomes its row while the rest is read, so memory
//! grows with the connections that are open and not with those that were. If
//! a packet of it comes later, the file is read once more for such connections:
//! the rows do not depend on it.

use std::collections::HashSet;

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::{Endpoint, Packet, Side};
use gigatcp_units::{Duration, Instant};
use gigatcp_why::{DiagnosisSummary, Watcher};

use crate::capture::seed;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::walk::{About, CapturedRecord, Segment, Take, Walk};

/// Time without a packet after which an ended connection is concluded: answers come
/// within an RTT. What comes later, retransmitted by a timer, is rare, and has it
/// concluded again. What waits here for longer leaves the CPU's cache.
const LINGER: Duration = Duration::from_millis(100);

/// A capture in figures: one row per connection.
#[derive(Debug)]
pub struct Summary {
    /// What there is to report of the capture itself.
    pub about: About,
    /// Its connections, in the order of their first packets.
    pub connections: Vec<SummaryRow>,
    /// Threads that shared the connections.
    pub threads: usize,
}

/// A connection in figures.
#[derive(Debug)]
pub struct SummaryRow {
    /// The number of its first packet.
    pub first_packet: u64,
    /// Its packets, in both directions.
    pub packets: u64,
    /// Segments that `from` retransmitted.
    pub retransmitted: u64,
    /// The side that sent more data; the client if there was none.
    pub from: Endpoint,
    /// The other side.
    pub to: Endpoint,
    /// What it carried and what limited it most; `None` without data.
    pub diagnosis: Option<DiagnosisSummary>,
}

/// Summarizes all connections of a capture, with memory for those that are open.
///
/// Figures are those of [`crate::Connections::diagnose`], without sentences and evidence.
///
/// # Errors
/// [`Error`] if the capture cannot be read, is cut off before its first packet, or was stopped.
pub fn summarize(source: &Source, options: &Options<'_>) -> Result<Summary, Error> {
    let seed = seed();
    let work = |reader, share| part(source, options, reader, share, seed);
    let parts = shares::read(source, options, work)?;
    let threads = parts.len();
    let mut connections = Vec::new();
    let mut first = None;
    for part in parts {
        connections.extend(part.rows);
        // All threads walked over the same records.
        first.get_or_insert(part.about);
    }
    connections.sort_unstable_by_key(|row: &SummaryRow| row.first_packet);
    Ok(Summary {
        about: first.expect("at least one thread reads"),
        connections,
        threads,
    })
}

/// What one thread found.
struct Part {
    rows: Vec<SummaryRow>,
    about: About,
}

/// One thread's work.
fn part(
    source: &Source,
    options: &Options<'_>,
    reader: CaptureReader,
    share: Share,
    seed: u64,
) -> Result<Part, Halt> {
    // What cannot be read twice must be right the first time.
    let retires = reader.is_mapped();
    let mut walk = Walk::new(reader, source, options, share.is_first());
    let mut summarizer = Summarizer::new(source, seed, share, retires);
    let rows = summarizer.rows_of(&mut walk, || source.open())?;
    Ok(Part {
        rows,
        about: walk.about(),
    })
}

/// Both endpoints of a connection, in order.
type Ends = [Endpoint; 2];

fn ends(one: Endpoint, other: Endpoint) -> Ends {
    if one <= other {
        [one, other]
    } else {
        [other, one]
    }
}

/// Follows connections and makes their rows.
struct Summarizer<'a> {
    watcher: Watcher,
    seed: u64,
    share: Share,
    rows: Vec<SummaryRow>,
    /// Connections that have ended are concluded, and their memory is freed, while
    /// others go on.
    retires: bool,
    source: &'a Source,
    /// The connections that it follows; `None`: all.
    only: Option<HashSet<Ends>>,
    /// It does not follow all packets of its share.
    is_selective: bool,
    now: Instant,
}

impl<'a> Summarizer<'a> {
    fn new(source: &'a Source, seed: u64, share: Share, retires: bool) -> Self {
        Self {
            watcher: Watcher::new(seed),
            seed,
            share,
            rows: Vec::new(),
            retires,
            source,
            only: None,
            is_selective: source.selection().is_some(),
            now: Instant::ZERO,
        }
    }

    /// The rows of all connections of a capture, which can be opened again if
    /// connections are concluded before its end.
    fn rows_of(
        &mut self,
        walk: &mut Walk<'_>,
        open: impl FnOnce() -> Result<CaptureReader, ReadError>,
    ) -> Result<Vec<SummaryRow>, Halt> {
        self.walk(walk)?;
        let mut rows = std::mem::take(&mut self.rows);
        let strays: HashSet<Ends> = self.watcher.table().strays().iter().copied().collect();
        if !strays.is_empty() {
            // Those with a packet after they had been concluded, once more and to
            // the end.
            rows.retain(|row| !strays.contains(&ends(row.from, row.to)));
            let mut again = Self::new(self.source, self.seed, self.share, false);
            again.only = Some(strays);
            again.is_selective = true;
            again.walk(&mut Walk::quiet(open()?))?;
            rows.append(&mut again.rows);
        }
        Ok(rows)
    }

    /// Whether it follows the packet. Out of line: what looks it up would take its
    /// registers from the path of every packet.
    #[cold]
    #[inline(never)]
    fn follows(&self, number: u64, segment: &Segment<'_>) -> bool {
        let ends = segment.pair().ends();
        let selection = self.source.selection();
        self.only.as_ref().is_none_or(|only| only.contains(&ends))
            && selection.is_none_or(|is_kept| is_kept(number))
    }

    /// Takes in all records of a capture and concludes what is in it.
    fn walk(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        while walk.stretch(self)? {
            self.conclude_ended();
        }
        for index in 0..self.watcher.table().len() {
            self.conclude(index);
        }
        Ok(())
    }

    /// Concludes what has ended some time ago.
    fn conclude_ended(&mut self) {
        if !self.retires {
            return;
        }
        let by = Instant::ZERO + self.now.saturating_since(Instant::ZERO + LINGER);
        while let Some(index) = self.watcher.next_ended(by) {
            self.conclude(index);
            self.watcher.forget(index);
        }
    }

    /// Makes the row of a connection, unless it was forgotten.
    fn conclude(&mut self, index: usize) {
        let Some(first_packet) = self.watcher.first_packet(index) else {
            return;
        };
        let diagnosis = self.watcher.conclude(index);
        let Some(connection) = self.watcher.table().connection(index) else {
            return;
        };
        let from = diagnosis.map_or(Side::Client, |diagnosis| diagnosis.sender);
        let both = Side::BOTH.map(|side| connection.direction(side));
        self.rows.push(SummaryRow {
            first_packet,
            packets: both.iter().map(|one| one.packets()).sum(),
            retransmitted: connection.direction(from).retransmitted_segments(),
            from: connection.endpoint(from),
            to: connection.endpoint(from.other()),
            diagnosis,
        });
    }
}

impl Take for Summarizer<'_> {
    #[inline(always)]
    fn take(&mut self, found: CapturedRecord<'_>) {
        self.now = found.at;
        let Some(segment) = &found.segment else {
            return;
        };
        if self.share.has(segment) && (!self.is_selective || self.follows(found.number, segment)) {
            self.watcher.handle_packet(found.number, segment);
        }
    }
}

/// The number of connections that a summary of this source held at the same time, at most.
#[cfg(test)]
pub(crate) fn most_held(source: &Source) -> usize {
    let share = Share { index: 0, count: 1 };
    let mut summarizer = Summarizer::new(source, 1, share, true);
    let mut walk = Walk::quiet(source.open().expect("a capture"));
    summarizer
        .rows_of(&mut walk, || source.open())
        .expect("it can be read");
    summarizer.watcher.table().len()
}
