//! The client of ndt7 against servers in this process: those that keep to the protocol, with known
//! counters, and those that do not.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use gigatcp_meter::tester::{self, Ndt7Url, Outcome, Protocol, Request, Role, TestError, run};
use gigatcp_protocol::iperf3::Direction;
use gigatcp_protocol::ndt7::SUBPROTOCOL;
use tungstenite::handshake::server::{Request as Upgrade, Response};
use tungstenite::{Message, WebSocket, accept_hdr};

/// Runs a test of 1 s with a server that `serve` is.
fn tested(
    direction: Direction,
    serve: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<Outcome, TestError> {
    tested_for(1, direction, serve)
}

/// Runs a test of these seconds with a server that `serve` is.
fn tested_for(
    seconds: u32,
    direction: Direction,
    serve: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<Outcome, TestError> {
    let (mut request, server) = prepared(direction, serve);
    request.parameters.time = seconds;
    let outcome = run(&request, &|| false, &mut |_| {});
    server.join().unwrap();
    outcome
}

fn prepared(
    direction: Direction,
    serve: impl FnOnce(TcpStream) + Send + 'static,
) -> (Request, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || serve(listener.accept().unwrap().0));
    let mut request = Request::new("127.0.0.1");
    request.protocol = Protocol::Ndt7;
    request.port = port;
    request.ndt7 = Some(Ndt7Url::parse(&format!("ws://127.0.0.1:{port}")).unwrap());
    request.parameters.time = 1;
    request.parameters.direction = direction;
    request.parameters.congestion = Some("reno".into());
    request.connect_timeout = Duration::from_secs(2);
    (request, server)
}

/// Accepts the WebSocket; checks the request.
#[expect(clippy::result_large_err, reason = "the library's type")]
fn accepted(stream: TcpStream, path: &'static str) -> WebSocket<TcpStream> {
    let answer = |request: &Upgrade, mut response: Response| {
        assert_eq!(request.uri().path(), path);
        assert_eq!(request.headers()["sec-websocket-protocol"], SUBPROTOCOL);
        let headers = response.headers_mut();
        headers.insert("sec-websocket-protocol", SUBPROTOCOL.parse().unwrap());
        Ok(response)
    };
    accept_hdr(stream, answer).unwrap()
}

/// A sender's measurement: its busy time is the elapsed time, of which a share was spent so limited.
fn measurement(elapsed: Duration, limited: &str, bytes: u64) -> Message {
    let micros = elapsed.as_micros() as u64;
    let (words, limited_us) = (bytes / 1448, micros * 95 / 100);
    Message::text(format!(
        r#"{{"TCPInfo":{{"State":1,"Options":7,"WScale":119,"SndMSS":1448,"RTT":20000,"MinRTT":20000,
        "SndCwnd":400,"SndSsThresh":2147483647,"SndWnd":65536,"BytesAcked":{bytes},"BytesSent":{bytes},
        "SegsOut":{words},"DataSegsOut":{words},"Delivered":{words},"TotalRetrans":0,"BusyTime":{micros},
        "{limited}":{limited_us},"ElapsedTime":{micros}}},"BBRInfo":{{"BW":1}}}}"#
    ))
}

