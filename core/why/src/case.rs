//! All that is known of one direction when its rules are heard.

use alloc::vec::Vec;

use gigatcp_flows::{Connection, Direction, Scaling, Side};
use gigatcp_units::{Duration, Instant, Rate};

use crate::View;
use crate::between::{Between, Fate};
use crate::episode::Episode;
use crate::ethernet::Ethernet;
use crate::losses::{self, Cause};
use crate::round::{Round, Stamp, State};
use crate::segment_size::{SegmentSize, Sizes};
use crate::trail::{Gap, Trail};

/// What rules are asked about.
pub(crate) struct Case<'a> {
    pub connection: &'a Connection,
    pub side: Side,
    pub trail: &'a Trail,
    pub rounds: &'a [Round],
    sizes: Sizes,
    pub view: View,
    /// What another capture, nearer to the receiver, adds.
    pub other: Option<Other<'a>>,
    /// The least round trip of the whole path.
    pub base: Duration,
    /// The best delivery of any round, octets per second.
    pub peak: f64,
    /// What the slowest link carries, by how closely segments follow on one
    /// another behind it, octets per second.
    pub line: Option<f64>,
    /// What the path seems to carry, where that was seen.
    pub capacity: f64,
    /// Round trips of the rounds, as far as measured.
    pub trips: Vec<Option<Duration>>,
    /// The least turnaround of any round.
    pub least_turn: Option<Duration>,
    /// What queues added on the way of the data to here, and of the
    /// acknowledgments to here, as timestamps tell it.
    forth: OneWay,
    back: OneWay,
    /// What a queue must add to a round trip to be one.
    pub queue_step: Duration,
    /// The most that queues added.
    pub queue_most: Duration,
    /// What the queue that others fill too adds when it is full, where losses show
    /// that.
    pub shared: Option<Duration>,
    /// An Ethernet before the place of capture, where one was full.
    pub ethernet: Option<Ethernet>,
    /// Of each round, the last episode that began before it ended.
    pub after: Vec<Option<usize>>,
    /// Why the segments of each episode were lost, and how sure that is.
    pub causes: Vec<(Cause, f64)>,
    usual_shares: Option<(f64, f64)>,
    pub start: Instant,
    pub run: Duration,
}

impl<'a> Case<'a> {
    pub fn new(
        connection: &'a Connection,
        trail: &'a Trail,
        start: Instant,
        other: Option<Other<'a>>,
    ) -> Self {
        let rounds = trail.rounds.as_slice();
        let least = |pick: fn(&Round) -> Option<Duration>| rounds.iter().filter_map(pick).min();
        let shortest = least(|round| round.trip.least);
        let handshake = connection.direction(trail.side).round_trips().min();
        let trip = shortest.map(|trip| handshake.map_or(trip, |other| trip.min(other)));
        let view = View::infer(handshake.or(trip), trail.turn);
        let turn = match view {
            View::Sender | View::Unknown => Duration::ZERO,
            _ => trail.turn.unwrap_or_default(),
        };
        let base = trip.unwrap_or_default() + turn;
        let trips = rounds
            .iter()
            .map(|round| round_trip(round, view, trail.turn))
            .collect();
        let mut case = Self {
            connection,
            side: trail.side,
            trail,
            rounds,
            sizes: trail.sizes(),
            view,
            other,
            base,
            peak: 0.0,
            line: match view {
                _ if other.is_some() => other.and_then(|other| other.trail.data_spacing.rate()),
                View::Sender | View::Unknown => trail.ack_spacing.rate(),
                _ => trail.data_spacing.rate(),
            },
            capacity: 0.0,
            trips,
            least_turn: least(|round| round.turn.least),
            forth: one_way(rounds, |round| round.data_stamp),
            back: one_way(rounds, |round| round.ack_stamp),
            queue_step: Duration::ZERO,
            queue_most: Duration::ZERO,
            shared: None,
            ethernet: None,
            after: Vec::new(),
            causes: Vec::new(),
            usual_shares: None,
            start,
            run: trail.last.saturating_since(start),
        };
        case.measure();
        case.usual_shares = case.middle_shares();
        case.shared = losses::shared_queue(&case);
        case.ethernet = Ethernet::of(&case);
        case.causes = losses::causes(&case);
        case
    }

