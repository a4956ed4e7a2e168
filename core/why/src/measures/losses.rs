//! Measures of each recovery episode, and of the pattern of all of them.
//!
//! A queue that overflows was long just before: the RTT and the flight had grown to their usual
//! maximum. Random loss depends on neither. A receive ring that overruns loses many consecutive
//! segments while the application is not reading. A packet that was only reordered arrives later.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::crowding::crowding;
use super::loss_burst;
use super::{Measures, quartile, ratio};
use crate::CapturePoint;
use crate::episode::RecoveryEpisode;
use crate::round::{Round, State};
use crate::sender_view::{Gap, SenderView};

/// Whether most of what was lost had passed here, at the receiver: its host dropped it.
pub(crate) fn were_dropped_by_receiver(m: &Measures<'_>) -> bool {
    if m.view != CapturePoint::Receiver {
        return false;
    }
    let data = m.data();
    let passed_again = (data.bytes() - data.unique_bytes()) / m.mss().max(1);
    let list = m.sender_view.episodes.list.iter();
    let (again, arrived) = list.fold((0, 0), |(again, arrived), episode| {
        let needless = needless(m, episode).max(episode.needless);
        (again + episode.again, arrived + needless)
    });
    let passed = passed_again.saturating_sub(arrived);
    passed > 0 && passed * 2 >= again.saturating_sub(arrived)
}

/// Measures of one recovery episode. Fractions are from 0 to 1.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LossMeasures {
    /// RTT above minimum before it, as a fraction of the largest one.
    pub queue_of_max: Option<f64>,
    /// RTT above minimum before it, in minimum RTTs.
    pub queue_of_base: Option<f64>,
    /// Flight when it began, over the capacity of the bottleneck and its queue.
    pub fill: Option<f64>,
    /// Whether the gap took no time after the bottleneck: the missing data never passed it.
    pub is_tight: Option<bool>,
    /// Whether the gap took any time.
    pub is_loose: Option<bool>,
    /// Whether the end of a burst is missing.
    pub ends_burst: bool,
    /// Retransmissions as a fraction of the segments in flight.
    pub share: f64,
    /// Spurious fraction of the retransmissions.
    pub spurious: f64,
    /// Stall of the right window edge before it, in minimum RTTs.
    pub frozen: f64,
    /// Whether the lost segments end at a stalled edge.
    pub at_edge: bool,
    /// Longest run of consecutive lost segments.
    pub row: f64,
    /// Whether recovery did not finish before the capture ended.
    pub never_repaired: bool,
    /// Duration, in minimum RTTs.
    pub length: f64,
    /// Retransmission timeouts in it.
    pub timeouts: f64,
}

/// Measures of the recovery episodes together.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LossPattern {
    /// Lower over upper quartile of the flights at losses.
    pub evenness: Option<f64>,
    /// Variation of the delivery rate from loss to loss.
    pub rate_variation: Option<f64>,
    /// Variation of the amount delivered from loss to loss.
    pub amount_variation: Option<f64>,
    /// Share of the loss events with several segments.
    pub rows: f64,
    /// Share of the episodes that began with a queue near its maximum.
    pub queued: f64,
    /// Fraction of the gaps that took no time.
    pub tight: Option<f64>,
    /// Fraction of the gaps that took some time.
    pub loose: Option<f64>,
    /// Median of [`LossMeasures::fill`].
    pub fill: Option<f64>,
    /// Lower quartile of it. An element that drops only while packets wait finds the bottleneck
    /// busy.
    pub fill_low: Option<f64>,
    /// Lower over upper quartile of [`LossMeasures::queue_of_base`]: a full queue has the same
    /// length each time.
    pub queue_even: Option<f64>,
    /// Lower quartile of [`LossMeasures::queue_of_max`].
    pub queue_low: Option<f64>,
    /// Log likelihood ratio of losses that come when the queue is longer than around.
    pub crowding: Option<f64>,
    /// Fraction of the first loss burst that was delivered.
    pub burst_passed: Option<f64>,
    /// Episodes after the first.
    pub later: usize,
    /// Retransmissions per segment sent.
    pub loss_rate: f64,
    /// Timeouts per episode.
    pub timeouts: f64,
    /// Spurious retransmissions per retransmission.
    pub spurious: f64,
    /// Variation of the time between losses: 1 for losses at random.
    pub interval_variation: Option<f64>,
    /// Median queue before losses, in minimum RTTs, if cross traffic fills it too.
    pub shared_queue: Option<f64>,
}

