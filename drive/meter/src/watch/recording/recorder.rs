//! Chooses the readings of a watch that are recorded, and writes them.
//!
//! A reading of a connection is due after time that needs an explanation: in which data was unsent or in
//! flight, moved, or waited to be read. That time is one interval of the watch while half of the
//! budget is left, and longer after that. A connection that is used little has a reading after 60 of
//! these, and when it falls idle. All of the kernel's counters are cumulative, so a rarer reading loses
//! the moment and not the sum.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use gigatcp_linux::clock;
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::{Reading, WORDS};

use super::budget::Budget;
use super::directory::{Directory, Refused};
use super::format::{Begin, Change, Numbers, Open, PartWriter, Record};
use super::{FILE_TIME, FLUSH_EVERY, MAX_TOTAL, WallTime};
use crate::watch::{Connection, Watch};

/// Room for a file that begins.
const MAX_FILE: Bytes = Bytes::new(12_000_000);

/// Bytes of records, not compressed, that are written at once.
const FULL: usize = 256 << 10;

/// Difference of the two clocks that is recorded. Adjustments of NTP are slower.
const DRIFT_NS: u64 = 100_000_000;

/// Bytes a second that make a sample one of a transfer, and bytes without which a connection that ended
/// before its second reading is only counted.
const MIN_BYTES: u64 = 10_000;

/// Weight of a sample in which less moved.
const LITTLE: f64 = 1.0 / 16.0;

/// Times, in intervals, after which a reading is due however little moved, and after the connection
/// fell idle.
const LONGEST: f64 = 60.0;
const SETTLED: f64 = 5.0;

/// Part of an interval that makes it a full one: counters of time have the kernel's ticks.
const TICKS: f64 = 0.9;

/// What a recording has cost so far.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time since it began.
    pub time: Duration,
    /// Connections recorded, and those that ended too soon to be.
    pub connections: u64,
    /// Connections that ended before 10 kB or a second sample, and are only counted.
    pub short: u64,
    /// Bytes written.
    pub written: Bytes,
    /// CPU time of this process.
    pub cpu: Duration,
}

impl Cost {
    /// Bytes that a day like this has; a budget bounds it.
    pub fn bytes_per_day(&self) -> Bytes {
        let days = self.time.as_secs_f64() / 86_400.0;
        let bytes = self.written.as_u64() as f64 / days.max(1e-9);
        Bytes::new(bytes as u64).min(super::BYTES_PER_DAY)
    }

    /// CPU time as a part of one core.
    pub fn cpu_share(&self) -> f64 {
        if self.time.is_zero() {
            return 0.0;
        }
        self.cpu.as_secs_f64() / self.time.as_secs_f64()
    }
}

/// Records a watch in a directory.
#[derive(Debug)]
pub struct Recorder {
    directory: Directory,
    output: Output,
    budget: Budget,
    tracked: HashMap<u64, Tracked>,
    /// Seconds between two samples.
    interval: f64,
    last: Instant,
    next_flush: Instant,
    /// Time before which nothing is tried, after an error.
    retry: Instant,
    cost: Cost,
    begin: Instant,
    cpu_before: Duration,
    /// Buffer limits of this host.
    buffers: [Option<u64>; 4],
    boot: String,
    /// Whether no sample was seen yet: connections before it are not new.
    is_first: bool,
}

impl Recorder {
    /// Records the samples that a watch takes every `interval` in a directory, which is made unless it
    /// exists.
    ///
    /// # Errors
    /// Why the directory cannot be used.
    pub fn open(place: &Path, interval: Duration, at: Instant) -> Result<Self, Refused> {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
        let buffers = crate::system::buffer_limits();
        Ok(Self {
            directory: Directory::open(place)?,
            output: Output::default(),
            budget: Budget::new(at),
            tracked: HashMap::new(),
            interval: interval.as_secs_f64(),
            last: at,
            next_flush: at,
            retry: at,
            cost: Cost {
                time: Duration::ZERO,
                connections: 0,
                short: 0,
                written: Bytes::ZERO,
                cpu: Duration::ZERO,
            },
            begin: at,
            cpu_before: cpu(),
            buffers: buffers.map(|limit| limit.map(|bytes| bytes.as_u64())),
            boot: boot.unwrap_or_default().trim().to_owned(),
            is_first: true,
        })
    }

