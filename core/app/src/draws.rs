//! Distributions of sizes and times.
//!
//! Two tables of flow sizes come from measurements in data centers. Between their
//! points the distribution function is linear, in bytes, as in the generators that
//! papers use:
//!
//! * web search: Alizadeh et al., "Data Center TCP", SIGCOMM 2010; mean 1,711,250
//!   bytes, 95 % of bytes in flows above 1 MB;
//! * data mining: Greenberg et al., "VL2", SIGCOMM 2009; mean 12.66 MB, 99 % of bytes
//!   in flows above 1 MB.
//!
//! Other versions of both circulate, in segments and with other means: print the mean
//! ([`Law::mean`]) next to every load.
//!
//! Pareto: `P(X > x) = (scale / x)^shape` for `x` above the scale, here given by its
//! mean, `scale = mean (shape - 1) / shape`.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

/// A point of a distribution function: value, and probability of this value or less.
pub type Point = (f64, f64);

/// Flow sizes of web search (2010).
pub const WEB_SEARCH: &[Point] = &[
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.20),
    (30e3, 0.30),
    (50e3, 0.40),
    (80e3, 0.53),
    (200e3, 0.60),
    (1e6, 0.70),
    (2e6, 0.80),
    (5e6, 0.90),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Flow sizes of data mining (2009).
pub const DATA_MINING: &[Point] = &[
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

/// A distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Law {
    /// Always this value.
    Constant(f64),
    /// Exponential, of this mean.
    Exponential(f64),
    /// Pareto, of this mean.
    Pareto {
        /// Mean.
        mean: f64,
        /// Index of the tail, above 1; the variance is infinite up to 2.
        shape: f64,
    },
    /// Linear between the points of a table.
    Table(&'static [Point]),
}

impl Law {
    /// An exponential distribution if `is_exponential`, else the constant `mean`.
    pub const fn of_mean(mean: f64, is_exponential: bool) -> Self {
        if is_exponential {
            Self::Exponential(mean)
        } else {
            Self::Constant(mean)
        }
    }

    /// Mean.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Constant(mean) | Self::Exponential(mean) | Self::Pareto { mean, .. } => mean,
            Self::Table(points) => {
                let pairs = points.iter().zip(points.iter().skip(1));
                pairs.fold(0.0, |sum, (a, b)| sum + (b.1 - a.1) * (a.0 + b.0) / 2.0)
            }
        }
    }

    /// Draws a value.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        match *self {
            Self::Constant(value) => value,
            Self::Exponential(mean) => stream.exponential(mean),
            Self::Pareto { mean, shape } => stream.pareto(mean * (shape - 1.0) / shape, shape),
            Self::Table(points) => invert(points, stream.uniform()),
        }
    }
}

/// Value whose cumulative probability is `p`.
fn invert(points: &[Point], p: f64) -> f64 {
    debug_assert!(
        points.is_sorted_by(|a, b| a.0 <= b.0 && a.1 < b.1),
        "a distribution function grows from point to point: {points:?}"
    );
    let above = points.partition_point(|point| point.1 < p);
    match (points.get(above.wrapping_sub(1)), points.get(above)) {
        (Some(a), Some(b)) => a.0 + (b.0 - a.0) * (p - a.1) / (b.1 - a.1),
        (None, Some(end)) | (Some(end), None) => end.0,
        (None, None) => 0.0,
    }
}

/// A distribution and the stream from which it is drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Draws {
    law: Law,
    stream: Stream,
}

impl Draws {
    /// Draws of `law` from `stream`.
    pub const fn new(law: Law, stream: Stream) -> Self {
        Self { law, stream }
    }

    /// Distribution.
    pub const fn law(&self) -> Law {
        self.law
    }

    /// Draws an integer number of octets, at least one.
    pub fn octets(&mut self) -> u64 {
        (libm::round(self.law.draw(&mut self.stream)) as u64).max(1)
    }

    /// Draws a time, from a distribution in seconds.
    pub fn time(&mut self) -> Duration {
        Duration::from_secs_f64(self.law.draw(&mut self.stream))
    }

    /// Draws the time after `now`, at least a nanosecond later.
    pub fn next_after(&mut self, now: Instant) -> Instant {
        now + self.time().max(Duration::from_nanos(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(law: Law, n: u32) -> f64 {
        let mut stream = Stream::new(11, "law", 0);
        let sum: f64 = (0..n).map(|_| law.draw(&mut stream)).sum();
        sum / f64::from(n)
    }

    #[test]
    fn the_tables_have_the_means_that_the_literature_quotes() {
        assert!((Law::Table(WEB_SEARCH).mean() - 1_711_250.0).abs() < 1e-6);
        assert!((Law::Table(DATA_MINING).mean() / 12.66e6 - 1.0).abs() < 5e-4);
    }

    /// Coefficient of variation 2.32 for web search. So 10^6 draws are within 0.23 % (one standard
    /// error).
    #[test]
    fn draws_of_the_tables_have_their_means() {
        let web = mean_of(Law::Table(WEB_SEARCH), 1_000_000);
        assert!((web / 1_711_250.0 - 1.0).abs() < 0.007, "{web}");
        let mining = mean_of(Law::Table(DATA_MINING), 1_000_000);
        assert!((mining / 12.66e6 - 1.0).abs() < 0.03, "{mining}");
    }

    #[test]
    fn the_web_search_table_has_its_variation() {
        let law = Law::Table(WEB_SEARCH);
        let mut stream = Stream::new(3, "cv", 0);
        let n = 400_000;
        let squares: f64 = (0..n).map(|_| law.draw(&mut stream).powi(2)).sum();
        let mean = law.mean();
        let cv = (squares / f64::from(n) / (mean * mean) - 1.0).sqrt();
        assert!((cv - 2.32).abs() < 0.02, "{cv}");
    }

    #[test]
    fn draws_of_the_formulas_have_their_means() {
        let near = |law: Law, share: f64| {
            let mean = mean_of(law, 400_000);
            assert!((mean / law.mean() - 1.0).abs() < share, "{law:?}: {mean}");
        };
        near(Law::Constant(5.0), 1e-12);
        near(Law::Exponential(5.0), 0.006);
        let (mean, shape) = (5.0, 3.0);
        near(Law::Pareto { mean, shape }, 0.006);
    }

    #[test]
    fn quantiles_of_a_table_lie_on_its_lines() {
        assert!((invert(WEB_SEARCH, 0.15) - 10e3).abs() < 1e-6);
        assert!((invert(WEB_SEARCH, 0.75) - 1.5e6).abs() < 1e-3);
        assert!((invert(WEB_SEARCH, 0.985) - 20e6).abs() < 1e-3);
        assert_eq!(invert(WEB_SEARCH, 0.0), 0.0);
    }
}
