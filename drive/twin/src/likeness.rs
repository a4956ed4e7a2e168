//! Likeness of a refitted run to the original.
//!
//! Each difference is divided by its unit; the distance is the root of the mean square.
//! Retransmissions are compared by their square roots, whose standard deviation over random losses
//! is one half for any number.

use crate::measured::{CURVE, Measured};
use crate::trains::TrainRates;

/// Unit for a difference of goodput.
const GOODPUT: f64 = 0.05;
/// Unit for a difference of the square roots of retransmissions.
const RETRANSMISSIONS: f64 = 1.0;
/// Unit for a difference of an RTT quantile.
const RTT: f64 = 0.10;
/// Unit for a difference of the delivery curve, as a share of its time.
const DELIVERY: f64 = 0.03;
/// Unit for a difference of the rate of trains.
const TRAIN: f64 = 0.05;
/// Unit for a difference of the bytes in flight.
const FLIGHT: f64 = 0.15;
/// Maximum units of an RTT quantile.
///
/// Super-segments of a capture give fewer samples, and the largest remain.
const MOST_RTT: f64 = 2.0;
/// Maximum distance of a fit.
///
/// In development, predictions from fits farther away missed more often than a fifth of the time.
const FARTHEST: f64 = 0.7;
/// Maximum units of any single difference.
const MOST: f64 = 10.0;

/// Comparison of a refitted run with the original.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Likeness {
    /// Goodput of the run as a multiple of the original.
    pub goodput: f64,
    /// Retransmitted segments of the run.
    pub retransmitted: f64,
    /// RTT quartiles and 95th percentile of the run, as multiples of the original.
    pub rtt: [f64; 4],
    /// Mean difference of the delivery curve, as a share of the transfer.
    pub delivery: f64,
    /// Median and 95th percentile of the flight, as multiples of the original.
    pub flight: [f64; 2],
    /// Rate of trains as a multiple of the original; 1 if either shows none.
    pub train: f64,
    /// Distance over all differences, in units.
    pub distance: f64,
}

impl Likeness {
    /// Compares a run with the original.
    #[must_use]
    pub fn of(original: &Measured, run: &Measured) -> Self {
        let ratio = |value: &dyn Fn(&Measured) -> f64| {
            let original = value(original);
            if original > 0.0 {
                value(run) / original
            } else {
                1.0
            }
        };
        let delivery = (0..CURVE)
            .map(|index| (run.curve[index] - original.curve[index]).abs())
            .sum::<f64>();
        let mut likeness = Self {
            goodput: ratio(&Measured::goodput_bps),
            retransmitted: run.retransmitted as f64,
            rtt: [
                ratio(&|run| run.rtt.p25),
                ratio(&|run| run.rtt.p50),
                ratio(&|run| run.rtt.p75),
                ratio(&|run| run.rtt.p95),
            ],
            delivery: delivery / CURVE as f64 / original.elapsed.max(1e-9),
            flight: [ratio(&|run| run.flight_p50), ratio(&|run| run.flight_p95)],
            train: match (original.trains, run.trains) {
                (
                    TrainRates {
                        long: Some(original),
                        ..
                    },
                    TrainRates {
                        long: Some(run), ..
                    },
                )
                | (
                    TrainRates {
                        short: Some(original),
                        ..
                    },
                    TrainRates {
                        short: Some(run), ..
                    },
                ) => run / original,
                _ => 1.0,
            },
            distance: 0.0,
        };
        likeness.distance = likeness.total(original);
        likeness
    }

    fn total(&self, original: &Measured) -> f64 {
        let log = |ratio: f64, unit: f64| (ratio.max(1e-6).ln() / unit).abs().min(MOST);
        let roots = self.retransmitted.sqrt() - (original.retransmitted as f64).sqrt();
        let rtt = self.rtt.map(|ratio| log(ratio, RTT).min(MOST_RTT).powi(2));
        let flight = self.flight.map(|ratio| log(ratio, FLIGHT).powi(2));
        let parts = [
            2.0 * log(self.goodput, GOODPUT).powi(2),
            (roots / RETRANSMISSIONS).abs().min(MOST).powi(2),
            rtt.iter().sum::<f64>() / 4.0,
            (self.delivery / DELIVERY).min(MOST).powi(2),
            flight.iter().sum::<f64>() / 2.0,
            log(self.train, TRAIN).min(MOST_RTT).powi(2),
        ];
        (parts.iter().sum::<f64>() / 7.0).sqrt()
    }

    /// Returns why this is not a fit; `None` if it repeats the original.
    #[must_use]
    pub fn objection(&self, original: &Measured) -> Option<String> {
        let percent = |ratio: f64| format!("{:+.0} %", (ratio - 1.0) * 100.0);
        if !(0.92..=1.09).contains(&self.goodput) {
            return Some(format!("its goodput differs by {}", percent(self.goodput)));
        }
        let retransmitted = original.retransmitted as f64;
        if (self.retransmitted.sqrt() - retransmitted.sqrt()).abs()
            > 3.0_f64.max(0.3 * retransmitted.sqrt())
        {
            return Some(format!(
                "it retransmits {:.0} segments, the original {retransmitted:.0}",
                self.retransmitted
            ));
        }
        if !(0.75..=1.33).contains(&self.rtt[1]) {
            return Some(format!(
                "its median RTT differs by {}",
                percent(self.rtt[1])
            ));
        }
        if self.distance > FARTHEST {
            return Some(format!(
                "its course differs: delivery by {:.0} % of the time, flight p50 by {} and p95 by {}, RTT p95 by {}",
                self.delivery * 100.0,
                percent(self.flight[0]),
                percent(self.flight[1]),
                percent(self.rtt[3]),
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measured::RttQuantiles;

    fn original() -> Measured {
        Measured {
            bytes: 1_000_000,
            elapsed: 1.0,
            rtt: RttQuantiles {
                min: 0.01,
                p25: 0.01,
                p50: 0.02,
                p75: 0.03,
                p95: 0.04,
            },
            flight_p50: 20e3,
            flight_p95: 40e3,
            retransmitted: 16,
            curve: std::array::from_fn(|index| 0.05 * (index + 1) as f64),
            ..Measured::default()
        }
    }

    fn objection(edit: impl Fn(&mut Measured)) -> Option<String> {
        let mut run = original();
        edit(&mut run);
        Likeness::of(&original(), &run).objection(&original())
    }

    #[test]
    fn the_same_measures_are_a_fit_at_no_distance() {
        assert_eq!(Likeness::of(&original(), &original()).distance, 0.0);
        assert_eq!(objection(|_| ()), None);
    }

    #[test]
    fn a_run_that_differs_in_one_measure_is_no_fit() {
        assert!(objection(|run| run.bytes = 1_200_000).is_some_and(|why| why.contains("goodput")));
        assert!(objection(|run| run.retransmitted = 80).is_some_and(|why| why.contains("80")));
        assert!(objection(|run| run.rtt.p50 = 0.04).is_some_and(|why| why.contains("RTT")));
        assert!(
            objection(|run| run.curve = [1.0; CURVE]).is_some_and(|why| why.contains("course"))
        );
    }
}
