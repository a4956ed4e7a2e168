//! Random transfers over random paths, by the public interface alone.

use std::net::SocketAddr;

use gigatcp_stack::{
    Bytes, Duration, Endpoint, Handle, Instant, Profile, ReadError, TransportConfig, WriteError,
};
use gigatcp_units::random::Stream;

use crate::network::{Network, Path, addresses};

/// Byte at a position of a stream. It is not periodic in any power of two.
fn octet(seed: u64, place: u64) -> u8 {
    ((place * 7 + place / 251 + seed) % 253) as u8
}

/// One end of a transfer: the data it writes, and its progress.
struct End {
    handle: Option<Handle>,
    seed: u64,
    total: u64,
    written: u64,
    read: u64,
    piece: usize,
    has_closed: bool,
    has_read_all: bool,
}

impl End {
    fn new(draw: &mut Stream, seed: u64, longest: u64) -> Self {
        Self {
            handle: None,
            seed,
            total: draw.bits() % longest,
            written: 0,
            read: 0,
            piece: 1 + (draw.bits() % 20_000) as usize,
            has_closed: false,
            has_read_all: false,
        }
    }

    /// Writes, closes and reads as much as possible now.
    fn act(&mut self, now: Instant, host: &mut Endpoint, peer_seed: u64) {
        let Some(handle) = self.handle else { return };
        while self.written < self.total {
            let until = self.total.min(self.written + self.piece as u64);
            let text: Vec<u8> = (self.written..until)
                .map(|place| octet(self.seed, place))
                .collect();
            match host.write(now, handle, Bytes::from(text)) {
                Ok(taken) => self.written += taken as u64,
                Err(WriteError::Full) => break,
                Err(error) => panic!("{error}"),
            }
        }
        let connection = host.connection(handle).expect("not released");
        let is_open = connection.established_at().is_some();
        if self.written == self.total && !self.has_closed && is_open {
            self.has_closed = true;
            host.shutdown(now, handle);
        }
        let mut buffer = vec![0; self.piece];
        loop {
            match host.read_into(now, handle, &mut buffer) {
                Ok(0) => {
                    self.has_read_all = true;
                    break;
                }
                Ok(len) => {
                    let expected = (self.read..).map(|place| octet(peer_seed, place));
                    assert!(buffer[..len].iter().copied().eq(expected.take(len)));
                    self.read += len as u64;
                }
                Err(ReadError::Empty) => break,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

/// Runs the transfer of `seed` and returns its number of packets.
fn transfer(seed: u64) -> u64 {
    let mut draw = Stream::new(seed, "transfer", 0);
    let path = Path {
        delay: Duration::from_micros(draw.bits() % 50_000),
        jitter: Duration::from_micros(draw.bits() % 20_000),
        loss: draw.uniform() * 0.08,
        duplication: draw.uniform() * 0.05,
    };
    let mut network = Network::new(path, seed);
    let mut config = |longest| {
        let profile = Profile::ALL[draw.bits() as usize % Profile::ALL.len()];
        let controls = gigatcp_tcp::congestion::REGISTRY;
        let config = TransportConfig::default()
            .with_profile(profile)
            .with_congestion(&controls[draw.bits() as usize % controls.len()])
            .with_mtu(576 + (draw.bits() % 925) as u32);
        (config, End::new(&mut draw, seed + longest, longest))
    };
    let (of_client, client) = config(60_000);
    let (of_server, server) = config(20_000);
    let mut ends = [client, server];
    let at = SocketAddr::new(addresses()[1], 80);
    network.hosts[1]
        .listen(at, of_server)
        .expect("no listener there");
    let opened = network.hosts[0].connect(Instant::ZERO, at, of_client);
    ends[0].handle = Some(opened.expect("a free port"));

    while ends.iter().any(|end| !end.has_read_all) {
        assert!(network.step(), "both hosts are silent");
        assert!(network.now < Instant::ZERO + Duration::from_secs(7200));
        let now = network.now;
        ends[1].handle = ends[1].handle.or_else(|| network.hosts[1].accept(now, at));
        let seeds = [ends[1].seed, ends[0].seed];
        for number in 0..2 {
            ends[number].act(now, &mut network.hosts[number], seeds[number]);
        }
    }
    assert_eq!([ends[0].read, ends[1].read], [ends[1].total, ends[0].total]);
    // After the release both connections end by themselves.
    for (host, end) in network.hosts.iter_mut().zip(&ends) {
        host.close(network.now, end.handle.expect("it was opened"));
    }
    while network.step() {}
    let mut hosts = network.hosts.iter();
    assert!(hosts.all(|host| host.counters().connections == 0));
    network.packets
}

#[test]
fn a_hundred_random_lossy_transfers_deliver_every_octet_and_end() {
    let packets: u64 = (0..100)
        .map(|seed| {
            let done = std::panic::catch_unwind(|| transfer(seed));
            done.unwrap_or_else(|_| panic!("transfer of seed {seed}"))
        })
        .sum();
    // Fewer would mean that hardly anything was sent.
    assert!(packets > 5_000, "{packets}");
}

#[test]
fn a_transfer_repeats_to_the_packet() {
    assert_eq!(transfer(3), transfer(3));
}
