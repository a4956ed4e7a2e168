//! `gigatcp why --summary`: every connection of a capture in one table.
//!
//! The analysis is the whole one; what is left out are sentences and evidence.
//! Threads share the connections of a file (`shares.rs`).
//!
//! A connection that has ended becomes its row while the rest is read, so memory
//! grows with the connections that are open and not with those that were. Should
//! a packet of it come after that, the file is read once more for the sake of
//! such connections: what the table says does not depend on it.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::{Endpoint, Packet, Side};
use gigatcp_report::escape::terminal;
use gigatcp_units::{Duration, Instant};
use gigatcp_why::Watcher;

use super::super::flows::{self, Source};
use super::super::segments::{About, Found, Segment, Take, Walk};
use super::super::shares::{self, Share};
use super::row::{self, HEADING, Row};
use crate::failure::Failure;
use crate::output::{self, Stream, counted};

/// A connection that has ended is judged when nothing was heard of it for so
/// long: answers come within a round trip. What comes later, sent again by a timer,
/// is rare, and has it judged again. Whatever waits here for longer leaves the
/// processor's cache, and its memory with it.
const LINGER: Duration = Duration::from_millis(100);

/// What one thread found.
struct Part {
    rows: Vec<Row>,
    about: About,
}

/// Reads `file` and prints the table. `threads` says how many work on it.
pub(super) fn run(file: &Path, threads: Option<u32>) -> Result<(), Failure> {
    let source = Source::new(file, false)?;
    let name = source.name();
    // Whoever sends packets must not know which of them collide.
    let seed = RandomState::new().build_hasher().finish();
    let work = |reader, share| part(&source, reader, share, seed);
    let parts = shares::read(&source, threads, work);
    let parts = parts.map_err(|error| flows::refused(&name, &error))?;
    let count = parts.len();
    let mut rows = Vec::new();
    let mut first = None;
    for part in parts {
        rows.extend(part.rows);
        // All threads walked over the same records.
        first.get_or_insert(part.about);
    }
    let Some(about) = first else {
        return Ok(());
    };
    for note in &about.notes {
        output::say(&format!("{}: {note}", terminal(&name)));
    }
    rows.sort_unstable_by_key(|row: &Row| row.first_packet);
    let mut out = Stream::new();
    out.write(HEADING)?;
    shares::in_order(&rows, count, lines, |text| out.write(text))?;
    let silent = rows.iter().filter(|row| row.brief.is_none()).count();
    let mut last = format!(
        "{} in {} ({})",
        counted(rows.len() as u64, "connection"),
        counted(about.packets, "packet"),
        about.format
    );
    if silent > 0 {
        last.push_str(&format!("; {silent} without data"));
    }
    out.write(&format!("{last}\n"))?;
    out.finish()
}

/// These rows as text, the first of which has this index.
fn lines(first: usize, rows: &[Row]) -> String {
    let mut text = String::with_capacity(rows.len() * row::USUAL);
    for (row, index) in rows.iter().zip(first..) {
        row.put(index, &mut text);
    }
    text
}