/// Sends blocks at a low rate, and measurements, until the client closes or 1.2 s are over.
fn sends(stream: TcpStream, limited: &'static str) {
    let mut web_socket = accepted(stream, "/ndt/v7/download");
    let (begun, mut sent) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_millis(1200) {
        sent += 16_384;
        let sends = [
            Message::binary(vec![7; 16_384]),
            measurement(begun.elapsed(), limited, sent),
        ];
        if sends
            .into_iter()
            .any(|message| web_socket.send(message).is_err())
        {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn download_is_explained_by_the_servers_counters() {
    for (limited, cause) in [
        ("RWndLimited", "receive-window"),
        ("SndBufLimited", "send-buffer"),
    ] {
        let mut outcome = tested(Direction::Reverse, move |stream| sends(stream, limited)).unwrap();
        // Other tests may keep the CPUs of this host busy.
        outcome.samples.host.clear();
        let received = outcome.received(Role::Receiver).unwrap();
        let sent = outcome.sent(Role::Receiver).unwrap();
        assert!(
            received > 100_000 && sent.abs_diff(received) < 40_000,
            "{received} of {sent}"
        );
        assert_eq!(
            outcome.peer.as_ref().unwrap().congestion_used.as_deref(),
            Some("bbr")
        );
        let explained = tester::explain(&outcome);
        let answer = explained[0].diagnosis.answer();
        let found = answer.cause.map(|cause| cause.id);
        assert!(explained[0].has_both_ends);
        assert!(
            found.is_some_and(|id| id.contains(cause)),
            "{found:?}, not {cause}: {}",
            explained[0].diagnosis.limited_by()
        );
    }
}

#[test]
fn upload_counts_what_the_server_received() {
    let outcome = tested(Direction::Forward, |stream| {
        let mut web_socket = accepted(stream, "/ndt/v7/upload");
        let (begun, mut received) = (Instant::now(), 0);
        let mut reports = 0;
        while let Ok(message) = web_socket.read() {
            received += message.len();
            if begun.elapsed() > Duration::from_millis(100 * reports) {
                reports += 1;
                let micros = begun.elapsed().as_micros();
                let text = format!(
                    r#"{{"TCPInfo":{{"BytesReceived":{received},"ElapsedTime":{micros}}}}}"#
                );
                if web_socket.send(Message::text(text)).is_err() {
                    return;
                }
            }
        }
    })
    .unwrap();
    let (sent, received) = (outcome.sent(Role::Sender), outcome.received(Role::Sender));
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert!(
        received > 0 && received <= sent + 1024,
        "{received} of {sent}"
    );
    assert_eq!(outcome.cut_short, None);
    assert!(!tester::explain(&outcome).is_empty());
}

/// A server may end a test early, when its rate is stable.
#[test]
fn test_that_the_server_closes_is_complete() {
    let outcome = tested_for(10, Direction::Reverse, |stream| {
        let mut web_socket = accepted(stream, "/ndt/v7/download");
        web_socket.send(Message::binary(vec![7; 50_000])).unwrap();
        web_socket.close(None).unwrap();
        while web_socket.read().is_ok() {}
    })
    .unwrap();
    assert_eq!(outcome.cut_short, None);
    assert_eq!(outcome.received(Role::Receiver), Some(50_000));
    assert!(outcome.measured < Duration::from_secs(5));
}

#[test]
fn upload_that_the_server_closes_is_complete() {
    let outcome = tested_for(10, Direction::Forward, |stream| {
        let mut web_socket = accepted(stream, "/ndt/v7/upload");
        for _ in 0..100 {
            web_socket.read().unwrap();
        }
        web_socket.close(None).unwrap();
        while web_socket.read().is_ok() {}
    })
    .unwrap();
    assert_eq!(outcome.cut_short, None);
    assert!(outcome.measured < Duration::from_secs(5));
}

#[test]
fn options_that_ndt7_does_not_have_are_named() {
    for (change, option) in [
        (
            &(|request: &mut Request| request.parameters.parallel = 4) as &dyn Fn(&mut Request),
            "--parallel",
        ),
        (&|request| request.parameters.time = 60, "--time"),
        (
            &|request| request.parameters.num = 1,
            "--bytes and --blockcount",
        ),
        (
            &|request| request.parameters.direction = Direction::Bidirectional,
            "--bidir and --rrul",
        ),
    ] {
        let mut request = Request::new("127.0.0.1");
        request.protocol = Protocol::Ndt7;
        change(&mut request);
        let error = run(&request, &|| false, &mut |_| {}).unwrap_err();
        assert!(error.to_string().starts_with(option), "{error}");
    }
}

/// Answers with these bytes, repeated or not, until the client is gone.
fn answers(mut stream: TcpStream, bytes: &[u8], repeats: bool) {
    let _ = stream.read(&mut [0; 4096]);
    while stream.write_all(bytes).is_ok() && repeats {}
    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
    while stream.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {}
}

/// Returns the refusal of a server that answers so, and checks that it does not go on.
fn refusal(bytes: &'static [u8], repeats: bool) -> String {
    let begun = Instant::now();
    let outcome = tested(Direction::Forward, move |stream| {
        answers(stream, bytes, repeats)
    });
    let error = outcome.unwrap_err();
    assert!(matches!(error, TestError::Handshake { .. }), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{error}");
    error.to_string()
}

#[test]
fn silent_server_is_left_after_the_timeout_of_a_connection() {
    assert!(refusal(b"", false).ends_with("in time"));
}

#[test]
fn header_without_an_end_is_refused() {
    refusal(b"HTTP/1.1 101 Switching Protocols\r\nX: ", false);
    refusal(&[b'a'; 1000], true);
    let header =
        b"X-Header-That-Is-Repeated-Very-Often: of little value, and long enough to count\r\n";
    refusal(header, true);
}

#[test]
fn redirects_and_other_answers_are_refused_by_their_status() {
    let moved = b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\n\r\n";
    assert!(refusal(moved, false).contains("302 Found: redirects are not followed"));
    assert!(refusal(b"HTTP/1.1 404 Not Found\r\n\r\n", false).ends_with("HTTP 404 Not Found"));
    refusal(b"SSH-2.0-OpenSSH_9.2\r\n", false);
}

#[test]
fn server_of_other_websockets_is_refused() {
    let error = tested(Direction::Forward, |stream| {
        if let Ok(mut web_socket) = tungstenite::accept(stream) {
            let _ = web_socket.read();
        }
    });
    assert!(
        matches!(error, Err(TestError::Handshake { .. })),
        "{error:?}"
    );
}

/// Sends these raw bytes as frames after the handshake, then waits for the end of the client.
fn frames(stream: TcpStream, bytes: &[u8], path: &'static str) {
    let mut socket = accepted(stream, path).into_inner();
    let _ = socket.write_all(bytes);
    let _ = socket.set_read_timeout(Some(Duration::from_secs(5)));
    while socket.read(&mut [0; 65_536]).is_ok_and(|read| read > 0) {}
}

/// Bytes of a frame's header: first byte, and the length in 8 bytes.
fn header(first: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![first, 127];
    bytes.extend(length.to_be_bytes());
    bytes
}

/// The reason of an early end, before data flowed or after.
fn early_end(outcome: Result<Outcome, TestError>) -> String {
    match outcome {
        Ok(outcome) => outcome.cut_short.unwrap(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn giant_messages_and_garbage_end_the_test_and_name_the_protocol() {
    let giant = header(0x82, 1 << 40);
    let long_text = [header(0x81, 70 << 10), vec![b' '; 70 << 10]].concat();
    let garbage = vec![0xff; 1000];
    let masked = vec![0x82, 0x81, 1, 2, 3, 4, 5];
    for bytes in [giant, long_text, garbage, masked] {
        let outcome = tested(Direction::Reverse, move |stream| {
            frames(stream, &bytes, "/ndt/v7/download");
        });
        let reason = early_end(outcome);
        assert!(reason.contains("does not keep to ndt7"), "{reason}");
    }
}

#[test]
fn data_in_an_upload_ends_the_test() {
    let outcome = tested(Direction::Forward, |stream| {
        frames(stream, &[0x82, 1, 9], "/ndt/v7/upload");
    });
    let reason = early_end(outcome);
    assert!(reason.contains("data in an upload"), "{reason}");
}

/// Text messages that never end cost neither memory nor the end of the test.
#[test]
fn flood_of_measurements_is_bounded_and_ends_with_the_time() {
    let begun = Instant::now();
    let outcome = tested(Direction::Reverse, |stream| {
        let mut web_socket = accepted(stream, "/ndt/v7/download");
        let text = r#"{"TCPInfo":{"ElapsedTime":1,"BytesAcked":1}}"#;
        let mut open = web_socket.send(Message::binary(vec![1; 2000])).is_ok();
        while open {
            open = web_socket.send(Message::text(text)).is_ok();
        }
    });
    let kept = tester::Readings::of(&outcome.unwrap()).peer.unwrap();
    assert!(kept.streams[0].1.len() <= 1024);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn server_that_opens_a_test_and_sends_nothing_is_no_result() {
    let begun = Instant::now();
    let outcome = tested(Direction::Reverse, |stream| {
        frames(stream, &[], "/ndt/v7/download")
    });
    assert!(
        matches!(outcome, Err(TestError::Silent { .. })),
        "{outcome:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
}

/// A server that reads nothing: the blocked write ends with the time.
#[test]
fn server_that_does_not_read_ends_with_the_time() {
    let begun = Instant::now();
    let outcome = tested(Direction::Forward, |stream| {
        let web_socket = accepted(stream, "/ndt/v7/upload");
        thread::sleep(Duration::from_millis(1500));
        drop(web_socket);
    })
    .unwrap();
    assert!(outcome.peer.is_none() && outcome.sent(Role::Sender) > Some(0));
    assert!(begun.elapsed() < Duration::from_secs(20));
}
