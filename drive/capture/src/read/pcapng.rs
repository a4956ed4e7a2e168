//! Reads pcapng (draft-ietf-opsawg-pcapng), in both byte orders. Supports interfaces (section 4.2),
//! enhanced (4.3), simple (4.4) and obsolete packet blocks (appendix A), and interface statistics
//! (4.6) for packets lost. Blocks of name resolution, decryption secrets, custom and unknown blocks
//! are skipped.
//!
//! A block has its length at both ends. If the two differ and the first does not lead to another
//! block, the reader searches byte by byte. It looks for a block of a known kind with two equal
//! lengths.
//!
//! Out of scope: time zones of interfaces (`if_tzone`, which has no definition), filters and
//! hashes.

use std::io;

use gigatcp_wire::link::LinkType;

use super::interface::{ByteRange, CapturedInterface, RawRecord, ReadContext, lengths};
use super::notes::NoteKind;
use super::options::{Options, Order};
use super::record::Direction;
use super::timing::Resolution;

/// Type of the section header block, the same in both octet orders.
pub const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const NAMES: u32 = 4;
const STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const JOURNAL: u32 = 9;
const SECRETS: u32 = 10;
const CUSTOM: u32 = 0x0bad;
const CUSTOM_NO_COPY: u32 = 0x4000_0bad;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Maximum block held in memory.
const MAX_BLOCK: u32 = 16 << 20;
/// Maximum plausible block found by a search.
const COMMON_BLOCK: u32 = 1 << 20;
/// Maximum interfaces kept; each uses memory for the rest of the file.
const MAX_INTERFACES: usize = 1 << 16;
/// Maximum bytes kept of an interface's name.
const MAX_NAME: usize = 256;
/// Bytes searched before they are released.
const STRIDE: usize = 64 << 10;

/// Bytes of a block around its body: type and length, length again.
const FRAME: usize = 12;

/// Offset of the packet in an enhanced packet block.
const PACKET_AT: usize = 28;

/// A pcapng file being read.
#[derive(Debug)]
pub struct Pcapng {
    order: Order,
    /// Interfaces of all sections.
    pub interfaces: Vec<CapturedInterface>,
    /// Index of the first interface of this section.
    section: usize,
    /// Bytes of the last block; passed with the next one.
    pending: usize,
}

/// Values from the options of a packet block.
#[derive(Clone, Copy, Default)]
struct PacketOptions {
    direction: Option<Direction>,
    fcs_len: Option<u8>,
    dropped: u64,
}

/// A packet block before its interface is known.
struct Packet {
    interface: u32,
    ticks: Option<u64>,
    captured: u32,
    wire: u32,
    data: usize,
    dropped: u64,
}

/// Result of reading a block.
enum Step {
    Packet(RawRecord),
    Passed,
    End,
}

