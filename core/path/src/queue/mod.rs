//! Queue disciplines: which packets are queued, marked or dropped, and which leaves next.
//!
//! One trait, one file per discipline, one line in [`REGISTRY`]. A discipline holds [`Ticket`]s
//! instead of packets, one per wire packet. A ticket has the properties that the discipline needs,
//! and a number by which the link finds the parcel. So a super-segment waits as one parcel while
//! each wire packet in it has a separate verdict. The link splits it only where verdicts differ.
//!
//! To add one: a file with a type that is a [`Discipline`] and its `ENTRY`, a line in [`REGISTRY`].
//! Its settings, their defaults and their units then appear in plans, on the command line and in
//! `gigatcp list queues`.

/// Implements [`Discipline::drain`] and [`Discipline::backlog`] by the one queue `waiting`.
macro_rules! drain_and_backlog {
    () => {
        fn drain(&mut self, out: &mut Vec<Ticket>) {
            self.waiting.drain(out);
        }

        fn backlog(&self) -> Tally {
            self.waiting.backlog()
        }
    };
}

mod cake;
mod codel;
mod dualpi2;
mod fifo;
mod fq_codel;
mod head_drop;
mod htb;
mod pie;
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
use gigatcp_units::{Bytes, Instant, Rate};

pub use gigatcp_units::settings::{Parameter, Setting, Settings, SettingsError, Value};

pub use crate::router::Link;
use crate::router::Router;
use crate::{ConfigError, DropCause, Tally};

/// A waiting wire packet: the properties visible to a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// Number of the parcel it is part of, assigned by the link. Wire packets of one parcel leave
    /// or are dropped in order.
    pub parcel: u32,
    /// Index among the wire packets of that parcel.
    pub place: u32,
    /// IP octets.
    pub octets: u32,
    /// Time of arrival at the queue.
    pub arrived: Instant,
    /// Number of its flow, the same for all packets of one five-tuple and direction. Numbers of
    /// different flows may be equal.
    pub flow: u32,
    /// Numbers of its source and destination; zero unless [`Discipline::classifies`].
    pub hosts: [u16; 2],
    /// Its DSCP (RFC 2474); zero unless [`Discipline::classifies`].
    pub dscp: u8,
    /// Whether it is ECN-capable and not yet marked.
    pub is_markable: bool,
    /// Whether its ECN field is ECT(1) or CE, the L4S identifier (RFC 9331 section 5.1).
    pub is_l4s: bool,
    /// Whether the discipline marked it; the link writes the mark when it leaves.
    pub is_marked: bool,
}

/// A queue moves tickets more often than packets.
const _: () = assert!(size_of::<Ticket>() <= 32);

impl Ticket {
    /// Marks it, if it is ECN-capable; returns whether it carries a mark now.
    ///
    /// A packet that arrived with CE stays unchanged and counts as marked. `false` means that only
    /// a drop signals congestion to its sender.
    pub fn mark(&mut self) -> bool {
        self.is_marked |= self.is_markable;
        self.is_markable = false;
        self.is_marked || self.is_l4s
    }

    /// Its contribution to a backlog.
    pub fn tally(&self) -> Tally {
        Tally::new(1, u64::from(self.octets))
    }
}

/// What a discipline drops, in order.
#[derive(Clone, Default, Debug)]
pub struct Drops(pub(crate) Vec<(Ticket, DropCause)>);

impl Drops {
    /// Drops a packet passed to [`Discipline::enqueue`] or already removed from the queue.
    pub fn push(&mut self, ticket: Ticket, cause: DropCause) {
        self.0.push((ticket, cause));
    }
}

/// A queue discipline.
///
/// Every ticket passed to [`Discipline::enqueue`] comes back once: from [`Discipline::dequeue`],
/// through `drops`, or from [`Discipline::drain`]. Time never runs backwards.
pub trait Discipline: Debug + Send {
    /// Queues or drops a wire packet that arrives at `now`. Other packets may be dropped to make
    /// room.
    fn enqueue(&mut self, now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops);

    /// Packet to serve next; the link is free at `now`. `None` if nothing waits (this call may have
    /// dropped all that waited), or nothing may leave before [`Discipline::poll_release`].
    fn dequeue(&mut self, now: Instant, link: &Link, drops: &mut Drops) -> Option<Ticket>;

    /// Moves everything that waits to `out`, without drops, because another queue replaces it. Wire
    /// packets of one parcel stay in order.
    fn drain(&mut self, out: &mut Vec<Ticket>);

    /// What is waiting, without what is in service.
    fn backlog(&self) -> Tally;

