//! A cookie belongs to one test: it cannot start a second one beside the limits.

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, ErrorCode, State};
use serde_json::json;

use super::stranger::{Stranger, server};

const COOKIE: [u8; COOKIE_LENGTH] = [b'c'; COOKIE_LENGTH];

/// iperf3's number of a refusal.
fn refused(answer: Option<(State, Option<i32>)>) -> ErrorCode {
    let Some((State::ServerError, Some(code))) = answer else {
        panic!("{answer:?}, expected a refusal");
    };
    ErrorCode(code)
}

#[test]
fn second_control_connection_with_the_cookie_of_a_test_is_refused() {
    let server = server(Admission {
        tests: 2,
        queue: 0,
        ..Admission::default()
    });
    let parameters = json!({"tcp": true, "time": 5, "parallel": 1});
    // Both have sent the cookie before either is served.
    let mut first = Stranger::connect(&server, COOKIE);
    let mut second = Stranger::connect(&server, COOKIE);
    assert_eq!(second.state(), State::ParamExchange);
    first.send_parameters(&parameters);
    assert_eq!(first.state(), State::CreateStreams);
    second.send_json(parameters.to_string().as_bytes());
    assert_eq!(refused(second.answer()), ErrorCode::ACCESS_DENIED);
    // The refused one has not replaced the first: its streams still arrive.
    let _streams = first.open_streams(1);
    first.await_start();
}

#[test]
fn second_control_connection_with_the_cookie_of_a_waiting_client_is_refused() {
    let server = server(Admission {
        tests: 1,
        queue: 4,
        ..Admission::default()
    });
    let parameters = json!({"tcp": true, "time": 5, "parallel": 1});
    let mut running = Stranger::requests(&server, &parameters);
    assert_eq!(running.state(), State::CreateStreams);
    let mut waiting = Stranger::connect(&server, COOKIE);
    waiting.send_parameters(&parameters);
    server.wait_for(1);
    let mut second = Stranger::connect(&server, COOKIE);
    second.send_parameters(&parameters);
    assert_eq!(refused(second.answer()), ErrorCode::ACCESS_DENIED);
}
