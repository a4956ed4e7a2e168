//! Square-root law of rate, RTT and loss.
//!
//! Mathis, Semke, Mahdavi, Ott, "The Macroscopic Behavior of the TCP
//! Congestion Avoidance Algorithm", CCR 27(3), 1997:
//!
//! ```text
//! rate = C * mss / (rtt * sqrt(p))
//! p    = (C * mss / (rtt * rate))^2
//! ```
//!
//! Solved for p it is a budget: the maximum loss probability for a rate. A path that loses more
//! cannot carry the rate with this kind of control.
//!
//! Out of scope: timeouts and the receiver's window. The law is optimistic above a few percent of
//! loss, where [`crate::pftk`] holds, and says nothing about windows below a few segments.

use gigatcp_units::{Bytes, Duration, Probability, Rate};

use crate::bdp::segment_rate;
use crate::clamped;

/// Constant C of the law. It depends on the spacing of losses and on the number of segments per
/// acknowledgment.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum MathisConstant {
    /// 0.7, the rounded figure of the 2002 GigaTCP slides.
    Slides,
    /// sqrt(3/2) = 1.22: periodic losses, every segment acknowledged.
    PeriodicEverySegment,
    /// sqrt(3/4) = 0.87: periodic losses, delayed acknowledgments.
    PeriodicDelayed,
    /// 1.31: random losses, every segment acknowledged (1997 paper).
    RandomEverySegment,
    /// 0.93: random losses, delayed acknowledgments (1997 paper).
    RandomDelayed,
    /// 1.2: the rounded periodic constant of RFC 3649 and RFC 9438.
    Rfc3649,
    /// Any other.
    Other(f64),
}

impl MathisConstant {
    /// All published constants.
    pub const PUBLISHED: [Self; 6] = [
        Self::Slides,
        Self::PeriodicEverySegment,
        Self::PeriodicDelayed,
        Self::RandomEverySegment,
        Self::RandomDelayed,
        Self::Rfc3649,
    ];

    /// Value.
    pub fn value(self) -> f64 {
        match self {
            Self::Slides => 0.7,
            Self::PeriodicEverySegment => libm::sqrt(1.5),
            Self::PeriodicDelayed => libm::sqrt(0.75),
            Self::RandomEverySegment => 1.31,
            Self::RandomDelayed => 0.93,
            Self::Rfc3649 => 1.2,
            Self::Other(c) => c,
        }
    }
}

/// Mean window in segments at loss probability `p`; infinite without loss.
pub fn mean_window(c: MathisConstant, p: Probability) -> f64 {
    c.value() / libm::sqrt(p.as_f64())
}

/// Rate at loss probability `p`; [`Rate::MAX`] if unlimited. It is unlimited without loss or
/// without delay.
pub fn rate(c: MathisConstant, mss: Bytes, rtt: Duration, p: Probability) -> Rate {
    let bps = mean_window(c, p) * mss.as_bits_f64() / rtt.as_secs_f64();
    // `as` saturates at the largest rate.
    Rate::from_bps((bps + 0.5) as u64)
}

/// Loss budget: the maximum loss probability at which `rate` is reached. It is at most one; the law
/// exceeds one for windows below C.
pub fn loss_budget(c: MathisConstant, mss: Bytes, rtt: Duration, rate: Rate) -> Probability {
    let window = segment_rate(rate, mss) * rtt.as_secs_f64();
    let share = c.value() / window;
    clamped(share * share)
}

/// Segments between losses at loss probability `p`; infinite without loss.
pub fn segments_between_losses(p: Probability) -> f64 {
    1.0 / p.as_f64()
}

