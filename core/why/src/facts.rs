//! Facts of a connection in a capture, as values with units: the conditions of causes test them.
//!
//! A fact is measured or counted, never fitted. `conditions.rs` states for which cause it speaks,
//! `causes/` which causes need it.

use alloc::vec::Vec;

use gigatcp_flows::{Scaling, Side};
use gigatcp_units::{Duration, Instant};

use crate::causes::CAUSES;
use crate::conditions::{closes, is_dead};
use crate::features::hides_loss;
use crate::measures::losses::needless;
use crate::measures::{Measures, per_second, ratio};
use crate::next_limit::window_rate;
use crate::outcome::trailing_idle;
use crate::round::{Round, State};
use crate::score::is_allowed;
use crate::sender_view::acked_to;
use crate::trigger;

/// Minimum number of data packets from which a limit can be inferred.
pub const MIN_DATA_PACKETS: u64 = 10;

/// Facts of one direction of a connection.
pub(crate) struct Facts<'a, 'b> {
    pub m: &'b Measures<'a>,
    /// Packets with data of the sender, without duplicates of the capture.
    pub data_packets: u64,
    /// Retransmitted segments.
    pub retransmitted: u64,
    /// Retransmitted segments whose originals had arrived, by D-SACK, timestamps, the originals
    /// themselves, or a second capture.
    pub spurious: u64,
    /// Loss events: recovery episodes that do not belong to the one before.
    pub loss_events: usize,
    /// Largest advertised window in bytes; `None` if the window scale is unknown.
    pub window_max: Option<u64>,
    /// Bytes acknowledged.
    pub delivered: u64,
    /// Fraction of the rounds with a mean queue of a thirty-second of the RTT and 1 ms.
    pub queued: f64,
    /// Whether others share the bottleneck: see [`has_others`].
    pub has_others: bool,
    /// Time in which data was in flight and nothing came back: that of retransmission timers, and
    /// away from the sender that of silences that hide losses.
    pub silence: Duration,
    /// Time in which nothing came back although data was in flight.
    pub held_in_flight: Duration,
    /// Fraction of the time with a full window in which the receiver held it back.
    pub closing: f64,
    /// Fraction of an exchange in which a rest waited for a delayed ACK.
    pub held: f64,
    /// Whether RTTs took two thirds of a dialog of at least two requests.
    pub is_trips: bool,
    /// Whether ACKs ended 4 of 5 of at least 10 pauses, without a dialog of requests.
    pub acks_release: bool,
    /// Whether the peer's data released the sender's: see [`answers_release`].
    pub answers_release: bool,
    /// Whether no ACK ended 4 of 5 of at least 10 pauses, and all written data had been sent for two
    /// fifths of the time.
    pub writes_release: bool,
    /// Whether it was as fast as slow start is, to its end.
    pub is_slow_start: bool,
    /// Whether the capture ends before it was slower than slow start.
    pub is_cut_early: bool,
    /// Whether the capture ends within two RTTs of the first data, with more in flight, after a
    /// handshake without a lost SYN.
    pub has_just_begun: bool,
    /// Bytes of less than a full segment acknowledged at any time.
    pub small_acked: bool,
    /// Maximum time of a first retransmission timeout, without two RTTs.
    pub first_timeout: Duration,
    /// Timeouts of the same byte in a row, at most.
    pub timeouts_in_row: usize,
    /// When a burst of losses at the edge of the window was seen that nothing filled.
    pub lost_at_edge: Option<Instant>,
    /// Trigger of each recovery episode, where facts decide: index of the cause.
    pub triggers: Vec<Option<usize>>,
    /// Standing queue of each round: the smallest RTT of it above the minimum of the path.
    standing: Vec<Option<Duration>>,
}

