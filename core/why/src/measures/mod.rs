//! Measures of one direction, before any cause is considered.
//!
//! Measures come from the sender view alone (and from a second capture if there is one). They are
//! quantities with units; the files in `causes/` interpret them.

pub(crate) mod crowding;
pub(crate) mod ethernet;
pub(crate) mod loss_burst;
pub(crate) mod losses;
pub(crate) mod meter_fit;
mod one_way;
pub(crate) mod path;
mod restarts;
mod reverse_path;
mod sending;

use alloc::vec::Vec;

use gigatcp_flows::{Connection, Direction, Scaling, Side};
use gigatcp_units::{Duration, Instant};

use crate::CapturePoint;
use crate::capture_pair::CapturePair;
use crate::episode::RecoveryEpisode;
use crate::exchange::Exchange;
use crate::icmp_errors::IcmpErrors;
use crate::round::{Round, State};
use crate::segment_size::{SegmentSize, Sizes};
use crate::sender_view::SenderView;
use ethernet::Ethernet;
pub(crate) use ethernet::is_ethernet_rate;
use losses::{LossMeasures, LossPattern};
use meter_fit::MeterFit;
use one_way::OneWay;
pub(crate) use path::rate;
pub use path::{Capacity, CapacitySource};
use restarts::Restarts;
use sending::Sending;

/// Measures of one direction of a connection.
pub(crate) struct Measures<'a> {
    pub connection: &'a Connection,
    /// Requests and responses, of both directions.
    pub exchange: &'a Exchange,
    /// ICMP errors about segments of each side.
    pub icmp_errors: [&'a [IcmpErrors]; 2],
    pub side: Side,
    pub sender_view: &'a SenderView,
    pub rounds: &'a [Round],
    sizes: Sizes,
    pub view: CapturePoint,
    /// A second capture, nearer to the receiver.
    pub pair: Option<Pair<'a>>,
    /// Minimum RTT of the whole path.
    pub base: Duration,
    /// Resolution of the capture's clock.
    pub resolution: Duration,
    /// Largest delivery rate over two neighboring rounds, bytes per second.
    pub peak: f64,
    /// Bottleneck rate by packet dispersion, bytes per second.
    pub line: Option<f64>,
    /// Most bytes that followed each other at that rate.
    pub line_train: Option<u64>,
    /// Capacity of the path, as far as known.
    pub capacity: Capacity,
    /// Rate of the next limit, which a fix aims at, bytes per second; `None` if it is not known.
    pub next_rate: Option<f64>,
    /// Median rate of the closest trains of packets, bytes per second; zero without any.
    pub train: f64,
    /// RTT of each round.
    pub trips: Vec<Option<Duration>>,
    /// Minimum turnaround: from an ACK at the capture point to the data that echoes it.
    min_turn: Option<Duration>,
    /// Queueing delay of data, and of ACKs, up to the capture point, by timestamps.
    forward: OneWay,
    reverse: OneWay,
    usual_shares: Option<(f64, f64)>,
    /// Minimum RTT above the minimum that counts as a queue.
    pub queue_step: Duration,
    /// Maximum RTT above the minimum.
    pub queue_max: Duration,
    pub ethernet: Option<Ethernet>,
    /// For each round, the last recovery episode that began before its end, without harmless ones,
    /// and none once the window has had time to grow back.
    pub after: Vec<Option<usize>>,
    /// For each recovery episode, whether it changed nothing.
    harmless: Vec<bool>,
    /// One entry for each recovery episode.
    pub losses: Vec<LossMeasures>,
    pub pattern: LossPattern,
    pub meter: Option<MeterFit>,
    pub restarts: Restarts,
    pub sending: Sending,
    /// Largest window advertised up to the end of each round, in the unit of [`Round::window`].
    pub window_max: Vec<u64>,
    /// Minimum lateness of data at the capture point by its sender's clock, us.
    data_late_min: Option<f64>,
    pub start: Instant,
    pub duration: Duration,
}

/// Properties of a connection other than its packets of one direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation<'a> {
    /// Time of its first packet.
    pub start: Instant,
    /// Requests and responses, of both directions.
    pub exchange: &'a Exchange,
    /// ICMP errors about segments of each side.
    pub icmp_errors: [&'a [IcmpErrors]; 2],
    /// Resolution of the capture's clock.
    pub resolution: Duration,
}

/// A capture at another capture point, nearer to the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair<'a> {
    /// Sender view of the direction at that capture point.
    pub sender_view: &'a SenderView,
    pub between: &'a CapturePair,
}

