//! LEDBAT (RFC 6817): a queueing delay of 100 ms, yielding to other flows.
//!
//! * `off_target` = (TARGET − queuing delay)/TARGET                       (section 2.4.2)
//! * cwnd += GAIN·`off_target`·octets acknowledged·MSS/cwnd, down as well as up
//! * queuing delay = smallest of the last four delays − base delay; the base is the smallest of
//!   ten minutes, kept per minute (section 2.4.2)
//! * loss halves the window, a timeout leaves one segment (section 2.4.1)
//!
//! TARGET = 100 ms, GAIN = 1, at least two segments. There is no slow start: the window grows by
//! one segment per round trip at most.
//!
//! A queue that holds less than TARGET makes it Reno. A flow that starts on the queue of another
//! counts it as base delay, and the first one starves (section 4.4).
//!
//! Delays are RTTs, since ACKs carry no one-way delay here: a queue on the ACK path counts.

use gigatcp_units::{Duration, Instant};

use super::slow_start::SlowStartState;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Target queueing delay.
const TARGET: Duration = Duration::from_millis(100);
/// Minutes over which the base delay is the minimum: `BASE_HISTORY`.
const BASE_HISTORY: usize = 10;
/// Samples over which the current delay is the minimum: `CURRENT_FILTER`.
const CURRENT_FILTER: usize = 4;
/// Scale of `off_target`.
const SCALE: u64 = 1 << 16;

/// Base delay and current delay of RFC 6817.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delays {
    /// Minimum delay of each of the last minutes, newest first.
    base: [Duration; BASE_HISTORY],
    minute: u64,
    /// Last samples, a ring.
    current: [Duration; CURRENT_FILTER],
    next: usize,
}

impl Delays {
    pub(super) const fn new() -> Self {
        Self {
            base: [Duration::MAX; BASE_HISTORY],
            minute: 0,
            current: [Duration::MAX; CURRENT_FILTER],
            next: 0,
        }
    }

    pub(super) fn sample(&mut self, now: Instant, delay: Duration) {
        let minute = now.as_nanos() / 60_000_000_000;
        let passed = minute.saturating_sub(self.minute).min(BASE_HISTORY as u64) as usize;
        if passed > 0 {
            self.base.rotate_right(passed);
            self.base[..passed].fill(Duration::MAX);
            self.minute = minute;
        }
        self.base[0] = self.base[0].min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// Base delay; `None` before the first sample.
    pub(super) fn base(&self) -> Option<Duration> {
        let base = self.base.into_iter().min();
        base.filter(|base| *base != Duration::MAX)
    }

    /// Queueing delay, zero before the first sample.
    pub(super) fn queueing(&self) -> Duration {
        let current = self.current.into_iter().min();
        match (current, self.base()) {
            (Some(current), Some(base)) => current.saturating_sub(base),
            _ => Duration::ZERO,
        }
    }
}

pub(super) fn control(config: &Config) -> Windowed<Ledbat> {
    let config = Config {
        // Never in slow start, whatever the phase is called.
        initial_ssthresh: config.initial_ssthresh.or(Some(1)),
        ..*config
    };
    let delays = Delays::new();
    Windowed::new(&config, Ledbat { delays })
}

/// The law of LEDBAT.
#[derive(Clone, Debug)]
pub(super) struct Ledbat {
    delays: Delays,
}

impl Law for Ledbat {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.sample(ack.now, rtt);
        }
        let above = self.delays.queueing().saturating_sub(TARGET);
        if !above.is_zero() {
            window.shrink_by_share(ack.acked.as_u64(), scaled(above), SCALE);
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, _opening: &mut SlowStartState, ack: &Ack) {
        if ack.cwnd_limited {
            self.grow_avoidance(window, ack, ack.acked.as_u64());
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        let below = TARGET.saturating_sub(self.delays.queueing());
        window.grow_by_share(acked, scaled(below), SCALE);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn keep_measured(&mut self, since: &Self) {
        self.delays = since.delays;
    }
}

/// A distance from the target as a share of it, in 1/[`SCALE`].
fn scaled(distance: Duration) -> u64 {
    let share = u128::from(distance.as_nanos()) * u128::from(SCALE);
    u64::try_from(share / u128::from(TARGET.as_nanos())).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut delays = Delays::new();
        let minute = |n: u64| Instant::from_nanos(n * 60_000_000_000);
        let ms = Duration::from_millis;
        delays.sample(minute(5), ms(20));
        for n in 6..15 {
            delays.sample(minute(n), ms(50 + n));
            assert_eq!(delays.base(), Some(ms(20)), "{n}");
        }
        delays.sample(minute(15), ms(80));
        assert_eq!(delays.base(), Some(ms(56)));
        delays.sample(minute(100), ms(90));
        assert_eq!(delays.base(), Some(ms(90)));
    }

    #[test]
    fn one_low_sample_in_four_is_the_current_delay() {
        let mut delays = Delays::new();
        let ms = Duration::from_millis;
        for delay in [10, 100, 60, 100, 100] {
            delays.sample(Instant::ZERO, ms(delay));
        }
        assert_eq!(delays.queueing(), ms(50));
    }
}
