//! A round: what happened from one octet leaving to its acknowledgment, as the
//! sender lived it.
//!
//! A connection keeps at most [`MAX_ROUNDS`]. When there are more, neighbours
//! become one, so that memory is flat and no time is lost from the account;
//! what is lost is detail.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::packed::Packed;

/// Rounds kept of one direction.
pub const MAX_ROUNDS: usize = 512;

/// What a sender waits for: what can be seen of it without judging why.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// The handshake is not over, or nothing has been sent since.
    Opening,
    /// Nothing is in flight, and the window is open.
    Idle,
    /// All of the window offered by the receiver is in flight.
    Window,
    /// A retransmission timer runs, and nothing else happens.
    Timeout,
    /// A loss is being repaired.
    Recovery,
    /// As much is in flight as ever of late.
    Full,
    /// Clearly less is in flight than of late, and there is room for more.
    Slack,
    /// All has been sent.
    Closing,
}

/// How many states there are.
pub const STATES: usize = 8;

impl State {
    /// Every state, in order.
    pub const ALL: [Self; STATES] = [
        Self::Opening,
        Self::Idle,
        Self::Window,
        Self::Timeout,
        Self::Recovery,
        Self::Full,
        Self::Slack,
        Self::Closing,
    ];
}

/// Least, sum and number of samples.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Samples {
    pub least: Option<Duration>,
    pub most: Duration,
    pub sum: Duration,
    pub count: u64,
}

impl Samples {
    #[inline]
    pub fn add(&mut self, sample: Duration) {
        // Most lie between those that were seen.
        if self.least.is_none_or(|least| sample < least) {
            self.least = Some(sample);
        }
        if sample > self.most {
            self.most = sample;
        }
        self.sum += sample;
        self.count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.least = match (self.least, other.least) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.most = self.most.max(other.most);
        self.sum += other.sum;
        self.count += other.count;
    }

    pub fn mean(&self) -> Option<Duration> {
        (self.count > 0).then(|| self.sum / self.count)
    }
}

/// How much samples differ.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Spread {
    pub count: f64,
    pub sum: f64,
    pub squares: f64,
}

impl Spread {
    pub fn add(&mut self, sample: f64) {
        self.count += 1.0;
        self.sum += sample;
        self.squares += sample * sample;
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Their mean, of enough samples.
    pub fn mean(&self) -> Option<f64> {
        (self.count >= 8.0).then(|| self.sum / self.count)
    }

    /// Standard deviation over mean, of enough samples.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.mean().filter(|mean| *mean > 0.0)?;
        let variance = (self.squares / self.count - mean * mean).max(0.0);
        Some(libm::sqrt(variance) / mean)
    }
}

/// A timestamp of a host's clock, and when it passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stamp {
    pub val: u32,
    pub at: Instant,
}

