//! Stores rows by the address of their cell, in files that only grow.
//!
//! The store is a directory of segments. Each sweep that stores something creates a separate
//! segment, so several can run simultaneously. A line of a segment is
//!
//! ```text
//! checksum (16 hex digits) address (32 hex digits) detail (a digit) row (JSON)
//! ```
//!
//! and the first line is its schema. A line cut off at the end of a segment, where a sweep was
//! killed, or with a wrong checksum, is ignored: its cell runs again. Stored lines are never
//! changed. Lines are synced to disk within [`SYNC`]: a power failure loses at most those lines and
//! the running cells.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use gigatcp_plan::design::address::{Address, digest};

use crate::sweep::index::{Index, MAX_SEGMENTS, Place};
use crate::sweep::rows::{CellRow, Detail};

/// First words of a segment; the number behind them is that of the schema.
const SCHEMA: &str = "gigatcp.sweep/";

/// Number of the schema that this version reads and writes.
const NUMBER: u32 = 1;

/// Time between syncs to disk.
pub const SYNC: Duration = Duration::from_secs(1);

/// Bytes of a line before the row.
const PREFIX: usize = 16 + 1 + 32 + 1 + 1 + 1;

/// Why a store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Error of the system.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Action that failed.
        action: &'static str,
        /// Path of the file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The segment was written by a newer version of the program.
    #[error("{} has the schema `{found}`, and this version reads up to `{SCHEMA}{NUMBER}`", path.display())]
    Newer {
        /// The segment.
        path: PathBuf,
        /// Its first line.
        found: String,
    },
    /// A row cannot be parsed although its checksum is right.
    #[error("{} has a row that cannot be read: {why}", path.display())]
    Row {
        /// The segment.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

pub(crate) fn io_error<'a>(
    action: &'static str,
    path: &'a Path,
) -> impl FnOnce(io::Error) -> StoreError + 'a {
    move |source| StoreError::Io {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Defects found when a store was opened.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Flaws {
    /// Rows whose checksum is wrong: segment and offset.
    pub corrupt: Vec<(PathBuf, u64)>,
    /// Segments whose last row was cut off.
    pub cut: u64,
}

/// Rows by address.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    held: RwLock<SegmentIndex>,
    flaws: Flaws,
    writer: Mutex<Option<Writer>>,
}

/// The segments, and the place of each row in them.
#[derive(Debug, Default)]
struct SegmentIndex {
    segments: Vec<Arc<(PathBuf, File)>>,
    index: Index,
}

impl SegmentIndex {
    /// Number of the next segment.
    fn next(&self, path: &Path) -> Result<u32, StoreError> {
        match self.segments.len() {
            count if count < MAX_SEGMENTS => Ok(count as u32),
            _ => Err(StoreError::Row {
                path: path.to_owned(),
                why: format!("{MAX_SEGMENTS} segments are the most"),
            }),
        }
    }
}

/// Segment that rows are appended to.
#[derive(Debug)]
struct Writer {
    segment: Arc<(PathBuf, File)>,
    number: u32,
    offset: u64,
    synced: Instant,
}

