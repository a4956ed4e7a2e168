//! Memory and CPU cost of idle connections: N of them between two hosts in memory, for one hour.
//!
//!     cargo run --release -p gigatcp-stack --example idle -- 1000000
//!
//! A million take 1.91 GB (x86-64 Linux, glibc), 1,913 bytes each: 1,528 for the connection, 240
//! for its congestion control (CUBIC), the rest for names, timers and the allocator.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as Clock;

use gigatcp_stack::{Duration, Endpoint, Handle, Instant, Profile, State, TransportConfig};

/// Connections from one client address: the ephemeral range has 16,384 ports.
const PER_ADDRESS: usize = 16_000;

pub fn main() {
    let wanted: usize = std::env::args().nth(1).map_or(1000, |number| {
        number.parse().expect("a number of connections")
    });
    let empty = resident();
    let began = Clock::now();
    let now = Instant::ZERO;
    // Without keep-alives, so that nothing is sent.
    let profile = Profile::MODERN.with(|profile| profile.liveness.keepalive = false);
    let config = Arc::new(TransportConfig::default().with_profile(profile));
    let at = SocketAddr::new([10, 255, 0, 1].into(), 80);
    let mut server = Endpoint::new(now, [2; 16], [at.ip()]);
    server
        .listen(at, config.clone())
        .expect("no listener there");
    let mut accepted = 0;
    for address in 0..wanted.div_ceil(PER_ADDRESS) {
        let local = [10, 0, (address >> 8) as u8, address as u8].into();
        let mut client = Endpoint::new(now, [1; 16], [local]);
        let count = PER_ADDRESS.min(wanted - accepted);
        for _ in 0..count {
            let stream = client
                .connect(now, at, config.clone())
                .expect("a port is free");
            handshake(now, &mut client, &mut server, stream);
            accepted += usize::from(server.accept(now, at).is_some());
        }
        // The clients go; the server's connections stay.
    }
    assert_eq!(accepted, wanted);
    while server.poll_transmit(now).is_some() || server.poll_event().is_some() {}
    let opened = began.elapsed();
    let grown = resident().saturating_sub(empty);
    println!(
        "{accepted} connections: {grown} bytes, {} each, opened in {:.2} s",
        grown / accepted as u64,
        opened.as_secs_f64()
    );

    let began = Clock::now();
    let later = now + Duration::from_secs(3600);
    while let Some(due) = server.poll_timeout().filter(|due| *due <= later) {
        server.handle_timeout(due);
        while server.poll_transmit(due).is_some() {}
    }
    println!("an hour passes in {:.3} s", began.elapsed().as_secs_f64());
}

/// SYN, SYN-ACK, ACK.
fn handshake(now: Instant, client: &mut Endpoint, server: &mut Endpoint, stream: Handle) {
    for _ in 0..3 {
        while let Some((endpoints, segment)) = client.poll_transmit(now) {
            server.handle_segment(now, endpoints, segment);
        }
        while let Some((endpoints, segment)) = server.poll_transmit(now) {
            client.handle_segment(now, endpoints, segment);
        }
    }
    let connection = client.connection(stream).expect("it was not released");
    assert!(connection.state() == State::Established);
}

/// Resident memory of the process in bytes (Linux; otherwise 0).
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = status
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok());
    pages.unwrap_or(0) * 4096
}