impl<'a> Measures<'a> {
    pub fn of(
        connection: &'a Connection,
        sender_view: &'a SenderView,
        of: Observation<'a>,
        pair: Option<Pair<'a>>,
    ) -> Self {
        let Observation {
            start,
            exchange,
            icmp_errors,
            resolution,
        } = of;
        let rounds = sender_view.rounds.as_slice();
        let (view, base) = path::view_and_base(connection, sender_view);
        let forward = OneWay::of(rounds, |round| round.data_stamp);
        let reverse = OneWay::of(rounds, |round| round.ack_stamp);
        let mut measures = Self {
            connection,
            exchange,
            icmp_errors,
            side: sender_view.side,
            sender_view,
            rounds,
            sizes: sender_view.sizes(),
            view,
            pair,
            base,
            peak: path::peak_rate(
                rounds,
                sender_view.sizes().full(),
                base.max(resolution * 10),
            ),
            resolution,
            line: None,
            line_train: None,
            capacity: Capacity::default(),
            next_rate: None,
            train: path::train_rate(rounds, sender_view.sizes().full()),
            trips: path::round_trips(rounds, view, sender_view.turn),
            min_turn: rounds.iter().filter_map(|round| round.turn.least).min(),
            forward,
            reverse,
            usual_shares: None,
            queue_step: Duration::ZERO,
            queue_max: Duration::ZERO,
            ethernet: None,
            after: Vec::new(),
            harmless: Vec::new(),
            losses: Vec::new(),
            pattern: LossPattern::default(),
            meter: None,
            restarts: Restarts::of(rounds, sender_view.sizes().full(), base),
            sending: Sending::default(),
            window_max: Vec::new(),
            data_late_min: one_way::earliest(rounds),
            start,
            duration: sender_view.last.saturating_since(start),
        };
        let bounds = (measures.peak, resolution, sender_view.sizes().full());
        let link = path::dispersion_rate(sender_view, view, pair, bounds);
        (measures.line, measures.line_train) = link.unzip();
        measures.complete();
        measures
    }

    /// Calculates measures that depend on others, in order of dependency.
    fn complete(&mut self) {
        let episodes = &self.sender_view.episodes.list;
        debug_assert!(
            self.rounds
                .windows(2)
                .all(|pair| pair[0].end <= pair[1].start),
            "rounds are in the order of time: they are searched by halves"
        );
        self.queue_step = path::queue_step(self);
        self.queue_max = path::queue_max(self);
        self.usual_shares = self.median_shares();
        self.harmless = (0..episodes.len())
            .map(|index| losses::is_harmless(self, index))
            .collect();
        self.after = self.last_episodes();
        let mut max = 0;
        self.window_max = self
            .rounds
            .iter()
            .map(|round| {
                max = max.max(round.window.map_or(0, |(_, most)| most));
                max
            })
            .collect();
        self.ethernet = Ethernet::of(self);
        self.capacity = Capacity::of(self);
        self.sending = Sending::of(self);
        if !episodes.is_empty() {
            self.meter = MeterFit::of(self);
            self.losses = episodes
                .iter()
                .map(|episode| LossMeasures::of(self, episode))
                .collect();
            self.pattern = LossPattern::of(self);
        }
    }

    fn last_episodes(&self) -> Vec<Option<usize>> {
        let list = &self.sender_view.episodes.list;
        let harmful: Vec<usize> = (0..list.len())
            .filter(|index| !self.harmless[*index])
            .collect();
        let lone = losses::lone_event(self, &harmful);
        // After several losses the window may still grow to what it was before the first.
        let mut latest = self.start;
        let grown = |index: &usize| {
            let own = match lone {
                Some(until) => until,
                None => list[*index].until + losses::regrowth(self, &list[*index]),
            };
            latest = latest.max(own);
            latest
        };
        let grown: Vec<Instant> = harmful.iter().map(grown).collect();
        let last = |round: &Round| {
            let until = harmful.partition_point(|index| list[*index].at < round.end);
            let place = until.checked_sub(1)?;
            (round.start < grown[place]).then_some(harmful[place])
        };
        self.rounds.iter().map(last).collect()
    }

    /// Whether the recovery episodes of a round changed nothing.
    pub fn is_recovery_harmless(&self, index: usize) -> bool {
        let (list, round) = (&self.sender_view.episodes.list, &self.rounds[index]);
        let until = list.partition_point(|episode| episode.at < round.end);
        let before = list[..until].iter().zip(&self.harmless).rev();
        let mut here = before
            .take_while(|(episode, _)| episode.until >= round.start)
            .map(|(_, is_harmless)| *is_harmless);
        here.next() == Some(true) && here.all(|is_harmless| is_harmless)
    }

    /// Bytes of a full segment: the usual size if that is clear.
    pub fn mss(&self) -> u64 {
        self.sizes.full()
    }

