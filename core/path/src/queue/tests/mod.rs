//! Test driver for one discipline, and properties that hold for all.

mod cake;
mod closed_loop;
mod conservation;
mod fq_codel;
mod htb;
mod models;

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::{Build, Discipline, Drops, Limits, Link, QueueConfig, Settings, Ticket, Value, find};
use crate::{DropCause, Tally};

pub(super) fn packets(packets: u64) -> Limits {
    Limits {
        packets: Some(packets),
        bytes: None,
    }
}

pub(super) fn octets(octets: u64) -> Limits {
    Limits {
        packets: None,
        bytes: Some(Bytes::new(octets)),
    }
}

/// Discipline's own limit.
pub(super) fn unlimited() -> Limits {
    Limits::default()
}

/// Instant at `seconds`.
pub(super) fn at(seconds: f64) -> Instant {
    Instant::ZERO + Duration::from_secs_f64(seconds)
}

/// A queue of the registry, and its output so far.
pub(super) struct Trial {
    pub(super) queue: Box<dyn Discipline>,
    pub(super) link: Link,
    /// Next ticket to arrive; parcels are numbered.
    pub(super) next: Ticket,
    /// Drops, with the time.
    pub(super) dropped: Vec<(Instant, Ticket, DropCause)>,
}

impl Trial {
    pub(super) fn new(name: &str, set: &[(&str, Value)], limits: Limits) -> Self {
        Self::with_seed(name, set, limits, 1)
    }

    /// A queue with classes.
    pub(super) fn with_classes(
        name: &str,
        set: &[(&str, Value)],
        classes: &[&[(&str, Value)]],
        limits: Limits,
    ) -> Self {
        Self::of(name, set, classes, limits, 1)
    }

    pub(super) fn with_seed(name: &str, set: &[(&str, Value)], limits: Limits, seed: u64) -> Self {
        Self::of(name, set, &[], limits, seed)
    }

    /// A discipline with settings that do not conflict.
    pub(super) fn config(
        name: &str,
        set: &[(&str, Value)],
        classes: &[&[(&str, Value)]],
    ) -> QueueConfig {
        let discipline = find(name).unwrap();
        let read = |parameters, set: &[(&str, Value)]| {
            let mut settings = Settings::new();
            for (name, value) in set {
                settings.set(parameters, name, *value).unwrap();
            }
            settings
        };
        let classes = classes
            .iter()
            .map(|class| read(discipline.class_parameters, class));
        let config = QueueConfig {
            discipline,
            settings: read(discipline.parameters, set),
            classes: classes.collect(),
        };
        config.check().unwrap();
        config
    }

    fn of(
        name: &str,
        set: &[(&str, Value)],
        classes: &[&[(&str, Value)]],
        limits: Limits,
        seed: u64,
    ) -> Self {
        let config = Self::config(name, set, classes);
        let queue = (config.discipline.build)(Build {
            settings: &config.settings,
            classes: &config.classes,
            limits,
            random: Stream::new(seed, "trial", 7),
            start: Instant::ZERO,
        });
        Self {
            queue,
            link: Link::default(),
            next: Ticket {
                parcel: 0,
                place: 0,
                octets: 1000,
                arrived: Instant::ZERO,
                flow: 0,
                hosts: [0, 0],
                dscp: 0,
                is_markable: true,
                is_l4s: false,
                is_marked: false,
            },
            dropped: Vec::new(),
        }
    }

    /// Sets what is in service from now on.
    pub(super) fn serve(&mut self, packets: u64, octets: u64) {
        self.link.in_service = Tally::new(packets, octets);
    }

    /// Sets the link's rate from now on.
    pub(super) fn rate(&mut self, bps: u64) {
        self.link.rate = Some(Rate::from_bps(bps));
    }

    /// Sets whether packets that arrive from now on are ECN-capable.
    pub(super) fn speaks_ecn(&mut self, speaks: bool) {
        self.next.is_markable = speaks;
    }

    /// Processes the arrival of a packet of 1000 octets of that flow; returns its parcel.
    pub(super) fn arrive(&mut self, seconds: f64, flow: u32) -> u32 {
        self.next.flow = flow;
        self.arrive_at(at(seconds))
    }

    pub(super) fn arrive_sized(&mut self, seconds: f64, octets: u32) -> u32 {
        self.next.octets = octets;
        self.arrive_at(at(seconds))
    }

    pub(super) fn arrive_many(&mut self, seconds: f64, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.arrive_at(at(seconds))).collect()
    }

    /// Processes the arrival of the next ticket unchanged.
    pub(super) fn arrive_at(&mut self, now: Instant) -> u32 {
        let ticket = Ticket {
            arrived: now,
            ..self.next
        };
        self.next.parcel += 1;
        let mut drops = Drops::default();
        self.queue.enqueue(now, &self.link, ticket, &mut drops);
        self.note(now, drops);
        ticket.parcel
    }

    pub(super) fn depart(&mut self, seconds: f64) -> Option<Ticket> {
        self.depart_at(at(seconds))
    }

    pub(super) fn depart_at(&mut self, now: Instant) -> Option<Ticket> {
        let mut drops = Drops::default();
        let ticket = self.queue.dequeue(now, &self.link, &mut drops);
        self.note(now, drops);
        ticket
    }

    /// Drains the queue; returns the parcels.
    pub(super) fn drain(&mut self, seconds: f64) -> Vec<u32> {
        let mut parcels = Vec::new();
        while let Some(ticket) = self.depart(seconds) {
            parcels.push(ticket.parcel);
        }
        parcels
    }

    pub(super) fn dropped_parcels(&self) -> Vec<u32> {
        self.dropped.iter().map(|(_, t, _)| t.parcel).collect()
    }

    fn note(&mut self, now: Instant, drops: Drops) {
        for (ticket, cause) in drops.0 {
            self.dropped.push((now, ticket, cause));
        }
    }
}
