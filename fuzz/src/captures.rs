//! Fuzz targets of capture readers: any octets as a capture of each form, and as a captured
//! packet.
//!
//! Besides "no panic", a capture in memory and the same one as a stream of small pieces must read
//! the same, records must be adjacent, and no record may hold more than the file.

use std::io::{self, Cursor, Read};
use std::net::Ipv4Addr;

use gigatcp_analyze::{Analyzer, Options, Source, summarize};
use gigatcp_capture::{CaptureReader, NoteKind, ReadError, Record};
use gigatcp_flows::{Connection, FlowTable, Observed, Side};
use gigatcp_units::Instant;
use gigatcp_why::Outlines;
use gigatcp_wire::link::{Fragmentation, LinkType, dissect, dissect_name_message};
use gigatcp_wire::{Ecn, Endpoints, Flags, SackBlock, SackBlocks, SeqNumber, Timestamps};

/// Maximum octets read of one input. So a compressed one of a few octets does not take minutes.
const MOST: u64 = 4 << 20;

/// Feeds arbitrary octets: compressed, plain, or no capture.
pub fn capture(octets: &[u8]) {
    // The amount of output of a compressed stream before an error depends on the size of its
    // pieces.
    let is_packed = matches!(
        octets,
        [0x1f, 0x8b, ..] | [_, 0xb5, 0x2f, ..] | [_, 0x2a, 0x4d, ..]
    );
    let held = CaptureReader::from_octets(octets.to_vec());
    let streamed = CaptureReader::from_reader(Pieces::new(octets));
    if held.is_ok() && !is_packed {
        whole(octets);
    }
    match (held, streamed) {
        (Ok(held), Ok(streamed)) => {
            let (held, streamed) = (digest(held), digest(streamed));
            assert!(is_packed || held == streamed, "in memory and in pieces");
        }
        (Err(_), Err(_)) => {}
        (held, streamed) => {
            let both = (held.is_ok(), streamed.is_ok());
            assert!(is_packed, "opened in memory and in pieces: {both:?}");
        }
    }
}

/// Runs everything from octets to diagnoses. Connections must be the same with and without
/// sentences. No unread packet may count as analyzed.
fn whole(octets: &[u8]) {
    let source = Source::bytes("fuzz", octets);
    let capture = gigatcp_analyze::Capture::read(&source, &Options::default());
    let summary = summarize(&source, &Options::default());
    let (capture, summary) = match (capture, summary) {
        (Ok(capture), Ok(summary)) => (capture, summary),
        (Err(_), Err(_)) => return,
        (capture, summary) => panic!("{:?} and {:?}", capture.err(), summary.err()),
    };
    assert!(capture.segments() <= capture.info().packets);
    let connections = capture.connections();
    assert_eq!(connections.len(), summary.connections.len());
    for (index, row) in summary.connections.iter().enumerate() {
        let diagnosis = connections.diagnose(index);
        let delivered = diagnosis.map(|diagnosis| diagnosis.delivered);
        assert_eq!(
            delivered,
            row.diagnosis.map(|diagnosis| diagnosis.delivered),
            "{index}"
        );
    }
}

/// Feeds packets of a few connections, 16 octets of input each. Numbers are near one another or
/// far apart, with any flags and times that step back. Sums must agree, the seed of the table
/// must have no effect, and an outline must agree with a watcher.
pub fn flows(octets: &[u8]) {
    let mut tables = [FlowTable::new(1), FlowTable::new(u64::MAX)];
    let mut analyzer = Analyzer::new();
    let mut outlines = Outlines::new();
    let mut packets = 0;
    for piece in octets.chunks_exact(16) {
        let word = |at: usize| u32::from_be_bytes([0, 0, piece[at], piece[at + 1]]);
        let is_wild = piece[0] & 1 != 0;
        let number = |at: usize| SeqNumber::new(word(at) << if is_wild { 16 } else { 0 });
        let (src, dst) = (Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST);
        let mut endpoints = Endpoints::V4 { src, dst };
        if piece[0] & 2 != 0 {
            endpoints = endpoints.reversed();
        }
        let mut sack = SackBlocks::default();
        if piece[0] & 4 != 0 {
            let (left, right) = (number(4), number(12));
            assert!(sack.try_push(SackBlock { left, right }));
        }
        let stamps = (piece[0] & 8 != 0).then(|| Timestamps {
            val: word(14),
            ecr: word(12),
        });
        let packet = Observed {
            at: Instant::from_nanos(u64::from(word(14)) << 16),
            endpoints,
            src_port: 7,
            dst_port: 7 + u16::from(piece[0] >> 7),
            seq: number(2),
            ack: number(4),
            flags: Flags::from_bits(word(6) as u16),
            wnd: word(8) as u16,
            urgent: 0,
            payload_len: word(10) >> if is_wild { 0 } else { 8 },
            options_len: piece[1],
            ecn: Ecn::from_bits(piece[1]),
            ident: word(12) as u16,
            timestamps: stamps,
            sack,
            mss: Some(word(8) as u16),
            window_scale: Some(piece[9]),
            sack_permitted: true,
            scale_is_cut: piece[9] & 16 != 0,
            uncaptured_len: 0,
            fragmentation: Fragmentation::Whole,
        };
        let [verdict, again] = tables.each_mut().map(|table| table.handle_packet(&packet));
        assert_eq!(verdict, again, "the seed shows");
        outlines.handle_packet(&tables[0], &verdict, &packet);
        analyzer.handle_packet(&packet);
        packets += 1;
    }
    let count = |found: &Connection| {
        found.direction(Side::Client).packets() + found.direction(Side::Server).packets()
    };
    let counted: u64 = tables[0].connections().map(count).sum();
    assert_eq!(counted, packets);
    for index in 0..tables[0].len() {
        for side in Side::BOTH {
            let outlined = outlines.of(&tables[0], index, side);
            let followed = analyzer.connections().capture_context(index, side);
            assert_eq!(outlined, followed, "{index}");
        }
        let diagnosis = analyzer.connections().diagnose(index);
        assert!(
            diagnosis
                .as_ref()
                .is_none_or(|diagnosis| !diagnosis.sentence().is_empty())
        );
        let contradiction = diagnosis.and_then(|diagnosis| diagnosis.contradiction());
        assert_eq!(contradiction, None);
    }
}

