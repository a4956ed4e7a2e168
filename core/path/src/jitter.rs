//! Variable delays: by a schedule, at random, or both.
//!
//! ```text
//! delay = max(0, mean + spread * z),  z uniform in [-1, 1] or normal    (1)
//! ```
//!
//! The normal variate is the sum of twelve uniform ones minus six (Irwin and Hall; variance 1, |z|
//! below 6, cut at 4). It needs no logarithm, so all machines agree.

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

    /// Returns whether each packet may overtake earlier ones.
    pub(crate) fn is_overtaking(&self) -> bool {
        self.jitter
            .as_ref()
            .is_some_and(|(jitter, _)| jitter.overtaking)
    }

    /// Returns the minimum delay of a later packet, unless the schedule falls below it.
    pub(crate) fn least(&self) -> Duration {
        if self.changes.is_some() {
            return Duration::ZERO;
        }
        match &self.jitter {
            None => self.mean,
            Some((jitter, _)) => self.mean.saturating_sub(jitter.spread.saturating_mul(4)),
        }
    }

    /// Returns the delay of a wire packet that leaves the serializer at `now`. `now` must not
    /// precede that of the call before.
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
                let offset = draw(jitter, random);
                self.drawn = Some((offset, now + jitter.hold));
                offset
            }
        };
        let mean = i64::try_from(self.mean.as_nanos()).unwrap_or(i64::MAX);
        let nanos = mean.saturating_add(offset).max(0);
        let delay = Duration::from_nanos(nanos.unsigned_abs());
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

/// Draws the difference of one delay from its mean, in nanoseconds.
fn draw(jitter: &Jitter, random: &mut Stream) -> i64 {
    /// Draws from the uniform distribution on [0, 2^32).
    fn part(random: &mut Stream) -> i128 {
        i128::from(random.bits() as u32)
    }
    const WHOLE: i128 = 1 << 32;
    let spread = i128::from(jitter.spread.as_nanos());
    let offset = match jitter.law {
        JitterLaw::Uniform => spread * (2 * part(random) - WHOLE) / WHOLE,
        JitterLaw::Normal => {
            let sum: i128 = (0..12).map(|_| part(random)).sum();
            let z = (sum - 6 * WHOLE).clamp(-4 * WHOLE, 4 * WHOLE);
            spread * z / WHOLE
        }
    };
    i64::try_from(offset).unwrap_or(i64::MAX)
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

    #[test]
    fn a_draw_holds_as_long_as_it_was_told_to() {
        let held = delays(JitterLaw::Uniform, Duration::from_millis(10));
        let mut changes = held.windows(2).filter(|pair| pair[0] != pair[1]).count();
        changes += 1;
        assert_eq!(changes, 10);
    }
}
