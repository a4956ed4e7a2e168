//! A round: what happened from one octet leaving to its acknowledgment, as the
//! sender lived it.
//!
//! A connection keeps at most [`MAX_ROUNDS`]. When there are more, neighbors
//! become one, so that memory is flat and no time is lost from the account;
//! what is lost is detail.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::packed::{Packed, rounds};
use crate::samples::coarse;
pub(crate) use crate::samples::{Extremes, Samples, Spread, Stamp};

/// Rounds kept of one direction.
pub const MAX_ROUNDS: usize = 512;

/// What a sender waits for: what is visible of it, without the cause.
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
    /// As much is in flight as ever lately.
    Full,
    /// Clearly less is in flight than lately, and there is room for more.
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

const _: () = {
    let mut place = 0;
    while place < STATES {
        assert!(
            State::ALL[place] as usize == place,
            "times of states are found by their place"
        );
        place += 1;
    }
};

rounds! {
    /// One round, or several neighbors.
    ///
    /// A new field is one line here: its type, by which function it takes in that
    /// of the next round, and what it is near to, if anything, so that it is packed as
    /// the difference.
    pub(crate) struct Round {
        /// From here to `end`.
        pub start: Instant;
        pub spent: [Duration; STATES], merge each;
        /// Octets sent for the first time.
        pub sent: u64, merge sum;
        /// Octets acknowledged.
        pub acked: u64, merge sum, near sent;
        /// Packets with new data.
        pub segments: u64, merge sum;
        /// Octets of new data that left as the direct answer to an acknowledgment.
        pub clocked: u64, merge sum;
        /// Gaps between acknowledgments that follow closely, in nanoseconds, and how
        /// many octets each acknowledged.
        pub ack_gaps: Spread, merge spread;
        pub ack_sizes: Spread, merge spread;
        /// The most in flight.
        pub flight: u64, merge most, near sent;
        /// From data to its ACK, at the capture point.
        pub trip: Samples, merge samples;
        /// From an ACK to the data it released, at the capture point.
        pub turn: Samples, merge samples;
        /// The first new timestamp of acknowledgments and of data, and when it
        /// passed.
        pub ack_stamp: Option<Stamp>, merge first, near start;
        pub data_stamp: Option<Stamp>, merge first, near start;
        /// The smallest and the largest window: in bytes, or as advertised where the window
        /// scale is unknown.
        pub window: Option<(u64, u64)>, merge windows;
        /// Bytes and time of data packets that are back to back.
        pub train_octets: u64, merge sum;
        pub train_time: Duration, merge sum;
        /// Acknowledgments.
        pub acks: u64, merge sum;
        /// Octets that acknowledgments which follow closely acknowledged, and their time.
        pub ack_train_octets: u64, merge sum;
        pub ack_train_time: Duration, merge sum;
        /// Time per byte between data packets within trains, in ns.
        pub send_gaps: Spread, merge spread;
        /// Rate from the start of each burst to the start of the next, in bytes/s: varies
        /// by less than a tenth behind a shaper or pacing at one rate.
        pub burst_rate: Spread, merge spread;
        /// Sum of the advertised windows, in the same unit, and number of them.
        pub window_sum: u64, merge sum;
        pub windows: u64, merge sum, near acks;
        /// Min flight just after an ACK, in bytes.
        pub flight_low: Option<u64>, merge least, near flight;
        /// Integral of the flight over time, in bytes times seconds.
        pub flight_time: f32, merge sum;
        /// Max bytes that one ACK acknowledged.
        pub acked_per_ack_max: u64, merge most;
        /// Arrival at the capture point minus the host's timestamp clock, in us, above
        /// that of the first timestamp: of data and of ACKs. `None` until the tick of the
        /// clock is known.
        pub data_late: Option<Extremes>, merge widen;
        pub ack_late: Option<Extremes>, merge widen;
        /// Packets of new data smaller than a full segment.
        pub small: u64, merge sum;
        /// Packets of new data with PSH that end in less than a full segment: behind
        /// them nothing waits to be sent.
        pub pushed: u64, merge sum;
        /// All packets of new data with PSH.
        pub marked: u64, merge sum;
        /// Packets of new data that end in less than a full segment, with PSH or without.
        pub ended: u64, merge sum, near pushed;
        /// Holes that showed themselves.
        pub gaps: u64, merge sum;
        /// Packets of new data that no acknowledgment released just before, and that
        /// came at once with the one before, for how they come on average.
        pub bunched: u64, merge sum;
        /// Pauses between segments that ended without an acknowledgment to end
        /// them, and those that one ended.
        pub free_starts: u64, merge sum;
        pub clocked_starts: u64, merge sum;
        /// Time in which all that was written had been sent, as a short segment or silence tells,
        /// and acknowledgments released nothing.
        pub dry: Duration, merge sum;
        /// Retransmitted segments.
        pub again: u64, merge sum;
        /// Retransmissions that are proven spurious.
        pub spurious: u64, merge sum;
        /// Idle time until the peer sent data; from then until this side did; time that this
        /// side ended with new data and no request; and with what had been acknowledged.
        pub idle_peer: Duration, merge sum;
        pub idle_own: Duration, merge sum;
        pub idle_free: Duration, merge sum;
        pub idle_again: Duration, merge sum;
        /// Packets that the sender made and that did not pass here, by IPv4 identification.
        pub missing: u64, merge sum;
        /// Of those, the ones before a packet that ended an idle time.
        pub hidden: u64, merge sum;
        /// Packets overtaken on the way.
        pub late: u64, merge sum;
        /// How long the right edge of the window stood still although data was
        /// acknowledged, up to the end of the round.
        pub still: Duration, merge most;
        /// Duplicate ACKs; window updates.
        pub duplicates: u64, merge sum;
        pub updates: u64, merge sum;
        /// Marks of congestion, or their echoes.
        pub marks: u64, merge sum;
        /// ACKs that advertise a zero window, and time until the next that does not.
        pub zero_windows: u64, merge sum;
        pub zero_time: Duration, merge sum;
        /// Data packets with CE; ACKs with ECE; data packets with CWR.
        pub ce: u64, merge sum;
        pub ece: u64, merge sum;
        pub cwr: u64, merge sum;
        /// ACKs with SACK blocks.
        pub sack_acks: u64, merge sum;
        /// ACKs within [`ACK_BURST`](crate::sender_view::ACK_BURST) of the one before.
        pub ack_bursts: u64, merge sum;
    }
}