    /// Adds the last sample of a watch, taken at `at` by the monotonic clock and at `wall` by that of
    /// the day.
    ///
    /// # Errors
    /// The system's error. What was not written is lost; a new file begins 10 s later.
    pub fn sample(&mut self, watch: &Watch, at: Instant, wall: SystemTime) -> io::Result<()> {
        if self.is_paused(at) {
            return Ok(());
        }
        self.add_sample(watch, at, wall).inspect_err(|_| {
            // A part that was cut ends what can be read of a file.
            self.output.file = None;
            self.tracked.clear();
            self.is_first = true;
            self.retry = at + FLUSH_EVERY;
        })
    }

    /// Whether nothing is recorded now, after an error.
    pub fn is_paused(&self, at: Instant) -> bool {
        at < self.retry
    }

    fn add_sample(&mut self, watch: &Watch, at: Instant, wall: SystemTime) -> io::Result<()> {
        let offset_ns = unix_nanos(wall) - monotonic_nanos(at);
        self.budget.refill(at);
        self.begin_file(at, offset_ns)?;
        self.set_clock(offset_ns)?;
        self.output.begin_sample(at, watch.connections.len());
        for (cookie, connection) in &watch.just_ended {
            self.end(*cookie, connection);
            self.flush_if_full()?;
        }
        for (cookie, connection) in &watch.connections {
            self.track(*cookie, connection, at);
            self.flush_if_full()?;
        }
        self.last = at;
        self.is_first = false;
        if at >= self.next_flush {
            self.output.sample();
            self.flush()?;
            // A recording that has just begun can be read at once.
            self.next_flush = at + FLUSH_EVERY.min(at.saturating_since(self.begin));
        }
        Ok(())
    }

    /// Writes what waits of the last sample, and returns what the recording has cost.
    ///
    /// # Errors
    /// The system's error.
    pub fn finish(mut self, watch: &Watch) -> io::Result<Cost> {
        for (cookie, connection) in &watch.connections {
            if let Some(tracked) = self.tracked.get_mut(cookie)
                && !tracked.is_current
                && self.budget.stretch().is_some()
            {
                self.cost.connections += u64::from(!tracked.is_recorded);
                tracked.write(*cookie, connection, &mut self.output);
                self.flush_if_full()?;
            }
        }
        self.flush()?;
        if let Some(file) = &self.output.file {
            file.sync_all()?;
        }
        Ok(self.cost())
    }

    /// What the recording has cost so far.
    pub fn cost(&self) -> Cost {
        Cost {
            time: self.last.saturating_since(self.begin),
            cpu: cpu().saturating_sub(self.cpu_before),
            ..self.cost
        }
    }

    fn track(&mut self, cookie: u64, connection: &Connection, at: Instant) {
        let is_new = !self.is_first;
        let tracked = self
            .tracked
            .entry(cookie)
            .or_insert_with(|| Tracked::new(connection, is_new));
        let elapsed = at.saturating_since(self.last).as_secs_f64();
        tracked.observe(connection, elapsed, at);
        let stretch = self.budget.stretch();
        if let Some(stretch) = stretch
            && tracked.is_due(self.interval * stretch, at)
        {
            self.cost.connections += u64::from(!tracked.is_recorded);
            tracked.write(cookie, connection, &mut self.output);
        }
    }

    /// Records the last reading of a connection that has ended.
    fn end(&mut self, cookie: u64, connection: &Connection) {
        let Some(mut tracked) = self.tracked.remove(&cookie) else {
            return;
        };
        let is_kept = tracked.is_recorded || tracked.bytes(connection) >= MIN_BYTES;
        if !is_kept || self.budget.stretch().is_none() {
            self.cost.short += u64::from(!is_kept);
            self.output.short += u32::from(!is_kept);
            return;
        }
        if !tracked.is_current || !tracked.is_recorded {
            self.cost.connections += u64::from(!tracked.is_recorded);
            tracked.write(cookie, connection, &mut self.output);
        }
        if let Some(index) = tracked.index_in(&self.output) {
            self.output.add(&Record::Ended { index });
        }
    }

