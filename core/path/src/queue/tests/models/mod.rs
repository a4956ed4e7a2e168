//! Disciplines against naive models: the same packets dropped and marked, one by one.
//!
//! A model follows the pseudocode of its RFC or paper: lists of packets, time in floating seconds,
//! no stored state that can be searched for. Where the discipline's documentation states a
//! difference from the source, the model has the same difference and a comment. Random numbers come
//! from the same stream, so both must also draw at the same packets.
//!
//! Traffic is random and not shrunk: each seed always gives the same packets. So runs do not meet
//! ties between times that rounding would resolve differently.

mod codel;
mod dualpi2;
mod pie;
mod red;

use alloc::vec::Vec;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Instant, Rate};

use super::Trial;
use crate::Tally;
use crate::queue::{Limits, Value};

/// Rate of the link in bit/s: one byte per microsecond.
const RATE: u64 = 8_000_000;

/// The ECN field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ecn {
    NotEct,
    Ect0,
    Ect1,
    Ce,
}

/// A packet as a model sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub(super) number: u32,
    pub(super) bytes: f64,
    pub(super) arrived: f64,
    pub(super) ecn: Ecn,
}

impl Packet {
    /// Sets CE; returns `false` if the packet can only be dropped.
    pub(super) fn mark(&mut self) -> bool {
        if self.ecn == Ecn::NotEct {
            return false;
        }
        self.ecn = Ecn::Ce;
        true
    }
}

/// Total bytes of a list of packets.
pub(super) fn bytes(packets: &[Packet]) -> f64 {
    packets.iter().map(|packet| packet.bytes).sum()
}

/// A uniform random number below 1, of 53 bits.
pub(super) fn uniform(random: &mut Stream) -> f64 {
    (random.bits() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A discipline as its source describes it.
pub(super) trait Model {
    /// Processes an arrival; returns the packets dropped.
    fn arrive(&mut self, now: f64, packet: Packet) -> Vec<u32>;

    /// Processes a departure; returns the packet that leaves and those dropped.
    fn depart(&mut self, now: f64) -> (Option<Packet>, Vec<u32>);
}

/// Random arrivals at a changing load: packets of 40 to 1500 bytes. Calm, busy and silent periods
/// alternate.
struct Traffic {
    random: Stream,
    now: u64,
    /// Mean gap in nanoseconds, and the time at which it changes.
    spell: (f64, u64),
}

impl Traffic {
    fn new(seed: u64) -> Self {
        Self {
            random: Stream::new(seed, "traffic", 0),
            now: 0,
            spell: (1e6, 0),
        }
    }

    /// Time of the next arrival, bytes, and the ECN field.
    fn next(&mut self) -> (Instant, u32, Ecn) {
        if self.now >= self.spell.1 {
            let load = 0.3 + 2.2 * self.random.uniform();
            let length = self.random.exponential(4e8) as u64;
            // Sometimes no packets are sent for a while.
            if self.random.bits().is_multiple_of(4) {
                self.now += self.random.exponential(3e8) as u64;
            }
            self.spell = (770_000.0 / load, self.now + length);
        }
        self.now += self.random.exponential(self.spell.0) as u64;
        let bytes = 40 + (self.random.bits() % 1461) as u32;
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        // CE from the start is rare.
        let ecn = ecn[(self.random.bits() % 13 / 4) as usize];
        (Instant::from_nanos(self.now), bytes, ecn)
    }
}

/// The discipline and its model behind the same link.
struct Pair<'a> {
    trial: Trial,
    model: &'a mut dyn Model,
    /// Number of drops compared so far.
    seen: usize,
    marks: u32,
}

impl Pair<'_> {
    fn arrive(&mut self, now: Instant, octets: u32, ecn: Ecn) {
        let next = &mut self.trial.next;
        next.octets = octets;
        next.is_markable = matches!(ecn, Ecn::Ect0 | Ecn::Ect1);
        next.is_l4s = matches!(ecn, Ecn::Ect1 | Ecn::Ce);
        let number = self.trial.arrive_at(now);
        let packet = Packet {
            number,
            bytes: f64::from(octets),
            arrived: now.as_secs_f64(),
            ecn,
        };
        let dropped = self.model.arrive(now.as_secs_f64(), packet);
        self.compare(now, &dropped);
    }

    /// Serves the next packet; returns when it has left.
    fn serve(&mut self, now: Instant) -> Option<Instant> {
        let ticket = self.trial.depart_at(now);
        let (packet, dropped) = self.model.depart(now.as_secs_f64());
        self.compare(now, &dropped);
        let left = ticket.map(|ticket| ticket.parcel);
        assert_eq!(left, packet.map(|packet| packet.number), "at {now:?}");
        let (ticket, packet) = (ticket?, packet?);
        let was_ce = ticket.is_l4s && !ticket.is_markable && !ticket.is_marked;
        let has_ce = ticket.is_marked || was_ce;
        assert_eq!(has_ce, packet.ecn == Ecn::Ce, "at {now:?}: {packet:?}");
        self.marks += u32::from(ticket.is_marked);
        self.trial.serve(1, u64::from(ticket.octets));
        let bytes = Bytes::new(u64::from(ticket.octets));
        Some(now + Rate::from_bps(RATE).time_for(bytes))
    }

    fn compare(&mut self, now: Instant, dropped: &[u32]) {
        let all = &self.trial.dropped;
        let new: Vec<u32> = all[self.seen..].iter().map(|one| one.1.parcel).collect();
        assert_eq!(new, dropped, "dropped at {now:?}");
        self.seen = all.len();
    }
}

/// Compares a discipline with its model over `packets` arrivals; returns drops and marks.
fn compare(
    name: &str,
    set: &[(&str, Value)],
    limits: Limits,
    model: &mut dyn Model,
    (seed, packets): (u64, u32),
) -> (usize, u32) {
    let mut trial = Trial::with_seed(name, set, limits, seed);
    trial.rate(RATE);
    let mut pair = Pair {
        trial,
        model,
        seen: 0,
        marks: 0,
    };
    let mut traffic = Traffic::new(seed);
    let mut busy_until = None;
    for _ in 0..packets {
        let (now, octets, ecn) = traffic.next();
        while let Some(free) = busy_until.filter(|free| *free <= now) {
            pair.trial.link.in_service = Tally::default();
            busy_until = pair.serve(free);
        }
        pair.arrive(now, octets, ecn);
        if busy_until.is_none() {
            busy_until = pair.serve(now);
        }
    }
    (pair.seen, pair.marks)
}

/// Stream from which the discipline of a seed draws.
fn random_of(seed: u64) -> Stream {
    Stream::new(seed, "trial", 7)
}

const SEEDS: core::ops::Range<u64> = 0..10;
const PACKETS: u32 = 5000;

/// Compares over all seeds. Requires enough drops, and marks if any are expected.
fn compare_all(
    name: &str,
    set: &[(&str, Value)],
    limits: Limits,
    marks: bool,
    model: impl Fn(Stream) -> alloc::boxed::Box<dyn Model>,
) {
    let (mut drops, mut marked) = (0, 0);
    for seed in SEEDS {
        let mut model = model(random_of(seed));
        let seen = compare(name, set, limits, &mut *model, (seed, PACKETS));
        drops += seen.0;
        marked += seen.1;
    }
    assert!(drops > 100, "{name}: {drops} drops");
    assert_eq!(marked > 20, marks, "{name}: {marked} marks");
}
