//! A tin: flows of one priority, in queues of their own, fair among hosts and flows (DRR++).
//!
//! A flow's hash selects one of 1024 queues in sets of eight. Within its set it takes the queue that
//! it had, or an empty one; it shares its own if all eight are taken. So 100 flows practically never
//! share, where a plain hash has 9 of them share.
//!
//! A flow is *sparse* until it has used its quantum, then *bulk*. A queue that was found empty leaves
//! its round; as long as [`Cobalt`] remembers congestion it is *decaying*, and keeps its state. The
//! credit per round is the quantum divided by the bulk flows of its host, of source or destination,
//! whichever has more.

use alloc::vec::Vec;

use gigatcp_units::random::{Stream, mix};
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::super::waiting::Waiting;
use super::super::{Drops, Ticket};
use super::cobalt::{Cobalt, Law, Signal};
use super::list::{List, Neighbors};
use crate::{DropCause, Tally};

/// Queues of a tin.
const QUEUES: usize = 1024;
/// Queues of a set.
const WAYS: usize = 8;
/// Octets of a full packet with its Ethernet header, to which times are tuned.
const FULL_PACKET: u64 = 1514;
/// Smallest and largest quantum.
const QUANTUM: (u64, u64) = (300, 1514);

/// Round in which a flow is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Round {
    #[default]
    None,
    /// New: it has not used its first quantum.
    Sparse,
    /// Among the bulk flows for its credit, but found empty: not one of them.
    SparseWait,
    Bulk,
    Decaying,
}

/// A queue and its state.
#[derive(Clone, Default, Debug)]
struct Flow {
    tag: u32,
    waiting: Waiting,
    cobalt: Cobalt,
    credit: i64,
    round: Round,
    /// Numbers of its source and destination in the tables of hosts.
    hosts: [u16; 2],
}

/// A host, as source or as destination.
#[derive(Clone, Copy, Default, Debug)]
struct Host {
    tag: u32,
    bulk_flows: u16,
}

/// Flows of one priority.
#[derive(Debug)]
pub(super) struct Tin {
    flows: Vec<Flow>,
    neighbors: Vec<Neighbors>,
    /// Sources and destinations.
    hosts: [Vec<Host>; 2],
    /// Whether credit is divided among the flows of a source, of a destination.
    isolates: [bool; 2],
    new: List,
    old: List,
    decaying: List,
    /// Flows that are sparse or bulk.
    active: u32,
    backlog: Tally,
    law: Law,
    quantum: u64,
    rate: Option<Rate>,
    /// Time at which its share of the rate has sent what it has sent.
    pub(super) next: Instant,
    /// Credit among tins on a link without a rate.
    pub(super) credit: i64,
    /// Start value of hashes.
    perturbation: u64,
}

impl Tin {
    pub(super) fn new(isolates: [bool; 2], perturbation: u64) -> Self {
        Self {
            flows: alloc::vec![Flow::default(); QUEUES],
            neighbors: alloc::vec![Neighbors::default(); QUEUES],
            hosts: core::array::from_fn(|_| alloc::vec![Host::default(); QUEUES]),
            isolates,
            new: List::default(),
            old: List::default(),
            decaying: List::default(),
            active: 0,
            backlog: Tally::default(),
            law: Law::default(),
            quantum: QUANTUM.1,
            rate: None,
            next: Instant::ZERO,
            credit: 0,
            perturbation,
        }
    }

    /// Tunes target, interval and quantum to the tin's rate.
    pub(super) fn set_rate(&mut self, rate: Option<Rate>, rtt: Duration, target: Duration) {
        self.rate = rate;
        let packet_time = rate.map_or(Duration::ZERO, |rate| {
            rate.time_for(Bytes::new(FULL_PACKET))
        });
        let at_least = packet_time + packet_time / 2;
        let tuned = target.max(at_least);
        self.law = Law {
            target: tuned,
            interval: (rtt + tuned.saturating_sub(target)).max(tuned * 2),
            packet_time,
        };
        let (min, max) = QUANTUM;
        self.quantum = rate.map_or(max, |rate| (rate.as_bps() / 8 / 4096).clamp(min, max));
    }

    /// Whether a flow is in a round.
    pub(super) fn is_active(&self) -> bool {
        self.active > 0
    }

    pub(super) fn backlog(&self) -> Tally {
        self.backlog
    }

    /// Queues a packet.
    pub(super) fn enqueue(&mut self, now: Instant, ticket: Ticket, random: &mut Stream) {
        if self.backlog.is_zero() {
            self.next = self.next.max(now);
        }
        let number = self.find(&ticket);
        self.backlog.add(ticket.tally());
        let flow = &mut self.flows[usize::from(number)];
        flow.waiting.push(ticket);
        match flow.round {
            Round::None | Round::Decaying => {
                if flow.round == Round::Decaying {
                    self.decaying.remove(&mut self.neighbors, number);
                }
                self.new.push(&mut self.neighbors, number);
                self.flows[usize::from(number)].round = Round::Sparse;
                self.active += 1;
                let credit = self.credit_of(number, random);
                self.flows[usize::from(number)].credit = credit;
            }
            Round::SparseWait => self.become_bulk(number),
            Round::Sparse | Round::Bulk => {}
        }
    }

