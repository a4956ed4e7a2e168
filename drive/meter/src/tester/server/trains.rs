//! Packet trains, by which clients measure the path: arrival times of theirs, and trains to them.
//!
//! Only a client with a control connection is recorded, at most [`MAX_PACKETS`] packets of its last
//! train and [`MAX_CLIENTS`] clients at a time: 1.5 MiB. An answer is shorter than the packets that it
//! is about, so a forged address gains nothing. With a total rate the packets are paid from it.
//!
//! Trains are sent to the address of a test that awaits its streams, if the request has the test's
//! cookie: at most [`MAX_SENT`] packets for a test, by one thread that ends when the streams come.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::train::{
    Arrivals, MIN_LENGTH, REQUEST_LENGTH, SentTrain, TrainRequest,
};
use gigatcp_why::trains::deliveries;

use crate::system::datagrams::MAX_BATCH;
use crate::tester::capacity::{HEADER, MAX_PACKETS as MAX_OF_TRAIN, MAX_SEGMENT};
use crate::tester::capacity::{send_train, since_first};
use crate::tester::client::is_timeout;
use crate::tester::rate_limit::{TokenBucket, udp_headers};

/// Maximum number of packets recorded of a train.
pub(super) const MAX_PACKETS: usize = 4096;

/// Maximum number of clients whose trains are recorded.
pub(super) const MAX_CLIENTS: usize = 48;

/// Time after which a train is forgotten.
const KEPT: Duration = Duration::from_secs(5);

/// Packets recorded in a second, of all clients: trains of a few clients at 10 Gbit/s.
pub(super) const MAX_RATE: u32 = 20_000;

/// Packets sent to a client before its test.
pub(super) const MAX_SENT: u32 = 2 * MAX_OF_TRAIN;

/// Maximum wait for the next request, and for an interface that does not send.
const WAIT: [Duration; 2] = [Duration::from_millis(50), Duration::from_secs(1)];

/// The last train of a client.
#[derive(Debug)]
struct Log {
    number: u16,
    /// Arrival times by the real-time clock, in nanoseconds.
    arrivals: Vec<i64>,
    last: Instant,
}

/// Trains of clients, by address and port.
#[derive(Debug, Default)]
pub(super) struct Trains {
    logs: BTreeMap<SocketAddr, Log>,
    /// Start of a second, and packets recorded in it.
    window: Option<(Instant, u32)>,
}

impl Trains {
    /// Whether a client has a train here.
    pub(super) fn has(&self, peer: SocketAddr) -> bool {
        self.logs.contains_key(&peer)
    }

    /// Records an arrival. A new number begins a new train.
    pub(super) fn push(&mut self, peer: SocketAddr, number: u16, at: i64, now: Instant) {
        let since = |window: (Instant, u32)| now.saturating_duration_since(window.0);
        let window = self
            .window
            .filter(|last| since(*last) < Duration::from_secs(1));
        let (start, count) = window.unwrap_or((now, 0));
        self.window = Some((start, count.saturating_add(1)));
        if count >= MAX_RATE {
            return;
        }
        if !self.logs.contains_key(&peer) {
            self.logs
                .retain(|_, log| now.saturating_duration_since(log.last) < KEPT);
            if self.logs.len() >= MAX_CLIENTS {
                return;
            }
        }
        let log = self.logs.entry(peer).or_insert_with(|| Log {
            number,
            arrivals: Vec::new(),
            last: now,
        });
        if log.number != number {
            log.number = number;
            log.arrivals.clear();
        }
        log.last = now;
        if log.arrivals.len() < MAX_PACKETS {
            log.arrivals.push(at);
        }
    }

    /// The answer to a client that asks for a train; `None` if no packet of it has arrived.
    pub(super) fn answer(&self, peer: SocketAddr, number: u16) -> Option<Vec<u8>> {
        let log = self.logs.get(&peer).filter(|log| log.number == number)?;
        let times = since_first(&log.arrivals);
        let arrivals = Arrivals {
            train: number,
            packets: times.len() as u32,
            arrived_in: *times.last()?,
            deliveries: deliveries(&times),
        };
        Some(arrivals.to_bytes())
    }
}

