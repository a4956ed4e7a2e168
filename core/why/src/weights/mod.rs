//! The weights of all causes, as `cargo xtask grade --fit` wrote them.

mod away;
mod near;

use crate::features::Feature;
use crate::round::STATES;

pub(crate) use away::AWAY;
pub(crate) use near::NEAR;

/// A feature and its weights at its knots, in hundredths of a nat.
pub(crate) type Row = (Feature, &'static [i16]);

/// A cause and its bias for each state, in hundredths of a nat.
pub(crate) type Bias = (&'static str, [i16; STATES]);

/// Everything that is fitted for one capture point.
#[derive(Debug)]
pub(crate) struct Table {
    pub biases: &'static [Bias],
    pub weights: &'static [(&'static str, &'static [Row])],
    /// Probabilities, and the share of right answers at each of them.
    pub calibration: (&'static [f64], &'static [f64]),
}
