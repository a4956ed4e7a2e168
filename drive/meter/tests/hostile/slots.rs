//! Places of a server are not held by clients that do nothing.

use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, ErrorCode, Limits, State};
use serde_json::json;

use super::stranger::{Stranger, server};

/// Server of one test at a time, each at most a second.
fn short(idle: Duration) -> Admission {
    Admission {
        tests: 1,
        idle,
        limits: Limits {
            time: 1,
            ..Limits::default()
        },
        ..Admission::default()
    }
}

#[test]
fn endless_test_without_data_is_ended() {
    let server = server(short(Duration::from_millis(300)));
    let mut stranger = Stranger::requests(&server, &json!({"tcp": true, "time": 0}));
    assert_eq!(stranger.state(), State::CreateStreams);
    let _streams = stranger.open_streams(1);
    stranger.await_start();
    let code = ErrorCode::NO_DATA.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
    // Its place is free.
    let mut next = Stranger::requests(&server, &json!({"tcp": true, "time": 1}));
    assert_eq!(next.state(), State::CreateStreams);
}

#[test]
fn endless_test_ends_with_the_maximum_duration() {
    let server = server(short(Duration::from_secs(60)));
    let parameters = json!({"tcp": true, "time": 0, "reverse": true, "bandwidth": 8_000_000});
    let mut stranger = Stranger::requests(&server, &parameters);
    assert_eq!(stranger.state(), State::CreateStreams);
    let mut streams = stranger.open_streams(1);
    stranger.await_start();
    stranger.control.set_nonblocking(true).unwrap();
    let (start, mut buffer) = (Instant::now(), vec![0; 1 << 16]);
    while stranger.control.peek(&mut [0]).is_err() {
        assert!(start.elapsed() < Duration::from_secs(30), "it goes on");
        let _ = streams[0].read(&mut buffer);
    }
    stranger.control.set_nonblocking(false).unwrap();
    let code = ErrorCode::DURATION_EXPIRED.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn test_longer_than_the_maximum_duration_is_refused() {
    let server = server(short(Duration::from_secs(60)));
    let mut stranger = Stranger::requests(&server, &json!({"tcp": true, "time": 2}));
    let code = ErrorCode::MAX_SERVER_DURATION.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn address_that_opens_many_connections_does_not_close_those_of_others() {
    let server = server(Admission::default());
    let slow = Stranger::silent_from(Ipv4Addr::new(127, 0, 0, 2), &server);
    let flood: Vec<TcpStream> = (0..1500).map(|_| server.connect()).collect();
    let mut greeted = slow.greets([b's'; COOKIE_LENGTH]);
    assert_eq!(greeted.state(), State::ParamExchange);
    drop(flood);
}

#[test]
fn test_of_sctp_is_refused_instead_of_run_as_tcp() {
    let server = server(Admission::default());
    let mut stranger = Stranger::requests(&server, &json!({"sctp": true, "time": 1}));
    let code = ErrorCode::NO_SCTP.0;
    assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
}

#[test]
fn refusals_that_a_client_causes_are_counted_and_not_all_reported() {
    const REFUSALS: u64 = 500;
    let server = server(Admission::default());
    let begun = Instant::now();
    for _ in 0..REFUSALS {
        let mut stranger = Stranger::requests(&server, &json!({"sctp": true, "time": 1}));
        assert!(matches!(stranger.answer(), Some((State::ServerError, _))));
    }
    // The number of the others comes with the end of 10 s.
    let counts = || {
        let reported = server.refusals.lock().unwrap().len() as u64;
        (reported, server.unlisted.load(Ordering::SeqCst))
    };
    while counts().0 + counts().1 < REFUSALS {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", counts());
        std::thread::sleep(Duration::from_millis(20));
    }
    let (reported, unlisted) = counts();
    let windows = begun.elapsed().as_secs() / 10 + 1;
    assert!(reported <= 10 * windows, "{reported} in {windows} windows");
    assert_eq!(reported + unlisted, REFUSALS);
}
