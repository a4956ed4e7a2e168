//! Losses, and what a sender did about them.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::measures::loss_burst::LossBurst;

/// Episodes kept one by one; later ones are only counted.
const MAX_EPISODES: usize = 512;

/// Timeouts kept one by one.
const MAX_TIMEOUTS: usize = 64;

/// From a loss being noticed to its repair being acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RecoveryEpisode {
    /// When the first segment was retransmitted.
    pub at: Instant,
    /// When all was acknowledged that had been sent by then.
    pub until: Instant,
    /// The first packet retransmitted.
    pub packet: u64,
    /// Its place.
    pub start: u64,
    /// Octets in flight when it began.
    pub flight: u64,
    /// Retransmissions in it, several of one segment included.
    pub again: u64,
    /// Bytes retransmitted at least once, from the first on: never more than were in
    /// flight; and where they end.
    pub lost: u64,
    pub lost_end: u64,
    /// Of these, proven to have been spurious.
    pub spurious: u64,
    /// Of these, segments that were late only: their originals passed here too.
    pub overtaken: u64,
    /// Segments retransmitted of what had been there, those included.
    pub needless: u64,
    /// The longest row of octets that was retransmitted without a break.
    pub row: u64,
    /// Where that row ended.
    pub row_end: u64,
    /// What was lost closely together.
    pub flood: LossBurst,
    /// Timeouts in it.
    pub timeouts: u64,
    /// The last round trip measured before it, at the capture point.
    pub trip: Option<Duration>,
    /// The same of an acknowledgment that reported no gap: others may have been delayed
    /// until what came behind the gap (RFC 5681 section 4.2).
    /// Zero where there was none.
    pub punctual_trip: Duration,
    /// The last turnaround, likewise.
    pub turn: Option<Duration>,
    /// Packets that came late, out of order.
    pub late: u64,
    /// How long the right edge of the window had stood still although data was
    /// acknowledged, and where.
    pub frozen: Option<Frozen>,
    /// Whether its sizes were full ones only, while smaller packets passed.
    pub full_sized: bool,
    /// Octets of new data sent for the first time while it lasted.
    pub sent: u64,
}

impl RecoveryEpisode {
    /// Whether the same was lost again and again: it met something else than a
    /// full queue.
    pub const fn is_repeated(&self) -> bool {
        self.timeouts >= 3 && self.again <= self.timeouts + 2
    }

    /// Whether nothing but full segments was retransmitted.
    pub const fn full_sized_only(&self) -> bool {
        self.full_sized
    }
}

/// A right edge that did not advance while data was acknowledged: the application was not reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frozen {
    pub edge: u64,
    pub since: Instant,
    pub until: Instant,
    pub first_ack: u64,
    /// Octets acknowledged in that time.
    pub acked: u64,
    /// The packet that offered this edge first.
    pub packet: u64,
}

/// The same while it goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub frozen: Frozen,
    /// Where the edge stood at first, and what windows are multiples of: by less than
    /// that it may seem to have moved.
    pub first_edge: u64,
    pub unit: u64,
}

impl Standing {
    /// It, if enough was acknowledged in that time for an edge that moves to have moved.
    pub fn if_long(&self, mss: u64) -> Option<Frozen> {
        let enough = (2 * mss.max(1)).max(self.unit + mss);
        (self.frozen.acked >= enough).then_some(self.frozen)
    }
}

/// A timer that ran out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub at: Instant,
    pub packet: u64,
    pub start: u64,
    /// The silence before.
    pub waited: Duration,
    /// The packet's IPv4 identification, and how many of its sender had been seen with
    /// it.
    pub ident: u16,
    pub sent: u64,
}

/// A hole that showed itself at the capture point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hole {
    pub at: Instant,
    /// The packet behind it.
    pub packet: u64,
    pub start: u64,
    pub end: u64,
    pub frozen: Option<Frozen>,
    /// When data had passed before.
    pub after: Instant,
}

/// All of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Episodes {
    pub list: Vec<RecoveryEpisode>,
    pub count: u64,
    pub expiries: Vec<Expiry>,
    pub expiry_count: u64,
    /// The largest hole seen.
    pub hole: Option<Hole>,
}

impl Episodes {
    pub fn push(&mut self, episode: RecoveryEpisode) {
        debug_assert!(
            episode.at <= episode.until
                && self.list.last().is_none_or(|last| last.at <= episode.at),
            "episodes begin in the order of time, and end after that: {episode:?}"
        );
        debug_assert!(
            episode.start + episode.lost <= episode.lost_end,
            "what was lost lies between its begin and its end: {episode:?}"
        );
        self.count += 1;
        if self.list.len() < MAX_EPISODES {
            self.list.push(episode);
        }
    }

    pub fn expire(&mut self, expiry: Expiry) {
        self.expiry_count += 1;
        if self.expiries.len() < MAX_TIMEOUTS {
            self.expiries.push(expiry);
        }
    }

    pub fn on_hole(&mut self, hole: Hole) {
        debug_assert!(hole.start < hole.end, "a hole has octets: {hole:?}");
        let len = |hole: &Hole| hole.end - hole.start;
        if self.hole.as_ref().is_none_or(|most| len(&hole) > len(most)) {
            self.hole = Some(hole);
        }
    }
}