/// One thread's work.
fn part(
    source: &Source,
    reader: CaptureReader,
    share: Share,
    seed: u64,
) -> Result<Part, ReadError> {
    // What cannot be read twice must be right at once.
    let retires = reader.is_mapped();
    let mut walk = Walk::new(reader);
    let mut judge = Judge::new(seed, share, retires);
    let rows = judge.rows_of(&mut walk, || source.open())?;
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
struct Judge {
    watcher: Watcher,
    seed: u64,
    share: Share,
    rows: Vec<Row>,
    /// Connections that have ended are judged, and their memory given up, while
    /// others go on.
    retires: bool,
    /// Where it follows some connections alone.
    only: Option<HashSet<Ends>>,
    now: Instant,
}

impl Judge {
    fn new(seed: u64, share: Share, retires: bool) -> Self {
        Self {
            watcher: Watcher::new(seed),
            seed,
            share,
            rows: Vec::new(),
            retires,
            only: None,
            now: Instant::ZERO,
        }
    }

    /// The rows of all connections of a capture, which can be opened again if
    /// connections are judged before its end.
    fn rows_of(
        &mut self,
        walk: &mut Walk,
        open: impl FnOnce() -> Result<CaptureReader, ReadError>,
    ) -> Result<Vec<Row>, ReadError> {
        self.walk(walk)?;
        let mut rows = std::mem::take(&mut self.rows);
        let strays: HashSet<Ends> = self.watcher.table().strays().iter().copied().collect();
        if !strays.is_empty() {
            // Those of which something came after they had been judged, once
            // more, and to the end.
            rows.retain(|row| !strays.contains(&ends(row.from, row.to)));
            let mut again = Self::new(self.seed, self.share, false);
            again.only = Some(strays);
            again.walk(&mut Walk::new(open()?))?;
            rows.append(&mut again.rows);
        }
        Ok(rows)
    }

    /// Whether the packet is of a connection that it follows. Out of line: what
    /// looks it up would have its registers from those of every packet.
    #[cold]
    #[inline(never)]
    fn follows(&self, segment: &Segment<'_>) -> bool {
        let ends = segment.pair().ends();
        self.only.as_ref().is_none_or(|only| only.contains(&ends))
    }

    /// Takes in all records of a capture and judges what is in it.
    fn walk(&mut self, walk: &mut Walk) -> Result<(), ReadError> {
        while walk.stretch(self)? {
            self.judge_ended();
        }
        for index in 0..self.watcher.table().len() {
            self.judge(index);
        }
        Ok(())
    }

    /// Judges what has ended some time ago.
    fn judge_ended(&mut self) {
        if !self.retires {
            return;
        }
        let by = Instant::ZERO + self.now.saturating_since(Instant::ZERO + LINGER);
        while let Some(index) = self.watcher.next_ended(by) {
            self.judge(index);
            self.watcher.forget(index);
        }
    }

    /// The row of a connection, unless it was forgotten.
    fn judge(&mut self, index: usize) {
        let Some(first_packet) = self.watcher.first_packet(index) else {
            return;
        };
        let brief = self.watcher.conclude(index);
        let Some(connection) = self.watcher.table().connection(index) else {
            return;
        };
        let from = brief.map_or(Side::Client, |brief| brief.sender);
        let both = Side::BOTH.map(|side| connection.direction(side));
        self.rows.push(Row {
            first_packet,
            packets: both.iter().map(|one| one.packets()).sum(),
            again: connection.direction(from).retransmitted_segments(),
            from: connection.endpoint(from),
            to: connection.endpoint(from.other()),
            brief,
        });
    }
}

impl Take for Judge {
    #[inline(always)]
    fn take(&mut self, found: Found<'_>) {
        self.now = found.at;
        let Some(segment) = &found.segment else {
            return;
        };
        if self.share.has(segment) && (self.only.is_none() || self.follows(segment)) {
            self.watcher.handle_packet(found.number, segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYN: u8 = 2;
    const ACK: u8 = 16;
    const FIN: u8 = 1;
    const RST: u8 = 4;

    /// A pcap file of packets between two hosts: milliseconds, the client's port,
    /// whether the client sent it, sequence number, acknowledgment, flags, octets.
    fn capture(packets: &[(u32, u16, bool, u32, u32, u8, u16)]) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
            file.extend(word.to_le_bytes());
        }
        for &(at, port, is_client, seq, ack, flags, len) in packets {
            let mut octets = [0_u8; 54];
            octets[12..15].copy_from_slice(&[8, 0, 0x45]);
            octets[16..18].copy_from_slice(&(40 + len).to_be_bytes());
            octets[23] = 6;
            let (src, dst) = if is_client { (1, 2) } else { (2, 1) };
            (octets[29], octets[33]) = (src, dst);
            let ports = if is_client { [port, 80] } else { [80, port] };
            octets[34..36].copy_from_slice(&ports[0].to_be_bytes());
            octets[36..38].copy_from_slice(&ports[1].to_be_bytes());
            octets[38..42].copy_from_slice(&seq.to_be_bytes());
            octets[42..46].copy_from_slice(&ack.to_be_bytes());
            octets[46..50].copy_from_slice(&[0x50, flags, 200, 0]);
            let wire = 54 + u32::from(len);
            for word in [1000 + at / 1000, at % 1000 * 1000, 54, wire] {
                file.extend(word.to_le_bytes());
            }
            file.extend(octets);
        }
        file
    }

    /// A connection of 2000 octets from `at` on.
    fn whole(at: u32, port: u16) -> Vec<(u32, u16, bool, u32, u32, u8, u16)> {
        vec![
            (at, port, true, 100, 0, SYN, 0),
            (at + 1, port, false, 900, 101, SYN | ACK, 0),
            (at + 2, port, true, 101, 901, ACK, 0),
            (at + 3, port, true, 101, 901, ACK, 1000),
            (at + 4, port, true, 1101, 901, ACK, 1000),
            (at + 9, port, false, 901, 2101, ACK, 0),
            (at + 10, port, true, 2101, 901, FIN | ACK, 0),
            (at + 11, port, false, 901, 2102, FIN | ACK, 0),
            (at + 12, port, true, 2102, 902, ACK, 0),
        ]
    }

    fn table(octets: &[u8], retires: bool) -> (Vec<String>, usize) {
        let open = || CaptureReader::from_octets(octets.to_vec());
        let share = Share { index: 0, count: 1 };
        let mut judge = Judge::new(1, share, retires);
        let mut rows = judge
            .rows_of(&mut Walk::new(open().unwrap()), open)
            .unwrap();
        rows.sort_unstable_by_key(|row| row.first_packet);
        let lines = lines(0, &rows);
        let lines = lines.lines().map(str::to_owned);
        (lines.collect(), judge.watcher.table().len())
    }

    #[test]
    fn connections_judged_before_the_end_have_the_rows_of_those_judged_at_the_end() {
        let mut packets: Vec<_> = (0..40)
            .flat_map(|index| whole(index * 300, 5000 + index as u16))
            .collect();
        // The same ports again, a packet that comes after all, and a reset.
        packets.extend(whole(20_000, 5003));
        packets.push((20_500, 5007, false, 902, 2102, ACK, 0));
        packets.push((20_600, 5009, true, 2102, 902, RST, 0));
        packets.extend(whole(30_000, 6000));
        let octets = capture(&packets);
        let (early, held) = table(&octets, true);
        let (late, all) = table(&octets, false);
        assert_eq!(early, late);
        assert_eq!(all, 42);
        assert!(held < 12, "{held} connections at once");
    }
}
