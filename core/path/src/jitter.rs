//! Variable delays: by a schedule, at random, or both.
//!
//! ```text
//! delay = max(0, mean + spread * z),  z uniform in [-1, 1], normal, ... (1)
//! ```
//!
//! The laws `pareto` and `paretonormal` are those of netem's tables (iproute2, `netem/*.dist`), with u
//! uniform in (0, 1]:
//!
//! ```text
//! pareto:        z = min(4, 4/3 * (u^(-1/3) - 3/2))                      (2)
//! paretonormal:  z = 3/4 * pareto(u) + 1/4 * normal quantile of 1 - u    (3)
//! ```
//!
//! The normal variate is the sum of twelve uniform ones minus six (Irwin and Hall; variance 1, |z|
//! below 6, cut at 4). It needs no logarithm, so all machines agree. (2) and (3) use `libm`, with
//! which they agree as well.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use crate::config::{HopConfig, Jitter, JitterLaw};
use crate::random::{Purpose, stream};
use crate::schedule::Follower;

/// Running state of the delay of a delay line.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    mean: Duration,
    changes: Option<Follower<Duration>>,
    jitter: Option<(Jitter, Stream)>,
    /// Current draw, and the time until which it holds.
    drawn: Option<(i64, Instant)>,
}

impl Delay {
    pub(crate) fn new(config: &HopConfig, seed: u64) -> Self {
        let stream = |jitter| (jitter, stream(seed, &config.name, Purpose::Jitter));
        Self {
            mean: config.one_way_delay,
            changes: follower(config, Instant::ZERO),
            jitter: config.jitter.map(stream),
            drawn: None,
        }
    }

    /// Sets the mean from now on, unless a schedule changes it.
    pub(crate) fn set_mean(&mut self, mean: Duration) {
        self.mean = mean;
    }

    /// Replaces the configuration `before` by `after` from `now` on. A new schedule counts from
    /// `now`.
    pub(crate) fn reconfigure(
        &mut self,
        now: Instant,
        before: &HopConfig,
        after: &HopConfig,
        seed: u64,
    ) {
        let new = Self::new(after, seed);
        if before.delay_schedule != after.delay_schedule {
            self.changes = follower(after, now);
            self.mean = new.mean;
        }
        if before.one_way_delay != after.one_way_delay {
            self.mean = new.mean;
        }
        if before.jitter != after.jitter {
            self.jitter = new.jitter;
            self.drawn = None;
        }
    }

    /// Whether each packet may overtake earlier ones.
    pub(crate) fn is_overtaking(&self) -> bool {
        self.jitter
            .as_ref()
            .is_some_and(|(jitter, _)| jitter.overtaking)
    }

    /// Minimum delay of a later packet, unless the schedule falls below it.
    pub(crate) fn least(&self) -> Duration {
        if self.changes.is_some() {
            return Duration::ZERO;
        }
        match &self.jitter {
            None => self.mean,
            Some((jitter, _)) => self.mean.saturating_sub(jitter.spread.saturating_mul(4)),
        }
    }

    /// Delay of a wire packet that leaves the serializer at `now`. `now` must not precede that of
    /// the call before.
    pub(crate) fn of(&mut self, now: Instant) -> Duration {
        while let Some(changes) = &mut self.changes
            && changes.poll_timeout().is_some_and(|at| at <= now)
        {
            self.mean = changes.take().unwrap_or(self.mean);
        }
        let Some((jitter, random)) = &mut self.jitter else {
            return self.mean;
        };
        let offset = match self.drawn {
            Some((offset, until)) if now < until => offset,
            _ => {
                let offset = draw(jitter.spread, jitter.law, random);
                self.drawn = Some((offset, now + jitter.hold));
                offset
            }
        };
        let delay = plus(self.mean, offset);
        debug_assert!(
            delay >= self.least(),
            "a delay of {delay:?}, at least {:?} was promised",
            self.least()
        );
        delay
    }
}

fn follower(config: &HopConfig, start: Instant) -> Option<Follower<Duration>> {
    let schedule = config.delay_schedule.clone();
    schedule.map(|schedule| Follower::new(schedule, start))
}

/// Draws a delay about `mean`, which is not below zero.
pub(crate) fn draw_about(
    mean: Duration,
    spread: Duration,
    law: JitterLaw,
    random: &mut Stream,
) -> Duration {
    plus(mean, draw(spread, law, random))
}

fn plus(mean: Duration, offset: i64) -> Duration {
    let mean = i64::try_from(mean.as_nanos()).unwrap_or(i64::MAX);
    Duration::from_nanos(mean.saturating_add(offset).max(0).unsigned_abs())
}

/// Draws the difference of one delay from its mean, in nanoseconds.
fn draw(spread: Duration, law: JitterLaw, random: &mut Stream) -> i64 {
    /// Draws from the uniform distribution on [0, 2^32).
    fn part(random: &mut Stream) -> i128 {
        i128::from(random.bits() as u32)
    }
    const WHOLE: i128 = 1 << 32;
    let spread = i128::from(spread.as_nanos());
    let offset = match law {
        JitterLaw::Uniform => spread * (2 * part(random) - WHOLE) / WHOLE,
        JitterLaw::Normal => {
            let sum: i128 = (0..12).map(|_| part(random)).sum();
            let z = (sum - 6 * WHOLE).clamp(-4 * WHOLE, 4 * WHOLE);
            spread * z / WHOLE
        }
        JitterLaw::Pareto => scaled(spread, pareto(rank(random))),
        JitterLaw::ParetoNormal => {
            let u = rank(random);
            scaled(spread, 0.75 * pareto(u) + 0.25 * normal_quantile(1.0 - u))
        }
    };
    i64::try_from(offset).unwrap_or(i64::MAX)
}

