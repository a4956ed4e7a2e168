//! Closed forms of the literature: requirements of a path on TCP, and performance of TCP on a path.
//!
//! One file per topic, each equation a named function with its source:
//!
//! * [`bdp`]: the bandwidth-delay product, and the rate that a window allows;
//! * [`slow_start`], [`limited_slow_start`]: growth at the start;
//! * [`avoidance`]: growth from there;
//! * [`mathis`], [`pftk`]: rate, RTT and loss;
//! * [`cubic`], [`highspeed`], [`scalable`]: the response functions made for
//!   long fat paths;
//! * [`responsiveness`]: round trips per minute under load;
//! * [`budget`]: all results for one path;
//! * [`sample`], [`distribution`]: means of repeated measurements, the end of a warm-up;
//! * [`paired`]: pairs of measurements, compared after every pair.
//!
//! Rates, durations, amounts and probabilities are typed. A congestion window is an `f64` in
//! segments and a number of RTTs an `f64`, because these are means and solutions of equations, not
//! the counters of a connection.
//!
//! Out of scope: anything that steps through packets. Simulations are
//! compared with these functions, so they must not share code with them. The
//! cost is that each holds only under its model's assumptions, which its file
//! states.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod avoidance;
pub mod bdp;
pub mod budget;
pub mod cubic;
pub mod distribution;
pub mod highspeed;
pub mod limited_slow_start;
pub mod mathis;
pub mod paired;
pub mod pftk;
pub mod responsiveness;
pub mod sample;
pub mod scalable;
pub mod send_buffer;
pub mod slow_start;

pub use budget::{BudgetError, Path, PathBudget};
pub use mathis::MathisConstant;
pub use slow_start::Growth;

/// A probability from an equation that may leave its valid range.
fn clamped(p: f64) -> gigatcp_units::Probability {
    debug_assert!(!p.is_nan(), "no equation gives what is no number");
    // NaN, which no caller produces, would become zero.
    gigatcp_units::Probability::try_new(p.clamp(0.0, 1.0)).unwrap_or_default()
}

#[cfg(test)]
mod close {
    /// Asserts that `computed` is within `share` of the published value.
    #[track_caller]
    pub(crate) fn assert_close(computed: f64, published: f64, share: f64) {
        let off = (computed - published).abs();
        let allowed = published.abs() * share;
        assert!(
            off <= allowed,
            "computed {computed}, published {published}: off by {off}, allowed {allowed}"
        );
    }

    /// Asserts that `computed`, rounded to `decimals`, is the published value.
    #[track_caller]
    pub(crate) fn assert_rounds_to(computed: f64, published: f64, decimals: u32) {
        let half = 0.5 / 10f64.powi(decimals as i32);
        let off = (computed - published).abs();
        // Slightly above half, because the published decimals are stored in binary.
        assert!(
            off <= half * 1.000_001,
            "computed {computed} does not round to {published}"
        );
    }
}