impl Round {
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
        self.window_sum += window;
        self.windows += 1;
    }

    /// Mean flight over time, in bytes.
    pub fn flight_mean(&self) -> Option<f64> {
        let length = self.length().as_secs_f64();
        (length > 0.0).then(|| f64::from(self.flight_time) / length)
    }

    /// Mean advertised window, in the unit of `window`.
    pub fn window_mean(&self) -> Option<u64> {
        self.window_sum.checked_div(self.windows)
    }

    /// Rounds what is kept in few bits, once the round is over.
    pub const fn round_off(&mut self) {
        self.ack_gaps.round();
        self.ack_sizes.round();
        self.send_gaps.round();
        self.burst_rate.round();
        self.flight_time = coarse(self.flight_time);
    }
}

/// Rules by which a field takes in that of the next round.
mod merge {
    use core::ops::AddAssign;

    use super::{Extremes, Samples, Spread};

    pub(super) fn sum<T: AddAssign + Copy>(mine: &mut T, theirs: &T) {
        *mine += *theirs;
    }

    pub(super) fn each<T: AddAssign + Copy, const N: usize>(mine: &mut [T; N], theirs: &[T; N]) {
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine += *theirs;
        }
    }

    pub(super) fn most<T: Ord + Copy>(mine: &mut T, theirs: &T) {
        *mine = (*mine).max(*theirs);
    }

    pub(super) fn least<T: Ord + Copy>(mine: &mut Option<T>, theirs: &Option<T>) {
        *mine = match (*mine, *theirs) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
    }

    pub(super) fn first<T: Copy>(mine: &mut Option<T>, theirs: &Option<T>) {
        *mine = mine.or(*theirs);
    }

    pub(super) fn spread(mine: &mut Spread, theirs: &Spread) {
        mine.merge(theirs);
    }

    pub(super) fn samples(mine: &mut Samples, theirs: &Samples) {
        mine.merge(theirs);
    }

    /// Everything between the extremes of both.
    pub(super) fn widen(mine: &mut Option<Extremes>, theirs: &Option<Extremes>) {
        if let Some(Extremes { least, most }) = *theirs {
            Extremes::widen(mine, least);
            Extremes::widen(mine, most);
        }
    }

    pub(super) fn windows(mine: &mut Option<(u64, u64)>, theirs: &Option<(u64, u64)>) {
        *mine = match (*mine, *theirs) {
            (Some(mine), Some(theirs)) => Some((mine.0.min(theirs.0), mine.1.max(theirs.1))),
            (mine, theirs) => mine.or(theirs),
        };
    }
}

/// The rounds of one direction, oldest first.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rounds {
    packed: Packed,
    /// The latest; all of them, once there are no more.
    whole: Vec<Round>,
}

/// Rounds that are not packed yet: many connections have no more than these.
const UNPACKED: usize = 5;

/// The same of a connection that has had more.
const UNPACKED_LATER: usize = 2;

impl Rounds {
    pub fn push(&mut self, round: &Round) {
        debug_assert_eq!(
            round
                .spent
                .iter()
                .fold(Duration::ZERO, |sum, spent| sum + *spent),
            round.length(),
            "the states of a round take all its time: {:?}",
            round.spent
        );
        debug_assert!(
            self.whole.last().is_none_or(|last| last.end <= round.start),
            "rounds come in the order of time"
        );
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

    /// Neighbors become one. A round with a long stillness or a repair stays
    /// by itself where its neighbor has none: it is the one that is requested.
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
        debug_assert!(
            merged.len() < MAX_ROUNDS
                && merged.iter().map(|round| round.count).sum::<u64>()
                    == all.iter().map(|round| round.count).sum::<u64>(),
            "merging makes room and loses no round: {} of {}",
            merged.len(),
            all.len()
        );
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
