//! Sending behavior: even or in bursts, clocked by ACKs or not, with a constant or a growing
//! flight.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::{Measures, per_second, quartile, ratio};
use crate::round::{Round, State};
use crate::sender_view::SenderView;

/// Measures of the sending side over the whole connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Sending {
    /// Median rate of segments that are back to back, bytes per second.
    pub pace: Option<f64>,
    /// Fraction of the rounds with such segments whose pace is near the median. The limit is 4 %.
    pub same_pace: f64,
    /// Largest flight of any round, bytes.
    pub flight_max: u64,
    /// Ninth decile of the delivery rates, over the bottleneck rate.
    pub peak_of_line: Option<f64>,
}

impl Sending {
    pub fn of(m: &Measures<'_>) -> Self {
        let rounds = 0..m.rounds.len();
        let paces: Vec<f64> = rounds.filter_map(|index| m.pace(index)).collect();
        let count = paces.len();
        let pace = quartile(paces.clone(), 2).filter(|_| count >= 6);
        let is_same = |one: &&f64| pace.is_some_and(|pace| (*one / pace - 1.0).abs() <= 0.04);
        Self {
            pace,
            same_pace: ratio(paces.iter().filter(is_same).count() as f64, count as f64),
            flight_max: m.rounds.iter().map(|round| round.flight).max().unwrap_or(0),
            peak_of_line: m.line.map(|line| m.peak / line.max(1.0)),
        }
    }
}

impl Measures<'_> {
    /// Fraction of the round's active time with segments that are back to back.
    pub fn busy(&self, index: usize) -> f64 {
        let round = &self.rounds[index];
        ratio(round.train_time.as_secs_f64(), round.active().as_secs_f64()).min(1.0)
    }

    /// Rate of segments that are back to back, if nearly all are.
    fn pace(&self, index: usize) -> Option<f64> {
        let round = &self.rounds[index];
        let is_busy = round.segments >= 8 && self.busy(index) >= 0.85;
        let is_timed = !round.train_time.is_zero();
        (is_busy && is_timed).then(|| per_second(round.train_octets, round.train_time))
    }

    /// Fraction of a round's data that ACKs released. `None` if ACKs are so dense that all data
    /// immediately follows one.
    pub fn clocked(&self, index: usize) -> Option<f64> {
        let round = &self.rounds[index];
        let at_once = SenderView::at_once(self.sender_view.turn).as_nanos() as f64;
        let gaps = round.ack_gaps.mean();
        let is_dense = gaps.is_some_and(|mean| mean < 2.0 * at_once);
        let share = ratio(round.clocked as f64, round.sent as f64);
        // Chance makes it more, never less.
        (!is_dense || share < 0.4).then_some(share)
    }

    /// Fraction of the time around a round without data to send.
    pub fn dry_share(&self, index: usize) -> f64 {
        let near = self.around(index, 2, 2);
        let sum = |of: fn(&Round) -> Duration| {
            let sum = near
                .iter()
                .fold(Duration::ZERO, |sum, round| sum + of(round));
            sum.as_secs_f64()
        };
        let time = sum(|round| round.active() + round.spent_in(State::Idle));
        ratio(sum(|round| round.dry), time).min(1.0)
    }

    /// Variation of the flight over some rounds: largest less smallest, over largest.
    pub fn flight_spread(&self, index: usize) -> Option<f64> {
        let near = self.around(index, 4, 4);
        let flights = || {
            near.iter()
                .filter(|round| round.segments > 0)
                .map(|round| round.flight)
        };
        let (low, high) = (flights().min()?, flights().max()?);
        (flights().count() >= 4).then(|| ratio((high - low) as f64, high as f64))
    }

    /// Growth of the flight over the following rounds, in doublings per RTT.
    pub fn flight_growth(&self, index: usize) -> Option<f64> {
        let near = self.around(index, 2, 4);
        let first = near.iter().position(|round| round.flight > 0)?;
        let (first, last) = (&near[first], near.last()?);
        let trips: u64 = near.iter().map(|round| round.count).sum();
        let grown = ratio(last.flight as f64, first.flight as f64);
        (near.len() >= 3 && grown > 0.0).then(|| libm::log2(grown) / (trips.max(2) - 1) as f64)
    }
}
