//! The path: minimum RTT, queues, bottleneck rate, and its capacity as far as known.

use alloc::vec::Vec;

use gigatcp_flows::Connection;
use gigatcp_units::{Duration, Rate};

use super::{Measures, Pair, quartile, ratio};
use crate::CapturePoint;
use crate::account::Attributed;
use crate::episode::RecoveryEpisode;
use crate::round::{Round, State};
use crate::sender_view::SenderView;

/// Source of the capacity of the path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum CapacitySource {
    /// The bottleneck was busy with a queue before it: its rate.
    FullLink,
    /// Packet trains before the transfer measured it ([`crate::trains`]).
    PacketTrains,
    /// The largest delivery rate over two RTTs: a lower bound.
    #[default]
    BestRound,
}

impl CapacitySource {
    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FullLink => "full_link",
            Self::PacketTrains => "packet_trains",
            Self::BestRound => "best_round",
        }
    }
}

/// Capacity of the path, as far as the capture shows it.
#[derive(Clone, Copy, Default, Debug)]
pub struct Capacity {
    /// Bytes of payload per second.
    pub(crate) bytes_per_second: f64,
    /// Source of the value.
    pub source: CapacitySource,
}

impl Capacity {
    /// The capacity as a rate of payload.
    #[must_use]
    pub fn rate(&self) -> Rate {
        rate(self.bytes_per_second)
    }

    /// Whether the path may carry more.
    #[must_use]
    pub fn is_lower_bound(&self) -> bool {
        self.source == CapacitySource::BestRound
    }

    /// Derives it from queues and delivery rates, before any cause is known.
    pub(super) fn of(measures: &Measures<'_>) -> Self {
        /// Minimum number of rounds with a saturated link that show its rate.
        const MIN_FULL: usize = 4;
        let mean = measures.mean_rate();
        let full = (0..measures.rounds.len())
            .filter(|index| measures.is_queued(*index) && measures.is_near_line(*index))
            .map(|index| measures.near_rate(index))
            .collect::<Vec<f64>>();
        let count = full.len();
        let full = quartile(full, 2).filter(|rate| count >= MIN_FULL && *rate >= 0.95 * mean);
        full.map_or_else(
            || Self::at_least(measures),
            |full| Self::full_link(full.max(mean)),
        )
    }

    /// Rate while the link was saturated, if that was for three tenths of the time, or packets
    /// behind the bottleneck follow each other at that rate. Otherwise a lower bound.
    pub(crate) fn attributed(measures: &Measures<'_>, full: &[&Attributed]) -> Self {
        let enough = measures.base * 4;
        let mean = measures.mean_rate();
        let longest = full.iter().max_by_key(|attributed| attributed.time);
        let is_shown = |attributed: &&&Attributed| {
            let is_line = |line: f64| (0.85..1.15).contains(&ratio(attributed.rate(), line));
            attributed.time * 10 >= measures.duration * 3 || measures.line.is_some_and(is_line)
        };
        longest
            .filter(|attributed| {
                attributed.time >= enough
                    && attributed.rate() > 0.0
                    && attributed.rate() >= 0.95 * mean
            })
            .filter(is_shown)
            .map_or_else(
                || Self::at_least(measures),
                |attributed| Self::full_link(attributed.rate().max(mean)),
            )
    }

    fn full_link(bytes_per_second: f64) -> Self {
        Self {
            bytes_per_second,
            source: CapacitySource::FullLink,
        }
    }

    /// A lower bound: the highest delivery rate over two RTTs. A train of packets that are back to
    /// back may be faster on a link that serves in slots, or behind receive offload.
    fn at_least(measures: &Measures<'_>) -> Self {
        let line = measures.line.unwrap_or(f64::MAX);
        Self {
            bytes_per_second: measures.peak.min(line).max(measures.mean_rate()),
            source: CapacitySource::BestRound,
        }
    }
}

/// Median rate of the closest trains of data and of their ACKs. Both must have enough bytes.
pub(super) fn train_rate(rounds: &[Round], mss: u64) -> f64 {
    let enough = 10 * mss;
    let trains = rounds
        .iter()
        .filter(|round| round.ack_train_octets >= enough && round.train_octets >= enough)
        .map(|round| {
            let per = |bytes: u64, time: Duration| bytes as f64 / time.as_secs_f64().max(1e-6);
            let acks = per(round.ack_train_octets, round.ack_train_time);
            acks.min(per(round.train_octets, round.train_time))
        });
    quartile(trains.collect(), 2).unwrap_or(0.0)
}

/// Capture point by the two halves of the RTT alone.
pub(crate) fn inferred_view(connection: &Connection, sender_view: &SenderView) -> CapturePoint {
    let handshake = connection.direction(sender_view.side).round_trips().min();
    let rounds = sender_view.rounds.as_slice().iter();
    let trip = handshake.or_else(|| rounds.filter_map(|round| round.trip.least).min());
    CapturePoint::infer(trip, sender_view.turn)
}

