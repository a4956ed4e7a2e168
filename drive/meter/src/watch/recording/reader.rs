//! The connections of an interval of a recording, and what limited each of them.
//!
//! Files are read twice: for the bytes that each connection moved, and for the accounts of the largest
//! ones. So memory is bounded by the number of connections, not by that of their readings.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gigatcp_linux::owners::Process;
use gigatcp_units::{Bytes, Instant};
use gigatcp_why::Diagnosis;
use gigatcp_why::counters::{End, Reading};

use super::WallTime;
use super::directory::{files, read};
use super::format::{Change, Open, PartReader, Places, Record, parts};
use crate::filter::{ConnectionFacts, Filter};
use crate::watch::accounts::{AccountSettings, Accounts};

/// Time slices in the account of a connection.
const SLICES: usize = 128;

/// Maximum of connections that are explained; the largest ones are.
const MAX_EXPLAINED: usize = 1000;

/// Maximum number of connections of an interval that are compared, and of those of one file.
const MAX_CONNECTIONS: usize = 50_000;
const MAX_OPEN: usize = 1 << 17;

/// Time after an interval in which the first reading after it may be.
const AFTER_NS: i64 = 150_000_000_000;

/// Why a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The directory has no file of this format.
    #[error("it has no recording of `gigatcp watch --record` that this version reads")]
    Nothing,
    /// The system's error.
    #[error(transparent)]
    System(#[from] io::Error),
}

/// An interval by the clock of the day.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// Its begin.
    pub from: SystemTime,
    /// Its end.
    pub to: SystemTime,
}

impl Interval {
    fn nanos(self) -> [WallTime; 2] {
        [self.from, self.to].map(super::recorder::unix_nanos)
    }

    fn of([from, to]: [WallTime; 2]) -> Self {
        let [from, to] = [from, to].map(|nanos| {
            UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanos).unwrap_or_default())
        });
        Self { from, to }
    }
}

/// A connection of an interval.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Address and port of the recording host.
    pub local: SocketAddr,
    /// Address and port of its peer.
    pub peer: SocketAddr,
    /// Role of the recording host in the direction with more data.
    pub role: End,
    /// Process that had it open, if that was found.
    pub owner: Option<Process>,
    /// Number of readings that the diagnosis rests on.
    pub readings: usize,
    /// What limited it.
    pub diagnosis: Diagnosis,
}

/// What a recording has of an interval.
#[derive(Debug, Default)]
pub struct Selection {
    /// The connections that moved or held data, the largest first.
    pub connections: Vec<Recorded>,
    /// Connections that moved or held data and are not among these.
    pub more: usize,
    /// Connections of which the recorder only counted that they were there.
    pub short: u64,
    /// Samples in the interval.
    pub samples: u64,
    /// Files that end in a part that is cut or damaged.
    pub damaged: Vec<PathBuf>,
}

/// A recording.
#[derive(Debug)]
pub struct Recording {
    files: Vec<PathBuf>,
}

impl Recording {
    /// Finds the files of a recording.
    ///
    /// # Errors
    /// There is none, or the system's error.
    pub fn open(place: &Path) -> Result<Self, ReadError> {
        let files: Vec<PathBuf> = files(place)?.into_iter().map(|(_, path)| path).collect();
        if files.is_empty() {
            return Err(ReadError::Nothing);
        }
        Ok(Self { files })
    }

    /// Time from its first record to its last one.
    ///
    /// # Errors
    /// No file can be read, or the system's error.
    pub fn covered(&self) -> Result<Interval, ReadError> {
        let mut covered: Option<[WallTime; 2]> = None;
        for path in &self.files {
            let Some(octets) = read(path)? else { continue };
            for part in parts(&octets).0 {
                let [from, to] = covered.unwrap_or(part.times);
                covered = Some([from.min(part.times[0]), to.max(part.times[1])]);
            }
        }
        covered.map(Interval::of).ok_or(ReadError::Nothing)
    }

    /// Explains the connections of an interval that a filter selects.
    ///
    /// # Errors
    /// The system's error.
    pub fn explain(&self, interval: Interval, filter: &Filter) -> Result<Selection, ReadError> {
        let sizes = self.walk(interval, filter, None)?;
        let mut by_size: Vec<(Bytes, Key)> = sizes
            .connections
            .iter()
            .filter(|(_, connection)| connection.bytes() > Bytes::ZERO || connection.has_waited)
            .map(|(key, connection)| (connection.bytes(), key.clone()))
            .collect();
        by_size.sort_by(|a, b| b.cmp(a));
        let more = sizes.more + by_size.len().saturating_sub(MAX_EXPLAINED);
        let largest: HashSet<Key> = by_size
            .into_iter()
            .take(MAX_EXPLAINED)
            .map(|(_, key)| key)
            .collect();
        let explained = self.walk(interval, filter, Some(&largest))?;
        let mut connections: Vec<Recorded> = explained
            .connections
            .into_values()
            .filter_map(Read::explained)
            .collect();
        // Of the two ends of a connection, the sender knows more.
        connections.sort_by_key(|connection| {
            let Recorded { local, peer, .. } = *connection;
            let is_receiver = connection.role == End::Receiver;
            (
                Reverse(connection.diagnosis.delivered),
                is_receiver,
                local,
                peer,
            )
        });
        Ok(Selection {
            connections,
            more,
            short: explained.short,
            samples: explained.samples,
            damaged: explained.damaged,
        })
    }

