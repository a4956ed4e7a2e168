//! Test packets of STAMP: what is reflected, how often, and to whom.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use gigatcp_meter::tester::{Admission, MAX_STAMP_RATE, Network, Server, ServerConfig};
use gigatcp_protocol::stamp::{self, MIN_REFLECTED, Reflected};

use super::common::{LOCALHOST, Running};

/// Maximum wait for an answer.
const SOON: Duration = Duration::from_millis(300);

/// A server that reflects at a free port, and that port.
fn reflector(allow: &[&str]) -> (Running, SocketAddr) {
    reflector_at(Some(LOCALHOST), allow)
}

fn reflector_at(bind: Option<IpAddr>, allow: &[&str]) -> (Running, SocketAddr) {
    let free = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    let at = free.local_addr().unwrap();
    drop(free);
    let server = Running::start(ServerConfig {
        bind,
        port: 0,
        admission: Admission {
            allow: allow
                .iter()
                .map(|text| Network::parse(text).unwrap())
                .collect(),
            ..Admission::default()
        },
        stamp: Some(at.port()),
        ..ServerConfig::default()
    });
    (server, at)
}

fn socket(to: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((LOCALHOST, 0)).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket
}

#[test]
fn answer_has_the_length_of_the_packet_and_short_packets_have_none() {
    let (_server, at) = reflector(&[]);
    let socket = socket(at);
    let mut answer = [0; 10_000];
    for length in [0, 14, MIN_REFLECTED - 1, 9001] {
        socket.send(&vec![0; length]).unwrap();
        assert!(socket.recv(&mut answer).is_err(), "{length}");
    }
    for (sequence, length) in [(1, MIN_REFLECTED), (2, 44), (3, 200), (4, 9000)] {
        let mut packet = vec![0; length.max(44)];
        stamp::write(&mut packet, sequence, 1);
        socket.send(&packet[..length]).unwrap();
        assert_eq!(socket.recv(&mut answer).unwrap(), length);
        let read = Reflected::read(&answer[..length]).unwrap();
        assert_eq!(
            (read.sequence, read.reflector_sequence),
            (sequence, sequence)
        );
        assert!(read.received_ns > 0 && read.received_ns <= read.returned_ns);
        if cfg!(target_os = "linux") {
            assert_eq!(read.ttl, 64);
        }
    }
}

#[test]
fn packets_of_a_source_beyond_its_rate_are_not_answered() {
    let (_server, at) = reflector(&[]);
    let socket = socket(at);
    let mut packet = [0; 44];
    for sequence in 0..4 * MAX_STAMP_RATE {
        stamp::write(&mut packet, sequence, 1);
        socket.send(&packet).unwrap();
    }
    let mut answers = 0;
    while socket.recv(&mut [0; 64]).is_ok() {
        answers += 1;
    }
    // A second may have ended in between.
    assert!(
        (MAX_STAMP_RATE..=2 * MAX_STAMP_RATE).contains(&answers),
        "{answers}"
    );
}

#[test]
fn address_that_is_not_allowed_is_not_answered() {
    let (_server, at) = reflector(&["192.0.2.0/24"]);
    let socket = socket(at);
    socket.send(&[0; 44]).unwrap();
    assert!(socket.recv(&mut [0; 64]).is_err());
}

/// A sender takes answers from the reflector's address only. The route prefers 127.0.0.1.
#[test]
fn answer_comes_from_the_address_that_was_asked() {
    for bind in [None, Some(Ipv4Addr::UNSPECIFIED.into())] {
        let (_server, at) = reflector_at(bind, &[]);
        let socket = socket(SocketAddr::from(([127, 0, 0, 2], at.port())));
        socket.send(&[0; 44]).unwrap();
        assert_eq!(socket.recv(&mut [0; 64]).unwrap(), 44, "{bind:?}");
    }
}

/// All reflectors of a link would answer to the address that one packet names.
#[cfg(target_os = "linux")]
#[test]
fn packet_to_a_broadcast_address_has_no_answer() {
    for bind in [None, Some(Ipv4Addr::UNSPECIFIED.into())] {
        let (_server, at) = reflector_at(bind, &[]);
        let socket = UdpSocket::bind((LOCALHOST, 0)).unwrap();
        socket.set_broadcast(true).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        let mut packet = [0; 44];
        let broadcast = Ipv4Addr::new(127, 255, 255, 255);
        for (sequence, to) in [(1, broadcast), (2, Ipv4Addr::LOCALHOST)] {
            stamp::write(&mut packet, sequence, 1);
            socket.send_to(&packet, (to, at.port())).unwrap();
        }
        let (length, _) = socket.recv_from(&mut packet).unwrap();
        let answered = Reflected::read(&packet[..length]).unwrap();
        assert_eq!(answered.sequence, 2, "{bind:?}");
    }
}

#[test]
fn packets_without_an_answer_cost_no_quota() {
    let (_server, at) = reflector(&[]);
    let socket = socket(at);
    // In two parts, of which each fits the reflector's buffer.
    for _ in 0..2 {
        for _ in 0..MAX_STAMP_RATE * 3 / 5 {
            socket.send(&[0; 4]).unwrap();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    socket.send(&[0; 44]).unwrap();
    assert_eq!(socket.recv(&mut [0; 64]).unwrap(), 44);
}

/// Of two reflectors at one port, the kernel would choose one for each packet.
#[test]
fn port_of_another_reflector_is_refused() {
    let (_server, at) = reflector(&[]);
    let second = Server::bind(ServerConfig {
        bind: Some(LOCALHOST),
        port: 0,
        nuttcp: None,
        stamp: Some(at.port()),
        ..ServerConfig::default()
    });
    assert_eq!(second.err().map(|error| error.port), Some(at.port()));
}