/// Feeds records after a valid file header; the first octet chooses the kind.
pub fn pcap(octets: &[u8]) {
    let Some((kind, rest)) = octets.split_first() else {
        return;
    };
    let magic: u32 = match kind & 3 {
        0 | 3 => 0xa1b2_c3d4,
        1 => 0xa1b2_3c4d,
        _ => 0xa1b2_cd34,
    };
    let minor = if kind & 3 == 3 { 2 } else { 4 };
    let is_big = kind & 4 != 0;
    let words = [magic, 0, 0, 0, 65_535, 1 | u32::from(kind & 0xf8) << 24];
    let mut file = Vec::new();
    for (index, word) in words.into_iter().enumerate() {
        let version = if is_big {
            2 << 16 | minor
        } else {
            minor << 16 | 2
        };
        let word = if index == 1 { version } else { word };
        file.extend(if is_big {
            word.to_be_bytes()
        } else {
            word.to_le_bytes()
        });
    }
    file.extend(rest);
    capture(&file);
}

/// Feeds blocks after a valid section header and interface.
pub fn pcapng(octets: &[u8]) {
    let words: [u32; 12] = [
        0x0a0d_0d0a,
        28,
        0x1a2b_3c4d,
        1,
        u32::MAX,
        u32::MAX,
        28,
        1,
        20,
        1,
        0,
        20,
    ];
    let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.extend(octets);
    capture(&file);
}

/// Feeds text with any beginning.
pub fn text(octets: &[u8]) {
    let mut file = b"text ".to_vec();
    file.extend(octets);
    capture(&file);
}

/// Feeds one packet: its link type, its length on the wire, its octets.
pub fn link(octets: &[u8]) {
    let Some((head, packet)) = octets.split_first_chunk::<4>() else {
        return;
    };
    let link = LinkType(u16::from_be_bytes([head[0], head[1]]));
    let wire = u32::from(u16::from_be_bytes([head[2], head[3]])) << (head[3] & 7);
    if let Some(message) = dissect_name_message(link, packet, wire) {
        assert!(message.name.len() <= 255);
        assert!(message.addresses().count() <= packet.len());
    }
    let Ok(segment) = dissect(link, packet, wire) else {
        return;
    };
    assert!(segment.payload.len() <= packet.len());
    assert!(segment.payload.len() <= segment.payload_len as usize);
    assert!(segment.option_octets.len() <= segment.options_len());
    let timestamps = segment.options().timestamps;
    // Timestamps at the usual place are read before other options.
    assert!(timestamps.is_none() || segment.timestamps().is_some());
    let _ = (segment.tcp_checksum(), segment.ip_checksum());
}

/// All output of a reader, as one number for each record and note.
fn digest(mut reader: CaptureReader) -> (Vec<u64>, String) {
    let mut all = Vec::new();
    let mut last = None;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) | Err(ReadError::NoPackets { .. }) => break,
            Err(error) => panic!("{error}: octets in memory cannot fail"),
        };
        assert_eq!(record.number, all.len() as u64 + 1);
        assert!(last.is_none_or(|last| last <= record.offset), "goes back");
        last = Some(record.offset);
        assert!(record.octets.len() <= record.wire_len as usize);
        all.push(number(&record));
        let (place, obstacle) = (record.place(), record.dissect().err());
        if let Some(obstacle) = obstacle {
            reader.note_dissect_error(place, &obstacle);
        }
        if reader.offset() > MOST {
            break;
        }
    }
    let notes: Vec<String> = reader.notes().iter().map(ToString::to_string).collect();
    let is_consistent = NoteKind::ALL
        .iter()
        .all(|kind| reader.notes().of(*kind).most <= reader.notes().of(*kind).total);
    assert!(is_consistent, "a part is more than the whole");
    (all, notes.join("\n"))
}

fn number(record: &Record<'_>) -> u64 {
    let mut sum = record.time.map_or(7, |time| time.as_nanos());
    let parts = [
        record.offset,
        u64::from(record.wire_len),
        u64::from(record.interface),
        u64::from(record.link.0),
        record.dropped,
        record.options.iter().count() as u64,
    ];
    for part in parts {
        sum = sum.wrapping_mul(31).wrapping_add(part);
    }
    for octet in record.octets {
        sum = sum.wrapping_mul(31).wrapping_add(u64::from(*octet));
    }
    sum
}

/// Stream that returns few octets at a time, more each time.
struct Pieces {
    octets: Cursor<Vec<u8>>,
    step: usize,
}

impl Pieces {
    fn new(octets: &[u8]) -> Self {
        Self {
            octets: Cursor::new(octets.to_vec()),
            step: 0,
        }
    }
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.step = self.step % 97 + 1;
        let most = out.len().min(self.step);
        self.octets.read(&mut out[..most])
    }
}