impl<'a, 'b> Facts<'a, 'b> {
    pub fn of(m: &'b Measures<'a>) -> Self {
        let data = m.data();
        let delivered = m.rounds.iter().map(|round| round.acked).sum();
        let view = m.sender_view;
        let is_below = |round: &Round| round.acked > 0 && round.acked < m.mss();
        let fits = view.largest_acked > 0 && view.largest_acked < view.mss;
        let small_acked = fits || m.rounds.iter().any(is_below);
        let data_packets = data
            .data_packets()
            .saturating_sub(crate::features::captured_twice(m));
        let (is_slow_start, is_cut) = (is_slow_start(m, delivered), is_cut(m));
        let mut facts = Self {
            m,
            data_packets,
            retransmitted: data.retransmitted_segments(),
            spurious: spurious(m),
            loss_events: loss_events(m),
            window_max: m
                .receiver()
                .windows()
                .filter(|_| m.knows_windows())
                .map(|windows| windows.most),
            delivered,
            queued: queued(m),
            has_others: has_others(m),
            silence: silence(m),
            held_in_flight: held_in_flight(m),
            closing: closing(m),
            held: held(m),
            is_trips: m.exchange.exchanges() >= 2
                && m.exchange.trips() * 3 >= m.exchange.elapsed() * 2,
            acks_release: acks_release(m),
            answers_release: answers_release(m),
            writes_release: writes_release(m),
            is_slow_start: is_slow_start && !is_cut,
            is_cut_early: is_slow_start && is_cut,
            has_just_begun: is_cut && has_just_begun(m),
            small_acked,
            first_timeout: first_timeout(m),
            timeouts_in_row: trigger::timeouts_in_row(m),
            lost_at_edge: trigger::lost_at_edge(m),
            triggers: trigger::all(m),
            standing: (0..m.rounds.len())
                .map(|index| standing(m, index))
                .collect(),
        };
        facts.drop_excluded_triggers();
        facts
    }

    /// Leaves those losses open whose trigger a condition of its own excludes.
    fn drop_excluded_triggers(&mut self) {
        for (index, cause) in CAUSES.iter().enumerate() {
            let is_used = self.triggers.contains(&Some(index));
            if is_used && !is_allowed(cause, self) {
                for trigger in &mut self.triggers {
                    *trigger = trigger.filter(|trigger| *trigger != index);
                }
            }
        }
    }

    /// Whether the flow can have made the queue that its packets waited in: more in flight, a
    /// longer queue. A full window is as slow behind the queue of others.
    pub fn has_own_queue(&self) -> bool {
        let Some(line) = self.m.line.filter(|line| self.m.peak * 2.0 < *line) else {
            return true;
        };
        let (mut own, mut others, mut windowed) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        for (index, round) in self.m.rounds.iter().enumerate() {
            let Some(standing) = self.standing[index].filter(|wait| *wait >= self.m.queue_step)
            else {
                continue;
            };
            let is_own = standing.as_secs_f64() * line <= 2.0 * round.flight as f64;
            *(if is_own { &mut own } else { &mut others }) += round.length();
            let moment = Moment {
                facts: self,
                index,
                state: State::Full,
            };
            if moment.fill() >= Some(0.8) {
                windowed += round.length();
            }
        }
        own >= others || windowed * 2 < own + others || window_rate(self.m).is_none()
    }

    /// Whether queues show at the capture point, or one beyond it did for most of the time.
    pub fn sees_queues(&self) -> bool {
        let rounds = self.m.rounds.iter().zip(&self.standing);
        let queued = rounds
            .filter(|(_, standing)| standing.is_some())
            .fold(Duration::ZERO, |sum, (round, _)| sum + round.length());
        self.m.sees_queues() || queued * 2 >= self.m.duration
    }

    /// Whether waits of small rests for ACKs took enough of an exchange to be its cause.
    pub fn waits_for_acks(&self) -> bool {
        self.held >= 0.3
    }

    /// Whether the window can have been kept small by missing window scaling.
    pub fn is_unscaled(&self) -> bool {
        /// A window below this was not kept small by missing scaling.
        const HALF: u64 = 32_768;
        self.scales() == Some(false) && self.window_max >= Some(HALF)
    }

    /// Whether window scaling was negotiated; `None` without both SYNs.
    pub fn scales(&self) -> Option<bool> {
        match self.m.connection.scaling() {
            Scaling::Used => Some(true),
            Scaling::Unused => Some(false),
            Scaling::Unknown => None,
        }
    }
}

