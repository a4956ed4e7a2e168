//! Bulk transfer in memory, this engine next to smoltcp: the same program over both.
//!
//!     cargo run --release -p gigatcp-tcp --example versus_smoltcp [MEGABYTES [ROUNDS]]
//!
//! One thread runs both ends. The sender writes 64 KiB at a time from its own buffer. Every
//! segment becomes an IPv4 packet, is passed as bytes and parsed again; the receiver reads into
//! its own buffer. Send buffers hold 256 KiB, and packets have 1500 bytes unless stated
//! otherwise. Timestamps and pacing are off, as in smoltcp. Congestion control is on, which
//! smoltcp has off by default. No packet is lost or delayed. The two stacks alternate, so that
//! disturbances of the machine affect both; the result is the ratio of each turn.
//!
//! Time is this thread's CPU time, as Linux counts it; elsewhere it is wall-clock time. `memcpy`
//! is the rate at which 64 KiB in the cache are copied once.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement needs a clock and its arguments"
)]

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const CHUNK: usize = 64 << 10;
const BUFFER: usize = 256 << 10;
const MTU: usize = 1500;

/// Parameters of a transfer.
#[derive(Clone, Copy)]
struct Task {
    bytes: usize,
    /// Whether TCP checksums are computed and verified.
    sums: bool,
    /// Whether segments leave in packets of up to 64 KiB.
    large: bool,
}

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse());
    let mut number = |default| words.next().map_or(default, |word| word.expect("a number"));
    let (megabytes, rounds) = (number(200), number(7));
    let bytes = megabytes << 20;
    for sums in [true, false] {
        let task = Task {
            bytes,
            sums,
            large: false,
        };
        let turns: Vec<[f64; 2]> = (0..rounds)
            .map(|_| [rate(task, engine::transfer), rate(task, other::transfer)])
            .collect();
        let ratios = turns.iter().map(|[ours, theirs]| ours / theirs).collect();
        let [ours, theirs] = [0, 1].map(|at| median(turns.iter().map(|turn| turn[at]).collect()));
        let ratio = median(ratios);
        let what = if sums { "with" } else { "without" };
        println!(
            "{what} checksums: engine {ours:.1}, smoltcp {theirs:.1} Gbit/s, ratio {ratio:.2}"
        );
    }
    for sums in [false, true] {
        let task = Task {
            bytes,
            sums,
            large: true,
        };
        let turns: Vec<[f64; 2]> = (0..rounds)
            .map(|_| [rate(task, engine::transfer), rate(task, copy)])
            .collect();
        let ratio = median(turns.iter().map(|[ours, copy]| ours / copy).collect());
        let [ours, copy] = [0, 1].map(|at| median(turns.iter().map(|turn| turn[at]).collect()));
        let what = if sums { "with" } else { "without" };
        println!(
            "packets of 64 KiB, {what} checksums: engine {ours:.1} Gbit/s, memcpy {copy:.1}, \
             ratio {ratio:.2}"
        );
    }
}

