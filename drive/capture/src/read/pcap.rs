//! Reads pcap (draft-ietf-opsawg-pcap), in both byte orders, with micro- and nanoseconds. Supports
//! Kuznetzov's modified records, the frame check sequence bits in the link type, and the swapped
//! lengths of versions before 2.3.
//!
//! A record header has no magic number, so a corrupted length can lead anywhere. Each header is
//! therefore checked for plausibility: a possible packet length, no more captured than was on the
//! wire, a fraction below a second. If that fails, the reader searches byte by byte for a position
//! from which three headers in a row are plausible. The search begins behind the header of the
//! previous record, whose length may be the corrupted one.
//!
//! An odd header is nevertheless taken if plausible ones follow its record, since some programs write
//! such headers. A corrupted length can lead to a later header by chance. So if more was captured than
//! was on the wire, the bytes of the record must not themselves be records. A corrupted header that is
//! plausible in all its fields is not recognized.
//!
//! Out of scope: Ixia's and the two rarer magic numbers, which no program writes any more.

use std::io;

use gigatcp_units::Instant;
use gigatcp_wire::link::LinkType;

use super::interface::{ByteRange, CapturedInterface, RawRecord, ReadContext, lengths};
use super::notes::{Note, NoteKind};
use super::options::Order;
use super::record::{Direction, PlainRecord};

/// Octets of the file header.
pub const FILE_HEADER_LEN: usize = 24;
/// The largest snap length that common programs write.
const COMMON_SNAP_LEN: u32 = 262_144;
/// Maximum plausible record length.
const MAX_RECORD: u32 = 16 << 20;
/// Number of plausible records in a row that a search requires.
const CHAIN: usize = 3;
/// Maximum distance of such records from the last record before, s.
const FAR: u32 = 86_400;
/// Bytes of plain records passed per call. Mapped memory is released as often, and the caller
/// analyzes the connections that have ended. The next connections reuse their memory while it is
/// still in the CPU's cache.
const STRETCH: usize = 1 << 17;
/// Bytes searched before they are released.
const STRIDE: usize = 64 << 10;

/// Bit that announces a frame check sequence length, and that length's shift.
const FCS_PRESENT: u32 = 0x0400_0000;
const FCS_LEN_SHIFT: u32 = 28;

/// Byte order and variant, from the first four bytes of a pcap file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Magic {
    order: Order,
    is_nano: bool,
    is_modified: bool,
}

impl Magic {
    /// Reads the magic number; `None` if it is not one of pcap.
    pub fn read(start: [u8; 4]) -> Option<Self> {
        let of = |value: u32, order| match value {
            0xa1b2_c3d4 => Some((order, false, false)),
            0xa1b2_3c4d => Some((order, true, false)),
            0xa1b2_cd34 => Some((order, false, true)),
            _ => None,
        };
        let found = of(u32::from_le_bytes(start), Order::Little)
            .or_else(|| of(u32::from_be_bytes(start), Order::Big));
        found.map(|(order, is_nano, is_modified)| Self {
            order,
            is_nano,
            is_modified,
        })
    }
}

/// Records whose two lengths are swapped, as in old versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Swapped {
    No,
    WhereCapturedIsMore,
    Always,
}

/// A pcap file being read.
#[derive(Debug)]
pub struct Pcap {
    order: Order,
    is_modified: bool,
    swapped: Swapped,
    /// Bytes of a record header.
    head: usize,
    /// Maximum record length accepted.
    limit: u32,
    /// Ticks per second.
    second: u32,
    /// Nanoseconds per tick.
    tick: u64,
    /// The only interface.
    pub interface: [CapturedInterface; 1],
    /// Bytes of the last record returned. They are passed with the next record, so that a search
    /// may begin inside them.
    pending: usize,
    last_second: Option<u32>,
}

/// The fields of a record header.
#[derive(Clone, Copy, Debug)]
struct Header {
    second: u32,
    fraction: u32,
    captured: u32,
    wire: u32,
}

impl Header {
    /// Bytes of the usual header.
    const LEN: usize = 16;

    /// Decodes the usual header, little-endian.
    #[inline(always)]
    const fn plain(octets: &[u8; Self::LEN]) -> Self {
        let all = u128::from_le_bytes(*octets);
        Self {
            second: all as u32,
            fraction: (all >> 32) as u32,
            captured: (all >> 64) as u32,
            wire: (all >> 96) as u32,
        }
    }
}