/// Sends trains to the client of a test.
#[derive(Debug)]
pub(super) struct TrainSender {
    /// Connected to the client.
    pub(super) socket: UdpSocket,
    /// Rate of all tests, if it is limited.
    pub(super) bucket: Option<Arc<TokenBucket>>,
    /// Whether the test awaits its streams, which ends it.
    pub(super) is_opening: Arc<AtomicBool>,
}

impl TrainSender {
    /// Answers requests with the cookie of the first one. A repeated one has the same report.
    pub(super) fn run(self, first: TrainRequest) -> std::io::Result<()> {
        self.socket.set_read_timeout(Some(WAIT[0]))?;
        self.socket.set_write_timeout(Some(WAIT[1]))?;
        let mut left = MAX_SENT;
        let mut last: Option<SentTrain> = None;
        let mut request = Some(first);
        let mut datagram = [0; REQUEST_LENGTH];
        while self.is_opening.load(Ordering::Acquire) {
            if let Some(request) = request.filter(|request| request.cookie == first.cookie) {
                let sent = match last.filter(|last| last.train == request.train) {
                    Some(sent) => sent,
                    None => self.send(request, left)?,
                };
                if last.replace(sent) != Some(sent) {
                    left -= sent.packets;
                }
                self.socket.send(&sent.to_bytes())?;
            }
            request = match self.socket.recv(&mut datagram) {
                Ok(length) => TrainRequest::read(&datagram[..length]),
                Err(error) if is_timeout(&error) => None,
                Err(error) => return Err(error),
            };
        }
        Ok(())
    }

    /// Sends a train of at most `left` packets, as far as the total rate has room.
    fn send(&self, request: TrainRequest, left: u32) -> std::io::Result<SentTrain> {
        let size = usize::from(request.size).clamp(MIN_LENGTH, (MAX_SEGMENT + HEADER) as usize);
        let count = u32::from(request.packets).min(MAX_OF_TRAIN).min(left);
        let headers = udp_headers(self.socket.peer_addr()?.ip());
        let batch = self.bucket.as_ref().map_or(MAX_BATCH, |_| 1);
        send_train(
            &self.socket,
            (request.train, count, size),
            batch,
            |packets| {
                let bytes = packets as u64 * (size as u64 + headers);
                (self.bucket.as_ref()).is_none_or(|bucket| bucket.pays(bytes, Instant::now()))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn last_train_of_a_client_is_answered() {
        let mut trains = Trains::default();
        let now = Instant::now();
        for number in [1, 2] {
            for place in 0..8 {
                trains.push(client(9), number, 1_000_000 * place, now);
            }
        }
        let answer = trains.answer(client(9), 2).unwrap();
        let arrivals = Arrivals::read(&answer).unwrap();
        assert_eq!(arrivals.packets, 8);
        assert_eq!(arrivals.arrived_in, gigatcp_units::Duration::from_millis(7));
        assert_eq!(arrivals.deliveries.len(), 8);
        assert_eq!(trains.answer(client(9), 1), None);
        assert_eq!(trains.answer(client(8), 2), None);
    }

    #[test]
    fn clients_packets_and_rate_are_bounded() {
        let mut trains = Trains::default();
        let now = Instant::now();
        for port in 1..200 {
            trains.push(client(port), 1, 0, now);
        }
        assert_eq!(trains.logs.len(), MAX_CLIENTS);
        for _ in 0..2 * MAX_RATE {
            trains.push(client(1), 1, 0, now);
        }
        assert_eq!(trains.logs[&client(1)].arrivals.len(), MAX_PACKETS);
        // Forgotten clients make room.
        let later = now + KEPT;
        trains.push(client(300), 1, 0, later);
        assert!(trains.has(client(300)));
        assert_eq!(trains.logs.len(), 1);
    }
}
