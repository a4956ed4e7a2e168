//! Closed forms of the literature: what a path needs of TCP, and what TCP
//! can make of a path.
//!
//! One file per topic, each equation a named function with its source:
//!
//! * [`bdp`]: the window that a path holds, and the rate that a window allows;
//! * [`slow_start`], [`limited_slow_start`]: getting up to speed;
//! * [`avoidance`], [`ack_counting`]: growing from there;
//! * [`mathis`], [`pftk`]: rate, round-trip time and loss;
//! * [`cubic`], [`highspeed`], [`scalable`]: the response functions made for
//!   long fat paths;
//! * [`fast_recovery`]: what one loss in a window sets in motion;
//! * [`budget`]: all answers for one path;
//! * [`sample`]: means of repeated measurements, their comparison, the end of a warm-up.
//!
//! Rates, durations, amounts and probabilities are typed. A congestion window
//! is an `f64` in segments and a number of round trips an `f64`, because these
//! are means and solutions of equations, not the counters of a connection.
//!
//! Out of scope: anything that steps through packets. Simulations are
//! compared with these functions, so they must not share code with them. The
//! cost is that each holds only under its model's assumptions, which its file
//! states.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod ack_counting;
pub mod avoidance;
pub mod bdp;
pub mod budget;
pub mod cubic;
pub mod estimator_1987;
pub mod fast_recovery;
pub mod highspeed;
pub mod limited_slow_start;
pub mod mathis;
pub mod nested;
pub mod pftk;
pub mod sample;
pub mod scalable;
pub mod slow_start;

pub use budget::{BudgetError, Path, PathBudget};
pub use mathis::MathisConstant;
pub use slow_start::Growth;

/// A probability from an equation that may leave the range where it holds.
fn clamped(p: f64) -> gigatcp_units::Probability {
    debug_assert!(!p.is_nan(), "no equation gives what is no number");
    // Not a number, which no caller produces, would become "never".
    gigatcp_units::Probability::try_new(p.clamp(0.0, 1.0)).unwrap_or_default()
}

#[cfg(test)]
mod close {
    /// Asserts that `computed` is within `share` of what was published.
    #[track_caller]
    pub(crate) fn assert_close(computed: f64, published: f64, share: f64) {
        let off = (computed - published).abs();
        let allowed = published.abs() * share;
        assert!(
            off <= allowed,
            "computed {computed}, published {published}: off by {off}, allowed {allowed}"
        );
    }

    /// Asserts that `computed` gives what was published when it is rounded to
    /// as many decimals.
    #[track_caller]
    pub(crate) fn assert_rounds_to(computed: f64, published: f64, decimals: u32) {
        let half = 0.5 / 10f64.powi(decimals as i32);
        let off = (computed - published).abs();
        // A hair above half absorbs that the published decimals are binary.
        assert!(
            off <= half * 1.000_001,
            "computed {computed} does not round to {published}"
        );
    }
}
