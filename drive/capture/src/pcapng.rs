//! Writes pcapng (IETF draft-ietf-opsawg-pcapng): section header (section 4.1), interface
//! description (4.2), enhanced packet (4.3) blocks.
//!
//! Packets that are encoded here are bare IP, link type `LINKTYPE_RAW` 101; copied ones keep the link
//! type of their interface. Times are in nanoseconds (`if_tsresol` 9)
//! since the start of the run, which readers show as seconds after 1970. Byte order is
//! little-endian everywhere; the format leaves the choice to the writer.
//!
//! The same calls write the same file: it contains no host name and no wall clock time.
//!
//! Out of scope: compression, name resolution and decryption blocks. A statistics block is written
//! only for the last comments, and for packets that an interface is known to have lost.

use std::io::{self, BufWriter, Write};

use gigatcp_units::Instant;
use gigatcp_wire::{
    FIXED_HEADER_LEN, IPV6_HEADER_LEN, IpHeader, MAX_OPTIONS_LEN, PayloadOctets, Segment,
    encode_front, packet_len,
};

use crate::{CaptureError, Direction, Interface, InterfaceId, Record, SnapLength};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_IF_NAME: u16 = 2;
const OPTION_PACKET_FLAGS: u16 = 2;
const OPTION_PACKET_DROPS: u16 = 4;
const OPTION_INTERFACE_DROPS: u16 = 5;
const OPTION_USER_APPLICATION: u16 = 4;
const OPTION_IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;

/// Offset of the packet in an enhanced packet block.
const PACKET_AT: usize = 28;
/// Maximum length of a segment's headers.
const MAX_HEADERS_LEN: u32 = (IPV6_HEADER_LEN + FIXED_HEADER_LEN + MAX_OPTIONS_LEN) as u32;
const BUFFER_LEN: usize = 256 << 10;

/// Buffered writer of one capture into `W`.
///
/// Call [`PcapngWriter::finish`] at the end: dropping the writer flushes too,
/// but cannot report an error.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: BufWriter<W>,
    interfaces: Vec<Interface>,
    /// Block being built, kept for its allocation.
    block: Block,
    packets: u64,
    /// Comments on the next packet.
    next_comments: Vec<String>,
    /// Time of the last packet.
    last: Instant,
}

impl<W: Write> PcapngWriter<W> {
    /// Starts a capture.
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn new(out: W) -> Result<Self, CaptureError> {
        Self::start(out, None)
    }

    /// Starts a capture with a comment on the whole, such as its plan and seed.
    ///
    /// # Errors
    /// [`CaptureError::Write`], [`CaptureError::TextTooLong`].
    pub fn with_comment(out: W, comment: &str) -> Result<Self, CaptureError> {
        check_text("comment", comment)?;
        Self::start(out, Some(comment))
    }

    fn start(out: W, comment: Option<&str>) -> Result<Self, CaptureError> {
        let mut writer = Self {
            out: BufWriter::with_capacity(BUFFER_LEN, out),
            interfaces: Vec::new(),
            block: Block::default(),
            packets: 0,
            next_comments: Vec::new(),
            last: Instant::ZERO,
        };
        let block = &mut writer.block;
        block.start(SECTION_HEADER);
        block.put_u32(BYTE_ORDER_MAGIC);
        block.put_u16(1);
        block.put_u16(0);
        // The length of the section is not known in advance.
        block.put(&u64::MAX.to_le_bytes());
        if let Some(comment) = comment {
            block.put_option(OPTION_COMMENT, comment.as_bytes());
        }
        let application = concat!("GigaTCP ", env!("CARGO_PKG_VERSION"));
        block.put_option(OPTION_USER_APPLICATION, application.as_bytes());
        block.put_option(OPTION_END, &[]);
        writer.write_block(|| "the section header".into())?;
        Ok(writer)
    }

