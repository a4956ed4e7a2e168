//! What a running path has carried and dropped, for whoever watches.

use gigatcp_path::{Counters, Network, Tally};
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
    /// Times that whoever carries had lost the processor for more than 10 ms.
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
    pub lateness: Lateness,
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
    /// How long a packet arriving now would wait.
    pub queueing_delay: Duration,
    /// Time in which the serializer had work.
    pub busy: Duration,
    /// The same as a share of the time so far.
    pub utilisation: f64,
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
                view.queueing_delay = hop.queueing_delay(now);
                view.busy = hop.busy_time(now);
                view.utilisation = hop.utilisation(now);
            });
            view.max_backlog = network.max_backlog()[link];
            view.answers = network.answers()[link];
        }
    }
}

/// How late things happened, counted in steps of an eighth.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// By eighths of powers of two of nanoseconds.
    counts: [u64; 64 * 8],
    most: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: [0; 64 * 8],
            most: 0,
        }
    }
}

impl Lateness {
    pub(crate) fn count(&mut self, late: Duration) {
        let nanos = late.as_nanos();
        self.counts[step(nanos)] += 1;
        self.most = self.most.max(nanos);
    }

    /// The time that so many of a thousand were not later than, to an eighth;
    /// nothing while nothing was counted.
    #[must_use]
    pub fn thousandth(&self, share: u64) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        let wanted = (all * share).div_ceil(1000).max(1);
        let mut seen = 0;
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted
        })?;
        Some(Duration::from_nanos(end_of_step(at).min(self.most)))
    }

    /// The latest of all.
    #[must_use]
    pub const fn most(&self) -> Duration {
        Duration::from_nanos(self.most)
    }
}

/// The step that `nanos` belongs to.
const fn step(nanos: u64) -> usize {
    if nanos < 8 {
        return nanos as usize;
    }
    let power = nanos.ilog2() as usize;
    let eighth = (nanos >> (power - 3)) as usize & 7;
    (power - 2) * 8 + eighth
}

/// The longest time of a step.
const fn end_of_step(step: usize) -> u64 {
    if step < 8 {
        return step as u64;
    }
    let (power, eighth) = (step / 8 + 2, step % 8);
    let begin = (8 + eighth as u64) << (power - 3);
    begin + ((1 << (power - 3)) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_belongs_to_the_step_that_ends_not_before_it() {
        let times = (0..100_000).chain([u64::MAX, u64::MAX / 2, 1 << 40]);
        for nanos in times {
            let step = step(nanos);
            assert!(end_of_step(step) >= nanos, "{nanos}");
            assert!(step == 0 || end_of_step(step - 1) < nanos, "{nanos}");
        }
    }

    #[test]
    fn shares_are_those_of_what_was_counted() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.thousandth(500), None);
        for nanos in 1..=1000 {
            lateness.count(Duration::from_nanos(nanos * 100));
        }
        let half = lateness.thousandth(500).unwrap().as_nanos();
        assert!((50_000..57_000).contains(&half), "{half}");
        assert_eq!(lateness.thousandth(1000), Some(lateness.most()));
        assert_eq!(lateness.most().as_nanos(), 100_000);
    }
}