    /// Size of full segments, and its cause.
    pub fn segment_size(&self) -> SegmentSize {
        SegmentSize::of(self.connection, self.side, &self.sizes)
    }

    /// Bytes of headers of a segment with data.
    pub fn headers(&self) -> u64 {
        self.sizes.headers(self.connection, self.side)
    }

    /// Direction with the data.
    pub fn data(&self) -> &Direction {
        self.connection.direction(self.side)
    }

    /// Direction with the ACKs.
    pub fn receiver(&self) -> &Direction {
        self.connection.direction(self.side.other())
    }

    /// Whether both SYNs permitted SACK (RFC 2018).
    pub fn uses_sack(&self) -> bool {
        let options = [self.data(), self.receiver()].map(Direction::options);
        options
            .iter()
            .all(|options| options.is_some_and(|options| options.sack_permitted))
    }

    /// Whether both SYNs are known, and one does not permit SACK.
    pub fn lacks_sack(&self) -> bool {
        let options = [self.data(), self.receiver()].map(Direction::options);
        options.iter().all(Option::is_some) && !self.uses_sack()
    }

    /// Whether the window scale is known, or known to be absent.
    pub fn knows_windows(&self) -> bool {
        self.connection.scaling() != Scaling::Unknown
    }

    /// Fraction of bytes that were acknowledged and that the capture lacks.
    pub fn unseen(&self) -> f64 {
        let unseen = self.data().acked_unseen_bytes();
        ratio(unseen as f64, self.data().stream_length() as f64)
    }

    /// ICMP errors that name a smaller MTU than that of the packets which the sender kept sending,
    /// and that MTU.
    pub fn ignored_mtu(&self) -> Option<(&'a IcmpErrors, u32)> {
        let patience = (self.base * 2).max(Duration::from_millis(200));
        let mut errors = self.icmp_errors[self.side as usize].iter();
        errors.find_map(|errors| Some((errors, errors.ignored_mtu(patience)?)))
    }

    /// Whether any data was acknowledged.
    pub fn has_acks(&self) -> bool {
        self.rounds.iter().any(|round| round.acked > 0)
    }

    /// Smallest and the largest window of a round, in bytes.
    pub fn window(&self, index: usize) -> Option<(u64, u64)> {
        let round = self.rounds.get(index).filter(|_| self.knows_windows())?;
        round.window
    }

    /// Delivery rate in a round, in bytes per second without idle time.
    pub fn rate(&self, index: usize) -> f64 {
        path::rate_of(&self.rounds[index])
    }

    /// Delivery rate over the whole connection, in bytes per second. Zero if the connection took no
    /// measurable time.
    pub fn mean_rate(&self) -> f64 {
        let acked: u64 = self.rounds.iter().map(|round| round.acked).sum();
        if self.duration <= self.resolution {
            return 0.0;
        }
        per_second(acked, self.duration)
    }

    /// Rounds from `before` before this one to `after` after it.
    pub fn around(&self, index: usize, before: usize, after: usize) -> &'a [Round] {
        let until = (index + after + 1).min(self.rounds.len());
        &self.rounds[index.saturating_sub(before)..until]
    }

    /// Rounds within `trips` minimum RTTs before an episode.
    pub fn rounds_before(&self, episode: &RecoveryEpisode, trips: u64) -> &'a [Round] {
        let from = episode.at.as_nanos();
        let from = Instant::from_nanos(from.saturating_sub((self.base * trips).as_nanos()));
        let begin = self.rounds.partition_point(|round| round.end < from);
        let until = self
            .rounds
            .partition_point(|round| round.start < episode.at);
        &self.rounds[begin.min(until)..until]
    }

    /// Time spent in `state` over the whole connection.
    pub fn spent(&self, state: State) -> Duration {
        self.rounds
            .iter()
            .fold(Duration::ZERO, |sum, round| sum + round.spent_in(state))
    }

    /// A position as an offset from the first byte seen, as tcpdump prints it.
    pub fn place(&self, position: u64) -> u64 {
        position.saturating_sub(self.data().first_position())
    }

    /// Time since the first packet of the connection.
    pub fn since_start(&self, at: Instant) -> Duration {
        at.saturating_since(self.start)
    }
}

pub(crate) fn per_second(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64().max(1e-9)
}

/// Part over whole; 0 if the whole is 0.
pub(crate) fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// A quartile of the samples; `None` if there are none.
pub(crate) fn quartile(mut samples: Vec<f64>, quarters: usize) -> Option<f64> {
    debug_assert!(quarters <= 4, "{quarters} quarters of the samples");
    samples.sort_by(f64::total_cmp);
    let place = samples.len() * quarters / 4;
    samples
        .get(place.min(samples.len().saturating_sub(1)))
        .copied()
}