    /// Time of the next [`Discipline::dequeue`] if the last one held packets back; `None`: it held
    /// back none. The next one at that time may hold them back again, until later.
    fn poll_release(&self) -> Option<Instant> {
        None
    }

    /// When [`Discipline::handle_timeout`] is to be called, if at all.
    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    /// Processes the timeout. May be called late; missed updates are then made up for.
    fn handle_timeout(&mut self, _now: Instant, _link: &Link) {}

    /// Whether it reads hosts and DSCP of packets.
    fn classifies(&self) -> bool {
        false
    }

    /// Discipline as a router that answers senders' requests; `None` if it does not.
    fn router(&mut self) -> Option<&mut dyn Router> {
        None
    }
}

/// Limits of what may wait. `None`: unlimited, or the discipline's default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Maximum number of wire packets.
    pub packets: Option<u64>,
    /// Maximum number of IP octets.
    pub bytes: Option<Bytes>,
}

impl Limits {
    /// Whether a backlog of this size is within the queue limit.
    pub fn admit(&self, inside: Tally) -> bool {
        self.packets.is_none_or(|limit| inside.packets <= limit)
            && self.bytes.is_none_or(|limit| inside.bytes <= limit)
    }
}

/// Parameters for building a discipline.
#[derive(Debug)]
pub struct Build<'a> {
    /// Requested settings, in place of its defaults.
    pub settings: &'a Settings,
    /// Settings of each of its classes.
    pub classes: &'a [Settings],
    /// Limits of what may wait.
    pub limits: Limits,
    /// Its own random stream.
    pub random: Stream,
    /// Time at which it starts.
    pub start: Instant,
}

/// A queue discipline that can be requested by name.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in plans and on the command line.
    pub name: &'static str,
    /// One-line description, with its source.
    pub summary: &'static str,
    /// Parameters that can be set.
    pub parameters: &'static [Parameter],
    /// Parameters of a class; a discipline without classes has none. One with classes needs them,
    /// and delays packets by itself.
    pub class_parameters: &'static [Parameter],
    /// Checks for conflicts between settings that are each within their bounds.
    pub check: fn(&QueueConfig) -> Result<(), Conflict>,
    /// Whether it drops or marks at random.
    pub draws: bool,
    /// Builds one.
    pub build: fn(Build<'_>) -> Box<dyn Discipline>,
}

/// Two settings of a discipline that are mutually exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The settings; a default among them counts as any other.
    pub names: [&'static str; 2],
    /// Reason for the conflict.
    pub why: &'static str,
    /// Number of the class whose settings they are, counted from 1; 0: the discipline's own.
    pub section: usize,
}

/// The check of a discipline whose settings never conflict.
const fn any_settings(_: &QueueConfig) -> Result<(), Conflict> {
    Ok(())
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// A discipline and its settings.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueConfig {
    /// The discipline.
    pub discipline: &'static Entry,
    /// Settings that differ from its defaults.
    pub settings: Settings,
    /// Settings of its classes, for disciplines that have them.
    pub classes: Vec<Settings>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            discipline: &REGISTRY[0],
            settings: Settings::new(),
            classes: Vec::new(),
        }
    }
}

impl QueueConfig {
    /// Checks that the settings do not conflict.
    ///
    /// # Errors
    /// [`ConfigError::QueueSettings`].
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let conflict = (self.discipline.check)(self);
        conflict.map_err(|conflict| ConfigError::QueueSettings(conflict.why))
    }

    /// Whether packets wait in it even for a link that is free.
    pub fn holds_back(&self) -> bool {
        !self.discipline.class_parameters.is_empty()
    }

    /// Number of queues to each of which the limits apply: the leaves of a hierarchy, or one.
    pub fn limited_queues(&self) -> u64 {
        htb::leaves(&self.classes).max(1)
    }

    /// Rate up to which it lets packets leave; `None`: any.
    pub fn shaped_rate(&self) -> Option<Rate> {
        htb::total_rate(self)
    }

    /// Whether this is the queue whose departures are known on arrival.
    pub fn is_fifo(&self) -> bool {
        self.discipline.name == fifo::ENTRY.name
    }
}

/// Registry of all queue disciplines. The first is the default.
pub const REGISTRY: &[Entry] = &[
    fifo::ENTRY,
    head_drop::ENTRY,
    step::ENTRY,
    codel::ENTRY,
    fq_codel::ENTRY,
    cake::ENTRY,
    htb::ENTRY,
    red::ENTRY,
    pie::ENTRY,
    dualpi2::ENTRY,
    xcp::ENTRY,
];

/// Discipline of that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
