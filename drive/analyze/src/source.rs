//! Sources of captures: a file, standard input, or bytes in memory.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::{Endpoint, WindowScales};

use crate::error::Error;
use crate::reports::has_packets;

/// Maximum bytes of standard input or a pipe held in memory.
const MAX_HELD: u64 = 1 << 30;

/// Maximum bytes of a report.
pub const MAX_TEXT: u64 = 256 << 20;

/// Text of standard input, once it was read.
static TEXT: OnceLock<Arc<[u8]>> = OnceLock::new();

/// Decides by its number, from 1, whether a packet is analyzed.
type Selection = Arc<dyn Fn(u64) -> bool + Send + Sync>;

/// Source of a capture.
#[derive(Clone)]
pub struct Source {
    origin: Origin,
    selection: Option<Selection>,
    window_scales: Option<Arc<WindowScales>>,
}

#[derive(Clone)]
enum Origin {
    File(PathBuf),
    StandardInput,
    Bytes { name: String, bytes: Arc<[u8]> },
}

impl Source {
    /// File at `path`: pcap, pcapng or printed packets; plain, gzip or zstd.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::of(Origin::File(path.into()))
    }

    /// Standard input, which can be read once, unless it is text that was read before.
    pub fn standard_input() -> Self {
        match TEXT.get() {
            Some(text) => Self::bytes("-", Arc::clone(text)),
            None => Self::of(Origin::StandardInput),
        }
    }

    /// Reads standard input to its end if it begins as the text of a report may. It stays available as
    /// a source. `None`: it is a capture or printed packets, of which nothing was consumed.
    ///
    /// # Errors
    /// [`Error::Hold`] if reading fails, [`Error::TooLarge`] above 256 MiB.
    pub fn text_of_standard_input() -> Result<Option<Arc<[u8]>>, Error> {
        let name = || "-".to_owned();
        let failed = |source| Error::Hold {
            name: name(),
            source,
        };
        let mut input = io::stdin().lock();
        let begin = input.fill_buf().map_err(failed)?;
        if !is_text(begin) || has_packets(&String::from_utf8_lossy(begin)) {
            return Ok(None);
        }
        let bytes = held(input.take(MAX_TEXT + 1)).map_err(failed)?;
        if bytes.len() as u64 > MAX_TEXT {
            let limit = MAX_TEXT;
            return Err(Error::TooLarge {
                name: name(),
                limit,
            });
        }
        Ok(Some(Arc::clone(TEXT.get_or_init(|| bytes.into()))))
    }

    /// File at `path`, or standard input if that is `-`.
    pub fn named(path: &Path) -> Self {
        if path.as_os_str() == "-" {
            Self::standard_input()
        } else {
            Self::file(path)
        }
    }

    /// A capture in memory under a name of the caller's choice.
    pub fn bytes(name: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self::of(Origin::Bytes {
            name: name.into(),
            bytes: bytes.into(),
        })
    }

    const fn of(origin: Origin) -> Self {
        Self {
            origin,
            selection: None,
            window_scales: None,
        }
    }

    /// Capture without the packets that `is_kept` rejects.
    ///
    /// `is_kept` receives the number of a packet in the file, from 1. It may be called from several
    /// threads and for the same packet more than once.
    #[must_use]
    pub fn keeping(self, is_kept: impl Fn(u64) -> bool + Send + Sync + 'static) -> Self {
        Self {
            selection: Some(Arc::new(is_kept)),
            ..self
        }
    }

    /// Capture with the window scales of connections whose SYNs are not in it.
    #[must_use]
    pub fn with_window_scales(self, window_scales: WindowScales) -> Self {
        Self {
            window_scales: Some(Arc::new(window_scales)),
            ..self
        }
    }

    /// The capture with further window scales. Those that were given before stay.
    pub(crate) fn with_more_window_scales(
        self,
        more: impl IntoIterator<Item = ([Endpoint; 2], [u8; 2])>,
    ) -> Self {
        let mut all = WindowScales::default();
        for (ends, scales) in more {
            all.insert(ends, scales);
        }
        all.extend(self.window_scales());
        self.with_window_scales(all)
    }

    /// A source that can be read several times. Standard input and pipes are read into memory.
    ///
    /// # Errors
    /// [`Error::Hold`] if reading fails, [`Error::TooLarge`] above 1 GiB.
    pub fn rereadable(self) -> Result<Self, Error> {
        let (name, read) = match &self.origin {
            Origin::StandardInput => ("-".to_owned(), held(io::stdin().lock())),
            Origin::File(path) if is_pipe(path) => {
                (path.display().to_string(), File::open(path).and_then(held))
            }
            Origin::File(_) | Origin::Bytes { .. } => return Ok(self),
        };
        let held = read.map_err(|source| Error::Hold {
            name: name.clone(),
            source,
        })?;
        if held.len() as u64 > MAX_HELD {
            let limit = MAX_HELD;
            return Err(Error::TooLarge { name, limit });
        }
        Ok(Self {
            origin: Origin::Bytes {
                name,
                bytes: held.into(),
            },
            ..self
        })
    }

    /// Its name: its path, or `-` for standard input.
    pub fn name(&self) -> String {
        match &self.origin {
            Origin::File(path) => path.display().to_string(),
            Origin::StandardInput => "-".into(),
            Origin::Bytes { name, .. } => name.clone(),
        }
    }

    /// Whether it can be read once only.
    pub fn is_read_once(&self) -> bool {
        match &self.origin {
            Origin::File(path) => is_pipe(path),
            Origin::StandardInput => true,
            Origin::Bytes { .. } => false,
        }
    }

    /// Its bytes before decompression; `None` if unknown.
    pub(crate) fn size(&self) -> Option<u64> {
        match &self.origin {
            Origin::File(path) => Some(path.metadata().ok()?.len()),
            Origin::StandardInput => None,
            Origin::Bytes { bytes, .. } => Some(bytes.len() as u64),
        }
    }

    /// Selection of packets to analyze; `None`: all.
    pub(crate) const fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// Window scales that are known without the SYNs.
    pub(crate) fn window_scales(&self) -> WindowScales {
        self.window_scales.as_deref().cloned().unwrap_or_default()
    }

    pub(crate) fn open(&self) -> Result<CaptureReader, ReadError> {
        match &self.origin {
            Origin::File(path) => CaptureReader::open(path),
            Origin::StandardInput => CaptureReader::standard_input(),
            Origin::Bytes { bytes, .. } => {
                CaptureReader::from_reader(Cursor::new(Arc::clone(bytes)))
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source")
            .field("name", &self.name())
            .field("is_selective", &self.selection.is_some())
            .finish()
    }
}

/// Whether bytes begin as text does.
pub fn is_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    let is_binary = |byte: &u8| *byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r');
    !head.is_empty() && !head.iter().any(is_binary)
}

/// Whether it is neither file nor directory, and so can be read only once.
fn is_pipe(file: &Path) -> bool {
    file.exists() && !file.is_file() && !file.is_dir()
}

/// All of it, or one byte more than the maximum.
fn held(from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MAX_HELD + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