    /// Adds an interface. Allowed at any time.
    ///
    /// # Errors
    /// [`CaptureError::Write`], [`CaptureError::TextTooLong`].
    pub fn add_interface(&mut self, interface: Interface) -> Result<InterfaceId, CaptureError> {
        check_text("interface name", &interface.name)?;
        let snap_length = match interface.snap_length {
            // Headers are kept complete, so the file declares at least their length.
            SnapLength::Octets(octets) => octets.max(MAX_HEADERS_LEN),
            // Zero is pcapng's value for unlimited.
            SnapLength::Whole => 0,
        };
        let block = &mut self.block;
        block.start(INTERFACE_DESCRIPTION);
        block.put_u16(interface.link.0);
        block.put_u16(0);
        block.put_u32(snap_length);
        if !interface.name.is_empty() {
            block.put_option(OPTION_IF_NAME, interface.name.as_bytes());
        }
        block.put_option(OPTION_IF_TSRESOL, &[NANOSECONDS]);
        block.put_option(OPTION_END, &[]);
        self.write_block(|| format!("interface {}", interface.name))?;
        let id = InterfaceId::from_index(self.interfaces.len() as u32);
        self.interfaces.push(interface);
        Ok(id)
    }

    /// Adds a comment to the next packet, after those already added. Comments without a following
    /// packet are written at the end, in a statistics block (section 4.6) of the first interface.
    ///
    /// # Errors
    /// [`CaptureError::TextTooLong`].
    pub fn comment_next(&mut self, comment: &str) -> Result<(), CaptureError> {
        check_text("comment", comment)?;
        self.next_comments.push(comment.to_owned());
        Ok(())
    }

    /// Writes `segment`, seen `at` that moment on `interface`, in an IP packet. `ip` is its IP
    /// header. Checksums are correct even if the payload is cut. See [`Interface`] for
    /// super-segments.
    ///
    /// # Errors
    /// [`CaptureError`]; a segment that cannot be encoded leaves the capture unchanged, except for
    /// earlier wire segments of a super-segment.
    pub fn write_segment<P: PayloadOctets>(
        &mut self,
        interface: InterfaceId,
        at: Instant,
        ip: &IpHeader,
        segment: &Segment<P>,
    ) -> Result<(), CaptureError> {
        if !self.interface(interface)?.expand_super_segments || segment.wire_segments() == 1 {
            return self.write_one_segment(interface, at, ip, segment);
        }
        let mut ip = *ip;
        for segment in segment.clone().into_wire_segments() {
            self.write_one_segment(interface, at, &ip, &segment)?;
            ip.ident = ip.ident.wrapping_add(1);
        }
        Ok(())
    }

    fn write_one_segment<P: PayloadOctets>(
        &mut self,
        interface: InterfaceId,
        at: Instant,
        ip: &IpHeader,
        segment: &Segment<P>,
    ) -> Result<(), CaptureError> {
        let packet = self.packets + 1;
        let refused = |source| CaptureError::Segment { packet, source };
        let packet_len = packet_len(ip, segment).map_err(refused)?;
        let headers_len = packet_len - segment.payload.len();
        let keep = self.snap_len(interface)?.max(headers_len).min(packet_len);
        self.start_packet(interface, at);
        let octets = &mut self.block.octets;
        let start = octets.len();
        octets.resize(start + keep, 0);
        encode_front(ip, segment, &mut octets[start..]).map_err(refused)?;
        self.finish_packet(packet_len)
    }

    /// Writes an encoded packet, beginning with its IP header. At most the interface's snap length
    /// is kept; `original_len` is its length on the wire.
    ///
    /// # Errors
    /// [`CaptureError`].
    ///
    /// # Panics
    /// If `packet` is longer than `original_len`.
    pub fn write_packet(
        &mut self,
        interface: InterfaceId,
        at: Instant,
        packet: &[u8],
        original_len: u32,
    ) -> Result<(), CaptureError> {
        let original_len = original_len as usize;
        assert!(
            packet.len() <= original_len,
            "more octets than the packet had"
        );
        let keep = self.snap_len(interface)?.min(packet.len());
        self.start_packet(interface, at);
        self.block.put(&packet[..keep]);
        self.finish_packet(original_len)
    }

