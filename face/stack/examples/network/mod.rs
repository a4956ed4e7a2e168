//! Two hosts in virtual time, with packets as bytes and a path with loss, delay, reordering and
//! duplication. An example of a driver for [`Endpoint`].

use std::collections::BTreeMap;
use std::net::IpAddr;

use gigatcp_stack::wire::{ChecksumFill, IpHeader, decode_packet, encode_packet, packet_len};
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
            path,
            random: Stream::new(seed, "path", 0),
            arrivals: BTreeMap::new(),
            packets: 0,
        }
    }

    /// Sends everything that the hosts may send.
    pub fn send(&mut self) {
        for from in 0..2 {
            while let Some((endpoints, segment)) = self.hosts[from].poll_transmit(self.now) {
                let ip = IpHeader::new(endpoints);
                // A super-segment is several packets.
                for segment in segment.into_wire_segments() {
                    self.fly(from, &ip, &segment);
                }
            }
        }
    }

    fn fly(&mut self, from: usize, ip: &IpHeader, segment: &gigatcp_stack::Segment) {
        let mut packet = vec![0; packet_len(ip, segment).expect("its options fit")];
        encode_packet(ip, segment, ChecksumFill::Whole, &mut packet).expect("it fits a packet");
        let packet = Bytes::from(packet);
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
            let (ip, segment) = decode_packet(&packet).expect("it was encoded so");
            let owned = segment.map_payload(Bytes::copy_from_slice);
            self.hosts[to].handle_segment(self.now, ip.endpoints, owned);
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