impl Pcap {
    /// Reads the file header, which must be available.
    pub fn start(magic: Magic, context: &mut ReadContext) -> Self {
        let header = &context.input.octets()[..FILE_HEADER_LEN];
        let order = magic.order;
        let (major, minor) = (order.u16(header, 4), order.u16(header, 6));
        let snap_len = order.u32(header, 16);
        let link = order.u32(header, 20);
        let swapped = match (major, minor) {
            (2, 3) => Swapped::WhereCapturedIsMore,
            (2, 0..3) => Swapped::Always,
            _ => Swapped::No,
        };
        if (major, minor) != (2, 4) && swapped == Swapped::No {
            context
                .notes
                .add(NoteKind::UnknownVersion, context.place(0));
        }
        let mut interface = CapturedInterface::new(LinkType(link as u16), snap_len);
        if link & FCS_PRESENT != 0 {
            // The field counts 16-bit words.
            interface.fcs_len = 2 * (link >> FCS_LEN_SHIFT) as u8;
        }
        context.input.pass(FILE_HEADER_LEN);
        Self {
            order,
            is_modified: magic.is_modified,
            swapped,
            head: if magic.is_modified { 24 } else { 16 },
            limit: snap_len.clamp(COMMON_SNAP_LEN, MAX_RECORD),
            second: if magic.is_nano {
                1_000_000_000
            } else {
                1_000_000
            },
            tick: if magic.is_nano { 1 } else { 1000 },
            interface: [interface],
            pending: 0,
            last_second: None,
        }
    }

    /// Next record if it is sound and in memory. Nearly every record is; this fast path does a
    /// single check.
    #[inline(always)]
    pub fn next_here(&mut self, context: &mut ReadContext) -> Option<RawRecord> {
        let octets = context.input.octets().get(self.pending..)?;
        let behind = octets.len().checked_sub(self.head)?;
        let header = self.header(octets);
        let is_here = self.is_sound(&header) && behind >= header.captured as usize;
        is_here.then(|| self.take(header, context))
    }