    /// Copies a packet that was read: its captured bytes, its direction, and how many packets were
    /// lost before it. A packet without a time has that of the one before.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn write_record(
        &mut self,
        interface: InterfaceId,
        record: &Record<'_>,
    ) -> Result<(), CaptureError> {
        self.interface(interface)?;
        self.start_packet(interface, record.time.unwrap_or(self.last));
        self.block.put(record.octets);
        self.finish_packet_with(record.wire_len as usize, |block| {
            if let Some(direction) = record.direction {
                let flags: u32 = match direction {
                    Direction::Inbound => 1,
                    Direction::Outbound => 2,
                };
                block.put_option(OPTION_PACKET_FLAGS, &flags.to_le_bytes());
            }
            if record.dropped > 0 {
                block.put_option(OPTION_PACKET_DROPS, &record.dropped.to_le_bytes());
            }
        })
    }

    /// Writes that the capturing host lost `lost` packets of an interface, in a statistics block.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn write_lost(&mut self, interface: InterfaceId, lost: u64) -> Result<(), CaptureError> {
        self.interface(interface)?;
        let block = &mut self.block;
        block.start(INTERFACE_STATISTICS);
        block.put_u32(interface.index());
        block.put_time(self.last);
        block.put_option(OPTION_INTERFACE_DROPS, &lost.to_le_bytes());
        block.put_option(OPTION_END, &[]);
        self.write_block(|| "the count of lost packets".into())
    }

    /// Number of packets written.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// Flushes the buffer.
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn flush(&mut self) -> Result<(), CaptureError> {
        self.out
            .flush()
            .map_err(|source| write_error("the end", source))
    }

    /// Flushes the buffer and returns the writer below.
    ///
    /// # Errors
    /// [`CaptureError::Write`].
    pub fn finish(mut self) -> Result<W, CaptureError> {
        self.write_last_comments()?;
        self.flush()?;
        let unwrapped = self.out.into_inner();
        unwrapped.map_err(|error| write_error("the end", error.into_error()))
    }

    fn write_last_comments(&mut self) -> Result<(), CaptureError> {
        if self.next_comments.is_empty() || self.interfaces.is_empty() {
            return Ok(());
        }
        let block = &mut self.block;
        block.start(INTERFACE_STATISTICS);
        block.put_u32(0);
        block.put_time(self.last);
        block.put_comments(&mut self.next_comments);
        block.put_option(OPTION_END, &[]);
        self.write_block(|| "the last comments".into())
    }

    fn interface(&self, id: InterfaceId) -> Result<&Interface, CaptureError> {
        self.interfaces
            .get(id.index() as usize)
            .ok_or(CaptureError::UnknownInterface {
                index: id.index(),
                known: self.interfaces.len(),
            })
    }

    fn snap_len(&self, id: InterfaceId) -> Result<usize, CaptureError> {
        Ok(match self.interface(id)?.snap_length {
            SnapLength::Octets(octets) => octets as usize,
            SnapLength::Whole => usize::MAX,
        })
    }

    /// Starts an enhanced packet block; the packet's bytes follow.
    fn start_packet(&mut self, interface: InterfaceId, at: Instant) {
        self.last = at;
        let block = &mut self.block;
        block.start(ENHANCED_PACKET);
        block.put_u32(interface.index());
        block.put_time(at);
        // Captured and original length are set when the packet is complete.
        block.put(&[0; 8]);
        debug_assert_eq!(block.octets.len(), PACKET_AT);
    }

    fn finish_packet(&mut self, original_len: usize) -> Result<(), CaptureError> {
        self.finish_packet_with(original_len, |_| {})
    }

    /// Completes a packet with the options that `put_options` appends, and its comments.
    fn finish_packet_with(
        &mut self,
        original_len: usize,
        put_options: impl FnOnce(&mut Block),
    ) -> Result<(), CaptureError> {
        let block = &mut self.block;
        let captured_len = (block.octets.len() - PACKET_AT) as u32;
        block.set_u32(20, captured_len);
        block.set_u32(24, original_len as u32);
        block.pad();
        let options_at = block.octets.len();
        put_options(block);
        block.put_comments(&mut self.next_comments);
        if block.octets.len() > options_at {
            block.put_option(OPTION_END, &[]);
        }
        let packet = self.packets + 1;
        self.write_block(|| format!("packet {packet}"))?;
        self.packets = packet;
        Ok(())
    }

    /// Completes the block and writes it; `what` names it in an error.
    fn write_block(&mut self, what: impl FnOnce() -> String) -> Result<(), CaptureError> {
        self.block.finish();
        self.out
            .write_all(&self.block.octets)
            .map_err(|source| write_error(what(), source))
    }
}

