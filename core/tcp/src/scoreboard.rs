//! Scoreboard: data in flight and its state.
//!
//! RFC 6675 sections 2 to 4 on ranges instead of segments. Three facts make its cost independent
//! of the number of segments in flight:
//!
//! * Octets are sent for the first time in sequence order, so the log of first transmissions is a
//!   queue: an acknowledgment pops its front.
//! * "SACKed", "lost and not yet retransmitted" and "retransmitted" are sets of ranges; their size
//!   is the number of gaps.
//! * `IsLost` is monotone: everything not SACKed below one edge is lost. The edge depends only on
//!   the highest `DupThresh` SACKed ranges. RACK's detection by time is monotone in the same way
//!   (`by_time`).
//!
//! So `pipe` requires no iteration:
//!
//! > pipe = flight size - SACKed - (lost and not retransmitted)
//!
//! An octet retransmitted before it was marked lost (rules 3 and 4 of `NextSeg`) is in flight
//! twice. RFC 6675's `SetPipe` counts it twice. Here `pipe` counts it once, so that it never
//! exceeds the flight size; [`Scoreboard::twice`] has the rest, and a sender adds the two.
//!
//! This file holds the state and its sending side. One file per mechanism:
//!
//! | file | mechanism |
//! |---|---|
//! | `acknowledgment` | acknowledgments and SACK blocks |
//! | `revealed` | new information from one acknowledgment |
//! | `duplicate_credit` | duplicate acknowledgments without SACK |
//! | `lost`, `by_time` | loss by SACK or a timeout; by RACK |
//! | `next_segment` | data to retransmit |
//! | `delivery_rate` | delivery rate samples |

mod acknowledgment;
mod by_time;
mod delivery_rate;
mod duplicate_credit;
mod lost;
mod next_segment;
mod revealed;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_units::Instant;

use crate::lazy::{Lazy, Untouched};
use crate::range_set::RangeSet;
use crate::retransmissions::Retransmissions;

pub use by_time::Overdue;
pub use delivery_rate::SendState;
pub use revealed::Revealed;

/// One transmission of octets never sent before.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    start: u64,
    end: u64,
    /// Number among all transmissions.
    number: u64,
    state: SendState,
}

const _: () = assert!(
    size_of::<Transmission>() <= 72,
    "the flight is as long as the window is wide"
);

/// Data in flight: SACKed, lost and retransmitted ranges, and `pipe`.
#[derive(Clone, Debug)]
pub struct Scoreboard {
    una: u64,
    nxt: u64,
    flight: VecDeque<Transmission>,
    /// Number of transmissions so far, first or not.
    departures: u64,
    /// Marks of octets in flight; unallocated while no packet is missing.
    marks: Lazy<Marks>,
    /// Everything not SACKed below this offset has been marked lost once.
    lost_edge: u64,
    /// Octets presumed to have left by duplicate ACKs without SACK.
    duplicate_credit: u64,
    /// Octets by which partial ACKs deflated the window beyond that.
    deflated: u64,
    /// Total octets marked lost, counted again for each repeated loss.
    lost_so_far: u64,
    /// Total octets delivered, cumulatively or selectively acknowledged.
    delivered: u64,
    delivered_at: Instant,
    /// Start of the sending interval for the next transmissions.
    first_sent_at: Instant,
    /// Value of `delivered` at which the application-limited interval ends.
    app_limited_until: u64,
}

/// Marked octets in flight.
#[derive(Clone, Default, Debug)]
struct Marks {
    sacked: RangeSet,
    /// Marked lost and not retransmitted since.
    lost: RangeSet,
    /// Retransmitted at least once and not delivered since (Karn).
    retransmitted: Retransmissions,
    /// Retransmitted, and neither delivered nor marked lost since.
    resent: RangeSet,
    /// Retransmitted though not marked lost, before or since.
    twice: RangeSet,
    /// Marked lost and not yet reported.
    newly_lost: Vec<Range<u64>>,
}

impl Untouched for Marks {
    const UNTOUCHED: &'static Self = &Self {
        sacked: RangeSet::new(),
        lost: RangeSet::new(),
        retransmitted: Retransmissions::new(),
        resent: RangeSet::new(),
        twice: RangeSet::new(),
        newly_lost: Vec::new(),
    };
}