/// One round, or several neighbours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub start: Instant,
    pub end: Instant,
    /// Number of the first packet in it.
    pub packet: u64,
    /// How many rounds this is.
    pub count: u64,
    pub spent: [Duration; STATES],
    /// Octets sent for the first time.
    pub sent: u64,
    /// Octets acknowledged.
    pub acked: u64,
    /// Packets with new data.
    pub segments: u64,
    /// Octets of new data that left as the direct answer to an acknowledgment.
    pub clocked: u64,
    /// Packets of new data smaller than a full segment.
    pub small: u64,
    /// Packets of new data with PSH that end in less than a full segment: behind
    /// them nothing waits to be sent.
    pub pushed: u64,
    /// All packets of new data with PSH.
    pub marked: u64,
    /// Holes that showed themselves.
    pub gaps: u64,
    /// Packets of new data that no acknowledgment released just before, and that
    /// came at once with the one before, for how they come on average.
    pub bunched: u64,
    /// Pauses between segments that ended without an acknowledgment to end
    /// them, and those that one ended.
    pub free_starts: u64,
    pub clocked_starts: u64,
    /// Time in which all that was written had been sent, as PSH or silence tells,
    /// and acknowledgments released nothing.
    pub dry: Duration,
    /// Gaps between acknowledgments that follow closely, in nanoseconds, and how
    /// many octets each acknowledged.
    pub ack_gaps: Spread,
    pub ack_sizes: Spread,
    /// Segments sent again.
    pub again: u64,
    /// Segments proven to have been sent again for nothing.
    pub spurious: u64,
    /// Packets overtaken on the way.
    pub late: u64,
    /// The most in flight.
    pub flight: u64,
    /// From data to acknowledgment, at the place of capture.
    pub trip: Samples,
    /// From acknowledgment to the data it released, at the place of capture.
    pub turn: Samples,
    /// The first new timestamp of acknowledgments and of data, and when it
    /// passed.
    pub ack_stamp: Option<Stamp>,
    pub data_stamp: Option<Stamp>,
    /// How long the right edge of the window stood still although data was
    /// acknowledged, up to the end of the round.
    pub still: Duration,
    /// The smallest and the largest window.
    pub window: Option<(u64, u64)>,
    /// Octets and time of data packets that follow closely on one another.
    pub train_octets: u64,
    pub train_time: Duration,
    /// Acknowledgments; of them duplicates, window updates.
    pub acks: u64,
    pub duplicates: u64,
    pub updates: u64,
    /// Marks of congestion, or their echoes.
    pub marks: u64,
    /// The same of acknowledgments and what they acknowledged.
    pub ack_train_octets: u64,
    pub ack_train_time: Duration,
}

impl Round {
    pub fn new(start: Instant, packet: u64) -> Self {
        Self {
            start,
            end: start,
            packet,
            count: 1,
            spent: [Duration::ZERO; STATES],
            sent: 0,
            acked: 0,
            segments: 0,
            clocked: 0,
            small: 0,
            pushed: 0,
            marked: 0,
            gaps: 0,
            bunched: 0,
            free_starts: 0,
            clocked_starts: 0,
            dry: Duration::ZERO,
            ack_gaps: Spread::default(),
            ack_sizes: Spread::default(),
            again: 0,
            spurious: 0,
            late: 0,
            flight: 0,
            trip: Samples::default(),
            turn: Samples::default(),
            ack_stamp: None,
            data_stamp: None,
            still: Duration::ZERO,
            window: None,
            train_octets: 0,
            train_time: Duration::ZERO,
            acks: 0,
            duplicates: 0,
            updates: 0,
            marks: 0,
            ack_train_octets: 0,
            ack_train_time: Duration::ZERO,
        }
    }

    pub fn length(&self) -> Duration {
        self.end.saturating_since(self.start)
    }

    pub fn spent_in(&self, state: State) -> Duration {
        self.spent[state as usize]
    }

    /// Time in which the sender was at work on its transfer.
    pub fn active(&self) -> Duration {
        [State::Window, State::Recovery, State::Full, State::Slack]
            .into_iter()
            .map(|state| self.spent_in(state))
            .fold(Duration::ZERO, |sum, spent| sum + spent)
    }

    pub fn offer(&mut self, window: u64) {
        let (least, most) = self.window.unwrap_or((window, window));
        self.window = Some((least.min(window), most.max(window)));
    }

    /// The same of windows between two.
    fn offer_between(&mut self, windows: Option<(u64, u64)>) {
        if let Some((least, most)) = windows {
            self.offer(least);
            self.offer(most);
        }
    }

