//! Requests and responses: connections, memory, rate and work that a client can ask for.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, ServerConfig};
use gigatcp_protocol::iperf3::datagram::CONNECT;
use gigatcp_protocol::iperf3::{Cookie, ErrorCode, Limits, MAX_FLOWS, MAX_SIZE, State, Tag};
use serde_json::{Value, json};

use super::common::{LOCALHOST, Running};
use super::stranger::{Stranger, server};

/// Maximum wait for something that happens at once.
const SOON: Duration = Duration::from_secs(5);

fn transactions(mode: &str, flows: u32, request: u32, response: u32) -> Value {
    let transport = if mode == "udp_rr" { "udp" } else { "tcp" };
    json!({transport: true, "time": 30, "parallel": 1,
        "gigatcp": {"mode": mode, "flows": flows, "request": request, "response": response}})
}

/// Starts a test with all its connections.
fn start(server: &Running, parameters: &Value, flows: usize) -> (Stranger, Vec<TcpStream>) {
    let mut stranger = Stranger::requests(server, parameters);
    assert_eq!(stranger.state(), State::CreateStreams);
    let streams = stranger.open_streams(flows);
    stranger.await_start();
    (stranger, streams)
}

/// Whether the server has closed a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_read_timeout(Some(SOON)).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn transactions_beyond_the_limits_of_a_test_are_refused() {
    let limited = Admission {
        memory: Some(64 << 20),
        ..Admission::default()
    };
    let server = server(limited);
    for (parameters, code) in [
        (
            transactions("tcp_rr", MAX_FLOWS + 1, 1, 1),
            ErrorCode::NUM_STREAMS,
        ),
        (
            transactions("tcp_rr", 1, MAX_SIZE + 1, 1),
            ErrorCode::BLOCK_SIZE,
        ),
        (transactions("tcp_rr", 1, 1, 0), ErrorCode::BLOCK_SIZE),
        (transactions("udp_rr", 1, 15, 16), ErrorCode::BLOCK_SIZE),
        (
            transactions("udp_rr", 1, 16, MAX_SIZE),
            ErrorCode::BLOCK_SIZE,
        ),
        (
            transactions("sctp_rr", 1, 1, 1),
            ErrorCode::RECEIVE_PARAMETERS,
        ),
        // 36 KiB for each connection.
        (transactions("tcp_rr", 2000, 1, 1), ErrorCode::BUFFER_SIZE),
    ] {
        let mut stranger = Stranger::requests(&server, &parameters);
        let expected = (State::ServerError, Some(code.0));
        assert_eq!(stranger.answer(), Some(expected), "{parameters}");
    }
}

#[test]
fn source_has_at_most_half_of_the_connections_of_all_tests() {
    let server = server(Admission {
        connections: 20,
        ..Admission::default()
    });
    let mut refused = Stranger::requests(&server, &transactions("tcp_rr", 11, 1, 1));
    let code = ErrorCode::NUM_STREAMS.0;
    assert_eq!(refused.answer(), Some((State::ServerError, Some(code))));
    let from = |last| Ipv4Addr::new(127, 0, 0, last);
    let all = transactions("tcp_crr", 5, 1, 1);
    let mut first = Stranger::requests_from(from(1), &server, &all);
    assert_eq!(first.state(), State::CreateStreams);
    let mut second = Stranger::requests_from(from(1), &server, &all);
    server.wait_for(1);
    let mut other = Stranger::requests_from(from(2), &server, &all);
    assert_eq!(other.state(), State::CreateStreams);
    drop(first);
    assert_eq!(second.state(), State::CreateStreams);
}

#[test]
fn connections_beyond_the_flows_are_closed() {
    let server = server(Admission::default());
    let (stranger, mut streams) = start(&server, &transactions("tcp_rr", 2, 1, 1), 2);
    for mut stream in stranger.open_streams(3) {
        assert!(is_closed(&mut stream));
    }
    for stream in &mut streams {
        stream.write_all(&[0; 3]).unwrap();
        stream.read_exact(&mut [0; 3]).unwrap();
    }
    // Of connections for one transaction each, as many wait as may be used; the rest is closed.
    let (stranger, mut streams) = start(&server, &transactions("tcp_crr", 2, 1, 1), 2);
    for stream in &mut streams {
        stream.write_all(&[0]).unwrap();
        stream.read_exact(&mut [0]).unwrap();
    }
    let mut waiting = stranger.open_streams(4);
    for stream in &mut waiting[2..] {
        assert!(is_closed(stream));
    }
    // One that waits is served once another is closed.
    drop(streams.pop());
    waiting[0].write_all(&[0]).unwrap();
    waiting[0].read_exact(&mut [0]).unwrap();
}

