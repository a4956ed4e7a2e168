//! Memory is counted before a test begins, what a client sends is read in a bounded part of it, and
//! the process that serves has no more.

#[cfg(target_os = "linux")]
use std::{
    io::Write,
    net::Ipv4Addr,
    time::{Duration, Instant},
};

#[cfg(target_os = "linux")]
use gigatcp_linux::socket::queues;
use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::{ErrorCode, State};
use serde_json::{Value, json};

#[cfg(target_os = "linux")]
use super::process::Process;
use super::stranger::{Stranger, server};

/// Memory of the server's tests.
const MEMORY: u64 = 192 << 20;

fn reverse(streams: u32, block: u32) -> Value {
    json!({"tcp": true, "reverse": true, "parallel": streams, "len": block, "time": 10})
}

fn limited() -> Admission {
    Admission {
        memory: Some(MEMORY),
        queue: 1,
        ..Admission::default()
    }
}

#[test]
fn streams_beyond_the_memory_are_refused_with_the_reason() {
    let server = server(limited());
    // The blocks alone would take 128 MiB.
    let mut stranger = Stranger::requests(&server, &reverse(128, 1 << 20));
    let code = ErrorCode::NUM_STREAMS.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
    let reason = server.refusal();
    assert!(reason.contains("memory of 128 streams"), "{reason}");
    assert!(reason.contains("limit 192 MiB"), "{reason}");
}

#[test]
fn test_waits_while_others_occupy_the_memory() {
    let server = server(limited());
    let window = json!({"tcp": true, "reverse": true, "parallel": 70, "len": 1 << 20, "time": 10,
        "window": 65_536});
    let mut first = Stranger::requests(&server, &window);
    assert_eq!(first.state(), State::CreateStreams);
    let mut second = Stranger::requests(&server, &window);
    server.wait_for(1);
    drop(first);
    assert_eq!(second.state(), State::CreateStreams);
}

#[test]
fn results_above_256_kib_are_refused() {
    let server = server(Admission::default());
    let mut stranger = Stranger::requests(&server, &json!({"tcp": true, "parallel": 1}));
    assert_eq!(stranger.state(), State::CreateStreams);
    let _streams = stranger.open_streams(1);
    stranger.await_start();
    stranger.send_state(State::TestEnd);
    assert_eq!(stranger.state(), State::ExchangeResults);
    // Its length alone ends the test.
    stranger.send_length((256 << 10) + 1);
    assert_eq!(stranger.answer(), None);
}

/// Memory of a server in whose test a client has these connections and reads nothing, beyond that
/// before.
#[cfg(target_os = "linux")]
fn growth(parameters: &Value, connections: usize, request: &[u8]) -> u64 {
    let server = Process::start();
    let before = server.resident();
    let mut stranger = Stranger::requests_at(Ipv4Addr::LOCALHOST, server.at, parameters);
    assert_eq!(stranger.state(), State::CreateStreams);
    let streams = stranger.open_streams(connections);
    stranger.await_start();
    for mut stream in &streams {
        stream.write_all(request).unwrap();
    }
    // Until all of them have data that waits, and no more comes.
    let mut waiting = Vec::new();
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        assert!(Instant::now() < deadline, "never unread: {waiting:?}");
        std::thread::sleep(Duration::from_millis(10));
        let lengths = streams.iter().map(|stream| queues(stream).unwrap()[0]);
        let unread: Vec<u64> = lengths.collect();
        if unread.iter().all(|bytes| *bytes > 0) && unread == waiting {
            return server.resident().saturating_sub(before);
        }
        waiting = unread;
    }
}

/// The counted memory without the kernel's buffers, which are not the process's.
#[cfg(target_os = "linux")]
#[test]
fn resident_memory_is_within_what_is_counted() {
    // 8 MiB, and for each stream its block, 128 KiB, and its part of the readings (64 MiB).
    let streams = growth(&reverse(128, 1 << 20), 128, &[]);
    assert!(streams <= (8 + 64 + 128 + 16) << 20, "{streams} bytes");
    let requests = json!({"tcp": true, "time": 30, "parallel": 1, "gigatcp":
        {"mode": "tcp_rr", "flows": 400, "request": 1, "response": 65_536}});
    let connections = growth(&requests, 400, &[0; 8]);
    assert!(
        connections <= (8 << 20) + 400 * (4 << 10),
        "{connections} bytes"
    );
    println!("{} kB, {} kB", streams >> 10, connections >> 10);
}
