//! Queue disciplines: which packets are let in, which are marked or dropped, and
//! which leaves next.
//!
//! One trait, one file per discipline, one line in [`REGISTRY`]. A discipline
//! holds no packets but [`Ticket`]s, one per wire packet: what it needs to know about
//! them, and a number by which the link finds the parcel. So a super-segment waits
//! as one parcel while each wire packet in it has a verdict of its own, and the link
//! cuts it only where fates differ.
//!
//! To add one: a file with a type that is a [`Discipline`] and its `ENTRY`, a line
//! in [`REGISTRY`]. Its settings, their defaults and their units come to plans, the
//! command line and `gigatcp list queues` from there.

mod codel;
mod dualpi2;
mod fifo;
mod fq_codel;
mod head_drop;
mod pie;
mod rcp;
mod red;
mod step;
#[cfg(test)]
mod tests;
mod waiting;
mod xcp;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Instant};

pub use gigatcp_units::settings::{Parameter, Setting, Settings, SettingsError, Value};

pub use crate::router::Link;
use crate::router::Router;
use crate::{ConfigError, DropCause, Tally};

/// A wire packet that waits: what a discipline may know about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// The parcel it is part of, as the link counts them. Wire packets of one parcel
    /// leave or are dropped in their order.
    pub parcel: u32,
    /// Its place among the wire packets of that parcel.
    pub place: u32,
    /// IP octets.
    pub octets: u32,
    /// When it reached the queue.
    pub arrived: Instant,
    /// Number of its flow, the same for all packets of one five-tuple and direction;
    /// numbers of different flows may be equal.
    pub flow: u32,
    /// Whether its transport speaks ECN and it has no mark yet.
    pub takes_mark: bool,
    /// Whether its ECN field is ECT(1) or CE (RFC 9331 section 5.1): the identifier
    /// of low-latency service.
    pub is_l4s: bool,
    /// Whether the discipline marked it: the link sees to it when it leaves.
    pub is_marked: bool,
}

impl Ticket {
    /// Marks it, if its transport speaks ECN; returns whether it carries a mark now.
    ///
    /// A packet that arrived with CE stays as it is and counts as marked: `false` means
    /// that only a drop signals congestion to its sender.
    pub fn mark(&mut self) -> bool {
        self.is_marked |= self.takes_mark;
        self.takes_mark = false;
        self.is_marked || self.is_l4s
    }

    /// What it adds to a backlog.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally::new(1, u64::from(self.octets))
    }
}

/// What a discipline drops, in order.
#[derive(Clone, Default, Debug)]
pub struct Drops(pub(crate) Vec<(Ticket, DropCause)>);

impl Drops {
    /// Drops a packet that was handed to [`Discipline::enqueue`] or waits no more.
    pub fn push(&mut self, ticket: Ticket, cause: DropCause) {
        self.0.push((ticket, cause));
    }
}

/// A queue discipline.
///
/// Every ticket that [`Discipline::enqueue`] is given comes back once: from
/// [`Discipline::dequeue`], through `drops`, or from [`Discipline::drain`]. Time never
/// runs backwards.
pub trait Discipline: Debug + Send {
    /// A wire packet reaches the queue at `now`: it is let in or dropped, and others
    /// may be dropped to make room.
    fn enqueue(&mut self, now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops);

    /// The link is free at `now`: the packet that leaves. Nothing only if nothing
    /// waits (what waited may all be dropped by this very call).
    fn dequeue(&mut self, now: Instant, link: &Link, drops: &mut Drops) -> Option<Ticket>;

    /// Hands out all that waits, nothing dropped, wire packets of one parcel in their
    /// order: another queue takes its place.
    fn drain(&mut self, out: &mut Vec<Ticket>);

    /// What waits, without what is in service.
    fn backlog(&self) -> Tally;

    /// When [`Discipline::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// The time has come. May be called late, after which what was missed is made up
    /// for.
    fn handle_timeout(&mut self, _now: Instant, _link: &Link) {}

    /// The discipline as one that answers senders' requests; `None` if it answers none.
    fn router(&mut self) -> Option<&mut dyn Router> {
        None
    }
}

/// The most that may wait. Nothing is no limit, or the discipline's own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Wire packets.
    pub packets: Option<u64>,
    /// IP octets.
    pub bytes: Option<Bytes>,
}

impl Limits {
    /// Whether a backlog of this size is within the queue limit.
    #[must_use]
    pub fn admit(&self, inside: Tally) -> bool {
        self.packets.is_none_or(|limit| inside.packets <= limit)
            && self.bytes.is_none_or(|limit| inside.bytes <= limit)
    }
}

/// What a discipline is made of.
#[derive(Debug)]
pub struct Build<'a> {
    /// What was requested, in place of its defaults.
    pub settings: &'a Settings,
    /// The most that may wait.
    pub limits: Limits,
    /// Its own random stream.
    pub random: Stream,
    /// When it begins.
    pub start: Instant,
}

/// A queue discipline that can be requested by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One line of what it is, with its source.
    pub summary: &'static str,
    /// What can be set.
    pub parameters: &'static [Parameter],
    /// What is wrong with settings that are each within their bounds.
    pub check: fn(&Settings) -> Result<(), Conflict>,
    /// Whether it drops or marks at random.
    pub draws: bool,
    /// Makes one.
    pub build: fn(Build<'_>) -> Box<dyn Discipline>,
}

/// Settings of a discipline that cannot be together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The settings; a default among them counts as any other.
    pub names: [&'static str; 2],
    /// What is wrong.
    pub why: &'static str,
}

/// The check of a discipline whose settings can all be together.
const fn any_settings(_: &Settings) -> Result<(), Conflict> {
    Ok(())
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A discipline and what is set at it.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueConfig {
    /// The discipline.
    pub discipline: &'static Entry,
    /// What differs from its defaults.
    pub settings: Settings,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            discipline: &REGISTRY[0],
            settings: Settings::new(),
        }
    }
}

impl QueueConfig {
    /// Checks that the settings can be together.
    ///
    /// # Errors
    /// [`ConfigError::QueueSettings`].
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let conflict = (self.discipline.check)(&self.settings);
        conflict.map_err(|conflict| ConfigError::QueueSettings(conflict.why))
    }

    /// Whether this is the queue whose departures are known on arrival.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.discipline.name == fifo::ENTRY.name
    }
}

/// Every queue discipline there is. The first is the default.
pub const REGISTRY: &[Entry] = &[
    fifo::ENTRY,
    head_drop::ENTRY,
    step::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    red::ENTRY,
    pie::ENTRY,
    dualpi2::ENTRY,
    xcp::ENTRY,
    rcp::ENTRY,
];

/// The discipline of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
