//! Probability of each cause in each slice: one combiner for all entries.
//!
//! A score is a log likelihood ratio in nats: the bias of a wait, and for each feature a value
//! interpolated between the weights of its knots. The probability of a cause is its share of
//! the exponentials of all scores, as in [`crate::score`].

use alloc::vec::Vec;

use super::causes::{COUNTER_CAUSES, CounterCause};
use super::conditions::{Support, open};
use super::features::{FEATURES, Feature, Features};
use super::slice::Wait;
use super::weights::{WEIGHTS, Weights};
use crate::score::position;

/// Maps a mean probability to confidence.
///
/// Fractions of correct primary causes among 1056 views of 526 labeled connections of one machine's
/// kernel. Each was graded with weights that were fitted to other seeds.
const CALIBRATION: (&[f64], &[f64]) = (
    &[0.0, 0.5, 0.68, 0.86, 0.93, 1.0],
    &[0.0, 0.45, 0.66, 0.86, 0.89, 0.89],
);

/// Maximum confidence of counters, until they are graded on other machines.
const MAX_CONFIDENCE: f64 = 0.89;

/// Maximum confidence from the counters of one end. A receiver without CPU time, or a queue that
/// ACKs wait in, looks to the sender like a saturated path.
const MAX_OF_ONE_END: f64 = 0.84;

/// Calibration if the rwnd-limited and sndbuf-limited times are unknown. It is based on 220
/// connections as a report of iperf3 shows them. It is lower than measured, since in 60 reports of
/// other connections half of the answers were those of captures.
const COARSE: (&[f64], &[f64]) = (&[0.0, 0.4, 0.76, 0.87, 1.0], &[0.0, 0.38, 0.43, 0.65, 0.74]);

/// The same for a cause that is not told by its losses, of 578 reports of a generator that shares no
/// code with this project: whole seconds show a full path, a kept rate and a full window, and not
/// which losses come without a queue.
const COARSE_BUT_LOSSES: (&[f64], &[f64]) = (
    &[0.0, 0.4, 0.76, 0.87, 0.94, 1.0],
    &[0.0, 0.38, 0.43, 0.65, 0.8, 0.89],
);

/// Maximum confidence in a cause with an unknown condition: it is unsure.
const MAX_OF_OPEN: f64 = 0.59;

/// Minimum fraction of the time in which all conditions hold, for more confidence than that.
const MOSTLY: f64 = 0.5;

/// Score of causes that only the sender's counters show, if these are not read.
pub const UNSEEN: f64 = 1.5;

/// Feature that the entry at this place requires, if any.
#[must_use]
pub fn needed(place: usize) -> Option<Feature> {
    COUNTER_CAUSES.get(place)?.needs
}

/// Places of the known features of a slice between their knots.
type Places = [Option<(usize, f64)>; FEATURES];

fn places(features: &Features) -> Places {
    let mut places = [None; FEATURES];
    for feature in Feature::ALL {
        let value = features.value(*feature);
        places[*feature as usize] = value.map(|value| position(feature.knots(), value));
    }
    places
}

/// Waits that the kernel, or the lack of any progress, measured. In them, and in all waits of a report,
/// a cause of which every condition holds excludes those of which some are unknown.
const MEASURED: [Wait; 4] = [Wait::Idle, Wait::Window, Wait::Buffer, Wait::Stalled];

/// Nats against a cause for each condition that a report leaves open. The weights are of kernels'
/// counters, which leave few open.
const OPEN: f64 = 1.0;

/// Nats against a cause of losses if retransmissions are not counted. Not fitted.
const UNCOUNTED: f64 = 1.0;