impl Pcapng {
    /// A reader of a file that begins with a section header block.
    pub const fn start() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
            section: 0,
            pending: 0,
        }
    }

    /// Next packet if it is in a complete enhanced packet block in memory. Nearly every packet is;
    /// this fast path does a single check. [`Self::next`] reads all other blocks.
    #[inline(always)]
    pub fn next_here(&mut self, context: &mut ReadContext) -> Option<RawRecord> {
        let (at, order) = (self.pending, self.order);
        let octets = context.input.octets().get(at..)?;
        if octets.len() < 32 || order.u32(octets, 0) != ENHANCED_PACKET {
            return None;
        }
        let total = order.u32(octets, 4);
        let len = total as usize;
        let is_here = len.is_multiple_of(4)
            && (32..=octets.len().min(MAX_BLOCK as usize)).contains(&len)
            && order.u32(octets, len - 4) == total;
        let index = self.section + order.u32(octets, 8) as usize;
        let captured = order.u32(octets, 20) as usize;
        if !is_here || captured > len - 32 || index >= self.interfaces.len() {
            return None;
        }
        context.input.pass(at);
        self.pending = len;
        let packet = self.enhanced(len - 4, context)?;
        self.found(&packet, len - 4, context)
    }

    /// Next packet, skipping other blocks; `None` at the end of the file.
    #[inline(never)]
    pub fn next(&mut self, context: &mut ReadContext) -> io::Result<Option<RawRecord>> {
        loop {
            match self.step(context)? {
                Step::Packet(found) => return Ok(Some(found)),
                Step::Passed => {}
                Step::End => return Ok(None),
            }
        }
    }

    fn step(&mut self, context: &mut ReadContext) -> io::Result<Step> {
        let at = self.pending;
        if !context.input.has(at + FRAME)? {
            context.end(self.pending, FRAME);
            self.pending = 0;
            return Ok(Step::End);
        }
        let start = &context.input.octets()[at..];
        let kind = self.order.u32(start, 0);
        if kind == SECTION_HEADER {
            match order_of(start) {
                Some(order) => self.order = order,
                None => return self.recover(context),
            }
        }
        let total = self.order.u32(start, 4);
        // Some writers leave the padding out of the length.
        let len = (total as usize).next_multiple_of(4);
        if (total as usize) < FRAME {
            return self.recover(context);
        }
        if total > MAX_BLOCK {
            return match kind {
                NAMES | JOURNAL | SECRETS | CUSTOM | CUSTOM_NO_COPY => {
                    self.pass_huge(total, context)
                }
                _ => self.recover(context),
            };
        }
        if !context.input.has(at + len)? {
            return self.take_cut(kind, context);
        }
        if self.order.u32(&context.input.octets()[at..], len - 4) != total {
            if !self.leads_on(at + len, context)? {
                return self.recover(context);
            }
            context.notes.add(NoteKind::BadTrailer, context.place(at));
        }
        context.input.pass(at);
        self.pending = len;
        Ok(self.take(kind, len - 4, context))
    }

    /// Reads the block at the position of the input, up to `end`.
    #[inline]
    fn take(&mut self, kind: u32, end: usize, context: &mut ReadContext) -> Step {
        let packet = match kind {
            ENHANCED_PACKET => self.enhanced(end, context),
            SIMPLE_PACKET => self.simple(end, context),
            OBSOLETE_PACKET => self.obsolete(end, context),
            SECTION_HEADER => {
                self.section = self.interfaces.len();
                if self.order.u16(context.input.octets(), 12) != 1 {
                    context
                        .notes
                        .add(NoteKind::UnknownVersion, context.place(0));
                }
                return Step::Passed;
            }
            INTERFACE => {
                self.add_interface(end, context);
                return Step::Passed;
            }
            STATISTICS => {
                self.statistics(end, context);
                return Step::Passed;
            }
            _ => return Step::Passed,
        };
        let Some(packet) = packet else {
            context.notes.add(NoteKind::BadBlock, context.place(0));
            return Step::Passed;
        };
        self.found(&packet, end, context)
            .map_or(Step::Passed, Step::Packet)
    }

    /// Parses an enhanced packet block (section 4.3).
    #[inline(always)]
    fn enhanced(&self, end: usize, context: &ReadContext) -> Option<Packet> {
        if end < PACKET_AT {
            return None;
        }
        let packet = self.packet(context.input.octets());
        (packet.captured as usize <= end - PACKET_AT).then_some(packet)
    }

    /// Parses the fixed part of an enhanced packet block.
    #[inline(always)]
    fn packet(&self, block: &[u8]) -> Packet {
        let order = self.order;
        let (high, low) = (order.u32(block, 12), order.u32(block, 16));
        Packet {
            interface: order.u32(block, 8),
            ticks: Some(u64::from(high) << 32 | u64::from(low)),
            captured: order.u32(block, 20),
            wire: order.u32(block, 24),
            data: PACKET_AT,
            dropped: 0,
        }
    }

    /// Parses a simple packet block (section 4.4). It has no time, the first interface, and a
    /// length up to the snap length.
    fn simple(&self, end: usize, context: &ReadContext) -> Option<Packet> {
        const DATA: usize = 12;
        if end < DATA {
            return None;
        }
        let wire = self.order.u32(context.input.octets(), 8);
        let interface = self.interfaces.get(self.section);
        let snap_len = interface.map_or(0, |interface| interface.snap_len);
        let most = if snap_len == 0 { u32::MAX } else { snap_len };
        let captured = wire.min(most);
        (captured as usize <= end - DATA).then_some(Packet {
            interface: 0,
            ticks: None,
            captured,
            wire,
            data: DATA,
            dropped: 0,
        })
    }

    /// Parses an obsolete packet block (appendix A). It differs from an enhanced one by 16 bits of
    /// interface and 16 of drops.
    fn obsolete(&self, end: usize, context: &ReadContext) -> Option<Packet> {
        let enhanced = self.enhanced(end, context)?;
        let block = context.input.octets();
        let dropped = self.order.u16(block, 10);
        Some(Packet {
            interface: u32::from(self.order.u16(block, 8)),
            // All ones: unknown.
            dropped: if dropped == u16::MAX {
                0
            } else {
                u64::from(dropped)
            },
            ..enhanced
        })
    }

    #[inline(always)]
    fn found(
        &mut self,
        packet: &Packet,
        end: usize,
        context: &mut ReadContext,
    ) -> Option<RawRecord> {
        let place = context.place(0);
        let index = self.section + packet.interface as usize;
        let Some(interface) = self.interfaces.get_mut(index) else {
            let kind = if self.section + MAX_INTERFACES / 2 < index || index >= MAX_INTERFACES {
                NoteKind::TooManyInterfaces
            } else {
                NoteKind::UnknownInterface
            };
            context.notes.add(kind, place);
            return None;
        };
        let options_at = (packet.data + packet.captured as usize).next_multiple_of(4);
        let options = ByteRange {
            start: options_at.min(end),
            len: end.saturating_sub(options_at),
        };
        let said = if options.len >= 8 && packet.data == PACKET_AT {
            let octets = &context.input.octets()[options.start..end];
            packet_options(octets, self.order)
        } else {
            PacketOptions::default()
        };
        let dropped = packet.dropped + said.dropped;
        if dropped > 0 {
            context.note(NoteKind::DropsReported, place, dropped);
        }
        let time = packet
            .ticks
            .and_then(|ticks| interface.time(ticks, &mut context.notes, place));
        let fcs_len = said.fcs_len.unwrap_or(interface.fcs_len);
        let (wire_len, len) = lengths(
            (packet.captured, packet.wire),
            fcs_len,
            &mut context.notes,
            place,
        );
        Some(RawRecord {
            time,
            wire_len,
            interface: index as u32,
            link: interface.link,
            direction: said.direction,
            dropped,
            octets: ByteRange {
                start: packet.data,
                len,
            },
            options,
            order: self.order,
        })
    }

    /// Parses an interface description block (section 4.2).
    fn add_interface(&mut self, end: usize, context: &mut ReadContext) {
        const OPTIONS: usize = 16;
        let block = context.input.octets();
        if end < OPTIONS {
            context.notes.add(NoteKind::BadBlock, context.place(0));
            return;
        }
        if self.interfaces.len() >= MAX_INTERFACES {
            context
                .notes
                .add(NoteKind::TooManyInterfaces, context.place(0));
            return;
        }
        let order = self.order;
        let link = LinkType(order.u16(block, 8));
        let mut interface = CapturedInterface::new(link, order.u32(block, 12));
        let options = Options {
            octets: &block[OPTIONS..end],
            order,
        };
        for (code, value) in options.iter() {
            describe(&mut interface, code, value, order);
        }
        self.interfaces.push(interface);
    }

    /// Parses an interface statistics block (section 4.6): packets lost by the capturing host. The
    /// last block counts.
    fn statistics(&mut self, end: usize, context: &mut ReadContext) {
        const OPTIONS: usize = 20;
        const IF_DROP: u16 = 5;
        const OS_DROP: u16 = 7;
        let block = context.input.octets();
        if end < OPTIONS {
            context.notes.add(NoteKind::BadBlock, context.place(0));
            return;
        }
        let order = self.order;
        let index = self.section + order.u32(block, 8) as usize;
        let options = Options {
            octets: &block[OPTIONS..end],
            order,
        };
        let drops = options
            .iter()
            .filter(|(code, value)| matches!(*code, IF_DROP | OS_DROP) && value.len() == 8)
            .map(|(_, value)| order.u64(value, 0));
        let lost = drops.fold(None, |sum: Option<u64>, more| {
            Some(sum.unwrap_or(0).saturating_add(more))
        });
        if let (Some(interface), Some(lost)) = (self.interfaces.get_mut(index), lost) {
            interface.lost = Some(lost);
        }
    }

    /// Skips a block without packets that is too large for memory.
    #[cold]
    fn pass_huge(&mut self, total: u32, context: &mut ReadContext) -> io::Result<Step> {
        context.input.pass(self.pending);
        self.pending = 0;
        let place = context.place(0);
        let len = u64::from(total).next_multiple_of(4);
        let passed = context.input.pass_any(len)?;
        context.note(NoteKind::HugeBlock, place, passed);
        if passed < len {
            let missing = len - passed;
            context.note(NoteKind::TruncatedTail, place, missing);
        }
        Ok(Step::Passed)
    }

    /// Handles a block longer than the rest of the file. It is the last one, cut, unless a complete
    /// block is found inside.
    #[cold]
    fn take_cut(&mut self, kind: u32, context: &mut ReadContext) -> io::Result<Step> {
        let at = self.pending;
        let place = context.place(at);
        // All of it is in memory, since it is shorter than a block.
        let len = context.input.octets().len();
        let start = (1..len).find(|start| *start != at && self.is_block(*start, context));
        if let Some(start) = start {
            context.input.pass(start);
            self.pending = 0;
            let passed = start.saturating_sub(at) as u64;
            context.note(NoteKind::SkippedOctets, place, passed);
            return Ok(Step::Passed);
        }
        context.input.pass(at);
        let there = len - at;
        self.pending = there;
        let total = self.order.u32(context.input.octets(), 4);
        let missing = u64::from(total).saturating_sub(there as u64);
        context.note(NoteKind::TruncatedTail, place, missing);
        if kind != ENHANCED_PACKET || there <= PACKET_AT {
            return Ok(Step::Passed);
        }
        let mut packet = self.packet(context.input.octets());
        packet.captured = packet.captured.min((there - PACKET_AT) as u32);
        let end = PACKET_AT + packet.captured as usize;
        Ok(self
            .found(&packet, end, context)
            .map_or(Step::Passed, Step::Packet))
    }

    /// Returns whether the file continues with a block, or ends, at `at`.
    fn leads_on(&self, at: usize, context: &mut ReadContext) -> io::Result<bool> {
        if !context.input.has(at + 8)? {
            return Ok(context.input.octets().len() == at);
        }
        let next = &context.input.octets()[at..];
        let total = self.order.u32(next, 4);
        Ok(is_known(self.order.u32(next, 0)) && total >= FRAME as u32 && total <= COMMON_BLOCK)
    }

    /// Searches the next complete block, beginning inside the last one.
    #[cold]
    fn recover(&mut self, context: &mut ReadContext) -> io::Result<Step> {
        let place = context.place(self.pending);
        let mut at = 1;
        self.pending = 0;
        while context.input.has(at + FRAME)? {
            if self.may_be_block(at, context) {
                let len = self
                    .order_at(at, context)
                    .u32(&context.input.octets()[at..], 4) as usize;
                if context.input.has(at + len)? && self.is_block(at, context) {
                    context.input.pass(at);
                    let passed = context.input.offset().saturating_sub(place.offset);
                    context.note(NoteKind::SkippedOctets, place, passed);
                    return Ok(Step::Passed);
                }
            }
            at += 1;
            if at == STRIDE {
                context.input.pass(at);
                at = 0;
            }
        }
        context.pass_rest();
        let rest = context.input.offset() - place.offset;
        context.note(NoteKind::SkippedOctets, place, rest);
        Ok(Step::End)
    }

    /// Byte order of a block; a section header has its own.
    fn order_at(&self, at: usize, context: &ReadContext) -> Order {
        let octets = &context.input.octets()[at..];
        if self.order.u32(octets, 0) == SECTION_HEADER {
            order_of(octets).unwrap_or(self.order)
        } else {
            self.order
        }
    }

    /// Whether a block of a known kind may begin at `at`.
    fn may_be_block(&self, at: usize, context: &ReadContext) -> bool {
        let octets = &context.input.octets()[at..];
        let kind = self.order.u32(octets, 0);
        if !is_known(kind) || (kind == SECTION_HEADER && order_of(octets).is_none()) {
            return false;
        }
        let total = self.order_at(at, context).u32(octets, 4);
        total.is_multiple_of(4) && total >= FRAME as u32 && total <= COMMON_BLOCK
    }

    /// Whether a complete block of a known kind is at `at`.
    fn is_block(&self, at: usize, context: &ReadContext) -> bool {
        let octets = &context.input.octets()[at..];
        if octets.len() < FRAME || !self.may_be_block(at, context) {
            return false;
        }
        let order = self.order_at(at, context);
        let total = order.u32(octets, 4) as usize;
        total <= octets.len() && order.u32(octets, total - 4) as usize == total
    }
}