/// Minimum fraction of the maximum for a queue near its maximum.
const LONG: f64 = 0.55;

impl LossMeasures {
    pub fn of(m: &Measures<'_>, one: &RecoveryEpisode) -> Self {
        let queue = m.queue_before(one);
        debug_assert!(
            queue.is_none_or(|queue| queue <= m.queue_max),
            "no queue is longer than the longest: {queue:?} <= {:?}",
            m.queue_max
        );
        let base = m.base.as_secs_f64().max(1e-9);
        let seen = m.queue_max >= m.base / 25;
        let again = one.again.max(1) as f64;
        let frozen = one.frozen.map(|frozen| {
            let stood = frozen.until.saturating_since(frozen.since);
            (stood.as_secs_f64() / base, one.start <= frozen.edge)
        });
        Self {
            queue_of_max: queue
                .filter(|_| seen)
                .map(|queue| ratio(queue.as_secs_f64(), m.queue_max.as_secs_f64())),
            queue_of_base: queue.map(|queue| queue.as_secs_f64() / base),
            fill: m.fill(one),
            is_tight: m.is_tight(one),
            is_loose: m.is_loose(one),
            ends_burst: m.ends_burst(one),
            share: again * m.mss() as f64 / (one.flight.max(m.mss())) as f64,
            spurious: (needless(m, one) as f64 / again).min(1.0),
            frozen: frozen.map_or(0.0, |(stood, _)| stood),
            at_edge: frozen.is_some_and(|(_, near)| near),
            row: (one.row / m.mss()) as f64,
            never_repaired: one.until >= m.sender_view.last,
            length: one.until.saturating_since(one.at).as_secs_f64() / base,
            timeouts: one.timeouts as f64,
        }
    }
}

impl LossPattern {
    pub fn of(m: &Measures<'_>) -> Self {
        let list = &m.sender_view.episodes.list;
        // The first loss ends slow start, which overshoots: it is not typical of others.
        let later = list.get(1..).unwrap_or_default();
        let events = loss_events(m, later);
        let of = |pick: &dyn Fn(&LossMeasures) -> Option<f64>| -> Vec<f64> {
            let later = m.losses.get(1..).unwrap_or_default();
            later.iter().filter_map(pick).collect()
        };
        let share = |pick: fn(&LossMeasures) -> Option<bool>| {
            let known = of(&|loss| pick(loss).map(|is| f64::from(u8::from(is))));
            (known.len() >= 2).then(|| known.iter().sum::<f64>() / known.len() as f64)
        };
        let sent: u64 = m.rounds.iter().map(|round| round.sent).sum();
        let again: u64 = m.rounds.iter().map(|round| round.again).sum();
        let timeouts: u64 = list.iter().map(|episode| episode.timeouts).sum();
        let spurious: f64 = list.iter().map(|episode| needless(m, episode) as f64).sum();
        let queues = m.losses.iter().filter_map(|loss| loss.queue_of_max);
        let queued = queues.filter(|part| *part >= LONG).count();
        let flights = events.iter().map(|event| event.first.flight as f64);
        let (rate_variation, amount_variation) = rhythm(&events);
        Self {
            evenness: evenness(flights.collect()),
            rate_variation,
            amount_variation,
            rows: ratio(
                events.iter().filter(|event| event.again >= 2).count() as f64,
                events.len() as f64,
            ),
            queued: ratio(queued as f64, list.len() as f64),
            tight: share(|loss| loss.is_tight),
            loose: share(|loss| loss.is_loose),
            fill: quartile(of(&|loss| loss.fill), 2),
            fill_low: quartile(of(&|loss| loss.fill), 1),
            queue_even: evenness(of(&|loss| loss.queue_of_base)),
            queue_low: quartile(of(&|loss| loss.queue_of_max), 1),
            crowding: crowding(m),
            burst_passed: list
                .first()
                .and_then(|episode| loss_burst::passed(m, episode)),
            later: later.len(),
            loss_rate: again as f64 * m.mss() as f64 / (sent.max(m.mss())) as f64,
            timeouts: ratio(timeouts as f64, list.len() as f64),
            spurious: ratio(spurious, again as f64).min(1.0),
            interval_variation: intervals(&events),
            shared_queue: shared_queue(m, later),
        }
    }
}