    /// Reads an interval; with accounts for the connections of `explained` only.
    fn walk(
        &self,
        interval: Interval,
        filter: &Filter,
        explained: Option<&HashSet<Key>>,
    ) -> Result<Walk, ReadError> {
        let mut walk = Walk::default();
        let [from, to] = interval.nanos();
        for path in &self.files {
            let Some(octets) = read(path)? else { continue };
            let (parts, is_cut) = parts(&octets);
            let end = to.saturating_add(AFTER_NS);
            let is_near = |times: [WallTime; 2]| times[1] >= from && times[0] <= end;
            let Some(last) = parts.iter().rposition(|part| is_near(part.times)) else {
                continue;
            };
            let mut reader = PartReader::new();
            let mut file = FileWalk::new([from, to], filter, explained, &mut walk);
            let is_whole = parts[..=last]
                .iter()
                .all(|part| reader.read(part, |record| file.on_record(record)));
            if is_cut || !is_whole {
                walk.damaged.push(path.clone());
            }
        }
        Ok(walk)
    }
}

/// What tells connections apart: the boot of their host, cookie, and both ends.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Key {
    boot: String,
    cookie: u64,
    local: SocketAddr,
    peer: SocketAddr,
}

/// A connection while it is read.
#[derive(Debug)]
struct Read {
    key: Key,
    congestion: String,
    owner: Option<Process>,
    accounts: Accounts,
    settings: AccountSettings,
    /// The last reading, and the number of those in the interval; `None` when it has ended.
    last: Option<Box<Reading>>,
    readings: usize,
    /// Whether data waited to be acknowledged or read.
    has_waited: bool,
    /// Whether the reading is the first one of a connection that began shortly before.
    is_new: bool,
}

impl Read {
    fn bytes(&self) -> Bytes {
        self.accounts.totals[0] + self.accounts.totals[1]
    }

    /// Adds a reading and whether it is in the interval. A step is explained if a part of it is.
    fn on_reading(&mut self, reading: &Reading, is_before: bool, is_after: bool) {
        let Some(before) = self.last.replace(Box::new(*reading)) else {
            self.readings += usize::from(!is_before && !is_after);
            return;
        };
        if reading.at <= before.at {
            // A file begins with the last reading of the one before it.
            self.last = Some(before);
            return;
        }
        self.is_new = false;
        if !is_before && !is_after {
            self.readings += 1;
            let waits = [reading.unacknowledged, reading.unread];
            self.has_waited |= waits.into_iter().flatten().any(|bytes| bytes > Bytes::ZERO);
            let steps = [&*before, reading];
            self.accounts
                .on_step(steps, &self.settings, &self.congestion);
        }
    }

    /// A connection with one reading in the interval, soon after its begin.
    fn end(&mut self) {
        if let Some(only) = self.last.take()
            && self.is_new
            && self.readings == 1
        {
            self.accounts
                .on_only(&only, &self.settings, &self.congestion);
        }
    }

    fn explained(mut self) -> Option<Recorded> {
        self.end();
        let diagnosis = self.accounts.diagnose()?;
        Some(Recorded {
            local: self.key.local,
            peer: self.key.peer,
            role: self.accounts.role(),
            owner: self.owner,
            readings: self.readings,
            diagnosis,
        })
    }
}

/// What was read so far.
#[derive(Debug, Default)]
struct Walk {
    connections: HashMap<Key, Read>,
    /// Number of those that are not kept.
    more: usize,
    short: u64,
    samples: u64,
    damaged: Vec<PathBuf>,
}

/// The walk through one file.
struct FileWalk<'a> {
    interval: [WallTime; 2],
    filter: &'a Filter,
    explained: Option<&'a HashSet<Key>>,
    walk: &'a mut Walk,
    boot: String,
    places: Places,
    settings: AccountSettings,
    /// Monotonic clock of the sample, ns, and the clock of the day minus it.
    at: u64,
    offset_ns: i64,
    /// By index: the connection's numbers and reading; `None` for those not selected.
    open: Vec<Option<State>>,
}

/// A connection of a file.
struct State {
    key: Key,
    numbers: Vec<i64>,
    reading: Reading,
}

fn at_index(open: &mut [Option<State>], index: u32) -> Option<&mut Option<State>> {
    open.get_mut(usize::try_from(index).ok()?)
}

