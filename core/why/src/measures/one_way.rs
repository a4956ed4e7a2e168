//! Queueing delay in one direction to the capture point, by timestamps (RFC 7323 section 3).

use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::Measures;
use crate::CapturePoint;
use crate::round::{Round, Stamp};

/// Delay of one direction above its minimum, round by round.
#[derive(Debug)]
pub(crate) struct OneWay {
    late: Vec<Option<Duration>>,
    /// Resolution of the clock that shows it.
    tick: Duration,
}

/// Minimum number of ticks for the rate of a clock to be known.
const MIN_TICKS: u32 = 20;

impl OneWay {
    /// Compares the time at the capture point with the clock of the host.
    pub fn of(rounds: &[Round], stamp: fn(&Round) -> Option<Stamp>) -> Self {
        let mut way = Self {
            late: alloc::vec![None; rounds.len()],
            tick: Duration::ZERO,
        };
        let mut stamps = rounds.iter().filter_map(stamp);
        let (Some(first), Some(last)) = (stamps.next(), stamps.next_back()) else {
            return way;
        };
        let ticks = last.val.wrapping_sub(first.val);
        let passed = last.at.saturating_since(first.at).as_nanos() as f64;
        if !(MIN_TICKS..1 << 31).contains(&ticks) {
            return way;
        }
        let tick = round_tick(passed / f64::from(ticks));
        let late = |sent: Stamp| {
            let here = sent.at.saturating_since(first.at).as_nanos() as f64;
            here - f64::from(sent.val.wrapping_sub(first.val)) * tick
        };
        let all = rounds.iter().filter_map(stamp).map(late);
        let min = all.fold(f64::MAX, f64::min);
        for (place, round) in way.late.iter_mut().zip(rounds) {
            *place = stamp(round).map(|sent| Duration::from_nanos((late(sent) - min) as u64));
        }
        way.tick = Duration::from_nanos(tick as u64);
        way
    }

    /// Delay above the minimum in that round.
    pub fn late(&self, index: usize) -> Option<Duration> {
        self.late.get(index).copied().flatten()
    }
}

/// Nearest usual tick: 1, 4 or 10 ms, or as measured. A queue that grows all the time makes ticks
/// seem longer than they are.
fn round_tick(measured: f64) -> f64 {
    [1e6, 4e6, 1e7]
        .into_iter()
        .find(|usual| (0.85..1.6).contains(&(measured / usual)))
        .unwrap_or(measured)
}

/// Minimum lateness of data by its sender's clock over all rounds, us.
pub(super) fn earliest(rounds: &[Round]) -> Option<f64> {
    let all = rounds.iter().filter_map(|round| round.data_late);
    all.map(|late| f64::from(late.least)).reduce(f64::min)
}

impl Measures<'_> {
    /// Minimum delay of data before the capture point in that round. It is above that of the
    /// connection.
    pub fn data_late(&self, index: usize) -> Option<Duration> {
        let late = self.rounds[index].data_late?.least;
        let late = f64::from(late) - self.data_late_min?;
        Some(Duration::from_secs_f64(late.max(0.0) * 1e-6))
    }

    /// Delay of data before the capture point above its minimum. `None` unless timestamps show it.
    pub fn data_delay(&self, index: usize) -> Option<Duration> {
        let late = self.forward.late(index)?;
        (late > self.forward.tick * 2).then_some(late)
    }

    /// Whether the path held the data that came after a `silence` of that round: it was late, and what
    /// had come before was not.
    pub fn has_held_data(&self, index: usize, silence: Duration) -> bool {
        let before = index.checked_sub(1);
        let usual = before.and_then(|before| self.data_delay(before));
        let late = self.data_delay(index).unwrap_or_default();
        !self.view.is_near_sender() && late.saturating_sub(usual.unwrap_or_default()) * 2 >= silence
    }

    /// Delay of ACKs above its minimum, from the receiver to the sender. `None` unless timestamps
    /// show it.
    ///
    /// Up to the capture point the clock of the receiver shows it. Beyond, it is what the turnaround
    /// to the sender and back takes longer than data is late by the clock of the sender. At the
    /// receiver that is all of the RTT.
    pub fn reverse_delay(&self, index: usize) -> Option<Duration> {
        let here = self.reverse.late(index)?;
        let data = self.forward.late(index)?;
        let coarse = self.forward.tick.max(self.reverse.tick) * 2;
        let beyond = match self.view {
            CapturePoint::Sender | CapturePoint::Unknown => Some(Duration::ZERO),
            _ if !self.saw_data_without_queue() => None,
            CapturePoint::Receiver => self.queue(index).map(|queue| queue.saturating_sub(data)),
            _ => self.turn_delay(index).map(|turn| turn.saturating_sub(data)),
        };
        match beyond {
            // What ACKs waited before they came here is known, whatever they wait for beyond.
            None => Some(here).filter(|here| *here > coarse),
            Some(beyond) if here + beyond > coarse => Some(here + beyond),
            Some(_) => Some(Duration::ZERO),
        }
    }

    /// Whether data was timed while there was no queue, so that its lateness has a zero.
    fn saw_data_without_queue(&self) -> bool {
        let is_free = |index: &usize| {
            let is_timed = self.forward.late(*index).is_some();
            is_timed
                && self
                    .queue(*index)
                    .is_some_and(|queue| queue * 2 < self.queue_step)
        };
        (0..self.rounds.len()).any(|index| is_free(&index))
    }

    /// Mean delays of data and of ACKs between two captures in that round. They are above their
    /// minimum.
    pub fn pair_delays(&self, index: usize) -> Option<(Duration, Duration)> {
        let round = &self.rounds[index];
        self.pair?.between.queues_in(round.start, round.end)
    }

    /// Fractions of a standing queue on the forward and on the reverse path. Both are between the
    /// capture point and the hosts.
    fn shares_of(&self, index: usize) -> Option<(f64, f64)> {
        if let Some((forward, reverse)) = self.pair_delays(index) {
            let both = (forward + reverse).as_secs_f64().max(1e-9);
            return Some((forward.as_secs_f64() / both, reverse.as_secs_f64() / both));
        }
        let coarse = self.forward.tick.max(self.reverse.tick) * 5 / 2;
        let queue = self.queue(index).filter(|queue| *queue >= coarse)?;
        let share = |part: Duration| part.as_secs_f64() / queue.as_secs_f64().max(1e-9);
        Some((
            share(self.forward.late(index)?),
            share(self.reverse.late(index)?),
        ))
    }

    /// These fractions, or those of the median round without conclusive timestamps.
    pub fn shares(&self, index: usize) -> Option<(f64, f64)> {
        self.shares_of(index).or(self.usual_shares)
    }

    /// Whether timestamps show in which direction queues are.
    pub const fn knows_directions(&self) -> bool {
        self.usual_shares.is_some()
    }

    pub(super) fn median_shares(&self) -> Option<(f64, f64)> {
        let all = (0..self.rounds.len()).filter_map(|index| self.shares_of(index));
        let (mut forward, mut reverse): (Vec<f64>, Vec<f64>) = all.unzip();
        forward.sort_by(f64::total_cmp);
        reverse.sort_by(f64::total_cmp);
        let middle = forward.len() / 2;
        Some((*forward.get(middle)?, *reverse.get(middle)?))
    }
}
