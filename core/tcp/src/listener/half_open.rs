//! A half-open connection: a SYN was answered, its acknowledgment has not come.
//!
//! A connection is a machine whose every step follows from what came in. So a
//! half-open one need not be kept: the SYN and the count of what followed it
//! are, a tenth of the memory and no allocation, and the connection is made
//! anew whenever something happens to it. What answers is therefore the same
//! machine as everywhere, in SYN-RECEIVED: nothing is written twice.
//!
//! Two things are forgotten. Retransmissions are taken to have left when they
//! were due, where a driver may have been late; and of several repetitions of
//! the SYN the last counts, but for one that asked for no ECN. Neither touches anything but a round-trip sample
//! that Karn's algorithm would not take.

use gigatcp_units::Instant;
use gigatcp_wire::{Ecn, FastOpenCookie, Flags, Payload, Segment};

use crate::authentication::Keys;
use crate::connection::{Config, Connection, Received};
use crate::four_tuple::FourTuple;

/// What is kept of a half-open connection.
#[derive(Debug)]
pub(super) struct HalfOpen<P> {
    /// The SYN, with no more text than one segment of ours.
    pub(super) syn: Segment<P>,
    /// When it came.
    pub(super) arrived_at: Instant,
    /// Our initial sequence number.
    pub(super) iss: gigatcp_wire::SeqNumber,
    /// The Fast Open cookie that our SYN-ACK grants.
    pub(super) grant: Option<FastOpenCookie>,
    /// SYN-ACKs sent after a timeout.
    pub(super) retransmissions: u32,
    /// How the SYN came again, last.
    pub(super) repeated: Option<Repeated>,
    /// When the next retransmission is due.
    pub(super) due: Instant,
}

/// A SYN that came again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repeated {
    /// When.
    pub(super) at: Instant,
    /// Its flags. One that asks for no ECN stands for those after it: the
    /// network may have eaten the others (RFC 9768 section 3.1.5).
    pub(super) flags: Flags,
    /// Its ECN field.
    pub(super) ecn: Ecn,
}

impl Repeated {
    /// `syn` came again after `before`.
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
    /// The connection as it was when the SYN had come and nothing had left.
    /// `config` is that of the listener with the identity of `tuple`. Nothing
    /// where `keys` are required and the SYN shows none of them.
    pub(super) fn begin(
        &self,
        tuple: &FourTuple,
        config: &Config,
        keys: Option<&Keys<P>>,
    ) -> Option<Connection<P>> {
        let config = Config {
            local_port: tuple.local_port,
            remote_port: tuple.remote_port,
            iss: self.iss,
            ..config.clone()
        };
        let at = self.arrived_at;
        let received = Received {
            at,
            segment: self.syn.clone(),
        };
        if let Some(keys) = keys {
            return Connection::accept_authenticated(at, &config, &received, tuple, keys);
        }
        match self.grant {
            None => Connection::accept(at, &config, &received),
            grant => Connection::accept_fast_open(at, &config, &received, grant, false),
        }
    }

    /// The connection as it stands now.
    pub(super) fn revive(
        &self,
        tuple: &FourTuple,
        config: &Config,
        keys: Option<&Keys<P>>,
    ) -> Option<Connection<P>> {
        let mut connection = self.begin(tuple, config, keys)?;
        forget_output(&mut connection, self.arrived_at);
        for _ in 0..self.retransmissions {
            let due = connection.poll_timeout();
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

/// What left before leaves no second time.
pub(super) fn forget_output<P: Payload>(connection: &mut Connection<P>, now: Instant) {
    while connection.poll_transmit(now).is_some() {}
}