/// Rate of a transfer in Gbit/s.
fn rate(task: Task, transfer: impl Fn(Task)) -> f64 {
    let before = time_on_cpu();
    transfer(task);
    task.bytes as f64 * 8e-9 / (time_on_cpu() - before).as_secs_f64()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Start of the first measurement.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// CPU time of this thread.
fn time_on_cpu() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = counted.and_then(|line| line.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Copies the same number of bytes once. The two addresses differ in their low bits. A CPU would
/// take equal ones for the same address, and stall.
fn copy(task: Task) {
    let from = vec![7; CHUNK];
    let mut to = vec![0; CHUNK + 2048];
    for _ in 0..task.bytes / CHUNK {
        black_box(&mut to[2048..]).copy_from_slice(black_box(&from));
    }
}

/// This engine.
mod engine {
    use std::collections::VecDeque;
    use std::hint::black_box;
    use std::ops::Range;
    use std::sync::Arc;

    use gigatcp_tcp::congestion::{self, SlowStart};
    use gigatcp_tcp::events::{EventMask, State};
    use gigatcp_tcp::{
        Connection, ConnectionConfig, IpVersion, Profile, Received, TransportConfig,
    };
    use gigatcp_units::{Bytes as Amount, Duration, Instant};
    use gigatcp_wire::bytes::{Bytes, BytesMut};
    use gigatcp_wire::{
        ChecksumCheck, ChecksumFill, Endpoints, IpHeader, Octets, SeqNumber, decode_packet_with,
        encode_packet, packet_len,
    };

    use super::{BUFFER, CHUNK, MTU, Task};

    /// Memory for packets, reused when all of them are released.
    struct Slabs {
        waiting: VecDeque<Bytes>,
    }

    const SLAB: usize = 256 << 10;

    impl Slabs {
        fn take(&mut self) -> BytesMut {
            let oldest = self.waiting.pop_front();
            match oldest.map(Bytes::try_into_mut) {
                Some(Ok(slab)) => slab,
                Some(Err(in_use)) => {
                    self.waiting.push_back(in_use);
                    BytesMut::zeroed(SLAB)
                }
                None => BytesMut::zeroed(SLAB),
            }
        }
    }

    struct End {
        tcp: Connection<Octets>,
        ip: IpHeader,
        slabs: Slabs,
    }

    fn config(task: Task, local_port: u16, remote_port: u16) -> ConnectionConfig {
        ConnectionConfig {
            transport: TransportConfig {
                profile: Profile::MODERN.with(|profile| {
                    profile.options.timestamps = false;
                    profile.pacing.enabled = false;
                    profile.segments.segmentation_offload = task.large;
                }),
                mtu: u32::from(MTU as u16 - 40) + 40,
                congestion: Arc::new(congestion::find("reno").expect("Reno is registered")),
                initial_ssthresh: None,
                slow_start: SlowStart::Standard,
                send_buffer: Some(Amount::new(BUFFER as u64)),
                receive_buffer: Some(Amount::new(2 * BUFFER as u64)),
                events: EventMask::NONE,
            }
            .into(),
            local_port,
            remote_port,
            iss: SeqNumber::new(1),
            ip: IpVersion::V4,
            timestamp_offset: 0,
        }
    }

    impl End {
        fn new(tcp: Connection<Octets>, endpoints: Endpoints) -> Self {
            Self {
                tcp,
                ip: IpHeader::new(endpoints),
                slabs: Slabs {
                    waiting: VecDeque::new(),
                },
            }
        }

        /// Writes the packets that may leave; returns their memory, `packets` their places in it.
        fn send(&mut self, now: Instant, task: Task, packets: &mut Vec<Range<usize>>) -> Bytes {
            let fill = match task.sums {
                true => ChecksumFill::Whole,
                false => ChecksumFill::PseudoHeader,
            };
            let mut slab = self.slabs.take();
            let mut at = 0;
            packets.clear();
            while at + (64 << 10) <= slab.len()
                && let Some(segment) = self.tcp.poll_transmit(now)
            {
                debug_assert!(task.large || packet_len(&self.ip, &segment).is_ok_and(|n| n <= MTU));
                let len = encode_packet(&self.ip, &segment, fill, &mut slab[at..]);
                let end = at + len.expect("a packet fits");
                packets.push(at..end);
                at = end;
            }
            let slab = slab.freeze();
            self.slabs.waiting.push_back(slab.clone());
            slab
        }

        fn receive(&mut self, now: Instant, task: Task, slab: &Bytes, packet: Range<usize>) {
            let check = match task.sums {
                true => ChecksumCheck::Verify,
                false => ChecksumCheck::Trust,
            };
            let (_, segment) = decode_packet_with(&slab[packet], check).expect("a packet");
            let segment = segment.map_payload(|payload| slab.slice_ref(payload).into());
            self.tcp.handle_segment(now, Received { at: now, segment });
        }
    }

    impl End {
        /// Reads everything available into the front of `sink`, overwriting it.
        fn read(&mut self, now: Instant, sink: &mut [u8]) -> usize {
            let (mut all, mut at) = (0, 0);
            while let Some(piece) = self.tcp.read(now, CHUNK) {
                for piece in piece.pieces() {
                    if at + piece.len() > sink.len() {
                        at = 0;
                    }
                    sink[at..at + piece.len()].copy_from_slice(piece);
                    at += piece.len();
                    all += piece.len();
                }
                black_box(&mut *sink);
            }
            all
        }
    }

    pub fn transfer(task: Task) {
        let mut now = Instant::ZERO;
        let endpoints = Endpoints::V4 {
            src: [10, 0, 0, 1].into(),
            dst: [10, 0, 0, 2].into(),
        };
        let mut sender = End::new(Connection::connect(now, &config(task, 1, 2)), endpoints);
        let segment = sender.tcp.poll_transmit(now).expect("a SYN");
        let syn = Received { at: now, segment };
        let receiver = Connection::accept(now, &config(task, 2, 1), &syn).expect("a SYN opens");
        let mut receiver = End::new(receiver, endpoints.reversed());
        let source = vec![7; CHUNK];
        let mut sink = vec![0; CHUNK];
        let mut packets = Vec::new();
        let (mut written, mut read) = (0, 0);
        while read < task.bytes {
            now += Duration::from_micros(10);
            sender.tcp.handle_timeout(now);
            receiver.tcp.handle_timeout(now);
            while sender.tcp.state() == State::Established
                && written < task.bytes
                && sender.tcp.send_space() >= CHUNK as u64
            {
                let chunk = Bytes::copy_from_slice(black_box(&source));
                written += sender.tcp.write(chunk.into()).unwrap_or(0);
            }
            let slab = sender.send(now, task, &mut packets);
            for packet in packets.drain(..) {
                receiver.receive(now, task, &slab, packet);
            }
            drop(slab);
            read += receiver.read(now, &mut sink);
            let slab = receiver.send(now, task, &mut packets);
            for packet in packets.drain(..) {
                sender.receive(now, task, &slab, packet);
            }
        }
    }
}

/// smoltcp.
mod other {
    use std::collections::VecDeque;
    use std::hint::black_box;

    use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
    use smoltcp::phy::{
        ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken,
    };
    use smoltcp::socket::tcp::{Socket, SocketBuffer};
    use smoltcp::time::Instant;
    use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

    use super::{BUFFER, CHUNK, MTU, Task};

    /// Packets waiting for the other end, and free buffers.
    #[derive(Default)]
    struct Wire {
        incoming: VecDeque<Vec<u8>>,
        outgoing: VecDeque<Vec<u8>>,
        free: Vec<Vec<u8>>,
        sums: bool,
    }

    struct Incoming<'a>(Vec<u8>, &'a mut Vec<Vec<u8>>);
    struct Outgoing<'a>(Vec<u8>, &'a mut VecDeque<Vec<u8>>);

    impl RxToken for Incoming<'_> {
        fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
            let result = f(&self.0);
            self.1.push(self.0);
            result
        }
    }

    impl TxToken for Outgoing<'_> {
        fn consume<R, F: FnOnce(&mut [u8]) -> R>(mut self, len: usize, f: F) -> R {
            self.0.resize(len, 0);
            let result = f(&mut self.0);
            self.1.push_back(self.0);
            result
        }
    }

    impl Device for Wire {
        type RxToken<'a> = Incoming<'a>;
        type TxToken<'a> = Outgoing<'a>;

        fn receive(&mut self, _: Instant) -> Option<(Incoming<'_>, Outgoing<'_>)> {
            let packet = self.incoming.pop_front()?;
            let buffer = self.free.pop().unwrap_or_default();
            let incoming = Incoming(packet, &mut self.free);
            Some((incoming, Outgoing(buffer, &mut self.outgoing)))
        }

        fn transmit(&mut self, _: Instant) -> Option<Outgoing<'_>> {
            let buffer = self.free.pop().unwrap_or_default();
            Some(Outgoing(buffer, &mut self.outgoing))
        }

        fn capabilities(&self) -> DeviceCapabilities {
            let mut capabilities = DeviceCapabilities::default();
            capabilities.medium = Medium::Ip;
            capabilities.max_transmission_unit = MTU;
            capabilities.checksum = match self.sums {
                true => ChecksumCapabilities::default(),
                false => ChecksumCapabilities::ignored(),
            };
            capabilities
        }
    }

    struct End {
        wire: Wire,
        interface: Interface,
        sockets: SocketSet<'static>,
        socket: SocketHandle,
    }

    impl End {
        fn new(task: Task, address: u8) -> Self {
            let mut wire = Wire {
                sums: task.sums,
                ..Wire::default()
            };
            let config = Config::new(HardwareAddress::Ip);
            let mut interface = Interface::new(config, &mut wire, Instant::ZERO);
            interface.update_ip_addrs(|all| {
                let address = IpCidr::new(IpAddress::v4(10, 0, 0, address), 24);
                all.push(address).expect("there is room for one");
            });
            let buffer = |len| SocketBuffer::new(vec![0; len]);
            let mut socket = Socket::new(buffer(2 * BUFFER), buffer(BUFFER));
            socket.set_nagle_enabled(false);
            let mut sockets = SocketSet::new(Vec::new());
            let socket = sockets.add(socket);
            Self {
                wire,
                interface,
                sockets,
                socket,
            }
        }

        fn poll(&mut self, now: Instant) {
            let Self {
                wire,
                interface,
                sockets,
                ..
            } = self;
            interface.poll(now, wire, sockets);
        }

        fn socket(&mut self) -> &mut Socket<'static> {
            self.sockets.get_mut(self.socket)
        }
    }

    pub fn transfer(task: Task) {
        let mut sender = End::new(task, 1);
        let mut receiver = End::new(task, 2);
        receiver.socket().listen(2).expect("it listens");
        let socket = sender.sockets.get_mut::<Socket>(sender.socket);
        let remote = (IpAddress::v4(10, 0, 0, 2), 2);
        socket
            .connect(sender.interface.context(), remote, 40_001)
            .expect("it connects");
        let source = vec![7; CHUNK];
        let mut sink = vec![0; CHUNK];
        let (mut written, mut read, mut micros) = (0, 0, 0);
        while read < task.bytes {
            micros += 10;
            let now = Instant::from_micros(micros);
            while written < task.bytes && sender.socket().can_send() {
                let socket = sender.socket();
                if socket.send_capacity() - socket.send_queue() < CHUNK {
                    break;
                }
                written += socket.send_slice(black_box(&source)).expect("it is open");
            }
            sender.poll(now);
            swap(&mut sender.wire, &mut receiver.wire);
            receiver.poll(now);
            while receiver.socket().can_recv() {
                read += receiver.socket().recv_slice(&mut sink).expect("it is open");
                black_box(&mut sink);
            }
            receiver.poll(now);
            swap(&mut receiver.wire, &mut sender.wire);
        }
    }

    /// Passes the packets of `from` to `to`; buffers that `to` no longer needs go back.
    fn swap(from: &mut Wire, to: &mut Wire) {
        to.incoming.append(&mut from.outgoing);
        from.free.append(&mut to.free);
    }
}