    fn measure(&mut self) {
        let mss = self.mss();
        let is_whole = |round: &Round| {
            round.acked >= 4 * mss
                && round.again == 0
                && round.spent_in(State::Recovery).is_zero()
                && round.spent_in(State::Timeout).is_zero()
        };
        // Two rounds together: where one ends early the next is longer. One that ends
        // early and is the second has left its time to a round that is not counted.
        let pairs = self.rounds.windows(2);
        let pairs = pairs.filter(|pair| pair.iter().all(is_whole));
        let long = self.base + self.base / 2;
        let rates = pairs.filter_map(|pair| {
            let time = pair[0].length() + pair[1].length();
            let acked = (pair[0].acked + pair[1].acked) as f64;
            let is_over = pair[1].length() * 2 >= self.base;
            (time >= long && is_over).then(|| acked / time.as_secs_f64())
        });
        let mut rates: Vec<f64> = rates.collect();
        rates.sort_by(f64::total_cmp);
        self.peak = rates.get(rates.len() * 9 / 10).copied().unwrap_or(0.0);
        if self.peak == 0.0 {
            self.peak = self.rounds.iter().map(rate_of).fold(0.0, f64::max);
        }
        let mut trains: Vec<f64> = self
            .rounds
            .iter()
            .filter(|round| round.ack_train_octets >= 10 * mss && round.train_octets >= 10 * mss)
            .map(|round| {
                let per =
                    |octets: u64, time: Duration| octets as f64 / time.as_secs_f64().max(1e-9);
                let acks = per(round.ack_train_octets, round.ack_train_time);
                let data = per(round.train_octets, round.train_time);
                acks.min(data)
            })
            .collect();
        trains.sort_by(f64::total_cmp);
        let train = trains.get(trains.len() * 3 / 4).copied().unwrap_or(0.0);
        self.capacity = self.peak.max(train);
        let four = Duration::from_secs_f64((4 * mss) as f64 / self.peak.max(1.0));
        self.queue_step = (self.base / 8)
            .max(four.min(self.base))
            .max(Duration::from_micros(20));
        let most = self
            .trips
            .iter()
            .flatten()
            .max()
            .copied()
            .unwrap_or_default();
        self.queue_most = most.saturating_sub(self.base);
        let episodes = &self.trail.episodes.list;
        let before = episodes
            .iter()
            .filter_map(|one| self.queue_before(one))
            .max();
        self.queue_most = self.queue_most.max(before.unwrap_or_default());
        self.after = self
            .rounds
            .iter()
            .map(|round| {
                episodes
                    .partition_point(|one| one.at < round.end)
                    .checked_sub(1)
            })
            .collect();
    }

    /// Octets of a full segment: the usual size where that is clear.
    pub fn mss(&self) -> u64 {
        self.sizes.full()
    }

    /// How large full segments are, and why.
    pub fn segment_size(&self) -> SegmentSize {
        SegmentSize::of(self.connection, self.side, &self.sizes)
    }

    /// Octets of headers of a segment with data.
    pub fn headers(&self) -> u64 {
        self.sizes.headers(self.connection, self.side)
    }

    /// The speed of an Ethernet before the place of capture that was full in that round,
    /// bits per second.
    pub fn fills_ethernet(&self, index: usize) -> Option<f64> {
        self.ethernet.as_ref().and_then(|one| one.full(index))
    }

    /// Whether queues show in the round trips that can be measured here.
    pub fn sees_queues(&self) -> bool {
        self.view.is_near_sender() || self.rounds.iter().any(|round| round.turn.count > 0)
    }

    pub fn data(&self) -> &Direction {
        self.connection.direction(self.side)
    }

    pub fn receiver(&self) -> &Direction {
        self.connection.direction(other(self.side))
    }

    pub fn knows_windows(&self) -> bool {
        self.connection.scaling() != Scaling::Unknown
    }

    /// Delivery in a round, octets per second.
    pub fn rate(&self, index: usize) -> f64 {
        rate_of(&self.rounds[index])
    }

    /// Delivery over the whole run.
    pub fn mean_rate(&self) -> f64 {
        let acked: u64 = self.rounds.iter().map(|round| round.acked).sum();
        acked as f64 / self.run.as_secs_f64().max(1e-9)
    }

    /// What a queue added to the round trip in that round.
    pub fn queue(&self, index: usize) -> Option<Duration> {
        self.trips[index].map(|trip| trip.saturating_sub(self.base))
    }

    /// Delivery around a round, octets per second.
    pub fn near_rate(&self, index: usize) -> f64 {
        let until = (index + 2).min(self.rounds.len());
        let near = &self.rounds[index.saturating_sub(1)..until];
        let time = near
            .iter()
            .fold(Duration::ZERO, |sum, round| sum + round.length());
        let acked: u64 = near.iter().map(|round| round.acked).sum();
        acked as f64 / time.as_secs_f64().max(1e-9)
    }

