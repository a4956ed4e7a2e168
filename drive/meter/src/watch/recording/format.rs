//! Records of a recording, and the parts of a file that have them.
//!
//! ```text
//! file   = magic { part } ;
//! part   = length:u32 checksum:u32 first:i64 last:i64 payload ;   (* little-endian *)
//! ```
//!
//! `first` and `last` are the clock of the day at the first and last record of the part, in ns since
//! 1970. The checksum (CRC-32) is of them and of the payload. The payloads of a file are one deflate
//! stream (RFC 1951), flushed at the end of each part. It inflates to records, encoded by `postcard`.
//! A part that is cut or damaged ends the file: what is before it is whole.

use std::net::SocketAddr;
use std::sync::LazyLock;

use flate2::{Compress, Compression, Crc, Decompress, FlushCompress, FlushDecompress, Status};
use gigatcp_why::counters::{Reading, WORDS, place};
use serde::{Deserialize, Serialize};

use super::WallTime;

/// First bytes of a file; the last one is the version of the format.
pub(super) const MAGIC: &[u8; 8] = b"GTCPWAT\x01";

/// Bytes of a part before its payload.
const HEAD: usize = 24;

/// Maximum bytes of a part, inflated. A writer ends parts long before.
const MAX_PART: usize = 4 << 20;

/// A record.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub(super) enum Record<'a> {
    /// The first record of a file.
    Begin(Begin<'a>),
    /// The clock of the day minus the monotonic clock changed, ns.
    Clock { offset_ns: i64 },
    /// A sample of all connections; the following records are of it.
    Sample {
        /// Time since the last sample, ns.
        after_ns: u64,
        /// Connections that were open, and those that ended too soon to be recorded.
        open: u32,
        short: u32,
    },
    /// A connection that has no index yet; it gets the next one, from 0.
    #[serde(borrow)]
    Open(Open<'a>),
    /// The last reading of a connection still held, this time before the sample.
    Held { index: u32, before_ns: u64 },
    /// A reading of a connection, this time before the sample.
    Reading(Change),
    /// The connection has ended.
    Ended { index: u32 },
}

/// What all records of a file need.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub(super) struct Begin<'a> {
    /// Random name that the kernel has since it was started.
    pub boot: &'a str,
    /// Monotonic clock, ns, and the clock of the day minus it.
    pub monotonic_ns: u64,
    pub offset_ns: i64,
    /// Buffer limits of the host: `tcp_rmem`, `tcp_wmem`, `rmem_max`, `wmem_max`.
    pub buffers: [Option<u64>; 4],
    /// Names of the counters, by the places that readings have.
    #[serde(borrow)]
    pub words: Vec<&'a str>,
}

/// A connection.
#[derive(Serialize, Deserialize, PartialEq, Debug)]
pub(super) struct Open<'a> {
    /// The kernel's cookie of its socket.
    pub cookie: u64,
    pub local: SocketAddr,
    pub peer: SocketAddr,
    pub congestion: &'a str,
    /// Process that has it open; 0 if it is not known.
    pub process: u32,
    pub process_name: &'a str,
    /// Whether it began after the recorder, so its first counters are those since its begin.
    pub is_new: bool,
}

/// Counters that changed since the last reading of the same connection in the file.
#[derive(Serialize, Deserialize, PartialEq, Default, Debug)]
pub(super) struct Change {
    pub index: u32,
    pub before_ns: u64,
    /// Places of the words.
    pub places: Vec<u8>,
    /// Differences to the last numbers.
    pub differences: Vec<i64>,
}

/// Number of a word that is unknown; the kernel's are not negative.
const UNKNOWN: i64 = -1;

/// Words that change at every sample and that no cause of several readings rests on.
const LEFT_OUT: [&str; 9] = [
    "tcpi_rto",
    "tcpi_rttvar",
    "tcpi_last_data_sent",
    "tcpi_last_data_recv",
    "tcpi_last_ack_recv",
    "tcpi_rcv_space",
    "tcpi_segs_in",
    "SK_MEMINFO_RMEM_ALLOC",
    "SK_MEMINFO_BACKLOG",
];

/// The kernel's numbers of a reading, by their places.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Numbers(Box<[i64; WORDS.len()]>);

impl Default for Numbers {
    fn default() -> Self {
        Self(Box::new([UNKNOWN; WORDS.len()]))
    }
}

impl Numbers {
    pub fn of(reading: &Reading) -> Self {
        static KEPT: LazyLock<Vec<usize>> = LazyLock::new(|| {
            let is_kept = |at: &usize| !LEFT_OUT.contains(&WORDS[*at]);
            (0..WORDS.len()).filter(is_kept).collect()
        });
        let mut numbers = Self::default();
        for at in KEPT.iter() {
            numbers.0[*at] = reading.number(*at).unwrap_or(UNKNOWN);
        }
        numbers
    }

