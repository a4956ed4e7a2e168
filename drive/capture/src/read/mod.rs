//! Reads captures: pcap, pcapng, snoop and printed packets, plain or compressed. The source is a
//! file, standard input or any stream.
//!
//! | file | what |
//! |---|---|
//! | `record.rs` | the record, output of every reader |
//! | `notes.rs` | oddities, counted and placed |
//! | `pcap.rs`, `pcapng.rs`, `snoop.rs` | the binary formats |
//! | `foreign.rs` | names of archives and texts that are not read |
//! | `options.rs`, `interface.rs`, `timing.rs` | shared by the formats |
//! | `text/` | printed packets |
//! | `input.rs`, `map.rs` | sources of bytes: mapped files, streams |
//! | `error.rs` | errors |
//!
//! Memory use is constant. A mapped file is in the page cache; the window of a stream is as large
//! as its largest record, at most 64 MiB, independent of the lengths that the file claims. No
//! contents of a file make a reader panic.

mod error;
mod foreign;
mod input;
mod interface;
mod map;
mod notes;
mod options;
mod pcap;
mod pcapng;
mod record;
mod snoop;
mod text;
mod timing;
mod zstd;

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use gigatcp_wire::link::DissectError;

pub use error::ReadError;
pub use interface::CapturedInterface;
pub use notes::{Note, NoteKind, Notes, Place};
pub use options::{Options, Order};
pub use record::{Direction, KnownFields, PlainRecord, Record};

use input::Input;
use interface::{ByteRange, ReadContext};
use map::Map;

/// Format of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// Blocks of pcapng.
    Pcapng,
    /// Solaris snoop (RFC 1761).
    Snoop,
    /// Output of tcpdump, with or without prose around it.
    Text,
}

/// Compression of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compression {
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878, one frame or several.
    Zstd,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
            Self::Snoop => "snoop",
            Self::Text => "printed packets",
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

#[derive(Debug)]
enum Inner {
    Pcap(pcap::Pcap),
    Pcapng(pcapng::Pcapng),
    Snoop(snoop::Snoop),
    Text(Box<text::Text>),
    /// A file that ends within its first header.
    Nothing(Format),
}

/// A capture being read, record by record.
///
/// ```no_run
/// # fn main() -> Result<(), gigatcp_capture::ReadError> {
/// let mut capture = gigatcp_capture::CaptureReader::open("trace.pcapng.zst".as_ref())?;
/// while let Some(record) = capture.next_record()? {
///     println!("{}: {} octets", record.number, record.wire_len);
/// }
/// for note in capture.notes().iter() {
///     eprintln!("{note}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CaptureReader {
    context: ReadContext,
    inner: Inner,
    compression: Option<Compression>,
    /// Set if decompression failed.
    is_broken: Arc<AtomicBool>,
}

