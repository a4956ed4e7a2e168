//! A test that has ended leaves nothing behind, however its client left: no thread, no descriptor,
//! and no data that the kernel goes on sending.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

use gigatcp_protocol::iperf3::{ErrorCode, State};
use gigatcp_protocol::nuttcp::{Parameters, Side, Version};
use serde_json::{Value, json};
use socket2::SockRef;

use super::process::Process;
use super::stranger::Stranger;

/// Starts a server, has `client` use it, and waits until only what was there before is left. The
/// client is told the number of threads of an idle server.
fn leaves_nothing(client: impl Fn(&Process, u64)) {
    let server = Process::start();
    let idle = server.idle();
    client(&server, idle.0);
    server.wait_until("as before", |server| {
        (server.threads(), server.descriptors()) == idle
    });
}

fn requests(server: &Process, parameters: &Value) -> Stranger {
    Stranger::requests_at(Ipv4Addr::LOCALHOST, server.at, parameters)
}

/// A nuttcp client whose test was accepted, and the port of its data: one that is free for TCP and
/// UDP until somebody else takes it.
fn nuttcp(server: &Process, parameters: Parameters) -> (BufReader<TcpStream>, u16) {
    let mut reasons = vec![];
    for _ in 0..10 {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        if UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_err() {
            continue;
        }
        drop(free);
        let parameters = Parameters {
            port,
            ..parameters.clone()
        };
        let mut control = TcpStream::connect(server.nuttcp_at).unwrap();
        let line = parameters.line(Version::OURS).unwrap();
        control
            .write_all(format!("HELO nuttcp v8.2.2\n{line}").as_bytes())
            .unwrap();
        let mut lines = BufReader::new(control);
        let mut answer = String::new();
        lines.read_line(&mut answer).unwrap();
        lines.read_line(&mut answer).unwrap();
        if answer.ends_with("OK v8.2.2\n") {
            return (lines, port);
        }
        assert!(answer.ends_with("KO\n"), "{answer}");
        lines.read_line(&mut answer).unwrap();
        reasons.push(answer);
    }
    panic!("ten ports are refused: {reasons:?}");
}

/// Waits until the server can send no more to a client that does not read.
fn wait_until_full(stream: &TcpStream) {
    let mut buffer = vec![0; 64 << 20];
    let mut before = 0;
    loop {
        let waiting = stream.peek(&mut buffer).unwrap();
        if waiting == before {
            return;
        }
        before = waiting;
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Reads a stream to its end, which the server resets instead of sending all of it.
fn assert_is_reset(stream: &mut TcpStream) {
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let ended = std::io::copy(stream, &mut std::io::sink());
    let kind = ended.as_ref().map_err(std::io::Error::kind);
    assert_eq!(kind, Err(ErrorKind::ConnectionReset));
}

#[test]
fn streams_that_come_before_they_are_asked_for_wait_and_end_with_the_client() {
    leaves_nothing(|server, _| {
        let parameters = json!({"tcp": true, "time": 5, "parallel": 4, "gigatcp": {"clock": 1}});
        let mut stranger = requests(server, &parameters);
        assert_eq!(stranger.state(), State::Clock);
        let _streams = stranger.open_streams(4);
        stranger.send_state(State::ClockDone);
        assert_eq!(stranger.state(), State::CreateStreams);
        stranger.await_start();
        // And one that never ends its exchange of clocks.
        let mut other = requests(server, &parameters);
        assert_eq!(other.state(), State::Clock);
        let _streams = other.open_streams(4);
    });
}

#[test]
fn stream_reset_before_the_others_come_ends_the_test_with_all_its_threads() {
    leaves_nothing(|server, _| {
        let parameters = json!({"tcp": true, "time": 5, "parallel": 4});
        let mut stranger = requests(server, &parameters);
        assert_eq!(stranger.state(), State::CreateStreams);
        let mut streams = stranger.open_streams(3);
        let reset = streams.pop().unwrap();
        SockRef::from(&reset)
            .set_linger(Some(Duration::ZERO))
            .unwrap();
        drop(reset);
        streams.extend(stranger.open_streams(1));
        let code = ErrorCode::INIT_STREAM.0;
        assert_eq!(stranger.answer(), Some((State::ServerError, Some(code))));
    });
}

#[test]
fn datagrams_of_a_nuttcp_client_that_never_begin_end_with_the_client() {
    leaves_nothing(|server, idle| {
        let (control, port) = nuttcp(
            server,
            Parameters {
                udp: true,
                buffer_bytes: 1000,
                ..Parameters::default()
            },
        );
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        // The thread of the stream exists once a datagram has come.
        server.wait_until("a stream", |server| {
            let _ = socket.send(&[0; 1000]);
            server.threads() > idle
        });
        drop(control);
    });
}

#[test]
fn data_that_a_client_does_not_read_is_dropped_with_its_test() {
    leaves_nothing(|server, idle| {
        let parameters = json!({"tcp": true, "reverse": true, "time": 5, "parallel": 2});
        let mut stranger = requests(server, &parameters);
        assert_eq!(stranger.state(), State::CreateStreams);
        let mut streams = stranger.open_streams(2);
        stranger.await_start();
        for stream in &mut streams {
            stream.read_exact(&mut [0; 1000]).unwrap();
            wait_until_full(stream);
        }
        drop(stranger);
        server.wait_until("ended", |server| server.threads() == idle);
        for stream in &mut streams {
            assert_is_reset(stream);
        }
    });
}

#[test]
fn data_that_a_nuttcp_client_does_not_read_is_dropped_with_its_test() {
    leaves_nothing(|server, idle| {
        let (control, port) = nuttcp(
            server,
            Parameters {
                client: Side::Receiver,
                flipped: true,
                ..Parameters::default()
            },
        );
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut stream = TcpStream::connect(at).unwrap();
        stream.read_exact(&mut [0; 1000]).unwrap();
        wait_until_full(&stream);
        drop(control);
        server.wait_until("ended", |server| server.threads() == idle);
        assert_is_reset(&mut stream);
    });
}