impl Store {
    /// Opens the store in a directory, which need not exist, and indexes its rows.
    ///
    /// # Errors
    /// If a segment cannot be read, or has a newer schema.
    pub fn open(directory: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            directory: directory.to_owned(),
            held: RwLock::default(),
            flaws: Flaws::default(),
            writer: Mutex::new(None),
        };
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(store),
            Err(error) => return Err(io_error("read the directory", directory)(error)),
        };
        let mut paths = Vec::new();
        for entry in entries {
            let path = entry
                .map_err(io_error("read the directory", directory))?
                .path();
            if path.extension().is_some_and(|ending| ending == "rows") {
                paths.push(path);
            }
        }
        paths.sort();
        for path in paths {
            store.read_segment(path)?;
        }
        Ok(store)
    }

    fn read_segment(&mut self, path: PathBuf) -> Result<(), StoreError> {
        let file = File::open(&path).map_err(io_error("open", &path))?;
        let mut reader = BufReader::with_capacity(1 << 20, &file);
        let held = self.held.get_mut().unwrap_or_else(PoisonError::into_inner);
        let segment = held.next(&path)?;
        let (mut offset, mut line) = (0_u64, Vec::new());
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            let length = read.map_err(io_error("read", &path))?;
            if length == 0 {
                break;
            }
            if line.pop() != Some(b'\n') {
                self.flaws.cut += 1;
                break;
            }
            if offset == 0 {
                check_schema(&line, &path)?;
            } else if let Some((address, detail)) = parse_line(&line) {
                let place = Place {
                    segment,
                    offset,
                    detail,
                };
                held.index.put(address, place);
            } else {
                self.flaws.corrupt.push((path.clone(), offset));
            }
            offset += length as u64;
        }
        held.segments.push(Arc::new((path, file)));
        Ok(())
    }

    /// Defects found when the store was opened.
    pub const fn flaws(&self) -> &Flaws {
        &self.flaws
    }

    fn held(&self) -> std::sync::RwLockReadGuard<'_, SegmentIndex> {
        self.held.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<Writer>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.held().index.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether there is a row with this detail.
    pub fn has(&self, address: Address, detail: Detail) -> bool {
        let place = self.held().index.find(address);
        place.is_some_and(|place| detail.is_in(place.detail))
    }

    /// Row of an address; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn row(&self, address: Address) -> Result<Option<CellRow>, StoreError> {
        let held = self.held();
        let Some(place) = held.index.find(address) else {
            return Ok(None);
        };
        let segment = Arc::clone(&held.segments[place.segment as usize]);
        drop(held);
        let (path, file) = &*segment;
        let line = line_at(file, place.offset).map_err(io_error("read", path))?;
        let unreadable = |why: String| StoreError::Row {
            path: path.clone(),
            why,
        };
        match parse_line(&line) {
            Some((own, _)) if own == address => {
                let row = serde_json::from_slice(&line[PREFIX..]);
                row.map(Some).map_err(|error| unreadable(error.to_string()))
            }
            Some(_) => Ok(None),
            None => Err(unreadable("its checksum is wrong".to_owned())),
        }
    }

    /// Creates a segment for new rows.
    ///
    /// # Errors
    /// If the directory cannot be written.
    pub fn begin(&self) -> Result<(), StoreError> {
        let directory = &self.directory;
        fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        let mut number = self.held().segments.len();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        let (path, mut file) = loop {
            let path = directory.join(format!("{number:06}.rows"));
            match options.open(&path) {
                Ok(file) => break (path, file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(io_error("create", &path)(error)),
            }
        };
        let header = format!("{SCHEMA}{NUMBER}\n");
        let written = file.write_all(header.as_bytes());
        written.map_err(io_error("write", &path))?;
        let segment = Arc::new((path, file));
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        let number = held.next(&segment.0)?;
        held.segments.push(Arc::clone(&segment));
        *self.writer() = Some(Writer {
            segment,
            number,
            offset: header.len() as u64,
            synced: Instant::now(),
        });
        Ok(())
    }

    /// Stores a row in the current segment.
    ///
    /// # Errors
    /// If it cannot be written; earlier rows remain stored.
    pub fn append(
        &self,
        address: Address,
        detail: Detail,
        row: &CellRow,
    ) -> Result<(), StoreError> {
        self.put(address, detail.digit(), &line(address, detail, row))
    }

    /// Stores lines made by another process. Returns how many rows they are. A line with a wrong
    /// checksum is left out: its cell counts as not run.
    ///
    /// # Errors
    /// As [`Store::append`].
    pub fn absorb(&self, lines: &str) -> Result<u64, StoreError> {
        let mut rows = 0;
        for line in lines.split_inclusive('\n') {
            let row = line
                .strip_suffix('\n')
                .and_then(|line| parse_line(line.as_bytes()));
            if let Some((address, detail)) = row {
                self.put(address, detail, line)?;
                rows += 1;
            }
        }
        Ok(rows)
    }

    /// Appends a line.
    fn put(&self, address: Address, detail: u8, line: &str) -> Result<(), StoreError> {
        let mut writer = self.writer();
        let Some(writer) = writer.as_mut() else {
            return Ok(());
        };
        let (path, file) = &*writer.segment;
        let written = write_at(file, line.as_bytes(), writer.offset);
        let synced = match writer.synced.elapsed() >= SYNC {
            true => {
                writer.synced = Instant::now();
                file.sync_data()
            }
            false => Ok(()),
        };
        written.and(synced).map_err(io_error("write", path))?;
        let place = Place {
            segment: writer.number,
            offset: writer.offset,
            detail,
        };
        writer.offset += line.len() as u64;
        let mut held = self.held.write().unwrap_or_else(PoisonError::into_inner);
        held.index.put(address, place);
        Ok(())
    }

    /// Syncs to disk. A segment without rows is removed.
    ///
    /// # Errors
    /// If syncing fails.
    pub fn finish(&self) -> Result<(), StoreError> {
        let Some(writer) = self.writer().take() else {
            return Ok(());
        };
        let (path, file) = &*writer.segment;
        if writer.offset == (SCHEMA.len() + 2) as u64 {
            let _ = fs::remove_file(path);
            return Ok(());
        }
        file.sync_data().map_err(io_error("write", path))
    }
}