    /// Fills in the places and differences of the words that `next` has changed.
    pub fn change_to(&self, next: &Self, change: &mut Change) {
        change.places.clear();
        change.differences.clear();
        for (at, (from, to)) in self.0.iter().zip(next.0.iter()).enumerate() {
            if from != to {
                change.places.push(at as u8);
                change.differences.push(to.wrapping_sub(*from));
            }
        }
    }
}

/// The places of a file's words in readings of this program, and the numbers of one connection.
#[derive(Clone, Debug)]
pub(super) struct Places(Vec<Option<usize>>);

impl Places {
    pub fn of(words: &[&str]) -> Self {
        Self(words.iter().map(|word| place(word)).collect())
    }

    /// Applies a change to a reading and to the numbers behind it.
    pub fn apply(&self, change: &Change, numbers: &mut Vec<i64>, reading: &mut Reading) {
        numbers.resize(self.0.len(), UNKNOWN);
        for (at, difference) in change.places.iter().zip(&change.differences) {
            let at = usize::from(*at);
            let Some(number) = numbers.get_mut(at) else {
                continue;
            };
            *number = number.wrapping_add(*difference);
            if let Some(place) = self.0[at] {
                reading.set(place, *number);
            }
        }
    }
}

/// Makes the parts of a file.
#[derive(Debug)]
pub(super) struct PartWriter {
    stream: Compress,
    records: Vec<u8>,
    times: Option<[WallTime; 2]>,
}

impl PartWriter {
    pub fn new() -> Self {
        Self {
            stream: Compress::new(Compression::new(6), false),
            records: Vec::new(),
            times: None,
        }
    }

    pub fn add(&mut self, record: &Record<'_>, wall: WallTime) {
        let records = std::mem::take(&mut self.records);
        // It fails for types that have no encoding only; a record has none of them.
        self.records = postcard::to_extend(record, records).unwrap_or_default();
        let first = self.times.map_or(wall, |[first, _]| first);
        self.times = Some([first, wall]);
    }

    /// Bytes of the records that no part has yet.
    pub fn waiting(&self) -> usize {
        self.records.len()
    }

    /// Ends a part; `None` without records.
    pub fn part(&mut self) -> Option<Vec<u8>> {
        let times = self.times.take()?;
        let mut part = vec![0; HEAD];
        let start = self.stream.total_in();
        loop {
            let done = usize::try_from(self.stream.total_in() - start).unwrap_or(usize::MAX);
            // Room for a flush; without it the stream would not end at an octet.
            part.reserve(self.records.len() / 2 + 64);
            let input = &self.records[done..];
            let flush = FlushCompress::Sync;
            // It fails for wrong parameters only.
            let _ = self.stream.compress_vec(input, &mut part, flush);
            let is_taken = self.stream.total_in() - start == self.records.len() as u64;
            if is_taken && part.len() < part.capacity() {
                break;
            }
        }
        self.records.clear();
        let length = part.len() - HEAD;
        part[..4].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
        part[8..16].copy_from_slice(&times[0].to_le_bytes());
        part[16..HEAD].copy_from_slice(&times[1].to_le_bytes());
        let sum = checksum(&part[8..]);
        part[4..8].copy_from_slice(&sum.to_le_bytes());
        Some(part)
    }
}

fn checksum(octets: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(octets);
    crc.sum()
}

/// A part of a file, not inflated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    /// Clock of the day at its first and last record.
    pub times: [WallTime; 2],
    payload: &'a [u8],
}

/// The whole parts of a file; the second value tells whether anything follows them.
pub(super) fn parts(file: &[u8]) -> (Vec<Part<'_>>, bool) {
    let mut parts = Vec::new();
    let mut rest = file.strip_prefix(MAGIC).unwrap_or_default();
    while let Some((part, after)) = part(rest) {
        parts.push(part);
        rest = after;
    }
    (parts, !rest.is_empty())
}