/// Time between losses; [`Duration::MAX`] without loss. Segments of `mss` bytes pass at `rate` and
/// are lost with probability `p`.
pub fn time_between_losses(p: Probability, mss: Bytes, rate: Rate) -> Duration {
    Duration::from_secs_f64(segments_between_losses(p) / segment_rate(rate, mss))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    const GIGABIT: Rate = Rate::from_bps(1_000_000_000);
    const RTT: Duration = Duration::from_millis(70);

    /// Loss budget and seconds between losses of the 2002 slides' example.
    fn slide(mss: u64, rtt: Duration, rate: Rate) -> (f64, f64) {
        let mss = Bytes::new(mss);
        let p = loss_budget(MathisConstant::Slides, mss, rtt, rate);
        let seconds = time_between_losses(p, mss, rate).as_secs_f64();
        (p.as_f64(), seconds)
    }

    #[test]
    fn slides_2002_mss_1460_needs_a_loss_in_73_million_or_856_s() {
        let (p, seconds) = slide(1_460, RTT, GIGABIT);
        assert_rounds_to(p * 1e8, 1.36, 2);
        assert_rounds_to(seconds, 856.0, 0);
    }

    #[test]
    fn slides_2002_mss_4096_needs_a_loss_in_9_million_or_305_s() {
        let (p, seconds) = slide(4_096, RTT, GIGABIT);
        assert_rounds_to(p * 1e7, 1.07, 2);
        assert_rounds_to(seconds, 305.0, 0);
    }

    #[test]
    fn slides_2002_mss_8192_needs_a_loss_in_2_million_or_153_s() {
        let (p, seconds) = slide(8_192, RTT, GIGABIT);
        assert_rounds_to(p * 1e7, 4.3, 1);
        assert_rounds_to(seconds, 153.0, 0);
    }

    #[test]
    fn slides_2002_twenty_minutes_come_from_the_probability_rounded_to_1e_8() {
        let rounded = Probability::try_new(1e-8).expect("a probability");
        let span = time_between_losses(rounded, Bytes::new(1_460), GIGABIT);
        assert_rounds_to(span.as_secs_f64(), 1_168.0, 0);
    }

    #[test]
    fn slides_2002_budget_of_mss_8192_is_31_times_that_of_1460() {
        let (small, _) = slide(1_460, RTT, GIGABIT);
        let (large, _) = slide(8_192, RTT, GIGABIT);
        assert_rounds_to(large / small, 31.5, 1);
    }

    #[test]
    fn slides_2002_scaling_laws_hold() {
        let (p, seconds) = slide(1_460, RTT, GIGABIT);
        // Budget grows with the square of the segment size, time with its inverse.
        let (p_mss, seconds_mss) = slide(2 * 1_460, RTT, GIGABIT);
        assert_close(p_mss / p, 4.0, 1e-9);
        assert_close(seconds_mss / seconds, 0.5, 1e-9);
        // Budget grows with the inverse square of the rate, time with the rate.
        let (p_rate, seconds_rate) = slide(1_460, RTT, Rate::from_bps(10_000_000_000));
        assert_close(p_rate / p, 0.01, 1e-9);
        assert_close(seconds_rate / seconds, 10.0, 1e-9);
        // Both depend on the square of the RTT.
        let (p_rtt, seconds_rtt) = slide(1_460, RTT * 2, GIGABIT);
        assert_close(p_rtt / p, 0.25, 1e-9);
        assert_close(seconds_rtt / seconds, 4.0, 1e-9);
    }

    #[test]
    fn mathis_1997_constants_are_1_22_and_0_87_for_periodic_loss() {
        assert_rounds_to(MathisConstant::PeriodicEverySegment.value(), 1.22, 2);
        assert_rounds_to(MathisConstant::PeriodicDelayed.value(), 0.87, 2);
    }

    #[test]
    fn rfc_9438_table_1_windows_of_reno_are_reproduced() {
        let windows = [
            (1e-2, 12.0),
            (1e-3, 38.0),
            (1e-4, 120.0),
            (1e-5, 379.0),
            (1e-6, 1_200.0),
            (1e-7, 3_795.0),
            (1e-8, 12_000.0),
        ];
        for (p, window) in windows {
            let p = Probability::try_new(p).expect("a probability");
            assert_rounds_to(mean_window(MathisConstant::Rfc3649, p), window, 0);
        }
    }

    #[test]
    fn the_rate_at_the_budget_of_a_rate_is_that_rate() {
        for c in MathisConstant::PUBLISHED {
            let mss = Bytes::new(1_448);
            let budget = loss_budget(c, mss, RTT, GIGABIT);
            let back = rate(c, mss, RTT, budget).as_bps();
            assert!(back.abs_diff(GIGABIT.as_bps()) <= 1, "{c:?}: {back}");
        }
    }

    #[test]
    fn the_edges_of_the_law_are_the_edges_of_the_types() {
        let mss = Bytes::new(1_460);
        let c = MathisConstant::Slides;
        assert_eq!(rate(c, mss, RTT, Probability::NEVER), Rate::MAX);
        assert_eq!(rate(c, mss, Duration::ZERO, Probability::ALWAYS), Rate::MAX);
        assert_eq!(
            loss_budget(c, mss, RTT, Rate::from_bps(1)),
            Probability::ALWAYS
        );
        let never = time_between_losses(Probability::NEVER, mss, GIGABIT);
        assert_eq!(never, Duration::MAX);
    }
}
