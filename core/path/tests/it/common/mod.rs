//! A numbered parcel, and a driver that polls a hop exactly when requested.

use gigatcp_path::{DropCause, Hop, Parcel, Routed};
use gigatcp_units::{Bytes, Instant};

/// Wire packets numbered from `first`, all of `size` IP bytes except the last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    pub first: u64,
    pub count: usize,
    pub size: u64,
    pub last: u64,
}

impl Numbered {
    pub fn one(first: u64, size: u64) -> Self {
        Self {
            first,
            count: 1,
            size,
            last: size,
        }
    }

    /// Numbers of the wire packets inside.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + use<> {
        self.first..self.first + self.count as u64
    }

    /// Same wire packets, each as a separate parcel.
    pub fn singles(self) -> impl Iterator<Item = Numbered> {
        (0..self.count).map(move |index| {
            let is_last = index + 1 == self.count;
            let size = if is_last { self.last } else { self.size };
            Self::one(self.first + index as u64, size)
        })
    }
}

impl Parcel for Numbered {
    fn wire_packets(&self) -> usize {
        self.count
    }

    fn ip_bytes(&self) -> u64 {
        self.size * (self.count as u64 - 1) + self.last
    }

    fn leading_ip_bytes(&self) -> u64 {
        self.size
    }

    fn split_front(&mut self, n: usize) -> Self {
        assert!((1..self.count).contains(&n), "split of {n} off {self:?}");
        let front = Self {
            count: n,
            last: self.size,
            ..*self
        };
        self.first += n as u64;
        self.count -= n;
        if self.count == 1 {
            self.size = self.last;
        }
        front
    }

    const JOINS: bool = true;

    fn join(&mut self, next: &Self) {
        assert_eq!(self.first + self.count as u64, next.first);
        assert!(self.last == self.size && next.last <= self.size);
        self.count += next.count;
        self.last = next.last;
    }
}

/// Numbered wire packets on their route.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    pub packets: Numbered,
    pub route: usize,
    pub stage: usize,
    pub is_error: bool,
}

impl Parcel for Sent {
    fn wire_packets(&self) -> usize {
        self.packets.wire_packets()
    }

    fn ip_bytes(&self) -> u64 {
        self.packets.ip_bytes()
    }

    fn leading_ip_bytes(&self) -> u64 {
        self.packets.leading_ip_bytes()
    }

    fn split_front(&mut self, n: usize) -> Self {
        let packets = self.packets.split_front(n);
        Self {
            packets,
            ..self.clone()
        }
    }

    fn flow(&self) -> u32 {
        self.route as u32
    }

    const JOINS: bool = true;

    fn join(&mut self, next: &Self) {
        assert_eq!((self.route, self.stage), (next.route, next.stage));
        self.packets.join(&next.packets);
    }
}

impl Routed for Sent {
    fn route(&self) -> usize {
        self.route
    }

    fn stage(&self) -> usize {
        self.stage
    }

    fn advance(&mut self) {
        self.stage += 1;
    }

    fn too_big(&self, mtu: Bytes, back: usize, stage: usize) -> Option<Self> {
        assert!(self.packets.size > mtu.as_u64());
        (!self.is_error).then(|| Self {
            packets: Numbered::one(self.packets.first, 600),
            route: back,
            stage,
            is_error: true,
        })
    }
}

/// Output of a hop.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Parcels with the instant of their delivery, in order.
    pub delivered: Vec<(Instant, Numbered)>,
    /// Dropped wire packets, in order of the verdicts.
    pub dropped: Vec<(u64, DropCause)>,
}

impl Outcome {
    /// Wire packets with the instant of their delivery, in order.
    pub fn delivered_packets(&self) -> Vec<(Instant, u64)> {
        let numbers = |(at, parcel): &(Instant, Numbered)| {
            let at = *at;
            parcel.numbers().map(move |number| (at, number))
        };
        self.delivered.iter().flat_map(numbers).collect()
    }

    /// Collects everything due by `now`, polling at the requested instants.
    pub fn collect_until(&mut self, hop: &mut Hop<Numbered>, now: Instant) {
        while let Some(at) = hop.poll_timeout().filter(|&at| at <= now) {
            while let Some(parcel) = hop.poll_delivery(at) {
                self.delivered.push((at, parcel));
            }
            let next = hop.poll_timeout();
            assert!(next.is_none_or(|next| next > at), "asked for {at:?} again");
        }
    }

    /// Collects everything dropped so far.
    pub fn collect_dropped(&mut self, hop: &mut Hop<Numbered>) {
        while let Some((parcel, cause)) = hop.poll_dropped() {
            self.dropped
                .extend(parcel.numbers().map(|number| (number, cause)));
        }
    }
}

/// Sends all arrivals through the hop and polls until it is empty.
pub fn run(
    hop: &mut Hop<Numbered>,
    arrivals: impl IntoIterator<Item = (Instant, Numbered)>,
) -> Outcome {
    let mut outcome = Outcome::default();
    for (now, parcel) in arrivals {
        outcome.collect_until(hop, now);
        hop.handle_arrival(now, parcel);
        outcome.collect_dropped(hop);
        assert!(hop.counters().is_conserved());
    }
    outcome.collect_until(hop, Instant::FAR_FUTURE);
    outcome
}
