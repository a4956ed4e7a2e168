//! The server against stock iperf3 clients, its own client, and clients that misbehave.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::{LOCALHOST, Running, StockServer};
use gigatcp_meter::tester::auth::{self, Padding};
use gigatcp_meter::tester::transactions::{self, Notice};
use gigatcp_meter::tester::{
    Admission, Authorize, Ndt7Url, PingSet, Progress, Protocol, Request, Role, Server,
    ServerConfig, StreamOutcome, TestError, responses, run, stamp,
};
use gigatcp_protocol::iperf3::datagram::PING;
use gigatcp_protocol::iperf3::{
    COOKIE_LENGTH, Direction, Mode, Output, Parameters, ServerEvent, Session, Transactions,
    Transport,
};
use gigatcp_units::Instant as Time;
use serde_json::Value;
use socket2::{Domain, Socket, Type};

/// Starts a server on a free port.
fn server(admission: Admission) -> Running {
    server_with(admission, None)
}

fn server_with(admission: Admission, authorize: Option<Arc<Authorize>>) -> Running {
    Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        admission,
        authorize,
        ..ServerConfig::default()
    })
}

/// Runs `iperf3 -J` as client; `None` if it is not installed.
fn stock_client(at: SocketAddr, arguments: &[&str]) -> Option<Value> {
    let output = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-p", &at.port().to_string(), "-J"])
        .args(if arguments.contains(&"-n") {
            &[][..]
        } else {
            &["-t", "1"]
        })
        .args(arguments)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: iperf3 is not installed");
        return None;
    };
    let value: Value = serde_json::from_slice(&output.stdout).expect("the client writes JSON");
    assert!(
        value["error"].is_null(),
        "{arguments:?}: {}",
        value["error"]
    );
    Some(value)
}

fn request(at: SocketAddr) -> Request {
    let mut request = Request::new("127.0.0.1");
    request.port = at.port();
    request.parameters.time = 1;
    request.parameters.congestion = Some("reno".into());
    request
}

#[test]
fn stock_clients_agree_to_the_byte_in_every_direction() {
    let server = server(Admission::default());
    for arguments in [
        &["-C", "reno"][..],
        &["-P", "3", "-C", "reno"],
        &["-R", "-C", "reno"],
        &["-R", "-P", "3"],
        &["--bidir", "-P", "2"],
        &["-n", "2M"],
        &["-O", "1"],
        &["-w", "128K", "-M", "1000", "-N"],
        &["--get-server-output"],
        &["-b", "50M"],
    ] {
        let Some(theirs) = stock_client(server.at, arguments) else {
            return;
        };
        let ours = server.outcome();
        assert_eq!(ours.cut_short, None, "{arguments:?}");
        let streams = theirs["end"]["streams"].as_array().unwrap();
        assert_eq!(streams.len(), ours.streams.len(), "{arguments:?}");
        for (theirs, ours) in streams.iter().zip(&ours.streams) {
            let end = match ours.role {
                Role::Sender => "sender",
                Role::Receiver => "receiver",
            };
            let bytes = theirs[end]["bytes"].as_u64();
            assert_eq!(bytes, Some(ours.total.bytes), "{arguments:?}: {end}");
        }
    }
}

fn transactions_of(mode: Mode, flows: u32) -> Transactions {
    Transactions {
        mode,
        flows,
        request: 100,
        response: 3000,
    }
}

