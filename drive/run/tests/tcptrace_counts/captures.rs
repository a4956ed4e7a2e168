//! Captures of simulations at three capture points, with the actual events of their packets. The
//! format is pcap in microseconds, since tcptrace reads nothing finer.
//!
//! A packet has the same identification from its host at every capture point. It is matched with
//! the latest departure of the same segment that can have come so far. Two transmissions of one
//! segment are an RTT apart, and no delay here is as long.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Tap, World, WorldConfig};
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{
    Endpoints, IpHeader, IpVersion, Phantom, Segment, SeqNumber, encode_front, packet_len,
};

/// Bytes kept of a packet.
const KEPT: usize = 200;

/// Capture point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    Sender,
    Middle,
    Receiver,
}

impl Place {
    pub const ALL: [Self; 3] = [Self::Sender, Self::Middle, Self::Receiver];
}

/// Packets missing in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lacks {
    Nothing,
    /// Packets of the receiver.
    Answers,
    /// Packets of the sender.
    Data,
    /// All packets in the first half of a second.
    Beginning,
    /// Every n-th packet.
    Every(u64),
}

/// Actual events in one direction, as its packets passed the capture point.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Truth {
    /// Packets with bytes that the host had sent before.
    pub again_packets: u64,
    pub again_octets: u64,
    /// Packets that were sent once and passed after later ones.
    pub overtaken: u64,
    /// Packets that the path duplicated.
    pub copies: u64,
    /// Bytes of payload that passed, without duplicates.
    pub unique: u64,
}

struct Departure {
    at: Instant,
    segment: Segment<Phantom>,
    ident: u16,
    /// Bytes of it that were sent before.
    again: u64,
    end: SeqNumber,
}

/// One direction of one flow.
#[derive(Default)]
struct Way {
    departures: Vec<Departure>,
    idents: u16,
    sent_to: Option<SeqNumber>,
    /// Highest end that passed the capture point, and latest identification.
    passed_to: Option<SeqNumber>,
    passed: Vec<(u32, u32)>,
    last_ident: Option<u16>,
    truth: Truth,
}

struct State {
    out: BufWriter<File>,
    place: Place,
    lacks: Lacks,
    least_delay: Duration,
    ways: Vec<[Way; 2]>,
    packets: u64,
}

#[derive(Clone)]
struct DoorTap(Arc<Mutex<State>>);

impl Tap for DoorTap {
    fn on_packet(&mut self, now: Instant, packet: &Packet, at_sender: bool) {
        let state = &mut *self.0.lock().unwrap();
        let Some(segment) = packet.segment() else {
            return;
        };
        if at_sender != packet.reverse() {
            state.depart(now, packet, segment);
        }
        let is_here = match state.place {
            Place::Sender => at_sender,
            Place::Receiver => !at_sender,
            Place::Middle => false,
        };
        if is_here {
            state.pass(now, packet, segment);
        }
    }

    fn on_hop(&mut self, now: Instant, packet: &Packet, _: usize) {
        let state = &mut *self.0.lock().unwrap();
        if state.place == Place::Middle
            && let Some(segment) = packet.segment()
        {
            state.pass(now, packet, segment);
        }
    }
}

/// Runs a simulation with a capture at `path`; returns the events of each flow.
///
/// Those of the sender come first. From one end to the other a packet takes at least `delay`.
pub fn capture(
    config: WorldConfig,
    place: Place,
    lacks: Lacks,
    delay: Duration,
    path: &Path,
) -> Vec<[Truth; 2]> {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let words: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1];
    for word in words {
        out.write_all(&word.to_le_bytes()).unwrap();
    }
    let ways = config.flows.iter().map(|_| Default::default()).collect();
    let state = State {
        out,
        place,
        lacks,
        least_delay: delay,
        ways,
        packets: 0,
    };
    let tap = DoorTap(Arc::new(Mutex::new(state)));
    let mut world = World::new(config).unwrap();
    world.set_tap(Box::new(tap.clone()));
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    drop(world);
    let mut state = Arc::into_inner(tap.0).unwrap().into_inner().unwrap();
    state.out.flush().unwrap();
    let truth = |ways: &[Way; 2]| ways.each_ref().map(|way| way.truth);
    state.ways.iter().map(truth).collect()
}

impl State {
    fn depart(&mut self, now: Instant, packet: &Packet, segment: &Segment<Phantom>) {
        let way = &mut self.ways[packet.flow as usize][usize::from(packet.reverse())];
        for segment in segment.clone().into_wire_segments() {
            way.depart(now, segment);
        }
    }

    /// Records one or several packets that pass the capture point.
    fn pass(&mut self, now: Instant, packet: &Packet, segment: &Segment<Phantom>) {
        for segment in segment.clone().into_wire_segments() {
            self.pass_one(now, packet, &segment);
        }
    }

