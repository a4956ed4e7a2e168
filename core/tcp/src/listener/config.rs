//! What a listener is told, what it counts, and what it gives.

use alloc::boxed::Box;

use crate::connection::{Config, Connection};
use crate::four_tuple::FourTuple;
use crate::isn::IsnGenerator;
use crate::secret::Secret;

/// What a listener needs to know.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Template of its connections; ports, initial sequence number and
    /// timestamp offset are set for each.
    pub template: Config,
    /// Behind initial sequence numbers, SYN cookies and Fast Open cookies.
    pub secret: Secret,
    /// Most half-open connections.
    pub backlog: usize,
    /// Most connections that wait to be accepted.
    pub accept_backlog: usize,
    /// Most Fast Open connections whose handshake is not complete.
    pub fast_open_backlog: usize,
    /// A handshake that finds the accept queue full is reset, not left to try
    /// again (Linux `tcp_abort_on_overflow`).
    pub abort_on_overflow: bool,
}

/// Counts since the listener began.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ListenerCounters {
    /// SYNs that asked to open, each time one came.
    pub syns: u64,
    /// SYN-ACKs sent, those with cookies and retransmissions included.
    pub syn_acks: u64,
    /// Of these, sent again after a timeout.
    pub retransmissions: u64,
    /// Of these, with a cookie.
    pub cookies_sent: u64,
    /// Connections opened by a cookie.
    pub cookies_good: u64,
    /// Acknowledgments that might have been cookies and were not.
    pub cookies_bad: u64,
    /// SYNs dropped because the backlog was full.
    pub backlog_overflows: u64,
    /// Half-open connections that gave way to others.
    pub evicted: u64,
    /// Half-open connections given up after the last retransmission.
    pub expired: u64,
    /// Half-open connections that a hard ICMP error ended.
    pub unreachable: u64,
    /// SYNs and handshakes that found the accept queue full.
    pub accept_overflows: u64,
    /// Connections opened by Fast Open.
    pub fast_opens: u64,
    /// Good Fast Open cookies that found their limit reached.
    pub fast_open_overflows: u64,
    /// Fast Open cookies that were not good.
    pub fast_open_bad: u64,
    /// SYNs without a good authentication code that had to have one.
    pub authentication_failed: u64,
    /// Resets sent for acknowledgments of nothing.
    pub resets: u64,
    /// Connections handed to the driver.
    pub accepted: u64,
}

/// A connection for the driver.
#[derive(Debug)]
#[non_exhaustive]
pub struct Accepted<P> {
    /// Which one.
    pub tuple: FourTuple,
    /// The connection.
    pub connection: Box<Connection<P>>,
}

impl ListenerConfig {
    /// The template with the timestamp offset towards this peer.
    pub(super) fn template_for(&self, isn: &IsnGenerator, tuple: &FourTuple) -> Config {
        Config {
            timestamp_offset: isn.timestamp_offset(tuple),
            ..self.template.clone()
        }
    }
}
