//! Packets and octets that a running path has carried and dropped, for an observer.

use gigatcp_path::{Counters, Histogram, Network, Sojourns, Tally, Waited};
use gigatcp_units::Duration;

use crate::device::DeviceCounters;
use crate::packet::Packet;
use gigatcp_units::Instant;

/// Everything at one moment.
#[derive(Clone, Default, Debug)]
pub struct Snapshot {
    /// Since the path began.
    pub at: Duration,
    /// From client to server, and back.
    pub ways: [Way; 2],
    /// Processor time that carrying has taken, waiting without sleep included.
    pub processor: Duration,
    /// How often the path's thread was not scheduled for more than 10 ms.
    pub stalls: u64,
    /// For how long in all.
    pub stalled: Duration,
    /// Whether no processor of the machine sleeps while packets come, and not only
    /// that of the path.
    pub is_all_awake: bool,
    /// Octets of memory that hold packets.
    pub memory: usize,
}

/// One direction.
#[derive(Clone, Default, Debug)]
pub struct Way {
    /// Its hops, in their order.
    pub hops: Vec<HopView>,
    /// The device it begins at.
    pub device: DeviceCounters,
    /// How late packets left the last hop.
    pub lateness: Histogram,
}

/// A hop.
#[derive(Clone, Default, Debug)]
pub struct HopView {
    /// Its name.
    pub name: String,
    /// What has happened to wire packets.
    pub counters: Counters,
    /// Of those that arrived: errors from a hop of the other direction to a sender.
    pub answers: Tally,
    /// Waiting and in service.
    pub backlog: Tally,
    /// The largest backlog so far, in wire packets.
    pub max_backlog: u64,
    /// Mean sojourn in the queue of the packets that left since the look before; as before
    /// if none left although some wait.
    pub queueing_delay: Duration,
    /// Sojourns of all packets that left.
    pub sojourns: Histogram,
    /// Packets that left, and the sum of their sojourns.
    pub left: Waited,
    /// Time in which the serializer had work.
    pub busy: Duration,
    /// The same as a share of the time so far.
    pub utilisation: f64,
}

impl HopView {
    /// Brings the queueing delay up to date; the backlog is.
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

impl Way {
    /// What arrived at its first hop.
    #[must_use]
    pub fn arrived(&self) -> Tally {
        self.hops
            .first()
            .map_or(Tally::default(), |hop| hop.counters.arrived)
    }

    /// What left its last hop.
    #[must_use]
    pub fn delivered(&self) -> Tally {
        self.hops
            .last()
            .map_or(Tally::default(), |hop| hop.counters.delivered)
    }

    /// Wire packets dropped at any hop.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.hops
            .iter()
            .map(|hop| hop.counters.drops.total().packets)
            .sum()
    }

    /// Wire packets doubled at any hop.
    #[must_use]
    pub fn duplicated(&self) -> u64 {
        self.hops
            .iter()
            .map(|hop| hop.counters.duplicated.packets)
            .sum()
    }

    /// Wire packets that cutting into fragments has added at any hop.
    #[must_use]
    pub fn fragmented(&self) -> u64 {
        self.hops
            .iter()
            .map(|hop| hop.counters.fragmented.packets)
            .sum()
    }

    /// Wire packets inside.
    #[must_use]
    pub fn inside(&self) -> u64 {
        self.hops
            .iter()
            .map(|hop| hop.counters.inside.packets)
            .sum()
    }

    /// Wire packets that entered behind its first hop, as errors to a sender.
    #[must_use]
    pub fn answers(&self) -> u64 {
        let behind = self.hops.iter().skip(1);
        behind.map(|hop| hop.answers.packets).sum()
    }

    /// Whether no wire packet has appeared or vanished.
    #[must_use]
    pub fn is_conserved(&self) -> bool {
        self.arrived().packets + self.answers() + self.duplicated() + self.fragmented()
            == self.delivered().packets + self.dropped() + self.inside()
    }

    /// Brings it up to what the hops of `route` have now.
    pub(crate) fn look(&mut self, network: &mut Network<Packet>, route: usize, now: Instant) {
        let links = network.routes()[route].links.clone();
        self.hops.resize_with(links.len(), HopView::default);
        for (view, link) in self.hops.iter_mut().zip(links) {
            network.with_link(now, link, |hop| {
                view.name.clone_from(&hop.config().name);
                view.counters = *hop.counters();
                view.backlog = hop.backlog(now);
                view.look_at_queue(hop.sojourns(now));
                view.busy = hop.busy_time(now);
                view.utilisation = hop.utilisation(now);
            });
            view.max_backlog = network.max_backlog()[link];
            view.answers = network.answers()[link];
        }
    }
}
