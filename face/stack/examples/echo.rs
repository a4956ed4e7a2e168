//! An echo server for any number of connections, driven by events only.
//!
//!     cargo run -p gigatcp-stack --example echo

mod network;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use gigatcp_stack::{Bytes, Duration, Endpoint, EndpointEvent, Handle, Instant, TransportConfig};
use network::{Network, Path, addresses};

const CLIENTS: usize = 200;
const QUESTION: &[u8] = b"is there an echo?";

/// Data read but not yet written back, by connection.
type Pending = BTreeMap<Handle, Bytes>;

pub fn main() {
    let path = Path {
        delay: Duration::from_millis(5),
        jitter: Duration::from_millis(5),
        loss: 0.02,
        duplication: 0.0,
    };
    let mut network = Network::new(path, 3);
    let at = SocketAddr::new(addresses()[1], 7);
    let config = Arc::new(TransportConfig::default());
    network.hosts[1]
        .listen(at, config.clone())
        .expect("the port is free");
    for _ in 0..CLIENTS {
        let now = network.now;
        let client = &mut network.hosts[0];
        let stream = client
            .connect(now, at, config.clone())
            .expect("a port is free");
        client.write(now, stream, QUESTION).expect("space");
    }
    let mut pending = Pending::new();
    let mut echoes = 0;
    while network.step() {
        let now = network.now;
        let [client, server] = &mut network.hosts;
        while let Some(event) = server.poll_event() {
            serve(now, server, event, &mut pending);
        }
        while let Some(event) = client.poll_event() {
            echoes += usize::from(ask(now, client, event));
        }
    }
    assert_eq!(echoes, CLIENTS);
    println!("{echoes} echoes in {:.2} s", network.now.as_secs_f64());
}

/// The server: accepts, and writes back what it reads.
fn serve(now: Instant, server: &mut Endpoint, event: EndpointEvent, pending: &mut Pending) {
    match event {
        EndpointEvent::Acceptable(at) => while server.accept(now, at).is_some() {},
        EndpointEvent::Readable(stream) | EndpointEvent::Writable(stream) => {
            echo(now, server, stream, pending);
        }
        EndpointEvent::Closed(stream, _) => {
            pending.remove(&stream);
            server.close(now, stream);
        }
        _ => {}
    }
}

/// Reads as long as the data read before could be written back.
fn echo(now: Instant, server: &mut Endpoint, stream: Handle, pending: &mut Pending) {
    loop {
        let piece = match pending.remove(&stream) {
            Some(piece) => piece,
            None => match server.read(now, stream, 4096) {
                Ok(Some(piece)) => piece,
                Ok(None) => return server.shutdown(now, stream),
                Err(_) => return,
            },
        };
        let taken = server.write(now, stream, piece.clone()).unwrap_or(0);
        if taken < piece.len() {
            pending.insert(stream, piece.slice(taken..));
            return;
        }
    }
}

/// A client: closes its side and reads the echo. Returns whether all of it arrived.
fn ask(now: Instant, client: &mut Endpoint, event: EndpointEvent) -> bool {
    match event {
        EndpointEvent::Connected(stream) => client.shutdown(now, stream),
        EndpointEvent::Closed(stream, failure) => {
            assert_eq!(failure, None);
            let mut buffer = [0; 100];
            let len = client.read_into(now, stream, &mut buffer).unwrap_or(0);
            assert_eq!(client.read_into(now, stream, &mut buffer), Ok(0));
            client.close(now, stream);
            return &buffer[..len] == QUESTION;
        }
        _ => {}
    }
    false
}