/// Probability of every entry in a wait of a slice. Empty if none can hold.
pub(super) fn probabilities(features: &Features, wait: Wait) -> Vec<f64> {
    let places = places(features);
    let is_coarse = features.value(Feature::Coarse) == Some(1.0);
    let entries = COUNTER_CAUSES.iter().zip(WEIGHTS);
    let scored = entries.map(|(entry, weights)| {
        let support = Support::of(entry.conditions, features, wait);
        let score = score((entry, weights), (features, &places), wait);
        let open = open(entry.conditions, features, wait).count();
        let is_uncounted = entry.cause().is_loss && features.value(Feature::LossRate).is_none();
        let uncounted = if is_uncounted { UNCOUNTED } else { 0.0 };
        let doubt = if is_coarse { OPEN * open as f64 } else { 0.0 } + uncounted;
        score
            .filter(|_| support != Support::Refuted)
            .map(|score| (score - doubt, support))
    });
    let scored: Vec<Option<(f64, Support)>> = scored.collect();
    let is_shown = |(_, support): &(f64, Support)| *support == Support::Shown;
    let decides = MEASURED.contains(&wait) || is_coarse;
    let has_shown = decides && scored.iter().flatten().any(is_shown);
    let remaining = |scored: &Option<(f64, Support)>| {
        scored
            .filter(|scored| !has_shown || is_shown(scored))
            .map(|(score, _)| score)
    };
    let scores: Vec<Option<f64>> = scored.iter().map(remaining).collect();
    let most = scores.iter().flatten().copied().reduce(f64::max);
    let Some(most) = most else { return Vec::new() };
    let weights = scores
        .iter()
        .map(|score| score.map_or(0.0, |score| libm::exp(score - most)));
    let weights: Vec<f64> = weights.collect();
    let mut sum: f64 = weights.iter().sum();
    if wait == Wait::Receiving {
        // Without the sender's readings, it may be limited by anything.
        sum += libm::exp(UNSEEN - most);
    }
    debug_assert!(
        sum.is_finite() && sum >= 1.0,
        "the likeliest entry weighs 1, and others add to it: {sum}"
    );
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Score of an entry; `None` if it cannot hold.
fn score(
    (entry, weights): (&CounterCause, &Weights),
    (features, places): (&Features, &Places),
    wait: Wait,
) -> Option<f64> {
    let (_, bias) = weights.waits.iter().find(|(named, _)| *named == wait)?;
    if let Some(needed) = entry.needs {
        features.value(needed).filter(|value| *value > 0.0)?;
    }
    let rows = weights.rows.iter();
    let said = rows.filter_map(|(feature, row)| at(row, places[*feature as usize]?));
    Some(bias + said.sum::<f64>())
}

/// Value of a row at a place between its knots.
fn at(row: &[f64], (knot, part): (usize, f64)) -> Option<f64> {
    let low = *row.get(knot)?;
    let high = row.get(knot + 1).copied().unwrap_or(low);
    Some(low + (high - low) * part)
}

/// Whether every condition of the entry at this place holds in a wait.
pub(super) fn is_shown(place: usize, features: &Features, wait: Wait) -> bool {
    Support::of(COUNTER_CAUSES[place].conditions, features, wait) == Support::Shown
}

/// Basis of a confidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Basis {
    /// Fraction of the time in which every condition of the cause holds.
    pub shown: f64,
    /// Whether the kernel's own counters of waits are unknown, and nothing stands for them.
    pub is_coarse: bool,
    pub has_both_ends: bool,
    /// Whether losses distinguish it from other causes.
    pub is_loss: bool,
}

/// Confidence for a mean probability.
pub(super) fn confidence(probability: f64, basis: Basis) -> f64 {
    let Basis {
        shown,
        is_coarse,
        has_both_ends,
        is_loss,
    } = basis;
    let (knots, shares) = if !is_coarse {
        CALIBRATION
    } else if is_loss {
        COARSE
    } else {
        COARSE_BUT_LOSSES
    };
    let (knot, part) = position(knots, probability);
    let most = if has_both_ends {
        MAX_CONFIDENCE
    } else {
        MAX_OF_ONE_END
    };
    let most = if shown < MOSTLY {
        most.min(MAX_OF_OPEN)
    } else {
        most
    };
    let next = shares.get(knot + 1).copied().unwrap_or(shares[knot]);
    (shares[knot] * (1.0 - part) + next * part).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_card_is_a_known_cause_with_weights_that_fit_its_knots() {
        assert_eq!(COUNTER_CAUSES.len(), WEIGHTS.len());
        for (entry, weights) in COUNTER_CAUSES.iter().zip(WEIGHTS) {
            assert_eq!(entry.id, weights.card);
            assert!(crate::find(entry.id).is_some(), "{}", entry.id);
            assert!(!weights.waits.is_empty(), "{}", entry.id);
            for (feature, row) in weights.rows {
                assert_eq!(row.len(), feature.knots().len(), "{} {feature:?}", entry.id);
            }
        }
        for feature in Feature::ALL {
            let ascends = feature.knots().windows(2).all(|two| two[0] < two[1]);
            assert!(ascends, "{feature:?}");
        }
    }

    #[test]
    fn every_card_can_win() {
        for (index, (entry, weights)) in COUNTER_CAUSES.iter().zip(WEIGHTS).enumerate() {
            let mut features = Features([f64::NAN; FEATURES]);
            if let Some(needed) = entry.needs {
                features.0[needed as usize] = 1.0;
            }
            for (feature, row) in weights.rows {
                let knots = feature.knots().iter().zip(*row);
                let possible =
                    knots.filter(|(knot, _)| entry.needs != Some(*feature) || **knot > 0.0);
                let best = possible.max_by(|a, b| a.1.total_cmp(b.1));
                features.0[*feature as usize] = best.map_or(f64::NAN, |best| *best.0);
            }
            let wins = weights.waits.iter().any(|(wait, _)| {
                let all = probabilities(&features, *wait);
                all.iter().all(|other| *other <= all[index])
            });
            assert!(wins, "{}", entry.id);
        }
    }

    #[test]
    fn an_unknown_feature_says_nothing_and_beyond_its_knots_a_row_is_flat() {
        let mut features = Features([f64::NAN; FEATURES]);
        assert_eq!(places(&features)[Feature::AppLimited as usize], None);
        let row = [-1.0, 1.0];
        for (value, said) in [
            (-5.0, -1.0),
            (0.2, -1.0),
            (0.5, 0.0),
            (0.8, 1.0),
            (9.0, 1.0),
        ] {
            features.0[Feature::AppLimited as usize] = value;
            let place = places(&features)[Feature::AppLimited as usize].unwrap();
            assert!((at(&row, place).unwrap() - said).abs() < 1e-9);
        }
    }
}