    /// Queue of a packet's flow.
    fn find(&mut self, ticket: &Ticket) -> u16 {
        let tag = self.hash(0, ticket.flow);
        let (own, set) = places(tag);
        let mut places = ways(own, set);
        let found = places
            .clone()
            .find(|place| self.flows[*place].tag == tag)
            .filter(|place| self.flows[*place].round != Round::None);
        if let Some(place) = found {
            return place as u16;
        }
        // An empty queue of the set, or its own: a collision.
        let empty = places.find(|place| self.flows[*place].round == Round::None);
        let place = empty.unwrap_or(own);
        let is_bulk = self.flows[place].round == Round::Bulk;
        if is_bulk {
            self.count_host(place as u16, false);
        }
        self.flows[place].tag = tag;
        self.flows[place].hosts = core::array::from_fn(|side| {
            let tag = self.hash(1 + side as u64, u32::from(ticket.hosts[side]));
            find_host(&mut self.hosts[side], tag)
        });
        if is_bulk {
            self.count_host(place as u16, true);
        }
        place as u16
    }

    fn hash(&self, kind: u64, number: u32) -> u32 {
        mix(self.perturbation ^ kind << 32 ^ u64::from(number)) as u32
    }

    /// Counts or forgets a bulk flow of its hosts.
    fn count_host(&mut self, number: u16, is_bulk: bool) {
        let hosts = self.flows[usize::from(number)].hosts;
        for (table, host) in self.hosts.iter_mut().zip(hosts) {
            let flows = &mut table[usize::from(host)].bulk_flows;
            *flows = if is_bulk {
                *flows + 1
            } else {
                flows.saturating_sub(1)
            };
        }
    }

    fn become_bulk(&mut self, number: u16) {
        self.flows[usize::from(number)].round = Round::Bulk;
        self.count_host(number, true);
    }

    /// Credit of a flow per round: the quantum over the bulk flows of its host, rounded up or down
    /// at random so that nothing is lost on average.
    fn credit_of(&self, number: u16, random: &mut Stream) -> i64 {
        let hosts = self.flows[usize::from(number)].hosts;
        let load = (0..2)
            .filter(|side| self.isolates[*side])
            .map(|side| self.hosts[side][usize::from(hosts[side])].bulk_flows)
            .fold(1, u16::max);
        if load == 1 {
            return self.quantum as i64;
        }
        debug_assert!(
            usize::from(load) <= QUEUES,
            "a host has {load} bulk flows in {QUEUES} queues"
        );
        let load = u64::from(load);
        ((self.quantum + random.bits() % load) / load) as i64
    }

