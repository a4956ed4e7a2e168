//! Why a segment was retransmitted, and whether it was spurious.
//!
//! The capture shows what the sender saw and how it reacted. A retransmission right after
//! acknowledgments that report a loss belongs to a recovery (RFC 5681, 6675). One after a silence
//! is due to a timer (RFC 6298, RFC 8985 section 7). If neither fits, the kind is
//! `UnexplainedRetransmission`: there is no guess.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::direction::{Direction, Seen};
use crate::gaps::Opener;
use crate::{Kind, Observed};

/// Retransmissions remembered to detect whether they were spurious.
const REMEMBERED: usize = 16;

/// Phase of a sender's loss recovery.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Open,
    Fast,
    Timeout,
}

/// A retransmitted segment.
#[derive(Clone, Copy, Default, Debug)]
struct Repeat {
    start: u64,
    end: u64,
    segments: u64,
    at: Instant,
    ts_val: Option<u32>,
}

/// Loss recovery of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct LossRecovery {
    phase: Phase,
    /// SND.NXT when the recovery began.
    recover: u64,
    /// Position after the highest byte that SACK reported.
    pub high_sacked: u64,
    /// The end of a tail probe that is not acknowledged yet.
    probed: u64,
    /// The latest retransmissions, in a ring. Most connections with one have few.
    recent: Vec<Repeat>,
    next_recent: u8,
    /// The highest end of the remembered ones: an acknowledgment above it needs no search.
    recent_end: u64,
}

impl LossRecovery {
    /// Handles the advance of SND.UNA to `ack`.
    pub fn on_advance(&mut self, ack: u64) {
        if ack >= self.recover {
            self.phase = Phase::Open;
        }
    }

    /// Whether an acknowledgment beyond `una` could change anything here.
    pub fn is_going_on(&self, una: u64) -> bool {
        self.phase != Phase::Open || una < self.recent_end
    }

    fn remember(&mut self, repeat: Repeat) {
        let place = usize::from(self.next_recent);
        if let Some(oldest) = self.recent.get_mut(place) {
            *oldest = repeat;
        } else {
            if self.recent.len() == self.recent.capacity() {
                self.recent.reserve_exact(place.max(1));
            }
            self.recent.push(repeat);
        }
        self.recent_end = self.recent_end.max(repeat.end);
        self.next_recent = (self.next_recent + 1) % REMEMBERED as u8;
    }

    /// Time when this byte was last retransmitted.
    fn repeated_at(&self, place: u64) -> Option<Instant> {
        let covers = |repeat: &&Repeat| repeat.start <= place && place < repeat.end;
        let times = self.recent.iter().filter(covers);
        times.map(|repeat| repeat.at).max()
    }

    /// Handles a report that the peer received `start` to `end` twice. Returns the number of
    /// spurious segments in the latest retransmission of it; each is reported once.
    pub fn on_duplicate_report(&mut self, start: u64, end: u64) -> u64 {
        let found = self
            .recent
            .iter_mut()
            .filter(|repeat| repeat.segments > 0 && repeat.start < end && repeat.end > start)
            .max_by_key(|repeat| repeat.end.min(end) - repeat.start.max(start));
        let Some(repeat) = found else {
            return 0;
        };
        let len = repeat.end - repeat.start;
        let reported = repeat.end.min(end) - repeat.start.max(start);
        let segments = (repeat.segments * reported).div_ceil(len.max(1));
        debug_assert!(
            reported <= len && repeat.segments > 0,
            "{reported} octets of {repeat:?} are reported as duplicates"
        );
        let repeated = segments.clamp(1, repeat.segments);
        repeat.segments -= repeated;
        repeated
    }

    /// Handles an acknowledgment by RFC 3522. Retransmissions that `ack` covers are spurious if the
    /// echoed timestamp is older than theirs.
    #[inline]
    pub fn on_echo(&mut self, una: u64, ack: u64, ts_ecr: u32) -> u64 {
        if una >= self.recent_end {
            return 0;
        }
        self.on_echo_of_repeats(una, ack, ts_ecr)
    }

    fn on_echo_of_repeats(&mut self, una: u64, ack: u64, ts_ecr: u32) -> u64 {
        let mut spurious = 0;
        for repeat in &mut self.recent {
            let is_covered = repeat.start >= una && repeat.end <= ack && repeat.segments > 0;
            if let Some(ts_val) = repeat.ts_val
                && is_covered
                && is_older(ts_ecr, ts_val)
            {
                spurious += core::mem::take(&mut repeat.segments);
            }
        }
        spurious
    }
}

