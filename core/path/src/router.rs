//! Requests of senders to the routers of their path, as routers see them.
//!
//! A packet carries its sender's request (XCP, Quick-Start). A queue discipline that is a
//! [`Router`] reads it on arrival and lowers it on departure. Quick-Start is independent of the
//! discipline ([`HopConfig::quick_start`](crate::HopConfig::quick_start)). The position of the
//! request in the packet is known only to its [`Parcel`](crate::Parcel).

use core::fmt::Debug;

use gigatcp_units::{Duration, Instant, Rate};

use crate::tally::Tally;

/// Request that a packet carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Request {
    /// The flow's RTT as its sender measures it.
    pub rtt: Duration,
    /// Requested value.
    pub requested: RequestedValue,
}

/// Value requested by a sender; each router may lower it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestedValue {
    /// A change of the congestion window (XCP).
    Window {
        /// The window in bytes.
        cwnd: u64,
        /// Requested change, in bytes.
        feedback: i64,
    },
    /// Initial rate, N of 40 kbit/s · 2^N (Quick-Start).
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
/// Bytes include the link overhead of each packet, so that they add up to the rate.
pub trait Router: Debug {
    /// Processes the arrival of a wire packet of `bytes`; dropped ones count as well.
    fn on_arrival(&mut self, bytes: u64, request: Option<&Request>);

    /// Lowers the request of a departing wire packet of `bytes`. Returns whether it is an answer.
    fn answer(&mut self, now: Instant, link: &Link, bytes: u64, request: &mut Request) -> bool;
}
