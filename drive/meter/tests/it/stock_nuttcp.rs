//! The client against a stock nuttcp server: each direction, TCP and UDP, with its receiver's
//! counts.

use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::free_ports;
use gigatcp_meter::tester::{Outcome, Progress, Protocol, Request, Role, TestError, explain, run};
use gigatcp_protocol::iperf3::{Direction, ServerOutput, Transport};

/// `nuttcp -S` on a free port; not started if it is not installed.
struct StockServer {
    child: Child,
    port: u16,
    data_port: u16,
}

impl StockServer {
    fn start() -> Option<Self> {
        let data_port = free_ports();
        let port = data_port + 10;
        let child = Command::new("nuttcp")
            .args(["-S", "--nofork", "-P", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: nuttcp is not installed");
            return None;
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        // It listens once the port is in use; a connection would count as a client.
        while TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            assert!(Instant::now() < deadline, "nuttcp does not listen");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Self {
            child,
            port,
            data_port,
        })
    }

    fn request(&self) -> Request {
        let mut request = Request::new("127.0.0.1");
        request.protocol = Protocol::Nuttcp;
        request.port = self.port;
        request.data_port = self.data_port;
        request.parameters.time = 1;
        request.parameters.congestion = Some("reno".into());
        request.interval = Some(Duration::from_millis(250));
        request
    }
}

impl Drop for StockServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a test and checks that intervals add up to the total.
///
/// Also returns the number of the server's intervals.
fn tested(server: &StockServer, change: impl FnOnce(&mut Request)) -> (Outcome, usize) {
    let mut request = server.request();
    change(&mut request);
    let mut theirs = 0;
    // A stock server does not listen for a moment between two tests.
    let deadline = Instant::now() + Duration::from_secs(10);
    let ended = loop {
        let outcome = run(&request, &|| false, &mut |progress| {
            theirs += usize::from(matches!(progress, Progress::PeerInterval(_)));
        });
        match outcome {
            Err(TestError::Connect { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(50));
            }
            outcome => break outcome,
        }
    };
    let outcome = ended.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.cut_short, None);
    for (index, stream) in outcome.streams.iter().enumerate() {
        let parts = outcome.intervals.iter();
        let sum: u64 = parts.map(|interval| interval.streams[index].bytes).sum();
        assert_eq!(sum, stream.total.bytes, "intervals of stream {}", stream.id);
        assert!(sum > 0, "stream {} moved nothing", stream.id);
    }
    (outcome, theirs)
}

#[test]
fn tcp_agrees_to_the_byte_in_both_directions() {
    let Some(server) = StockServer::start() else {
        return;
    };
    for (direction, streams) in [
        (Direction::Forward, 1),
        (Direction::Forward, 3),
        (Direction::Reverse, 1),
        (Direction::Reverse, 2),
    ] {
        let (outcome, theirs) = tested(&server, |request| {
            request.parameters.direction = direction;
            request.parameters.parallel = streams;
            // One is unlimited.
            let is_paced = (direction, streams) != (Direction::Forward, 3);
            request.parameters.bandwidth = is_paced.then_some(400_000_000);
        });
        assert_eq!(outcome.streams.len(), streams as usize);
        let role = outcome.streams[0].role;
        assert!(outcome.received(role).unwrap() > 0);
        assert_eq!(outcome.sent(role), outcome.received(role), "{direction:?}");
        let is_forward = role == Role::Sender;
        assert_eq!(theirs >= 3, is_forward, "{theirs} intervals of the server");
        assert!(outcome.measured > Duration::from_millis(900));
        // This end's counters explain each stream; a stock server's are unknown.
        let explained = explain(&outcome);
        assert_eq!(explained.len(), streams as usize);
        assert!(explained.iter().all(|answer| !answer.has_both_ends));
    }
}

#[test]
fn an_amount_is_received_to_the_byte() {
    let Some(server) = StockServer::start() else {
        return;
    };
    for streams in [1, 3] {
        let amount = 12_345_678;
        let (outcome, _) = tested(&server, |request| {
            request.parameters.num = amount;
            request.parameters.parallel = streams;
            request.parameters.get_server_output = true;
        });
        assert_eq!(outcome.sent(Role::Sender), Some(amount));
        assert_eq!(outcome.received(Role::Sender), Some(amount));
        let peer = outcome.peer.unwrap();
        let Some(ServerOutput::Text(said)) = peer.server_output else {
            panic!("the server's lines were requested");
        };
        assert!(said.contains("nuttcp-r: 11.7738 MB in "), "{said}");
    }
}

#[test]
fn udp_counts_every_datagram_in_both_directions() {
    let Some(server) = StockServer::start() else {
        return;
    };
    for direction in [Direction::Forward, Direction::Reverse] {
        let (outcome, _) = tested(&server, |request| {
            request.parameters.transport = Transport::Udp;
            request.parameters.congestion = None;
            request.parameters.direction = direction;
            request.parameters.bandwidth = Some(2_000_000);
            request.parameters.len = Some(1000);
        });
        let stream = &outcome.streams[0];
        let peer = outcome.peer_of(stream).unwrap();
        let sent = match stream.role {
            Role::Sender => stream.total.datagrams,
            Role::Receiver => stream.total.expected,
        };
        assert_eq!(peer.packets, sent, "{direction:?}");
        // A busy machine may lose some: both ends then agree on the number.
        let lost = peer.errors + stream.total.lost;
        let received = outcome.received(stream.role).unwrap();
        assert_eq!(received, (sent - lost as u64) * 1000, "{direction:?}");
        let bits = 8.0 * stream.total.bytes as f64 / outcome.measured.as_secs_f64();
        assert!((1e6..2.2e6).contains(&bits), "{direction:?}: {bits}");
    }
}
