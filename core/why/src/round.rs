//! A round: the interval from a byte's sending to its acknowledgment, as the sender experienced it.
//!
//! A connection keeps at most [`MAX_ROUNDS`]. If there are more, neighbors are merged, so that
//! memory is flat and no time is missing from the account; only detail is lost.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::packed::{Packed, rounds};
use crate::samples::coarse;
pub(crate) use crate::samples::{Extremes, Samples, Spread, Stamp};

/// Maximum number of rounds of one direction.
pub const MAX_ROUNDS: usize = 512;

/// State of a sender, as far as it is visible, without the cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// The handshake is not over, or nothing was sent since.
    Opening,
    /// Nothing is in flight, and the window is open.
    Idle,
    /// All of the window advertised by the receiver is in flight.
    Window,
    /// A retransmission timer runs, without other activity.
    Timeout,
    /// Loss recovery is in progress.
    Recovery,
    /// As much is in flight as in the recent past.
    Full,
    /// Clearly less is in flight than in the recent past; there is room for more.
    Slack,
    /// All data was sent.
    Closing,
}

/// Number of states.
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
    /// One round, or several neighbors merged.
    ///
    /// A new field is one line here: its type, the function that merges it with that of the next
    /// round, and its base, if any, from which the difference is packed.
    pub(crate) struct Round {
        /// Beginning; `end` is the end.
        pub start: Instant;
        pub spent: [Duration; STATES], merge each;
        /// Time in which data was in flight and nothing came back, four times as long as the RTT is
        /// without it, until an ACK did.
        pub held: Duration, merge sum;
        /// Longest time during recovery in which neither side sent anything.
        pub quiet: Duration, merge most;
        /// Bytes sent for the first time.
        pub sent: u64, merge sum;
        /// Bytes acknowledged.
        pub acked: u64, merge sum, near sent;
        /// Packets with new data.
        pub segments: u64, merge sum;
        /// Bytes of new data released directly by an acknowledgment.
        pub clocked: u64, merge sum;
        /// Gaps between acknowledgments that are close together, in nanoseconds, and the bytes that
        /// each acknowledged.
        pub ack_gaps: Spread, merge spread;
        pub ack_sizes: Spread, merge spread;
        /// Maximum bytes in flight.
        pub flight: u64, merge most, near sent;
        /// Time from data to its ACK, at the capture point.
        pub trip: Samples, merge samples;
        /// Time from an ACK to the data it released, at the capture point.
        pub turn: Samples, merge samples;
        /// The first new timestamp of acknowledgments and of data, and when it passed.
        pub ack_stamp: Option<Stamp>, merge first, near start;
        pub data_stamp: Option<Stamp>, merge first, near start;
        /// The smallest and the largest window. In bytes, or as advertised if the window scale is
        /// unknown.
        pub window: Option<(u64, u64)>, merge windows;
        /// Bytes and time of data packets that are back to back.
        pub train_octets: u64, merge sum;
        pub train_time: Duration, merge sum;
        /// Acknowledgments.
        pub acks: u64, merge sum;
        /// Bytes acknowledged by acknowledgments that are close together, and their time.
        pub ack_train_octets: u64, merge sum;
        pub ack_train_time: Duration, merge sum;
        /// Time per byte between data packets within trains, in ns.
        pub send_gaps: Spread, merge spread;
        /// Rate from the start of each burst to the start of the next, in bytes/s. It varies by
        /// less than a tenth with a shaper or pacing at one rate.
        pub burst_rate: Spread, merge spread;
        /// Sum of the advertised windows, in the same unit, and number of them.
        pub window_sum: u64, merge sum;
        pub windows: u64, merge sum, near acks;
        /// Minimum flight just after an ACK, in bytes.
        pub flight_low: Option<u64>, merge least, near flight;
        /// Integral of the flight over time, in bytes times seconds.
        pub flight_time: f32, merge sum;
        /// Maximum bytes that one ACK acknowledged.
        pub acked_per_ack_max: u64, merge most;
        /// Lateness of data by the sender's timestamp clock, in us. It is above that of the first
        /// timestamp; `None` until the tick of the clock is known.
        pub data_late: Option<Extremes>, merge widen;
        /// Packets of new data that are no multiple of a full segment.
        pub small: u64, merge sum;
        /// Gaps that showed at the capture point.
        pub gaps: u64, merge sum;
        /// Packets of new data that arrived immediately after the previous one. No acknowledgment
        /// had just released them; the mean distance is the reference.
        pub bunched: u64, merge sum;
        /// Pauses between segments that no acknowledgment ended, and those that one ended.
        pub free_starts: u64, merge sum;
        pub clocked_starts: u64, merge sum;
        /// Time in which all written data had been sent and acknowledgments released nothing. A
        /// short segment or a silence shows that.
        pub dry: Duration, merge sum;
        /// Retransmitted segments.
        pub again: u64, merge sum;
        /// Retransmissions that were proven spurious.
        pub spurious: u64, merge sum;
        /// Idle time, by its end. Until the peer sent data; from then until this side did; ended by
        /// this side with new data and no request; ended with acknowledged data.
        pub idle_peer: Duration, merge sum;
        pub idle_own: Duration, merge sum;
        pub idle_free: Duration, merge sum;
        pub idle_again: Duration, merge sum;
        /// Packets that the sender made and that did not pass here, by IPv4 identification.
        pub missing: u64, merge sum;
        /// Those of the missing packets that precede a packet that ended an idle time.
        pub hidden: u64, merge sum;
        /// Packets overtaken on the path.
        pub late: u64, merge sum;
        /// Longest stall of the right window edge while data was acknowledged. Up to the end of the
        /// round.
        pub still: Duration, merge most;
        /// Duplicate ACKs.
        pub duplicates: u64, merge sum;
        /// Congestion marks, or their echoes.
        pub marks: u64, merge sum;
        /// ACKs that advertise a zero window, and time until the next that does not.
        pub zero_windows: u64, merge sum;
        pub zero_time: Duration, merge sum;
        /// Data packets with CE; ACKs with ECE; data packets with CWR.
        pub ce: u64, merge sum;
        pub ece: u64, merge sum;
        pub cwr: u64, merge sum;
        /// ACKs with SACK blocks while SACK reports a gap.
        pub sack_acks: u64, merge sum;
        /// ACKs within [`ACK_BURST`](crate::sender_view::ACK_BURST) of the previous one.
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

    /// Time in which the sender was active.
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

    /// Reduces the precision of figures, once the round is over, so that they pack well.
    pub const fn round_off(&mut self) {
        self.ack_gaps.round();
        self.ack_sizes.round();
        self.send_gaps.round();
        self.burst_rate.round();
        self.flight_time = coarse(self.flight_time);
    }
}

/// Rules for merging a field with that of the next round.
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
        *mine = [*mine, *theirs].into_iter().flatten().min();
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

    /// Spans the extremes of both.
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

/// Maximum number of rounds that are not packed: many connections have no more than these.
const UNPACKED: usize = 5;

/// Maximum number of unpacked rounds of a connection that has had more.
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
        // A round is large: reserve little more than is needed.
        if self.whole.len() == self.whole.capacity() {
            self.whole.reserve_exact(2);
        }
        self.whole.push(*round);
    }

    /// Discards all rounds, and keeps their memory for others.
    pub fn clear(&mut self) {
        self.packed = Packed::default();
        self.whole.clear();
        self.whole.shrink_to(UNPACKED);
    }

    /// Unpacks all rounds, after the last one was added.
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

    /// Merges neighbors. A round with a long stall or a loss recovery stays separate if its
    /// neighbor has none: it is the interesting one.
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

    /// All rounds, after [`Self::finish`].
    pub fn as_slice(&self) -> &[Round] {
        &self.whole
    }
}

impl Round {
    /// State that took most of it.
    pub fn kind(&self) -> State {
        State::ALL
            .into_iter()
            .max_by_key(|state| self.spent_in(*state))
            .unwrap_or(State::Full)
    }
}