    /// Whether the sender had nothing left to send again and again, as PSH on
    /// segments that are not full tells: it is not what makes segments that is
    /// slow.
    pub fn runs_dry(&self, index: usize) -> bool {
        let round = &self.rounds[index];
        round.pushed * 5 >= round.segments && round.pushed > 0
    }

    /// The share of what was sent in a round that left as the answer to an
    /// acknowledgment; nothing where these come so closely that everything follows
    /// one of them at once, as on a fat path, or far from a sender whose answers are
    /// known less exactly.
    pub fn clocked(&self, index: usize) -> Option<f64> {
        let round = &self.rounds[index];
        let at_once = Trail::at_once(self.trail.turn).as_nanos() as f64;
        let is_dense = round
            .ack_gaps
            .mean()
            .is_some_and(|mean| mean < 2.0 * at_once);
        let share = round.clocked as f64 / round.sent.max(1) as f64;
        // Chance makes it more, never less.
        (!is_dense || share < 0.4).then_some(share)
    }

    /// How much of the time around a round the sender had nothing to send.
    pub fn dry_share(&self, index: usize) -> f64 {
        let until = (index + 3).min(self.rounds.len());
        let near = &self.rounds[index.saturating_sub(2)..until];
        let sum = |of: fn(&Round) -> Duration| {
            near.iter()
                .fold(Duration::ZERO, |sum, round| sum + of(round))
                .as_secs_f64()
        };
        let time = sum(|round| round.active() + round.spent_in(State::Idle));
        sum(|round| round.dry) / time.max(1e-9)
    }

    /// How much of what the slowest link carries was under way when an episode
    /// began.
    pub fn fill(&self, episode: &Episode) -> Option<f64> {
        let trip = self.base + self.queue_before(episode).unwrap_or_default();
        let rate = episode.flight as f64 / trip.as_secs_f64().max(1e-9);
        self.line.map(|line| rate / line)
    }

    /// Whether what was lost left no place in time behind: it never was on the
    /// slowest link. False where it left exactly its place, or where the link had
    /// been idle before it; nothing where no hole shows here, or a burst ended
    /// with it.
    pub fn is_tight(&self, episode: &Episode) -> Option<bool> {
        let (trail, gap) = self.gap(episode)?;
        hole(trail, gap, self.mss(), self.base)
    }

    /// Whether there was time behind it at all, its place or any other; nothing
    /// where none shows, or a long pause followed.
    pub fn is_loose(&self, episode: &Episode) -> Option<bool> {
        let (trail, gap) = self.gap(episode)?;
        (gap.wait * 2 <= self.base).then(|| !trail.data_spacing.is_close(gap.octets, gap.wait))
    }

    /// Whether what was lost was the end of a burst.
    pub fn ends_burst(&self, episode: &Episode) -> bool {
        self.gap(episode)
            .is_some_and(|(_, gap)| gap.wait * 2 > self.base)
    }

    fn gap(&self, episode: &Episode) -> Option<(&Trail, &Gap)> {
        let trail = self.other.map_or(self.trail, |other| other.trail);
        let gaps = &trail.gaps;
        let next = gaps.partition_point(|gap| gap.end <= episode.start);
        let gap = gaps.get(next).filter(|gap| gap.start <= episode.start)?;
        Some((trail, gap))
    }

    /// What became of what an episode sent again first, where another capture
    /// tells.
    pub fn fate(&self, episode: &Episode) -> Option<Fate> {
        let between = self.other?.between;
        between.fate(episode.start as u32, episode.at, self.base)
    }

    /// Whether the window, made smaller by a loss before, was growing again around
    /// this round as congestion avoidance makes it (RFC 5681 section 3.1), by about
    /// a segment each round trip: no host and no application does that.
    pub fn reopens(&self, index: usize) -> bool {
        /// Rounds looked at on either side, and steps that tell.
        const AROUND: usize = 8;
        const LEAST: usize = 6;
        let Some(episode) = self.after[index] else {
            return false;
        };
        let is_after =
            |other: &usize| self.after[*other] == Some(episode) && self.rounds[*other].again == 0;
        let from = (index.saturating_sub(AROUND)..index)
            .rev()
            .take_while(is_after);
        let from = from.last().unwrap_or(index);
        let until = (index + AROUND + 1).min(self.rounds.len());
        let until = (index..until).take_while(is_after).last().unwrap_or(index);
        let near = &self.rounds[from..=until];
        let steps = near.windows(2);
        let up = steps.clone().filter(|pair| pair[1].flight > pair[0].flight);
        let (count, up) = (steps.len(), up.count());
        let trips: u64 = near.iter().map(|round| round.count).sum();
        let grown = near[near.len() - 1].flight.saturating_sub(near[0].flight);
        count >= LEAST && up * 4 >= count * 3 && grown * 3 >= trips.saturating_sub(1) * self.mss()
    }