/// Capture point, and the minimum RTT of the whole path.
pub(super) fn view_and_base(
    connection: &Connection,
    sender_view: &SenderView,
) -> (CapturePoint, Duration) {
    let rounds = sender_view.rounds.as_slice();
    let shortest = rounds.iter().filter_map(|round| round.trip.least).min();
    let handshake = connection.direction(sender_view.side).round_trips().min();
    let trip = shortest.map(|trip| handshake.map_or(trip, |syn| trip.min(syn)));
    let view = match inferred_view(connection, sender_view) {
        CapturePoint::Sender if waits_before(sender_view, trip) => CapturePoint::Middle,
        view => view,
    };
    if view.is_near_sender() {
        return (view, trip.unwrap_or_default());
    }
    // The handshake may have waited for an address to be resolved.
    let means = rounds.iter().filter_map(|round| round.turn.mean());
    let median = quartile(means.map(Duration::as_secs_f64).collect(), 2);
    let usual = median.map(Duration::from_secs_f64);
    let turn = match (sender_view.turn, usual) {
        (Some(handshake), Some(usual)) if handshake > usual * 2 + RESOLUTION => Some(usual),
        (handshake, usual) => handshake.or(usual),
    };
    (view, trip.unwrap_or_default() + turn.unwrap_or_default())
}

/// Whether data waits between the sending host and the capture point: timestamps show that
/// segments waited for a ninth of the RTT or longer, and no answer of the sender took as little as a
/// host needs. Then a link lies before the capture point, however short, and its queue is the path's.
fn waits_before(sender_view: &SenderView, trip: Option<Duration>) -> bool {
    /// Maximum response time of a sending host to a SYN or an ACK.
    const HOST: Duration = Duration::from_micros(200);
    let is_far = sender_view.turn.is_some_and(|turn| turn > HOST);
    let lag = sender_view.lag.zip(trip);
    is_far && lag.is_some_and(|(lag, trip)| lag.waited >= trip / 9)
}

/// Ninth decile of the delivery rates over two neighboring rounds without a loss. If one round ends
/// early the next is longer, so two are taken together, and not the last one of a burst, after
/// which nothing was sent. Without such rounds it is the highest rate of a round over at least
/// `least`, the minimum RTT or what the clock resolves: what arrives within less is a burst, and no
/// rate.
pub(super) fn peak_rate(rounds: &[Round], mss: u64, least: Duration) -> f64 {
    let is_whole = |round: &Round| {
        round.acked >= 4 * mss
            && round.again == 0
            && round.spent_in(State::Recovery).is_zero()
            && round.spent_in(State::Timeout).is_zero()
    };
    let long = least + least / 2;
    let pairs = rounds.windows(2).filter(|pair| pair.iter().all(is_whole));
    let rates = pairs.filter_map(|pair| {
        let time = pair[0].length() + pair[1].length();
        let acked = (pair[0].acked + pair[1].acked) as f64;
        let is_over = pair[1].length() * 2 >= least && pair[1].sent > 0;
        (time >= long && is_over).then(|| acked / time.as_secs_f64().max(1e-9))
    });
    let mut rates: Vec<f64> = rates.collect();
    rates.sort_by(f64::total_cmp);
    let peak = rates.get(rates.len() * 9 / 10).copied().unwrap_or(0.0);
    if peak > 0.0 {
        peak
    } else if least.is_zero() {
        0.0
    } else {
        let rates = rounds
            .iter()
            .map(|round| super::per_second(round.acked, busy(round).max(least)));
        rates.fold(0.0, f64::max)
    }
}

/// Time of a round in which data was outstanding.
fn busy(round: &Round) -> Duration {
    let idle = round.spent_in(State::Idle) + round.spent_in(State::Opening);
    round.length().saturating_sub(idle)
}

/// Time that a handshake may take longer than an RTT without showing another path.
const RESOLUTION: Duration = Duration::from_millis(50);

