//! Half-open connection: a SYN was answered, and its acknowledgment has not come.
//!
//! The state of a connection follows from its input. So a half-open connection is stored only as
//! its SYN and the number of later events: a tenth of the memory, and no allocation. The
//! [`Connection`] is recreated whenever an event concerns it. SYN-RECEIVED is therefore
//! implemented once.
//!
//! Two things are not stored. Retransmissions are assumed to have left when they were due, though
//! a driver may have been late. Of several retransmitted SYNs the last counts, except for one
//! that requested no ECN. Both affect only RTT samples that Karn's algorithm would not use.

use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, FastOpenCookie, Flags, Payload, Segment};

use crate::authentication::Keys;
use crate::connection::{Connection, ConnectionConfig, Received};
use crate::four_tuple::FourTuple;

/// Stored state of a half-open connection.
#[derive(Debug)]
pub(super) struct HalfOpen<P> {
    /// The SYN, with at most one segment of data.
    pub(super) syn: Segment<P>,
    /// Arrival time of the SYN.
    pub(super) arrived_at: Instant,
    /// Our initial sequence number.
    pub(super) iss: gigatcp_wire::SeqNumber,
    /// Fast Open cookie that our SYN-ACK grants.
    pub(super) grant: Option<FastOpenCookie>,
    /// SYN-ACKs retransmitted after a timeout.
    pub(super) retransmissions: u32,
    /// Last retransmission of the SYN.
    pub(super) repeated: Option<Repeated>,
    /// Time when the next retransmission is due.
    pub(super) due: Instant,
}

/// Retransmitted SYN.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    /// Arrival time.
    pub(super) at: Instant,
    /// Flags. Those of a SYN that requests no ECN are kept for later ones. The network may have
    /// dropped the others (RFC 9768 section 3.1.5).
    pub(super) flags: Flags,
    /// ECN field.
    pub(super) ecn: Ecn,
}

impl Repeated {
    /// State after `syn` arrived again after `before`.
    pub(super) fn after<P>(before: Option<Self>, at: Instant, syn: &Segment<P>) -> Self {
        let plain = before.filter(|before| before.flags.ace() == 0);
        Self {
            at,
            flags: plain.map_or(syn.flags, |plain| plain.flags),
            ecn: syn.ecn,
        }
    }
}

impl<P: Payload> HalfOpen<P> {
    /// Connection when the SYN had arrived and nothing had left. Returns `None` if `keys` are
    /// required and the SYN has no code of any.
    pub(super) fn begin(
        &self,
        tuple: &FourTuple,
        config: &ConnectionConfig,
        keys: Option<&Keys<P>>,
    ) -> Option<Connection<P>> {
        let at = self.arrived_at;
        let received = Received {
            at,
            segment: self.syn.clone(),
        };
        if let Some(keys) = keys {
            return Connection::accept_authenticated(at, config, &received, tuple, keys);
        }
        match self.grant {
            None => Connection::accept(at, config, &received),
            grant => Connection::accept_fast_open(at, config, &received, grant, false),
        }
    }

    /// Connection in its current state.
    pub(super) fn rebuild(
        &self,
        tuple: &FourTuple,
        config: &ConnectionConfig,
        keys: Option<&Keys<P>>,
    ) -> Option<Connection<P>> {
        let mut connection = self.begin(tuple, config, keys)?;
        forget_output(&mut connection, self.arrived_at);
        for _ in 0..self.retransmissions {
            let due = connection.next_timer();
            connection.handle_timeout(due);
            forget_output(&mut connection, due);
        }
        if let Some(Repeated { at, flags, ecn }) = self.repeated {
            let segment = Segment {
                flags,
                ecn,
                ..self.syn.clone()
            };
            connection.handle_segment(at, Received { at, segment });
            forget_output(&mut connection, at);
        }
        Some(connection)
    }
}

/// Discards output that has left before.
pub(super) fn forget_output<P: Payload>(connection: &mut Connection<P>, now: Instant) {
    while connection.poll_transmit(now).is_some() {}
}
