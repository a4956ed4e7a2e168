//! A transfer over a path that loses and reorders packets, under several congestion
//! controls.
//!
//!     cargo run -p gigatcp-stack --example lossy

mod network;

use std::net::SocketAddr;

use gigatcp_stack::{Bytes, Duration, TransportConfig, congestion};
use network::{Network, Path, addresses};

const OCTETS: usize = 1_000_000;

pub fn main() {
    let path = Path {
        delay: Duration::from_millis(20),
        jitter: Duration::from_millis(2),
        loss: 0.01,
        duplication: 0.001,
    };
    for name in ["reno", "cubic", "bbr"] {
        let control = congestion::find(name).expect("a control of this name");
        transfer(path, TransportConfig::default().with_congestion(control));
    }
}

fn transfer(path: Path, config: TransportConfig) {
    let name = config.congestion.name().to_owned();
    let mut network = Network::new(path, 7);
    let at = SocketAddr::new(addresses()[1], 5001);
    network.hosts[1]
        .listen(at, config.clone())
        .expect("the port is free");
    let sender = network.hosts[0]
        .connect(network.now, at, config.clone())
        .expect("a port is free");
    let mut left = Bytes::from(vec![7; OCTETS]);
    let mut receiver = None;
    let mut received = 0;
    while received < OCTETS {
        assert!(network.step(), "both hosts are silent");
        let now = network.now;
        let [client, server] = &mut network.hosts;
        if let Ok(taken) = client.write(now, sender, left.clone()) {
            drop(left.split_to(taken));
        }
        receiver = receiver.or_else(|| server.accept(now, at));
        let Some(receiver) = receiver else { continue };
        while let Ok(Some(piece)) = server.read(now, receiver, usize::MAX) {
            received += piece.len();
        }
    }
    let connection = network.hosts[0].connection(sender).expect("it is there");
    let counters = connection.counters();
    println!(
        "{name:>6}: {:.2} Mbit/s, {} retransmissions, {} timeouts",
        received as f64 * 8.0 / network.now.as_secs_f64() / 1e6,
        counters.retransmitted_segments,
        counters.timeouts,
    );
}
