//! Bulk transfer in memory, this engine next to smoltcp: the same program over both.
//!
//!     CARGO_PROFILE_RELEASE_LTO=false \
//!         cargo run --release -p gigatcp-stack --example versus_smoltcp [MEGABYTES [ROUNDS]]
//!
//! Without the first line smoltcp has this workspace's release profile, which optimizes crates by
//! part, and is slower by a third than in a program of its own.
//!
//! One thread runs both ends. The sender writes 64 KiB at a time from its own buffer. Every
//! segment becomes an IPv4 packet of at most 1500 bytes, is passed as bytes and parsed again; the
//! receiver reads into its own buffer. Both hosts exchange everything once in 10 us of virtual
//! time. Send buffers hold 256 KiB. No packet is lost or delayed. The two stacks alternate, so that
//! disturbances of the machine affect both; the result is the ratio of each turn.
//!
//! The engine has its default configuration, and then one without what smoltcp lacks or has off by
//! default: timestamps, pacing, CUBIC.
//!
//! Time is this thread's CPU time, as Linux counts it; elsewhere it is wall-clock time.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a measurement needs a clock and its arguments"
)]

mod driver;

use std::process::Command;
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
    /// Whether mechanisms that smoltcp lacks are off.
    is_plain: bool,
}

/// Keeps glibc from `rep movsb`. With it some CPUs copy 4 KiB and more 20 times slower if the two
/// addresses differ by 1 to 31 bytes modulo 4096, so that the result would depend on the heap.
const COPIES: [&str; 2] = [
    "GLIBC_TUNABLES",
    "glibc.cpu.x86_rep_movsb_threshold=1000000000",
];

fn main() {
    let [name, value] = COPIES;
    if std::env::var_os(name).is_none() {
        let mut again = Command::new(std::env::current_exe().expect("it has a path"));
        let again = again.args(std::env::args().skip(1)).env(name, value);
        let status = again.status().expect("it starts");
        return assert!(status.success(), "{status}");
    }
    let mut words = std::env::args().skip(1).map(|word| word.parse());
    let mut number = |default| words.next().map_or(default, |word| word.expect("a number"));
    let (megabytes, rounds) = (number(1000), number(7));
    for is_plain in [false, true] {
        for sums in [true, false] {
            let task = Task {
                bytes: megabytes << 20,
                sums,
                is_plain,
            };
            let turns: Vec<[f64; 2]> = (0..rounds)
                .map(|_| [rate(task, engine::transfer), rate(task, other::transfer)])
                .collect();
            let ratio = median(turns.iter().map(|[ours, theirs]| ours / theirs).collect());
            let [ours, theirs] =
                [0, 1].map(|stack| median(turns.iter().map(|turn| turn[stack]).collect()));
            let config = if is_plain { "as smoltcp" } else { "default" };
            let what = if sums { "with" } else { "without" };
            println!(
                "{config}, {what} checksums: engine {ours:.1}, smoltcp {theirs:.1} Gbit/s, \
                 ratio {ratio:.2}"
            );
        }
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

/// This engine, driven as `docs/guide/embed.md` shows.
mod engine {
    use std::hint::black_box;

    use gigatcp_stack::wire::PacketPool;
    use gigatcp_stack::{
        ByteCount, Bytes, Duration, Endpoint, EndpointEvent, Instant, Profile, TransportConfig,
        congestion,
    };

    use super::{BUFFER, CHUNK, Task, driver};

    fn config(task: Task) -> TransportConfig {
        let config = TransportConfig::default()
            .with_send_buffer(ByteCount::new(BUFFER as u64))
            .with_receive_buffer(ByteCount::new(2 * BUFFER as u64));
        if !task.is_plain {
            return config;
        }
        config
            .with_congestion(congestion::find("reno").expect("Reno is registered"))
            .with_profile(Profile::MODERN.with(|profile| {
                profile.options.timestamps = false;
                profile.pacing.enabled = false;
            }))
    }

    fn pool(task: Task) -> PacketPool {
        if task.sums {
            PacketPool::default()
        } else {
            PacketPool::offloaded()
        }
    }

    /// Source of the stream: writes until the send buffer is full.
    struct Source {
        octets: Vec<u8>,
        /// What the last write did not take.
        left: Bytes,
        written: usize,
    }

    impl Source {
        fn write(&mut self, mut write: impl FnMut(Bytes) -> Option<usize>, total: usize) {
            while self.written < total {
                if self.left.is_empty() {
                    self.left = Bytes::copy_from_slice(black_box(&self.octets));
                }
                let Some(taken) = write(self.left.clone()) else {
                    return;
                };
                drop(self.left.split_to(taken));
                self.written += taken;
            }
        }
    }

    pub fn transfer(task: Task) {
        let mut now = Instant::ZERO;
        let [mut client, mut server] =
            [1, 2].map(|number| Endpoint::new(now, [number; 16], [[10, 0, 0, number].into()]));
        let [mut client_pool, mut server_pool] = [pool(task), pool(task)];
        let at = "10.0.0.2:2".parse().expect("an address");
        server.listen(at, config(task)).expect("the port is free");
        let stream = client.connect(now, at, config(task)).expect("it connects");
        let mut source = Source {
            octets: vec![7; CHUNK],
            left: Bytes::new(),
            written: 0,
        };
        let mut sink = vec![0; CHUNK];
        let mut packets = Vec::new();
        let mut read = 0;
        while read < task.bytes {
            now += Duration::from_micros(10);
            client.handle_timeout(now);
            server.handle_timeout(now);
            source.write(|left| client.write(now, stream, left).ok(), task.bytes);
            driver::send(&mut client, &mut client_pool, now, &mut packets);
            for packet in packets.drain(..) {
                driver::receive(&mut server, &server_pool, now, packet);
            }
            while let Some(event) = server.poll_event() {
                match event {
                    EndpointEvent::Acceptable(at) => drop(server.accept(now, at)),
                    EndpointEvent::Readable(stream) => {
                        while let Ok(len @ 1..) = server.read_into(now, stream, &mut sink) {
                            read += len;
                            black_box(&mut sink);
                        }
                    }
                    _ => {}
                }
            }
            driver::send(&mut server, &mut server_pool, now, &mut packets);
            for packet in packets.drain(..) {
                driver::receive(&mut client, &client_pool, now, packet);
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
            capabilities.checksum = if self.sums {
                ChecksumCapabilities::default()
            } else {
                ChecksumCapabilities::ignored()
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
