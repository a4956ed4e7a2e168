//! Written by `cargo xtask grade --fit`. Not to be edited by hand.

use super::Table;

pub(crate) const AWAY: &Table = &Table {
    biases: &[],
    weights: &[],
    calibration: (&[0.0, 1.0], &[0.0, 1.0]),
};