    fn pass_one(&mut self, now: Instant, packet: &Packet, segment: &Segment<Phantom>) {
        self.packets += 1;
        let is_kept = match self.lacks {
            Lacks::Nothing => true,
            Lacks::Answers => !packet.reverse(),
            Lacks::Data => packet.reverse(),
            Lacks::Beginning => now.as_nanos() > 500_000_000,
            Lacks::Every(many) => !self.packets.is_multiple_of(many),
        };
        if !is_kept {
            return;
        }
        let is_home = match self.place {
            Place::Sender => !packet.reverse(),
            Place::Receiver => packet.reverse(),
            Place::Middle => false,
        };
        let least = match self.place {
            _ if is_home => Duration::ZERO,
            Place::Middle => self.least_delay / 2,
            _ => self.least_delay,
        };
        let way = &mut self.ways[packet.flow as usize][usize::from(packet.reverse())];
        let ident = way.pass(now, least, segment);
        let header = IpHeader {
            ident,
            ..IpHeader::new(endpoints(packet))
        };
        self.write(now, &header, segment);
    }

    fn write(&mut self, now: Instant, header: &IpHeader, segment: &Segment<Phantom>) {
        let mut octets = vec![0; 12];
        let is_v4 = matches!(header.endpoints, Endpoints::V4 { .. });
        octets.extend(if is_v4 { [0x08, 0x00] } else { [0x86, 0xdd] });
        let start = octets.len();
        let len = packet_len(header, segment).unwrap();
        octets.resize(start + len.min(KEPT), 0);
        encode_front(header, segment, &mut octets[start..]).unwrap();
        let micros = now.as_nanos() / 1000;
        let words = [
            1_000_000_000 + (micros / 1_000_000) as u32,
            (micros % 1_000_000) as u32,
            octets.len() as u32,
            14 + len as u32,
        ];
        for word in words {
            self.out.write_all(&word.to_le_bytes()).unwrap();
        }
        self.out.write_all(&octets).unwrap();
    }
}

impl Way {
    fn depart(&mut self, at: Instant, segment: Segment<Phantom>) {
        let end = segment.seq + segment.seq_len();
        let again = match self.sent_to {
            Some(sent_to) if sent_to.is_after(segment.seq) => {
                let known = u64::from(sent_to.distance_from(segment.seq) as u32);
                known.min(u64::from(segment.payload.len))
            }
            _ => 0,
        };
        if self.sent_to.is_none_or(|sent_to| end.is_after(sent_to)) {
            self.sent_to = Some(end);
        }
        self.idents = self.idents.wrapping_add(1).max(1);
        self.departures.push(Departure {
            at,
            ident: self.idents,
            again,
            end,
            segment,
        });
    }

    /// Classifies a packet at the capture point, and returns its identification.
    fn pass(&mut self, now: Instant, least: Duration, segment: &Segment<Phantom>) -> u16 {
        let is_it = |departure: &&Departure| {
            let other = &departure.segment;
            departure.at + least <= now
                && other.seq == segment.seq
                && other.payload.len == segment.payload.len
                && other.ack == segment.ack
                && other.flags == segment.flags
                && other.options.timestamps == segment.options.timestamps
                && other.options.sack == segment.options.sack
        };
        let departure = self
            .departures
            .iter()
            .rev()
            .find(is_it)
            .expect("what passes has departed");
        let (ident, again, end) = (departure.ident, departure.again, departure.end);
        let len = segment.payload.len;
        let is_copy = self.last_ident == Some(ident);
        self.last_ident = Some(ident);
        let start = segment.seq.as_u32();
        if len > 0 {
            self.truth.unique += u64::from(self.note(start, len));
        }
        if is_copy && len > 0 {
            self.truth.copies += 1;
        } else if again > 0 {
            self.truth.again_packets += 1;
            self.truth.again_octets += again;
        } else if len > 0 && self.passed_to.is_some_and(|to| to.is_after(segment.seq)) {
            self.truth.overtaken += 1;
        }
        if self.passed_to.is_none_or(|to| end.is_after(to)) {
            self.passed_to = Some(end);
        }
        ident
    }

    /// Number of these bytes that pass for the first time.
    fn note(&mut self, start: u32, len: u32) -> u32 {
        let base = self.departures[0].segment.seq.as_u32();
        let (start, end) = (start.wrapping_sub(base), start.wrapping_sub(base) + len);
        let covered: u32 = self
            .passed
            .iter()
            .map(|(left, right)| (*right).min(end).saturating_sub((*left).max(start)))
            .sum();
        let (mut left, mut right) = (start, end);
        self.passed.retain(|(a, b)| {
            let touches = *a <= right && *b >= left;
            if touches {
                left = left.min(*a);
                right = right.max(*b);
            }
            !touches
        });
        self.passed.push((left, right));
        len - covered
    }
}

fn endpoints(packet: &Packet) -> Endpoints {
    let number = packet.flow as u8 + 1;
    let endpoints = match packet.ip.version() {
        IpVersion::V4 => Endpoints::V4 {
            src: Ipv4Addr::new(10, 1, 0, number),
            dst: Ipv4Addr::new(10, 2, 0, number),
        },
        IpVersion::V6 => Endpoints::V6 {
            src: Ipv6Addr::new(0xfd00, 1, 0, 0, 0, 0, 0, number.into()),
            dst: Ipv6Addr::new(0xfd00, 2, 0, 0, 0, 0, 0, number.into()),
        },
    };
    if packet.reverse() {
        endpoints.reversed()
    } else {
        endpoints
    }
}