/// A round of a connection, and the state of its sender in it.
pub(crate) struct Moment<'a, 'b, 'c> {
    pub facts: &'c Facts<'a, 'b>,
    pub index: usize,
    pub state: State,
}

impl<'a> Moment<'a, '_, '_> {
    pub fn m(&self) -> &Measures<'a> {
        self.facts.m
    }

    pub fn round(&self) -> &Round {
        &self.m().rounds[self.index]
    }

    /// Trigger of the last loss event before the end of the round, where facts decide.
    pub fn trigger(&self) -> Option<usize> {
        self.m().after[self.index].and_then(|episode| self.facts.triggers[episode])
    }

    /// Fraction of the round with a zero window.
    pub fn zero_share(&self) -> f64 {
        let round = self.round();
        ratio(round.zero_time.as_secs_f64(), round.length().as_secs_f64())
    }

    /// Flight over the smallest window above zero; `None` if windows are not known in bytes.
    pub fn fill(&self) -> Option<f64> {
        let m = self.m();
        let mut before = m.rounds[..=self.index].iter().rev().take(16);
        let (least, most) = before
            .find_map(|round| round.window)
            .filter(|_| m.knows_windows())?;
        let window = if least > 0 { least } else { most };
        (window > 0).then(|| ratio(self.round().flight as f64, window as f64))
    }

    /// Whether its packets waited twice as long as the flight takes at the best rate of the
    /// connection, for a longer path or behind the packets of others: the link has not become slower,
    /// since packets or ACKs still follow each other at one and a half times the rate.
    pub fn waits_beyond_flight(&self) -> bool {
        let (m, round) = (self.m(), self.round());
        let standing = self.facts.standing[self.index].unwrap_or_default();
        let trains = [
            (round.train_octets, round.train_time),
            (round.ack_train_octets, round.ack_train_time),
        ];
        let is_faster = |(octets, time): (u64, Duration)| {
            per_second(octets, time) >= 1.5 * m.near_rate(self.index)
        };
        standing.as_secs_f64() * m.peak > 2.0 * round.flight as f64
            && trains.into_iter().any(is_faster)
    }

    /// Whether the bottleneck was busy for the whole round. `None` if RTTs cannot be measured here.
    ///
    /// Even the shortest RTT of the round was above the minimum by a quarter, by three segments at
    /// the rate of the round, and by 200 us, which hosts add by themselves. A burst delays its own
    /// end too, and leaves the link idle afterwards: so the bottleneck delivered 60 % of its rate,
    /// or the delay is longer than the flight takes at that rate, or 100 ms. At 90 % of its rate a
    /// thirty-second of the RTT and 500 us are enough, if timestamps show that data waited. So is a mean RTT of twice the minimum, 20 ms
    /// above it at least, at the highest rate.
    pub fn has_standing_queue(&self) -> Option<bool> {
        const HOSTS: Duration = Duration::from_micros(200);
        const SHORT: Duration = Duration::from_micros(500);
        const LONG: Duration = Duration::from_millis(100);
        const MEAN: Duration = Duration::from_millis(20);
        let m = self.m();
        // Away from the sender only the handshake shows the turnaround.
        if !m.view.is_near_sender() && !m.sender_view.had_handshake {
            return None;
        }
        let standing = self.facts.standing[self.index]?;
        let rate = m.near_rate(self.index).max(1.0);
        let three = Duration::from_secs_f64((3 * m.mss()) as f64 / rate);
        let is_queue = standing >= (m.base / 4).max(three).max(HOSTS);
        let flight = self.round().flight as f64;
        let is_busy = m.line.is_none_or(|line| {
            rate >= 0.6 * line || standing.as_secs_f64() > 1.5 * ratio(flight, line)
        });
        let is_full = m.line.is_some_and(|line| rate >= 0.9 * line);
        let is_short = standing >= (m.base / 32).max(SHORT) && m.data_delay(self.index).is_some();
        // A link that serves in slots delivers some packets of each round at once.
        let is_long = m.queue(self.index) >= Some(m.base.max(MEAN)) && rate >= 0.8 * m.peak;
        Some(is_queue && (is_busy || standing >= LONG) || is_full && is_short || is_long)
    }
}

