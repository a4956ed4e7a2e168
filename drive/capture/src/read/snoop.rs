//! Reads snoop files (RFC 1761), which Solaris writes. A file has a header of 16 bytes, and records
//! with lengths, a count of drops and a time in microseconds. All numbers are in network byte
//! order.
//!
//! Out of scope: resynchronization behind a corrupted record. The rest of the file is skipped, and
//! that is noted.

use std::io;

use gigatcp_units::Instant;
use gigatcp_wire::link::LinkType;

use super::ReadError;
use super::interface::{ByteRange, CapturedInterface, RawRecord, ReadContext, lengths};
use super::notes::NoteKind;
use super::options::Order;

/// Magic number of snoop files.
pub const MAGIC: &[u8; 8] = b"snoop\0\0\0";
/// Bytes of the file header.
pub const FILE_HEADER_LEN: usize = 16;
/// Bytes of a record header.
const HEAD: usize = 24;
/// Maximum plausible record length.
const MAX_RECORD: u32 = 16 << 20;
const VERSION: u32 = 2;

/// A snoop file being read.
#[derive(Debug)]
pub struct Snoop {
    /// The only interface.
    pub interface: [CapturedInterface; 1],
    /// Bytes of the last record returned.
    pending: usize,
    /// Cumulative drops in the last record.
    drops: u32,
}

impl Snoop {
    /// Reads the file header, which must be available.
    pub fn start(context: &mut ReadContext) -> Result<Self, ReadError> {
        let header = context.input.octets();
        let (version, data_link) = (long(header, 8), long(header, 12));
        let link = match data_link {
            0 | 4 => LinkType::ETHERNET,
            8 => LinkType::FDDI,
            _ => {
                let what = "a snoop capture of a link layer other than Ethernet and FDDI";
                let hint = "convert it with `editcap FILE NEW.pcapng`";
                return Err(ReadError::Unread { what, hint });
            }
        };
        if version != VERSION {
            context
                .notes
                .add(NoteKind::UnknownVersion, context.place(0));
        }
        context.input.pass(FILE_HEADER_LEN);
        Ok(Self {
            interface: [CapturedInterface::new(link, 0)],
            pending: 0,
            drops: 0,
        })
    }

    /// Next record; `None` at the end of the file.
    pub fn next(&mut self, context: &mut ReadContext) -> io::Result<Option<RawRecord>> {
        context.input.pass(self.pending);
        self.pending = 0;
        let place = context.place(0);
        if !context.input.has(HEAD)? {
            context.end(0, HEAD);
            return Ok(None);
        }
        let header = &context.input.octets()[..HEAD];
        let [wire, captured, record, drops, second, fraction] =
            [0, 4, 8, 12, 16, 20].map(|at| long(header, at));
        let is_sound = record <= MAX_RECORD
            && record as usize >= HEAD
            && captured <= record - HEAD as u32
            && fraction < 1_000_000;
        if !is_sound {
            let passed = context.input.pass_any(u64::MAX)?;
            context.note(NoteKind::SkippedOctets, place, passed);
            return Ok(None);
        }
        let record = record as usize;
        if !context.input.has(record)? {
            let missing = (record - context.input.octets().len()) as u64;
            context.note(NoteKind::TruncatedTail, place, missing);
        }
        self.pending = record.min(context.input.octets().len());
        let dropped = u64::from(drops.saturating_sub(self.drops));
        self.drops = drops;
        if dropped > 0 {
            context.note(NoteKind::DropsReported, place, dropped);
        }
        let nanos = u64::from(second) * 1_000_000_000 + u64::from(fraction) * 1000;
        let interface = &mut self.interface[0];
        let time = interface.on_time(Instant::from_nanos(nanos), &mut context.notes, place);
        let (wire_len, len) = lengths((captured, wire), 0, &mut context.notes, place);
        Ok(Some(RawRecord {
            time: Some(time),
            wire_len,
            interface: 0,
            link: interface.link,
            direction: None,
            dropped,
            octets: ByteRange {
                start: HEAD,
                len: len.min(self.pending - HEAD),
            },
            options: ByteRange::default(),
            order: Order::Big,
        }))
    }
}

fn long(octets: &[u8], at: usize) -> u32 {
    Order::Big.u32(octets, at)
}
