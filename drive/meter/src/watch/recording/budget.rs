//! The budget of a recording: a token bucket of bytes.

use gigatcp_units::{Bytes, Duration, Instant};

use super::BYTES_PER_DAY;

/// Part of a day's bytes that may be written at once.
const BURST_PART: u64 = 8;

/// Times that the time between two readings doubles until nothing is left.
const DOUBLINGS: f64 = 7.0;

const DAY: Duration = Duration::from_secs(86_400);

/// Bytes that may be written now.
#[derive(Debug)]
pub(super) struct Budget {
    left: u64,
    last: Instant,
    /// Nanoseconds that have not made a byte yet.
    rest: u64,
}

impl Budget {
    pub fn new(at: Instant) -> Self {
        Self {
            left: Self::burst(),
            last: at,
            rest: 0,
        }
    }

    /// With a full bucket at its begin, a day has this and what the day adds.
    const fn burst() -> u64 {
        BYTES_PER_DAY.as_u64() / BURST_PART
    }

    /// Time in which one byte is added.
    const fn time_per_byte() -> u64 {
        DAY.as_nanos() / (BYTES_PER_DAY.as_u64() - Self::burst())
    }

    /// Adds what the time since the last call brings.
    pub fn refill(&mut self, at: Instant) {
        let time = at.saturating_since(self.last).as_nanos() + self.rest;
        self.last = self.last.max(at);
        self.rest = time % Self::time_per_byte();
        self.left = (self.left + time / Self::time_per_byte()).min(Self::burst());
    }

    /// Takes what was written.
    pub fn spend(&mut self, bytes: Bytes) {
        self.left = self.left.saturating_sub(bytes.as_u64());
    }

    /// Factor of the time between two readings: 1 while half is left; `None` if nothing is.
    pub fn stretch(&self) -> Option<f64> {
        let part = self.left as f64 / Self::burst() as f64;
        let lacking = (1.0 - 2.0 * part).max(0.0);
        (self.left > 0).then(|| (lacking * DOUBLINGS).exp2())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writer_that_takes_all_it_may_stays_within_a_days_bytes() {
        let mut budget = Budget::new(Instant::ZERO);
        let mut written = 0;
        for second in 0..86_400 {
            budget.refill(Instant::ZERO + Duration::from_secs(second));
            if budget.stretch().is_some() {
                written += budget.left;
                budget.spend(Bytes::new(budget.left));
            }
        }
        assert!(written <= BYTES_PER_DAY.as_u64(), "{written}");
        assert!(written > BYTES_PER_DAY.as_u64() * 98 / 100, "{written}");
    }

    #[test]
    fn readings_become_rarer_as_the_budget_runs_out() {
        let mut budget = Budget::new(Instant::ZERO);
        assert_eq!(budget.stretch(), Some(1.0));
        budget.spend(Bytes::new(Budget::burst() / 2));
        assert_eq!(budget.stretch(), Some(1.0));
        budget.spend(Bytes::new(Budget::burst() / 4));
        let stretch = budget.stretch().unwrap();
        assert!((10.0..13.0).contains(&stretch), "{stretch}");
        budget.spend(Bytes::new(Budget::burst()));
        assert_eq!(budget.stretch(), None);
    }
}
