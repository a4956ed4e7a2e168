//! Two endpoints whose packets are octets: what is read is compared with what was written.
//!
//! The octets choose the calls at both ends and the events on the path: packets are lost,
//! reordered, duplicated, changed by a bit, or are random octets. Then the path becomes perfect:
//! everything written must arrive, unless a connection failed or was released.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use gigatcp_tcp::{Endpoint, Handle, Profile, ReadError, TransportConfig};
use gigatcp_units::{Bytes as Size, Duration, Instant};
use gigatcp_wire::bytes::Bytes;
use gigatcp_wire::{ChecksumFill, IpHeader, Segment, decode_packet, encode_packet, packet_len};

use crate::octets::Octets;

/// Maximum number of connections of a host.
const MOST: usize = 8;

/// Maximum virtual time until everything arrives: many timeouts, each twice the one before.
const PATIENCE: Duration = Duration::from_secs(2000);

/// Connection of a host.
struct Socket {
    handle: Handle,
    /// Ports, the local one first.
    ports: [u16; 2],
    written: u64,
    read: u64,
    /// Whether comparison has ended: released, aborted, or failed.
    is_over: bool,
}

/// Host, and the expected state of its connections.
struct Host {
    endpoint: Endpoint<Bytes>,
    sockets: Vec<Socket>,
}

struct Network {
    now: Instant,
    hosts: [Host; 2],
    config: Arc<TransportConfig>,
    addresses: [IpAddr; 2],
    /// Destination host and packet.
    packets: Vec<(usize, Vec<u8>)>,
    delivered: u64,
}

/// Drives two endpoints; returns the octets read and compared.
pub fn drive(octets: &[u8]) -> u64 {
    let mut choices = Octets::new(octets);
    let mut network = Network::new(&mut choices);
    while !choices.is_empty() {
        network.step(&mut choices);
        network.send();
    }
    network.settle();
    network.delivered
}

/// Octet at `offset` of the stream from port `from` to port `to`.
fn octet(from: u16, to: u16, offset: u64) -> u8 {
    let mixed = (offset + u64::from(from) * 3 + u64::from(to)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 56) as u8
}

impl Network {
    fn new(choices: &mut Octets<'_>) -> Self {
        let addresses = match choices.one_in(2) {
            true => ["10.0.0.1", "10.0.0.2"],
            false => ["2001:db8::1", "2001:db8::2"],
        }
        .map(|text| text.parse().expect("an address"));
        let profile = choices.pick(&[
            Profile::MODERN,
            Profile::LINUX_6_18,
            Profile::FREEBSD,
            Profile::BSD_4_3_RENO,
        ]);
        let buffer = choices.pick(&[4_000, 20_000, 300_000]);
        let config = Arc::new(
            TransportConfig::default()
                .with_profile(profile)
                .with_mtu(choices.pick(&[576, 1500, 9000]))
                .with_send_buffer(Size::new(buffer))
                .with_receive_buffer(Size::new(choices.pick(&[4_000, 20_000, 300_000]))),
        );
        let hosts = [0, 1].map(|number| {
            let secret = [number as u8; 16];
            let mut endpoint = Endpoint::new(Instant::ZERO, secret, [addresses[number]]);
            let at = SocketAddr::new(addresses[number], 80);
            endpoint
                .listen(at, config.clone())
                .expect("the port is free");
            Host {
                endpoint,
                sockets: Vec::new(),
            }
        });
        Self {
            now: Instant::ZERO,
            hosts,
            config,
            addresses,
            packets: Vec::new(),
            delivered: 0,
        }
    }