impl Marks {
    /// Notes that `range` was lost, perhaps again. Returns the octets newly marked.
    fn mark_lost(&mut self, range: Range<u64>) -> u64 {
        self.resent.remove(range.clone());
        self.lost.insert(range)
    }

    /// Clears all marks of lost octets: retransmissions of them are in flight.
    fn clear_lost(&mut self) {
        self.lost.clear();
        for range in self.retransmitted.ranges() {
            self.resent.insert(range);
        }
    }

    /// Octets of `resent`, from the sets that define it. Iterates over all retransmitted ranges.
    fn resent_walked(&self) -> u64 {
        let standing = self.retransmitted.ranges();
        let standing = standing.flat_map(|range| self.lost.gaps(range));
        standing.map(|range| range.end - range.start).sum()
    }
}

impl Scoreboard {
    /// A scoreboard with nothing in flight.
    pub fn new() -> Self {
        Self {
            una: 0,
            nxt: 0,
            flight: VecDeque::new(),
            departures: 0,
            marks: Lazy::default(),
            lost_edge: 0,
            duplicate_credit: 0,
            deflated: 0,
            lost_so_far: 0,
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            app_limited_until: 0,
        }
    }

    /// Octets estimated to be in the network.
    #[inline]
    pub fn pipe(&self) -> u64 {
        let known = self.marks.touched();
        let gone = known.map_or(0, |marks| marks.sacked.total() + marks.lost.total());
        debug_assert!(
            gone <= self.nxt - self.una,
            "{gone} octets SACKed or lost, of {} in flight (RFC 6675 section 4, SetPipe)",
            self.nxt - self.una
        );
        let outstanding = self.nxt - self.una - gone;
        outstanding.saturating_sub(self.duplicate_credit)
    }

    /// Whether exactly the octets of `flight` are in flight.
    pub(crate) fn in_flight_is(&self, flight: Range<u64>) -> bool {
        (self.una..self.nxt) == flight
    }

    /// Octets probably in the network a second time: see the module header.
    #[inline]
    pub fn twice(&self) -> u64 {
        self.marks.touched().map_or(0, |marks| marks.twice.total())
    }

