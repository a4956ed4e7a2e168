//! Configuration and counters of a listener, and its accepted connections.

use alloc::boxed::Box;
use alloc::sync::Arc;

use gigatcp_wire::SeqNumber;

use crate::connection::{Connection, ConnectionConfig, TransportConfig};
use crate::four_tuple::FourTuple;
use crate::isn::IsnGenerator;
use crate::secret::Secret;

/// Configuration of a listener.
#[derive(Clone, Debug)]
pub struct ListenerConfig {
    /// Configuration that its connections share.
    pub transport: Arc<TransportConfig>,
    /// Secret of initial sequence numbers, SYN cookies and Fast Open cookies.
    pub secret: Secret,
    /// Maximum number of half-open connections.
    pub backlog: usize,
    /// Maximum number of connections waiting to be accepted.
    pub accept_backlog: usize,
    /// Maximum number of Fast Open connections whose handshake is not complete.
    pub fast_open_backlog: usize,
    /// A handshake that completes while the accept queue is full is reset. Otherwise its ACK is
    /// dropped, and the client tries again (Linux `tcp_abort_on_overflow`).
    pub abort_on_overflow: bool,
}

impl From<Arc<TransportConfig>> for ListenerConfig {
    /// For [`Endpoint::listen`](crate::Endpoint::listen), which sets the secret.
    /// 256 half-open connections, 128 that wait to be accepted, 128 by Fast Open.
    fn from(transport: Arc<TransportConfig>) -> Self {
        Self {
            transport,
            secret: Secret::UNSET,
            backlog: 256,
            accept_backlog: 128,
            fast_open_backlog: 128,
            abort_on_overflow: false,
        }
    }
}

impl From<TransportConfig> for ListenerConfig {
    fn from(transport: TransportConfig) -> Self {
        Arc::new(transport).into()
    }
}

/// Counts since the listener was created.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[non_exhaustive]
pub struct ListenerCounters {
    /// SYNs that request a connection, retransmissions included.
    pub syns: u64,
    /// SYN-ACKs sent, those with cookies and retransmissions included.
    pub syn_acks: u64,
    /// SYN-ACKs retransmitted after a timeout.
    pub retransmissions: u64,
    /// SYN-ACKs with a SYN cookie.
    pub cookies_sent: u64,
    /// Connections opened by a SYN cookie.
    pub cookies_good: u64,
    /// ACKs that could have been SYN cookies and were not.
    pub cookies_bad: u64,
    /// SYNs dropped because the backlog was full.
    pub backlog_overflows: u64,
    /// Half-open connections evicted for others.
    pub evicted: u64,
    /// Half-open connections dropped after the last retransmission.
    pub expired: u64,
    /// Half-open connections ended by a hard ICMP error.
    pub unreachable: u64,
    /// SYNs and handshakes that found the accept queue full.
    pub accept_overflows: u64,
    /// Connections opened by Fast Open.
    pub fast_opens: u64,
    /// Valid Fast Open cookies that exceeded the limit.
    pub fast_open_overflows: u64,
    /// Invalid Fast Open cookies.
    pub fast_open_bad: u64,
    /// SYNs without the required valid authentication code.
    pub authentication_failed: u64,
    /// Resets sent for unacceptable ACKs.
    pub resets: u64,
    /// Connections passed to the driver.
    pub accepted: u64,
}

/// Accepted connection, for the driver.
#[derive(Debug)]
#[non_exhaustive]
pub struct Accepted<P> {
    /// Addresses and ports of the connection.
    pub tuple: FourTuple,
    /// The connection.
    pub connection: Box<Connection<P>>,
}

impl ListenerConfig {
    /// Configuration of the connection `tuple` whose initial sequence number is `iss`.
    pub(super) fn identified(
        &self,
        isn: &IsnGenerator,
        tuple: &FourTuple,
        iss: SeqNumber,
    ) -> ConnectionConfig {
        ConnectionConfig {
            transport: self.transport.clone(),
            ip: tuple.ip(),
            local_port: tuple.local_port,
            remote_port: tuple.remote_port,
            iss,
            timestamp_offset: isn.timestamp_offset(tuple),
        }
    }
}