/// Whether the timestamp `a` is older than `b`.
pub(crate) const fn is_older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Bytes that were retransmitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmittedRange {
    pub start: u64,
    pub end: u64,
    pub segments: u64,
    pub octets: u64,
}

/// Classifies and remembers the retransmission. `round_trip` is the known RTT of the path,
/// `peer_at` the time of the peer's last packet.
pub(crate) fn on_again(
    data: &mut Direction,
    packet: &Observed,
    again: RetransmittedRange,
    peer_at: Instant,
    round_trip: Option<Duration>,
) -> Kind {
    let silence = packet
        .at
        .saturating_since(data.last_at)
        .min(packet.at.saturating_since(peer_at));
    let kind = kind(data, &again, packet.at, silence, round_trip);
    let (next, una) = (data.next, data.una);
    debug_assert!(
        again.start < again.end && again.end <= next && again.segments > 0,
        "{again:?} was sent before, SND.NXT as far as seen is {next}"
    );
    let rare = data.rare();
    rare.counts[kind as usize] += again.segments;
    rare.retransmitted_packets += 1;
    rare.retransmitted_octets += again.octets;
    let repair = &mut rare.repair;
    let phase = match kind {
        Kind::FastRetransmission | Kind::SackRetransmission => Some(Phase::Fast),
        Kind::TimeoutRetransmission => Some(Phase::Timeout),
        _ => None,
    };
    if let Some(phase) = phase
        && (repair.phase != phase || una >= repair.recover)
    {
        repair.phase = phase;
        repair.recover = next;
    }
    if kind == Kind::TailProbe {
        repair.probed = again.end;
    }
    repair.remember(Repeat {
        start: again.start,
        end: again.end,
        segments: again.segments,
        at: packet.at,
        ts_val: packet.timestamps.map(|stamps| stamps.val),
    });
    kind
}

fn kind(
    data: &Direction,
    again: &RetransmittedRange,
    now: Instant,
    silence: Duration,
    round_trip: Option<Duration>,
) -> Kind {
    let idle = LossRecovery::default();
    let repair = data.rare.as_ref().map_or(&idle, |rare| &rare.repair);
    let una = data.una;
    let is_acked = data.seen.has(Seen::UNA) && again.end <= una;
    if is_acked {
        return Kind::SpuriousRetransmission;
    }
    let timeout = data.rtt.timeout();
    // Recovery is clocked by acknowledgments, at most one RTT apart; timers wait longer.
    let is_timer = match round_trip {
        Some(rtt) => silence > rtt.saturating_mul(3) / 2,
        None => silence >= timeout,
    };
    // If a retransmission is lost while ACKs keep arriving, there is no silence, and yet the sender
    // waits for its timer.
    let is_lost_repair = repair
        .repeated_at(again.start)
        .is_some_and(|at| again.start == una && now.saturating_since(at) >= timeout);
    let is_tail = again.end >= data.next;
    let has_sack = repair.high_sacked > again.start;
    if is_timer {
        let is_probe = is_tail && repair.probed != again.end && silence < timeout && !has_sack;
        return if is_probe {
            Kind::TailProbe
        } else {
            Kind::TimeoutRetransmission
        };
    }
    if is_lost_repair {
        return Kind::TimeoutRetransmission;
    }
    if repair.phase == Phase::Timeout && una < repair.recover && again.start < repair.recover {
        return Kind::TimeoutRetransmission;
    }
    let is_repairing = repair.phase == Phase::Fast && una < repair.recover;
    if has_sack && (is_repairing || again.start > una) {
        Kind::SackRetransmission
    } else if has_sack || is_repairing || data.duplicates >= 3 {
        Kind::FastRetransmission
    } else {
        Kind::UnexplainedRetransmission
    }
}

/// Whether the packet that fills a gap was retransmitted, and not merely overtaken. Compares it
/// with the packet that showed the gap: timestamps, IP identification, time.
pub(crate) fn is_again(packet: &Observed, opener: &Opener, round_trip: Option<Duration>) -> bool {
    if let (Some(stamps), Some(ts_val)) = (packet.timestamps, opener.ts_val)
        && stamps.val != ts_val
    {
        return is_older(ts_val, stamps.val);
    }
    if packet.ident != 0 && opener.ident != 0 && packet.ident != opener.ident {
        return (packet.ident.wrapping_sub(opener.ident) as i16) > 0;
    }
    let late = packet.at.saturating_since(opener.at);
    let least = round_trip.map_or(Duration::from_millis(3), |rtt| rtt / 2);
    late >= least
}
