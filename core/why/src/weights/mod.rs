//! Weights of all causes, written by `cargo xtask grade --fit`.

mod away;
mod near;

use crate::features::Feature;
use crate::round::STATES;

pub(crate) use away::AWAY;
pub(crate) use near::NEAR;

/// A feature and its weights at its knots, in hundredths of a nat.
pub type Row = (Feature, &'static [i16]);

/// A cause's id, its bias per state in hundredths of a nat, and its weights.
pub type Fitted = (&'static str, [i16; STATES], &'static [Row]);

/// Values, and the results at them.
pub(crate) type Curve = (&'static [f64], &'static [f64]);

/// Everything that is fitted for one capture point.
#[derive(Debug)]
pub(crate) struct Table {
    /// One for each of [`CAUSES`](crate::CAUSES), in that order.
    pub causes: &'static [Fitted],
    /// Probabilities, and the fraction of correct answers at each of them.
    pub calibration: Curve,
    /// Calibration of captures that lack the handshake or its options.
    pub calibration_cut: Curve,
}

/// Weights for captures near the sender, or away from it. They are in the order of
/// [`CAUSES`](crate::CAUSES).
#[must_use]
pub const fn fitted(is_away: bool) -> &'static [Fitted] {
    if is_away { AWAY.causes } else { NEAR.causes }
}

/// Calibrations of whole captures and of those without the handshake. Each is a list of
/// (probability, fraction of correct answers).
#[must_use]
pub fn calibrations(is_away: bool) -> [alloc::vec::Vec<(f64, f64)>; 2] {
    let table = if is_away { AWAY } else { NEAR };
    let pairs = |(knots, shares): Curve| knots.iter().copied().zip(shares.iter().copied());
    [table.calibration, table.calibration_cut].map(|curve| pairs(curve).collect())
}
