//! The server against stock nuttcp clients, its own client, and clients that misbehave.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::ops::Deref;
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::common::{LOCALHOST, Running, free_ports};
use gigatcp_meter::tester::{
    Admission, NuttcpConfig, Outcome, Progress, Protocol, Request, Role, ServerConfig, explain, run,
};
use gigatcp_protocol::iperf3::{Direction, Transport};
use gigatcp_protocol::nuttcp::output::Loss;
use gigatcp_protocol::nuttcp::output::interval::Interval;
use gigatcp_protocol::nuttcp::output::read::Line;
use gigatcp_protocol::nuttcp::{Parameters, Version};
use gigatcp_units::Bytes;

/// A server on separate ports.
struct NuttcpServer {
    running: Running,
    at: SocketAddr,
    data_port: u16,
}

impl Deref for NuttcpServer {
    type Target = Running;

    fn deref(&self) -> &Running {
        &self.running
    }
}

impl NuttcpServer {
    fn start(admission: Admission) -> Self {
        let running = Running::start(ServerConfig {
            bind: Some(LOCALHOST),
            port: 0,
            admission,
            nuttcp: Some(NuttcpConfig {
                port: 0,
                ..NuttcpConfig::default()
            }),
            ..ServerConfig::default()
        });
        Self {
            at: running.nuttcp_at.unwrap(),
            running,
            data_port: free_ports(),
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.at).unwrap()
    }

    fn request(&self) -> Request {
        let mut request = Request::new("127.0.0.1");
        request.protocol = Protocol::Nuttcp;
        request.port = self.at.port();
        request.data_port = self.data_port;
        request.parameters.time = 1;
        request.parameters.congestion = Some("reno".into());
        request.parameters.bandwidth = Some(200_000_000);
        request
    }

