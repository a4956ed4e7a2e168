//! Maps probabilities to confidence: the fraction of answers that were correct.
//!
//! A model overestimates probabilities for connections unlike those that it was fitted to. The
//! table maps its mean probability over the time of a cause to the fraction of correct primary
//! causes at such a probability. The captures for it are of kernels that no weight was fitted to
//! (`cargo xtask grade --fit` writes `weights/`). Captures without the handshake, or with its
//! options cut off, have a separate table: windows are unknown there, and answers less often
//! correct.

use gigatcp_units::Duration;

use crate::account::{Account, Attributed};
use crate::causes::CAUSES;
use crate::measures::Measures;
use crate::round::State;
use crate::score::position;
use crate::verdict::MIN_CONFIDENCE;
use crate::weights::{AWAY, NEAR};

/// What an answer above [`MIN_CONFIDENCE`] was found to be worth, for each point above it: of 1,670
/// answers at the first gradings of four generators of real kernels (the eleventh to the fourteenth),
/// those with 0.80 to 0.90 were right in 79 %, those above in 88 % (docs/notes/why.md).
const WORTH: f64 = 0.5;

/// Confidence as those generators found it. It decides nothing: no answer crosses 0.80.
pub(crate) fn as_found(confidence: f64) -> f64 {
    if confidence <= MIN_CONFIDENCE {
        confidence
    } else {
        MIN_CONFIDENCE + (confidence - MIN_CONFIDENCE) * WORTH
    }
}

/// Maximum confidence in a cause that the capture cannot tell from others.
const UNOBSERVED: f64 = 0.5;

/// Confidence in a primary cause with this mean probability. It is reduced by the fraction of bytes
/// that the capture lacks, since their evidence is unknown.
pub(crate) fn confidence(m: &Measures<'_>, attributed: &Attributed) -> f64 {
    let probability = attributed.probability();
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
    let is_decided = attributed.decided * 2 >= attributed.time;
    let calibrated = if is_decided {
        probability
    } else {
        calibrated * (1.0 - m.unseen().min(1.0))
    };
    calibrated.clamp(
        0.0,
        if attributed.is_observable {
            0.99
        } else {
            UNOBSERVED
        },
    )
}

/// Coefficients of [`leading`]: confidence, share, part that facts decided, constant. The only numbers
/// fitted to answers of generators that the rules had not seen (docs/notes/why.md has what each gave
/// when it was left out). The constant is 0.5 above the fit.
const LEADING: [f64; 4] = [0.46, 4.93, 1.28, -3.6];

/// Probability that a cause found with this confidence is the first one, from its share of the time
/// whose cause is known, and the part of its own time that facts decided. A path that was full does not
/// compete with what leads over it, nor does the growth of the window after pauses with these.
/// `1 / (1 + exp(-(a · -ln(1 - confidence) + b · share + c · decided + d)))`.
pub(crate) fn leading(m: &Measures<'_>, account: &Account, cause: usize) -> f64 {
    let own = &account.causes[cause];
    let confidence = confidence(m, own);
    let is_part =
        |index: usize| index == cause || (CAUSES[index].is_dialog && CAUSES[cause].is_dialog);
    let parts = (0..CAUSES.len()).filter(|index| is_part(*index));
    let time: f64 = parts
        .map(|part| account.causes[part].time.as_secs_f64())
        .sum();
    let others = (0..CAUSES.len()).filter(|index| CAUSES[*index].is_path && *index != cause);
    let full: Duration = others
        .filter(|_| CAUSES[cause].leads_from.is_some())
        .map(|index| account.causes[index].time)
        .fold(Duration::ZERO, |sum, time| sum + time);
    let is_pause = CAUSES[cause].states.contains(&State::Idle);
    let regrowth = CAUSES
        .iter()
        .zip(&account.causes)
        .filter(|(growth, _)| is_pause && growth.leads_over_pauses_from.is_some())
        .map(|(_, growth)| growth.time.min(m.restarts.growing))
        .fold(Duration::ZERO, |sum, time| sum + time);
    let known = m.duration.saturating_sub(account.unknown + full + regrowth);
    let share = time / known.as_secs_f64().max(time).max(1e-9);
    let decided = own.decided.as_secs_f64() / own.time.as_secs_f64().max(1e-9);
    let [per_confidence, per_share, per_decided, constant] = LEADING;
    let doubt = (1.001 - confidence).max(0.011);
    let odds =
        per_share * share + per_decided * decided + constant - per_confidence * libm::log(doubt);
    as_found(confidence.min(1.0 / (1.0 + libm::exp(-odds))))
}
