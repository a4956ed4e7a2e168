//! Path elements: links, queues, media, and the hosts at their ends.
//!
//! * [`Hop`]: queue, serializer, delay line and impairments of one direction
//!   of one link or emulator, built from a [`HopConfig`].
//! * [`Cpu`]: the one serial CPU of a host. [`CpuCosts`] is the cost of each piece of protocol
//!   work; [`Steal`] is the CPU time that others take.
//! * [`SharedMedium`]: half-duplex Ethernet, which several stations share.
//! * [`Network`]: hops as links, media, a route for each flow and direction, one schedule.
//! * [`ReceiveRings`]: receive capacity of a network card before the host runs out of buffers.
//!
//! A path is independent of TCP: it carries any [`Parcel`].
//!
//! # Contract
//!
//! Hops, media and networks are *elements* with one contract, which `tests/elements.rs` tests. No
//! element has a clock, a thread or a socket. At every relevant instant the driver calls, in this
//! order:
//!
//! 1. `poll_*` until each returns `None`: the output up to `now`.
//! 2. `handle_*(now, input)`: the input at `now`.
//! 3. `poll_timeout()`: the time of the next call.
//!
//! The order of the first two affects the result if a limit counts uncollected packets (see
//! [`HopConfig::hold_limit`]). `now` never runs backwards. If it does (two real clocks met), the
//! elements stay consistent and treat the call as no earlier than the output they already
//! scheduled.
//!
//! * Every wire packet that enters comes out or is dropped, and `counters` account for it at any
//!   moment.
//! * Nothing comes out before `poll_timeout`. After `poll_delivery` has returned `None`, that time
//!   is later than `now`, or never.
//! * Polling more often than requested changes nothing.
//! * Equal calls have equal results: the only randomness is the seed an element was built with.
//!
//! # Cost
//!
//! A parcel costs one push and one pop of a double-ended queue per hop, independent of the length
//! of the delay line. A fixed-rate link needs no timer per packet: the departure is known when the
//! parcel arrives.
//!
//! With queue disciplines, variable rates and delays, jitter, shapers and aggregation ([`queue`],
//! [`RateSource`], [`Shaper`], [`Aggregate`], [`Jitter`]), departures depend on later events. Such
//! a hop runs from event to event and still needs no driver timer per packet.
//!
//! # Out of scope
//!
//! Routes that change during a run, links of layer 2 other than the Ethernet above, and names or
//! addresses: a parcel carries the number of its route.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod ack_filter;
mod closed;
mod clusters;
mod config;
mod counters;
mod describe;
mod drops;
mod event_schedule;
mod event_times;
mod hop;
mod host;
mod impairments;
mod jitter;
mod line;
mod link;
mod loss;
mod middlebox;
mod network;
mod parcel;
mod policer;
pub mod queue;
mod quick_start;
mod random;
mod receive_rings;
mod route;
mod router;
mod rss;
mod schedule;
mod scheduling;
mod serializer;
mod service;
mod shared_medium;
mod slots;
mod sojourn;
mod steal;
mod tally;
mod trace;

pub use ack_filter::{AckFilter, PureAck};
pub use clusters::{ClusterPool, ClustersConfig};
pub use config::{
    Aggregate, ConfigError, HopConfig, Jitter, JitterLaw, MarkAbove, Period, RateSource, Release,
    Reorder, Shaper, Slot,
};
pub use counters::Counters;
pub use describe::Difference;
pub use drops::{DropCause, Drops};
pub use event_schedule::EventSchedule;
pub use event_times::{EventTimes, MAX_TIMES, Times};
pub use hop::Hop;
pub use host::{Checksum, Cpu, CpuCosts, PAGE, Picoseconds, Work, WorkKind};
pub use loss::{GilbertElliott, LossModel};
pub use middlebox::{Middlebox, WindowScale};
pub use network::{Delivery, Dropped, Network};
pub use parcel::Parcel;
pub use policer::Policer;
pub use queue::QueueConfig;
pub use receive_rings::{ReceiveRings, Ring, RingConfig, RingCounters, RingsConfig};
pub use route::{NetworkConfig, Route, Routed};
pub use router::{Request, RequestedValue, Router};
pub use rss::{rss_hash, rss_queue};
pub use schedule::Schedule;
pub use scheduling::Scheduling;
pub use shared_medium::{SharedMedium, SharedMediumConfig, StationCounters};
pub use sojourn::{Histogram, Sojourns, Waited};
pub use steal::{Steal, StealConfig};
pub use tally::Tally;
pub use trace::{OPPORTUNITY, TRACE_OVERHEAD, Trace, TraceError};