    /// Takes the next packet to send, and drops those before it. `None`: a queue was found empty,
    /// and another tin may be due.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        checks_decaying: &mut bool,
        random: &mut Stream,
        drops: &mut Drops,
    ) -> Option<Ticket> {
        let number = self.turn(checks_decaying, random)?;
        let flow = &mut self.flows[usize::from(number)];
        debug_assert!(
            flow.round != Round::Decaying || flow.waiting.is_empty(),
            "queue {number} decays with {:?} waiting",
            flow.waiting.backlog()
        );
        while let Some(mut ticket) = flow.waiting.pop() {
            self.backlog.subtract(ticket.tally());
            let signal = flow.cobalt.decide(&self.law, now, &ticket, random);
            if signal == Signal::Mark {
                ticket.mark();
            }
            // The last packet of a flow is never dropped.
            if signal == Signal::Drop && !flow.waiting.is_empty() {
                drops.push(ticket, DropCause::Aqm);
                continue;
            }
            flow.credit -= i64::from(ticket.octets);
            self.credit -= i64::from(ticket.octets);
            self.charge(now, u64::from(ticket.octets));
            return Some(ticket);
        }
        self.retire(number, now);
        None
    }

    /// Flow whose turn it is. Once per departure a decaying one is looked at.
    fn turn(&mut self, checks_decaying: &mut bool, random: &mut Stream) -> Option<u16> {
        loop {
            let decaying = self.decaying.first().filter(|_| *checks_decaying);
            *checks_decaying = false;
            let in_rounds = || self.new.first().or(self.old.first());
            let number = decaying.or_else(in_rounds).or(self.decaying.first())?;
            let flow = &mut self.flows[usize::from(number)];
            if flow.credit > 0 || flow.round == Round::Decaying {
                return Some(number);
            }
            let is_empty = flow.waiting.is_empty();
            if flow.round == Round::Sparse {
                if is_empty {
                    flow.round = Round::SparseWait;
                } else {
                    self.become_bulk(number);
                }
                self.new.remove(&mut self.neighbors, number);
            } else {
                self.old.remove(&mut self.neighbors, number);
            }
            let credit = self.credit_of(number, random);
            self.flows[usize::from(number)].credit += credit;
            self.old.push(&mut self.neighbors, number);
        }
    }

    /// Takes a flow that was found empty out of its round.
    fn retire(&mut self, number: u16, now: Instant) {
        let flow = &mut self.flows[usize::from(number)];
        debug_assert!(
            flow.waiting.is_empty(),
            "queue {number} leaves its round with {:?}",
            flow.waiting.backlog()
        );
        debug_assert!(
            self.active > 0 || flow.round == Round::Decaying,
            "queue {number} is {:?} where no flow is active",
            flow.round
        );
        flow.cobalt.on_empty(&self.law, now);
        let before = flow.round;
        flow.round = if flow.cobalt.is_at_rest(now) {
            Round::None
        } else {
            Round::Decaying
        };
        let after = flow.round;
        let list = match before {
            Round::Sparse => &mut self.new,
            Round::SparseWait | Round::Bulk => &mut self.old,
            Round::Decaying | Round::None => &mut self.decaying,
        };
        list.remove(&mut self.neighbors, number);
        if before == Round::Bulk {
            self.count_host(number, false);
        }
        if before != Round::Decaying {
            self.active -= 1;
        }
        if after == Round::Decaying {
            self.decaying.push(&mut self.neighbors, number);
        }
    }

    /// Moves the tin's schedule on by a packet of its share of the rate.
    fn charge(&mut self, now: Instant, octets: u64) {
        let Some(rate) = self.rate else { return };
        let span = rate.time_for(Bytes::new(octets));
        if self.next < now {
            self.next += span;
        } else {
            self.next = self.next.max(now + span);
        }
    }

    /// Octets of the longest queue, and its number.
    pub(super) fn longest(&self) -> Option<(u64, u16)> {
        let lists = [&self.new, &self.old];
        let numbers = lists
            .into_iter()
            .flat_map(|list| list.iter(&self.neighbors));
        let octets = |number: u16| self.flows[usize::from(number)].waiting.octets();
        let lengths = numbers.map(|number| (octets(number), number));
        lengths
            .filter(|(octets, _)| *octets > 0)
            .max_by_key(|(octets, _)| *octets)
    }

    /// Drops the oldest packet of a queue, because of overflow.
    pub(super) fn drop_from(&mut self, number: u16, now: Instant, drops: &mut Drops) {
        let flow = &mut self.flows[usize::from(number)];
        if let Some(ticket) = flow.waiting.pop() {
            self.backlog.subtract(ticket.tally());
            flow.cobalt.on_overflow(&self.law, now);
            drops.push(ticket, DropCause::QueueFull);
        }
    }

    /// Takes everything that waits.
    pub(super) fn drain(&mut self, out: &mut Vec<Ticket>) {
        self.backlog = Tally::default();
        for flow in &mut self.flows {
            flow.waiting.drain(out);
        }
    }
}

/// A hash's own place and the first of its set.
fn places(tag: u32) -> (usize, usize) {
    let own = tag as usize % QUEUES;
    (own, own - own % WAYS)
}

/// Places of a set, from the hash's own on.
fn ways(own: usize, set: usize) -> impl Iterator<Item = usize> + Clone {
    (0..WAYS).map(move |way| set + (own + way) % WAYS)
}

/// Number of a host: its own, one without bulk flows, or one that it shares.
fn find_host(hosts: &mut [Host], tag: u32) -> u16 {
    let (own, set) = places(tag);
    let mut places = ways(own, set);
    let known = places.clone().find(|place| hosts[*place].tag == tag);
    let idle = || places.find(|place| hosts[*place].bulk_flows == 0);
    let place = known.or_else(idle).unwrap_or(own);
    hosts[place].tag = tag;
    place as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1514 octets take 12.1 ms at 1 Mbit/s, 0.12 ms at 100 Mbit/s.
    #[test]
    fn target_is_5_ms_or_one_and_a_half_full_packets_and_the_interval_grows_with_it() {
        let expected = [
            (1, 18.168, 113.168, 300),
            (10, 5.0, 100.0, 305),
            (100, 5.0, 100.0, 1514),
        ];
        for (mbps, target, interval, quantum) in expected {
            let mut tin = Tin::new([true; 2], 0);
            let rate = Rate::from_bps(mbps * 1_000_000);
            let ms = Duration::from_millis;
            tin.set_rate(Some(rate), ms(100), ms(5));
            let near = |got: Duration, ms: f64| (got.as_secs_f64() * 1e3 - ms).abs() < 1e-3;
            assert!(near(tin.law.target, target), "{mbps}: {:?}", tin.law);
            assert!(near(tin.law.interval, interval), "{mbps}: {:?}", tin.law);
            assert_eq!(tin.quantum, quantum, "{mbps}");
        }
    }
}
