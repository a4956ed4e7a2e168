//! Copa: a rate inverse to the queueing delay.
//!
//! Arun, Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI
//! 2018; rules as in mvfst (`Copa.cpp`); the competitive mode is from memory of the paper. With
//! windows in segments:
//!
//! * standing RTT = smallest of the last SRTT/2, dq = standing RTT − minimum RTT of 10 s;
//! * target rate = 1/(δ·dq), rate = cwnd/standing RTT                               (1)
//! * per segment acknowledged cwnd moves by v/(δ·cwnd), up while rate <= target, else down (2)
//! * v doubles once per SRTT after three in the same direction, and is 1 after a change;
//! * slow start doubles the window per round trip until rate > target.
//!
//! Pacing at 2·cwnd/standing RTT. N flows keep N/δ segments queued, 2·N at δ = 1/2, and empty the
//! queue once in about five round trips.
//!
//! Competitive mode: if dq was not below a tenth of its range in the last five round trips, cross
//! traffic fills the queue. 1/δ then grows by 1 per round trip and is halved by loss (minimum 2).
//! Otherwise loss does not reduce the window; a timeout leaves one segment.

use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion};
use crate::min_rtt::MinRtt;

/// Window of the minimum RTT, which is taken as that of the empty path.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// 1/δ of the default mode.
const INVERSE_DELTA: u64 = 2;
/// Maximum of 1/δ: a bound for flows that compete indefinitely.
const MAX_INVERSE_DELTA: u64 = 1 << 10;
/// Maximum velocity.
const MAX_VELOCITY: u64 = 1 << 16;
/// Consecutive SRTTs in the same direction before the velocity doubles.
const SAME_DIRECTION: u32 = 3;
/// Round trips within which the queue must be nearly empty once.
const EMPTY_WITHIN: u32 = 5;
/// Divisor of the delay's range for a nearly empty queue.
const NEARLY_EMPTY: u64 = 10;

pub(super) fn control(config: &Config) -> Windowed<Copa> {
    Windowed::new(config, Copa::new())
}

/// The law of Copa.
#[derive(Clone, Debug)]
pub(super) struct Copa {
    min_rtt: MinRtt,
    standing: MinRtt,
    /// Maximum RTT of this round and of those before it, newest first.
    max_rtts: [Duration; 4],
    inverse_delta: u64,
    velocity: u64,
    /// Direction of the last SRTT, and number of SRTTs in that direction.
    is_rising: bool,
    same: u32,
    /// Start of this SRTT, and the window then, in octets.
    since: Option<Instant>,
    cwnd_then: u64,
    /// Rounds since the queue was nearly empty.
    full_rounds: u32,
}

impl Copa {
    fn new() -> Self {
        Self {
            min_rtt: MinRtt::new(MIN_RTT_WINDOW),
            standing: MinRtt::new(Duration::from_millis(1)),
            max_rtts: [Duration::ZERO; 4],
            inverse_delta: INVERSE_DELTA,
            velocity: 1,
            is_rising: true,
            same: 0,
            since: None,
            cwnd_then: 0,
            full_rounds: 0,
        }
    }

    /// Standing RTT and queueing delay.
    fn delays(&self) -> Option<(Duration, Duration)> {
        let standing = self.standing.value()?;
        Some((standing, standing.saturating_sub(self.min_rtt.value()?)))
    }

    /// Whether the rate is above the target, eq. (1).
    fn is_above(&self, window: &Window) -> bool {
        let Some((standing, dq)) = self.delays() else {
            return false;
        };
        let queued = u128::from(window.cwnd / window.smss) * u128::from(dq.as_nanos());
        queued > u128::from(self.inverse_delta) * u128::from(standing.as_nanos())
    }

    fn sample(&mut self, ack: &Ack, rtt: Duration) {
        let srtt = ack.srtt.unwrap_or(rtt);
        self.min_rtt.on_sample(ack.now, rtt);
        // Zero would mean the whole connection.
        self.standing
            .set_window((srtt / 2).max(Duration::from_nanos(1)));
        self.standing.on_sample(ack.now, rtt);
        self.max_rtts[0] = self.max_rtts[0].max(rtt);
        if let Some((_, dq)) = self.delays() {
            let largest = self.max_rtts.into_iter().max().unwrap_or(rtt);
            let least = self.min_rtt.value().unwrap_or(rtt);
            if dq <= largest.saturating_sub(least) / NEARLY_EMPTY {
                self.full_rounds = 0;
            }
        }
    }

    /// Updates the competitive mode, once per round.
    fn end_round(&mut self) {
        self.max_rtts.rotate_right(1);
        self.max_rtts[0] = Duration::ZERO;
        self.full_rounds = self.full_rounds.saturating_add(1);
        self.inverse_delta = if self.full_rounds > EMPTY_WITHIN {
            (self.inverse_delta + 1).min(MAX_INVERSE_DELTA)
        } else {
            INVERSE_DELTA
        };
    }

    /// Updates the velocity, once per SRTT.
    fn update_velocity(&mut self, window: &Window, ack: &Ack) {
        let (Some(srtt), since) = (ack.srtt, *self.since.get_or_insert(ack.now)) else {
            return;
        };
        if ack.now.saturating_since(since) < srtt {
            return;
        }
        let is_rising = window.cwnd > self.cwnd_then;
        if is_rising == self.is_rising {
            self.same = self.same.saturating_add(1);
            if self.same >= SAME_DIRECTION {
                self.velocity = (2 * self.velocity).min(MAX_VELOCITY);
            }
        } else {
            self.turn(is_rising);
        }
        self.since = Some(ack.now);
        self.cwnd_then = window.cwnd;
    }

    fn turn(&mut self, is_rising: bool) {
        self.velocity = 1;
        self.same = 0;
        self.is_rising = is_rising;
    }

    fn step(&self) -> u64 {
        debug_assert!(
            (1..=MAX_VELOCITY).contains(&self.velocity)
                && (INVERSE_DELTA..=MAX_INVERSE_DELTA).contains(&self.inverse_delta),
            "velocity {} and 1/delta {}",
            self.velocity,
            self.inverse_delta
        );
        self.velocity * self.inverse_delta
    }
}

impl Law for Copa {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(ack, rtt);
        }
        if ack.round_end {
            self.end_round();
        }
        self.update_velocity(window, ack);
        if !self.is_above(window) {
            return;
        }
        if window.is_in_slow_start() {
            window.fall_to(window.cwnd);
        }
        if self.is_rising && self.velocity > 1 {
            self.turn(false);
        }
        window.shrink_by_share(ack.acked.as_u64(), self.step(), 1);
        window.ssthresh = window.ssthresh.min(window.cwnd.max(window.floor()));
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if self.is_above(window) {
            return;
        }
        if !self.is_rising && self.velocity > 1 {
            self.turn(true);
        }
        window.grow_by_share(acked, self.step(), 1);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        if self.inverse_delta > INVERSE_DELTA {
            self.inverse_delta = (self.inverse_delta / 2).max(INVERSE_DELTA);
        }
        in_use
    }

    fn on_idle_restart(&mut self) {
        self.turn(true);
        self.since = None;
    }

    fn pacing_rate(&self, window: &Window) -> Option<Rate> {
        let standing = self
            .standing
            .value()
            .filter(|standing| !standing.is_zero())?;
        let twice = Bytes::new(window.cwnd.saturating_mul(2));
        Some(Rate::from_amount(twice, standing))
    }
}
