//! Sojourn times in a queue, measured at packets that left it.
//!
//! A sojourn is the time from arrival at the queue to the beginning of transmission. The packet
//! waits for other packets, tokens of a shaper, a medium, or an opportunity of a trace. The
//! transmission itself is not included, so the sojourn is zero on an idle link.
//!
//! Percentiles are of packets, from a histogram whose steps are 1/64 of a power of two: 0.8 % in
//! either direction, exact below 64 ns. A packet costs a shift, and an addition in the histogram.

use alloc::vec::Vec;

use gigatcp_units::Duration;

/// Binary logarithm of the steps in a power of two.
const STEP_BITS: u32 = 6;

/// Durations, counted in steps of 1/64 of a power of two.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Histogram {
    /// Counts by step, up to the last step that is not zero.
    counts: Vec<u64>,
    max: u64,
}

impl Clone for Histogram {
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

impl Histogram {
    /// Counts a duration.
    #[inline]
    pub fn count(&mut self, time: Duration) {
        let nanos = time.as_nanos();
        let step = step_of(nanos);
        let (low, width) = bounds(step);
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

    /// Returns a quantile, accurate to 0.8 %; `None` if nothing was counted.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let all: u64 = self.counts.iter().sum();
        let wanted = libm::ceil(all as f64 * share.clamp(0.0, 1.0)) as u64;
        let mut seen = 0;
        let step = self.counts.iter().position(|count| {
            seen += count;
            seen > 0 && seen >= wanted
        })?;
        let (low, width) = bounds(step);
        Some(Duration::from_nanos((low + width / 2).min(self.max)))
    }

    /// Returns the maximum.
    #[must_use]
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }
}

/// Returns the step of `nanos`.
#[inline]
const fn step_of(nanos: u64) -> usize {
    let shift = (nanos | 1 << STEP_BITS).ilog2() - STEP_BITS;
    ((shift as usize) << STEP_BITS) + (nanos >> shift) as usize
}

/// Returns the shortest duration of a step, and its width in nanoseconds.
const fn bounds(step: usize) -> (u64, u64) {
    let octave = step >> STEP_BITS;
    let Some(shift) = octave.checked_sub(1) else {
        return (step as u64, 1);
    };
    let within = (step & ((1 << STEP_BITS) - 1)) as u64;
    (((1 << STEP_BITS) + within) << shift, 1 << shift)
}

/// Number of packets that left a queue, and the sum of their sojourns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waited {
    /// Wire packets.
    pub packets: u64,
    /// Sum of sojourns in nanoseconds, modulo 2^64.
    nanos: u64,
}

impl Waited {
    /// Returns the mean sojourn of packets that left since `before`; `None` if there are none.
    #[must_use]
    pub const fn mean_since(self, before: Self) -> Option<Duration> {
        let nanos = self.nanos.wrapping_sub(before.nanos);
        match nanos.checked_div(self.packets - before.packets) {
            Some(mean) => Some(Duration::from_nanos(mean)),
            None => None,
        }
    }
}

/// Sojourns of packets that left one queue.
#[derive(Clone, Default, Debug)]
pub struct Sojourns {
    histogram: Histogram,
    sum: Waited,
}

impl Sojourns {
    /// Counts a packet that left after a sojourn of `nanos`.
    #[inline]
    pub(crate) fn count(&mut self, nanos: u64) {
        self.histogram.count(Duration::from_nanos(nanos));
        self.sum.packets += 1;
        self.sum.nanos = self.sum.nanos.wrapping_add(nanos);
    }

    /// Returns the number of packets that left, and the sum of their sojourns.
    #[must_use]
    pub const fn sum(&self) -> Waited {
        self.sum
    }

    /// Returns the histogram of sojourns.
    #[must_use]
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_time_lies_in_its_step() {
        for nanos in (0..100_000).chain([u64::MAX, u64::MAX / 2, 1 << 40]) {
            let (low, width) = bounds(step_of(nanos));
            assert!(low <= nanos && nanos - low < width, "{nanos}");
            assert!(width == 1 || width <= low / 64, "{nanos}");
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_counted_to_a_hundredth() {
        let mut sojourns = Sojourns::default();
        assert_eq!(sojourns.histogram().quantile(0.5), None);
        for nanos in 1..=1000 {
            sojourns.count(nanos * 100);
        }
        let histogram = sojourns.histogram();
        for (share, expected) in [(0.5, 50_000.0), (0.99, 99_000.0)] {
            let found = histogram.quantile(share).unwrap().as_nanos() as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{found}");
        }
        let mean = sojourns.sum().mean_since(Waited::default());
        assert_eq!(mean, Some(Duration::from_nanos(50_050)));
        assert_eq!(sojourns.sum().mean_since(sojourns.sum()), None);
    }
}
