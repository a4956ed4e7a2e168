//! Memory is counted before a test begins, and what a client sends is read in a bounded part of it.

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::{ErrorCode, State};
use serde_json::{Value, json};

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
    let _streams = stranger.open_streams(&server, 1);
    stranger.await_start();
    stranger.send_state(State::TestEnd);
    assert_eq!(stranger.state(), State::ExchangeResults);
    // Its length alone ends the test.
    stranger.send_length((256 << 10) + 1);
    assert_eq!(stranger.answer(), None);
}
