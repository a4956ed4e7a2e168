//! LISTEN: RFC 9293 section 3.10.7.2, with half-open connections and an accept queue.
//!
//! | what | used by |
//! |---|---|
//! | [`handle_segment`] | one port, one peer: every SYN opens a connection (simulations, tests) |
//! | [`Listener`] | a server: half-open connections, SYN cookies, Fast Open, accept queue |
//!
//! | file | mechanism |
//! |---|---|
//! | `queue` | [`Listener`]: the two queues, their limits and timers; RFC 4987 |
//! | `config` | configuration, counters, accepted connections |
//! | `half_open` | a half-open connection, stored as its SYN |
//! | `cookie` | SYN cookies, RFC 4987 section 3.6 |
//!
//! ```
//! use gigatcp_tcp::listener::{Listener, ListenerConfig};
//! use gigatcp_tcp::{Received, Secret, TransportConfig};
//! use gigatcp_units::Instant;
//! use gigatcp_wire::bytes::Bytes;
//! use gigatcp_wire::{Endpoints, Flags, Segment, SeqNumber};
//!
//! let mut listener: Listener<Bytes> = Listener::new(ListenerConfig {
//!     transport: TransportConfig::default().into(),
//!     secret: Secret::new([7; 16]),
//!     backlog: 256,
//!     accept_backlog: 128,
//!     fast_open_backlog: 0,
//!     abort_on_overflow: false,
//! });
//! let now = Instant::ZERO;
//! let (client, server) = ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap());
//! let endpoints = Endpoints::new(client, server).unwrap();
//! let syn = Segment { src_port: 40_000, dst_port: 80, flags: Flags::SYN, ..Segment::default() };
//! listener.handle_segment(now, endpoints, Received { at: now, segment: syn.clone() });
//! let (_, syn_ack) = listener.poll_transmit(now).unwrap();
//!
//! let (seq, ack) = (SeqNumber::new(1), syn_ack.seq + 1);
//! let segment = Segment { seq, ack, flags: Flags::ACK, ..syn };
//! listener.handle_segment(now, endpoints, Received { at: now, segment });
//! assert_eq!(listener.poll_accept().unwrap().tuple.remote_port, 40_000);
//! ```

mod config;
mod cookie;
mod half_open;
mod queue;

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment};

use crate::connection::{Connection, ConnectionConfig, Received};

pub use config::{Accepted, ListenerConfig, ListenerCounters};
pub use queue::Listener;

/// Outcome of a segment at a listener.
#[derive(Debug)]
pub enum ListenOutcome<P> {
    /// A SYN: the connection that answers it.
    Opened(alloc::boxed::Box<Connection<P>>),
    /// Not for a listener: the reset to send.
    Reset(Segment<P>),
    /// The segment is ignored.
    Ignored,
}

/// Handles a segment for a port with a listener. `config` is that of the connection; its remote
/// port comes from the segment.
pub fn handle_segment<P: Payload>(
    now: Instant,
    config: &ConnectionConfig,
    received: &Received<P>,
) -> ListenOutcome<P> {
    let segment = &received.segment;
    if segment.flags.contains(Flags::RST) {
        return ListenOutcome::Ignored;
    }
    if segment.flags.contains(Flags::ACK) {
        return ListenOutcome::Reset(reset_answering(segment));
    }
    Connection::accept(now, config, received).map_or(ListenOutcome::Ignored, |connection| {
        ListenOutcome::Opened(alloc::boxed::Box::new(connection))
    })
}

/// Reset for a segment of no connection, or for an unacceptable ACK. RFC 9293 sections
/// 3.10.7.1 and 3.10.7.2 second.
pub(crate) fn reset_answering<P: Payload>(segment: &Segment<P>) -> Segment<P> {
    let reset = Segment {
        src_port: segment.dst_port,
        dst_port: segment.src_port,
        flags: Flags::RST,
        ..Segment::default()
    };
    if segment.flags.contains(Flags::ACK) {
        let seq = segment.ack;
        return Segment { seq, ..reset };
    }
    Segment {
        ack: segment.seq_end(),
        flags: Flags::RST | Flags::ACK,
        ..reset
    }
}