#[test]
fn transactions_of_both_modes_are_answered_on_all_connections() {
    let server = server(Admission::default());
    let mut request = request(server.at);
    request.interval = Some(Duration::from_millis(250));
    for mode in [Mode::TcpRr, Mode::TcpCrr] {
        let wanted = transactions_of(mode, 300);
        let mut counts = Vec::new();
        let mut count = |notice: Notice<'_>| match notice {
            Notice::Interval(interval) => counts.push(interval.count),
            Notice::Queued { .. } => {}
        };
        let outcome = transactions::run(&request, wanted, &|| false, &mut count).unwrap();
        assert!((3..=5).contains(&counts.len()), "{counts:?}");
        assert_eq!((outcome.cut_short, outcome.total.failed), (None, 0));
        assert_eq!(counts.iter().sum::<u64>(), outcome.total.count);
        assert!(outcome.total.count >= 300, "{}", outcome.total.count);
        // Responses that were under way at the end have not been read.
        let unread = outcome.responses.unwrap() - outcome.total.count;
        assert!(unread <= 2 * 300, "{mode:?}: {unread}");
        let latencies = [0.0, 0.5, 0.99, 1.0].map(|share| outcome.total.latency(share).unwrap());
        assert!(latencies.is_sorted(), "{latencies:?}");
        assert!(outcome.server_cpu.unwrap().total > 0.0);
    }
}

#[test]
fn transactions_have_the_requested_rate_with_their_headers() {
    let server = server(Admission::default());
    let mut request = request(server.at);
    request.parameters.bandwidth = Some(4_000_000);
    for (mode, bytes) in [(Mode::TcpRr, 3340), (Mode::TcpCrr, 3580)] {
        let wanted = transactions_of(mode, 40);
        let outcome = transactions::run(&request, wanted, &|| false, &mut |_| {}).unwrap();
        // 0.1 s of the rate is saved before the test. A busy host is slower.
        let limit = 4e6 * (outcome.total.end.as_secs_f64() + 0.1) / (8.0 * f64::from(bytes)) + 1.0;
        let count = outcome.total.count as f64;
        assert!((0.5 * limit..=limit).contains(&count), "{count}, {limit}");
    }
}

/// A client whose connection waited for an event that is past would have 20 a second.
#[test]
fn connections_follow_each_other_without_a_pause() {
    let server = server(Admission::default());
    let wanted = transactions_of(Mode::TcpCrr, 1);
    let outcome = transactions::run(&request(server.at), wanted, &|| false, &mut |_| {}).unwrap();
    assert!(outcome.total.count > 40, "{}", outcome.total.count);
}

#[test]
fn server_that_begins_before_all_connections_exist_is_named() {
    let listener = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    let early = thread::spawn(move || {
        let (mut control, _) = listener.accept().unwrap();
        control.read_exact(&mut [0; COOKIE_LENGTH]).unwrap();
        let mut session = Session::new(Time::ZERO);
        loop {
            let mut answer = Vec::new();
            for _ in 0..2 {
                while let Some(output) = session.poll_output() {
                    match output {
                        Output::Send(bytes) => answer.extend(bytes),
                        Output::Event(ServerEvent::Parameters(_)) => {
                            session.create_streams(Time::ZERO);
                        }
                        Output::Event(_) => {}
                    }
                }
                session.start(Time::ZERO);
            }
            // The request for the connections and the start arrive together.
            control.write_all(&answer).unwrap();
            let mut bytes = [0; 4096];
            match control.read(&mut bytes) {
                Ok(length @ 1..) => session.handle_bytes(Time::ZERO, &bytes[..length]),
                _ => return,
            }
        }
    });
    let wanted = transactions_of(Mode::TcpRr, 300);
    let refused = transactions::run(&request(at), wanted, &|| false, &mut |_| {});
    let text = refused.unwrap_err().to_string();
    assert_eq!(
        text,
        "tcp_rr: the server began before all connections existed"
    );
    early.join().unwrap();
}

#[test]
fn stock_server_is_named_before_it_gets_requests() {
    let Some(stock) = StockServer::start(LOCALHOST) else {
        return;
    };
    let wanted = Transactions {
        mode: Mode::TcpRr,
        flows: 1,
        request: 1,
        response: 1,
    };
    let at = SocketAddr::new(LOCALHOST, stock.port);
    let refused = transactions::run(&request(at), wanted, &|| false, &mut |_| {});
    let text = refused.unwrap_err().to_string();
    assert_eq!(text, "tcp_rr: the server is not `gigatcp server`");
    stock.end();
}

