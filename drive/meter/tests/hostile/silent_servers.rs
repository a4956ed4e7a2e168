//! A client waits for a server that stops answering as long as its user allows, and says what it
//! waited for.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{Ndt7Url, Protocol, Request, TestError, run};
use gigatcp_protocol::iperf3::State;

use super::common::LOCALHOST;

/// Maximum wait of the client's user.
const TIMEOUT: Duration = Duration::from_millis(300);

/// Maximum time of a client that waits for the answers of the protocol, 30 s, on a loaded machine.
const END: Duration = Duration::from_secs(60);

/// How a client ends whose server accepts its connections, sends these states on the first, and no
/// more.
fn ended(protocol: Protocol, states: &[State]) -> Result<(), TestError> {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let bytes: Vec<u8> = states.iter().map(|state| state.to_byte()).collect();
    thread::spawn(move || {
        let mut kept: Vec<TcpStream> = Vec::new();
        for connection in listener.incoming().flatten() {
            if kept.is_empty() {
                // The client may have left.
                let _ = (&connection).write_all(&bytes);
            }
            kept.push(connection);
        }
    });
    let mut request = Request::new("127.0.0.1");
    request.protocol = protocol;
    request.port = at.port();
    request.parameters.time = 1;
    request.connect_timeout = TIMEOUT;
    request.ndt7 = Some(Ndt7Url::parse(&format!("ws://{at}")).unwrap());
    let begun = Instant::now();
    let is_late = || begun.elapsed() > END;
    let ended = run(&request, &is_late, &mut |_| {});
    assert!(!is_late(), "{protocol:?} {states:?}: it waits");
    ended.map(drop)
}

#[test]
fn server_that_never_answers_is_left_after_the_timeout_of_a_connection() {
    let silent = ended(Protocol::Iperf3, &[]);
    assert!(
        matches!(silent, Err(TestError::NoAnswer { .. })),
        "{silent:?}"
    );
    for protocol in [Protocol::Nuttcp, Protocol::Ndt7] {
        let silent = ended(protocol, &[]);
        assert!(silent.is_err(), "{protocol:?}");
    }
}

#[test]
fn server_that_falls_silent_later_is_left_after_the_timeout_of_an_answer() {
    use State::{CreateStreams, ParamExchange, TestRunning, TestStart};
    thread::scope(|scope| {
        for states in [
            &[ParamExchange, CreateStreams][..],
            &[ParamExchange, CreateStreams, TestStart],
            &[ParamExchange, CreateStreams, TestStart, TestRunning],
        ] {
            scope.spawn(move || match ended(Protocol::Iperf3, states) {
                // What was measured is kept.
                Ok(()) => assert!(states.ends_with(&[TestRunning])),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.starts_with("no answer, expected TEST_"), "{text}");
                }
            });
        }
    });
}
