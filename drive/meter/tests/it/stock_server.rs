//! The client against a stock iperf3 server: each direction, TCP and UDP, totals equal to the byte.

use std::time::{Duration, Instant};

use crate::common::{LOCALHOST, StockServer, bytes_of};
use gigatcp_meter::tester::{Outcome, Progress, Request, Role, run};
use gigatcp_protocol::iperf3::{Direction, Transport};
use serde_json::Value;

fn request(port: u16) -> Request {
    let mut request = Request::new("127.0.0.1");
    request.port = port;
    request.parameters.time = 1;
    request.parameters.congestion = Some("reno".into());
    request.interval = Some(Duration::from_millis(250));
    request
}

/// Runs a test and checks invariants.
///
/// Intervals add up to the total, and the server reports the same results as it sent.
fn tested(change: impl FnOnce(&mut Request)) -> Option<(Outcome, Value)> {
    let server = StockServer::start(LOCALHOST)?;
    let mut request = request(server.port);
    change(&mut request);
    let mut intervals = 0;
    let outcome = run(&request, &|| false, &mut |progress| {
        intervals += usize::from(matches!(progress, Progress::Interval(_)));
    })
    .unwrap_or_else(|error| panic!("{error}"));
    let theirs = server.end();
    assert_eq!(outcome.cut_short, None, "{theirs}");
    assert!(theirs["error"].is_null(), "{theirs}");
    for (index, stream) in outcome.streams.iter().enumerate() {
        let parts = outcome
            .intervals
            .iter()
            .filter(|interval| !interval.omitted);
        let sum: u64 = parts.map(|interval| interval.streams[index].bytes).sum();
        assert_eq!(sum, stream.total.bytes, "intervals of stream {}", stream.id);
        assert!(sum > 0, "stream {} moved nothing", stream.id);
    }
    Some((outcome, theirs))
}

#[test]
fn tcp_forward_with_two_streams_agrees_to_the_byte() {
    let Some((outcome, theirs)) = tested(|request| request.parameters.parallel = 2) else {
        return;
    };
    assert_eq!(outcome.streams.len(), 2);
    for (index, stream) in outcome.streams.iter().enumerate() {
        assert_eq!(stream.role, Role::Sender);
        let received = outcome.peer_of(stream).unwrap().bytes;
        assert_eq!(received, bytes_of(&theirs, index, "receiver"));
        assert!(received <= stream.total.bytes);
        assert_eq!(stream.options.congestion.as_deref(), Some("reno"));
    }
    assert!(outcome.intervals.len() >= 4, "{}", outcome.intervals.len());
}

#[test]
fn tcp_reverse_agrees_to_the_byte() {
    let reverse = |request: &mut Request| request.parameters.direction = Direction::Reverse;
    let Some((outcome, theirs)) = tested(reverse) else {
        return;
    };
    let stream = &outcome.streams[0];
    assert_eq!(stream.role, Role::Receiver);
    let sent = outcome.peer_of(stream).unwrap();
    assert_eq!(sent.bytes, bytes_of(&theirs, 0, "sender"));
    assert!(stream.total.bytes <= sent.bytes && sent.retransmits.is_some());
}

#[test]
fn tcp_in_both_directions_has_streams_of_both_roles() {
    let both = |request: &mut Request| request.parameters.direction = Direction::Bidirectional;
    let Some((outcome, _)) = tested(both) else {
        return;
    };
    let roles: Vec<Role> = outcome.streams.iter().map(|stream| stream.role).collect();
    assert_eq!(roles, [Role::Sender, Role::Receiver]);
}

#[test]
fn an_amount_is_sent_to_the_byte_and_ends_the_test() {
    let amount = 12_345_678;
    let Some((outcome, _)) = tested(|request| request.parameters.num = amount) else {
        return;
    };
    assert_eq!(outcome.sent(Role::Sender), Some(amount));
    assert!(outcome.measured < Duration::from_secs(1));
}

#[test]
fn omitted_seconds_are_in_no_total() {
    let Some((outcome, theirs)) = tested(|request| request.parameters.omit = 1) else {
        return;
    };
    let omitted = outcome.intervals.iter().filter(|interval| interval.omitted);
    assert_eq!(omitted.count(), 4);
    assert!(
        outcome.measured < Duration::from_millis(1300),
        "{:?}",
        outcome.measured
    );
    let stream = &outcome.streams[0];
    let received = outcome.peer_of(stream).unwrap().bytes;
    assert_eq!(received, bytes_of(&theirs, 0, "receiver"));
    assert!(received.abs_diff(stream.total.bytes) < stream.total.bytes / 20);
}

#[test]
fn a_rate_is_kept() {
    let paced = |request: &mut Request| request.parameters.bandwidth = Some(80_000_000);
    let Some((outcome, _)) = tested(paced) else {
        return;
    };
    let bits = 8.0 * outcome.streams[0].total.bytes as f64 / outcome.measured.as_secs_f64();
    assert!((bits / 80e6 - 1.0).abs() < 0.1, "{bits}");
}

#[test]
fn udp_in_both_directions_counts_every_datagram() {
    for direction in [
        Direction::Forward,
        Direction::Reverse,
        Direction::Bidirectional,
    ] {
        let Some((outcome, theirs)) = tested(|request| {
            request.parameters.transport = Transport::Udp;
            request.parameters.direction = direction;
            request.parameters.bandwidth = Some(2_000_000);
            request.parameters.len = Some(1000);
            request.parameters.parallel = 2;
        }) else {
            return;
        };
        for stream in &outcome.streams {
            let peer = outcome.peer_of(stream).unwrap();
            match stream.role {
                Role::Sender => assert_eq!(peer.packets, stream.total.datagrams, "{theirs}"),
                Role::Receiver => assert_eq!(stream.total.lost, 0),
            }
            let bits = 8.0 * stream.total.bytes as f64 / outcome.measured.as_secs_f64();
            assert!((bits / 2e6 - 1.0).abs() < 0.1, "{direction:?}: {bits}");
        }
    }
}

#[test]
fn a_busy_server_is_named() {
    let Some(server) = StockServer::start(LOCALHOST) else {
        return;
    };
    let mut long = request(server.port);
    long.parameters.time = 2;
    let port = server.port;
    let first = std::thread::spawn(move || run(&long, &|| false, &mut |_| {}));
    std::thread::sleep(Duration::from_millis(500));
    let second = run(&request(port), &|| false, &mut |_| {}).unwrap_err();
    assert_eq!(second.to_string(), "the server is busy running a test");
    assert!(first.join().unwrap().is_ok());
}

#[test]
fn an_interrupted_test_keeps_what_was_measured() {
    let Some(server) = StockServer::start(LOCALHOST) else {
        return;
    };
    let mut endless = request(server.port);
    endless.parameters.time = 0;
    let start = Instant::now();
    let stops = || start.elapsed() > Duration::from_millis(600);
    let outcome = run(&endless, &stops, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short.as_deref(), Some("interrupted"));
    assert!(outcome.sent(Role::Sender).unwrap() > 0);
    assert_eq!(outcome.peer, None);
    let theirs = server.end();
    assert_eq!(theirs["error"], "the client has terminated");
}