    /// Takes the round behind it in.
    fn merge(&mut self, other: &Self) {
        let Self {
            start: _,
            end,
            packet: _,
            count,
            spent,
            sent,
            acked,
            segments,
            clocked,
            small,
            pushed,
            marked,
            gaps,
            bunched,
            free_starts,
            clocked_starts,
            dry,
            ack_gaps,
            ack_sizes,
            again,
            spurious,
            late,
            flight,
            trip,
            turn,
            ack_stamp,
            data_stamp,
            still,
            window,
            train_octets,
            train_time,
            acks,
            duplicates,
            updates,
            marks,
            ack_train_octets,
            ack_train_time,
        } = other;
        self.end = *end;
        self.count += count;
        for (mine, theirs) in self.spent.iter_mut().zip(spent) {
            *mine += *theirs;
        }
        self.sent += sent;
        self.acked += acked;
        self.segments += segments;
        self.clocked += clocked;
        self.small += small;
        self.pushed += pushed;
        self.marked += marked;
        self.gaps += gaps;
        self.bunched += bunched;
        self.free_starts += free_starts;
        self.clocked_starts += clocked_starts;
        self.dry += *dry;
        self.ack_gaps.merge(ack_gaps);
        self.ack_sizes.merge(ack_sizes);
        self.again += again;
        self.spurious += spurious;
        self.late += late;
        self.flight = self.flight.max(*flight);
        self.trip.merge(trip);
        self.turn.merge(turn);
        self.still = self.still.max(*still);
        self.ack_stamp = self.ack_stamp.or(*ack_stamp);
        self.data_stamp = self.data_stamp.or(*data_stamp);
        self.offer_between(*window);
        self.train_octets += train_octets;
        self.train_time += *train_time;
        self.acks += acks;
        self.duplicates += duplicates;
        self.updates += updates;
        self.marks += marks;
        self.ack_train_octets += ack_train_octets;
        self.ack_train_time += *ack_train_time;
    }
}

/// The rounds of one direction, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rounds {
    packed: Packed,
    /// The latest; all of them, once there are no more.
    whole: Vec<Round>,
}

/// Rounds that are not packed yet: most connections have no more than these.
const UNPACKED: usize = 6;

/// The same of a connection that has had more.
const UNPACKED_LATER: usize = 2;

impl Rounds {
    pub fn push(&mut self, round: &Round) {
        if self.packed.len() + self.whole.len() == MAX_ROUNDS {
            self.halve();
        }
        let is_long = self.packed.len() > 0;
        if self.whole.len() == if is_long { UNPACKED_LATER } else { UNPACKED } {
            self.whole
                .drain(..)
                .for_each(|round| self.packed.push(&round));
            self.whole.shrink_to(UNPACKED_LATER);
        }
        // A round is large: little room for more than are needed.
        if self.whole.len() == self.whole.capacity() {
            self.whole.reserve_exact(2);
        }
        self.whole.push(*round);
    }

    /// Forgets all of them, and keeps the room they had for others.
    pub fn clear(&mut self) {
        self.packed = Packed::default();
        self.whole.clear();
        self.whole.shrink_to(UNPACKED);
    }

    /// There are no more.
    pub fn finish(&mut self) {
        if self.packed.len() > 0 {
            self.whole = self.all();
        }
    }

    fn all(&self) -> Vec<Round> {
        let mut all = self.packed.unpack();
        all.extend_from_slice(&self.whole);
        all
    }

    /// Neighbours become one. A round with a long stillness or a repair stays
    /// by itself where its neighbour has none: it is the one that is asked for.
    #[cold]
    fn halve(&mut self) {
        let mut merged: Vec<Round> = Vec::with_capacity(MAX_ROUNDS);
        let all = self.all();
        let mut left = all.len();
        for round in &all {
            left -= 1;
            let is_room = merged.len() + left < MAX_ROUNDS * 3 / 4;
            match merged.last_mut() {
                Some(last)
                    if last.count <= round.count.max(2) * 2
                        && (last.kind() == round.kind() || !is_room)
                        && last.count < all[0].count * 2 =>
                {
                    last.merge(round);
                }
                _ => merged.push(*round),
            }
        }
        if merged.len() > MAX_ROUNDS * 7 / 8 {
            let pairs = merged.chunks(2).map(|pair| {
                let mut first = pair[0];
                pair[1..].iter().for_each(|second| first.merge(second));
                first
            });
            merged = pairs.collect();
        }
        self.packed = Packed::default();
        self.whole.clear();
        merged.iter().for_each(|round| self.packed.push(round));
    }

    /// All of them, after [`Self::finish`].
    pub fn as_slice(&self) -> &[Round] {
        &self.whole
    }
}

impl Round {
    /// The state that took most of it.
    pub fn kind(&self) -> State {
        State::ALL
            .into_iter()
            .max_by_key(|state| self.spent_in(*state))
            .unwrap_or(State::Full)
    }
}
