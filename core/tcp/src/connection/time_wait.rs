//! TIME-WAIT: what may end it early (RFC 6191, RFC 9293 MAY-2) and what must
//! not (RFC 1337).
//!
//! A SYN for the same pair of sockets may open a new incarnation when it cannot
//! be an old duplicate of the old one: its timestamp is newer, or its sequence number
//! lies beyond everything the old one received. The old connection does not
//! turn into the new one: it stays in TIME-WAIT next to it, and the driver drops
//! it when the new one is established. So it is still there when the SYN proves
//! to have been an old duplicate (MAY-2 b).
//!
//! With the switch `time_wait_ignores_reset` a reset does not end TIME-WAIT:
//! RFC 1337 section 3, fix F1, against RFC 9293 section 3.10.7.4, which lets it.

use gigatcp_events::State;
use gigatcp_units::{Duration, Instant};
use gigatcp_wire::{Flags, Payload, Segment, SeqNumber};

use super::{Config, Connection};

/// How far beyond the old incarnation the new one starts where its own number
/// would not be beyond it: more than any window without scaling (as Linux
/// does).
const STRIDE: u32 = 65_535 + 2;

/// An active open may follow one whose peer was last heard this long ago: the
/// coarsest timestamp clock has then moved (RFC 7323 section 5.4: 1 s).
const CLOCK_HAS_MOVED: Duration = Duration::from_secs(1);

/// What a connection in TIME-WAIT leaves to the next of the same sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Predecessor {
    /// SND.NXT of the old incarnation: what it never sent.
    pub snd_nxt: SeqNumber,
}

impl Predecessor {
    /// `config` with an initial sequence number beyond what the old
    /// incarnation used (RFC 9293 MAY-2 a).
    #[must_use]
    pub fn followed_by(&self, config: &Config) -> Config {
        let is_beyond = config.iss.distance_from(self.snd_nxt) > 0;
        let iss = if is_beyond {
            config.iss
        } else {
            self.snd_nxt + STRIDE
        };
        Config {
            iss,
            ..config.clone()
        }
    }
}

impl<P: Payload> Connection<P> {
    /// Whether `segment`, which reached this connection, may open a new one
    /// between the same sockets. The driver asks before it hands the segment
    /// over, if an application listens there.
    #[must_use]
    pub fn gives_way_to(&self, segment: &Segment<P>) -> Option<Predecessor> {
        let is_syn = is_plain_syn(segment);
        let gives_way = self.profile.closing.time_wait_reuse
            && self.state == State::TimeWait
            && is_syn
            && self.is_later_than_this(segment);
        gives_way.then(|| self.predecessor())
    }

    /// Whether a new *active* open between the same sockets need not wait: the
    /// peer, which may still be in TIME-WAIT itself, will see a newer timestamp
    /// (RFC 6191 section 2; Linux `tcp_tw_reuse`).
    #[must_use]
    pub fn gives_way_to_reconnect(&self, now: Instant) -> Option<Predecessor> {
        let clock = self.timestamps.as_ref()?;
        let gives_way = self.profile.closing.time_wait_reuse
            && self.state == State::TimeWait
            && now.saturating_since(clock.recent_taken_at()?) >= CLOCK_HAS_MOVED;
        gives_way.then(|| self.predecessor())
    }

    fn predecessor(&self) -> Predecessor {
        Predecessor {
            snd_nxt: self.snd.on_wire(self.snd.nxt),
        }
    }

    /// RFC 6191 section 2, both lists of conditions in one.
    fn is_later_than_this(&self, syn: &Segment<P>) -> bool {
        let has_later_number = syn.seq.distance_from(self.rcv.on_wire(self.rcv.nxt)) >= 0;
        // Timestamps are enabled for the new incarnation when both sides want
        // them, and were for the old one when they were agreed.
        let offered = syn
            .options
            .timestamps
            .filter(|_| self.profile.options.timestamps);
        match (&self.timestamps, offered) {
            (Some(clock), Some(stamps)) => match clock.compare_with_recent(stamps.val) {
                core::cmp::Ordering::Greater => true,
                core::cmp::Ordering::Equal => has_later_number,
                core::cmp::Ordering::Less => false,
            },
            // The peer has a timestamp clock now and had none: not an old duplicate.
            (None, Some(_)) => true,
            (_, None) => has_later_number,
        }
    }

    /// A SYN in TIME-WAIT that opens nothing. RFC 6191 section 2 drops one that
    /// is not newer, with no answer; one that is newer and found no listener
    /// is challenged like any other (RFC 5961 section 4). Returns
    /// whether that was all.
    pub(super) fn ignores_in_time_wait(&self, segment: &Segment<P>) -> bool {
        self.profile.closing.time_wait_reuse
            && is_plain_syn(segment)
            && !self.is_later_than_this(segment)
    }
}

/// A SYN that asks to open, nothing else.
fn is_plain_syn<P>(segment: &Segment<P>) -> bool {
    segment.flags.contains(Flags::SYN) && !segment.flags.intersects(Flags::ACK | Flags::RST)
}