#[test]
fn stamp_measures_both_directions_of_the_loopback() {
    let free = std::net::UdpSocket::bind((LOCALHOST, 0)).unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let _server = Running::start(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        stamp: Some(at.port()),
        ..ServerConfig::default()
    });
    let outcome = stamp::run(&request(at), Duration::from_millis(10), 100, &|| false).unwrap();
    assert_eq!((outcome.length, outcome.duplicates), (100, 0));
    // A busy host sends fewer, and none is lost on the loopback.
    assert!(
        outcome.sent >= 20 && outcome.received == outcome.sent,
        "{outcome:?}"
    );
    let rtt = outcome.rtts.quantile(0.5).unwrap().as_nanos() as f64 / 1e9;
    let [there, back] = [outcome.there, outcome.back].map(Option::unwrap);
    for delay in [there, back] {
        assert_eq!(delay.datagrams, outcome.received);
        assert!(
            delay.min >= -delay.uncertainty && delay.uncertainty <= rtt,
            "{delay:?}"
        );
        // Both clocks are one.
        assert!(delay.offset.abs() <= delay.uncertainty + 1e-6, "{delay:?}");
    }
}

#[test]
fn closed_port_of_stamp_is_named_at_once() {
    let free = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    let mut request = request(free.local_addr().unwrap());
    drop(free);
    request.parameters.time = 60;
    let refused = stamp::run(&request, Duration::from_millis(10), 44, &|| false);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("refused"), "{text}");
}