    /// Begins a file, if there is none or its time is over.
    fn begin_file(&mut self, at: Instant, offset_ns: i64) -> io::Result<()> {
        if self.output.file.is_some() {
            if at < self.output.file_end && self.output.file_size < MAX_FILE {
                return Ok(());
            }
            self.flush()?;
        }
        let room = MAX_TOTAL.saturating_sub(MAX_FILE);
        let file = self.directory.next_file(room)?;
        self.output = Output {
            file: Some(file),
            file_end: at + FILE_TIME,
            file_number: self.output.file_number + 1,
            offset_ns,
            at,
            sampled: at,
            ..Output::default()
        };
        self.output.add_bare(&Record::Begin(Begin {
            boot: &self.boot,
            monotonic_ns: at.as_nanos(),
            offset_ns,
            buffers: self.buffers,
            words: WORDS.to_vec(),
        }));
        Ok(())
    }

    /// Records the clock of the day, if it was set or the host was suspended. A part has one run of the
    /// clock.
    fn set_clock(&mut self, offset_ns: i64) -> io::Result<()> {
        if self.output.offset_ns.abs_diff(offset_ns) >= DRIFT_NS {
            self.flush()?;
            self.output.offset_ns = offset_ns;
            self.output.add_bare(&Record::Clock { offset_ns });
        }
        Ok(())
    }

    fn flush_if_full(&mut self) -> io::Result<()> {
        if self.output.writer.waiting() >= FULL {
            self.flush()?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        let written = self.output.flush()?;
        self.budget.spend(written);
        self.cost.written += written;
        Ok(())
    }
}

/// The file that is written, and the sample that its next records are of.
#[derive(Debug)]
struct Output {
    file: Option<File>,
    file_end: Instant,
    file_number: u64,
    file_size: Bytes,
    writer: PartWriter,
    offset_ns: i64,
    next_index: u32,
    at: Instant,
    /// Time of the last sample in the file.
    sampled: Instant,
    is_sampled: bool,
    open: u32,
    short: u32,
    change: Change,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            file: None,
            file_end: Instant::ZERO,
            file_number: 0,
            file_size: Bytes::ZERO,
            writer: PartWriter::new(),
            offset_ns: 0,
            next_index: 0,
            at: Instant::ZERO,
            sampled: Instant::ZERO,
            is_sampled: false,
            open: 0,
            short: 0,
            change: Change::default(),
        }
    }
}

impl Output {
    fn begin_sample(&mut self, at: Instant, open: usize) {
        self.at = at;
        self.is_sampled = false;
        self.open = u32::try_from(open).unwrap_or(u32::MAX);
    }

    /// Adds the sample itself, before its first record. One without records is left out.
    fn sample(&mut self) {
        if !std::mem::replace(&mut self.is_sampled, true) {
            let after_ns = self.at.saturating_since(self.sampled).as_nanos();
            let (open, short) = (self.open, std::mem::take(&mut self.short));
            self.sampled = self.at;
            self.add_bare(&Record::Sample {
                after_ns,
                open,
                short,
            });
        }
    }

    fn add(&mut self, record: &Record<'_>) {
        self.sample();
        self.add_bare(record);
    }

    fn add_bare(&mut self, record: &Record<'_>) {
        let wall = monotonic_nanos(self.at).saturating_add(self.offset_ns);
        self.writer.add(record, wall);
    }

    /// Adds the words in which two readings differ.
    fn add_change(&mut self, [from, to]: [&Numbers; 2], index: u32, at: Instant) {
        let mut change = std::mem::take(&mut self.change);
        from.change_to(to, &mut change);
        change.index = index;
        change.before_ns = self.at.saturating_since(at).as_nanos();
        let record = Record::Reading(change);
        self.add(&record);
        if let Record::Reading(change) = record {
            self.change = change;
        }
    }

    fn flush(&mut self) -> io::Result<Bytes> {
        let (Some(file), Some(part)) = (&mut self.file, self.writer.part()) else {
            return Ok(Bytes::ZERO);
        };
        if file.metadata()?.nlink() == 0 {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "its file was removed",
            ));
        }
        file.write_all(&part)?;
        let written = Bytes::new(part.len() as u64);
        self.file_size += written;
        Ok(written)
    }
}

/// A connection and what of it is recorded.
#[derive(Debug)]
struct Tracked {
    /// The last reading recorded, or before it the first one seen.
    numbers: Numbers,
    at: Instant,
    is_recorded: bool,
    /// Its index, and the number of the file that this is for.
    index: Option<(u64, u32)>,
    is_new: bool,
    /// Whether that reading still holds, and the last sample at which it did.
    is_current: bool,
    held: Instant,
    /// Time that needs an explanation since that reading, seconds.
    owed: f64,
    /// Begin of the idle time, if it is idle.
    idle_since: Option<Instant>,
    /// Counters at the last sample.
    busy: Duration,
    moved: Bytes,
}

