//! Packet trains to the server's port: who is answered, with how much, and within which rate.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use gigatcp_meter::tester::Admission;
use gigatcp_protocol::iperf3::train::{
    Arrivals, MIN_LENGTH, Message, REQUEST_LENGTH, SentTrain, TrainRequest,
};
use gigatcp_protocol::iperf3::{COOKIE_LENGTH, Cookie, Limits, State};
use serde_json::json;

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

/// A total rate, in bit/s.
const RATE: u64 = 8_000_000;

/// A server with a total rate.
fn limited() -> Running {
    server(Admission {
        limits: Limits {
            total_rate: RATE,
            ..Limits::default()
        },
        ..Admission::default()
    })
}

/// A client whose test awaits its streams.
fn awaited(server: &Running) -> Stranger {
    let parameters = json!({"tcp": true, "time": 1, "reverse": true, "bandwidth": RATE / 8});
    let mut stranger = Stranger::requests(server, &parameters);
    assert_eq!(stranger.state(), State::CreateStreams);
    stranger
}

/// Requests a train; returns the number and bytes of its packets, and the report. `None`: there is no
/// answer.
fn requested(
    socket: &UdpSocket,
    (train, packets, size): (u16, u16, u16),
    cookie: [u8; COOKIE_LENGTH],
) -> Option<(u32, u64, SentTrain)> {
    let request = TrainRequest {
        train,
        packets,
        size,
        cookie: Cookie::from_bytes(cookie),
    };
    socket.send(&request.to_bytes()).unwrap();
    let (mut count, mut bytes) = (0, 0);
    let mut datagram = [0; 65_536];
    loop {
        let length = socket.recv(&mut datagram).ok()?;
        match SentTrain::read(&datagram[..length]) {
            Some(sent) if sent.train == train => return Some((count, bytes, sent)),
            Some(_) => {}
            None => {
                count += 1;
                bytes += length as u64 + 28;
            }
        }
    }
}

#[test]
fn trains_go_only_to_the_address_of_a_test_whose_cookie_is_known() {
    let server = server(Admission::default());
    let stranger = awaited(&server);
    let socket = socket(&server);
    let wanted = (1, 8, 1000);
    assert_eq!(requested(&socket, wanted, [7; COOKIE_LENGTH]), None);
    let other = UdpSocket::bind("127.0.0.2:0").unwrap();
    other.connect(server.at).unwrap();
    other.set_read_timeout(Some(SOON)).unwrap();
    assert_eq!(requested(&other, wanted, stranger.cookie), None);
    let (count, _, sent) = requested(&socket, wanted, stranger.cookie).expect("a train");
    assert_eq!((count, sent.packets), (8, 8));
    // A second socket of the client has none.
    let second = self::socket(&server);
    assert_eq!(requested(&second, wanted, stranger.cookie), None);
    // A request again has the same report, and no second train: less than what was sent for it.
    let (count, _, again) = requested(&socket, wanted, stranger.cookie).expect("a report");
    assert_eq!((count, again), (0, sent));
    assert!(sent.to_bytes().len() < REQUEST_LENGTH);
    drop(stranger);
}

#[test]
fn trains_of_a_test_have_at_most_4096_packets() {
    let server = server(Admission::default());
    let stranger = awaited(&server);
    let socket = socket(&server);
    let mut packets = 0;
    for train in 1..20 {
        // A report that the train left no room for is sent again.
        let mut reports =
            (0..20).map(|_| requested(&socket, (train, u16::MAX, 18), stranger.cookie));
        let (_, _, sent) = reports.find_map(|report| report).expect("a report");
        assert!(sent.packets <= 2048, "{}", sent.packets);
        packets += sent.packets;
    }
    assert_eq!(packets, 4096);
}

#[test]
fn trains_beyond_the_total_rate_are_not_sent() {
    let server = limited();
    let stranger = awaited(&server);
    let socket = socket(&server);
    let start = Instant::now();
    let mut bytes = 0;
    for train in 1..6 {
        let (_, train_bytes, sent) =
            requested(&socket, (train, 2048, 1472), stranger.cookie).expect("a report");
        assert!(sent.packets < 2048, "{}", sent.packets);
        bytes += train_bytes;
    }
    // What was saved in 0.1 s comes first, and the last packet of each train may be ahead.
    let limit = RATE / 8 / 10 + (start.elapsed().as_secs_f64() * RATE as f64 / 8.0) as u64;
    assert!(bytes <= limit + 6 * 1500, "{bytes} bytes, limit {limit}");
}

#[test]
fn trains_beyond_the_total_rate_are_not_recorded() {
    const SIZE: usize = 1000;
    let server = limited();
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
