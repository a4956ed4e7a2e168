//! `gigatcp why --summary`: every connection of a capture in one table.
//!
//! The analysis is the whole one; what is left out are sentences and evidence.
//! Several threads share the connections of a file by a hash of their
//! endpoints: each walks over all records and takes what is its own. So every
//! connection sees its packets in order whatever the number of threads, and the
//! table is the same. What cannot be read twice is read by one thread.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::thread;

use gigatcp_capture::{CaptureReader, Note, Place, ReadError};
use gigatcp_flows::{Endpoint, Observed, Plain, Side};
use gigatcp_report::escape::terminal;
use gigatcp_units::Instant;
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_why::{Brief, Watcher};

use super::super::flows::{self, Source};
use crate::failure::Failure;
use crate::output::{self, Stream};

/// Threads are not worth their walk over the records of a smaller file.
const WORTH_SHARING: u64 = 64 << 20;

/// The table's heading; endpoints last, whose width nobody knows before.
const HEADING: &str = "     #   packets  delivered      time          rate  round trip   again  \
                       limited by                    share  sure  sender > receiver\n";

/// A connection in the table.
struct Row {
    first_packet: u64,
    packets: u64,
    again: u64,
    from: Endpoint,
    to: Endpoint,
    /// Nothing where no data was seen.
    brief: Option<Brief>,
}

/// What one thread found.
struct Part {
    rows: Vec<Row>,
    format: String,
    packets: u64,
    notes: Vec<Note>,
}

/// Which connections a thread takes.
#[derive(Clone, Copy)]
struct Share {
    index: u32,
    count: u32,
}

/// Reads `file` and prints the table. `threads` says how many work on it.
pub(super) fn run(file: &Path, threads: Option<u32>) -> Result<(), Failure> {
    let source = Source::new(file, false)?;
    let name = source.name();
    let parts = read(&source, file, threads).map_err(|error| flows::refused(&name, &error))?;
    let mut rows = Vec::new();
    let mut first = None;
    for part in parts {
        rows.extend(part.rows);
        // All threads walked over the same records.
        first.get_or_insert((part.format, part.packets, part.notes));
    }
    let Some((format, packets, notes)) = first else {
        return Ok(());
    };
    for note in &notes {
        output::say(&format!("{}: {note}", terminal(&name)));
    }
    rows.sort_unstable_by_key(|row| row.first_packet);
    let mut out = Stream::new();
    out.write(HEADING)?;
    for (index, row) in rows.iter().enumerate() {
        out.write(&line(index, row))?;
    }
    let silent = rows.iter().filter(|row| row.brief.is_none()).count();
    let mut last = format!("{} connections in {packets} packets ({format})", rows.len());
    if silent > 0 {
        last.push_str(&format!("; {silent} without data"));
    }
    out.write(&format!("{last}\n"))?;
    out.finish()
}

/// Every thread's part.
fn read(source: &Source, file: &Path, threads: Option<u32>) -> Result<Vec<Part>, ReadError> {
    let first = source.open()?;
    let most = match threads {
        Some(threads) => threads,
        None if file.metadata().map_or(0, |about| about.len()) < WORTH_SHARING => 1,
        None => thread::available_parallelism().map_or(1, |count| count.get() as u32),
    };
    let count = if first.is_mapped() { most.max(1) } else { 1 };
    let mut readers = vec![first];
    for _ in 1..count {
        readers.push(source.open()?);
    }
    // Whoever sends packets must not know which of them collide.
    let seed = RandomState::new().build_hasher().finish();
    thread::scope(|scope| {
        let work = readers.into_iter().zip(0..).map(|(reader, index)| {
            let share = Share { index, count };
            scope.spawn(move || part(reader, share, seed))
        });
        let work: Vec<_> = work.collect();
        let parts = work.into_iter().map(|one| match one.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        parts.collect()
    })
}

/// One thread's work.
fn part(mut reader: CaptureReader, share: Share, seed: u64) -> Result<Part, ReadError> {
    let mut watcher = Watcher::new(seed);
    let mut now = Instant::ZERO;
    while let Some(record) = reader.next_record()? {
        // A packet without a time came at the time of the one before.
        now = record.time.unwrap_or(now);
        if let Some(plain) = Plain::read(record.link, record.octets, record.wire_len) {
            if share.count == 1 || plain.share(share.count) == share.index {
                watcher.handle_packet(record.number, &plain.observed(now));
            }
            continue;
        }
        let (place, number): (Place, u64) = (record.place(), record.number);
        match record.dissect() {
            Ok(segment) => {
                let observed = Observed::new(now, &segment);
                if observed.share(share.count) == share.index {
                    watcher.handle_packet(number, &observed);
                }
            }
            Err(obstacle) => reader.note_obstacle(place, &obstacle),
        }
    }
    Ok(Part {
        rows: rows(&mut watcher),
        format: reader.format().to_string(),
        packets: reader.records(),
        notes: reader.notes().iter().copied().collect(),
    })
}

fn rows(watcher: &mut Watcher) -> Vec<Row> {
    let count = watcher.table().len();
    let row = |index| {
        let brief = watcher.conclude(index);
        let connection = watcher.table().connection(index)?;
        let from = brief.map_or(Side::Client, |brief| brief.sender);
        let both = Side::BOTH.map(|side| connection.direction(side));
        Some(Row {
            first_packet: watcher.first_packet(index)?,
            packets: both.iter().map(|one| one.packets()).sum(),
            again: connection.direction(from).retransmitted_segments(),
            from: connection.endpoint(from),
            to: connection.endpoint(from.other()),
            brief,
        })
    };
    (0..count).filter_map(row).collect()
}

fn line(index: usize, row: &Row) -> String {
    let (number, packets, again) = (index + 1, row.packets, row.again);
    let ends = format!("{} > {}", row.from, row.to);
    let Some(brief) = &row.brief else {
        let nothing = "-";
        return format!(
            "{number:>6}  {packets:>8}  {nothing:>9}  {nothing:>8}  {nothing:>12}  {nothing:>10}  \
             {again:>6}  {nothing:<28}  {nothing:>5}  {nothing:>4}  {ends}\n"
        );
    };
    let (cause, sure) = match &brief.cause {
        Some(cause) => (cause.rule.id, format!("{:.2}", cause.confidence)),
        None => ("unknown", "-".into()),
    };
    format!(
        "{number:>6}  {packets:>8}  {:>9}  {:>8}  {:>12}  {:>10}  {again:>6}  {cause:<28}  \
         {:>3.0} %  {sure:>4}  {ends}\n",
        human_bytes(brief.delivered),
        human_duration(brief.run),
        human_rate(brief.rate),
        human_duration(brief.round_trip),
        brief.share() * 100.0,
    )
}