impl Tracked {
    fn new(connection: &Connection, is_new: bool) -> Self {
        let reading = &connection.reading;
        Self {
            numbers: Numbers::of(reading),
            at: reading.at,
            is_recorded: false,
            index: None,
            is_new,
            is_current: true,
            held: reading.at,
            owed: 0.0,
            idle_since: None,
            busy: reading.busy.unwrap_or_default(),
            moved: bytes(reading),
        }
    }

    /// Bytes since the connection began, as far as that is known.
    fn bytes(&self, connection: &Connection) -> u64 {
        let known = if self.is_new {
            bytes(&connection.reading)
        } else {
            connection.total()
        };
        known.as_u64()
    }

    /// Adds a sample, `elapsed` seconds after the last one.
    fn observe(&mut self, connection: &Connection, elapsed: f64, at: Instant) {
        if connection.is_still {
            if self.is_current {
                self.held = at;
            } else {
                self.idle_since.get_or_insert(at);
            }
            return;
        }
        self.is_current = false;
        self.idle_since = None;
        let reading = &connection.reading;
        let busy = reading.busy.unwrap_or_default();
        let moved = bytes(reading);
        let waits = [reading.unread, reading.unacknowledged];
        let is_waiting = waits.into_iter().flatten().any(|bytes| bytes > Bytes::ZERO);
        let bytes = moved.saturating_sub(self.moved).as_u64();
        let part = if is_waiting || bytes as f64 >= MIN_BYTES as f64 * elapsed {
            1.0
        } else if bytes > 0 {
            LITTLE
        } else {
            0.0
        };
        let sending = busy.saturating_sub(self.busy).as_secs_f64();
        self.owed += sending.min(elapsed).max(part * elapsed);
        (self.busy, self.moved) = (busy, moved);
    }

    fn is_due(&self, interval: f64, at: Instant) -> bool {
        let since = |time: Instant| at.saturating_since(time).as_secs_f64();
        let has_settled = |idle: Instant| since(idle) >= SETTLED * interval;
        !self.is_current
            && (self.owed >= TICKS * interval
                || since(self.held) >= LONGEST * interval
                || self.idle_since.is_some_and(has_settled))
    }

    fn index_in(&self, output: &Output) -> Option<u32> {
        let (file, index) = self.index?;
        (file == output.file_number).then_some(index)
    }

    /// Records the reading of the last sample, and before it what the file lacks of the connection.
    fn write(&mut self, cookie: u64, connection: &Connection, output: &mut Output) {
        let index = self.index_in(output).unwrap_or_else(|| {
            let owner = connection.owner.as_ref();
            output.add(&Record::Open(Open {
                cookie,
                local: connection.local,
                peer: connection.peer,
                congestion: &connection.congestion,
                process: owner.map_or(0, |owner| owner.id),
                process_name: owner.map_or("", |owner| &owner.name),
                is_new: self.is_new,
            }));
            let index = output.next_index;
            output.next_index += 1;
            output.add_change([&Numbers::default(), &self.numbers], index, self.at);
            index
        });
        self.index = Some((output.file_number, index));
        if self.held > self.at {
            let before_ns = output.at.saturating_since(self.held).as_nanos();
            output.add(&Record::Held { index, before_ns });
        }
        let reading = &connection.reading;
        let numbers = Numbers::of(reading);
        if numbers != self.numbers {
            output.add_change([&self.numbers, &numbers], index, reading.at);
        }
        self.numbers = numbers;
        (self.at, self.held) = (reading.at, reading.at);
        (self.is_recorded, self.is_current) = (true, true);
        self.owed = 0.0;
        self.idle_since = None;
    }
}

/// Bytes acknowledged and received since the connection began.
fn bytes(reading: &Reading) -> Bytes {
    reading.bytes_acked.unwrap_or_default() + reading.bytes_received.unwrap_or_default()
}

pub(super) fn unix_nanos(time: SystemTime) -> WallTime {
    let nanos = |time: std::time::Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => nanos(since),
        Err(before) => -nanos(before.duration()),
    }
}

fn monotonic_nanos(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

fn cpu() -> Duration {
    let (user, system) = clock::process_split();
    (user + system).into()
}
