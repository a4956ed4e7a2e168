//! How probable each cause is in each round: one combiner for all of them.
//!
//! A cause's score is a log likelihood ratio in nats: a bias for what the sender waits
//! for, and a weight for each feature that it names, interpolated between the knots of
//! that feature. The probability of a cause is its share of the exponentials of all scores
//! (multinomial logistic regression). The weights stand in `weights/`, in hundredths of a
//! nat, one table for captures near the sender and one for others; `cargo xtask grade
//! --fit` makes them, and nothing else.

use alloc::vec::Vec;

use crate::causes::CAUSES;
use crate::features::{FEATURES, Feature, Features};
use crate::measures::Measures;
use crate::round::{STATES, State};
use crate::weights::{AWAY, NEAR, Row, Table};

/// A score that leaves no probability.
const IMPOSSIBLE: f64 = -1e9;

/// Hundredths of a nat.
const UNIT: f64 = 0.01;

/// Neighbors on either side whose scores are averaged with those of a round.
const SMOOTHED: usize = 2;

/// Where a value lies between the knots of a feature: the knot below it, and how far it is
/// on the way to the next.
#[derive(Clone, Copy, Debug)]
struct Position {
    knot: usize,
    part: f64,
}

/// The position of a value between knots.
#[must_use]
pub fn position(knots: &[f64], value: f64) -> (usize, f64) {
    let above = knots.partition_point(|knot| *knot <= value);
    match above.checked_sub(1) {
        None => (0, 0.0),
        Some(last) if last + 1 == knots.len() => (last, 0.0),
        Some(knot) => {
            let (from, to) = (knots[knot], knots[knot + 1]);
            (knot, (value - from) / (to - from))
        }
    }
}

fn positions(features: &Features) -> [Option<Position>; FEATURES] {
    let mut all = [None; FEATURES];
    for (place, feature) in all.iter_mut().zip(Feature::ALL) {
        *place = features.value(*feature).map(|value| {
            let (knot, part) = position(feature.knots(), value);
            Position { knot, part }
        });
    }
    all
}

/// Scores of all causes in a round, without the bias of a state.
fn of_round(table: &Table, features: &Features) -> Vec<f64> {
    let positions = positions(features);
    let score = |rows: &[Row]| rows.iter().map(|row| weight(row, &positions)).sum();
    table
        .causes
        .iter()
        .map(|(_, _, rows)| score(rows))
        .collect()
}

fn weight((feature, weights): &Row, positions: &[Option<Position>; FEATURES]) -> f64 {
    let Some(at) = positions[*feature as usize] else {
        return 0.0;
    };
    let of = |knot: usize| f64::from(weights.get(knot).copied().unwrap_or(0)) * UNIT;
    if at.part > 0.0 {
        of(at.knot) * (1.0 - at.part) + of(at.knot + 1) * at.part
    } else {
        of(at.knot)
    }
}

/// The bias of a cause for what the sender waits for; `None` for what has no weights.
fn bias(table: &Table, cause: usize, state: State) -> Option<f64> {
    let is_fitted = !CAUSES[cause].features.is_empty();
    is_fitted.then(|| f64::from(table.causes[cause].1[state as usize]) * UNIT)
}

/// Probabilities of every cause, for each state of a round.
#[derive(Clone, Debug)]
pub(crate) struct Probabilities {
    each: [Vec<f64>; STATES],
}

impl Probabilities {
    /// The most probable cause in that state, and its probability.
    pub fn most(&self, state: State) -> Option<(usize, f64)> {
        let all = self.each[state as usize].iter().copied().enumerate();
        all.reduce(|best, one| if one.1 > best.1 { one } else { best })
            .filter(|(_, probability)| *probability > 0.0)
    }

    /// The probability of every cause in that state.
    pub fn all(&self, state: State) -> &[f64] {
        &self.each[state as usize]
    }
}

