//! Packet trains to the server's port: who is answered, with how much, and within which rate.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::train::{Arrivals, MIN_LENGTH, Message};
use gigatcp_protocol::iperf3::{Limits, State};

use super::common::Running;
use super::stranger::{Stranger, server};

/// Maximum wait for an answer.
const SOON: Duration = Duration::from_millis(200);

/// A socket to the server's port.
fn socket(server: &Running) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.at).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket
}

/// A client that the server knows by its control connection.
fn known(server: &Running) -> Stranger {
    let mut stranger = Stranger::connect(server, [7; 37]);
    assert_eq!(stranger.state(), State::ParamExchange);
    stranger
}

fn send_train(socket: &UdpSocket, number: u16, count: usize, size: usize) {
    let mut datagram = vec![0; size];
    Message::Train(number).write(&mut datagram);
    for _ in 0..count {
        socket.send(&datagram).unwrap();
    }
}

/// The answer to a question for a train, and its length.
fn answer(socket: &UdpSocket, number: u16) -> Option<(Arrivals, usize)> {
    let mut question = [0; MIN_LENGTH];
    Message::Ask(number).write(&mut question);
    socket.send(&question).unwrap();
    let mut bytes = [0; 65_536];
    let length = socket.recv(&mut bytes).ok()?;
    Some((Arrivals::read(&bytes[..length])?, length))
}

#[test]
fn train_of_an_address_without_control_connection_is_not_answered() {
    let server = server(Admission::default());
    let socket = socket(&server);
    send_train(&socket, 1, 8, 1000);
    assert_eq!(answer(&socket, 1), None);
    let _known = known(&server);
    send_train(&socket, 2, 8, 1000);
    assert_eq!(answer(&socket, 2).map(|found| found.0.packets), Some(8));
}

#[test]
fn answer_is_shorter_than_the_smallest_datagrams_that_it_is_about() {
    let server = server(Admission::default());
    let _known = known(&server);
    let socket = socket(&server);
    for (number, count) in [(1, 1), (2, 2), (3, 20), (4, 60)] {
        send_train(&socket, number, count, MIN_LENGTH);
        let (_, length) = answer(&socket, number).expect("an answer");
        let headers = 28;
        let sent = (count + 1) * (MIN_LENGTH + headers);
        assert!(length + headers <= sent, "{length} bytes for {sent}");
    }
}

#[test]
fn trains_beyond_the_total_rate_are_not_recorded() {
    const RATE: u64 = 8_000_000;
    const SIZE: usize = 1000;
    let server = server(Admission {
        limits: Limits {
            total_rate: RATE,
            ..Limits::default()
        },
        ..Admission::default()
    });
    let _known = known(&server);
    let socket = socket(&server);
    let start = Instant::now();
    let (mut recorded, mut number) = (0, 0);
    // Trains of 100 datagrams, until 0.7 s of the rate are recorded.
    while recorded * (SIZE as u64 + 28) < RATE / 8 * 7 / 10 {
        number += 1;
        send_train(&socket, number, 100, SIZE);
        recorded += answer(&socket, number).map_or(0, |found| u64::from(found.0.packets));
    }
    let bytes = recorded * (SIZE as u64 + 28);
    // What was saved in 0.1 s comes first.
    let limit = RATE / 8 / 10 + (start.elapsed().as_secs_f64() * RATE as f64 / 8.0) as u64;
    assert!(bytes <= limit, "{bytes} bytes, limit {limit}");
}
