//! HighSpeed TCP: standard TCP with increase and decrease that depend on the window.
//!
//! RFC 3649 sections 5 to 7 and appendix B:
//!
//! ```text
//! W(p)  = 0.12 / p^0.835                              above 38 segments
//! b(w)  = (0.1 - 0.5) (ln w - ln 38) / (ln 83000 - ln 38) + 0.5
//! p(w)  = 0.078 / w^1.2
//! a(w)  = w^2 p(w) 2 b(w) / (2 - b(w))
//! N(W)  = 0.23 W^0.4       standard connections that are worth one
//! ```
//!
//! At 38 segments and below it is standard TCP: a = 1, b = 1/2.
//!
//! The RFC's program divides by 12.8 where the text multiplies by 0.078. Its tables come from the
//! program, so [`increase`] divides too. The difference is 0.16 %.

use gigatcp_units::Probability;

use crate::clamped;
use crate::mathis::{MathisConstant, mean_window as standard_window};

/// Window in segments below which HighSpeed TCP is standard TCP.
pub const LOW_WINDOW: f64 = 38.0;

/// Window in segments for which the design is made.
pub const HIGH_WINDOW: f64 = 83_000.0;

/// Decrease at and above [`HIGH_WINDOW`], as a share of the window.
pub const HIGH_DECREASE: f64 = 0.1;

/// Mean window in segments at loss probability `p`.
pub fn mean_window(p: Probability) -> f64 {
    let standard = standard_window(MathisConstant::Rfc3649, p);
    if standard <= LOW_WINDOW {
        return standard;
    }
    0.12 / libm::pow(p.as_f64(), 0.835)
}

/// Maximum loss probability with a mean window of `window` segments.
pub fn loss_budget(window: f64) -> Probability {
    if window <= LOW_WINDOW {
        let share = MathisConstant::Rfc3649.value() / window;
        return clamped(share * share);
    }
    clamped(libm::pow(0.12 / window, 1.0 / 0.835))
}

/// Returns b(w): the share by which a loss reduces the window.
pub fn decrease(w: f64) -> f64 {
    let slope = (HIGH_DECREASE - 0.5) / libm::log(HIGH_WINDOW / LOW_WINDOW);
    let cut = slope * libm::log(w / LOW_WINDOW) + 0.5;
    // The line continues below zero; beyond the design window the decrease is constant.
    cut.clamp(HIGH_DECREASE, 0.5)
}

/// Returns a(w): segments by which the window grows per RTT.
pub fn increase(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return 1.0;
    }
    raw_increase(w).max(1.0)
}

/// Returns a(w) of the RFC's program: slightly below one near 38 segments.
fn raw_increase(w: f64) -> f64 {
    let b = decrease(w);
    libm::pow(w, 0.8) * 2.0 * b / ((2.0 - b) * 12.8)
}

/// RTTs between two losses at a mean window of `w` segments. It is 1/(w p(w)), and two thirds of
/// the window where it is standard TCP.
pub fn rounds_between_losses(w: f64) -> f64 {
    if w <= LOW_WINDOW {
        return w * 2.0 / 3.0;
    }
    libm::pow(w, 0.2) / 0.078
}

/// RTTs in which the window grows from `from` to `to` segments without loss. It steps the
/// recurrence w + a(w), which has no closed form. Of the last round only the needed share counts.
pub fn rounds(from: f64, to: f64) -> f64 {
    if to == f64::INFINITY {
        return to;
    }
    // No window is below one segment, and the steps from there are few.
    let mut w = from.max(1.0);
    let mut rounds = 0.0;
    while w < to {
        let step = increase(w);
        if w + step >= to {
            return rounds + (to - w) / step;
        }
        w += step;
        rounds += 1.0;
    }
    rounds
}

