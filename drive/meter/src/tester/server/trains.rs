//! Arrival times of packet trains, by which clients measure the path.
//!
//! Only a client with a control connection is recorded, at most [`MAX_PACKETS`] packets of its last
//! train and [`MAX_CLIENTS`] clients at a time: 1.5 MiB. An answer is shorter than the packets that it
//! is about, so a forged address gains nothing. With a total rate the packets are paid from it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use gigatcp_protocol::iperf3::train::Arrivals;
use gigatcp_why::trains::deliveries;

/// Maximum number of packets recorded of a train.
const MAX_PACKETS: usize = 4096;

/// Maximum number of clients whose trains are recorded.
const MAX_CLIENTS: usize = 48;

/// Time after which a train is forgotten.
const KEPT: Duration = Duration::from_secs(5);

/// Packets recorded in a second, of all clients: trains of a few clients at 10 Gbit/s.
const MAX_RATE: u32 = 20_000;

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
        let first = *log.arrivals.first()?;
        let times = log.arrivals.iter().map(|at| {
            let nanos = at.saturating_sub(first);
            gigatcp_units::Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
        });
        let mut times: Vec<gigatcp_units::Duration> = times.collect();
        // The real-time clock may be set.
        times.sort_unstable();
        let arrivals = Arrivals {
            train: number,
            packets: times.len() as u32,
            arrived_in: *times.last()?,
            deliveries: deliveries(&times),
        };
        Some(arrivals.to_bytes())
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