    /// Passes sound records to `take` until it rejects one; returns the number accepted. It also
    /// ends at a record that is not in memory or not in time order. State from record to record is
    /// kept in registers and written back once.
    #[inline(always)]
    pub fn next_plain(
        &mut self,
        context: &mut ReadContext,
        mut take: impl FnMut(PlainRecord<'_>) -> bool,
    ) -> u64 {
        let interface = &self.interface[0];
        let is_usual = self.order == Order::Little
            && self.swapped == Swapped::No
            && !self.is_modified
            && interface.fcs_len == 0;
        if !is_usual {
            return 0;
        }
        let (link, mut last) = (interface.link, interface.clock.last());
        let all = context.input.octets();
        let mut cut = Note::none(NoteKind::SnapLength);
        let (mut here, mut next, mut number) = (0, self.pending, context.number);
        while next < STRETCH
            && let Some((header, behind)) = all.get(next..).and_then(<[u8]>::split_first_chunk)
        {
            let header = Header::plain(header);
            let time = self.time(&header);
            let is_plain = self.is_sound(&header) && time >= last;
            let Some(octets) = behind.get(..header.captured as usize) else {
                break;
            };
            let record = PlainRecord {
                number,
                time,
                wire_len: header.wire,
                octets,
                link,
            };
            if !is_plain || !take(record) {
                break;
            }
            if header.captured < header.wire {
                let missing = u64::from(header.wire - header.captured);
                if cut.count == 0 {
                    cut.first_offset = context.input.offset() + next as u64;
                    cut.first_record = number;
                }
                cut.count += 1;
                cut.total += missing;
                cut.most = cut.most.max(missing);
            }
            last = time;
            number += 1;
            (here, next) = (next, next + Header::LEN + octets.len());
        }
        let taken = number - context.number;
        if taken > 0 {
            context.notes.add_several(&cut);
            context.input.pass(here);
            self.pending = next - here;
            self.interface[0].clock.on_time(last);
            self.last_second = Some((last.as_nanos() / 1_000_000_000) as u32);
        }
        taken
    }

    /// Next record if more must be read or something is odd. `None` at the end of the file.
    #[inline(never)]
    pub fn next(&mut self, context: &mut ReadContext) -> io::Result<Option<RawRecord>> {
        loop {
            let (at, head) = (self.pending, self.head);
            if !context.input.has(at + head)? {
                context.end(self.pending, head);
                self.pending = 0;
                return Ok(None);
            }
            let header = self.header(&context.input.octets()[at..]);
            if self.is_sound(&header) && context.input.has(at + head + header.captured as usize)? {
                return Ok(Some(self.take(header, context)));
            }
            if let Some(odd) = self.recover(header, context)? {
                return Ok(odd);
            }
        }
    }

    #[inline(always)]
    fn time(&self, header: &Header) -> Instant {
        let fraction = u64::from(header.fraction) * self.tick;
        Instant::from_nanos(u64::from(header.second) * 1_000_000_000 + fraction)
    }

    #[inline(always)]
    fn header(&self, octets: &[u8]) -> Header {
        let order = self.order;
        let mut header = Header {
            second: order.u32(octets, 0),
            fraction: order.u32(octets, 4),
            captured: order.u32(octets, 8),
            wire: order.u32(octets, 12),
        };
        if self.swapped != Swapped::No
            && (self.swapped == Swapped::Always || header.captured > header.wire)
        {
            std::mem::swap(&mut header.captured, &mut header.wire);
        }
        header
    }

    /// Whether a header is plausible. A single comparison rejects both a length of zero and one
    /// beyond the limit.
    #[inline(always)]
    const fn is_sound(&self, header: &Header) -> bool {
        header.captured.wrapping_sub(1) < self.limit
            && header.captured <= header.wire
            && header.fraction < self.second
    }

    /// Whether a header found by a search is plausible.
    fn is_believable(&self, header: &Header) -> bool {
        self.is_sound(header) && is_near(header, self.last_second)
    }

    /// Next record, whose header is `header`; all of its bytes are available.
    #[inline(always)]
    fn take(&mut self, header: Header, context: &mut ReadContext) -> RawRecord {
        context.input.pass(self.pending);
        let len = header.captured as usize;
        self.pending = self.head + len;
        self.found(header, len, context)
    }

    #[inline(always)]
    fn found(&mut self, header: Header, there: usize, context: &mut ReadContext) -> RawRecord {
        let place = context.place(0);
        let time = self.time(&header);
        let interface = &mut self.interface[0];
        interface.on_time(time, &mut context.notes, place);
        self.last_second = Some(header.second);
        let measured = (header.captured, header.wire);
        let (wire_len, len) = lengths(measured, interface.fcs_len, &mut context.notes, place);
        let direction = self
            .is_modified
            .then(|| match context.input.octets()[22] {
                4 => Some(Direction::Outbound),
                0..=3 => Some(Direction::Inbound),
                _ => None,
            })
            .flatten();
        RawRecord {
            time: Some(time),
            wire_len,
            interface: 0,
            link: interface.link,
            direction,
            dropped: 0,
            octets: ByteRange {
                start: self.head,
                len: len.min(there),
            },
            options: ByteRange::default(),
            order: self.order,
        }
    }

    /// Recovers from an implausible header or an incomplete record. `None` if reading continues at
    /// the new position of the input.
    #[cold]
    fn recover(
        &mut self,
        header: Header,
        context: &mut ReadContext,
    ) -> io::Result<Option<Option<RawRecord>>> {
        let at = self.pending;
        let len = header.captured as usize;
        let is_possible = header.captured <= self.limit && header.captured.max(header.wire) > 0;
        let (start, end) = (at + self.head, at + self.head + len);
        let is_whole = is_possible && context.input.has(end)?;
        if is_whole
            && self.leads_on(end, header.second, context)?
            && !(header.captured > header.wire
                && self.ends_with_records(&context.input.octets()[start..end]))
        {
            return Ok(Some(Some(self.take_odd(header, context))));
        }
        let place = context.place(at);
        // If the search fails, an incomplete record is returned as it is, so its beginning is kept.
        let is_cut = is_possible && !is_whole && self.is_sound(&header);
        if is_cut {
            if !self.search(Some(at), context)? {
                return Ok(Some(self.take_cut(header, context)));
            }
        } else if !self.search(None, context)? {
            let rest =
                (context.input.offset() + context.input.octets().len() as u64) - place.offset;
            context.note(NoteKind::SkippedOctets, place, rest);
            context.pass_rest();
            self.pending = 0;
            return Ok(Some(None));
        }
        let passed = context.input.offset().saturating_sub(place.offset);
        context.note(NoteKind::SkippedOctets, place, passed);
        self.pending = 0;
        Ok(None)
    }

    /// A record with an odd header that plausible records follow.
    fn take_odd(&mut self, header: Header, context: &mut ReadContext) -> RawRecord {
        let place = context.place(self.pending);
        if header.fraction >= self.second {
            context.notes.add(NoteKind::OddFraction, place);
        }
        self.take(header, context)
    }

    /// Last record, of which the end is missing.
    fn take_cut(&mut self, header: Header, context: &mut ReadContext) -> Option<RawRecord> {
        context.input.pass(self.pending);
        let there = context.input.octets().len() - self.head;
        let missing = u64::from(header.captured) - there as u64;
        let place = context.place(0);
        context.note(NoteKind::TruncatedTail, place, missing);
        self.pending = self.head + there;
        (there > 0).then(|| self.found(header, there, context))
    }

    /// Returns whether the file continues plausibly, or ends, at `at`. A program that writes one
    /// odd header may write only such headers, so only their lengths and times are checked.
    fn leads_on(&self, at: usize, second: u32, context: &mut ReadContext) -> io::Result<bool> {
        if !context.input.has(at + 1)? {
            return Ok(true);
        }
        let near = Some(self.last_second.unwrap_or(second));
        self.is_chain(at, context, |header| {
            header.captured.max(header.wire) > 0 && is_near(header, near)
        })
    }

    /// Whether `octets` end with whole plausible records. Then the length that made them one packet
    /// is corrupted, and led past these records.
    fn ends_with_records(&self, octets: &[u8]) -> bool {
        let mut at = 0;
        while let Some(rest) = octets.get(at..).filter(|rest| rest.len() >= self.head) {
            let header = self.header(rest);
            if !self.is_believable(&header) {
                at += 1;
                continue;
            }
            at += self.head + header.captured as usize;
            if at == octets.len() {
                return true;
            }
        }
        false
    }

    /// Whether several plausible records follow from `at`. Fewer suffice at the end of the file.
    fn is_chain(
        &self,
        mut at: usize,
        context: &mut ReadContext,
        makes_sense: impl Fn(&Header) -> bool,
    ) -> io::Result<bool> {
        for links in 0..CHAIN {
            if !context.input.has(at + self.head)? {
                return Ok(links > 0 && at == context.input.octets().len());
            }
            let header = self.header(&context.input.octets()[at..]);
            if !makes_sense(&header) {
                return Ok(false);
            }
            at += self.head + header.captured as usize;
            if !context.input.has(at)? {
                return Ok(links > 0);
            }
        }
        Ok(true)
    }

    /// Advances to the next position with plausible records, beginning inside the last record.
    /// Returns whether there is one. If not, the bytes searched are no longer needed, except in a
    /// file that ends inside the record at `cut`: nothing is passed then. Its rest is shorter than a
    /// record.
    fn search(&self, cut: Option<usize>, context: &mut ReadContext) -> io::Result<bool> {
        let mut at = 1;
        while context.input.has(at + self.head)? {
            if Some(at) != cut && self.is_start(at, context)? {
                context.input.pass(at);
                return Ok(true);
            }
            at += 1;
            if at == STRIDE && cut.is_none() {
                context.input.pass(at);
                at = 0;
            }
        }
        Ok(false)
    }

    fn is_start(&self, at: usize, context: &mut ReadContext) -> io::Result<bool> {
        let header = self.header(&context.input.octets()[at..]);
        Ok(self.is_believable(&header)
            && self.is_chain(at, context, |header| self.is_believable(header))?)
    }
}

/// Whether the lengths are common ones and the time is near `second`.
fn is_near(header: &Header, second: Option<u32>) -> bool {
    header.captured <= COMMON_SNAP_LEN
        && header.wire <= MAX_RECORD
        && second.is_none_or(|second| second.abs_diff(header.second) <= FAR)
}
