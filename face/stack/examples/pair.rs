//! Two hosts in memory: one connects, sends a file and closes; the other reads it.
//!
//!     cargo run -p gigatcp-stack --example pair

mod network;

use std::net::SocketAddr;

use gigatcp_stack::{Bytes, Duration, EndpointEvent, TransportConfig, WriteError};
use network::{Network, Path, addresses};

const OCTETS: usize = 1_000_000;

pub fn main() {
    let path = Path {
        delay: Duration::from_millis(10),
        jitter: Duration::ZERO,
        loss: 0.0,
        duplication: 0.0,
    };
    let mut network = Network::new(path, 1);
    let at = SocketAddr::new(addresses()[1], 5001);
    let config = TransportConfig::default();
    network.hosts[1]
        .listen(at, config.clone())
        .expect("the port is free");
    let sender = network.hosts[0]
        .connect(network.now, at, config.clone())
        .expect("a port is free");

    let mut left = Bytes::from(vec![7; OCTETS]);
    let mut received = 0;
    while network.step() {
        let now = network.now;
        // The sender writes whenever there is space, and closes after the last octet.
        let [client, server] = &mut network.hosts;
        match client.write(now, sender, left.clone()) {
            Ok(0) => client.shutdown(now, sender),
            Ok(taken) => drop(left.split_to(taken)),
            Err(WriteError::Full | WriteError::Closed) => {}
            Err(error) => panic!("the sender failed: {error}"),
        }
        // The receiver reads at each event.
        while let Some(event) = server.poll_event() {
            match event {
                EndpointEvent::Acceptable(at) => drop(server.accept(now, at)),
                EndpointEvent::Readable(stream) => {
                    while let Ok(Some(piece)) = server.read(now, stream, usize::MAX) {
                        received += piece.len();
                    }
                    if server.read(now, stream, 1) == Ok(None) {
                        println!("{received} bytes after {:.3} s", now.as_secs_f64());
                        server.close(now, stream);
                    }
                }
                _ => {}
            }
        }
        while let Some(event) = client.poll_event() {
            if let EndpointEvent::Closed(stream, failure) = event {
                assert_eq!(failure, None);
                client.close(now, stream);
            }
        }
    }
    assert_eq!(received, OCTETS);
    println!("{} packets; both hosts are silent", network.packets);
}
