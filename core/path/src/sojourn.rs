//! Sojourn times in a queue, measured at packets that left it.
//!
//! A sojourn is the time from arrival at the queue to the beginning of transmission. The packet
//! waits for other packets, tokens of a shaper, a medium, or an opportunity of a trace. The
//! transmission itself is not included, so the sojourn is zero on an idle link.
//!
//! Percentiles are of packets, from a histogram whose steps are 1/64 of a power of two: 0.8 % in
//! either direction, exact below 64 ns. A packet costs a shift, and an addition in the histogram.

use gigatcp_units::Duration;

/// Durations, counted in steps of 1/64 of a power of two.
pub type Histogram = gigatcp_units::histogram::Histogram<6>;

/// Number of packets that left a queue, and the sum of their sojourns.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Waited {
    /// Wire packets.
    pub packets: u64,
    /// Sum of sojourns in nanoseconds, modulo 2^64.
    nanos: u64,
}

impl Waited {
    /// Mean sojourn of packets that left since `before`; `None` if there are none.
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

    /// Number of packets that left, and the sum of their sojourns.
    pub const fn sum(&self) -> Waited {
        self.sum
    }

    /// Histogram of sojourns.
    pub const fn histogram(&self) -> &Histogram {
        &self.histogram
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