    /// Performs one call, or one event of the path.
    fn step(&mut self, choices: &mut Octets<'_>) {
        let host = choices.below(2) as usize;
        match choices.below(16) {
            0 => self.connect(host, choices.pick(&[80, 80, 80, 81])),
            1 => self.accept(host),
            2..4 => self.write(host, choices),
            4 => {
                let most = choices.word();
                self.each(host, |network, index| {
                    network.read(host, index, most.into())
                });
            }
            5 => self.end(host, choices),
            6 => self.advance(Duration::from_millis(choices.word().into())),
            7 => drop(self.timer()),
            kind => self.packet(kind, choices),
        }
    }

    fn connect(&mut self, host: usize, port: u16) {
        if self.hosts[host].sockets.len() >= MOST {
            return;
        }
        let remote = SocketAddr::new(self.addresses[1 - host], port);
        let endpoint = &mut self.hosts[host].endpoint;
        if let Ok(handle) = endpoint.connect(self.now, remote, self.config.clone()) {
            self.hosts[host].add(handle);
        }
    }

    fn accept(&mut self, host: usize) {
        let at = SocketAddr::new(self.addresses[host], 80);
        while let Some(handle) = self.hosts[host].endpoint.accept(self.now, at) {
            self.hosts[host].add(handle);
        }
    }

    fn write(&mut self, host: usize, choices: &mut Octets<'_>) {
        let Some(index) = self.hosts[host].choose(choices) else {
            return;
        };
        let Host { endpoint, sockets } = &mut self.hosts[host];
        let socket = &mut sockets[index];
        let ([from, to], start) = (socket.ports, socket.written);
        let end = start + u64::from(choices.word());
        let text: Vec<u8> = (start..end).map(|at| octet(from, to, at)).collect();
        let length = text.len();
        if let Ok(taken) = endpoint.write(self.now, socket.handle, text) {
            assert!(taken <= length, "{taken} octets taken of {length}");
            socket.written += taken as u64;
        }
    }

    /// Reads at most `most` octets of a connection and compares them.
    fn read(&mut self, host: usize, index: usize, most: usize) {
        let Host { endpoint, sockets } = &mut self.hosts[host];
        let socket = &mut sockets[index];
        let [own, peer] = socket.ports;
        let mut into = vec![0; most.max(1)];
        match endpoint.read_into(self.now, socket.handle, &mut into) {
            Ok(length) => {
                for (place, read) in into[..length].iter().enumerate() {
                    let at = socket.read + place as u64;
                    assert_eq!(*read, octet(peer, own, at), "octet {at} of the stream");
                }
                socket.read += length as u64;
                self.delivered += length as u64;
            }
            Err(ReadError::Failed(_) | ReadError::Closed) => socket.is_over = true,
            Err(_) => {}
        }
    }

    /// Closes, releases or aborts a connection.
    fn end(&mut self, host: usize, choices: &mut Octets<'_>) {
        let Some(index) = self.hosts[host].choose(choices) else {
            return;
        };
        let Host { endpoint, sockets } = &mut self.hosts[host];
        let socket = &mut sockets[index];
        match choices.below(8) {
            0 => endpoint.abort(self.now, socket.handle),
            1..3 => endpoint.close(self.now, socket.handle),
            _ => return endpoint.shutdown(self.now, socket.handle),
        }
        socket.is_over = true;
    }

    /// Delivers, drops, duplicates or changes one of the packets on the path.
    fn packet(&mut self, kind: u32, choices: &mut Octets<'_>) {
        if kind == 15 {
            let length = choices.below(64);
            let noise: Vec<u8> = (0..length).map(|_| choices.octet()).collect();
            return self.arrive(choices.below(2) as usize, &noise);
        }
        if self.packets.is_empty() {
            return;
        }
        let place = choices.below(self.packets.len().min(255) as u32) as usize;
        let (to, mut packet) = self.packets[place].clone();
        match kind {
            14 => {
                // The part covered by TCP's checksum, which detects every single bit.
                let header = if packet[0] >> 4 == 4 { 20 } else { 40 };
                let at = header + choices.below((packet.len() - header) as u32) as usize;
                packet[at] ^= 1 << choices.below(8);
                assert!(decode_packet(&packet).is_err(), "a changed packet was read");
                self.arrive(to, &packet);
            }
            13 => self.arrive(to, &packet),
            12 => drop(self.packets.remove(place)),
            _ => {
                self.packets.remove(place);
                self.arrive(to, &packet);
            }
        }
    }