/// Retransmissions that were not needed.
fn spurious(m: &Measures<'_>) -> u64 {
    let list = &m.sender_view.episodes.list;
    let seen: u64 = list.iter().map(|episode| needless(m, episode)).sum();
    seen.max(m.data().spurious_segments())
}

/// Fraction of the time with a full window in rounds in which the receiver held it back.
fn closing(m: &Measures<'_>) -> f64 {
    let spent = |index: usize| m.rounds[index].spent_in(State::Window).as_secs_f64();
    let all = 0..m.rounds.len();
    let closed: f64 = all
        .clone()
        .filter(|index| closes(m, *index))
        .map(spent)
        .sum();
    ratio(closed, all.map(spent).sum())
}

/// Fraction of the rounds with a queue, of those with RTTs.
fn queued(m: &Measures<'_>) -> f64 {
    let least = (m.base / 32).max(Duration::from_millis(1));
    let queues = || (0..m.rounds.len()).filter_map(|index| m.queue(index));
    ratio(
        queues().filter(|queue| *queue >= least).count() as f64,
        queues().count() as f64,
    )
}

/// Part of the time of an exchange in which a small rest waited for an ACK; 0 if an end thought for
/// longer.
fn held(m: &Measures<'_>) -> f64 {
    let [client, server] = Side::BOTH.map(|side| m.exchange.turns(side));
    let (held, think) = (
        client.held + server.held,
        client.sure_think + server.sure_think,
    );
    if m.exchange.exchanges() < 2 || held < think {
        return 0.0;
    }
    debug_assert!(
        held <= m.exchange.elapsed(),
        "small rests wait while the exchange goes on: {held} of {}",
        m.exchange.elapsed()
    );
    ratio(held.as_secs_f64(), m.exchange.elapsed().as_secs_f64())
}

/// Time in which data was in flight and nothing came back.
fn held_in_flight(m: &Measures<'_>) -> Duration {
    let all = m.rounds.iter().map(|round| round.held);
    all.fold(Duration::ZERO, |sum, held| sum + held)
}

/// Time in which the sender waited for what had been lost or had not come back.
fn silence(m: &Measures<'_>) -> Duration {
    let is_hidden = |index: &usize| !m.view.is_near_sender() && hides_loss(m, *index);
    let hidden = (0..m.rounds.len())
        .filter(is_hidden)
        .map(|index| m.rounds[index].spent_in(State::Idle));
    let dead = (0..m.rounds.len())
        .filter(|index| is_dead(m, *index))
        .map(|index| m.rounds[index].spent_in(State::Recovery));
    hidden
        .chain(dead)
        .fold(m.spent(State::Timeout), |sum, silent| sum + silent)
}

/// Whether ACKs ended most pauses of the sender.
pub(crate) fn writes_release(m: &Measures<'_>) -> bool {
    let (free, released) = starts(m);
    let sum = |of: fn(&Round) -> Duration| -> f64 {
        m.rounds.iter().map(|round| of(round).as_secs_f64()).sum()
    };
    let is_dry = sum(|round| round.dry) >= 0.4 * sum(Round::length);
    free >= 10 && free >= 4 * released && is_dry
}

/// Pauses of the sender that no ACK ended, and those that one ended.
fn starts(m: &Measures<'_>) -> (u64, u64) {
    let sum = |of: fn(&Round) -> u64| -> u64 { m.rounds.iter().map(of).sum() };
    (
        sum(|round| round.free_starts),
        sum(|round| round.clocked_starts),
    )
}

fn acks_release(m: &Measures<'_>) -> bool {
    let (free, released) = starts(m);
    free + released >= 10 && released >= 4 * free && m.exchange.exchanges() < 2
}