    /// Whether nothing is in flight.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.una == self.nxt
    }

    /// Send time of the oldest first transmission in flight.
    pub fn first_in_flight_left(&self) -> Option<Instant> {
        self.flight.front().map(|sent| sent.state.sent_at)
    }

    /// Octets SACKed and not yet acknowledged cumulatively.
    #[inline]
    pub fn sacked(&self) -> u64 {
        self.marks.touched().map_or(0, |marks| marks.sacked.total())
    }

    /// Octets retransmitted, not found lost since and not known to be delivered.
    pub fn retransmitted(&self) -> u64 {
        let resent = self.marks.resent.total();
        debug_assert!(
            resent == self.marks.resent_walked(),
            "{resent} octets counted as retransmitted, {} on the scoreboard",
            self.marks.resent_walked()
        );
        resent
    }

    /// Octets found lost and not known to be delivered since, retransmitted or not.
    pub fn lost_in_all(&self) -> u64 {
        // Data retransmitted without having been found lost is not a loss.
        self.marks.lost.total() + self.retransmitted().saturating_sub(self.twice())
    }

    /// Total octets delivered, cumulatively or selectively acknowledged.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Notes that octets from SND.NXT up to `end` leave for the first time.
    pub fn on_transmit(&mut self, now: Instant, end: u64) {
        debug_assert!(
            end > self.nxt,
            "SND.NXT moves from {} back to {end}",
            self.nxt
        );
        let last = self.flight.back().map(|sent| sent.state.sent_at);
        debug_assert!(
            last.is_none_or(|last| last <= now),
            "a departure at {now:?}, after one at {last:?}"
        );
        let start = core::mem::replace(&mut self.nxt, end);
        // Duplicates without SACK may stand for more octets than had left.
        let in_flight = self.in_flight().max(end - start);
        let sent = Transmission {
            start,
            end,
            number: self.next_departure(),
            state: self.send_state(now, in_flight, in_flight <= end - start),
        };
        self.flight.push_back(sent);
        self.assert_invariants();
    }

    /// Asserts the invariants in O(log n). First transmissions are exactly the data in flight, and
    /// all marks are on data in flight.
    pub(crate) fn assert_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let flight = self.una..self.nxt;
        debug_assert!(self.una <= self.nxt, "SND.UNA <= SND.NXT: {flight:?}");
        let front = self.flight.front().map_or(self.una, |sent| sent.start);
        let back = self.flight.back().map_or(self.una, |sent| sent.end);
        debug_assert!(
            (front..back) == flight,
            "first transmissions are {front}..{back}, in flight is {flight:?}"
        );
        let Some(marks) = self.marks.touched() else {
            return;
        };
        let is_in_flight = |set: &RangeSet| {
            set.first().is_none_or(|first| first.start >= self.una)
                && set.last().is_none_or(|last| last.end <= self.nxt)
        };
        debug_assert!(
            is_in_flight(&marks.sacked),
            "SACKed is {:?}..{:?}, in flight {flight:?}",
            marks.sacked.first(),
            marks.sacked.last()
        );
        debug_assert!(
            is_in_flight(&marks.lost),
            "lost is {:?}..{:?}, in flight {flight:?}",
            marks.lost.first(),
            marks.lost.last()
        );
        debug_assert!(
            is_in_flight(&marks.twice),
            "sent twice is {:?}..{:?}, in flight {flight:?}",
            marks.twice.first(),
            marks.twice.last()
        );
        let gone = marks.sacked.total() + marks.lost.total();
        debug_assert!(
            gone <= self.nxt - self.una,
            "SACKed and lost octets are others: {gone} of {flight:?}"
        );
        debug_assert!(
            self.lost_edge <= self.nxt,
            "lost is what lies below {}, sent what lies below {}",
            self.lost_edge,
            self.nxt
        );
        debug_assert!(
            marks.retransmitted.is_empty() || self.una < self.nxt,
            "retransmitted octets stand on the scoreboard of an empty flight"
        );
    }

    /// Notes that octets of `range`, sent before, leave again.
    pub fn on_retransmit(&mut self, now: Instant, range: Range<u64>) {
        debug_assert!(
            self.una <= range.start && range.start < range.end && range.end <= self.nxt,
            "{range:?} leaves again, in flight is {}..{}",
            self.una,
            self.nxt
        );
        let is_first = self.in_flight() == 0;
        let marks = self.marks.make();
        if marks.lost.remove(range.clone()) == 0 {
            marks.twice.insert(range.clone());
        }
        marks.resent.insert(range.clone());
        let number = self.next_departure();
        let in_flight = self.in_flight().max(range.end - range.start);
        let state = self.send_state(now, in_flight, is_first);
        self.marks.retransmitted.on_retransmit(range, number, state);
        self.assert_invariants();
    }

    /// Number of transmissions so far, which is also the next one's number.
    #[inline]
    pub fn departures(&self) -> u64 {
        self.departures
    }

    fn next_departure(&mut self) -> u64 {
        let number = self.departures;
        self.departures += 1;
        number
    }

    /// End of everything known to be delivered.
    #[inline]
    pub fn highest_delivered(&self) -> u64 {
        let last = self.marks.touched().and_then(|marks| marks.sacked.last());
        last.map_or(self.una, |last| last.end)
    }

    /// Whether any octet was retransmitted and is not known to be delivered.
    #[inline]
    pub fn has_retransmissions(&self) -> bool {
        let marks = self.marks.touched();
        marks.is_some_and(|marks| !marks.retransmitted.is_empty())
    }

    /// Number of separate SACKed ranges.
    pub fn sacked_ranges(&self) -> usize {
        self.marks.sacked.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    const MSS: u32 = 10;

    /// One flag set per segment, as a kernel's list of buffers would keep it.
    #[derive(Clone, Copy, Default, Debug)]
    struct Naive {
        sacked: bool,
        lost: bool,
        retransmitted: bool,
    }

    struct Model {
        una: usize,
        segments: Vec<Naive>,
        marked_below: usize,
    }

    impl Model {
        fn pipe(&self) -> u64 {
            let in_pipe = |s: &&Naive| !s.sacked && (!s.lost || s.retransmitted);
            self.segments[self.una..].iter().filter(in_pipe).count() as u64 * u64::from(MSS)
        }

        /// Outstanding octets that are not SACKed and satisfy `is_such`.
        fn octets(&self, is_such: impl Fn(&Naive) -> bool) -> u64 {
            let outstanding = self.segments[self.una..].iter();
            outstanding.filter(|s| !s.sacked && is_such(s)).count() as u64 * u64::from(MSS)
        }

        /// `IsLost` of RFC 6675, segment by segment.
        fn mark(&mut self) {
            for at in self.una.max(self.marked_below)..self.segments.len() {
                let above = &self.segments[at + 1..];
                let octets = above.iter().filter(|s| s.sacked).count() as u32 * MSS;
                let ranges = (0..above.len())
                    .filter(|&i| above[i].sacked && (i == 0 || !above[i - 1].sacked))
                    .count();
                if (ranges >= 3 || octets > 2 * MSS) && !self.segments[at].sacked {
                    let segment = &mut self.segments[at];
                    if !segment.retransmitted {
                        segment.lost = true;
                    }
                }
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Send(u8),
        Sack(usize, usize),
        Ack(usize),
        Retransmit,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (1..8_u8).prop_map(Step::Send),
            (0..40_usize, 1..5_usize).prop_map(|(at, n)| Step::Sack(at, n)),
            (0..12_usize).prop_map(Step::Ack),
            Just(Step::Retransmit),
        ]
    }

    proptest! {
        #[test]
        fn retransmitted_after_any_marks_equals_a_walk(
            steps in prop::collection::vec((0..8_u8, 0..40_u64, 1..8_u64), 1..100),
        ) {
            let mut board = Scoreboard::new();
            for (kind, at, len) in steps {
                let mut revealed = Revealed::default();
                let start = (board.una + at * 5).min(board.nxt);
                let end = (start + len * 5).min(board.nxt);
                match kind {
                    0 => board.on_transmit(Instant::ZERO, board.nxt + len * 10),
                    1 if start < end => board.on_sack(start..end, &mut revealed),
                    2 => board.on_ack(start, &mut revealed),
                    3 if start < end && !board.marks.sacked.intersects(start..end) => {
                        board.on_retransmit(Instant::ZERO, start..end);
                    }
                    4 => _ = board.mark_lost_within(start..end),
                    5 => _ = board.mark_lost_by_sack(3, MSS),
                    6 => _ = board.mark_all_lost(),
                    7 => board.forget_losses(),
                    _ => {}
                }
                prop_assert_eq!(board.retransmitted(), board.marks.resent_walked());
            }
        }

        #[test]
        fn agrees_with_a_list_of_segments(steps in prop::collection::vec(step(), 1..120)) {
            let mss = u64::from(MSS);
            let mut board = Scoreboard::new();
            let mut model = Model { una: 0, segments: vec![], marked_below: 0 };
            for step in steps {
                let mut revealed = Revealed::default();
                match step {
                    Step::Send(n) => {
                        let sent = model.segments.len() + usize::from(n);
                        model.segments.resize(sent, Naive::default());
                        board.on_transmit(Instant::ZERO, sent as u64 * mss);
                    }
                    Step::Sack(at, n) => {
                        let from = model.una + at;
                        let to = (from + n).min(model.segments.len());
                        if from < to {
                            model.segments[from..to].iter_mut().for_each(|s| s.sacked = true);
                            board.on_sack(from as u64 * mss..to as u64 * mss, &mut revealed);
                        }
                    }
                    Step::Ack(n) => {
                        model.una = (model.una + n).min(model.segments.len());
                        board.on_ack(model.una as u64 * mss, &mut revealed);
                    }
                    Step::Retransmit => {
                        let first = (model.una..model.segments.len()).find(|&i| {
                            let s = model.segments[i];
                            s.lost && !s.sacked && !s.retransmitted
                        });
                        let start = board.first_lost().map(|range| range.start);
                        prop_assert_eq!(start, first.map(|i| i as u64 * mss));
                        if let Some(i) = first {
                            model.segments[i].retransmitted = true;
                            board.on_retransmit(Instant::ZERO, i as u64 * mss..(i as u64 + 1) * mss);
                        }
                    }
                }
                model.mark();
                board.mark_lost_by_sack(3, MSS);
                prop_assert_eq!(board.pipe(), model.pipe());
                prop_assert_eq!(board.retransmitted(), model.octets(|s| s.retransmitted));
                prop_assert_eq!(board.lost_in_all(), model.octets(|s| s.lost));
            }
        }
    }
}
