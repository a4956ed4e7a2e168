//! Triggers of recovery episodes, where a protocol or physics decides.
//!
//! Timeouts, retransmissions and a small window afterwards are the sender's reaction; the answer
//! is their trigger. What facts leave open (a full queue, a managed one, a policer, random loss) is
//! weighed in `score.rs`.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::CapturePoint;
use crate::causes::{place, rx_ring};
use crate::episode::{Expiry, Frozen, RecoveryEpisode};
use crate::measures::Measures;
use crate::measures::losses::needless;
use crate::round::{Round, State};

/// Index of the cause of each recovery episode; `None` if facts do not decide.
pub(crate) fn all(m: &Measures<'_>) -> Vec<Option<usize>> {
    let list = &m.sender_view.episodes.list;
    let of_all = if m.drops_fill_queue() {
        place("queue-overflow")
    } else {
        is_metered(m).then(|| place("policer")).flatten()
    };
    let hole = is_black_hole(m).then(|| place("pmtu-black-hole")).flatten();
    let hole = |episode: &RecoveryEpisode| hole.filter(|_| episode.full_sized || !fits(m));
    list.iter()
        .map(|episode| hole(episode).or_else(|| of(m, episode)).or(of_all))
        .collect()
}

/// When a burst of losses that ends at a stalled window edge was seen, which nothing filled.
pub(crate) fn lost_at_edge(m: &Measures<'_>) -> Option<Instant> {
    let hole = m.sender_view.episodes.hole?;
    rx_ring::note(m).map(|_| hole.at)
}

/// Whether losses keep the connection at one rate, well below that of the link behind them: a token
/// bucket does that, whatever the window. A short queue lets the rate vary with the window.
fn is_metered(m: &Measures<'_>) -> bool {
    /// Minimum number of loss events after the first.
    const MIN_EVENTS: usize = 8;
    let p = &m.pattern;
    // The times between losses at random vary as much as they are long.
    let is_random = p
        .interval_variation
        .is_some_and(|variation| (0.5..1.2).contains(&variation));
    let most = if is_random { 0.08 } else { 0.12 };
    let is_steady = p.rate_variation.is_some_and(|variation| variation <= most);
    let is_below = m.line.is_some_and(|line| m.mean_rate() <= 0.6 * line);
    // Their distances are no rate of a link then.
    let is_shown = is_steady && is_below && !has_bunched_acks(m);
    p.later >= MIN_EVENTS && is_shown && p.loss_rate >= 0.003
}

/// Whether ACKs come in bunches near the sender.
fn has_bunched_acks(m: &Measures<'_>) -> bool {
    let sum = |of: fn(&Round) -> u64| -> u64 { m.rounds.iter().map(of).sum() };
    m.view.is_near_sender() && sum(|round| round.ack_bursts) * 3 > sum(|round| round.acks)
}

/// Whether most loss events met a queue of half a minimum RTT beyond the capture point: it held what
/// a policer drops.
pub(crate) fn meets_queue(m: &Measures<'_>) -> bool {
    /// Hosts add less by themselves.
    const HOSTS: Duration = Duration::from_millis(4);
    let min = (m.base / 2).max(HOSTS);
    let list = &m.sender_view.episodes.list;
    let queued = list
        .iter()
        .filter(|episode| queue_met(m, episode) >= Some(min));
    queued.count() * 2 > list.len()
}

/// Whether four of five loss events, eight at least, met no queue beyond a capture point near the
/// sender that could hold three segments at the mean rate: few queues are that short. `None`
/// elsewhere, and where ACKs come in bunches. What hosts add to the RTT can only hide it.
pub(crate) fn meets_none(m: &Measures<'_>) -> Option<bool> {
    const MIN_EVENTS: usize = 8;
    if !m.view.is_near_sender() || has_bunched_acks(m) {
        return None;
    }
    let three = Duration::from_secs_f64(3.0 * m.mss() as f64 / m.mean_rate().max(1.0));
    let list = m.sender_view.episodes.list.iter();
    let met: Vec<Duration> = list.filter_map(|episode| queue_met(m, episode)).collect();
    let none = met.iter().filter(|queue| **queue < three).count();
    Some(none >= MIN_EVENTS && none * 5 >= met.len() * 4)
}

/// Longest queue beyond the capture point in the four rounds before a loss event.
fn queue_met(m: &Measures<'_>, episode: &RecoveryEpisode) -> Option<Duration> {
    let shortest = m.data().round_trips().min()?;
    let until = m.rounds.partition_point(|round| round.start <= episode.at);
    let before = &m.rounds[until.saturating_sub(4)..until];
    let longest = before.iter().map(|round| round.trip.most).max()?;
    Some(longest.saturating_sub(shortest))
}

