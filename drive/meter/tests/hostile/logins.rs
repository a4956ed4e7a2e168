//! Names and passwords are checked behind the limits, on a thread of their own.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Admission, Authorize, ServerConfig};
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, ErrorCode, Parameters, State};
use serde_json::{Value, json};

use super::common::{LOCALHOST, Running};
use super::stranger::Stranger;

/// The greeting of `gigatcp trace`.
const TRACE: [u8; COOKIE_LENGTH] = *b"gigatcp trace 1 from there to here...";

fn server(authorize: Arc<Authorize>) -> Running {
    Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission: Admission::default(),
        authorize: Some(authorize),
        ..ServerConfig::default()
    })
}

fn parameters() -> Value {
    json!({"tcp": true, "parallel": 1, "time": 5, "authtoken": "wrong"})
}

fn first_answered(strangers: &[Stranger]) -> usize {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(first) = strangers.iter().position(Stranger::is_answered) {
            return first;
        }
        assert!(Instant::now() < deadline, "nobody is answered");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn error(code: ErrorCode) -> Option<(State, Option<i32>)> {
    Some((State::ServerError, Some(code.0)))
}

#[test]
fn flood_of_logins_is_refused_and_delays_nobody_else() {
    let (release, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    // Checks that take as long as this test likes.
    let server = server(Arc::new(move |_: &Parameters| {
        wait.lock()
            .unwrap()
            .recv_timeout(Duration::from_secs(60))
            .map_err(|_| "refused".to_owned())
    }));
    let mut strangers = vec![];
    strangers.extend((0..3).map(|_| Stranger::requests(&server, &parameters())));
    // The last to be read is refused. On a busy host that may be another than the last to write.
    let mut refused = strangers.remove(first_answered(&strangers));
    assert_eq!(refused.answer(), error(ErrorCode::ACCESS_DENIED));
    // Another address has its share, and others are greeted while a check goes on.
    let other = Ipv4Addr::new(127, 0, 0, 2);
    let mut elsewhere = Stranger::requests_from(other, &server, &parameters());
    drop(Stranger::requests(&server, &parameters()));
    for _ in 0..3 {
        release.send(()).unwrap();
    }
    for stranger in strangers.iter_mut().chain([&mut elsewhere]) {
        assert_eq!(stranger.state(), State::CreateStreams);
    }
}

#[test]
fn client_above_the_limits_is_refused_without_a_check() {
    let checks = Arc::new(AtomicUsize::new(0));
    let counted = checks.clone();
    let server = server(Arc::new(move |_: &Parameters| {
        counted.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }));
    let mut stranger = Stranger::requests(
        &server,
        &json!({"tcp": true, "parallel": 1000, "authtoken": "wrong"}),
    );
    assert_eq!(stranger.answer(), error(ErrorCode::NUM_STREAMS));
    assert_eq!(checks.load(Ordering::SeqCst), 0);
}

#[test]
fn wrong_login_is_answered_after_a_fixed_time() {
    let server = server(Arc::new(|_: &Parameters| Err("refused".to_owned())));
    let start = Instant::now();
    let mut stranger = Stranger::requests(&server, &parameters());
    assert_eq!(stranger.answer(), error(ErrorCode::AUTHORIZATION));
    assert!(start.elapsed() >= Duration::from_millis(20));
}

#[test]
fn trace_is_refused_where_a_login_is_required() {
    let server = server(Arc::new(|_: &Parameters| Ok(())));
    let mut stranger = Stranger::connect(&server, TRACE);
    assert_eq!(stranger.answer(), Some((State::AccessDenied, None)));
}
