//! The first retransmission timer from mean and deviation: Van Jacobson's mail of 1987, later the
//! appendix of "Congestion Avoidance and Control" (SIGCOMM 1988).
//!
//! In integers, with the mean kept 8-fold and the deviation 4-fold, so that
//! the gains 1/8 and 1/4 are shifts. With M the new measurement:
//!
//! ```text
//! e = M - A                 A = A + e/8                                  (1)
//!                           D = D + (|e| - D)/4                          (2)
//!                           rto = A + 2 D                                (3)
//! ```
//!
//! RFC 6298 has the same (1) and (2) with rto = A + 4 D; the engine uses that one. This module
//! allows a comparison of the two.

/// Mean and deviation of the RTT, in ticks of any length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Estimator1987 {
    /// 8 A.
    mean_8: i64,
    /// 4 D.
    deviation_4: i64,
}

impl Estimator1987 {
    /// Returns an estimator that starts at the given mean and deviation, in ticks.
    #[must_use]
    pub const fn new(mean: u32, deviation: u32) -> Self {
        Self {
            mean_8: (mean as i64) << 3,
            deviation_4: (deviation as i64) << 2,
        }
    }

    /// Applies a measurement: equations (1) and (2).
    pub const fn on_sample(&mut self, ticks: u32) {
        let error = ticks as i64 - (self.mean_8 >> 3);
        self.mean_8 += error;
        self.deviation_4 += error.abs() - (self.deviation_4 >> 2);
        debug_assert!(self.deviation_4 >= 0, "a deviation is never below 0");
    }

    /// Returns the mean A in whole ticks.
    #[must_use]
    pub const fn mean(&self) -> i64 {
        self.mean_8 >> 3
    }

    /// Returns the deviation D in whole ticks.
    #[must_use]
    pub const fn deviation(&self) -> i64 {
        self.deviation_4 >> 2
    }

    /// Returns the timeout: equation (3).
    #[must_use]
    pub const fn rto(&self) -> i64 {
        self.mean() + (self.deviation_4 >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_of_1987_gives_its_means_deviations_and_timeouts() {
        let mut estimator = Estimator1987::new(100, 50);
        let table = [
            (120, 102, 42, 187),
            (80, 99, 37, 174),
            (100, 99, 28, 156),
            (300, 125, 71, 268),
            (100, 121, 60, 241),
            (100, 119, 50, 220),
            (100, 116, 42, 201),
        ];
        for (sample, mean, deviation, rto) in table {
            estimator.on_sample(sample);
            let got = (estimator.mean(), estimator.deviation(), estimator.rto());
            assert_eq!(got, (mean, deviation, rto), "after {sample}");
        }
    }

    #[test]
    fn it_follows_up_fast_and_down_slowly() {
        let mut estimator = Estimator1987::new(100, 0);
        let before = estimator.rto();
        estimator.on_sample(500);
        let up = estimator.rto() - before;
        let high = estimator.rto();
        estimator.on_sample(100);
        assert!(up > 4 * (high - estimator.rto()).abs());
    }
}