fn of(m: &Measures<'_>, episode: &RecoveryEpisode) -> Option<usize> {
    let is_spurious = episode.is_mostly_spurious(needless(m, episode));
    // What arrives twice had its ACK lost, or its ACK had not come yet.
    let is_copy = m.view == CapturePoint::Receiver && episode.is_mostly_spurious(episode.needless);
    // A stack without SACK retransmits all behind a gap, of which duplicate ACKs had told.
    let is_unheard = (is_spurious || is_copy) && !was_reported(episode);
    let id = if is_unheard && follows_silence(m, episode) {
        // Its ACKs had passed here, or were lost beyond.
        if is_host_stalled(m, episode) {
            "application-limited"
        } else if recovers(m, episode) {
            "outage"
        } else {
            "ack-path"
        }
    } else if is_spurious && episode.timeouts == 0 && was_reported(episode) {
        "reordering-mistaken-for-loss"
    } else if has_stopped_reader(m, episode) {
        "rx-ring-overrun"
    } else if is_outage(m, episode) {
        "outage"
    } else {
        return None;
    };
    place(id)
}

/// Whether the losses are those of a receiving host whose application was not reading: its right
/// window edge stood while data was acknowledged, for half a minimum RTT and 5 ms (or 10 minimum
/// RTTs) at least, and the lost data begins or ends at that edge, or passes it soon
/// afterwards, or is all that was sent after the last ACK of a stall.
pub(crate) fn has_stopped_reader(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    // A host that lives takes a segment that comes alone, whatever its application does.
    if m.uses_sack() && repeats(m, episode) {
        return false;
    }
    let least = Duration::from_millis(5).min(m.base * 10).max(m.base / 2);
    let stood = |frozen: &Frozen| frozen.until.saturating_since(frozen.since);
    let is_long = |frozen: &Frozen| stood(frozen) >= least;
    let reaches = |frozen: &Frozen| {
        let end = episode.start + episode.row;
        let near = [episode.start, end];
        let is_exact = near
            .iter()
            .any(|byte| frozen.edge.abs_diff(*byte) <= 2 * m.mss());
        let is_recent = episode.at.saturating_since(frozen.until) <= m.base * 4;
        let is_within = is_recent && frozen.edge <= end + 2 * m.mss();
        // The whole flight after the last ACK of a long stall was lost, whatever its size.
        let is_next = episode.start == frozen.first_ack + frozen.acked;
        let is_whole = is_next && episode.row >= episode.flight && stood(frozen) >= m.base * 2;
        episode.start <= frozen.edge && (is_exact || is_within || is_whole)
    };
    // Without SACK the sender retransmits only the first of them, again and again.
    let duplicates: u64 = m.rounds.iter().map(|round| round.duplicates).sum();
    let is_stuck = |frozen: &Frozen| {
        let window = frozen.edge.saturating_sub(frozen.first_ack);
        let is_large = frozen.acked * 6 >= window;
        let is_again = episode.timeouts >= 2 && duplicates >= 3 && !m.uses_sack();
        episode.start <= frozen.edge && is_again && is_large
    };
    let frozen = episode.frozen.filter(is_long);
    let is_burst = frozen.is_some_and(|frozen| reaches(&frozen)) && episode.row >= 2 * m.mss();
    is_burst || frozen.is_some_and(|frozen| is_stuck(&frozen))
}

/// Whether nothing was in flight for 200 ms and two minimum RTTs before an episode, and no other
/// timeout explains that.
fn follows_silence(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    let until = m.rounds.partition_point(|round| round.start <= episode.at);
    let before = &m.rounds[until.saturating_sub(2)..until];
    let list = &m.sender_view.episodes.list;
    let earlier = list.partition_point(|earlier| earlier.at < episode.at);
    let last = list[..earlier]
        .last()
        .filter(|last| last.timeouts > 0)
        .map(|last| last.until);
    let idle = before
        .iter()
        .filter(|round| last.is_none_or(|last| round.start >= last))
        .map(|round| round.spent_in(State::Idle) + round.spent_in(State::Timeout));
    idle.max() >= Some((m.base * 2).max(Duration::from_millis(200)))
}

/// Whether the sending host did not run: what it retransmitted had been acknowledged near it, and its
/// timer expired no more than once, as it does again and again where ACKs are lost.
fn is_host_stalled(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    let is_answered = episode.is_mostly_spurious(episode.needless);
    m.view.is_near_sender() && is_answered && episode.timeouts <= 1
}

/// Whether a gap was reported before an episode: by duplicate ACKs or SACK, or by packets out of
/// order here. A sender that retransmits without that was not misled by the path.
const fn was_reported(episode: &RecoveryEpisode) -> bool {
    episode.late > 0 || episode.is_reported
}