/// Neither the handshake of TCP nor that of a WebSocket is answered.
#[test]
fn client_that_waits_for_a_handshake_can_be_ended() {
    let silent = TcpListener::bind((LOCALHOST, 0)).unwrap();
    let at = silent.local_addr().unwrap();
    let mut web_socket = request(at);
    web_socket.protocol = Protocol::Ndt7;
    web_socket.ndt7 = Some(Ndt7Url::parse(&format!("ws://{at}")).unwrap());
    web_socket.parameters.congestion = None;
    // The second connection of a listener with a backlog of none has no answer.
    let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    full.bind(&SocketAddr::new(LOCALHOST, 0).into()).unwrap();
    full.listen(0).unwrap();
    let at = full.local_addr().unwrap().as_socket().unwrap();
    let _first = TcpStream::connect(at).unwrap();
    for request in [web_socket, request(at)] {
        let begun = Instant::now();
        let stops = || begun.elapsed() > Duration::from_millis(300);
        let ended = run(&request, &stops, &mut |_| {});
        assert!(matches!(ended, Err(TestError::Stopped)), "{ended:?}");
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn multipath_tcp_is_granted_by_a_server_that_accepts_it_and_else_named() {
    for accepts in [true, false] {
        let config = ServerConfig {
            bind: Some(LOCALHOST),
            port: 0,
            mptcp: accepts,
            ..ServerConfig::default()
        };
        if accepts && Server::bind(config.clone()).is_err() {
            eprintln!("skipped: this kernel has no Multipath TCP");
            return;
        }
        let server = Running::start(config);
        let mut request = request(server.at);
        request.parameters.mptcp = true;
        let outcome = run(&request, &|| false, &mut |_| {}).unwrap();
        let options = &outcome.streams[0].options;
        assert_eq!(options.mptcp, Some(accepts));
        assert_eq!(options.overrides.is_empty(), accepts, "{options:?}");
        let bytes = server.outcome().streams[0].total.bytes;
        assert_eq!(outcome.received(Role::Sender), Some(bytes));
    }
}

#[test]
fn the_window_and_segment_size_of_one_test_are_not_those_of_the_next() {
    let server = server(Admission::default());
    let Some(_) = stock_client(server.at, &["-w", "128K", "-M", "1000", "-R"]) else {
        return;
    };
    let limited = server.outcome();
    assert!(limited.streams[0].options.mss.unwrap() <= 1000);
    assert_eq!(limited.streams[0].options.receive_buffer, 256 << 10);
    stock_client(server.at, &["-R"]);
    let next = server.outcome();
    assert!(next.streams[0].options.mss.unwrap() > 1000);
    assert_ne!(next.streams[0].options.receive_buffer, 256 << 10);
}

#[test]
fn stock_clients_of_udp_agree_to_the_datagram() {
    let server = server(Admission::default());
    for arguments in [
        &["-u", "-b", "2M"][..],
        &["-u", "-b", "2M", "-l", "1000", "-P", "3"],
        &["-u", "-b", "2M", "-R", "-P", "2"],
        &["-u", "-b", "2M", "--bidir"],
        &["-u", "-b", "2M", "--udp-counters-64bit"],
    ] {
        let Some(theirs) = stock_client(server.at, arguments) else {
            return;
        };
        let ours = server.outcome();
        let streams = theirs["end"]["streams"].as_array().unwrap();
        assert_eq!(streams.len(), ours.streams.len());
        for (theirs, ours) in streams.iter().zip(&ours.streams) {
            let packets = theirs["udp"]["packets"].as_u64().unwrap();
            let counted = match ours.role {
                Role::Sender => ours.total.datagrams,
                Role::Receiver => ours.total.expected,
            };
            // The client ends first: only one end counts data in flight at that time.
            assert!(
                packets.abs_diff(counted) <= 3,
                "{arguments:?}: {packets}, {counted}"
            );
            assert_eq!(theirs["udp"]["lost_packets"], 0, "{arguments:?}");
        }
    }
}

#[test]
fn many_tests_run_at_the_same_time() {
    let server = server(Admission::default());
    let clients = (0..4).map(|index| {
        let mut request = request(server.at);
        if index % 2 == 0 {
            request.parameters.transport = Transport::Udp;
            request.parameters.congestion = None;
            request.parameters.bandwidth = Some(5_000_000);
        } else {
            request.parameters.direction = Direction::Bidirectional;
            request.parameters.bandwidth = Some(50_000_000);
        }
        thread::spawn(move || run(&request, &|| false, &mut |_| {}).unwrap())
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        let outcome = client.join().unwrap();
        assert_eq!(outcome.cut_short, None);
        assert!(outcome.peer.is_some());
    }
}

/// The streams of a client that connects them take data from that address only.
#[test]
fn udp_streams_come_from_the_address_that_the_client_named() {
    let server = Running::start(ServerConfig {
        port: 0,
        nuttcp: None,
        ..ServerConfig::default()
    });
    let mut request = request(SocketAddr::from(([127, 0, 0, 2], server.at.port())));
    request.parameters.transport = Transport::Udp;
    request.parameters.congestion = None;
    request.parameters.bandwidth = Some(5_000_000);
    request.parameters.direction = Direction::Reverse;
    let outcome = run(&request, &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short, None);
    assert!(outcome.streams[0].total.bytes > 0);
}

#[test]
fn a_client_waits_for_its_turn_and_hears_of_it() {
    let server = server(Admission {
        tests: 1,
        queue: 1,
        ..Admission::default()
    });
    let first = {
        let request = request(server.at);
        thread::spawn(move || run(&request, &|| false, &mut |_| {}).unwrap())
    };
    server.wait_for(0);
    let second = {
        let request = request(server.at);
        thread::spawn(move || {
            let mut was_queued = false;
            let outcome = run(&request, &|| false, &mut |progress| {
                was_queued |= matches!(progress, Progress::Queued { has_answered: true });
            });
            (outcome.unwrap(), was_queued)
        })
    };
    server.wait_for(1);
    let third = run(&request(server.at), &|| false, &mut |_| {}).unwrap_err();
    assert!(third.to_string().contains("busy running a test"), "{third}");
    first.join().unwrap();
    let (outcome, was_queued) = second.join().unwrap();
    assert!(was_queued);
    assert_eq!(outcome.cut_short, None);
}

#[test]
fn half_open_clients_slow_readers_and_scanners_disturb_no_test() {
    let server = server(Admission::default());
    // More than the server's limit: the oldest are closed.
    let mut silent: Vec<TcpStream> = (0..1100).map(|_| server.connect()).collect();
    for (index, stream) in silent.iter_mut().enumerate() {
        match index % 4 {
            0 => drop(stream.write_all(b"GET / HTTP/1.1\r\n\r\n")),
            1 => drop(stream.write_all(&[b'x'; 37])),
            2 => {
                // A cookie, and parameters of 4 GiB.
                let _ = stream
                    .write_all(&[[b'y'; 36].as_slice(), &[0, 0xff, 0xff, 0xff, 0xff]].concat());
            }
            _ => {}
        }
    }
    let outcome = run(&request(server.at), &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short, None);
    drop(silent);
}

#[test]
fn streams_that_never_come_end_a_test_and_free_its_place() {
    let server = server(Admission {
        tests: 1,
        queue: 4,
        ..Admission::default()
    });
    let mut absent = server.connect();
    absent.write_all(&[b'z'; 37]).unwrap();
    let parameters = Parameters {
        time: 1,
        ..Parameters::default()
    };
    let text = parameters.to_json().to_string();
    let block = [&(text.len() as u32).to_be_bytes(), text.as_bytes()].concat();
    let mut byte = [0; 1];
    absent.read_exact(&mut byte).unwrap();
    assert_eq!(byte, [9]);
    absent.write_all(&block).unwrap();
    absent.read_exact(&mut byte).unwrap();
    assert_eq!(byte, [10]);
    // It disconnects instead of waiting for the deadline.
    drop(absent);
    let outcome = run(&request(server.at), &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short, None);
}

#[test]
fn a_stopped_server_tells_its_clients() {
    let server = server(Admission::default());
    let mut endless = request(server.at);
    endless.parameters.time = 60;
    let stop = server.stop.clone();
    let ended = run(&endless, &|| false, &mut |progress| {
        if let Progress::Started(_) = progress {
            stop.store(true, Ordering::Relaxed);
        }
    });
    let outcome = ended.unwrap();
    assert_eq!(
        outcome.cut_short.as_deref(),
        Some("the server has terminated")
    );
    assert!(outcome.sent(Role::Sender).unwrap() > 0);
}

/// A new key as files: private and public.
fn keys() -> (String, String, std::path::PathBuf) {
    use rsa::pkcs8::{EncodePrivateKey, EncodePublicKey, LineEnding};
    let private = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 2048).unwrap();
    let public = private
        .to_public_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    let pem = private.to_pkcs8_pem(LineEnding::LF).unwrap();
    let path = std::env::temp_dir().join(format!("gigatcp-key-{}.pem", std::process::id()));
    std::fs::write(&path, &public).unwrap();
    (pem.to_string(), public, path)
}

/// The padding of the installed iperf3; `None` if there is none.
fn padding_of_stock_client() -> Option<Padding> {
    let Ok(output) = Command::new("iperf3").arg("--version").output() else {
        eprintln!("skipped: iperf3 is not installed");
        return None;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.strip_prefix("iperf 3.")?;
    let digits: String = version.chars().take_while(char::is_ascii_digit).collect();
    let minor: u32 = digits.parse().expect("a version");
    Some(if minor < 17 {
        Padding::Pkcs1
    } else {
        Padding::Oaep
    })
}

/// SHA-256 of `{mario}rossi`.
const MARIO: &str = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b\n";

#[test]
fn stock_clients_authenticate_and_others_are_refused() {
    let (private, _, public_path) = keys();
    let Some(padding) = padding_of_stock_client() else {
        return;
    };
    let check = auth::authorizer(&private, MARIO.into(), padding, auth::TIME_SKEW).unwrap();
    let server = server_with(Admission::default(), Some(check));
    let test = |password: &str| {
        Command::new("iperf3")
            .args([
                "-c",
                "127.0.0.1",
                "-p",
                &server.at.port().to_string(),
                "-J",
                "-t",
                "1",
            ])
            .args(["--username", "mario", "--rsa-public-key-path"])
            .arg(&public_path)
            .env("IPERF3_PASSWORD", password)
            .output()
    };
    let right: Value = serde_json::from_slice(&test("rossi").unwrap().stdout).unwrap();
    assert!(
        right["error"].is_null(),
        "{right}: {:?}",
        server.refusals.lock().unwrap()
    );
    let wrong: Value = serde_json::from_slice(&test("verdi").unwrap().stdout).unwrap();
    assert!(
        wrong["error"].as_str().unwrap().contains("authorization"),
        "{wrong}"
    );
    let none = run(&request(server.at), &|| false, &mut |_| {}).unwrap_err();
    assert!(none.to_string().contains("IEAUTHTEST 142"), "{none}");
    let _ = std::fs::remove_file(public_path);
}

#[test]
fn udp_pings_are_answered_to_clients_only() {
    let server = server(Admission::default());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    let mut answer = [0; 64];
    socket.send(&PING).unwrap();
    assert!(
        socket.recv(&mut answer).is_err(),
        "an unknown address is answered"
    );
    let _client = server.connect();
    // Once the connection is accepted.
    let answered = (0..10).find_map(|_| {
        socket.send(&PING).unwrap();
        socket.recv(&mut answer).ok()
    });
    assert_eq!(answered, Some(PING.len()));
    assert_eq!(answer[..PING.len()], PING);
    while socket.recv(&mut answer).is_ok() {}
    let long = [&PING[..], &[0; 65]].concat();
    socket.send(&long[..65]).unwrap();
    assert!(socket.recv(&mut answer).is_err(), "65 bytes are answered");
    socket.send(&long[..64]).unwrap();
    assert_eq!(socket.recv(&mut answer).unwrap(), 64);
}

#[test]
fn streams_are_added_until_the_rate_is_stable_and_latency_counts_from_then_on() {
    let server = server(Admission::default());
    let mut request = request(server.at);
    request.parameters.time = 4;
    request.parameters.parallel = 16;
    request.parameters.direction = Direction::Bidirectional;
    request.adds_streams = true;
    request.latency = PingSet::All;
    let outcome = run(&request, &|| false, &mut |_| {}).unwrap();
    let ramp = outcome.ramp.expect("the ramp ends before the test");
    assert!((2..=16).contains(&ramp.streams), "{ramp:?}");
    assert!(ramp.loaded_from < Duration::from_millis(3500), "{ramp:?}");
    assert_eq!(outcome.streams.len(), 2 * ramp.streams);
    let is_empty = |stream: &StreamOutcome| stream.total.bytes == 0;
    assert!(
        !outcome.streams.iter().any(is_empty),
        "{:?}",
        outcome.streams
    );
    let responses = responses(&outcome).expect("the server answers pings");
    assert!(
        responses.loaded.combined > 60.0 && responses.idle > Some(60.0),
        "{responses:?}"
    );
}

#[test]
fn one_way_delays_are_told_in_both_directions_between_two_of_this_project() {
    let server = server(Admission::default());
    let mut request = request(server.at);
    request.parameters.transport = Transport::Udp;
    request.parameters.congestion = None;
    request.parameters.bandwidth = Some(8_000_000);
    request.parameters.len = Some(1000);
    request.parameters.direction = Direction::Bidirectional;
    let outcome = run(&request, &|| false, &mut |_| {}).unwrap();
    for role in [Role::Sender, Role::Receiver] {
        let delay = outcome.one_way_delay(role).unwrap();
        // Both ends have one clock: an offset is an error, within its stated uncertainty.
        assert!(delay.offset.abs() <= delay.uncertainty, "{delay:?}");
        assert!(
            delay.min > -delay.uncertainty && delay.min < 0.01,
            "{delay:?}"
        );
        assert!(
            delay.min <= delay.median && delay.median <= delay.p95,
            "{delay:?}"
        );
        assert!(
            delay.p95 <= delay.p99 && delay.p99 <= delay.max,
            "{delay:?}"
        );
        let mut streams = outcome.streams.iter().filter(|stream| stream.role == role);
        let stream = streams.next().unwrap();
        let received = match role {
            Role::Sender => outcome.peer_datagrams(stream).unwrap().report.received,
            Role::Receiver => stream.total.udp.report.received,
        };
        assert_eq!(delay.datagrams, received);
    }
    // A server has no offset.
    assert_eq!(server.outcome().one_way_delay(Role::Receiver), None);
}
