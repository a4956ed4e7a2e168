//! LISTEN: RFC 9293 section 3.10.7.2.
//!
//! A listener turns each SYN into a connection. It keeps no queue of its own
//! and sends no cookies: that belongs to a runtime with many connections.

use gigatcp_units::Instant;
use gigatcp_wire::{Flags, Payload, Segment, SeqNumber};

use crate::connection::{Config, Connection, Received};

/// What a listener makes of a segment.
#[derive(Debug)]
pub enum Heard<P> {
    /// A SYN: here is the connection that answers it.
    Opened(alloc::boxed::Box<Connection<P>>),
    /// Not for a listener: send this reset.
    Reset(Segment<P>),
    /// Nothing to do.
    Ignored,
}

/// Handles a segment for a port on which somebody listens. `config` is the
/// template of the connection; its remote port is taken from the segment.
pub fn handle_segment<P: Payload>(
    now: Instant,
    config: &Config,
    received: &Received<P>,
) -> Heard<P> {
    let segment = &received.segment;
    if segment.flags.contains(Flags::RST) {
        return Heard::Ignored;
    }
    if segment.flags.contains(Flags::ACK) {
        return Heard::Reset(Segment {
            src_port: segment.dst_port,
            dst_port: segment.src_port,
            seq: segment.ack,
            ack: SeqNumber::default(),
            flags: Flags::RST,
            ..Segment::default()
        });
    }
    if !segment.flags.contains(Flags::SYN) {
        return Heard::Ignored;
    }
    Heard::Opened(alloc::boxed::Box::new(Connection::accept(
        now, config, received,
    )))
}
