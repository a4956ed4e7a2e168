//! What senders ask of the routers of their path, as routers see it.
//!
//! A packet carries its sender's request (XCP, RCP, Quick-Start); a queue discipline that is
//! a [`Router`] reads it on arrival and lowers what it asks on departure. Quick-Start is
//! independent of the discipline ([`HopConfig::quick_start`](crate::HopConfig::quick_start)). Where the request
//! stands in the packet is its [`Parcel`](crate::Parcel)'s knowledge.

use core::fmt::Debug;

use gigatcp_units::{Duration, Instant, Rate};

use crate::tally::Tally;

/// The request that a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The flow's RTT as its sender measures it.
    pub rtt: Duration,
    /// What is asked.
    pub ask: Ask,
}

/// What a sender asks, lowered by each router to what it grants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ask {
    /// A change of the congestion window (XCP).
    Window {
        /// The window in bytes.
        cwnd: u64,
        /// Bytes by which it is to change.
        feedback: i64,
    },
    /// A rate (RCP).
    Rate(Rate),
    /// A rate to begin with, N of 40 kbit/s · 2^N (Quick-Start).
    Start(u8),
}

/// The link behind a queue.
#[derive(Clone, Copy, Default, Debug)]
pub struct Link {
    /// Packets in service: they count for the limits of a FIFO.
    pub in_service: Tally,
    /// The rate at this moment; none is infinitely fast.
    pub rate: Option<Rate>,
}

/// A queue discipline that answers requests.
///
/// Bytes include what the link adds to each packet, so that they add up to the rate.
pub trait Router: Debug {
    /// A wire packet of `bytes` arrives; dropped ones count as well.
    fn on_arrival(&mut self, bytes: u64, request: Option<&Request>);

    /// Lowers what a departing wire packet of `bytes` asks; returns whether it is an answer.
    fn answer(&mut self, now: Instant, link: &Link, bytes: u64, request: &mut Request) -> bool;
}