impl CaptureReader {
    /// Opens a file. It is mapped if possible, otherwise read as a stream: pipes, devices,
    /// compressed files.
    ///
    /// # Errors
    /// [`ReadError`], if it cannot be opened or is not a capture.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let open_error = |source| ReadError::Open {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(open_error)?;
        if file.metadata().map_err(open_error)?.is_dir() {
            return Err(open_error(io::ErrorKind::IsADirectory.into()));
        }
        let input = match Map::new(&file) {
            Ok(map) => Input::mapped(map),
            Err(_) => Input::streamed(Box::new(file)),
        };
        Self::start(input)
    }

    /// Reads standard input.
    ///
    /// # Errors
    /// [`ReadError`], if it is not a capture.
    pub fn standard_input() -> Result<Self, ReadError> {
        Self::from_reader(io::stdin())
    }

    /// Reads a stream, such as a pipe or a file that is still being written.
    ///
    /// # Errors
    /// [`ReadError`], if it is not a capture.
    pub fn from_reader(stream: impl Read + Send + 'static) -> Result<Self, ReadError> {
        Self::start(Input::streamed(Box::new(stream)))
    }

    /// Reads bytes in memory.
    ///
    /// # Errors
    /// [`ReadError`], if they are not a capture.
    pub fn from_octets(octets: Vec<u8>) -> Result<Self, ReadError> {
        Self::start(Input::held(octets))
    }

    fn start(mut input: Input) -> Result<Self, ReadError> {
        let mut magic = first_octets(&mut input)?;
        let compression = compression_of(magic);
        let is_broken = Arc::new(AtomicBool::new(false));
        if let Some(compression) = compression {
            let unpacked = unpacked(compression, input, Arc::clone(&is_broken));
            input = Input::streamed(unpacked);
            let first = first_octets(&mut input);
            if is_broken.load(Ordering::Relaxed) && input.octets().len() < magic.len() {
                return Err(ReadError::Broken { compression });
            }
            magic = first?;
        }
        let mut context = ReadContext {
            input,
            notes: Notes::default(),
            number: 1,
        };
        let inner = match (pcap::Magic::read(magic), u32::from_le_bytes(magic)) {
            (Some(magic), _) => start_binary(
                Format::Pcap,
                pcap::FILE_HEADER_LEN,
                &mut context,
                |context| Ok(Inner::Pcap(pcap::Pcap::start(magic, context))),
            )?,
            (None, pcapng::SECTION_HEADER) => Inner::Pcapng(pcapng::Pcapng::start()),
            _ => start_other(magic, &mut context)?,
        };
        Ok(Self {
            context,
            inner,
            compression,
            is_broken,
        })
    }

    /// Next record; `None` at the end.
    ///
    /// # Errors
    /// [`ReadError::Read`], if the file or stream cannot be read on; records before that were
    /// returned. [`ReadError::NoPackets`], at the end of a text without packets.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let here = match &mut self.inner {
            Inner::Pcap(pcap) => pcap.next_here(&mut self.context),
            Inner::Pcapng(pcapng) => pcapng.next_here(&mut self.context),
            Inner::Snoop(_) | Inner::Text(_) | Inner::Nothing(_) => None,
        };
        if let Some(found) = here {
            return Ok(Some(self.record(&found)));
        }
        self.next_checked()
    }

    /// Passes records to `take` while they are plain ones of a pcap file and accepted. This costs
    /// little more than reading the bytes. The record that `take` rejects remains the next record,
    /// so a caller that calls this before every [`Self::next_record`] misses none. It also returns
    /// now and then without a rejection.
    #[inline(always)]
    pub fn next_plain(&mut self, take: impl FnMut(PlainRecord<'_>) -> bool) {
        if let Inner::Pcap(pcap) = &mut self.inner {
            let taken = pcap.next_plain(&mut self.context, take);
            self.context.number += taken;
        }
    }

    /// Next record if more must be read or something is odd.
    #[inline(never)]
    fn next_checked(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let found = match &mut self.inner {
            Inner::Pcap(pcap) => pcap.next(&mut self.context),
            Inner::Pcapng(pcapng) => pcapng.next(&mut self.context),
            Inner::Snoop(snoop) => snoop.next(&mut self.context),
            Inner::Text(_) => return self.next_printed(),
            Inner::Nothing(_) => Ok(None),
        };
        let Some(found) = found.map_err(|source| self.read_error(source))? else {
            self.end();
            return Ok(None);
        };
        Ok(Some(self.record(&found)))
    }

    /// Converts a raw record.
    #[inline(always)]
    fn record(&mut self, found: &interface::RawRecord) -> Record<'_> {
        let number = self.context.number;
        self.context.number += 1;
        let octets = self.context.input.octets();
        let range = |range: ByteRange| &octets[range.start..range.start + range.len];
        Record {
            number,
            offset: self.context.input.offset(),
            time: found.time,
            wire_len: found.wire_len,
            octets: range(found.octets),
            interface: found.interface,
            link: found.link,
            direction: found.direction,
            dropped: found.dropped,
            follows_omission: false,
            known: KnownFields::ALL,
            options: Options {
                octets: range(found.options),
                order: found.order,
            },
        }
    }

    /// Next printed packet, whose bytes are not those of the file.
    fn next_printed(&mut self) -> Result<Option<Record<'_>>, ReadError> {
        let Inner::Text(text) = &mut self.inner else {
            return Ok(None);
        };
        let read = text.next(&mut self.context);
        let resembles = text.resembles;
        let Some(found) = read.map_err(|source| self.read_error(source))? else {
            self.end();
            if self.records() == 0 && self.context.notes.is_empty() {
                let octets = self.offset();
                return Err(ReadError::NoPackets { octets, resembles });
            }
            return Ok(None);
        };
        let Inner::Text(text) = &self.inner else {
            return Ok(None);
        };
        self.context.number += 1;
        Ok(Some(Record {
            number: self.context.number - 1,
            offset: found.offset,
            time: found.found.time,
            wire_len: found.found.wire_len,
            octets: &text.octets,
            interface: 0,
            link: found.found.link,
            direction: found.found.direction,
            dropped: 0,
            follows_omission: found.follows_omission,
            known: found.known,
            options: Options::default(),
        }))
    }

    fn read_error(&self, source: io::Error) -> ReadError {
        let offset = self.offset();
        ReadError::Read { offset, source }
    }

    /// Handles the end of the records. A broken compressed stream ends here, after the part that
    /// could be decompressed.
    #[cold]
    fn end(&mut self) {
        if self.is_broken.swap(false, Ordering::Relaxed) {
            let place = self.context.place(0);
            self.context.notes.add(NoteKind::BrokenCompression, place);
        }
    }

    /// Oddities so far.
    pub const fn notes(&self) -> &Notes {
        &self.context.notes
    }

    /// Notes so far, for callers that parse packets and add notes.
    pub const fn notes_mut(&mut self) -> &mut Notes {
        &mut self.context.notes
    }

    /// Counts the reason why a packet has no readable TCP segment.
    pub fn note_dissect_error(&mut self, place: Place, obstacle: &DissectError) {
        let (kind, detail) = match *obstacle {
            DissectError::UnknownLinkType { link } => (NoteKind::UnknownLinkType, link.0.into()),
            DissectError::Cut { .. } => (NoteKind::HeadersCut, 0),
            DissectError::NotIp { kind, .. } => (NoteKind::NotIp, kind.into()),
            DissectError::NotTcp { protocol } => (NoteKind::NotTcp, protocol.into()),
            DissectError::LaterFragment { .. } => (NoteKind::LaterFragment, 0),
            DissectError::Malformed { .. } => (NoteKind::MalformedHeaders, 0),
            DissectError::Unread { .. } => (NoteKind::UnreadForm, 0),
            DissectError::TooDeep => (NoteKind::NestedTooDeep, 0),
        };
        let reason = obstacle.reason();
        self.context.notes.add_unread(kind, reason, place, detail);
    }

    /// Host names in a text and the addresses assigned to them. Each name has one address of each
    /// IP version.
    pub fn names(&self) -> impl Iterator<Item = (&str, [IpAddr; 2])> {
        let text = match &self.inner {
            Inner::Text(text) => Some(text),
            _ => None,
        };
        text.into_iter().flat_map(|text| text.names())
    }

    /// Format of the capture.
    pub const fn format(&self) -> Format {
        match &self.inner {
            Inner::Pcap(_) => Format::Pcap,
            Inner::Pcapng(_) => Format::Pcapng,
            Inner::Snoop(_) => Format::Snoop,
            Inner::Text(_) => Format::Text,
            Inner::Nothing(format) => *format,
        }
    }

    /// Compression, if any.
    pub const fn compression(&self) -> Option<Compression> {
        self.compression
    }

    /// Interfaces described so far. pcapng may describe more at any time.
    pub fn interfaces(&self) -> &[CapturedInterface] {
        match &self.inner {
            Inner::Pcap(pcap) => &pcap.interface,
            Inner::Pcapng(pcapng) => &pcapng.interfaces,
            Inner::Snoop(snoop) => &snoop.interface,
            Inner::Text(text) => &text.interface,
            Inner::Nothing(_) => &[],
        }
    }

    /// Whether the capture is a mapped file, which can be opened again in parallel.
    pub const fn is_mapped(&self) -> bool {
        self.context.input.is_mapped()
    }

    /// Number of records returned so far.
    pub const fn records(&self) -> u64 {
        self.context.number - 1
    }

    /// Bytes passed so far, uncompressed.
    pub const fn offset(&self) -> u64 {
        self.context.input.offset()
    }
}

