//! What a probability is worth: confidence as the share of answers that were right.
//!
//! A model is surer of connections like those that it was fitted to than of others. The
//! table maps its mean probability over the time of a cause to the share of primary
//! causes that were right with such a probability in captures of kernels that no weight
//! was fitted to (`cargo xtask grade --fit` writes `weights/`). Captures without the
//! handshake, or with its options cut off, have a table of their own: windows are unknown
//! there, and answers less often right.

use crate::View;
use crate::score::position;
use crate::weights::{AWAY, NEAR};

/// The confidence that goes with a probability at this capture point.
pub(crate) fn calibrated(view: View, knows_windows: bool, probability: f64) -> f64 {
    let table = if view.is_near_sender() { NEAR } else { AWAY };
    let (knots, shares) = if knows_windows {
        table.calibration
    } else {
        table.calibration_cut
    };
    let (knot, part) = position(knots, probability);
    let of = |knot: usize| shares.get(knot).copied().unwrap_or(probability);
    (if part > 0.0 {
        of(knot) * (1.0 - part) + of(knot + 1) * part
    } else {
        of(knot)
    })
    .clamp(0.0, 0.99)
}
