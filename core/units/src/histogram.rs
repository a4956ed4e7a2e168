//! Durations counted by steps that grow with them: bounded memory, quantiles with a bounded error.
//!
//! The steps are 1/2^BITS of a power of two, and single nanoseconds below 2^BITS ns. A duration
//! costs a shift and an addition.

use alloc::vec::Vec;

use crate::Duration;

/// Durations, counted in steps of 1/2^BITS of a power of two.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Histogram<const BITS: u32> {
    /// Counts by step, up to the last step that is not zero.
    counts: Vec<u64>,
    max: u64,
}

impl<const BITS: u32> Clone for Histogram<BITS> {
    fn clone(&self) -> Self {
        Self {
            counts: self.counts.clone(),
            max: self.max,
        }
    }

    /// Copies without an allocation if the capacity suffices: readers copy it often.
    fn clone_from(&mut self, other: &Self) {
        self.counts.clone_from(&other.counts);
        self.max = other.max;
    }
}

impl<const BITS: u32> Histogram<BITS> {
    /// Counts a duration.
    #[inline]
    pub fn count(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        let step = Self::step_of(nanos);
        let (low, width) = Self::bounds(step);
        debug_assert!(
            low <= nanos && nanos - low < width,
            "{nanos} ns are counted with those from {low} ns, {width} ns wide"
        );
        match self.counts.get_mut(step) {
            Some(count) => *count += 1,
            None => self.begin(step),
        }
        self.max = self.max.max(nanos);
    }

    /// Counts the first duration of a step beyond all others.
    #[cold]
    fn begin(&mut self, step: usize) {
        self.counts.resize(step + 1, 0);
        self.counts[step] = 1;
    }

    /// A quantile: the middle of its step; `None` if nothing was counted.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        let rank = libm::ceil(all as f64 * share.clamp(0.0, 1.0)) as u64;
        let (low, width) = self.step_at(rank)?;
        Some(Duration::from_nanos((low + width / 2).min(self.max)))
    }

    /// The longest duration of the step that contains the one at this rank, counted from 1.
    pub fn upper_bound(&self, rank: u64) -> Option<Duration> {
        let (low, width) = self.step_at(rank)?;
        Some(Duration::from_nanos((low + (width - 1)).min(self.max)))
    }

    fn step_at(&self, rank: u64) -> Option<(u64, u64)> {
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen > 0 && seen >= rank
        });
        step.map(Self::bounds)
    }

    /// The maximum.
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }

    /// Whether nothing was counted.
    pub const fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    #[inline]
    const fn step_of(nanos: u64) -> usize {
        let shift = (nanos | 1 << BITS).ilog2() - BITS;
        ((shift as usize) << BITS) + (nanos >> shift) as usize
    }

    /// Shortest duration of a step, and its width in nanoseconds.
    const fn bounds(step: usize) -> (u64, u64) {
        let octave = step >> BITS;
        let Some(shift) = octave.checked_sub(1) else {
            return (step as u64, 1);
        };
        let within = (step & ((1 << BITS) - 1)) as u64;
        (((1 << BITS) + within) << shift, 1 << shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_steps<const BITS: u32>() {
        for nanos in (0..100_000).chain([u64::MAX, u64::MAX / 2, 1 << 40]) {
            let (low, width) = Histogram::<BITS>::bounds(Histogram::<BITS>::step_of(nanos));
            assert!(low <= nanos && nanos - low < width, "{nanos}");
            assert!(width == 1 || width <= low >> BITS, "{nanos}");
        }
    }

    #[test]
    fn every_time_lies_in_its_step() {
        assert_steps::<6>();
        assert_steps::<8>();
    }
}
