//! Two hosts in virtual time, with packets as bytes and a path with loss, delay, reordering and
//! duplication. An example of a driver for [`Endpoint`].

#[path = "../driver/mod.rs"]
mod driver;

use std::collections::BTreeMap;
use std::net::IpAddr;

use gigatcp_stack::wire::PacketPool;
use gigatcp_stack::{Bytes, Duration, Endpoint, Instant};
use gigatcp_units::random::Stream;

/// Impairments of the path, in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// One-way delay.
    pub delay: Duration,
    /// Maximum additional delay of a packet.
    pub jitter: Duration,
    /// Probability of loss.
    pub loss: f64,
    /// Probability of duplication.
    pub duplication: f64,
}

/// Two hosts and the path between them.
#[derive(Debug)]
pub struct Network {
    pub now: Instant,
    pub hosts: [Endpoint; 2],
    pools: [PacketPool; 2],
    path: Path,
    random: Stream,
    /// Packets in flight by time of arrival and number, each with its destination host.
    arrivals: BTreeMap<(Instant, u64), (usize, Bytes)>,
    /// Packets that left a host.
    pub packets: u64,
}

/// The addresses of the two hosts.
pub fn addresses() -> [IpAddr; 2] {
    [[10, 0, 0, 1].into(), [10, 0, 0, 2].into()]
}

impl Network {
    /// Two hosts at [`addresses`].
    pub fn new(path: Path, seed: u64) -> Self {
        let host =
            |number: usize| Endpoint::new(Instant::ZERO, [number as u8; 16], [addresses()[number]]);
        Self {
            now: Instant::ZERO,
            hosts: [host(0), host(1)],
            pools: [PacketPool::default(), PacketPool::default()],
            path,
            random: Stream::new(seed, "path", 0),
            arrivals: BTreeMap::new(),
            packets: 0,
        }
    }

    /// Sends everything that the hosts may send.
    pub fn send(&mut self) {
        for from in 0..2 {
            let mut packets = Vec::new();
            let (host, pool) = (&mut self.hosts[from], &mut self.pools[from]);
            driver::send(host, pool, self.now, &mut packets);
            for packet in packets {
                self.fly(from, &packet);
            }
        }
    }

    fn fly(&mut self, from: usize, packet: &Bytes) {
        let copies = 1 + usize::from(self.random.uniform() < self.path.duplication);
        for _ in 0..copies {
            let jitter = self.path.jitter.as_secs_f64() * self.random.uniform();
            let at = self.now + self.path.delay + Duration::from_secs_f64(jitter);
            let is_lost = self.random.uniform() < self.path.loss;
            self.packets += 1;
            if !is_lost {
                let place = (at, self.packets);
                self.arrivals.insert(place, (1 - from, packet.clone()));
            }
        }
    }

    /// Advances to the next arrival or timer; returns `false` if there is none.
    pub fn step(&mut self) -> bool {
        self.step_until(None)
    }

    /// Advances to the next arrival or timer before `end`. If there is none, advances to `end` and
    /// returns `false`.
    pub fn step_until(&mut self, end: impl Into<Option<Instant>>) -> bool {
        self.send();
        let end = end.into();
        let timers = self.hosts.iter().filter_map(Endpoint::poll_timeout);
        let arrival = self.arrivals.first_key_value().map(|(place, _)| place.0);
        let next = timers.chain(arrival).min();
        let Some(next) = next.filter(|next| end.is_none_or(|end| *next < end)) else {
            self.now = end.unwrap_or(self.now);
            return false;
        };
        self.now = self.now.max(next);
        while let Some(entry) = self.arrivals.first_entry()
            && entry.key().0 <= self.now
        {
            let (to, packet) = entry.remove();
            driver::receive(&mut self.hosts[to], &self.pools[to], self.now, packet);
        }
        for host in &mut self.hosts {
            if host.poll_timeout().is_some_and(|due| due <= self.now) {
                host.handle_timeout(self.now);
            }
        }
        self.send();
        true
    }
}
