//! LEDBAT++: LEDBAT that does not starve other LEDBAT flows.
//!
//! draft-irtf-iccrg-ledbat-plus-plus-01, as tabulated by two implementations; not read directly.
//! Delays are those of `ledbat.rs`. With TARGET = 60 ms and GAIN = 1/min(16, ⌈2·TARGET/base⌉):
//!
//! * slow start: cwnd += GAIN·octets acknowledged; the first one ends at 3/4 of TARGET;
//! * up to TARGET: cwnd += GAIN segments per round trip;
//! * above it, per round trip: cwnd += max(GAIN − cwnd·(delay/TARGET − 1), −cwnd/2);
//! * slowdown: two round trips after the first slow start cwnd becomes two segments for two round
//!   trips, then slow start leads back to the previous window. The next slowdown follows after
//!   nine times the duration of the last: it costs a tenth at most. The queue empties, so flows
//!   measure the true base delay.
//!
//! Loss halves the window.

use gigatcp_units::{Bytes, Duration, Instant};

use super::ledbat::Delays;
use super::slow_start::SlowStartState;
use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};

/// Target queueing delay.
const TARGET: Duration = Duration::from_millis(60);
/// Largest divisor of GAIN.
const MAX_DIVISOR: u64 = 16;
/// Round trips at two segments, and from slow start to the first slowdown.
const SLOWDOWN_ROUNDS: u32 = 2;
/// Time between slowdowns, as a multiple of the last one's duration.
const SLOWDOWN_FACTOR: u64 = 9;

pub(super) fn control(config: &Config) -> Windowed<LedbatPlusPlus> {
    Windowed::new(
        config,
        LedbatPlusPlus {
            delays: Delays::new(),
            stage: Stage::Opening,
        },
    )
}

/// Stage of the periodic slowdown of a flow.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The first slow start.
    Opening,
    /// This number of round trips until the first slowdown.
    Opened(u32),
    /// Normal operation until this time.
    Running(Instant),
    /// Two segments for this number of further round trips; start of the slowdown.
    Down(u32, Instant),
    /// Slow start back to ssthresh; start of the slowdown.
    Returning(Instant),
}

/// The law of LEDBAT++.
#[derive(Clone, Debug)]
pub(super) struct LedbatPlusPlus {
    delays: Delays,
    stage: Stage,
}

/// 1/GAIN over a path of this base delay.
fn divisor(base: Duration) -> u64 {
    (2 * TARGET.as_nanos())
        .div_ceil(base.as_nanos().max(1))
        .clamp(1, MAX_DIVISOR)
}

impl LedbatPlusPlus {
    fn divisor(&self) -> u64 {
        self.delays.base().map_or(MAX_DIVISOR, divisor)
    }

    fn end_round(&mut self, window: &mut Window, now: Instant) {
        self.stage = match self.stage {
            Stage::Opening if window.is_in_slow_start() => Stage::Opening,
            Stage::Opening => Stage::Opened(SLOWDOWN_ROUNDS),
            Stage::Opened(rounds) if rounds > 1 => Stage::Opened(rounds - 1),
            Stage::Running(until) if now < until => Stage::Running(until),
            Stage::Opened(_) | Stage::Running(_) => {
                let ssthresh = window.cwnd;
                window.fall_to(window.floor());
                window.ssthresh = ssthresh.max(window.floor());
                Stage::Down(SLOWDOWN_ROUNDS, now)
            }
            Stage::Down(rounds, began) if rounds > 1 => Stage::Down(rounds - 1, began),
            Stage::Down(_, began) => Stage::Returning(began),
            Stage::Returning(began) if window.is_in_slow_start() => Stage::Returning(began),
            Stage::Returning(began) => {
                let took = now.saturating_since(began);
                Stage::Running(now + took.saturating_mul(SLOWDOWN_FACTOR))
            }
        };
        if matches!(self.stage, Stage::Opened(_) | Stage::Running(_)) {
            self.follow_delay(window);
        }
    }

    /// Reduces the window per round trip above TARGET.
    fn follow_delay(&self, window: &mut Window) {
        let above = self.delays.queueing().saturating_sub(TARGET);
        if above.is_zero() {
            return;
        }
        let (cwnd, target) = (u128::from(window.cwnd), u128::from(TARGET.as_nanos()));
        let excess = cwnd * u128::from(above.as_nanos()) / target;
        let excess = excess.saturating_sub(u128::from(window.smss / self.divisor()));
        let left = cwnd - excess.min(cwnd / 2);
        window.fall_to((left as u64).max(window.floor()));
    }
}

impl Law for LedbatPlusPlus {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.sample(ack.now, rtt);
        }
        if ack.round_end {
            self.end_round(window, ack.now);
        }
    }

    fn grow_slow_start(&mut self, window: &mut Window, opening: &mut SlowStartState, ack: &Ack) {
        if matches!(self.stage, Stage::Down(..)) {
            return;
        }
        let first = matches!(self.stage, Stage::Opening);
        if first && self.delays.queueing() > TARGET / 4 * 3 {
            window.ssthresh = window.cwnd;
            return;
        }
        let acked = Ack {
            acked: Bytes::new(ack.acked.as_u64() / self.divisor()),
            ..*ack
        };
        (window.cwnd, window.ssthresh) = opening.grow(&acked, window.cwnd, window.ssthresh);
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if self.delays.queueing() <= TARGET {
            window.grow_by_share(acked, 1, self.divisor());
        }
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        in_use / 2
    }

    fn keep_measured(&mut self, since: &Self) {
        self.delays = since.delays;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gain_follows_the_base_delay() {
        let expected = [
            (5, 16),
            (10, 12),
            (20, 6),
            (30, 4),
            (40, 3),
            (60, 2),
            (100, 2),
            (120, 1),
        ];
        for (base, inverse) in expected {
            assert_eq!(divisor(Duration::from_millis(base)), inverse, "{base} ms");
        }
    }
}
