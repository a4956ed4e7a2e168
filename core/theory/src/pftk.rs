//! Rate with loss, timeouts and a receive window.
//!
//! Padhye, Firoiu, Towsley, Kurose, "Modeling TCP Throughput: A Simple Model and its Empirical
//! Validation", SIGCOMM 1998: the full model.
//!
//! ```text
//! E[W]  = (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2)
//! Q(w)  = min(1, (1-(1-p)^3)(1+(1-p)^3(1-(1-p)^(w-3))) / (1-(1-p)^w))
//! f(p)  = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6
//! B     = ((1-p)/p + E[W] + Q/(1-p))
//!         / (RTT (b/2 E[W] + 1) + Q f(p) T0/(1-p))                E[W] < Wm
//! B     = ((1-p)/p + Wm + Q(Wm)/(1-p))
//!         / (RTT (b/8 Wm + (1-p)/(p Wm) + 2) + Q(Wm) f(p) T0/(1-p))
//! ```
//!
//! `p` is the probability that a segment is the first lost of its window: the model assumes that
//! the rest of that window is lost with it.
//!
//! Out of scope: SACK and NewReno. The model is of Reno, where several losses in one window lead to
//! a timeout; it is pessimistic for later TCPs.

use gigatcp_units::{Bytes, Duration, Probability, Rate};

/// Parameters of the model for a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pftk {
    /// Mean RTT.
    pub rtt: Duration,
    /// First retransmission timeout of a series, T0.
    pub t0: Duration,
    /// Segments that one acknowledgment covers, b: 1, or 2 when delayed.
    pub segments_per_ack: f64,
    /// Receive window in segments, Wm; `None`: unlimited.
    pub window_limit: Option<f64>,
}

impl Pftk {
    /// Segments per second by the full model. Without loss it is the limit of the window, or
    /// infinite.
    pub fn full(&self, loss: Probability) -> f64 {
        let p = loss.as_f64();
        let rtt = self.rtt.as_secs_f64();
        if p == 0.0 {
            return self.window_limit.map_or(f64::INFINITY, |wm| wm / rtt);
        }
        let expected = expected_window(p, self.segments_per_ack);
        let (window, rounds) = match self.window_limit {
            Some(wm) if expected >= wm => {
                let ramp = self.segments_per_ack / 8.0 * wm;
                (wm, ramp + (1.0 - p) / (p * wm) + 2.0)
            }
            _ => (expected, self.segments_per_ack / 2.0 * expected + 1.0),
        };
        // Numerator and denominator are both multiplied by 1-p, so that a path with total loss has
        // a rate: that of the backed-off probes.
        let kept = 1.0 - p;
        let q = timeout_share(p, window);
        let sent = kept * kept / p + kept * window + q;
        let spent = kept * rtt * rounds + q * backoff(p) * self.t0.as_secs_f64();
        sent / spent
    }

    /// Full model's rate for segments of `mss` bytes.
    pub fn rate(&self, mss: Bytes, p: Probability) -> Rate {
        Rate::from_bps((self.full(p) * mss.as_bits_f64() + 0.5) as u64)
    }
}

/// E\[W\]: the mean window in segments at the end of a loss-free period.
pub fn expected_window(p: f64, b: f64) -> f64 {
    let offset = (2.0 + b) / (3.0 * b);
    offset + libm::sqrt(8.0 * (1.0 - p) / (3.0 * b * p) + offset * offset)
}

/// Q(w): the share of loss indications at window `w` that are timeouts.
pub fn timeout_share(p: f64, w: f64) -> f64 {
    // Three duplicate acknowledgments need a fourth segment.
    if w <= 3.0 {
        return 1.0;
    }
    let some_lost_of = |n: f64| -libm::expm1(n * libm::log1p(-p));
    let three_kept = 1.0 - some_lost_of(3.0);
    let share = some_lost_of(3.0) * (1.0 + three_kept * some_lost_of(w - 3.0)) / some_lost_of(w);
    debug_assert!(
        share >= 0.0,
        "Q is a share of the losses: {share} at loss {p} and window {w}"
    );
    share.min(1.0)
}

/// Returns f(p): the duration of a series of timeouts, relative to T0. The doubling ends at 64.
pub fn backoff(p: f64) -> f64 {
    1.0 + p * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * 32.0)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    fn model(b: f64) -> Pftk {
        Pftk {
            rtt: Duration::from_millis(100),
            t0: Duration::from_secs(1),
            segments_per_ack: b,
            window_limit: None,
        }
    }

    fn p(value: f64) -> Probability {
        Probability::try_new(value).expect("a probability")
    }

    /// Segments per second at RTT 100 ms and T0 1 s. Columns: loss probability, decimals, b=1,
    /// b=2.
    const TABLE: [(f64, u32, [f64; 2]); 6] = [
        (1e-4, 1, [1219.6, 861.6]),
        (1e-3, 1, [376.6, 265.6]),
        (1e-2, 2, [98.83, 69.52]),
        (3e-2, 2, [42.07, 29.78]),
        (0.1, 2, [12.46, 9.11]),
        (0.2, 2, [5.30, 4.04]),
    ];

    #[test]
    fn padhye_1998_full_model_gives_the_reference_table() {
        for (loss, decimals, [one, two]) in TABLE {
            assert_rounds_to(model(1.0).full(p(loss)), one, decimals);
            assert_rounds_to(model(2.0).full(p(loss)), two, decimals);
        }
    }

    #[test]
    fn at_rare_loss_the_model_becomes_the_square_root_law() {
        use crate::mathis::{MathisConstant, mean_window};
        let rare = p(1e-10);
        let per_round = model(1.0).full(rare) * 0.1;
        let law = mean_window(MathisConstant::PeriodicEverySegment, rare);
        assert_close(per_round, law, 1e-4);
    }

    #[test]
    fn a_small_receive_window_is_the_limit_at_rare_loss() {
        let limited = Pftk {
            window_limit: Some(20.0),
            ..model(2.0)
        };
        assert_close(limited.full(p(1e-9)), 200.0, 1e-3);
        assert_eq!(limited.full(Probability::NEVER), 200.0);
        // The limit has no effect where loss keeps the window below it.
        assert_eq!(limited.full(p(0.03)), model(2.0).full(p(0.03)));
    }

    #[test]
    fn certain_loss_leaves_one_probe_per_backed_off_timeout() {
        assert_close(model(1.0).full(Probability::ALWAYS), 1.0 / 64.0, 1e-12);
    }

    #[test]
    fn no_loss_sets_no_bound() {
        assert_eq!(model(1.0).full(Probability::NEVER), f64::INFINITY);
        assert_eq!(
            model(1.0).rate(Bytes::new(1_460), Probability::NEVER),
            Rate::MAX
        );
    }

    #[test]
    fn more_loss_is_never_faster() {
        let rates: alloc::vec::Vec<f64> = (1..=1000)
            .map(|n| model(2.0).full(p(f64::from(n) / 1000.0)))
            .collect();
        assert!(rates.windows(2).all(|pair| pair[1] <= pair[0]));
    }
}
