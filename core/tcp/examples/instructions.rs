//! Operations of a connection and of the wire format, for `cargo xtask bench --instructions`.
//!
//! Each is a separate function, which callgrind counts.
//!
//!     cargo run --release -p gigatcp-tcp --example instructions -- engine|plain|wire COUNT
//!
//! `engine`: two connections over a path of 1 Gbit/s and 2 ms in virtual time, CUBIC in
//! congestion avoidance, segments of 1448 bytes with timestamps, one ACK for two segments, until
//! COUNT segments have been received. The transfer runs twice. The first run notes which calls of
//! `poll_transmit` had nothing to send, so that the second can count those separately.
//!
//! `plain`: the same without timestamps, segments of 1460 bytes.
//!
//! `wire`: COUNT data packets of 1500 bytes are encoded and decoded, with the TCP checksum and in
//! the form for checksum offload. The same number of bytes is also just copied and summed.
//!
//! Prints the number of calls of each operation, as `NAME COUNT` lines, on standard output.
#![allow(
    clippy::disallowed_methods,
    reason = "a measurement takes its number of segments from its arguments"
)]

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use gigatcp_tcp::congestion::{self, SlowStart};
use gigatcp_tcp::events::EventMask;
use gigatcp_tcp::{Connection, ConnectionConfig, IpVersion, Profile, Received, TransportConfig};
use gigatcp_units::{Bytes as Amount, Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{
    Checksum, ChecksumCheck, ChecksumFill, Endpoints, Flags, IpHeader, Octets, Options, Segment,
    SeqNumber, Timestamps, WireWindow, decode_packet, decode_packet_with, encode_packet,
};

type Payload = Octets;

/// Measured operations, each under the name by which it is counted. A different constant in each
/// keeps functions with the same body from being merged.
mod measured {
    use super::*;

    #[inline(never)]
    pub fn data_received(tcp: &mut Connection<Payload>, now: Instant, data: Received<Payload>) {
        black_box(0_u8);
        tcp.handle_segment(now, data);
    }

    #[inline(never)]
    pub fn ack_processed(tcp: &mut Connection<Payload>, now: Instant, ack: Received<Payload>) {
        black_box(1_u8);
        tcp.handle_segment(now, ack);
    }

    #[inline(never)]
    pub fn data_read(tcp: &mut Connection<Payload>, now: Instant) -> Option<Payload> {
        black_box(2_u8);
        tcp.read(now, usize::MAX)
    }

    #[inline(never)]
    pub fn data_written(tcp: &mut Connection<Payload>, payload: Payload) -> usize {
        black_box(3_u8);
        tcp.write(payload).unwrap_or(0)
    }

    #[inline(never)]
    pub fn data_sent(tcp: &mut Connection<Payload>, now: Instant) -> Option<Segment<Payload>> {
        black_box(4_u8);
        tcp.poll_transmit(now)
    }

    #[inline(never)]
    pub fn ack_sent(tcp: &mut Connection<Payload>, now: Instant) -> Option<Segment<Payload>> {
        black_box(5_u8);
        tcp.poll_transmit(now)
    }

    #[inline(never)]
    pub fn nothing_sent(tcp: &mut Connection<Payload>, now: Instant) -> Option<Segment<Payload>> {
        black_box(6_u8);
        tcp.poll_transmit(now)
    }

    #[inline(never)]
    pub fn packet_encoded(ip: &IpHeader, segment: &Segment<Payload>, out: &mut [u8]) -> usize {
        encode_packet(ip, segment, ChecksumFill::Whole, out).expect("it fits")
    }

    #[inline(never)]
    pub fn packet_decoded(octets: &[u8]) -> (IpHeader, Segment<&[u8]>) {
        decode_packet(octets).expect("a packet")
    }

    #[inline(never)]
    pub fn unsummed_encoded(ip: &IpHeader, segment: &Segment<Payload>, out: &mut [u8]) -> usize {
        encode_packet(ip, segment, ChecksumFill::PseudoHeader, out).expect("it fits")
    }

    #[inline(never)]
    pub fn unsummed_decoded(octets: &[u8]) -> (IpHeader, Segment<&[u8]>) {
        decode_packet_with(octets, ChecksumCheck::Trust).expect("a packet")
    }

    #[inline(never)]
    pub fn bytes_copied(from: &[u8], to: &mut [u8]) {
        to.copy_from_slice(from);
    }

    #[inline(never)]
    pub fn bytes_summed(octets: &[u8]) -> u16 {
        let mut sum = Checksum::new();
        sum.add_octets(octets);
        sum.finish()
    }
}

/// Number of calls of each operation.
#[derive(Default)]
struct Counts {
    data_received: u64,
    data_read: u64,
    data_written: u64,
    data_sent: u64,
    ack_processed: u64,
    ack_sent: u64,
    nothing_sent: u64,
}

const DELAY: Duration = Duration::from_millis(1);
/// 1514 bytes at 1 Gbit/s.
const PER_SEGMENT: Duration = Duration::from_nanos(12_112);

fn config(has_timestamps: bool, local_port: u16, remote_port: u16) -> ConnectionConfig {
    ConnectionConfig {
        transport: TransportConfig {
            profile: Profile::MODERN.with(|profile| {
                profile.segments.segmentation_offload = false;
                profile.options.timestamps = has_timestamps;
            }),
            mtu: 1500,
            congestion: Arc::new(congestion::find("cubic").expect("CUBIC is registered")),
            initial_ssthresh: Some(100),
            slow_start: SlowStart::Standard,
            send_buffer: Some(Amount::new(4 << 20)),
            receive_buffer: Some(Amount::new(4 << 20)),
            events: EventMask::NONE,
        }
        .into(),
        local_port,
        remote_port,
        iss: SeqNumber::new(u32::MAX - 1000),
        ip: IpVersion::V4,
        timestamp_offset: 0,
    }
}

/// Two connections, and the packets between them.
struct Pair {
    now: Instant,
    sender: Connection<Payload>,
    receiver: Connection<Payload>,
    forward: VecDeque<(Instant, Segment<Payload>)>,
    reverse: VecDeque<(Instant, Segment<Payload>)>,
    link_free: Instant,
    /// Whether each `poll_transmit` had something to send.
    polls: VecDeque<bool>,
    is_rehearsal: bool,
    counts: Counts,
}

impl Pair {
    /// Opens a connection, given the results of the polls of an earlier run.
    fn open(has_timestamps: bool, polls: Option<VecDeque<bool>>) -> Self {
        let now = Instant::ZERO;
        let mut sender = Connection::connect(now, &config(has_timestamps, 1, 2));
        let syn = sender.poll_transmit(now).expect("a SYN");
        let syn = Received {
            at: now,
            segment: syn,
        };
        let config = config(has_timestamps, 2, 1);
        let receiver = Connection::accept(now, &config, &syn).expect("a SYN opens");
        Self {
            now,
            sender,
            receiver,
            forward: VecDeque::new(),
            reverse: VecDeque::new(),
            link_free: now,
            is_rehearsal: polls.is_none(),
            polls: polls.unwrap_or_default(),
            counts: Counts::default(),
        }
    }

    /// Polls one end, and counts the call by its result.
    fn poll(&mut self, is_sender: bool) -> Option<Segment<Payload>> {
        let end = if is_sender {
            &mut self.sender
        } else {
            &mut self.receiver
        };
        if self.is_rehearsal {
            let segment = end.poll_transmit(self.now);
            self.polls.push_back(segment.is_some());
            return segment;
        }
        match (self.polls.pop_front(), is_sender) {
            (Some(true), true) => {
                self.counts.data_sent += 1;
                measured::data_sent(end, self.now)
            }
            (Some(true), false) => {
                self.counts.ack_sent += 1;
                measured::ack_sent(end, self.now)
            }
            _ => {
                self.counts.nothing_sent += 1;
                measured::nothing_sent(end, self.now)
            }
        }
    }

    fn send(&mut self) {
        while let Some(segment) = self.poll(true) {
            self.link_free = self.link_free.max(self.now) + PER_SEGMENT;
            self.forward.push_back((self.link_free + DELAY, segment));
        }
        while let Some(segment) = self.poll(false) {
            self.reverse.push_back((self.now + DELAY, segment));
        }
    }

    /// Transfers `count` segments from one end to the other.
    fn run(mut self, count: u64) -> Self {
        let chunk = Payload::from(Bytes::from(vec![7; 256 << 10]));
        self.send();
        while self.counts.data_received < count {
            while self.sender.unsent() < 1 << 20 {
                self.counts.data_written += 1;
                measured::data_written(&mut self.sender, chunk.clone());
            }
            let next = |queue: &VecDeque<(Instant, Segment<Payload>)>| {
                queue.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at)
            };
            let (forward, reverse) = (next(&self.forward), next(&self.reverse));
            let ends = [&self.sender, &self.receiver];
            let timers = ends.into_iter().filter_map(Connection::poll_timeout);
            let timer = timers.min().unwrap_or(Instant::FAR_FUTURE);
            self.now = forward.min(reverse).min(timer);
            if timer == self.now {
                self.sender.handle_timeout(self.now);
                self.receiver.handle_timeout(self.now);
            } else if forward == self.now {
                let (_, segment) = self.forward.pop_front().expect("it was looked at");
                self.arrive(segment);
            } else {
                let (_, segment) = self.reverse.pop_front().expect("it was looked at");
                self.counts.ack_processed += 1;
                let at = self.now;
                measured::ack_processed(&mut self.sender, at, Received { at, segment });
            }
            self.send();
        }
        self
    }

    fn arrive(&mut self, segment: Segment<Payload>) {
        self.counts.data_received += 1;
        let at = self.now;
        measured::data_received(&mut self.receiver, at, Received { at, segment });
        self.counts.data_read += 1;
        black_box(measured::data_read(&mut self.receiver, self.now));
    }
}