/// Queue before losses if cross traffic fills it, in minimum RTTs. It is about as long at each
/// loss, and the flight alone would not have filled the bottleneck.
fn shared_queue(m: &Measures<'_>, later: &[RecoveryEpisode]) -> Option<f64> {
    if !m.view.is_near_sender() || later.len() < 2 {
        return None;
    }
    let queues = later.iter().filter_map(|episode| m.queue_before(episode));
    let queues: Vec<f64> = queues.map(|queue| queue.as_secs_f64()).collect();
    let low = quartile(queues.clone(), 1)?;
    let high = quartile(queues.clone(), 3)?;
    let is_ours = |one: &&RecoveryEpisode| m.fill(one).is_none_or(|fill| fill >= 0.92);
    let is_shared = later.iter().filter(is_ours).count() * 4 <= later.len();
    let is_same = low >= high * 0.75;
    (is_shared && is_same)
        .then(|| quartile(queues, 2).unwrap_or(0.0) / m.base.as_secs_f64().max(1e-9))
}

/// Spurious retransmissions of an episode. They are known from D-SACK, timestamps, an ACK that came
/// too soon, or from the packets that passed near the receiver.
pub(crate) fn needless(m: &Measures<'_>, one: &RecoveryEpisode) -> u64 {
    let proven = one.spurious.max(one.overtaken).max(one.early);
    // Lost ACKs and timers cause spurious retransmissions as well.
    let mut list = m.sender_view.episodes.list.iter();
    let is_reordered = list.any(|episode| episode.overtaken > 0);
    if m.view == CapturePoint::Receiver && is_reordered && one.timeouts == 0 {
        proven.max(one.needless)
    } else {
        proven
    }
}

/// Whether an episode changed nothing: most of its retransmissions were spurious, as much was in
/// flight until the next one as before, and in several rounds without a loss too, so something else
/// holds the flight at that level. Rounds that were merged hide a smaller flight, and show nothing.
pub(crate) fn is_harmless(m: &Measures<'_>, index: usize) -> bool {
    /// Rounds without growth or loss that show a flight which something holds.
    const MIN_ROUNDS: usize = 4;
    let list = &m.sender_view.episodes.list;
    let episode = &list[index];
    let is_spurious = episode.timeouts == 0 && needless(m, episode) * 2 > episode.again;
    if !is_spurious {
        return false;
    }
    let next = list.get(index + 1);
    let later = m
        .rounds
        .partition_point(|round| round.start < episode.until);
    let is_before_next = |round: &&Round| next.is_none_or(|next| round.end <= next.at);
    let between = || m.rounds[later..].iter().take_while(is_before_next);
    let is_kept = between()
        .map(|round| round.flight)
        .chain(next.map(|next| next.flight))
        .min()
        .is_some_and(|flight| flight * 10 >= episode.flight * 9);
    let is_level = |round: &Round| {
        let is_clean = round.count == 1 && round.again == 0;
        is_clean && (episode.flight * 9..=episode.flight * 11).contains(&(round.flight * 10))
    };
    let is_held = || {
        m.rounds
            .windows(MIN_ROUNDS)
            .any(|near| near.iter().all(is_level))
    };
    is_kept && between().all(|round| round.count == 1) && is_held()
}