    /// Whether there was a standing queue.
    pub fn is_queued(&self, index: usize) -> bool {
        /// A single acknowledgment is late for other reasons.
        const LEAST: u64 = 4;
        let round = &self.rounds[index];
        round.segments >= LEAST * round.count
            && self
                .queue(index)
                .is_some_and(|queue| queue >= self.queue_step)
    }

    /// Whether the slowest link was busy and a queue stood before it, be it short:
    /// no segment of the round came through as fast as the fastest, by what several
    /// segments take on that link, and together they came as fast as it carries.
    pub fn is_carried(&self, index: usize) -> bool {
        /// Segments that have to wait for it, and more on long paths.
        const LEAST: f64 = 8.0;
        let (Some(line), Some(least)) = (self.line, self.least_trip(index)) else {
            return false;
        };
        let some = Duration::from_secs_f64(LEAST * self.mss() as f64 / line.max(1.0));
        let step = some.max(self.base / 50).max(Duration::from_micros(20));
        self.near_rate(index) >= 0.95 * line && least.saturating_sub(self.base) >= step
    }

    /// The least round trip of a round, where several samples tell.
    fn least_trip(&self, index: usize) -> Option<Duration> {
        let round = &self.rounds[index];
        let trip = round.trip.least.filter(|_| round.trip.count >= 8)?;
        match self.view {
            View::Sender | View::Unknown => Some(trip),
            View::Receiver | View::Middle => round.turn.least.map(|turn| trip + turn),
        }
    }

    /// The rounds of so many round trips before an episode.
    pub fn rounds_before(&self, episode: &Episode, trips: u64) -> &'a [Round] {
        let from = episode
            .at
            .as_nanos()
            .saturating_sub((self.base * trips).as_nanos());
        let from = Instant::from_nanos(from);
        let begin = self.rounds.partition_point(|round| round.end < from);
        let until = self
            .rounds
            .partition_point(|round| round.start < episode.at);
        &self.rounds[begin.min(until)..until]
    }

    /// What a queue added just before the episode.
    pub fn queue_before(&self, episode: &Episode) -> Option<Duration> {
        let turn = match self.view {
            View::Sender | View::Unknown => Duration::ZERO,
            _ => episode.turn.or(self.trail.turn).unwrap_or_default(),
        };
        episode
            .trip
            .map(|trip| (trip + turn).saturating_sub(self.base))
    }

    /// How much of the round's time segments followed closely on one another.
    pub fn busy(&self, index: usize) -> f64 {
        let round = &self.rounds[index];
        let active = round.active().as_secs_f64();
        if active > 0.0 {
            round.train_time.as_secs_f64() / active
        } else {
            0.0
        }
    }

    /// Of a standing queue, the share that is on the way of the data to here,
    /// and on that of the acknowledgments to here.
    fn shares_of(&self, index: usize) -> Option<(f64, f64)> {
        if let Some(other) = self.other {
            let round = &self.rounds[index];
            let (forth, back) = other.between.queues_in(round.start, round.end)?;
            let both = (forth + back).as_secs_f64().max(1e-9);
            return Some((forth.as_secs_f64() / both, back.as_secs_f64() / both));
        }
        let coarse = self.forth.tick.max(self.back.tick) * 5 / 2;
        let queue = self.queue(index).filter(|queue| *queue >= coarse)?;
        let share = |part: Duration| part.as_secs_f64() / queue.as_secs_f64();
        let (forth, back) = (self.forth.late[index]?, self.back.late[index]?);
        Some((share(forth), share(back)))
    }

    /// The same, as in most rounds where this one has no timestamps that tell.
    pub fn shares(&self, index: usize) -> Option<(f64, f64)> {
        self.shares_of(index).or(self.usual_shares)
    }

    fn middle_shares(&self) -> Option<(f64, f64)> {
        let all = (0..self.rounds.len()).filter_map(|index| self.shares_of(index));
        let (mut forth, mut back): (Vec<f64>, Vec<f64>) = all.unzip();
        forth.sort_by(f64::total_cmp);
        back.sort_by(f64::total_cmp);
        let middle = forth.len() / 2;
        Some((*forth.get(middle)?, *back.get(middle)?))
    }

    pub fn spent(&self, state: State) -> Duration {
        self.rounds
            .iter()
            .fold(Duration::ZERO, |sum, round| sum + round.spent_in(state))
    }

    /// Place as tcpdump prints it, from the first octet seen.
    pub fn place(&self, position: u64) -> u64 {
        position.saturating_sub(self.data().first_position())
    }

    /// Time since the first packet.
    pub fn since_start(&self, at: Instant) -> Duration {
        at.saturating_since(self.start)
    }

    pub fn rounds_with(&self, state: State) -> impl Iterator<Item = usize> + '_ {
        (0..self.rounds.len()).filter(move |index| !self.rounds[*index].spent_in(state).is_zero())
    }
}