/// Whether a search recognizes blocks of this kind.
const fn is_known(kind: u32) -> bool {
    matches!(
        kind,
        SECTION_HEADER
            | INTERFACE
            | OBSOLETE_PACKET
            | SIMPLE_PACKET
            | NAMES
            | STATISTICS
            | ENHANCED_PACKET
            | SECRETS
            | CUSTOM
            | CUSTOM_NO_COPY
    )
}

/// Byte order that a section header declares.
fn order_of(octets: &[u8]) -> Option<Order> {
    [Order::Little, Order::Big]
        .into_iter()
        .find(|order| order.u32(octets, 8) == BYTE_ORDER_MAGIC)
}

/// Parses the options of a packet block.
fn packet_options(octets: &[u8], order: Order) -> PacketOptions {
    const FLAGS: u16 = 2;
    const DROP_COUNT: u16 = 4;
    let mut said = PacketOptions::default();
    for (code, value) in (Options { octets, order }).iter() {
        match (code, value.len()) {
            (FLAGS, 4) => {
                let flags = order.u32(value, 0);
                said.direction = match flags & 3 {
                    1 => Some(Direction::Inbound),
                    2 => Some(Direction::Outbound),
                    _ => None,
                };
                let fcs_len = (flags >> 5 & 15) as u8;
                said.fcs_len = (fcs_len > 0).then_some(fcs_len);
            }
            (DROP_COUNT, 8) => said.dropped = order.u64(value, 0),
            _ => {}
        }
    }
    said
}

/// Applies one option of an interface description.
fn describe(interface: &mut CapturedInterface, code: u16, value: &[u8], order: Order) {
    const NAME: u16 = 2;
    const TIME_RESOLUTION: u16 = 9;
    const FCS_LEN: u16 = 13;
    const TIME_OFFSET: u16 = 14;
    match (code, value) {
        (NAME, _) => {
            let kept = &value[..value.len().min(MAX_NAME)];
            interface.name = Some(String::from_utf8_lossy(kept).into_owned());
        }
        (TIME_RESOLUTION, [octet]) => {
            interface.clock.resolution = Resolution::from_option(*octet);
        }
        // In bits according to the draft, in bytes according to the programs that write it. No
        // frame check sequence has as few bits as others have bytes.
        (FCS_LEN, [len]) => interface.fcs_len = if *len > 8 { len / 8 } else { *len },
        (TIME_OFFSET, _) if value.len() == 8 => {
            interface.clock.offset_s = order.u64(value, 0).cast_signed();
        }
        _ => {}
    }
}