/// Whether the application waited for small answers of its peer before it sent more: with data in
/// flight, 4 of 5 of at least 10 pauses, one in four rounds, ended with an ACK that had data,
/// and not with one of the ACKs without data before it.
pub(crate) fn answers_release(m: &Measures<'_>) -> bool {
    let (free, released) = starts(m);
    let pauses = free + released;
    let sent = m.rounds.iter().map(|round| round.sent).sum::<u64>();
    let answers = m.exchange.turns(m.side.other()).bytes;
    let acks: u64 = m.rounds.iter().map(|round| round.acks).sum();
    let rounds: u64 = m.rounds.iter().map(|round| round.count).sum();
    pauses >= 10
        && pauses * 4 >= rounds
        && m.sender_view.answering_starts * 5 >= pauses * 4
        && acks >= pauses * 2
        && answers * 10 <= sent
}

/// Maximum time of a first retransmission timeout, without two RTTs: many stacks wait a second or
/// more (RFC 6298 section 2.4), others less, as a timeout in the capture shows.
fn first_timeout(m: &Measures<'_>) -> Duration {
    const LEAST: Duration = Duration::from_secs(1);
    const MOST: Duration = Duration::from_millis(1500);
    let expiries = m.sender_view.episodes.expiries.iter();
    let shortest = expiries.map(|expiry| expiry.waited).min();
    shortest.map_or(MOST, |waited| (waited + waited / 3).clamp(LEAST, MOST))
}

/// Whether others took what a bottleneck with a queue did not deliver. One that serves a single flow
/// delivers at its own rate as long as packets wait in its queue. Here packets waited in at least two
/// fifths of the rounds, and the distances of packets show a link that is faster than all of them; the
/// delivery rate varied, or the link is about twice as fast and its packets came evenly.
fn has_others(m: &Measures<'_>) -> bool {
    const FASTER: f64 = 1.25;
    /// Distances of ACKs that come together are no rate of a link.
    const MUCH_FASTER: f64 = 8.0;
    const VARIES: f64 = 1.35;
    /// Rate of the link over that of the flow, where others send at one rate.
    const STEADY: core::ops::RangeInclusive<f64> = 1.6..=3.0;
    // By a clock too coarse for the distances any rate may seem the link's.
    let is_told = m.line_train.is_some_and(|octets| octets > 0);
    let Some(line) = m.line.filter(|_| is_told && m.sees_queues()) else {
        return false;
    };
    let is_whole = |index: &usize| {
        let round = &m.rounds[*index];
        let is_queued = m.queue(*index).is_some_and(|queue| queue >= m.queue_step);
        is_queued && round.again == 0 && round.acked > 0
    };
    let queued: Vec<usize> = (0..m.rounds.len()).filter(is_whole).collect();
    let mut rates: Vec<f64> = queued.iter().map(|index| m.near_rate(*index)).collect();
    rates.sort_by(f64::total_cmp);
    let count = rates.len();
    // A buffer that is written in pieces sends bursts, which wait for themselves.
    let mut flights: Vec<u64> = queued.iter().map(|index| m.rounds[*index].flight).collect();
    flights.sort_unstable();
    let is_bounded = count > 0 && flights[count * 9 / 10] * 5 <= flights[count / 10] * 6;
    let is_usual = count > 0 && count * 5 >= m.rounds.len() * 2;
    // A link that serves in slots, and a congested path of ACKs, let ACKs come in trains with long
    // gaps between them.
    let sum = |of: fn(&Round) -> u64| -> u64 { m.rounds.iter().map(of).sum() };
    let (acked, in_trains) = (
        sum(|round| round.acked),
        sum(|round| round.ack_train_octets),
    );
    let gaps = m
        .rounds
        .iter()
        .filter_map(|round| round.ack_gaps.variation());
    let (gaps, of) = gaps.fold((0.0, 0), |(sum, of), gap| (sum + gap, of + 1));
    let is_spread = in_trains * 40 <= acked * 39 && gaps <= 1.2 * f64::from(of);
    let is_faster = line >= FASTER * m.peak && line <= MUCH_FASTER * m.peak;
    // A shaper sends bursts with gaps between them; packets of others lie between those of the flow.
    let is_even = in_trains * 5 >= acked * 4 && gaps <= 0.4 * f64::from(of);
    let is_steady = is_even && STEADY.contains(&(line / m.peak.max(1.0)));
    is_usual
        && is_spread
        && is_faster
        && !is_bounded
        && (is_steady || rates[count * 9 / 10] >= VARIES * rates[count / 10])
}