    /// Output of `nuttcp`; `None` if it is not installed.
    fn stock_client(&self, arguments: &[&str]) -> Option<String> {
        let output = Command::new("nuttcp")
            .args(["-P", &self.at.port().to_string()])
            .args(["-p", &self.data_port.to_string()])
            .args(arguments)
            .arg("127.0.0.1")
            .output();
        let Ok(output) = output else {
            eprintln!("skipped: nuttcp is not installed");
            return None;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        Some(text)
    }
}

/// Figures of a stock client's summary.
fn summary(text: &str) -> Interval {
    let line = text.lines().find(|line| line.contains("%TX"));
    let words: Vec<&str> = line.expect("a summary").split_whitespace().collect();
    let figures = [&words[..8], &words[12..]].concat().join(" ");
    let line = figures
        .replace("drop/pkt", "~drop/pkt")
        .replace("%loss", "~%loss");
    let known = line.split(" msRTT").next().unwrap();
    let known = match known.rsplit_once(' ') {
        Some((known, _)) if line.ends_with("msRTT") => known,
        _ => known,
    };
    match Line::read(known) {
        Some(Line::Interval(figures)) => figures,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn stock_clients_of_tcp_agree_with_the_server() {
    let server = NuttcpServer::start(Admission::default());
    for arguments in [
        &["-T1", "-i0.25", "-R400m"][..],
        &["-T0.4", "-N3"],
        &["-T1", "-r", "-i0.25", "-R400m"],
        &["-T0.4", "-r", "-F", "-N2"],
        &["-T0.4", "-F", "-R400m"],
        &["-n20m"],
        &["-T0.4", "-R80m", "-w128"],
    ] {
        let Some(text) = server.stock_client(arguments) else {
            return;
        };
        let ours = server.outcome();
        assert_eq!(ours.cut_short, None, "{arguments:?}");
        let theirs = summary(&text);
        let role = ours.streams[0].role;
        let bytes: u64 = ours.streams.iter().map(|stream| stream.total.bytes).sum();
        assert_eq!(role == Role::Sender, arguments.contains(&"-r"));
        // The line has four decimals of a MB.
        let printed = theirs.received.refined(Bytes::new(bytes));
        assert_eq!(printed.bytes.as_u64(), bytes, "{arguments:?}: {text}");
        if arguments.contains(&"-n20m") {
            assert_eq!(bytes, 20 << 20);
        }
        if arguments.contains(&"-i0.25") {
            let is_interval = |line: &&str| matches!(Line::read(line), Some(Line::Interval(_)));
            let count = text.lines().filter(is_interval).count();
            assert!((3..=5).contains(&count), "{text}");
        }
    }
}

#[test]
fn stock_clients_of_udp_agree_with_the_server() {
    let server = NuttcpServer::start(Admission::default());
    for arguments in [
        &["-u", "-T0.8", "-R20m", "-l1000", "-i0.25"][..],
        // A stock client gives up after an interval without data. Half a second passes between the
        // last datagram and the last marker.
        &["-u", "-T1", "-R20m", "-l1000", "-r", "-i0.6"],
        &["-u", "-T0.8", "-Ri20m", "-l1000"],
    ] {
        let Some(text) = server.stock_client(arguments) else {
            return;
        };
        let ours = server.outcome();
        assert_eq!(ours.cut_short, None, "{arguments:?}");
        let Loss { lost, sent } = summary(&text).loss.unwrap();
        let total = &ours.streams[0].total;
        match ours.streams[0].role {
            Role::Sender => {
                assert_eq!(sent, total.datagrams, "{text}");
                let bits = 8.0 * total.bytes as f64 / ours.measured.as_secs_f64();
                // A busy machine may send less, but not more.
                assert!((10e6..22e6).contains(&bits), "{arguments:?}: {bits}");
            }
            Role::Receiver => assert_eq!(sent - lost as u64, total.datagrams, "{text}"),
        }
    }
}

#[test]
fn requests_that_are_not_served_are_refused_with_the_reason() {
    let server = NuttcpServer::start(Admission::default());
    let line = hello(at_port(server.data_port));
    for (served, requested, reason) in [
        ("traceroute = 0", "traceroute = 1", "`gigatcp trace`"),
        ("thirdparty = _NULL_", "thirdparty = host", "third party"),
        ("group = _NULL_", "group = 232.1.1.1", "multicast"),
        ("format = 2048", "format = 2052", "running totals"),
        ("vers = 8.2.2", "vers = 5.5.5", "from 6.1.2 on"),
    ] {
        let mut client = server.connect();
        let text = line.replace(served, requested);
        assert_ne!(text, line);
        client.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert!(
            answer.contains("KO\n") && answer.contains(reason),
            "{answer}"
        );
    }
}

#[test]
fn both_ends_of_ours_agree_in_both_directions() {
    let server = NuttcpServer::start(Admission::default());
    let mut difference = Duration::MAX;
    for (direction, transport, streams) in [
        (Direction::Forward, Transport::Tcp, 2),
        (Direction::Reverse, Transport::Tcp, 2),
        (Direction::Forward, Transport::Udp, 1),
        (Direction::Reverse, Transport::Udp, 1),
    ] {
        let mut request = server.request();
        request.parameters.direction = direction;
        request.parameters.transport = transport;
        request.parameters.parallel = streams;
        if transport == Transport::Udp {
            request.parameters.congestion = None;
            request.parameters.bandwidth = Some(10_000_000);
            request.parameters.len = Some(1000);
            request.instantaneous = true;
        }
        let ours = run(&request, &|| false, &mut |_| {}).unwrap();
        let theirs = server.outcome();
        let bytes = |outcome: &Outcome| -> u64 {
            let streams = outcome.streams.iter();
            streams.map(|stream| stream.total.bytes).sum()
        };
        let role = ours.streams[0].role;
        let (sent, received) = match role {
            Role::Sender => (bytes(&ours), bytes(&theirs)),
            Role::Receiver => (bytes(&theirs), bytes(&ours)),
        };
        assert_eq!(ours.received(role), Some(received));
        assert_eq!(ours.sent(role), Some(sent));
        assert_eq!(theirs.cut_short, None, "{direction:?}");
        if transport == Transport::Tcp {
            assert_eq!(sent, received, "{direction:?}");
            difference = difference.min(ours.measured.abs_diff(theirs.measured));
            let explained = explain(&ours);
            assert_eq!(explained.len(), 2);
            assert!(explained.iter().all(|stream| stream.has_both_ends));
        }
    }
    // Both clocks begin when the streams are open, unless a thread is not scheduled.
    assert!(difference < Duration::from_millis(200), "{difference:?}");
}

#[test]
fn many_clients_share_the_data_ports() {
    let server = NuttcpServer::start(Admission::default());
    let clients = (0..4).map(|index| {
        let mut request = server.request();
        request.parameters.bandwidth = Some(5_000_000);
        if index % 2 == 0 {
            request.parameters.transport = Transport::Udp;
            request.parameters.congestion = None;
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

#[test]
fn a_client_waits_for_its_turn_and_the_next_is_told_why_not() {
    let server = NuttcpServer::start(Admission {
        tests: 1,
        queue: 1,
        ..Admission::default()
    });
    let first = {
        let request = server.request();
        thread::spawn(move || run(&request, &|| false, &mut |_| {}).unwrap())
    };
    server.wait_for(0);
    let second = {
        let request = server.request();
        thread::spawn(move || {
            let mut was_queued = false;
            let outcome = run(&request, &|| false, &mut |progress| {
                was_queued |= matches!(progress, Progress::Queued { has_answered: true });
            });
            (outcome.unwrap(), was_queued)
        })
    };
    server.wait_for(1);
    let third = run(&server.request(), &|| false, &mut |_| {}).unwrap_err();
    assert!(
        third.to_string().contains("1 tests running, 1 waiting"),
        "{third}"
    );
    if let Ok(output) = Command::new("nuttcp")
        .args(["-P", &server.at.port().to_string(), "127.0.0.1"])
        .output()
    {
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("1 tests running, 1 waiting"), "{said}");
    }
    first.join().unwrap();
    let (outcome, was_queued) = second.join().unwrap();
    assert!(was_queued);
    assert_eq!(outcome.cut_short, None);
}

/// Greeting and parameters of a client of version 8.2.2.
fn hello(parameters: Parameters) -> String {
    let line = parameters.line(Version::OURS).unwrap();
    format!("HELO nuttcp v8.2.2\n{line}")
}

/// Default test at a data port.
fn at_port(port: u16) -> Parameters {
    Parameters {
        port,
        ..Parameters::default()
    }
}

#[test]
fn clients_that_misbehave_disturb_no_test() {
    let server = NuttcpServer::start(Admission::default());
    let mut silent: Vec<TcpStream> = (0..1100).map(|_| server.connect()).collect();
    for (index, stream) in silent.iter_mut().enumerate() {
        let text: &[u8] = match index % 5 {
            0 => b"GET / HTTP/1.1\r\n\r\n",
            1 => b"HELO nuttcp v8.2.2\n",
            2 => b"HELO nuttcp v8.2.2\nbuflen = 4294967295, nbuf = 1\n",
            3 => &[b'x'; 5000],
            _ => b"",
        };
        let _ = stream.write_all(text);
    }
    let outcome = run(&server.request(), &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short, None);
    drop(silent);
}

#[test]
fn ports_that_are_not_for_data_are_refused() {
    let server = NuttcpServer::start(Admission::default());
    let theirs = UdpSocket::bind((Ipv4Addr::LOCALHOST, server.data_port)).unwrap();
    for (port, reason) in [
        (4999, "data port 4999: this server's begin at 5001"),
        (server.data_port, "Address already in use"),
    ] {
        let mut request = server.request();
        request.parameters.transport = Transport::Udp;
        request.parameters.congestion = None;
        request.data_port = port;
        let error = run(&request, &|| false, &mut |_| {}).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    drop(theirs);
}

#[test]
fn a_test_whose_streams_never_come_ends_with_its_client() {
    let server = NuttcpServer::start(Admission {
        tests: 1,
        queue: 4,
        ..Admission::default()
    });
    let absent = server.connect();
    let text = hello(at_port(server.data_port));
    (&absent).write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    let mut lines = BufReader::new(&absent);
    lines.read_line(&mut answer).unwrap();
    lines.read_line(&mut answer).unwrap();
    assert!(answer.ends_with("OK v8.2.2\n"), "{answer}");
    drop(lines);
    drop(absent);
    let outcome = run(&server.request(), &|| false, &mut |_| {}).unwrap();
    assert_eq!(outcome.cut_short, None);
}

#[test]
fn a_client_that_closes_early_frees_its_place_and_leaves_what_was_measured() {
    let server = NuttcpServer::start(Admission::default());
    let mut client = server.connect();
    let text = hello(at_port(server.data_port));
    client.write_all(text.as_bytes()).unwrap();
    let mut answer = [0; 29];
    client.read_exact(&mut answer).unwrap();
    let data = (Ipv4Addr::LOCALHOST, server.data_port);
    let mut data = TcpStream::connect(data).unwrap();
    data.write_all(&[0; 100_000]).unwrap();
    thread::sleep(Duration::from_millis(200));
    drop(client);
    let outcome = server.outcome();
    assert_eq!(outcome.cut_short.as_deref(), Some("the client has closed"));
    assert_eq!(outcome.streams[0].total.bytes, 100_000);
}
