//! What a probability is worth: confidence as the share of answers that were right.
//!
//! A model is surer of connections like those that it was fitted to than of others. The
//! table maps its mean probability over the time of a cause to the share of primary
//! causes that were right with such a probability in captures of kernels that no weight
//! was fitted to (`cargo xtask grade --fit` writes `weights/`). Captures without the
//! handshake, or with its options cut off, have a table of their own: windows are unknown
//! there, and answers less often right.

use crate::causes::Cause;
use crate::measures::Measures;
use crate::score::position;
use crate::weights::{AWAY, NEAR};

/// The most for lost ACKs where no data was ever acknowledged and no second capture shows
/// what arrived: the data may as well have been lost.
const WITHOUT_ACKS: f64 = 0.5;

/// The confidence in a primary cause with this mean probability: less by the share of the
/// bytes that the capture lacks, since what they would show is unknown.
pub(crate) fn confidence(m: &Measures<'_>, cause: &Cause, probability: f64) -> f64 {
    let table = if m.view.is_near_sender() { NEAR } else { AWAY };
    let (knots, shares) = if m.knows_windows() {
        table.calibration
    } else {
        table.calibration_cut
    };
    let (knot, part) = position(knots, probability);
    let of = |knot: usize| shares.get(knot).copied().unwrap_or(probability);
    let calibrated = if part > 0.0 {
        of(knot) * (1.0 - part) + of(knot + 1) * part
    } else {
        of(knot)
    };
    let calibrated = calibrated * (1.0 - m.unseen().min(1.0));
    let is_open = cause.id == "ack-path" && !m.has_acks() && m.pair.is_none();
    calibrated.clamp(0.0, if is_open { WITHOUT_ACKS } else { 0.99 })
}
