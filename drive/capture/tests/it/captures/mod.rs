//! Handmade captures, and the output of readers in a comparable form.

use std::io::{self, Read};

use gigatcp_capture::{CaptureReader, Direction, Notes, Record};

/// A record that owns its bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owned {
    pub number: u64,
    pub offset: u64,
    pub time_ns: Option<u64>,
    pub wire_len: u32,
    pub octets: Vec<u8>,
    pub interface: u32,
    pub link: u16,
    pub direction: Option<Direction>,
    pub dropped: u64,
    pub comments: Vec<String>,
}

impl From<Record<'_>> for Owned {
    fn from(record: Record<'_>) -> Self {
        Self {
            number: record.number,
            offset: record.offset,
            time_ns: record.time.map(|time| time.as_nanos()),
            wire_len: record.wire_len,
            octets: record.octets.to_vec(),
            interface: record.interface,
            link: record.link.0,
            direction: record.direction,
            dropped: record.dropped,
            comments: record.options.comments().map(String::from).collect(),
        }
    }
}

/// Every record of a capture, and the notes.
pub fn read_all(mut reader: CaptureReader) -> (Vec<Owned>, Notes) {
    let mut all = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        all.push(record.into());
    }
    assert!(
        reader.next_record().unwrap().is_none(),
        "the end is the end"
    );
    (all, reader.notes().clone())
}

/// Reads a capture from memory and from a stream of few bytes at a time. Both results must be
/// equal.
pub fn read_octets(octets: &[u8]) -> (Vec<Owned>, Notes) {
    let held = read_all(CaptureReader::from_octets(octets.to_vec()).unwrap());
    for step in [1, 7, 4096] {
        let drip = Drip {
            octets: octets.to_vec(),
            at: 0,
            step,
        };
        let streamed = read_all(CaptureReader::from_reader(drip).unwrap());
        assert_eq!(streamed, held, "{step} octets at a time");
    }
    held
}

/// A stream that returns a few bytes at a time.
pub struct Drip {
    pub octets: Vec<u8>,
    pub at: usize,
    pub step: usize,
}

impl Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = &self.octets[self.at..];
        let n = self.step.min(left.len()).min(out.len());
        out[..n].copy_from_slice(&left[..n]);
        self.at += n;
        Ok(n)
    }
}

/// Encodes numbers in one byte order.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    pub is_big: bool,
}

pub const LITTLE: Writer = Writer { is_big: false };
pub const BIG: Writer = Writer { is_big: true };

impl Writer {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        }
    }

    /// Numbers of 32 bits in a row.
    pub fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| self.u32(*word)).collect()
    }

    /// Header of a pcap file.
    pub fn pcap_header(self, magic: u32, snap_len: u32, link: u32) -> Vec<u8> {
        let mut octets = self.u32(magic).to_vec();
        octets.extend(self.u16(2));
        octets.extend(self.u16(4));
        octets.extend(self.words(&[0, 0, snap_len, link]));
        octets
    }

    /// A record of a pcap file.
    pub fn pcap_record(self, second: u32, fraction: u32, octets: &[u8], wire: u32) -> Vec<u8> {
        let mut record = self.words(&[second, fraction, octets.len() as u32, wire]);
        record.extend(octets);
        record
    }

    /// A block of a pcapng file.
    pub fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let padded = body.len().next_multiple_of(4);
        let total = padded as u32 + 12;
        let mut block = self.words(&[kind, total]);
        block.extend(body);
        block.resize(8 + padded, 0);
        block.extend(self.u32(total));
        block
    }

    /// A section header block.
    pub fn section(self) -> Vec<u8> {
        let mut body = self.u32(0x1a2b_3c4d).to_vec();
        body.extend(self.u16(1));
        body.extend(self.u16(0));
        body.extend(self.u64(u64::MAX));
        self.block(0x0a0d_0d0a, &body)
    }

    /// An option.
    pub fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut octets = self.u16(code).to_vec();
        octets.extend(self.u16(value.len() as u16));
        octets.extend(value);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    /// An interface description block.
    pub fn interface(self, link: u16, snap_len: u32, options: &[u8]) -> Vec<u8> {
        let mut body = self.u16(link).to_vec();
        body.extend([0, 0]);
        body.extend(self.u32(snap_len));
        body.extend(options);
        self.block(1, &body)
    }

    /// An enhanced packet block.
    pub fn enhanced(
        self,
        interface: u32,
        ticks: u64,
        octets: &[u8],
        wire: u32,
        options: &[u8],
    ) -> Vec<u8> {
        let captured = octets.len() as u32;
        let (high, low) = ((ticks >> 32) as u32, ticks as u32);
        let mut body = self.words(&[interface, high, low, captured, wire]);
        body.extend(octets);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        self.block(6, &body)
    }
}

/// Bytes that match no header.
pub fn packet(number: u32, len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|at| 0x80 | (at.wrapping_mul(31) ^ number.wrapping_mul(97)) as u8)
        .collect()
}