/// Time in which a window grows back to the flight before a loss event, at most: half of it at half
/// a segment per RTT (RFC 5681 section 3.1, with delayed ACKs), twice that for controls that grow
/// more slowly, and ten RTTs; or CUBIC's K if that is longer (RFC 9438 section 4.2).
pub(crate) fn regrowth(m: &Measures<'_>, episode: &RecoveryEpisode) -> Duration {
    let segments = episode.flight.div_ceil(m.sender_view.mss.max(1));
    let linear = (m.base + m.queue_max) * (2 * segments + 10);
    let cubic = libm::cbrt(segments as f64 * 0.3 / 0.4);
    linear.max(Duration::from_secs_f64(cubic))
}

/// When the recovery from the only loss event ended, if it lost three segments at most and the sender
/// then went on without a loss for 30 RTTs at least: what limits since is how slowly the window
/// grows. A queue that is too short takes more from a window that doubles.
pub(crate) fn lone_event(m: &Measures<'_>, harmful: &[usize]) -> Option<Instant> {
    const MIN_TRIPS: u64 = 30;
    const MAX_LOST: u64 = 3;
    let list = &m.sender_view.episodes.list;
    let (first, last) = (&list[*harmful.first()?], &list[*harmful.last()?]);
    let is_one = last.start < first.start + first.flight || last.at <= first.until + m.base * 2;
    let after = (m.start + m.duration).saturating_since(last.until);
    let lost: u64 = harmful.iter().map(|index| list[*index].again).sum();
    let is_lone = is_one && lost <= MAX_LOST;
    (is_lone && after >= (m.base + m.queue_max) * MIN_TRIPS).then_some(last.until)
}

/// Losses of data that was in flight together.
struct LossEvent<'a> {
    first: &'a RecoveryEpisode,
    again: u64,
}

fn loss_events<'a>(m: &Measures<'_>, episodes: &'a [RecoveryEpisode]) -> Vec<LossEvent<'a>> {
    let mut events: Vec<LossEvent<'_>> = Vec::new();
    for one in episodes {
        let is_another = |last: &RecoveryEpisode| {
            one.start >= last.start + last.flight && one.at.saturating_since(last.at) >= m.base * 2
        };
        match events.last_mut() {
            Some(last) if !is_another(last.first) => last.again += one.again,
            _ => events.push(LossEvent {
                first: one,
                again: one.again,
            }),
        }
    }
    events
}

/// Lower over upper quartile, of two samples or more.
fn evenness(samples: Vec<f64>) -> Option<f64> {
    if samples.len() < 2 {
        return None;
    }
    let (low, high) = (quartile(samples.clone(), 1)?, quartile(samples, 3)?);
    Some(ratio(low, high))
}