/// Probabilities of every cause in every round.
pub(crate) fn probabilities(m: &Measures<'_>, features: &[Features]) -> Vec<Probabilities> {
    let is_away = !m.view.is_near_sender();
    let table = if is_away { AWAY } else { NEAR };
    let scores: Vec<Vec<f64>> = features.iter().map(|one| of_round(table, one)).collect();
    (0..scores.len())
        .map(|index| {
            let smooth = smoothed(m, &scores, index);
            let each = State::ALL.map(|state| {
                if m.rounds[index].spent_in(state).is_zero() {
                    return Vec::new();
                }
                softmax(&smooth, |cause| {
                    let holds = CAUSES[cause].holds(state, &features[index], is_away);
                    bias(table, cause, state).filter(|_| holds)
                })
            });
            Probabilities { each }
        })
        .collect()
}

/// Scores averaged with those of neighbors after the same loss event: single rounds are
/// noisy, and what limits a connection seldom changes from one to the next.
fn smoothed(m: &Measures<'_>, scores: &[Vec<f64>], index: usize) -> Vec<f64> {
    let from = index.saturating_sub(SMOOTHED);
    let until = (index + SMOOTHED + 1).min(scores.len());
    let is_like = |other: usize| m.after[other] == m.after[index];
    let like: Vec<usize> = (from..until).filter(|other| is_like(*other)).collect();
    let mut mean = alloc::vec![0.0; CAUSES.len()];
    let mut total = 0.0;
    for other in like {
        let weight = if other == index { 2.0 } else { 1.0 };
        total += weight;
        for (sum, score) in mean.iter_mut().zip(&scores[other]) {
            *sum += weight * score;
        }
    }
    mean.iter_mut().for_each(|sum| *sum /= total);
    mean
}

/// Shares of the exponentials.
fn softmax(scores: &[f64], bias: impl Fn(usize) -> Option<f64>) -> Vec<f64> {
    let of = |(cause, score): (usize, &f64)| bias(cause).map_or(IMPOSSIBLE, |bias| score + bias);
    let all: Vec<f64> = scores.iter().enumerate().map(of).collect();
    let most = all.iter().copied().fold(IMPOSSIBLE, f64::max);
    if most <= IMPOSSIBLE {
        return alloc::vec![0.0; scores.len()];
    }
    let mut parts: Vec<f64> = all.iter().map(|score| libm::exp(score - most)).collect();
    let sum: f64 = parts.iter().sum();
    parts.iter_mut().for_each(|part| *part /= sum);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::place;
    use alloc::string::String;

    #[test]
    fn a_value_lies_between_its_knots_and_stays_at_the_outer_ones() {
        let knots = [0.0, 1.0, 3.0];
        assert_eq!(position(&knots, -5.0), (0, 0.0));
        assert_eq!(position(&knots, 2.0), (1, 0.5));
        assert_eq!(position(&knots, 9.0), (2, 0.0));
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let all = softmax(&[1.0, 2.0, -700.0], |_| Some(0.5));
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn weights_are_in_the_order_of_the_causes() {
        for table in [NEAR, AWAY] {
            let ids = table.causes.iter().map(|(id, _, _)| *id);
            assert!(ids.eq(CAUSES.iter().map(|cause| cause.id)));
        }
    }

    #[test]
    fn every_cause_that_takes_time_can_win() {
        for (name, table) in [("near", NEAR), ("away", AWAY)] {
            for cause in CAUSES.iter().filter(|cause| cause.features().count() > 0) {
                // What speaks for it most, and for nothing else.
                let mut features = Features([f32::NAN; FEATURES]);
                let place = place(cause.id).unwrap_or_default();
                for (feature, weights) in table.causes[place].2 {
                    let best = (0..weights.len()).max_by_key(|knot| weights[*knot]);
                    let knot = feature.knots()[best.unwrap_or(0)];
                    features.0[*feature as usize] = knot as f32;
                }
                let scores = of_round(table, &features);
                let wins = cause.states.iter().any(|state| {
                    let all = softmax(&scores, |one| {
                        bias(table, one, *state).filter(|_| CAUSES[one].states.contains(state))
                    });
                    all[place] > 0.5
                });
                assert!(wins, "{name}: {}", String::from(cause.id));
            }
        }
    }
}