fn engine(has_timestamps: bool, count: u64) {
    let rehearsal = Pair::open(has_timestamps, None).run(count);
    let Counts {
        data_received,
        data_read,
        data_written,
        data_sent,
        ack_processed,
        ack_sent,
        nothing_sent,
    } = Pair::open(has_timestamps, Some(rehearsal.polls))
        .run(count)
        .counts;
    println!("data_received {}", 2 * data_received);
    println!("data_read {}", 2 * data_read);
    println!("data_written {}", 2 * data_written);
    println!("data_sent {data_sent}");
    println!("ack_processed {}", 2 * ack_processed);
    println!("ack_sent {ack_sent}");
    println!("nothing_sent {nothing_sent}");
}

fn wire(count: u64) {
    let ip = IpHeader::new(Endpoints::V4 {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
    });
    let body = Bytes::from(vec![7; 1448]);
    let data = Segment::<Payload> {
        src_port: 1,
        dst_port: 2,
        flags: Flags::ACK,
        wnd: WireWindow(1000),
        options: Options {
            timestamps: Some(Timestamps { val: 1, ecr: 2 }),
            ..Options::default()
        },
        payload: body.clone().into(),
        ..Segment::default()
    };
    let mut out = [0; 1500];
    for _ in 0..count {
        measured::packet_encoded(&ip, &data, &mut out);
        black_box(measured::packet_decoded(black_box(&out)));
        measured::unsummed_encoded(&ip, &data, &mut out);
        black_box(measured::unsummed_decoded(black_box(&out)));
        measured::bytes_copied(&body, black_box(&mut out[..1448]));
        black_box(measured::bytes_summed(black_box(&out)));
    }
    println!("packet_encoded {count}");
    println!("packet_decoded {count}");
    println!("unsummed_encoded {count}");
    println!("unsummed_decoded {count}");
    println!("bytes_copied {count}");
    println!("bytes_summed {count}");
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["engine", count] => engine(true, count.parse().expect("a count")),
        ["plain", count] => engine(false, count.parse().expect("a count")),
        ["wire", count] => wire(count.parse().expect("a count")),
        _ => panic!("usage: instructions engine|plain|wire COUNT"),
    }
}
