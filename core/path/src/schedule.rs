//! Values that change at times known beforehand: the rate of a link, its delay.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::ConfigError;

/// A piecewise constant value, optionally periodic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule<V> {
    /// Times and values. Times count from the start of the run, or of the period, and strictly
    /// ascend. Before the first step the element's value without schedule holds.
    pub steps: Vec<(Duration, V)>,
    /// Period, if any. At its end the last value holds until the first step of the next period.
    pub every: Option<Duration>,
}

impl<V: Copy> Schedule<V> {
    /// Changes after `from` and no later than `until`, as time and value. Both bounds and the times
    /// count from the schedule's start.
    pub fn steps_between(
        &self,
        from: Duration,
        until: Duration,
    ) -> impl Iterator<Item = (Duration, V)> {
        let every = self.every.unwrap_or(Duration::ZERO);
        let first = match every.is_zero() {
            true => 0,
            false => from.as_nanos() / every.as_nanos(),
        };
        let periods = match self.every {
            Some(_) => u64::MAX,
            None => 1,
        };
        let rounds = (first..periods).map(move |round| every.saturating_mul(round));
        let steps = rounds.flat_map(|round| self.steps.iter().map(move |step| (round, step)));
        steps
            .map(|(round, (after, value))| (round + *after, *value))
            .skip_while(move |(at, _)| *at <= from)
            .take_while(move |(at, _)| *at <= until)
    }

    /// Checks whether the schedule is valid.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Some((last, _)) = self.steps.last() else {
            return Err(ConfigError::ScheduleEmpty);
        };
        if !self.steps.is_sorted_by(|(a, _), (b, _)| a < b) {
            return Err(ConfigError::ScheduleNotAscending);
        }
        match self.every {
            Some(every) if every <= *last => Err(ConfigError::SchedulePeriod),
            _ => Ok(()),
        }
    }
}

/// Running state of a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Follower<V> {
    schedule: Schedule<V>,
    /// Start of the current period.
    began: Duration,
    /// Index of the next step.
    next: usize,
}

impl<V: Copy> Follower<V> {
    /// Starts at `start`, from which the times of a checked schedule count.
    pub(crate) fn new(schedule: Schedule<V>, start: Instant) -> Self {
        Self {
            schedule,
            began: start.saturating_since(Instant::ZERO),
            next: 0,
        }
    }

    /// Time of the next change.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let (after, _) = self.schedule.steps.get(self.next)?;
        Some(Instant::ZERO + (self.began + *after))
    }

    /// Value from now on; the time of the next change must have come.
    pub(crate) fn take(&mut self) -> Option<V> {
        let (_, value) = *self.schedule.steps.get(self.next)?;
        self.next += 1;
        if self.next == self.schedule.steps.len()
            && let Some(every) = self.schedule.every
        {
            self.began += every;
            self.next = 0;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_period_begins_anew_with_its_first_step() {
        let schedule = Schedule {
            steps: vec![(ms(0), 'a'), (ms(30), 'b')],
            every: Some(ms(100)),
        };
        schedule.check().unwrap();
        let mut follower = Follower::new(schedule, Instant::ZERO);
        let mut seen = vec![];
        while let Some(at) = follower
            .poll_timeout()
            .filter(|at| *at < Instant::ZERO + ms(231))
        {
            seen.push((
                at.saturating_since(Instant::ZERO).as_millis(),
                follower.take().unwrap(),
            ));
        }
        let expected = [
            (0, 'a'),
            (30, 'b'),
            (100, 'a'),
            (130, 'b'),
            (200, 'a'),
            (230, 'b'),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn steps_between_two_moments_are_those_that_a_follower_takes() {
        for every in [None, Some(ms(100))] {
            let steps = vec![(ms(0), 'a'), (ms(30), 'b'), (ms(70), 'c')];
            let schedule = Schedule { steps, every };
            for (from, until) in [(0, 0), (0, 29), (29, 30), (30, 500), (170, 200), (450, 451)] {
                let mut follower = Follower::new(schedule.clone(), Instant::ZERO);
                let mut taken = vec![];
                while let Some(at) = follower
                    .poll_timeout()
                    .filter(|at| *at <= Instant::ZERO + ms(until))
                {
                    taken.push((at.saturating_since(Instant::ZERO), follower.take().unwrap()));
                }
                taken.retain(|(at, _)| *at > ms(from));
                let told: Vec<_> = schedule.steps_between(ms(from), ms(until)).collect();
                assert_eq!(told, taken, "{from} to {until}");
            }
        }
    }

    #[test]
    fn schedules_that_go_nowhere_are_refused() {
        let check = |steps: &[u64], every| {
            Schedule {
                steps: steps.iter().map(|at| (ms(*at), ())).collect(),
                every,
            }
            .check()
        };
        assert_eq!(check(&[], None), Err(ConfigError::ScheduleEmpty));
        assert_eq!(check(&[5, 5], None), Err(ConfigError::ScheduleNotAscending));
        assert_eq!(check(&[5], Some(ms(5))), Err(ConfigError::SchedulePeriod));
        assert_eq!(check(&[5], Some(ms(6))), Ok(()));
    }
}
