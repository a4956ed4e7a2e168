//! Summarizes every connection of a capture in figures, for very many connections.
//!
//! The analysis is complete; only sentences and evidence are left out. Threads share the
//! connections of a file (`shares.rs`).
//!
//! An ended connection becomes a row while the rest is read, so memory grows with the number of
//! open connections only. If a packet of it comes later, the file is read once more for such
//! connections; the rows do not depend on it.

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::{Endpoint, Side};
use gigatcp_why::DiagnosisSummary;

use crate::capture::seed;
use crate::error::{Error, Halt};
use crate::options::Options;
use crate::shares::{self, Share};
use crate::source::Source;
use crate::tracker::{EndsSet, LINGER, Tracker, ordered};
use crate::walk::{CaptureInfo, CapturedRecord, Walk};

/// A capture in figures: one row per connection.
#[derive(Debug)]
pub struct Summary {
    /// Format, notes and counts of the capture itself.
    pub info: CaptureInfo,
    /// Its connections, in the order of their first packets.
    pub connections: Vec<SummaryRow>,
    /// Number of threads that shared the connections.
    pub threads: usize,
}

/// A connection in figures.
#[derive(Debug)]
pub struct SummaryRow {
    /// Number of its first packet.
    pub first_packet: u64,
    /// Its packets, in both directions.
    pub packets: u64,
    /// Segments that `from` retransmitted.
    pub retransmitted: u64,
    /// Side that sent more data; the client if there was none.
    pub from: Endpoint,
    /// Other side.
    pub to: Endpoint,
    /// Amount of data and primary cause; `None` without data.
    pub diagnosis: Option<DiagnosisSummary>,
}

/// Summarizes all connections of a capture, with memory for the open ones only.
///
/// Figures are those of [`crate::Connections::diagnose`], without sentences and evidence, and without
/// window scales that no SYN shows.
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
        first.get_or_insert(part.info);
    }
    connections.sort_unstable_by_key(|row: &SummaryRow| row.first_packet);
    Ok(Summary {
        info: first.expect("at least one thread reads"),
        connections,
        threads,
    })
}

/// Result of one thread.
struct Part {
    rows: Vec<SummaryRow>,
    info: CaptureInfo,
}

/// Summarizes one thread's share of the connections.
fn part(
    source: &Source,
    options: &Options<'_>,
    reader: CaptureReader,
    share: Share,
    seed: u64,
) -> Result<Part, Halt> {
    // A source that can be read only once needs correct rows in the first pass.
    let retires = reader.is_mapped();
    let mut walk = Walk::new(reader, source, options, share.is_first());
    let mut summarizer = Summarizer::new(Tracker::new(source, seed, share), retires);
    let rows = summarizer.rows_of(&mut walk, || source.open())?;
    Ok(Part {
        rows,
        info: walk.info(),
    })
}

/// Tracks connections and makes their rows.
struct Summarizer<'a> {
    tracker: Tracker<'a>,
    rows: Vec<SummaryRow>,
    /// Whether ended connections are concluded and their memory is freed while others continue.
    retires: bool,
}

impl<'a> Summarizer<'a> {
    const fn new(tracker: Tracker<'a>, retires: bool) -> Self {
        Self {
            tracker,
            rows: Vec::new(),
            retires,
        }
    }

    /// Rows of all connections of a capture. `open` opens it again if connections were concluded
    /// before its end.
    fn rows_of(
        &mut self,
        walk: &mut Walk<'_>,
        open: impl FnOnce() -> Result<CaptureReader, ReadError>,
    ) -> Result<Vec<SummaryRow>, Halt> {
        self.walk(walk)?;
        let mut rows = std::mem::take(&mut self.rows);
        let strays = self.tracker.watcher.table().strays();
        if !strays.is_empty() {
            // Reads those with a packet after their conclusion again, to the end.
            let strays = EndsSet::of(strays.iter().copied());
            rows.retain(|row| !strays.contains(ordered(row.from, row.to)));
            let mut again = Summarizer::new(self.tracker.again(&strays), false);
            again.walk(&mut Walk::quiet(open()?))?;
            rows.append(&mut again.rows);
        }
        Ok(rows)
    }

    /// Analyzes all records of a capture and concludes its connections.
    fn walk(&mut self, walk: &mut Walk<'_>) -> Result<(), Halt> {
        while walk.next_batch(&mut |found: CapturedRecord<'_>| self.tracker.take(found))? {
            self.conclude_ended();
        }
        for index in 0..self.tracker.watcher.table().len() {
            self.conclude(index);
        }
        Ok(())
    }

    /// Concludes connections that ended some time ago.
    fn conclude_ended(&mut self) {
        if !self.retires {
            return;
        }
        let by = self.tracker.before(LINGER);
        while let Some(index) = self.tracker.watcher.next_ended(by) {
            self.conclude(index);
            self.tracker.watcher.forget(index);
        }
    }

    /// Makes the row of a connection, unless it was dropped.
    fn conclude(&mut self, index: usize) {
        let watcher = &mut self.tracker.watcher;
        let Some(first_packet) = watcher.first_packet(index) else {
            return;
        };
        let diagnosis = watcher.conclude(index);
        let Some(connection) = watcher.table().connection(index) else {
            return;
        };
        let from = diagnosis.map_or(Side::Client, |diagnosis| diagnosis.sender);
        let both = Side::BOTH.map(|side| connection.direction(side));
        self.rows.push(SummaryRow {
            first_packet,
            packets: both.iter().map(|direction| direction.packets()).sum(),
            retransmitted: connection.direction(from).retransmitted_segments(),
            from: connection.endpoint(from),
            to: connection.endpoint(from.other()),
            diagnosis,
        });
    }
}

/// Maximum number of connections that a summary of this source held simultaneously.
#[cfg(test)]
pub(crate) fn most_held(source: &Source) -> usize {
    let share = Share { index: 0, count: 1 };
    let mut summarizer = Summarizer::new(Tracker::new(source, 1, share), true);
    let mut walk = Walk::quiet(source.open().expect("a capture"));
    summarizer
        .rows_of(&mut walk, || source.open())
        .expect("it can be read");
    summarizer.tracker.watcher.table().len()
}