    fn arrive(&mut self, to: usize, packet: &[u8]) {
        if let Ok((ip, segment)) = decode_packet(packet) {
            let owned = segment.map_payload(Bytes::copy_from_slice);
            self.hosts[to]
                .endpoint
                .handle_segment(self.now, ip.endpoints, owned);
        }
    }

    /// Sends everything that may leave.
    fn send(&mut self) {
        for from in 0..2 {
            while let Some((endpoints, segment)) = self.hosts[from].endpoint.poll_transmit(self.now)
            {
                let ip = IpHeader::new(endpoints);
                for segment in segment.into_wire_segments() {
                    self.fly(from, &ip, &segment);
                }
            }
            while self.hosts[from].endpoint.poll_event().is_some() {}
        }
    }

    fn fly(&mut self, from: usize, ip: &IpHeader, segment: &Segment<Bytes>) {
        let mut packet = vec![0; packet_len(ip, segment).expect("its options fit")];
        encode_packet(ip, segment, ChecksumFill::Whole, &mut packet).expect("it fits a packet");
        self.packets.push((1 - from, packet));
    }

    fn advance(&mut self, time: Duration) {
        self.now += time;
        for host in &mut self.hosts {
            let due = host.endpoint.poll_timeout();
            if due.is_some_and(|due| due <= self.now) {
                host.endpoint.handle_timeout(self.now);
            }
        }
    }

    /// Advances to the next timer; returns `false` if there is none.
    fn timer(&mut self) -> bool {
        let hosts = self.hosts.iter();
        let timers = hosts.filter_map(|host| host.endpoint.poll_timeout());
        let Some(next) = timers.min() else {
            return false;
        };
        self.advance(next.saturating_since(self.now));
        true
    }

    /// Calls `action` for each connection of a host.
    fn each(&mut self, host: usize, mut action: impl FnMut(&mut Self, usize)) {
        for index in 0..self.hosts[host].sockets.len() {
            action(self, index);
        }
    }

    /// Makes the path perfect and lets both applications read: everything written must arrive.
    fn settle(&mut self) {
        let end = self.now + PATIENCE;
        loop {
            for (to, packet) in std::mem::take(&mut self.packets) {
                self.arrive(to, &packet);
            }
            for host in 0..2 {
                self.accept(host);
                self.each(host, |network, index| network.read(host, index, 1 << 16));
            }
            self.send();
            if self.packets.is_empty() && (self.is_settled() || self.now > end || !self.timer()) {
                break;
            }
            self.send();
        }
        assert!(self.is_settled(), "what was written did not arrive");
    }

    /// Whether every connection that still has both ends is read to the end.
    fn is_settled(&self) -> bool {
        let [left, right] = [0, 1].map(|host| &self.hosts[host].sockets);
        left.iter().all(|one| {
            let mirrored = [one.ports[1], one.ports[0]];
            right
                .iter()
                .filter(|peer| peer.ports == mirrored)
                .all(|other| {
                    let is_over = one.is_over || other.is_over;
                    is_over || (one.read == other.written && other.read == one.written)
                })
        })
    }
}

impl Host {
    fn add(&mut self, handle: Handle) {
        let Some((local, remote)) = self.endpoint.addresses(handle) else {
            return;
        };
        self.sockets.push(Socket {
            ports: [local.port(), remote.port()],
            handle,
            written: 0,
            read: 0,
            is_over: false,
        });
    }

    fn choose(&self, choices: &mut Octets<'_>) -> Option<usize> {
        let count = self.sockets.len() as u32;
        (count > 0).then(|| choices.below(count) as usize)
    }
}
