//! Makes captures for measuring readers of captures.
//!
//!     cargo run --release -p gigatcp-capture --example make_capture -- many 7800000 FILE
//!
//! | kind | what |
//! |---|---|
//! | `many` | 1000 connections side by side, long ones |
//! | `large` | 2 connections, all packets in them |
//! | `short` | connections of 26 packets, a new one all the time |
//! | `one-sided` | one connection of which one direction was captured |
//!
//! The packets are those of senders with a window, clocked by ACKs: slow start, handshakes, ends.
//! One packet in 2000 is lost and retransmitted after three duplicate ACKs with SACK. The capture
//! point is the sender, behind Ethernet and IPv4, with 144 bytes kept of each packet. Equal
//! arguments give an equal file.
//!
//! Out of scope: queues, timeouts, real congestion control. Prints `packets` and `octets`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const MSS: u32 = 1448;

/// Bytes kept of a packet.
const KEPT: usize = 144;

const SYN: u8 = 2;
const ACK: u8 = 16;
const FIN: u8 = 1;

/// An event at the receiver of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Opens,
    Arrives(u32),
}

/// One connection.
struct Flow {
    number: u32,
    trip_us: u64,
    window: u32,
    window_limit: u32,
    next: u32,
    acked: u32,
    /// End of the data received in order.
    received: u32,
    /// End of the highest segment that arrived.
    highest: u32,
    hole: Option<u32>,
    duplicates: u32,
    /// Bytes to send.
    all: u32,
    is_half: bool,
}

/// Writer of records.
struct Maker<W: Write> {
    out: W,
    left: u64,
    octets: u64,
    random: u64,
    idents: u16,
    is_one_sided: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [kind, packets, path] = &words[..] else {
        eprintln!("make_capture: KIND PACKETS FILE");
        std::process::exit(2);
    };
    let packets: u64 = packets.parse()?;
    let mut maker = Maker {
        out: BufWriter::with_capacity(1 << 20, File::create(path)?),
        left: packets,
        octets: 0,
        random: 1,
        idents: 0,
        is_one_sided: kind == "one-sided",
    };
    maker.header()?;
    match kind.as_str() {
        "many" => maker.run(1000, u32::MAX, 1)?,
        "large" => maker.run(2, u32::MAX, 1)?,
        "short" => maker.run(packets.div_ceil(26) as u32, 14 * MSS, 200)?,
        "one-sided" => maker.run(1, u32::MAX, 1)?,
        _ => return Err(format!("what is `{kind}`?").into()),
    }
    maker.out.flush()?;
    println!("packets {} octets {}", packets - maker.left, maker.octets);
    Ok(())
}

impl Flow {
    fn new(number: u32, all: u32) -> Self {
        Self {
            number,
            trip_us: 5_000 + u64::from(number) * 37 % 40_000,
            window: 10,
            window_limit: 40 + number % 40,
            next: 1,
            acked: 1,
            received: 1,
            highest: 1,
            hole: None,
            duplicates: 0,
            all,
            is_half: false,
        }
    }
}