/// Whether the connection went on after an episode, with ten segments or more.
fn recovers(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    let after = m.rounds.iter().filter(|round| round.start >= episode.until);
    after.map(|round| round.acked).sum::<u64>() >= 10 * m.mss()
}

/// Whether no segment of the largest size ever arrived, although they were retransmitted, or ICMP
/// says that they do not fit.
fn is_black_hole(m: &Measures<'_>) -> bool {
    let list = &m.sender_view.episodes.list;
    let Some(first) = list.first() else {
        return false;
    };
    let after = m.rounds.iter().filter(|round| round.end > first.at);
    let is_none_since = after.map(|round| round.acked_per_ack_max).max() < Some(m.mss());
    let is_told = m.ignored_mtu().is_some() && is_none_since;
    let is_none_full = m.sender_view.largest_acked < m.sender_view.mss && first.full_sized;
    let is_repeated = timeouts_in_row(m) >= 2;
    // A size that was found by trying smaller ones.
    let is_found = m.sender_view.has_resent_part && recovers(m, first);
    let is_explained = fits(m) || is_found || list.iter().all(|episode| episode.full_sized);
    is_told || is_none_full && is_repeated && is_explained && !is_peer_unanswered(m)
}

/// Whether the peer repeats its own data and acknowledges none of ours: the ACKs, which are small,
/// do not arrive either.
pub(crate) fn is_peer_unanswered(m: &Measures<'_>) -> bool {
    m.rounds.iter().all(|round| round.acked == 0) && m.receiver().retransmitted_segments() >= 2
}

/// Whether smaller segments than the largest were sent and arrived: the sender found a size that
/// fits (RFC 4821), and losses of that size have another cause.
fn fits(m: &Measures<'_>) -> bool {
    m.mss() < m.sender_view.mss && m.sender_view.largest_acked > 0
}

/// Longest run of timeouts for the same byte.
pub(crate) fn timeouts_in_row(m: &Measures<'_>) -> usize {
    longest_run(&m.sender_view.episodes.expiries)
}

fn longest_run(expiries: &[Expiry]) -> usize {
    let mut longest = expiries.len().min(1);
    let mut run = 1;
    for pair in expiries.windows(2) {
        let is_same = pair[0].start == pair[1].start;
        run = if is_same { run + 1 } else { 1 };
        longest = longest.max(run);
    }
    longest
}

/// Whether timeouts within an episode repeat for the same byte: retransmissions were lost too.
fn repeats(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    let expiries = &m.sender_view.episodes.expiries;
    let from = expiries.partition_point(|expiry| expiry.at < episode.at);
    let until = expiries.partition_point(|expiry| expiry.at <= episode.until);
    longest_run(&expiries[from..until.max(from)]) >= 2
}

/// Whether the whole flight was lost at once, and nothing came back until it was retransmitted. A
/// full queue or a policer passes a part of it, and ACKs report that. Or several timeouts without an
/// answer took most of a second or more, and then the connection went on.
fn is_outage(m: &Measures<'_>, episode: &RecoveryEpisode) -> bool {
    /// Minimum flight, segments: fewer may be the end of a burst.
    const MIN_FLIGHT: u64 = 8;
    /// Minimum number of timeouts without an answer, to the end.
    const MIN_UNANSWERED: u64 = 3;
    let length = episode.until.saturating_since(episode.at);
    let expiries = m.sender_view.episodes.expiries.iter();
    let waits = expiries.filter(|expiry| (episode.at..=episode.until).contains(&expiry.at));
    let silent = waits.fold(Duration::ZERO, |sum, expiry| sum + expiry.waited);
    let is_quiet = silent * 2 >= length;
    let is_whole = episode.row * 10 >= episode.flight * 9 && !episode.is_reported;
    let is_silent = (episode.timeouts > 0 && is_quiet) || follows_silence(m, episode);
    // What a full queue drops of a burst is its tail, and the first retransmission of it arrives.
    let is_full = |queue: Duration| queue >= m.queue_step && queue * 2 >= m.queue_max;
    let is_tail = episode.timeouts == 1 && queue_met(m, episode).is_some_and(is_full);
    let is_lost = is_whole && episode.flight >= MIN_FLIGHT * m.mss() && is_silent && !is_tail;
    let is_long = episode.timeouts >= 2 && length >= Duration::from_secs(1) && is_quiet;
    // Or the path, or the peer, is gone for good: then the capture ends with it.
    let is_unanswered = episode.timeouts >= MIN_UNANSWERED && !episode.is_reported;
    let ends = || recovers(m, episode) || is_unanswered && !is_black_hole(m);
    is_lost && !episode.is_repeated() || is_long && ends()
}