fn part(octets: &[u8]) -> Option<(Part<'_>, &[u8])> {
    let (length, rest) = octets.split_first_chunk()?;
    let (sum, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let (body, after) = rest.split_at_checked(length.checked_add(16)?)?;
    if checksum(body) != u32::from_le_bytes(*sum) {
        return None;
    }
    let (first, body) = body.split_first_chunk()?;
    let (last, payload) = body.split_first_chunk()?;
    let times = [*first, *last].map(WallTime::from_le_bytes);
    Some((Part { times, payload }, after))
}

/// Maximum bytes of a file's records: a recorder writes files of a twentieth of that.
const MAX_INFLATED: usize = 256 << 20;

/// Maximum bytes of a name, and number of a file's words: a place is an octet.
const MAX_NAME: usize = 64;
const MAX_WORDS: usize = 256;

/// Whether a recorder may have written a record: its texts and lists are short.
fn is_sound(record: &Record<'_>) -> bool {
    match record {
        Record::Begin(begin) => begin.boot.len() <= MAX_NAME && begin.words.len() <= MAX_WORDS,
        Record::Open(open) => {
            open.congestion.len() <= MAX_NAME && open.process_name.len() <= MAX_NAME
        }
        _ => true,
    }
}

/// Inflates the parts of a file, in their order.
#[derive(Debug)]
pub(super) struct PartReader {
    stream: Decompress,
    records: Vec<u8>,
    /// Bytes of all records so far.
    inflated: usize,
}

impl PartReader {
    pub fn new() -> Self {
        Self {
            stream: Decompress::new(false),
            records: Vec::new(),
            inflated: 0,
        }
    }

    /// Calls `each` for the records of the next part, with the monotonic clock untouched. Returns
    /// whether all of it could be read.
    pub fn read(&mut self, part: &Part<'_>, mut each: impl FnMut(Record<'_>)) -> bool {
        if !self.inflate(part.payload) {
            return false;
        }
        self.inflated += self.records.len();
        if self.inflated > MAX_INFLATED {
            return false;
        }
        let mut rest = &self.records[..];
        while !rest.is_empty() {
            let Ok((record, after)) = postcard::take_from_bytes(rest) else {
                return false;
            };
            if !is_sound(&record) {
                return false;
            }
            each(record);
            rest = after;
        }
        true
    }

    fn inflate(&mut self, payload: &[u8]) -> bool {
        self.records.clear();
        let start = self.stream.total_in();
        loop {
            let done = usize::try_from(self.stream.total_in() - start).unwrap_or(usize::MAX);
            let input = payload.get(done..).unwrap_or_default();
            if self.records.len() >= MAX_PART {
                return false;
            }
            self.records.reserve(payload.len().max(1 << 12));
            let flush = FlushDecompress::Sync;
            let inflated = self.stream.decompress_vec(input, &mut self.records, flush);
            match inflated {
                Ok(Status::Ok | Status::BufError) => {}
                // The stream of a file does not end.
                Ok(Status::StreamEnd) | Err(_) => return false,
            }
            let is_taken = self.stream.total_in() - start == payload.len() as u64;
            if is_taken && self.records.len() < self.records.capacity() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(after_ns: u64) -> Record<'static> {
        Record::Sample {
            after_ns,
            open: 3,
            short: 0,
        }
    }

    /// A file of parts with one sample each.
    fn file(count: u64) -> Vec<u8> {
        let mut writer = PartWriter::new();
        let mut file = MAGIC.to_vec();
        for number in 0..count {
            writer.add(&sample(number), number as WallTime);
            file.extend(writer.part().unwrap());
        }
        file
    }

    fn samples(file: &[u8]) -> Vec<u64> {
        let mut reader = PartReader::new();
        let mut found = Vec::new();
        for part in parts(file).0 {
            let is_whole = reader.read(&part, |record| {
                if let Record::Sample { after_ns, .. } = record {
                    found.push(after_ns);
                }
            });
            assert!(is_whole);
        }
        found
    }

    #[test]
    fn file_cut_at_any_byte_has_its_whole_parts() {
        let file = file(5);
        let whole = samples(&file);
        assert_eq!(whole, [0, 1, 2, 3, 4]);
        let mut before = 0;
        for length in 0..file.len() {
            let found = samples(&file[..length]);
            assert!(whole.starts_with(&found), "{length}: {found:?}");
            assert!(found.len() >= before);
            before = found.len();
        }
        assert_eq!(before, 4);
    }

    #[test]
    fn damaged_octet_ends_the_file_before_its_part() {
        let file = file(5);
        for place in MAGIC.len()..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 0x10;
            let found = samples(&damaged);
            assert!(found.len() < 5 && [0, 1, 2, 3, 4].starts_with(&found));
        }
    }

    #[test]
    fn large_part_survives_compression() {
        let mut writer = PartWriter::new();
        let mut state = 1_u64;
        let numbers: Vec<u64> = (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005) + 1;
                state >> 20
            })
            .collect();
        numbers
            .iter()
            .for_each(|number| writer.add(&sample(*number), 0));
        let mut file = MAGIC.to_vec();
        file.extend(writer.part().unwrap());
        assert_eq!(samples(&file), numbers);
        assert_eq!(writer.part(), None);
    }

    #[test]
    fn readings_of_another_program_keep_the_words_that_this_one_knows() {
        let places = Places::of(&["tcpi_of_the_future", "tcpi_snd_cwnd"]);
        let change = Change {
            places: vec![0, 1, 200],
            differences: vec![8, 11, 3],
            ..Change::default()
        };
        let (mut numbers, mut reading) = (Vec::new(), Reading::default());
        places.apply(&change, &mut numbers, &mut reading);
        assert_eq!(reading.cwnd_segments, Some(10));
        assert_eq!(numbers, [7, 10]);
    }
}
