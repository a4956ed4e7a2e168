//! Why a segment was retransmitted, and whether it had to be.
//!
//! The capture shows what the sender saw and what it then did. What comes right
//! after acknowledgments that report a loss is a repair (RFC 5681, 6675); what
//! comes after a silence was made by a timer (RFC 6298, RFC 8985 section 7).
//! Where neither fits, the kind is `UnexplainedRetransmission`: it is not
//! guessed.

use gigatcp_units::{Duration, Instant};

use crate::direction::{Direction, Seen};
use crate::gaps::Opener;
use crate::{Kind, Observed};

/// Retransmissions remembered to see whether they were needed.
const REMEMBERED: usize = 16;

/// How a sender repairs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Open,
    Fast,
    Timeout,
}

/// A segment retransmitted.
#[derive(Clone, Copy, Default, Debug)]
struct Repeat {
    start: u64,
    end: u64,
    segments: u64,
    at: Instant,
    ts_val: Option<u32>,
}

/// The repair of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct Repair {
    phase: Phase,
    /// SND.NXT when the repair began.
    recover: u64,
    /// The highest octet that SACK reported, and one.
    pub high_sacked: u64,
    /// The end of a tail probe that is not acknowledged yet.
    probed: u64,
    recent: [Repeat; REMEMBERED],
    next_recent: u8,
    /// The end of the highest of them: nothing above needs a look at all.
    recent_end: u64,
}

impl Repair {
    /// SND.UNA moved to `ack`.
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
        let place = usize::from(self.next_recent) % REMEMBERED;
        self.recent[place] = repeat;
        self.recent_end = self.recent_end.max(repeat.end);
        self.next_recent = (place as u8 + 1) % REMEMBERED as u8;
    }

    /// When this octet was last retransmitted.
    fn repeated_at(&self, place: u64) -> Option<Instant> {
        self.recent
            .iter()
            .filter(|repeat| repeat.start <= place && place < repeat.end)
            .map(|repeat| repeat.at)
            .max()
    }

    /// The peer has `start` to `end` twice: how many segments of the latest
    /// retransmission of it were not needed. Each is told once.
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
        let segments = segments.clamp(1, repeat.segments);
        repeat.segments -= segments;
        segments
    }

    /// RFC 3522: `ack` covers the beginning of a retransmission, and what it
    /// echoes is older than that.
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

/// Octets that left once more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    pub start: u64,
    pub end: u64,
    pub segments: u64,
    pub octets: u64,
}

/// Names the retransmission, and remembers it. `round_trip` is what is known of
/// the path's, `peer_at` when the peer's last packet passed.
pub(crate) fn on_again(
    data: &mut Direction,
    packet: &Observed,
    again: Again,
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
    again: &Again,
    now: Instant,
    silence: Duration,
    round_trip: Option<Duration>,
) -> Kind {
    let idle = Repair::default();
    let repair = data.rare.as_ref().map_or(&idle, |rare| &rare.repair);
    let una = data.una;
    let is_acked = data.seen.has(Seen::UNA) && again.end <= una;
    if is_acked {
        return Kind::NeedlessRetransmission;
    }
    let timeout = data.rtt.timeout();
    // A repair is clocked by acknowledgments, a round trip apart at most;
    // timers wait for longer.
    let is_timer = match round_trip {
        Some(rtt) => silence > rtt.saturating_mul(3) / 2,
        None => silence >= timeout,
    };
    // Whose repair is lost while others keep coming is not silent, and yet
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

/// Whether what fills a gap was retransmitted, and not merely overtaken by the
/// packet that showed the gap: by timestamps, by IP identification, by time.
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
