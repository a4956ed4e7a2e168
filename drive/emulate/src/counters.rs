//! Packets and bytes that a running path has carried and dropped, for an observer.

use gigatcp_path::{Counters, Histogram, Network, Sojourns, Tally, Waited};
use gigatcp_units::{Duration, Instant};

use crate::device::DeviceCounters;
use crate::packet::Packet;

/// All counters at one moment.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// Time since the path began.
    pub at: Duration,
    /// Directions: from client to server, and back.
    pub directions: [Direction; 2],
    /// CPU time used for carrying packets, including polling.
    pub processor: Duration,
    /// Number of times that the path's thread was not scheduled for more than 10 ms.
    pub stalls: u64,
    /// Total time of these stalls.
    pub stalled: Duration,
    /// Whether all CPUs are kept out of deep idle states while packets come.
    pub inhibits_idle: bool,
    /// Bytes of memory that hold packets.
    pub memory: usize,
}

/// One direction.
#[derive(Clone, Default, Debug)]
pub struct Direction {
    /// Its hops, in order.
    pub hops: Vec<HopCounters>,
    /// Device at its beginning.
    pub device: DeviceCounters,
    /// Lateness of packets that left the last hop.
    pub lateness: Histogram,
}

/// A hop.
#[derive(Clone, Default, Debug)]
pub struct HopCounters {
    /// Its name.
    pub name: String,
    /// Counters of wire packets.
    pub counters: Counters,
    /// Arrived packets that are errors to a sender, from a hop of the other direction.
    pub answers: Tally,
    /// Packets waiting and in service.
    pub backlog: Tally,
    /// Maximum backlog so far, in wire packets.
    pub max_backlog: u64,
    /// Mean sojourn in the queue of the packets that left since the last reading. It is unchanged
    /// if none left although some wait.
    pub queueing_delay: Duration,
    /// Sojourns of all packets that left.
    pub sojourns: Histogram,
    /// Packets that left, and the sum of their sojourns.
    pub left: Waited,
    /// Time in which the serializer was busy.
    pub busy: Duration,
    /// That time as a share of the elapsed time.
    pub utilization: f64,
}

impl HopCounters {
    /// Updates the queueing delay; the backlog is up to date.
    fn look_at_queue(&mut self, sojourns: &Sojourns) {
        let left = sojourns.sum();
        self.queueing_delay = match left.mean_since(self.left) {
            Some(mean) => mean,
            None if self.backlog.is_zero() => Duration::ZERO,
            None => self.queueing_delay,
        };
        self.left = left;
        self.sojourns.clone_from(sojourns.histogram());
    }
}

impl Direction {
    /// Packets that arrived at its first hop.
    pub fn arrived(&self) -> Tally {
        let first = self.hops.first();
        first.map_or(Tally::default(), |hop| hop.counters.arrived)
    }

    /// Packets that left its last hop.
    pub fn delivered(&self) -> Tally {
        let last = self.hops.last();
        last.map_or(Tally::default(), |hop| hop.counters.delivered)
    }

    fn sum(&self, of: impl Fn(&Counters) -> u64) -> u64 {
        self.hops.iter().map(|hop| of(&hop.counters)).sum()
    }

    /// Wire packets dropped at any hop.
    pub fn dropped(&self) -> u64 {
        self.sum(|counters| counters.drops.total().packets)
    }

    /// Wire packets duplicated at any hop.
    pub fn duplicated(&self) -> u64 {
        self.sum(|counters| counters.duplicated.packets)
    }

    /// Wire packets that fragmentation has added at any hop.
    pub fn fragmented(&self) -> u64 {
        self.sum(|counters| counters.fragmented.packets)
    }

    /// Wire packets inside.
    pub fn inside(&self) -> u64 {
        self.sum(|counters| counters.inside.packets)
    }

    /// Wire packets that entered behind its first hop, as errors to a sender.
    pub fn answers(&self) -> u64 {
        let behind = self.hops.iter().skip(1);
        behind.map(|hop| hop.answers.packets).sum()
    }

    /// Whether the counts of wire packets add up.
    pub fn is_conserved(&self) -> bool {
        self.arrived().packets + self.answers() + self.duplicated() + self.fragmented()
            == self.delivered().packets + self.dropped() + self.inside()
    }

    /// Updates it from the hops of `route`.
    pub(crate) fn look(&mut self, network: &mut Network<Packet>, route: usize, now: Instant) {
        let links = network.routes()[route].links.clone();
        self.hops.resize_with(links.len(), HopCounters::default);
        for (view, link) in self.hops.iter_mut().zip(links) {
            network.with_link(now, link, |hop| {
                view.name.clone_from(&hop.config().name);
                view.counters = *hop.counters();
                view.backlog = hop.backlog(now);
                view.look_at_queue(hop.sojourns(now));
                view.busy = hop.busy_time(now);
                view.utilization = hop.utilization(now);
            });
            view.max_backlog = network.max_backlog()[link];
            view.answers = network.answers()[link];
        }
    }
}