fn write_error(what: impl Into<String>, source: io::Error) -> CaptureError {
    CaptureError::Write {
        what: what.into(),
        source,
    }
}

fn check_text(what: &'static str, text: &str) -> Result<(), CaptureError> {
    let octets = text.len();
    if octets > usize::from(u16::MAX) {
        return Err(CaptureError::TextTooLong { what, octets });
    }
    Ok(())
}

/// A pcapng block: type, length, body padded to 32 bits, length.
#[derive(Default, Debug)]
struct Block {
    octets: Vec<u8>,
}

impl Block {
    fn start(&mut self, kind: u32) {
        self.octets.clear();
        self.put_u32(kind);
        self.put_u32(0);
    }

    fn finish(&mut self) {
        let len = self.octets.len() as u32 + 4;
        self.set_u32(4, len);
        self.put_u32(len);
    }

    fn put(&mut self, octets: &[u8]) {
        self.octets.extend_from_slice(octets);
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a time, its higher half first.
    fn put_time(&mut self, at: Instant) {
        let nanoseconds = at.as_nanos();
        self.put_u32((nanoseconds >> 32) as u32);
        self.put_u32(nanoseconds as u32);
    }

    /// Appends and clears the comments.
    fn put_comments(&mut self, comments: &mut Vec<String>) {
        for comment in comments.drain(..) {
            self.put_option(OPTION_COMMENT, comment.as_bytes());
        }
    }

    fn set_u32(&mut self, at: usize, value: u32) {
        self.octets[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    fn pad(&mut self) {
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
    }

    /// Appends an option; `value` fits its 16-bit length, see [`check_text`].
    fn put_option(&mut self, code: u16, value: &[u8]) {
        self.put_u16(code);
        self.put_u16(value.len() as u16);
        self.put(value);
        self.pad();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_wire::{Endpoints, Options, Phantom, Timestamps};
    use std::error::Error;
    use std::net::Ipv4Addr;

    fn ip() -> IpHeader {
        IpHeader::new(Endpoints::V4 {
            src: Ipv4Addr::new(10, 0, 0, 1),
            dst: Ipv4Addr::new(10, 0, 0, 2),
        })
    }

    fn data(len: u32) -> Segment<Phantom> {
        Segment {
            options: Options {
                timestamps: Some(Timestamps { val: 1, ecr: 2 }),
                ..Options::default()
            },
            payload: Phantom { offset: 0, len },
            ..Segment::default()
        }
    }

    /// Splits a capture into blocks and checks both lengths of each.
    fn blocks(octets: &[u8]) -> Vec<&[u8]> {
        let number = |at: usize| u32::from_le_bytes(octets[at..at + 4].try_into().unwrap());
        let mut blocks = Vec::new();
        let mut at = 0;
        while at < octets.len() {
            let end = at + number(at + 4) as usize;
            assert_eq!(end % 4, 0);
            assert_eq!(number(end - 4), number(at + 4));
            blocks.push(&octets[at..end]);
            at = end;
        }
        blocks
    }

    #[test]
    fn the_smallest_capture_stands_octet_by_octet_as_in_the_draft() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let sender = writer.add_interface(Interface::new("abc")).unwrap();
        let at = Instant::from_nanos(0x0000_0001_0203_0405);
        writer
            .write_packet(sender, at, &[9, 8, 7, 6, 5], 70)
            .unwrap();
        let octets = writer.finish().unwrap();
        let blocks = blocks(&octets);
        // The application's name and version follow.
        assert_eq!(
            blocks[0][..24],
            [
                0x0a, 0x0d, 0x0d, 0x0a, 52, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff,
                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff
            ]
        );
        assert_eq!(
            blocks[1],
            [
                1, 0, 0, 0, 40, 0, 0, 0, 101, 0, 0, 0, 100, 0, 0, 0, 2, 0, 3, 0, b'a', b'b', b'c',
                0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0
            ]
        );
        assert_eq!(
            blocks[2],
            [
                6, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 5, 4, 3, 2, 5, 0, 0, 0, 70, 0, 0,
                0, 9, 8, 7, 6, 5, 0, 0, 0, 40, 0, 0, 0
            ]
        );
    }

    #[test]
    fn snap_lengths_cut_the_payload_but_never_the_headers() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let lengths = [
            (Interface::new("default"), 96),
            (
                Interface {
                    snap_length: SnapLength::Octets(10),
                    ..Interface::new("tiny")
                },
                52,
            ),
            (Interface::new("whole").with_whole_packets(), 1500),
        ];
        let mut kept = Vec::new();
        for (interface, len) in lengths {
            let id = writer.add_interface(interface).unwrap();
            writer
                .write_segment(id, Instant::ZERO, &ip(), &data(1448))
                .unwrap();
            kept.push(len);
        }
        let octets = writer.finish().unwrap();
        let packets = blocks(&octets).into_iter().filter(|block| block[0] == 6);
        for (packet, kept) in packets.zip(kept) {
            assert_eq!(packet[20..24], u32::to_le_bytes(kept));
            assert_eq!(packet[24..28], u32::to_le_bytes(1500));
        }
    }

    #[test]
    fn super_segments_stay_whole_or_are_expanded_as_the_interface_says() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let offloaded = writer.add_interface(Interface::new("host")).unwrap();
        let wire = Interface::new("wire").with_expanded_super_segments();
        let wire = writer.add_interface(wire).unwrap();
        let segment = Segment {
            segment_size: 1000,
            ..data(2500)
        };
        let mut ip = ip();
        ip.ident = u16::MAX;
        writer
            .write_segment(offloaded, Instant::ZERO, &ip, &segment)
            .unwrap();
        assert_eq!(writer.packets(), 1);
        writer
            .write_segment(wire, Instant::ZERO, &ip, &segment)
            .unwrap();
        assert_eq!(writer.packets(), 4);

        let octets = writer.finish().unwrap();
        let (lengths, idents): (Vec<u8>, Vec<[u8; 2]>) = blocks(&octets)
            .into_iter()
            .filter(|block| block[0] == 6)
            .map(|block| (block[25], [block[32], block[33]]))
            .unzip();
        assert_eq!(
            lengths,
            [2552, 1052, 1052, 552].map(|len: u16| (len >> 8) as u8)
        );
        assert_eq!(idents, [[255, 255], [255, 255], [0, 0], [0, 1]]);
    }

    #[test]
    fn a_segment_without_a_wire_form_leaves_the_capture_as_it_was() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let id = writer.add_interface(Interface::new("a")).unwrap();
        let error = writer
            .write_segment(id, Instant::ZERO, &ip(), &data(70_000))
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "packet 1 of the capture cannot be encoded"
        );
        assert!(error.source().unwrap().to_string().contains("70052"));
        assert_eq!(writer.packets(), 0);
        let octets = writer.finish().unwrap();
        assert_eq!(blocks(&octets).len(), 2);
    }

    #[test]
    fn unknown_interfaces_and_endless_comments_are_errors() {
        let mut writer = PcapngWriter::new(Vec::new()).unwrap();
        let nowhere = InterfaceId::from_index(3);
        let error = writer
            .write_packet(nowhere, Instant::ZERO, &[], 0)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the capture has no interface 3, 0 were added"
        );
        let error = writer.comment_next(&"x".repeat(70_000)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the comment has 70000 octets, pcapng holds 65535"
        );
    }

    #[test]
    fn a_full_disk_is_reported_with_the_packet_it_stopped() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = PcapngWriter::new(Full).unwrap();
        let id = writer
            .add_interface(Interface::new("a").with_whole_packets())
            .unwrap();
        let error = (1..)
            .find_map(|_| {
                writer
                    .write_segment(id, Instant::ZERO, &ip(), &data(60_000))
                    .err()
            })
            .unwrap();
        assert_eq!(error.to_string(), "cannot write packet 5 of the capture");
        assert!(error.source().is_some());
    }
}
