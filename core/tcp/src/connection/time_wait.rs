//! TIME-WAIT: events that may end it early (RFC 6191, RFC 9293 MAY-2) and that must not (RFC
//! 1337).
//!
//! A SYN for the same pair of sockets may open a new incarnation unless it could be an old
//! duplicate. Its timestamp must be newer, or its sequence number beyond everything the old
//! incarnation received. The old connection stays in TIME-WAIT next to the new one, and the driver
//! drops it when the new one is established. So it still exists if the SYN proves to be an old
//! duplicate (MAY-2 b).
//!
//! With the switch `time_wait_ignores_reset` a reset does not end TIME-WAIT: RFC 1337 section 3,
//! fix F1. RFC 9293 section 3.10.7.4 would let it.

use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Flags, Payload, Segment, SeqNumber};

use super::{Connection, ConnectionConfig};
use crate::events::State;

/// Distance of the new incarnation's sequence number from the old one's SND.NXT. Used if the new
/// number is not beyond it; larger than any window without scaling (as in Linux).
const STRIDE: u32 = 65_535 + 2;

/// Silence of the peer after which an active open may follow. The coarsest timestamp clock has
/// then advanced (RFC 7323 section 5.4: 1 s).
const CLOCK_HAS_MOVED: Duration = Duration::from_secs(1);

/// State that a connection in TIME-WAIT leaves to the next on the same sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predecessor {
    /// SND.NXT of the old incarnation: first number it never sent.
    pub snd_nxt: SeqNumber,
}

impl Predecessor {
    /// `config` with an initial sequence number beyond the old incarnation's (RFC 9293 MAY-2 a).
    #[must_use]
    pub fn followed_by(&self, config: &ConnectionConfig) -> ConnectionConfig {
        let is_beyond = config.iss.distance_from(self.snd_nxt) > 0;
        let iss = if is_beyond {
            config.iss
        } else {
            self.snd_nxt + STRIDE
        };
        ConnectionConfig {
            iss,
            ..config.clone()
        }
    }
}

impl<P: Payload> Connection<P> {
    /// Old state if `segment` may open a new connection on these sockets. The driver calls this
    /// before it passes the segment in, if an application listens there.
    #[must_use]
    #[doc(hidden)]
    pub fn gives_way_to(&self, segment: &Segment<P>) -> Option<Predecessor> {
        let is_syn = is_plain_syn(segment);
        let gives_way = self.transport.profile.closing.time_wait_reuse
            && self.state == State::TimeWait
            && is_syn
            && self.is_later_than_this(segment);
        gives_way.then(|| self.predecessor())
    }

    /// Old state if a new *active* open on these sockets need not wait. The peer may still be in
    /// TIME-WAIT itself, but will see a newer timestamp (RFC 6191 section 2; Linux `tcp_tw_reuse`).
    #[must_use]
    #[doc(hidden)]
    pub fn gives_way_to_reconnect(&self, now: Instant) -> Option<Predecessor> {
        let clock = self.timestamps.as_ref()?;
        let gives_way = self.transport.profile.closing.time_wait_reuse
            && self.state == State::TimeWait
            && now.saturating_since(clock.recent_taken_at()?) >= CLOCK_HAS_MOVED;
        gives_way.then(|| self.predecessor())
    }

    fn predecessor(&self) -> Predecessor {
        Predecessor {
            snd_nxt: self.snd.on_wire(self.snd.nxt),
        }
    }

    /// Whether a SYN is newer than this connection (both lists of RFC 6191 section 2).
    fn is_later_than_this(&self, syn: &Segment<P>) -> bool {
        let has_later_number = syn.seq.distance_from(self.rcv.on_wire(self.rcv.nxt)) >= 0;
        // The new incarnation has timestamps if both sides want them; the old one had them if both
        // agreed.
        let offered = syn
            .options
            .timestamps
            .filter(|_| self.transport.profile.options.timestamps);
        match (&self.timestamps, offered) {
            (Some(clock), Some(stamps)) => match clock.compare_with_recent(stamps.val) {
                core::cmp::Ordering::Greater => true,
                core::cmp::Ordering::Equal => has_later_number,
                core::cmp::Ordering::Less => false,
            },
            // The peer now has a timestamp clock and had none: not an old duplicate.
            (None, Some(_)) => true,
            (_, None) => has_later_number,
        }
    }

    /// Whether a segment in TIME-WAIT is a SYN to drop without an answer. RFC 6191 section 2 drops
    /// one that is not newer. A newer one that found no listener is challenged like any other (RFC
    /// 5961 section 4).
    pub(super) fn ignores_in_time_wait(&self, segment: &Segment<P>) -> bool {
        self.transport.profile.closing.time_wait_reuse
            && is_plain_syn(segment)
            && !self.is_later_than_this(segment)
    }
}

/// Whether a segment is a SYN without ACK and RST.
fn is_plain_syn<P>(segment: &Segment<P>) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK | Flags::RST)
}
