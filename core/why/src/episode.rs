//! Losses, and the sender's recovery from them.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::measures::loss_burst::LossBurst;

/// Maximum number of episodes kept individually; later ones are only counted.
const MAX_EPISODES: usize = 512;

/// Maximum number of timeouts kept individually.
const MAX_TIMEOUTS: usize = 64;

/// Interval from the detection of a loss to the acknowledgment of its retransmission.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RecoveryEpisode {
    /// Time of the first retransmission.
    pub at: Instant,
    /// Time when all data sent before the first retransmission was acknowledged.
    pub until: Instant,
    /// Number of the first retransmitted packet.
    pub packet: u64,
    /// Its position.
    pub start: u64,
    /// Bytes in flight when it began.
    pub flight: u64,
    /// Whether duplicate ACKs or SACK had reported a gap when it began.
    pub is_reported: bool,
    /// Retransmissions in it, including several of one segment.
    pub again: u64,
    /// Of the retransmissions, those proven spurious.
    pub spurious: u64,
    /// Of the retransmissions, segments that were only reordered: their originals passed here too.
    pub overtaken: u64,
    /// Retransmissions of segments that had already arrived, including those.
    pub needless: u64,
    /// Of the retransmissions, segments acknowledged sooner than any ACK of them can come back: the
    /// ACK answers the original.
    pub early: u64,
    /// Of the retransmissions, those of bytes before the furthest one: sent once more.
    pub copies: u64,
    /// End of the furthest retransmission.
    pub furthest: u64,
    /// Longest run of bytes retransmitted without a break.
    pub row: u64,
    /// Losses close together.
    pub loss_burst: LossBurst,
    /// Timeouts in it.
    pub timeouts: u64,
    /// Last RTT sample before it, at the capture point.
    pub trip: Option<Duration>,
    /// Last RTT sample from an acknowledgment that reported no gap. Others may have been delayed
    /// until data after the gap arrived (RFC 5681 section 4.2). Zero if there was none.
    pub punctual_trip: Duration,
    /// Last turnaround before it.
    pub turn: Option<Duration>,
    /// Packets that arrived out of order.
    pub late: u64,
    /// Stall of the right window edge before it, although data was acknowledged.
    pub frozen: Option<Frozen>,
    /// Whether only full-sized segments were retransmitted, while smaller packets passed.
    pub full_sized: bool,
    /// New bytes sent while it lasted.
    pub sent: u64,
}

impl RecoveryEpisode {
    /// Whether more than half of its retransmissions, copies apart, are among these `spurious` ones: a
    /// copy does not show whether the first one was lost.
    pub const fn is_mostly_spurious(&self, spurious: u64) -> bool {
        spurious.saturating_sub(self.copies) * 2 > self.again.saturating_sub(self.copies)
    }

    /// Whether the same data was lost repeatedly. That is not due to a full queue.
    pub const fn is_repeated(&self) -> bool {
        self.timeouts >= 3 && self.again <= self.timeouts + 2
    }
}

/// A right edge that did not advance while data was acknowledged. The application was not reading.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Frozen {
    pub edge: u64,
    pub since: Instant,
    pub until: Instant,
    pub first_ack: u64,
    /// Bytes acknowledged in that time.
    pub acked: u64,
    /// Number of the packet that first advertised this edge.
    pub packet: u64,
}

/// A stall of the right edge in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    pub frozen: Frozen,
    /// Initial edge. The apparent edge may vary by less than `unit`, of which windows are
    /// multiples.
    pub first_edge: u64,
    pub unit: u64,
}

impl Standing {
    /// Advance of the edge that is none: a sixteenth of what is acknowledged in the stall, as long
    /// as more is. Without more, a window that opens ends it.
    pub const fn drift(&self, ack: u64, edge: u64) -> u64 {
        let acked = ack.saturating_sub(self.frozen.first_ack);
        if acked > self.frozen.acked || edge <= self.frozen.edge {
            acked / 16
        } else {
            0
        }
    }

    /// Stall if enough data was acknowledged for an edge to advance.
    pub fn if_long(&self, mss: u64) -> Option<Frozen> {
        let enough = (2 * mss.max(1)).max(self.unit + mss);
        (self.frozen.acked >= enough).then_some(self.frozen)
    }
}

/// Expiry of a retransmission timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub at: Instant,
    pub packet: u64,
    pub start: u64,
    /// Silence before it.
    pub waited: Duration,
    /// The packet's IPv4 identification, and the number of its sender's packets seen up to it.
    pub ident: u16,
    pub sent: u64,
}

/// A gap that showed at the capture point.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SequenceGap {
    pub at: Instant,
    /// Number of the packet after it.
    pub packet: u64,
    pub start: u64,
    pub end: u64,
    pub frozen: Option<Frozen>,
    /// Time when data had passed before.
    pub after: Instant,
}

/// All losses of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Episodes {
    pub list: Vec<RecoveryEpisode>,
    pub count: u64,
    pub expiries: Vec<Expiry>,
    pub expiry_count: u64,
    /// The largest gap seen.
    pub hole: Option<SequenceGap>,
}

impl Episodes {
    pub fn push(&mut self, episode: RecoveryEpisode) {
        debug_assert!(
            episode.at <= episode.until
                && self.list.last().is_none_or(|last| last.at <= episode.at),
            "episodes begin in the order of time, and end after that: {episode:?}"
        );
        self.count += 1;
        if self.list.len() < MAX_EPISODES {
            self.list.push(episode);
        }
        debug_assert!(
            self.list.len() as u64 <= self.count,
            "every episode that is kept is counted: {} of {}",
            self.list.len(),
            self.count
        );
    }

    pub fn expire(&mut self, expiry: Expiry) {
        self.expiry_count += 1;
        if self.expiries.len() < MAX_TIMEOUTS {
            self.expiries.push(expiry);
        }
        debug_assert!(
            self.expiries.len() as u64 <= self.expiry_count,
            "every timeout that is kept is counted"
        );
    }

    pub fn on_hole(&mut self, hole: SequenceGap) {
        debug_assert!(hole.start < hole.end, "a hole has octets: {hole:?}");
        let len = |hole: &SequenceGap| hole.end - hole.start;
        if self.hole.as_ref().is_none_or(|most| len(&hole) > len(most)) {
            self.hole = Some(hole);
        }
    }
}