/// Starts the reader of a format whose file header has `len` bytes. A file that ends within its
/// header has no records.
fn start_binary(
    format: Format,
    len: usize,
    context: &mut ReadContext,
    start: impl FnOnce(&mut ReadContext) -> Result<Inner, ReadError>,
) -> Result<Inner, ReadError> {
    if has(&mut context.input, len)? {
        return start(context);
    }
    let missing = len - context.input.octets().len();
    context.note(NoteKind::TruncatedTail, context.place(0), missing as u64);
    Ok(Inner::Nothing(format))
}

/// Opens a format that its first four bytes do not identify.
fn start_other(magic: [u8; 4], context: &mut ReadContext) -> Result<Inner, ReadError> {
    has(
        &mut context.input,
        snoop::FILE_HEADER_LEN.max(foreign::LOOKED_AT),
    )?;
    let octets = context.input.octets();
    if octets.starts_with(snoop::MAGIC) {
        return start_binary(Format::Snoop, snoop::FILE_HEADER_LEN, context, |context| {
            snoop::Snoop::start(context).map(Inner::Snoop)
        });
    }
    if let Some(error) = foreign::named(octets) {
        return Err(error);
    }
    if is_text(context)? {
        return Ok(Inner::Text(Box::new(text::Text::start())));
    }
    Err(ReadError::Unknown { start: magic })
}

