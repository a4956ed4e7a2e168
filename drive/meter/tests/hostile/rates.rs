//! `--total-rate` holds for what is sent and received, whatever a client announces.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, NuttcpConfig, Protocol, Request, ServerConfig, run};
use gigatcp_protocol::iperf3::datagram::CONNECT;
use gigatcp_protocol::iperf3::{Direction, ErrorCode, Limits, State};
use serde_json::json;

use super::common::{LOCALHOST, Running};
use super::stranger::{Stranger, server};

/// Total rate of the server, in bit/s.
const RATE: u64 = 8_000_000;

/// Bytes of a transfer, with headers: 0.7 s of the rate.
const AMOUNT: u64 = RATE / 8 * 7 / 10;

/// Maximum wait for more of them.
const SOON: Duration = Duration::from_secs(5);

/// Bytes that may be ahead of the rate: 0.1 s that was saved, and what is sent at a time.
const AHEAD: u64 = RATE / 8 / 5;

fn rules() -> Admission {
    Admission {
        limits: Limits {
            total_rate: RATE,
            ..Limits::default()
        },
        ..Admission::default()
    }
}

fn limited() -> Running {
    server(rules())
}

/// Checks that bytes, with their headers, did not come faster than the total rate since an instant.
fn assert_within_rate(bytes: u64, start: Instant) {
    let limit = AHEAD + (start.elapsed().as_secs_f64() * RATE as f64 / 8.0) as u64;
    assert!(bytes <= limit, "{bytes} bytes, limit {limit}");
}

/// Reads until a test has sent [`AMOUNT`], of which each byte read is `with_headers`; returns all.
fn receive(streams: &mut [TcpStream], with_headers: impl Fn(u64) -> u64) -> u64 {
    let (mut received, mut buffer) = (0, vec![0; 1 << 20]);
    while with_headers(received) < AMOUNT {
        for stream in &mut *streams {
            stream.set_read_timeout(Some(SOON)).unwrap();
            received += stream.read(&mut buffer).expect("the server sends") as u64;
        }
    }
    with_headers(received)
}

#[test]
fn burst_without_end_is_sent_at_the_announced_rate() {
    let server = limited();
    let mut stranger = Stranger::requests(
        &server,
        &json!({"tcp": true, "reverse": true, "parallel": 4, "bandwidth": RATE / 4,
            "burst": u32::MAX}),
    );
    assert_eq!(stranger.state(), State::CreateStreams);
    let start = Instant::now();
    let mut streams = stranger.open_streams(4);
    stranger.await_start();
    assert_within_rate(receive(&mut streams, |bytes| bytes), start);
}

/// Of a segment of 88 bytes with timestamps, 76 are payload and 52 headers.
#[test]
fn headers_of_small_segments_are_paid() {
    let server = limited();
    let mut stranger = Stranger::requests(
        &server,
        &json!({"tcp": true, "reverse": true, "parallel": 1, "bandwidth": RATE,
            "burst": u32::MAX, "MSS": 88}),
    );
    assert_eq!(stranger.state(), State::CreateStreams);
    let start = Instant::now();
    let mut streams = stranger.open_streams(1);
    stranger.await_start();
    let sent = receive(&mut streams, |bytes| bytes * (76 + 52) / 76);
    assert_within_rate(sent, start);
}

#[test]
fn burst_of_datagrams_without_end_is_sent_at_the_announced_rate() {
    let server = limited();
    let size = 1000;
    let payload_rate = RATE * size / (size + 28);
    let mut stranger = Stranger::requests(
        &server,
        &json!({"udp": true, "reverse": true, "parallel": 1, "bandwidth": payload_rate,
            "len": size, "burst": u32::MAX}),
    );
    assert_eq!(stranger.state(), State::CreateStreams);
    let start = Instant::now();
    let socket = open_datagrams(&server);
    stranger.await_start();
    let (mut received, mut buffer) = (0, [0; 2000]);
    while received < AMOUNT {
        received += socket.recv(&mut buffer).expect("the server sends") as u64 + 28;
    }
    assert_within_rate(received, start);
}

/// A UDP stream of the only test.
fn open_datagrams(server: &Running) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.send(&CONNECT).unwrap();
    socket.recv(&mut [0; 64]).expect("the server answers");
    socket
}

#[test]
fn client_that_sends_more_than_it_announced_is_held_to_its_rate() {
    let server = limited();
    let mut stranger = Stranger::requests(
        &server,
        &json!({"tcp": true, "parallel": 1, "bandwidth": 1}),
    );
    assert_eq!(stranger.state(), State::CreateStreams);
    let mut streams = stranger.open_streams(1);
    stranger.await_start();
    streams[0].set_nonblocking(true).unwrap();
    let block = vec![0; 1 << 20];
    // Until the server reads no more, which fills the buffers of both ends.
    let mut is_full = 0;
    let deadline = Instant::now() + Duration::from_secs(60);
    while is_full < 50 {
        assert!(Instant::now() < deadline, "the server reads on");
        match streams[0].write(&block) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                is_full += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            written => {
                is_full = 0;
                written.expect("the server keeps the stream");
            }
        }
    }
    drop(stranger);
    let received = server.outcome().streams[0].total.bytes;
    // The first blocks, and one read of 128 KiB beyond them.
    assert!(received <= 384 << 10, "{received} bytes");
}

#[test]
fn datagrams_beyond_the_announced_rate_end_the_test() {
    let server = limited();
    let mut stranger = Stranger::requests(
        &server,
        &json!({"udp": true, "parallel": 1, "bandwidth": 80_000, "len": 1000}),
    );
    assert_eq!(stranger.state(), State::CreateStreams);
    let socket = open_datagrams(&server);
    stranger.await_start();
    let start = Instant::now();
    let mut datagram = [0; 1000];
    stranger.control.set_nonblocking(true).unwrap();
    let mut number = 0_u32;
    // Far more than the server's rate, until it has ended the test.
    while stranger.control.peek(&mut [0]).is_err() {
        assert!(start.elapsed() < 4 * SOON, "it goes on");
        number += 1;
        datagram[8..12].copy_from_slice(&number.to_be_bytes());
        let _ = socket.send(&datagram);
    }
    stranger.control.set_nonblocking(false).unwrap();
    let code = ErrorCode::TOTAL_RATE.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn test_without_a_rate_is_refused() {
    let server = limited();
    let mut stranger = Stranger::requests(&server, &json!({"tcp": true, "parallel": 1}));
    let code = ErrorCode::TOTAL_RATE.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn burst_without_end_of_nuttcp_is_sent_at_the_announced_rate() {
    let server = Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission: rules(),
        nuttcp: Some(NuttcpConfig {
            port: 0,
            ..NuttcpConfig::default()
        }),
        ..ServerConfig::default()
    });
    let mut request = Request::new("127.0.0.1");
    request.protocol = Protocol::Nuttcp;
    request.port = server.nuttcp_at.expect("it is served").port();
    request.parameters.direction = Direction::Reverse;
    request.parameters.bandwidth = Some(RATE);
    request.parameters.burst = Some(u32::MAX);
    request.parameters.time = 1;
    let start = Instant::now();
    let outcome = run(&request, &|| false, &mut |_| {}).expect("a test");
    let received: u64 = outcome
        .streams
        .iter()
        .map(|stream| stream.total.bytes)
        .sum();
    assert_within_rate(received, start);
    assert!(received > 0);
}
