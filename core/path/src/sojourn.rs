//! How long packets waited in a queue, measured at those that left it.
//!
//! A sojourn is the time from reaching the queue to the beginning of transmission: behind
//! other packets, for tokens of a shaper, for a medium, for an opportunity of a trace. The
//! transmission itself is not in it, so that an idle link has none.
//!
//! Percentiles are of packets, from a histogram whose steps are 1/64 of a power of two: 0.8 %
//! in either direction, exact below 64 ns. Neighbors wait for nearly the same time, so most
//! packets cost a comparison and two additions.

use alloc::vec::Vec;

use gigatcp_units::Duration;

/// Binary logarithm of the steps in a power of two.
const STEP_BITS: u32 = 6;

/// Durations, counted in steps of 1/64 of a power of two.
#[derive(PartialEq, Eq, Default, Debug)]
pub struct Histogram {
    /// By step, up to the last that has any.
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

    /// Without a new allocation if there is room: readers copy it many times a second.
    fn clone_from(&mut self, other: &Self) {
        self.counts.clone_from(&other.counts);
        self.max = other.max;
    }
}

impl Histogram {
    /// Counts a duration.
    pub fn count(&mut self, time: Duration) {
        self.count_many(time.as_nanos(), 1);
    }

    fn count_many(&mut self, nanos: u64, count: u64) {
        let step = step_of(nanos);
        if step >= self.counts.len() {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] += count;
        self.max = self.max.max(nanos);
    }

    /// Returns the time that a share of what was counted does not exceed, to 0.8 %; `None`
    /// if nothing was.
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

    /// Returns the longest.
    #[must_use]
    pub const fn max(&self) -> Duration {
        Duration::from_nanos(self.max)
    }
}

/// The step that `nanos` belong to.
const fn step_of(nanos: u64) -> usize {
    if nanos < 1 << STEP_BITS {
        return nanos as usize;
    }
    let power = nanos.ilog2();
    let within = (nanos >> (power - STEP_BITS)) as usize & ((1 << STEP_BITS) - 1);
    (((power - STEP_BITS + 1) as usize) << STEP_BITS) | within
}

/// The shortest time of a step, and how many nanoseconds belong to it.
const fn bounds(step: usize) -> (u64, u64) {
    let octave = step >> STEP_BITS;
    let Some(shift) = octave.checked_sub(1) else {
        return (step as u64, 1);
    };
    let within = (step & ((1 << STEP_BITS) - 1)) as u64;
    (((1 << STEP_BITS) + within) << shift, 1 << shift)
}

/// Packets that left a queue, and the sum of their sojourns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waited {
    /// Wire packets.
    pub packets: u64,
    /// Nanoseconds of all together, modulo 2^64.
    nanos: u64,
}

impl Waited {
    /// Returns the mean sojourn of what has left since `before`; `None` if nothing has.
    #[must_use]
    pub const fn mean_since(self, before: Self) -> Option<Duration> {
        let nanos = self.nanos.wrapping_sub(before.nanos);
        match nanos.checked_div(self.packets - before.packets) {
            Some(mean) => Some(Duration::from_nanos(mean)),
            None => None,
        }
    }
}

/// The sojourns of packets that left one queue.
#[derive(Clone, Debug)]
pub struct Sojourns {
    /// What is not in `open`.
    histogram: Histogram,
    sum: Waited,
    /// The step of the last packet: its bounds, and packets counted there.
    open: Open,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    low: u64,
    width: u64,
    packets: u64,
}

impl Default for Sojourns {
    fn default() -> Self {
        Self {
            histogram: Histogram::default(),
            sum: Waited::default(),
            open: Open {
                low: 0,
                width: 1,
                packets: 0,
            },
        }
    }
}

impl Sojourns {
    /// Counts a packet that left after it had waited for `nanos`.
    #[inline]
    pub(crate) fn count(&mut self, nanos: u64) {
        if nanos.wrapping_sub(self.open.low) >= self.open.width {
            self.turn(nanos);
        }
        self.open.packets += 1;
        self.sum.nanos = self.sum.nanos.wrapping_add(nanos);
    }

    /// Goes on in the step of `nanos`.
    #[inline(never)]
    fn turn(&mut self, nanos: u64) {
        self.sum.packets += self.open.packets;
        if self.open.packets > 0 {
            let middle = self.open.low + self.open.width / 2;
            self.histogram.count_many(middle, self.open.packets);
        }
        let (low, width) = bounds(step_of(nanos));
        self.open = Open {
            low,
            width,
            packets: 0,
        };
    }

    /// Returns how many packets have left, and for how long all have waited.
    #[must_use]
    pub const fn sum(&self) -> Waited {
        Waited {
            packets: self.sum.packets + self.open.packets,
            nanos: self.sum.nanos,
        }
    }

    /// Makes `all` what was counted.
    pub fn read_into(&self, all: &mut Histogram) {
        all.clone_from(&self.histogram);
        if self.open.packets > 0 {
            let middle = self.open.low + self.open.width / 2;
            all.count_many(middle, self.open.packets);
        }
    }

    /// Returns how many packets waited for how long.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut all = Histogram::default();
        self.read_into(&mut all);
        all
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