/// Bottleneck rate from the distances between packets behind it, of the data or of the ACKs that
/// answer it, and the most bytes that followed each other at them, none if the clock is too coarse
/// for them. A rate below the highest delivery rate is none of a link.
pub(super) fn dispersion_rate(
    sender_view: &SenderView,
    view: CapturePoint,
    pair: Option<Pair<'_>>,
    (peak, resolution, mss): (f64, Duration, u64),
) -> Option<(f64, u64)> {
    let data = &sender_view.data_spacing;
    let acks = &sender_view.ack_spacing;
    let spacings = match (pair, view) {
        (Some(pair), _) => [Some(&pair.sender_view.data_spacing), None],
        (None, CapturePoint::Receiver) => [Some(data), None],
        // The bottleneck may be on either side of the capture point: both have to show.
        (None, CapturePoint::Middle) => [Some(data), Some(acks)].map(|spacing| {
            let has_both = data.rate().is_some() && acks.rate().is_some();
            spacing.filter(|_| has_both)
        }),
        (None, _) => [Some(acks), None],
    };
    let known = spacings.into_iter().flatten().filter_map(|spacing| {
        let is_told = spacing.is_told_by(resolution, mss);
        let train = if is_told { spacing.longest_train() } else { 0 };
        Some((spacing.rate()?, train))
    });
    let links = known.filter(|(rate, _)| *rate >= 0.9 * peak);
    links.min_by(|(rate, _), (higher, _)| rate.total_cmp(higher))
}

/// RTT of the whole path in each round.
pub(super) fn round_trips(
    rounds: &[Round],
    view: CapturePoint,
    turn: Option<Duration>,
) -> Vec<Option<Duration>> {
    let of = |round: &Round| {
        let trip = if round.trip.count >= 8 {
            round.trip.mean()?
        } else {
            round.trip.least?
        };
        Some(if view.is_near_sender() {
            trip
        } else {
            trip + round.turn.least.or(turn).unwrap_or_default()
        })
    };
    rounds.iter().map(of).collect()
}

/// Variation of the RTT below which there is no queue.
pub(super) fn queue_step(measures: &Measures<'_>) -> Duration {
    let base = measures.base;
    let four = (4 * measures.mss()) as f64 / measures.peak.max(1.0);
    (base / 8)
        .max(Duration::from_secs_f64(four).min(base))
        .max(Duration::from_micros(20))
}

pub(super) fn queue_max(measures: &Measures<'_>) -> Duration {
    let trips = measures.trips.iter().flatten().max().copied();
    let max = trips.unwrap_or_default().saturating_sub(measures.base);
    let episodes = &measures.sender_view.episodes.list;
    let before = episodes
        .iter()
        .filter_map(|episode| measures.queue_before(episode));
    max.max(before.max().unwrap_or_default())
}

/// Delivery rate of a round, in bytes per second.
pub(super) fn rate_of(round: &Round) -> f64 {
    ratio(round.acked as f64, busy(round).as_secs_f64())
}

impl Measures<'_> {
    /// Whether queues show in the RTTs that can be measured here.
    pub fn sees_queues(&self) -> bool {
        self.view.is_near_sender() || self.rounds.iter().any(|round| round.turn.count > 0)
    }

    /// RTT above minimum in that round.
    pub fn queue(&self, index: usize) -> Option<Duration> {
        self.trips[index].map(|trip| trip.saturating_sub(self.base))
    }

    /// RTT above minimum just before the episode.
    pub fn queue_before(&self, episode: &RecoveryEpisode) -> Option<Duration> {
        let turn = if self.view.is_near_sender() {
            Duration::ZERO
        } else {
            episode.turn.or(self.sender_view.turn).unwrap_or_default()
        };
        let trip = episode.trip?;
        Some((trip + turn).saturating_sub(self.base))
    }

    /// Delivery rate around a round, in bytes per second.
    pub fn near_rate(&self, index: usize) -> f64 {
        let near = self.around(index, 1, 1);
        let time = near
            .iter()
            .fold(Duration::ZERO, |sum, round| sum + round.length());
        let acked: u64 = near.iter().map(|round| round.acked).sum();
        super::per_second(acked, time)
    }

    /// Whether more than one segment measured a standing queue in that round.
    pub fn is_queued(&self, index: usize) -> bool {
        let round = &self.rounds[index];
        let is_enough = round.segments >= 4 * round.count || round.acks >= 4 * round.count;
        let is_long = |queue: Duration| queue >= self.queue_step;
        is_enough && self.queue(index).is_some_and(is_long)
    }

    /// Whether the delivery rate around that round was near the bottleneck rate. If that is
    /// unknown, near the highest delivery rate.
    pub fn is_near_line(&self, index: usize) -> bool {
        let most = self.line.unwrap_or(self.peak);
        self.near_rate(index) >= 0.85 * most.min(self.peak.max(1.0) * 1.1)
    }

    /// Minimum RTT above minimum in that round, of eight samples or more.
    pub fn standing_queue(&self, index: usize) -> Option<Duration> {
        let round = &self.rounds[index];
        let trip = round.trip.least.filter(|_| round.trip.count >= 8)?;
        let trip = if self.view.is_near_sender() {
            trip
        } else {
            trip + round.turn.least?
        };
        Some(trip.saturating_sub(self.base))
    }
}

/// Converts bytes per second to a rate.
pub(crate) fn rate(bytes_per_second: f64) -> Rate {
    Rate::from_bps((bytes_per_second * 8.0) as u64)
}