impl<W: Write> Maker<W> {
    fn header(&mut self) -> io::Result<()> {
        let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, KEPT as u32, 1];
        self.octets += 24;
        words
            .iter()
            .try_for_each(|word: &u32| self.out.write_all(&word.to_le_bytes()))
    }

    /// Writes `count` connections, `apart_us` apart, with `all` bytes each.
    fn run(&mut self, count: u32, all: u32, apart_us: u64) -> io::Result<()> {
        let mut flows: Vec<Flow> = (0..count).map(|number| Flow::new(number, all)).collect();
        let mut events: BinaryHeap<Reverse<(u64, u32, Event)>> = BinaryHeap::new();
        for number in 0..count {
            let at = u64::from(number) * apart_us;
            events.push(Reverse((at, number, Event::Opens)));
        }
        while let Some(Reverse((at, number, event))) = events.pop() {
            if self.left == 0 {
                break;
            }
            let flow = &mut flows[number as usize];
            match event {
                Event::Opens => self.open(flow, at)?,
                Event::Arrives(seq) => self.arrive(flow, at, seq, &mut events)?,
            }
            self.send(flow, at, &mut events)?;
        }
        Ok(())
    }

    fn open(&mut self, flow: &Flow, at: u64) -> io::Result<()> {
        self.packet(flow, at, true, SYN, 0, 0, None)?;
        self.packet(flow, at + 1, false, SYN | ACK, 0, 1, None)?;
        self.packet(flow, at + 2, true, ACK, 1, 1, None)
    }

    /// Sends as much as the window allows.
    fn send(
        &mut self,
        flow: &mut Flow,
        at: u64,
        events: &mut BinaryHeap<Reverse<(u64, u32, Event)>>,
    ) -> io::Result<()> {
        while flow.next.wrapping_sub(flow.acked) < flow.window * MSS && flow.next < flow.all {
            let seq = flow.next;
            flow.next = flow.next.wrapping_add(MSS);
            self.packet(flow, at, true, ACK, seq, 1, None)?;
            let is_lost = flow.hole.is_none() && self.draw().is_multiple_of(2000);
            if is_lost {
                flow.hole = Some(seq);
            } else {
                let jitter = self.draw() % 200;
                let due = at + flow.trip_us + jitter / 100;
                events.push(Reverse((due, flow.number, Event::Arrives(seq))));
            }
        }
        Ok(())
    }

    fn arrive(
        &mut self,
        flow: &mut Flow,
        at: u64,
        seq: u32,
        events: &mut BinaryHeap<Reverse<(u64, u32, Event)>>,
    ) -> io::Result<()> {
        let end = seq.wrapping_add(MSS);
        if flow.hole.is_some_and(|hole| hole < seq) {
            let hole = flow.hole.unwrap_or_default();
            flow.highest = flow.highest.max(end);
            let block = (hole.wrapping_add(MSS), flow.highest);
            flow.duplicates += 1;
            self.packet(flow, at, false, ACK, 1, hole, Some(block))?;
            if flow.duplicates == 3 {
                self.packet(flow, at, true, ACK, hole, 1, None)?;
                let due = at + flow.trip_us;
                events.push(Reverse((due, flow.number, Event::Arrives(hole))));
                flow.window = (flow.window / 2).max(2);
            }
            return Ok(());
        }
        flow.highest = flow.highest.max(end);
        flow.received = flow.highest;
        let is_repair = flow.hole == Some(seq);
        if is_repair {
            (flow.hole, flow.duplicates) = (None, 0);
        }
        flow.is_half = !flow.is_half && !is_repair;
        let is_last = flow.received >= flow.all;
        if flow.is_half && !is_last {
            return Ok(());
        }
        flow.acked = flow.received;
        flow.window = (flow.window + 1).min(flow.window_limit);
        self.packet(flow, at, false, ACK, 1, flow.acked, None)?;
        if is_last {
            let end = flow.received;
            self.packet(flow, at, true, FIN | ACK, end, 1, None)?;
            self.packet(flow, at, false, FIN | ACK, 1, end + 1, None)?;
            self.packet(flow, at, true, ACK, end + 1, 2, None)?;
        }
        Ok(())
    }

    /// Next random number (Knuth's MMIX generator).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = self.random.wrapping_add(1_442_695_040_888_963_407);
        self.random >> 33
    }

    #[expect(clippy::too_many_arguments, reason = "a packet has as many fields")]
    fn packet(
        &mut self,
        flow: &Flow,
        at: u64,
        is_forth: bool,
        flags: u8,
        seq: u32,
        ack: u32,
        sack: Option<(u32, u32)>,
    ) -> io::Result<()> {
        if self.left == 0 || self.is_one_sided && !is_forth {
            return Ok(());
        }
        self.left -= 1;
        self.idents = self.idents.wrapping_add(1);
        let is_data = is_forth && flags == ACK && seq < flow.all && ack > 0 && seq > 0;
        // The ACK that ends the handshake has the sequence number of the first data.
        let is_data = is_data && !(seq == 1 && flow.next == 1);
        let mut octets = [0_u8; KEPT];
        let options: &[u8] = match (flags & SYN != 0, sack) {
            (true, _) => &[
                2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 3, 7,
            ],
            (false, None) => &[1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0],
            (false, Some(_)) => &[
                1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0,
            ],
        };
        let header = 20 + options.len();
        let payload = if is_data { MSS as usize } else { 0 };
        let total = 20 + header + payload;
        octets[12..16].copy_from_slice(&[8, 0, 0x45, 0]);
        octets[16..18].copy_from_slice(&(total as u16).to_be_bytes());
        octets[18..20].copy_from_slice(&self.idents.to_be_bytes());
        octets[20..24].copy_from_slice(&[0x40, 0, 64, 6]);
        let client = (0x0a00_0000 | flow.number >> 14).to_be_bytes();
        let server = [192, 0, 2, 1];
        let ports = [(1024 + (flow.number & 0x3fff) as u16), 443];
        let ends = if is_forth {
            [client, server]
        } else {
            [server, client]
        };
        let ports = if is_forth {
            ports
        } else {
            [ports[1], ports[0]]
        };
        octets[26..30].copy_from_slice(&ends[0]);
        octets[30..34].copy_from_slice(&ends[1]);
        octets[34..36].copy_from_slice(&ports[0].to_be_bytes());
        octets[36..38].copy_from_slice(&ports[1].to_be_bytes());
        octets[38..42].copy_from_slice(&seq.to_be_bytes());
        octets[42..46].copy_from_slice(&ack.to_be_bytes());
        // The window of a SYN is not scaled (RFC 7323 section 2.2), others are by 7.
        let [high, low] = if flags & SYN != 0 { 64_240 } else { 2_048_u16 }.to_be_bytes();
        octets[46..50].copy_from_slice(&[(header as u8 / 4) << 4, flags, high, low]);
        let at_options = 54;
        octets[at_options..at_options + options.len()].copy_from_slice(options);
        let stamps = if flags & SYN != 0 {
            at_options + 8
        } else {
            at_options + 4
        };
        let here = (at / 1000) as u32;
        let there = here.wrapping_add(77_000);
        let (val, echo) = if is_forth {
            (here, there)
        } else {
            (there, here)
        };
        octets[stamps..stamps + 4].copy_from_slice(&val.to_be_bytes());
        octets[stamps + 4..stamps + 8].copy_from_slice(&echo.to_be_bytes());
        if let Some((left, right)) = sack {
            octets[70..74].copy_from_slice(&left.to_be_bytes());
            octets[74..78].copy_from_slice(&right.to_be_bytes());
        }
        let wire = 14 + total;
        let kept = wire.min(KEPT);
        let second = 1_700_000_000 + (at / 1_000_000) as u32;
        for word in [second, (at % 1_000_000) as u32, kept as u32, wire as u32] {
            self.out.write_all(&word.to_le_bytes())?;
        }
        self.octets += 16 + kept as u64;
        self.out.write_all(&octets[..kept])
    }
}