impl<'a> FileWalk<'a> {
    fn new(
        interval: [WallTime; 2],
        filter: &'a Filter,
        explained: Option<&'a HashSet<Key>>,
        walk: &'a mut Walk,
    ) -> Self {
        Self {
            interval,
            filter,
            explained,
            walk,
            boot: String::new(),
            places: Places::of(&[]),
            settings: AccountSettings {
                slices: 0,
                buffers: [None; 4],
            },
            at: 0,
            offset_ns: 0,
            open: Vec::new(),
        }
    }

    fn on_record(&mut self, record: Record<'_>) {
        match record {
            Record::Begin(begin) => {
                self.boot = begin.boot.to_owned();
                self.at = begin.monotonic_ns;
                self.offset_ns = begin.offset_ns;
                self.places = Places::of(&begin.words);
                self.settings.buffers = begin.buffers.map(|limit| limit.map(Bytes::new));
                self.settings.slices = if self.explained.is_some() { SLICES } else { 0 };
            }
            Record::Clock { offset_ns } => self.offset_ns = offset_ns,
            Record::Sample {
                after_ns, short, ..
            } => {
                self.at = self.at.saturating_add(after_ns);
                let [from, to] = self.interval;
                if (from..=to).contains(&self.wall(0)) {
                    self.walk.samples += 1;
                    self.walk.short += u64::from(short);
                }
            }
            Record::Open(open) => self.on_open(&open),
            Record::Reading(change) => self.on_change(&change),
            Record::Held { index, before_ns } => self.on_held(index, before_ns),
            Record::Ended { index } => {
                if let Some(state) = at_index(&mut self.open, index).and_then(Option::take)
                    && let Some(connection) = self.walk.connections.get_mut(&state.key)
                {
                    connection.end();
                }
            }
        }
    }

    /// The clock of the day, this time before the sample.
    fn wall(&self, before_ns: u64) -> WallTime {
        let at = i64::try_from(self.at.saturating_sub(before_ns)).unwrap_or(i64::MAX);
        at.saturating_add(self.offset_ns)
    }

    fn on_open(&mut self, open: &Open<'_>) {
        // Those beyond have no index here, so their readings count for nothing.
        if self.open.len() >= MAX_OPEN {
            self.walk.more += 1;
            return;
        }
        let owner = (open.process > 0).then(|| Process {
            id: open.process,
            name: open.process_name.to_owned(),
        });
        let facts = ConnectionFacts {
            state: 1,
            local: open.local,
            peer: open.peer,
            owner: owner.as_ref(),
        };
        let key = Key {
            boot: self.boot.clone(),
            cookie: open.cookie,
            local: open.local,
            peer: open.peer,
        };
        let is_chosen = self.explained.is_none_or(|keys| keys.contains(&key));
        if !is_chosen || !self.filter.matches(&facts) {
            self.open.push(None);
            return;
        }
        let is_known = self.walk.connections.contains_key(&key);
        if !is_known && self.walk.connections.len() >= MAX_CONNECTIONS {
            self.walk.more += 1;
            self.open.push(None);
            return;
        }
        self.open.push(Some(State {
            key: key.clone(),
            numbers: Vec::new(),
            reading: Reading::default(),
        }));
        let settings = self.settings;
        self.walk
            .connections
            .entry(key.clone())
            .or_insert_with(|| Read {
                key,
                congestion: open.congestion.to_owned(),
                owner: owner.clone(),
                accounts: Accounts::default(),
                settings,
                last: None,
                readings: 0,
                has_waited: false,
                is_new: open.is_new,
            });
    }

    /// The last reading still held: the time until then is idle, and no part of a step.
    fn on_held(&mut self, index: u32, before_ns: u64) {
        let at = Instant::from_nanos(self.at.saturating_sub(before_ns));
        if let Some(Some(state)) = at_index(&mut self.open, index)
            && let Some(connection) = self.walk.connections.get_mut(&state.key)
            && let Some(last) = &mut connection.last
        {
            last.at = last.at.max(at);
        }
    }

    fn on_change(&mut self, change: &Change) {
        let wall = self.wall(change.before_ns);
        let at = Instant::from_nanos(self.at.saturating_sub(change.before_ns));
        let [from, to] = self.interval;
        let Some(Some(state)) = at_index(&mut self.open, change.index) else {
            return;
        };
        self.places
            .apply(change, &mut state.numbers, &mut state.reading);
        state.reading.at = at;
        if let Some(connection) = self.walk.connections.get_mut(&state.key) {
            let begins_after = connection.last.as_ref().is_some_and(|last| {
                let step = at.saturating_since(last.at).as_nanos();
                wall.saturating_sub(i64::try_from(step).unwrap_or(i64::MAX)) >= to
            });
            let is_after = begins_after || connection.last.is_none() && wall > to;
            connection.on_reading(&state.reading, wall <= from, is_after);
        }
    }
}