fn check_schema(line: &[u8], path: &Path) -> Result<(), StoreError> {
    let text = String::from_utf8_lossy(line).into_owned();
    let number = text
        .strip_prefix(SCHEMA)
        .and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(1..=NUMBER) => Ok(()),
        Some(_) => Err(StoreError::Newer {
            path: path.to_owned(),
            found: text,
        }),
        None => Err(StoreError::Row {
            path: path.to_owned(),
            why: "the first line names no schema".to_owned(),
        }),
    }
}

/// A row as a line of a segment.
pub(crate) fn line(address: Address, detail: Detail, row: &CellRow) -> String {
    let row = serde_json::to_string(row).unwrap_or_default();
    let rest = format!("{address:032x} {} {row}", detail.digit());
    format!("{:016x} {rest}\n", checksum(rest.as_bytes()))
}

fn checksum(bytes: &[u8]) -> u64 {
    digest(bytes, 0x0072_6f77) as u64
}

/// Address and detail of a line whose checksum is right.
fn parse_line(line: &[u8]) -> Option<(Address, u8)> {
    let hex = |range: std::ops::Range<usize>| std::str::from_utf8(line.get(range)?).ok();
    let wanted = u64::from_str_radix(hex(0..16)?, 16).ok()?;
    if checksum(line.get(17..)?) != wanted {
        return None;
    }
    let address = u128::from_str_radix(hex(17..49)?, 16).ok()?;
    let detail = line.get(50)?.checked_sub(b'0').filter(|digit| *digit < 4)?;
    Some((address, detail))
}

/// Reads the line at an offset of a file, without its end. Several threads may read the file.
fn line_at(file: &File, offset: u64) -> io::Result<Vec<u8>> {
    let (mut line, mut length) = (vec![0; 1024], 0);
    loop {
        let read = match read_at(file, &mut line[length..], offset + length as u64) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        let end = line[length..length + read]
            .iter()
            .position(|byte| *byte == b'\n');
        if let Some(end) = end {
            line.truncate(length + end);
            return Ok(line);
        }
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        length += read;
        if length == line.len() {
            line.resize(2 * length, 0);
        }
    }
}

/// Reads some bytes at an offset of a file.
#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Reads some bytes at an offset of a file.
#[cfg(windows)]
fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(windows)]
fn write_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => (bytes, offset) = (&bytes[written..], offset + written as u64),
        }
    }
    Ok(())
}
