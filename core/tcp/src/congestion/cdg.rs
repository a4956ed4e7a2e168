//! CDG: random back-off with a probability that rises with the RTT gradient.
//!
//! Hayes, Armitage, "Revisiting TCP Congestion Control Using Delay Gradients", IFIP Networking
//! 2011; rules of Linux 6.12 (`tcp_cdg.c`). Once per round trip:
//!
//! * gradients of the round's minimum and maximum RTT against the round before, each summed over
//!   8 rounds; g = the sum of the smallest if positive, else that of the largest;
//! * if g > 0 the window falls to 0.7071 of itself with probability 1 − exp(−42e-6·g), g in
//!   microseconds. The next round's growth and gradient are then left out;
//! * after five consecutive such reductions without a sum of −32 us or less, there are no more.
//!
//! Growth is Reno's. Loss halves the window, but not below half the *shadow window*: the window
//! as if delay had never reduced it. So flows that fill queues do not starve CDG.
//!
//! Slow start is `HyStart` unless another is configured. Its thresholds differ from those of the
//! kernel's module (train of 3 ms, base/2; delay of an eighth). Parameters are the module's
//! defaults. The tolerance of non-congestion loss is off there and left out here.

use gigatcp_units::Duration;
use gigatcp_units::random::Stream;

use super::windowed::{Law, Window, Windowed};
use super::{Ack, Config, Congestion, SlowStart};

/// Rounds over which gradients are summed.
const ROUNDS: usize = 8;
/// Back-off factor, per microsecond.
const FACTOR: f64 = 42e-6;
/// Factor of a reduction by delay, in 1/1024: 0.7071.
const BETA: u64 = 724;
/// Consecutive reductions without effect after which delay no longer reduces.
const MAX_INEFFECTUAL: u32 = 5;
/// Sum of gradients that shows an effect, in microseconds.
const EFFECT: i64 = -32;

pub(super) fn control(config: &Config) -> Windowed<Cdg> {
    let config = Config {
        usual_slow_start: SlowStart::HyStart,
        ..*config
    };
    Windowed::new(&config, Cdg::new(config.seed))
}

/// Minimum and maximum RTT of a round, or their gradients, in microseconds.
#[derive(Clone, Copy, Default, Debug)]
struct Extremes {
    min: i64,
    max: i64,
}

/// The law of CDG.
#[derive(Clone, Debug)]
pub(super) struct Cdg {
    round: Option<Extremes>,
    round_before: Option<Extremes>,
    gradients: [Extremes; ROUNDS],
    /// Number of gradients, `ROUNDS` at most.
    filled: usize,
    /// Index of the next gradient.
    tail: usize,
    ineffectual: u32,
    /// Window without reductions by delay, in octets.
    shadow: u64,
    /// Whether delay reduced the window in this round.
    is_reduced: bool,
    random: Stream,
}

impl Cdg {
    fn new(seed: u64) -> Self {
        Self {
            round: None,
            round_before: None,
            gradients: [Extremes::default(); ROUNDS],
            filled: 0,
            tail: 0,
            ineffectual: 0,
            shadow: 0,
            is_reduced: false,
            random: Stream::new(seed, "cdg", 0),
        }
    }

    fn sample(&mut self, rtt: Duration) {
        // An hour: the bound keeps sums within 64 bits.
        let rtt = rtt.as_micros().clamp(1, 1 << 32) as i64;
        let round = self.round.get_or_insert(Extremes { min: rtt, max: rtt });
        round.min = round.min.min(rtt);
        round.max = round.max.max(rtt);
    }

    /// G of the finished round, in microseconds summed over eight rounds.
    fn gradient(&mut self, now: Extremes, before: Extremes) -> i64 {
        self.gradients[self.tail] = Extremes {
            min: now.min - before.min,
            max: now.max - before.max,
        };
        self.tail = (self.tail + 1) % ROUNDS;
        self.filled = (self.filled + 1).min(ROUNDS);
        let sum = |of: fn(&Extremes) -> i64| self.gradients.iter().map(of).sum::<i64>();
        let (min, max) = (sum(|one| one.min), sum(|one| one.max));
        if min <= EFFECT || max <= EFFECT {
            self.ineffectual = 0;
        }
        let g = if min > 0 { min } else { max };
        // Extrapolates to `ROUNDS` rounds.
        g * ROUNDS as i64 / self.filled as i64
    }

    /// Whether the window falls for a gradient of `g`.
    fn backs_off(&mut self, g: i64) -> bool {
        if g <= 0 || self.random.uniform() < libm::exp(-FACTOR * g as f64) {
            return false;
        }
        self.ineffectual += 1;
        self.ineffectual <= MAX_INEFFECTUAL
    }

    fn end_round(&mut self, window: &mut Window) {
        if core::mem::take(&mut self.is_reduced) {
            return;
        }
        let Some(round) = self.round.take() else {
            return;
        };
        let Some(before) = self.round_before.replace(round) else {
            return;
        };
        let g = self.gradient(round, before);
        if self.backs_off(g) {
            self.shadow = self.shadow.max(window.cwnd);
            self.is_reduced = true;
            let left = (u128::from(window.cwnd) * u128::from(BETA) / 1024) as u64;
            window.fall_to(left.max(window.floor()));
        }
    }
}

impl Law for Cdg {
    fn observe(&mut self, window: &mut Window, ack: &Ack) {
        if ack.round_end {
            self.end_round(window);
        }
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if !ack.cwnd_limited {
            self.shadow = self.shadow.min(window.cwnd);
        }
    }

    fn grow_avoidance(&mut self, window: &mut Window, _ack: &Ack, acked: u64) {
        if self.is_reduced {
            return;
        }
        let before = window.cwnd;
        window.grow_by_segments(window.segments(), acked);
        let grown = window.cwnd - before;
        self.shadow = self.shadow.saturating_add(grown).max(window.cwnd);
    }

    fn reduced(&mut self, _window: &Window, _event: &Congestion, in_use: u64) -> u64 {
        self.shadow = (self.shadow / 2).min(in_use);
        self.shadow.max(in_use / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_gradient_of_1_ms_reduces_with_probability_0_285() {
        // 1 − exp(−42e-6·8000) = 0.2854; 10 000 draws: ±0.014 at three sigma.
        let mut law = Cdg::new(0);
        let mut count = 0;
        for _ in 0..10_000 {
            law.ineffectual = 0;
            count += u32::from(law.backs_off(8 * 1000));
        }
        assert!((count as f64 / 10_000.0 - 0.2854).abs() < 0.014, "{count}");
    }

    #[test]
    fn the_gradients_of_eight_rounds_are_summed_and_missing_ones_extrapolated() {
        let mut law = Cdg::new(0);
        let at = |us| Extremes { min: us, max: us };
        for round in 1..=20 {
            let g = law.gradient(at(50_000 + 1000 * round), at(49_000 + 1000 * round));
            assert_eq!(g, 8000, "{round}");
        }
        assert_eq!(law.gradient(at(0), at(7000)), 0);
    }

    #[test]
    fn five_reductions_in_a_row_without_effect_are_the_last() {
        let mut law = Cdg::new(0);
        let count = (0..100).filter(|_| law.backs_off(1 << 40)).count();
        assert_eq!(count, 5);
        let at = |us| Extremes { min: us, max: us };
        law.gradient(at(1000), at(1032));
        assert!(law.backs_off(1 << 40));
    }
}