/// RTTs after a loss at `window` segments until it regains its size.
pub fn rounds_after_loss(window: f64) -> f64 {
    rounds(window * (1.0 - decrease(window)), window)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};
    use alloc::vec::Vec;

    fn p(value: f64) -> Probability {
        Probability::try_new(value).expect("a probability")
    }

    /// Columns: loss probability, mean window, RTTs between losses.
    const TABLE_3: [(f64, f64, f64); 9] = [
        (1e-2, 12.0, 8.0),
        (1e-3, 38.0, 25.0),
        (1e-4, 263.0, 38.0),
        (1e-5, 1_795.0, 57.0),
        (1e-6, 12_279.0, 83.0),
        (1e-7, 83_981.0, 123.0),
        (1e-8, 574_356.0, 180.0),
        (1e-9, 3_928_088.0, 264.0),
        (1e-10, 26_864_653.0, 388.0),
    ];

    /// Rate of a HighSpeed TCP connection relative to a standard one. Both have the same loss
    /// probability.
    fn relative_share(p: Probability) -> f64 {
        mean_window(p) / standard_window(MathisConstant::Rfc3649, p)
    }

    #[test]
    fn rfc_3649_table_3_windows_are_reproduced_to_the_segment() {
        for (loss, window, _) in TABLE_3 {
            let computed = mean_window(p(loss));
            assert!(
                (computed - window).abs() < 1.0,
                "{computed} is not {window}"
            );
        }
    }

    #[test]
    fn rfc_3649_table_3_rounds_between_losses_are_met_within_three_percent() {
        // The printed column does not match this equation to the unit.
        for (_, window, rounds) in TABLE_3 {
            assert_close(rounds_between_losses(window), rounds, 0.03);
        }
    }

    #[test]
    fn rfc_9438_table_3_highspeed_loss_budgets_are_reproduced() {
        // 1500 bytes, 100 ms, 1 Mbit/s to 10 Gbit/s.
        let table = [
            (8.333, 2.0, -2, 0),
            (83.33, 3.9, -4, 0),
            (833.3, 2.5, -5, 1),
            (8_333.3, 1.5, -6, 0),
            (83_333.0, 1.0, -7, 1),
        ];
        for (window, digits, power, decimals) in table {
            let budget = loss_budget(window).as_f64();
            assert_rounds_to(budget / libm::pow(10.0, f64::from(power)), digits, decimals);
        }
    }

    #[test]
    fn rfc_3649_table_5_relative_shares_are_reproduced() {
        let shares = [1.0, 1.0, 2.2, 4.7, 10.2, 22.1];
        for ((loss, ..), share) in TABLE_3.into_iter().zip(shares) {
            assert_rounds_to(relative_share(p(loss)), share, 1);
        }
    }

    #[test]
    fn rfc_3649_table_6_windows_over_time_are_reproduced_to_the_segment() {
        let published = [
            131, 475, 1_131, 2_160, 3_601, 5_477, 7_799, 10_567, 13_774, 17_409, 21_455, 25_893,
            30_701, 35_856, 41_336, 47_115, 53_170, 59_477, 66_013, 72_754,
        ];
        // The first RTT has a window of one.
        let mut w = 1.0;
        let mut windows = Vec::new();
        for round in 1..=2_000 {
            if round % 100 == 0 {
                windows.push(w as u64);
            }
            w += increase(w);
        }
        assert_eq!(windows, published);
    }

    #[test]
    fn rfc_3649_appendix_b_table_of_increases_is_reproduced_to_the_segment() {
        // A row for every window at which a(w) increases by one.
        let published = [
            38, 118, 221, 347, 495, 663, 851, 1_058, 1_284, 1_529, 1_793, 2_076, 2_378, 2_699,
            3_039, 3_399, 3_778, 4_177, 4_596, 5_036, 5_497, 5_979, 6_483, 7_009, 7_558, 8_130,
            8_726, 9_346, 9_991, 10_661, 11_358, 12_082, 12_834, 13_614, 14_424, 15_265, 16_137,
            17_042, 17_981, 18_955, 19_965, 21_013, 22_101,
        ];
        let mut rows = Vec::from([38u32]);
        let mut last = 1.0;
        for w in 39..100_000 {
            let a = unclamped_increase(f64::from(w));
            if a > last + 1.0 {
                rows.push(w);
                last = a;
            }
        }
        assert_eq!(rows[..published.len()], published);
        assert_eq!((rows.len(), rows.last()), (73, Some(&94_717)));
    }

    /// Returns a(w) of the program of appendix B, in which b(w) continues below 0.1.
    fn unclamped_increase(w: f64) -> f64 {
        let slope = (HIGH_DECREASE - 0.5) / libm::log(HIGH_WINDOW / LOW_WINDOW);
        let b = slope * libm::log(w / LOW_WINDOW) + 0.5;
        libm::pow(w, 0.8) * 2.0 * b / ((2.0 - b) * 12.8)
    }

    #[test]
    fn the_increase_is_that_of_the_program_up_to_the_high_window() {
        for w in [118.0, 1_058.0, 83_000.0] {
            assert_close(increase(w), unclamped_increase(w), 1e-12);
        }
    }

    #[test]
    fn rfc_3649_decrease_runs_from_a_half_to_a_tenth_and_stays() {
        assert_eq!(decrease(10.0), 0.5);
        assert_eq!(decrease(LOW_WINDOW), 0.5);
        assert_close(decrease(HIGH_WINDOW), 0.1, 1e-12);
        assert_eq!(decrease(1e7), 0.1);
        // Appendix B prints 0.44 for the second row and 0.33 for the eighth.
        assert_rounds_to(decrease(118.0), 0.44, 2);
        assert_rounds_to(decrease(1_058.0), 0.33, 2);
    }

    #[test]
    fn rounds_count_the_part_of_the_last_that_is_needed() {
        assert_close(rounds(10.0, 20.5), 10.5, 1e-12);
        assert_eq!(rounds(20.0, 10.0), 0.0);
        assert_eq!(rounds(20.0, f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn a_loss_at_the_high_window_is_made_good_in_about_the_rounds_between_losses() {
        let refill = rounds_after_loss(HIGH_WINDOW);
        assert_close(refill, rounds_between_losses(HIGH_WINDOW), 0.05);
    }
}
