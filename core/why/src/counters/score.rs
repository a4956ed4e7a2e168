//! How probable each cause is in each slice: one combiner for all cards.
//!
//! A score is a log likelihood ratio in nats: the bias of a wait, and what each curve says
//! of its feature. The probability of a cause is its share of the exponentials of all
//! scores, as in [`crate::score`]. The curves are stated, not fitted: what they are worth is
//! measured (`counters DIR` of `drive/grade`), and [`CALIBRATION`] has the result.

use alloc::vec::Vec;

use super::causes::{CARDS, Card, Curve};
use super::features::Features;
use super::slice::Wait;
use crate::score::position;

/// A mean probability, and the confidence that it is worth.
///
/// Shares of correct primary causes among 300 labeled connections of one machine's kernel,
/// 100 ms between readings. The curves were stated with these in view.
const CALIBRATION: (&[f64], &[f64]) = (
    &[0.0, 0.5, 0.72, 0.84, 0.92, 1.0],
    &[0.0, 0.38, 0.57, 0.79, 0.84, 0.89],
);

/// Until they are graded on other machines no answer from counters is surer.
const MAX_CONFIDENCE: f64 = 0.89;

/// The same where the kernel's times limited by window and buffer are unknown: stated low,
/// since in 60 reports of iperf3 half of the answers were those of captures.
const COARSE: (&[f64], &[f64]) = (&[0.0, 0.5, 0.9, 0.98, 1.0], &[0.0, 0.25, 0.5, 0.65, 0.74]);

/// Score of what only the sender's counters show, where they are not read.
const UNSEEN: f64 = 1.5;

/// The probability of every card in a wait of a slice; empty if none can hold.
pub(super) fn probabilities(features: &Features, wait: Wait) -> Vec<f64> {
    let scores: Vec<Option<f64>> = CARDS
        .iter()
        .map(|card| score(card, features, wait))
        .collect();
    let most = scores.iter().flatten().copied().reduce(f64::max);
    let Some(most) = most else { return Vec::new() };
    let weights = scores
        .iter()
        .map(|score| score.map_or(0.0, |score| libm::exp(score - most)));
    let weights: Vec<f64> = weights.collect();
    let mut sum: f64 = weights.iter().sum();
    if wait == Wait::Receiving {
        // What limits a sender that is not read may be anything.
        sum += libm::exp(UNSEEN - most);
    }
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// The score of a card; `None` if it cannot hold.
fn score(card: &Card, features: &Features, wait: Wait) -> Option<f64> {
    let (_, bias) = card.waits.iter().find(|(one, _)| *one == wait)?;
    if let Some(needed) = card.needs {
        features.value(needed).filter(|value| *value > 0.0)?;
    }
    let said = card.curves.iter().filter_map(|curve| at(curve, features));
    Some(bias + said.sum::<f64>())
}

/// What a curve says; `None` if its feature is unknown.
fn at((feature, points): &Curve, features: &Features) -> Option<f64> {
    let value = features.value(*feature)?;
    let above = points.partition_point(|(at, _)| *at <= value);
    let low = above.checked_sub(1).map(|low| points[low]);
    match (low, points.get(above).copied()) {
        (Some((_, score)), None) | (None, Some((_, score))) => Some(score),
        (Some((from, low)), Some((to, high))) => {
            Some(low + (high - low) * (value - from) / (to - from))
        }
        (None, None) => None,
    }
}

/// The confidence that a mean probability is worth.
pub(super) fn confidence(probability: f64, is_coarse: bool) -> f64 {
    let (knots, shares) = if is_coarse { COARSE } else { CALIBRATION };
    let (knot, part) = position(knots, probability);
    let next = shares.get(knot + 1).copied().unwrap_or(shares[knot]);
    (shares[knot] * (1.0 - part) + next * part).min(MAX_CONFIDENCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::features::FEATURES;

    #[test]
    fn every_card_is_a_known_cause_and_its_curves_ascend() {
        for (index, card) in CARDS.iter().enumerate() {
            assert!(crate::find(card.id).is_some(), "{}", card.id);
            assert!(CARDS[..index].iter().all(|other| other.id != card.id));
            for (feature, points) in card.curves {
                let ascends = points.windows(2).all(|two| two[0].0 < two[1].0);
                assert!(ascends, "{} {feature:?}", card.id);
            }
        }
    }

    #[test]
    fn every_card_can_win() {
        for card in CARDS {
            let mut features = Features([f64::NAN; FEATURES]);
            if let Some(needed) = card.needs {
                features.0[needed as usize] = 1.0;
            }
            for (feature, points) in card.curves {
                let best = points.iter().max_by(|a, b| a.1.total_cmp(&b.1));
                features.0[*feature as usize] = best.map_or(f64::NAN, |best| best.0);
            }
            let place = CARDS.iter().position(|one| one.id == card.id).unwrap();
            let wins = card.waits.iter().any(|(wait, _)| {
                let all = probabilities(&features, *wait);
                all.iter().all(|other| *other <= all[place])
            });
            assert!(wins, "{}", card.id);
        }
    }

    #[test]
    fn an_unknown_feature_says_nothing_and_beyond_its_points_a_curve_is_flat() {
        use crate::counters::features::Feature;
        let mut features = Features([f64::NAN; FEATURES]);
        let curve: Curve = (Feature::Queue, &[(0.0, -1.0), (1.0, 1.0)]);
        assert_eq!(at(&curve, &features), None);
        for (value, said) in [(-5.0, -1.0), (0.5, 0.0), (9.0, 1.0)] {
            features.0[Feature::Queue as usize] = value;
            assert_eq!(at(&curve, &features), Some(said));
        }
    }
}