/// Largest |z|, in spreads: that of netem's tables.
const MAX_Z: f64 = 4.0;

/// Draws from the uniform distribution on (0, 1].
fn rank(random: &mut Stream) -> f64 {
    (f64::from(random.bits() as u32) + 1.0) / 4_294_967_296.0
}

fn scaled(spread: i128, z: f64) -> i128 {
    const WHOLE: f64 = 4_294_967_296.0;
    let z = (z.clamp(-MAX_Z, MAX_Z) * WHOLE) as i128;
    (spread * z) >> 32
}

/// Returns eq. (2).
fn pareto(u: f64) -> f64 {
    ((1.0 / libm::cbrt(u) - 1.5) * 4.0 / 3.0).min(MAX_Z)
}

/// Quantile of the normal distribution, within 5e-4 (Abramowitz and Stegun, 26.2.23).
fn normal_quantile(q: f64) -> f64 {
    let tail = q.min(1.0 - q).max(1e-12);
    let t = libm::sqrt(-2.0 * libm::log(tail));
    let numerator = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    let denominator = 1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308));
    let z = t - numerator / denominator;
    if q < 0.5 { -z } else { z }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn delays(law: JitterLaw, hold: Duration) -> Vec<f64> {
        let jitter = Jitter {
            spread: Duration::from_millis(2),
            law,
            hold,
            overtaking: true,
        };
        let mut delay = Delay::new(
            &HopConfig {
                one_way_delay: Duration::from_millis(20),
                jitter: Some(jitter),
                ..HopConfig::default()
            },
            3,
        );
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        (0..100_000)
            .map(|us| delay.of(at(us)).as_secs_f64() * 1e3)
            .collect()
    }

    fn moments(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let squares = values.iter().map(|value| (value - mean) * (value - mean));
        (mean, (squares.sum::<f64>() / values.len() as f64).sqrt())
    }

    /// Expected: mean 20 ms; deviation 2/sqrt(3) = 1.1547 ms if uniform, 2 ms if
    /// normal. 100 000 draws give each within 1 %.
    #[test]
    fn delays_have_the_mean_and_deviation_that_were_asked_for() {
        let uniform = delays(JitterLaw::Uniform, Duration::ZERO);
        let (mean, deviation) = moments(&uniform);
        assert!((mean - 20.0).abs() < 0.02 && (deviation - 1.1547).abs() < 0.012);
        assert!(uniform.iter().all(|ms| (18.0..=22.0).contains(ms)));
        let normal = delays(JitterLaw::Normal, Duration::ZERO);
        let (mean, deviation) = moments(&normal);
        assert!((mean - 20.0).abs() < 0.03 && (deviation - 2.0).abs() < 0.02);
        let within = normal
            .iter()
            .filter(|ms| (18.0..22.0).contains(*ms))
            .count();
        assert!((within as f64 / 1e5 - 0.6827).abs() < 0.01, "{within}");
    }

    /// Quantiles of 0.1, 0.25, 0.5, 0.75, 0.9 and 0.99, mean and standard deviation of netem's tables,
    /// in spreads. 100 000 draws: 0.02 for the quantiles up to 0.9.
    #[test]
    fn pareto_and_paretonormal_are_the_distributions_of_netems_tables() {
        let pareto = [
            -0.6191, -0.5325, -0.3201, 0.1166, 0.8717, 3.9999, -0.0335, 0.8197,
        ];
        let mixed = [
            -0.7849, -0.5679, -0.2400, 0.2560, 0.9740, 3.5817, -0.0253, 0.8339,
        ];
        for (law, expected) in [
            (JitterLaw::Pareto, pareto),
            (JitterLaw::ParetoNormal, mixed),
        ] {
            let mut z: Vec<f64> = delays(law, Duration::ZERO)
                .iter()
                .map(|ms| (ms - 20.0) / 2.0)
                .collect();
            let (mean, deviation) = moments(&z);
            z.sort_by(f64::total_cmp);
            let quantiles = [0.1, 0.25, 0.5, 0.75, 0.9, 0.99].map(|q| z[(q * 1e5) as usize]);
            for (got, expected) in quantiles.iter().chain(&[mean, deviation]).zip(expected) {
                assert!(
                    (got - expected).abs() < 0.02,
                    "{law:?}: {got} for {expected}"
                );
            }
            assert!(z[0] >= -4.0 && z[z.len() - 1] <= 4.0);
        }
    }

    #[test]
    fn a_draw_holds_as_long_as_it_was_told_to() {
        let held = delays(JitterLaw::Uniform, Duration::from_millis(10));
        let mut changes = held.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes += 1;
        assert_eq!(changes, 10);
    }
}