/// Loss events, at least two minimum RTTs apart.
fn loss_events(m: &Measures<'_>) -> usize {
    let mut last = None;
    let mut count = 0;
    for episode in &m.sender_view.episodes.list {
        let is_new = last.is_none_or(|at| episode.at.saturating_since(at) >= m.base * 2);
        if is_new {
            count += 1;
            last = Some(episode.at);
        }
    }
    count
}

/// Smallest RTT of a round above the minimum, of few samples the smallest of these.
///
/// Away from the sender the part to the sender counts only if ACKs clock the data, or timestamps show
/// that data waited: an application that writes later makes it longer as well. Without timestamps only
/// a queue beyond the capture point shows.
fn standing(m: &Measures<'_>, index: usize) -> Option<Duration> {
    let round = &m.rounds[index];
    if round.trip.count == 0 {
        return None;
    }
    if m.view.is_near_sender() {
        return m.standing_queue(index).or_else(|| m.queue(index));
    }
    let trips = m.rounds.iter().filter_map(|round| round.trip.least);
    let here = round.trip.least?.saturating_sub(trips.min()?);
    if !m.sees_queues() {
        return Some(here).filter(|here| *here >= m.queue_step);
    }
    let turn = m.turn_delay(index).or_else(|| m.data_delay(index));
    Some(here + turn.unwrap_or_default())
}

/// Whether a connection took no longer than slow start does from an initial window of 10 segments,
/// with two RTTs for the handshake and the last ACK, and half of that again for hosts.
fn is_slow_start(m: &Measures<'_>, delivered: u64) -> bool {
    let took = m.duration.saturating_sub(trailing_idle(m));
    // A FIN alone is no transfer.
    let payload = delivered.saturating_sub(u64::from(m.data().has_fin()));
    let is_clean = m.data().retransmitted_segments() == 0 && payload > 0;
    is_clean && takes_slow_start(delivered, m.mss(), m.base, took)
}

/// Whether the capture ends while data is in flight, and neither side closed.
fn is_cut(m: &Measures<'_>) -> bool {
    let in_flight = m.sender_view.nxt.saturating_sub(acked_to(m.data()));
    let is_closed = [m.data(), m.receiver()]
        .iter()
        .any(|side| side.has_fin() || side.has_reset());
    in_flight >= 2 * m.mss() && !is_closed
}

/// Whether the first data came at most two RTTs before the end, and no SYN was lost.
fn has_just_begun(m: &Measures<'_>) -> bool {
    let view = m.sender_view;
    let (Some(first), Some(last_syn)) = (view.first_data, view.last_syn) else {
        return false;
    };
    let handshake = m.connection.handshake_round_trip().unwrap_or(m.base);
    let trip = if m.base.is_zero() {
        handshake
    } else {
        handshake.min(m.base)
    };
    m.since_start(last_syn) <= handshake && m.duration <= m.since_start(first) + trip * 2
}

/// Whether a new connection takes no more than half above that time, and twelve RTTs, to deliver these
/// bytes in few rounds: two RTTs, and one for each doubling of 10 segments (RFC 6928).
#[must_use]
pub fn takes_slow_start(delivered: u64, mss: u64, rtt: Duration, took: Duration) -> bool {
    /// Initial window (RFC 6928), segments.
    const INITIAL: u64 = 10;
    const MAX_ROUNDS: u64 = 10;
    const MAX_TRIPS: u64 = 12;
    let mut rounds = 2;
    let mut window = INITIAL.saturating_mul(mss.max(1));
    let mut left = delivered;
    while left > 0 && rounds <= MAX_ROUNDS {
        left = left.saturating_sub(window);
        window = window.saturating_mul(2);
        rounds += 1;
    }
    let most = (rtt * rounds * 3 / 2).min(rtt * MAX_TRIPS);
    !rtt.is_zero() && rounds <= MAX_ROUNDS && took <= most
}