/// Variation of the rate and of the amount from loss to loss. With a sender that repeatedly meets a
/// limit, both hardly vary.
fn rhythm(events: &[LossEvent<'_>]) -> (Option<f64>, Option<f64>) {
    let between = |pair: &[LossEvent<'_>]| {
        let (a, b) = (pair[0].first, pair[1].first);
        let bytes = b.start.saturating_sub(a.start) as f64;
        let time = b.at.saturating_since(a.at).as_secs_f64();
        (bytes, bytes / time.max(1e-9))
    };
    let pairs = || events.windows(2).map(between);
    (
        variation(pairs().map(|(_, rate)| rate)),
        variation(pairs().map(|(amount, _)| amount)),
    )
}

fn intervals(events: &[LossEvent<'_>]) -> Option<f64> {
    let gap = |pair: &[LossEvent<'_>]| {
        let gap = pair[1].first.at.saturating_since(pair[0].first.at);
        gap.as_secs_f64()
    };
    let enough = events.len() >= 5;
    variation(events.windows(2).map(gap)).filter(|_| enough)
}

/// Standard deviation over mean, of two samples or more.
fn variation(samples: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for sample in samples {
        count += 1.0;
        sum += sample;
        squares += sample * sample;
    }
    if count < 2.0 || sum <= 0.0 {
        return None;
    }
    let mean = sum / count;
    let variance = (squares / count - mean * mean).max(0.0);
    Some(libm::sqrt(variance) / mean)
}

impl Measures<'_> {
    /// Flight when an episode began, over bottleneck and queue capacity.
    pub fn fill(&self, episode: &RecoveryEpisode) -> Option<f64> {
        let trip = self.base + self.queue_before(episode).unwrap_or_default();
        let rate = super::per_second(episode.flight, trip);
        self.line.map(|line| ratio(rate, line))
    }

    fn is_tight(&self, episode: &RecoveryEpisode) -> Option<bool> {
        let (sender_view, gap) = self.gap(episode)?;
        took_no_time(sender_view, gap, self.mss(), self.base)
    }

    fn is_loose(&self, episode: &RecoveryEpisode) -> Option<bool> {
        let (sender_view, gap) = self.gap(episode)?;
        let is_close = sender_view.data_spacing.is_close(gap.octets, gap.wait);
        (gap.wait * 2 <= self.base).then_some(!is_close)
    }

    fn ends_burst(&self, episode: &RecoveryEpisode) -> bool {
        self.gap(episode)
            .is_some_and(|(_, gap)| gap.wait * 2 > self.base)
    }

    fn gap(&self, episode: &RecoveryEpisode) -> Option<(&SenderView, &Gap)> {
        let sender_view = self.pair.map_or(self.sender_view, |pair| pair.sender_view);
        let next = sender_view
            .gaps
            .partition_point(|gap| gap.end <= episode.start);
        let after = sender_view.gaps.get(next)?;
        (after.start <= episode.start).then_some((sender_view, after))
    }

    /// Growth of cwnd around this round, in segments per RTT. Only if it grows as in congestion
    /// avoidance after a loss (RFC 5681 section 3.1).
    pub fn avoidance_growth(&self, index: usize) -> Option<f64> {
        /// Number of rounds considered on either side, and minimum number of growing steps.
        const AROUND: usize = 8;
        const MIN_STEPS: usize = 6;
        let episode = self.after[index];
        let is_same = |other: &usize| {
            let round = &self.rounds[*other];
            self.after[*other] == episode
                && round.again == 0
                && round.spent_in(State::Idle).is_zero()
        };
        let before = (index.saturating_sub(AROUND)..index).rev();
        let since = index..(index + AROUND + 1).min(self.rounds.len());
        let first = before.take_while(is_same).last().unwrap_or(index);
        let last = since.take_while(is_same).last().unwrap_or(index);
        let near = &self.rounds[first..=last];
        let steps = near.len() - 1;
        let up = near
            .windows(2)
            .filter(|pair| pair[1].flight > pair[0].flight)
            .count();
        let trips: u64 = near.iter().map(|round| round.count).sum();
        let grown = near[steps].flight.saturating_sub(near[0].flight) as f64;
        let is_shown = steps >= MIN_STEPS;
        let each = grown / self.mss() as f64 / trips.saturating_sub(1).max(1) as f64;
        is_shown.then(|| if up * 4 >= steps * 3 { each } else { 0.0 })
    }
}

/// Whether a gap took no time. False if it took exactly the time of the missing data, or the link
/// had been idle before it.
fn took_no_time(sender_view: &SenderView, gap: &Gap, mss: u64, base: Duration) -> Option<bool> {
    let spacing = &sender_view.data_spacing;
    if spacing.is_close(gap.octets, gap.wait) {
        return Some(true);
    }
    let missing = (gap.end - gap.start).div_ceil(mss.max(1)) as f64;
    let places = spacing.places(gap.octets, gap.wait);
    let is_exact = (places - missing - 1.0).abs() <= 0.25 + missing / 16.0;
    let was_idle = gap.train <= 2 * mss && gap.wait * 2 <= base;
    (is_exact || was_idle).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_full_queue_has_the_same_length_at_each_loss_and_a_managed_one_has_not() {
        let even = |queues: &[f64]| evenness(queues.to_vec()).unwrap_or_default();
        assert!(even(&[1.0, 0.97, 1.0, 0.98]) > 0.95);
        assert!(even(&[0.1, 0.4, 0.2, 0.9]) < 0.5);
        assert_eq!(evenness(vec![1.0]), None);
    }
}