/// What a capture at another place, nearer to the receiver, adds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Other<'a> {
    /// The same direction as it was lived there.
    pub trail: &'a Trail,
    pub between: &'a Between,
}

/// Whether a hole left no place in time; see [`Case::is_tight`].
fn hole(trail: &Trail, gap: &Gap, mss: u64, base: Duration) -> Option<bool> {
    let spacing = &trail.data_spacing;
    if spacing.is_close(gap.octets, gap.wait) {
        return Some(true);
    }
    let missing = (gap.end - gap.start).div_ceil(mss.max(1)) as f64;
    let places = spacing.places(gap.octets, gap.wait);
    let is_exact = (places - missing - 1.0).abs() <= 0.25 + missing / 16.0;
    let was_idle = gap.train <= 2 * mss && gap.wait * 2 <= base;
    (is_exact || was_idle).then_some(false)
}

/// What was acknowledged of a direction, a position.
pub(crate) fn acked_to(data: &Direction) -> u64 {
    data.acked_position().unwrap_or(data.first_position())
}

/// How much longer than at its shortest one way took, round by round.
pub(crate) struct OneWay {
    late: Vec<Option<Duration>>,
    /// How fine the clock is by which that is known.
    tick: Duration,
}

/// The other side.
pub(crate) const fn other(side: Side) -> Side {
    match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    }
}

fn rate_of(round: &Round) -> f64 {
    let idle = round.spent_in(State::Idle) + round.spent_in(State::Opening);
    let time = round.length().saturating_sub(idle).as_secs_f64();
    if time > 0.0 {
        round.acked as f64 / time
    } else {
        0.0
    }
}

/// How much longer than at its shortest the way to here took in each round: the
/// time that passed here less that which passed on the clock of the host.
fn one_way(rounds: &[Round], stamp: fn(&Round) -> Option<Stamp>) -> OneWay {
    let mut way = OneWay {
        late: alloc::vec![None; rounds.len()],
        tick: Duration::ZERO,
    };
    let mut stamps = rounds.iter().filter_map(stamp);
    let (Some(first), Some(last)) = (stamps.next(), stamps.next_back()) else {
        return way;
    };
    let ticks = last.val.wrapping_sub(first.val);
    let passed = last.at.saturating_since(first.at).as_nanos() as f64;
    if ticks < 20 {
        return way;
    }
    // Clocks tick in round numbers; the queue at either end is no tick.
    let tick = round_tick(passed / f64::from(ticks));
    let late = |one: Stamp| {
        let here = one.at.saturating_since(first.at).as_nanos() as f64;
        here - f64::from(one.val.wrapping_sub(first.val)) * tick
    };
    let all = rounds.iter().filter_map(stamp).map(late);
    let least = all.fold(f64::MAX, f64::min);
    for (place, round) in way.late.iter_mut().zip(rounds) {
        *place = stamp(round).map(|one| Duration::from_nanos((late(one) - least) as u64));
    }
    way.tick = Duration::from_nanos(tick as u64);
    way
}

/// The usual length of a tick that is nearest: 1, 4 or 10 ms, or as measured. A
/// queue that grows all the time makes ticks seem longer than they are.
fn round_tick(measured: f64) -> f64 {
    [1e6, 4e6, 1e7]
        .into_iter()
        .find(|usual| (0.85..1.6).contains(&(measured / usual)))
        .unwrap_or(measured)
}

/// The whole path's round trip in that round.
fn round_trip(round: &Round, view: View, turn: Option<Duration>) -> Option<Duration> {
    let trip = if round.trip.count >= 8 {
        round.trip.mean()?
    } else {
        round.trip.least?
    };
    Some(match view {
        View::Sender | View::Unknown => trip,
        View::Receiver | View::Middle => trip + round.turn.least.or(turn).unwrap_or_default(),
    })
}

/// As a rate.
pub(crate) fn rate(octets_per_second: f64) -> Rate {
    Rate::from_bps((octets_per_second * 8.0) as u64)
}