/// Bytes needed to recognize text.
const BEGINNING: usize = 4096;

/// Whether the input is text, by its beginning.
fn is_text(context: &mut ReadContext) -> Result<bool, ReadError> {
    has(&mut context.input, BEGINNING)?;
    let octets = context.input.octets();
    Ok(text::is_text(&octets[..octets.len().min(BEGINNING)]))
}

fn has(input: &mut Input, len: usize) -> Result<bool, ReadError> {
    let offset = input.offset();
    input
        .has(len)
        .map_err(|source| ReadError::Read { offset, source })
}

/// First four bytes, filled up with zeros.
fn first_octets(input: &mut Input) -> Result<[u8; 4], ReadError> {
    if !has(input, 1)? {
        return Err(ReadError::Empty);
    }
    has(input, 4)?;
    let mut start = [0; 4];
    let octets = input.octets();
    let len = octets.len().min(4);
    start[..len].copy_from_slice(&octets[..len]);
    Ok(start)
}

/// Compression of a file, by its first bytes.
fn compression_of(start: [u8; 4]) -> Option<Compression> {
    Some(match start {
        [0x1f, 0x8b, ..] => Compression::Gzip,
        // A frame, or a skippable frame before it.
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
        _ => return None,
    })
}

fn unpacked(
    compression: Compression,
    input: Input,
    is_broken: Arc<AtomicBool>,
) -> Box<dyn Read + Send> {
    let packed = input.into_stream();
    let from: Box<dyn Read + Send> = match compression {
        Compression::Gzip => Box::new(flate2::read::MultiGzDecoder::new(packed)),
        Compression::Zstd => Box::new(zstd::Frames::new(packed)),
    };
    Box::new(Unpacked { from, is_broken })
}

/// A decompressed stream that ends where decompression fails.
struct Unpacked {
    from: Box<dyn Read + Send>,
    is_broken: Arc<AtomicBool>,
}

impl Read for Unpacked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.from.read(out) {
            // Errors of the system have a number; those of decompression have none.
            Err(error)
                if error.raw_os_error().is_none() && error.kind() != ErrorKind::Interrupted =>
            {
                self.is_broken.store(true, Ordering::Relaxed);
                Ok(0)
            }
            other => other,
        }
    }
}