/// 64 KiB for each byte that it sends, of which it reads nothing.
#[test]
fn client_that_floods_and_does_not_read_can_end_its_test_and_delays_no_other() {
    let server = server(Admission::default());
    let (mut stranger, streams) = start(&server, &transactions("tcp_rr", 8, 1, MAX_SIZE), 8);
    let flood: Vec<u8> = vec![0; 64 << 10];
    for mut stream in &streams {
        stream.set_nonblocking(true).unwrap();
        while stream.write(&flood).is_ok() {}
    }
    let begun = Instant::now();
    let (_other, mut streams_of_other) = start(&server, &transactions("tcp_rr", 1, 1, 1), 1);
    streams_of_other[0].write_all(&[0]).unwrap();
    streams_of_other[0].read_exact(&mut [0]).unwrap();
    stranger.send_state(State::TestEnd);
    assert_eq!(stranger.state(), State::ExchangeResults);
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

/// The kernel would send them for minutes, in memory that no limit counts.
#[test]
fn responses_that_a_client_does_not_read_are_dropped_at_the_end_of_its_test() {
    let server = server(Admission::default());
    let (mut stranger, mut streams) = start(&server, &transactions("tcp_rr", 4, 1, MAX_SIZE), 4);
    for stream in &mut streams {
        stream.write_all(&[0; 8]).unwrap();
    }
    stranger.send_state(State::TestEnd);
    assert_eq!(stranger.state(), State::ExchangeResults);
    for stream in &mut streams {
        stream.set_read_timeout(Some(SOON)).unwrap();
        let ended = std::io::copy(stream, &mut std::io::sink()).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
    }
}

/// Messages of one byte cost the headers of their segments.
#[test]
fn responses_are_paid_from_the_total_rate() {
    const RATE: u64 = 2_000_000;
    let server = server(Admission {
        limits: Limits {
            total_rate: RATE,
            ..Limits::default()
        },
        ..Admission::default()
    });
    let mut parameters = transactions("tcp_rr", 2, 1, 1);
    let mut refused = Stranger::requests(&server, &parameters);
    let code = ErrorCode::TOTAL_RATE.0;
    assert_eq!(refused.answer(), Some((State::ServerError, Some(code))));
    parameters["bandwidth"] = RATE.into();
    let (_stranger, mut streams) = start(&server, &parameters, 2);
    let begun = Instant::now();
    let mut responses = 0;
    while begun.elapsed() < Duration::from_millis(500) {
        for stream in &mut streams {
            // More than the rate carries, at once.
            stream.write_all(&[0; 1000]).unwrap();
            stream.read_exact(&mut [0; 1000]).unwrap();
            responses += 1000;
        }
    }
    // A request and its response are 242 bytes; a read of many is paid before the next one.
    let paid = responses * 242 * 8;
    let limit = RATE as f64 * (begun.elapsed().as_secs_f64() + 0.2) + 2.0 * 1000.0 * 242.0 * 8.0;
    assert!(
        paid as f64 <= limit,
        "{responses} responses in {:?}",
        begun.elapsed()
    );
}

/// Of a segment of 88 bytes with timestamps, 76 are payload; its acknowledgment is paid too.
#[cfg(target_os = "linux")]
#[test]
fn headers_of_small_segments_are_paid() {
    const RATE: u64 = 4_000_000;
    let server = server(Admission {
        limits: Limits {
            total_rate: RATE,
            ..Limits::default()
        },
        ..Admission::default()
    });
    let mut parameters = transactions("tcp_rr", 1, 1, MAX_SIZE);
    parameters["bandwidth"] = RATE.into();
    let mut stranger = Stranger::requests(&server, &parameters);
    assert_eq!(stranger.state(), State::CreateStreams);
    let mut stream = stranger.open_stream_of_segments(88);
    stranger.await_start();
    let begun = Instant::now();
    let responses = 5;
    for _ in 0..responses {
        stream.write_all(&[0]).unwrap();
        stream.read_exact(&mut [0; MAX_SIZE as usize]).unwrap();
    }
    // The last one need not be paid yet.
    let paid = (responses - 1) * u64::from(MAX_SIZE) / 76 * (76 + 2 * 52) * 8;
    let limit = RATE as f64 * (begun.elapsed().as_secs_f64() + 0.2);
    assert!(paid as f64 <= limit, "{:?}", begun.elapsed());
}

#[test]
fn test_whose_connections_do_not_come_is_ended() {
    let server = Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission: Admission::default(),
        ..ServerConfig::default()
    });
    let mut stranger = Stranger::requests(&server, &transactions("tcp_rr", 2, 1, 1));
    assert_eq!(stranger.state(), State::CreateStreams);
    let _one = stranger.open_streams(1);
    stranger.control.set_read_timeout(Some(3 * SOON)).unwrap();
    let code = ErrorCode::STREAM_ACCEPT.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn request_over_udp_without_the_tag_of_its_test_has_no_response() {
    let server = server(Admission::default());
    let mut stranger = Stranger::requests(&server, &transactions("udp_rr", 1, 16, 60_000));
    assert_eq!(stranger.state(), State::CreateStreams);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let mut answer = [0; 65_536];
    // The answer to the first message may be lost: each one has its own.
    for _ in 0..2 {
        socket.send(&CONNECT).unwrap();
        assert_eq!(socket.recv(&mut answer).unwrap(), 4);
    }
    stranger.await_start();
    let tag = Tag::of(&Cookie::from_bytes(stranger.cookie));
    let mut request = [0; 16];
    for wrong in [&b"................"[..], b"", &stranger.cookie[..8]] {
        socket.send(wrong).unwrap();
    }
    tag.write(7, &mut request);
    socket.send(&request).unwrap();
    // Only that request has a response.
    let length = socket.recv(&mut answer).unwrap();
    assert_eq!((length, tag.read(&answer[..length])), (60_000, Some(7)));
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut answer).is_err());
}
