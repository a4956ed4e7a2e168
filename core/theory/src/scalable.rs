//! Scalable TCP: a loss interval that does not depend on the window.
//!
//! Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", CCR 33(2), 2003.
//! Every acknowledged segment adds a hundredth of a segment; a loss reduces the window by an
//! eighth:
//!
//! ```text
//! rounds between losses = ln(1 / (1 - 1/8)) / ln(1 + 1/100) = 13.42
//! segments per cycle    = W/8 / ln(1 + 1/100)
//! mean window           = 0.0745 / p
//! ```
//!
//! Out of scope: Linux's step of one in `min(cwnd, 100)`, which makes
//! windows below 100 segments grow like standard TCP.

use gigatcp_units::Probability;

use crate::clamped;

/// Window gained per segment acknowledged.
pub const INCREASE: f64 = 0.01;

/// Share by which a loss reduces the window.
pub const DECREASE: f64 = 0.125;

/// RTTs after a loss until the window regains its size.
pub fn rounds_between_losses() -> f64 {
    -libm::log1p(-DECREASE) / libm::log1p(INCREASE)
}

/// Mean window in segments at loss probability `p`.
pub fn mean_window(p: Probability) -> f64 {
    mean_window_times_p() / p.as_f64()
}

/// Maximum loss probability with a mean window of `window` segments.
pub fn loss_budget(window: f64) -> Probability {
    clamped(mean_window_times_p() / window)
}

/// Mean window times p. A cycle sends 1/p segments in a fixed number of rounds; this is the inverse
/// of that number.
fn mean_window_times_p() -> f64 {
    1.0 / rounds_between_losses()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::{assert_close, assert_rounds_to};

    #[test]
    fn kelly_2003_losses_are_13_42_rounds_apart_at_any_window() {
        assert_rounds_to(rounds_between_losses(), 13.42, 2);
    }

    #[test]
    fn kelly_2003_mean_window_is_0_0745_over_p() {
        assert_rounds_to(mean_window(Probability::ALWAYS), 0.0745, 4);
        let p = Probability::try_new(1e-4).expect("a probability");
        assert_rounds_to(mean_window(p), 745.0, 0);
    }

    #[test]
    fn the_budget_of_a_mean_window_gives_that_window_back() {
        assert_close(mean_window(loss_budget(1_234.0)), 1_234.0, 1e-12);
    }
}
