//! Probability of each cause in each round: one combiner for all of them.
//!
//! A cause's score is a log likelihood ratio in nats: a bias for the sender's state, and a weight
//! for each feature that it names, interpolated between the knots of that feature. The probability
//! of a cause is its fraction of the sum of the exponentials of all scores (multinomial logistic
//! regression). The weights are in `weights/`, in hundredths of a nat, one table for captures near
//! the sender and one for others; only `cargo xtask grade --fit` writes them.

use alloc::vec;
use alloc::vec::Vec;
use core::cell::OnceCell;

use crate::causes::{CAUSES, Cause, place};
use crate::conditions::{Condition, Test};
use crate::facts::{Facts, Moment};
use crate::features::{FEATURES, Feature, Features, of_rounds};
use crate::measures::Measures;
use crate::weights::{AWAY, NEAR, Table};

/// A score with zero probability.
const IMPOSSIBLE: f64 = -1e9;

/// Hundredths of a nat.
const UNIT: f64 = 0.01;

/// Neighbors on either side whose scores are averaged with those of a round.
const SMOOTHED: usize = 2;

/// A number for each cause, padded to a multiple of the CPU's vector width.
type Row = [f32; CAUSES.len().next_multiple_of(8)];

const ZERO: Row = [0.0; CAUSES.len().next_multiple_of(8)];

/// Index of each feature's first knot among the knots of all features, and their count.
const FIRST_KNOT: [usize; FEATURES + 1] = {
    let mut first = [0; FEATURES + 1];
    let mut feature = 0;
    while feature < FEATURES {
        first[feature + 1] = first[feature] + Feature::ALL[feature].knots().len();
        feature += 1;
    }
    first
};

const KNOTS: usize = FIRST_KNOT[FEATURES];

/// The weights of a table by knot. Those of all causes are adjacent, since the position of a
/// feature between its knots is the same for all of them. A row of zeros follows the last knot.
struct Matrix([[i16; ZERO.len()]; KNOTS + 1]);

static NEAR_MATRIX: Matrix = Matrix::of(NEAR);
static AWAY_MATRIX: Matrix = Matrix::of(AWAY);

impl Matrix {
    const fn of(table: &Table) -> Self {
        let mut all = [[0; ZERO.len()]; KNOTS + 1];
        assert!(table.causes.len() == CAUSES.len(), "each cause has weights");
        let mut cause = 0;
        while cause < table.causes.len() {
            let rows = table.causes[cause].2;
            let mut row = 0;
            while row < rows.len() {
                let (feature, weights) = rows[row];
                let knots = feature.knots();
                assert!(
                    weights.len() == knots.len(),
                    "each knot of a feature has a weight"
                );
                let mut knot = 0;
                while knot < weights.len() {
                    assert!(knot == 0 || knots[knot - 1] < knots[knot], "knots ascend");
                    all[FIRST_KNOT[feature as usize] + knot][cause] = weights[knot];
                    knot += 1;
                }
                row += 1;
            }
            cause += 1;
        }
        Self(all)
    }

    /// Adds the contributions of those features to each cause's score.
    fn add(&self, scores: &Row, features: &Features, of: &[Feature]) -> Row {
        // Positions first, then sums: so these stay in registers.
        let mut places = [(0, 0.0); FEATURES];
        let mut count = 0;
        for feature in of {
            if let Some(value) = features.value(*feature) {
                let (knot, part) = position(feature.knots(), value);
                places[count] = (FIRST_KNOT[*feature as usize] + knot, part as f32);
                count += 1;
            }
        }
        let mut scores = *scores;
        for (knot, part) in &places[..count] {
            // At the last knot of a feature `part` is zero, whatever the next row holds.
            let [low, next] = [&self.0[*knot], &self.0[knot + 1]];
            // Indexed: one loop over vectors at every optimization level, which zips are not.
            for cause in 0..ZERO.len() {
                let slope = f32::from(next[cause] - low[cause]);
                scores[cause] += f32::from(low[cause]) + slope * part;
            }
        }
        scores
    }
}

/// Position of a value between knots. It is the knot below it, and the fraction of the distance to
/// the next.
#[must_use]
pub fn position(knots: &[f64], value: f64) -> (usize, f64) {
    let above = knots.partition_point(|knot| *knot <= value);
    match above.checked_sub(1) {
        None => (0, 0.0),
        Some(last) if last + 1 == knots.len() => (last, 0.0),
        Some(knot) => {
            let (from, to) = (knots[knot], knots[knot + 1]);
            debug_assert!(
                from <= value && value < to,
                "knots ascend around a value: {from} <= {value} < {to}"
            );
            (knot, (value - from) / (to - from))
        }
    }
}

/// Scores of all causes in every round.
pub(crate) struct Scores {
    table: &'static Table,
    is_away: bool,
    features: Vec<Features>,
    /// Scores without the bias of a state.
    rows: Rows,
    /// The same, smoothed. Most rounds have one possible cause, which needs no score.
    smooth: Vec<OnceCell<Row>>,
    /// For each cause, the one that a capture can tell: itself, or one that it is
    /// indistinguishable from. `None` if a condition of the connection excludes it.
    told: [Option<usize>; CAUSES.len()],
}

impl Scores {
    pub fn of(facts: &Facts<'_, '_>) -> Self {
        let m = facts.m;
        let is_away = !m.view.is_near_sender();
        let (table, matrix) = if is_away {
            (AWAY, &AWAY_MATRIX)
        } else {
            (NEAR, &NEAR_MATRIX)
        };
        let features = of_rounds(m);
        debug_assert!(
            features.len() == m.rounds.len() && m.after.len() == m.rounds.len(),
            "each of {} rounds has features and a place among the episodes",
            m.rounds.len()
        );
        Self {
            table,
            is_away,
            rows: Rows::new(matrix, &features),
            smooth: vec![OnceCell::new(); features.len()],
            features,
            told: core::array::from_fn(|cause| told(facts, cause)),
        }
    }

    /// The cause that a weighed one is in a state of a round. `None` if it has no weights, or a
    /// condition or the trigger of a loss excludes it.
    fn open(&self, cause: usize, moment: &Moment<'_, '_, '_>) -> Option<usize> {
        let is_weighed = !CAUSES[cause].features.is_empty();
        let features = &self.features[moment.index];
        let holds = is_weighed && CAUSES[cause].holds(moment.state, features, self.is_away);
        let told = self.told[cause].filter(|_| holds)?;
        // Of a loss whose trigger is known, no other loss is the cause.
        let trigger = moment.trigger().filter(|_| CAUSES[told].is_loss);
        let is_open = trigger.is_none_or(|trigger| trigger == told);
        (is_open && is_possible(CAUSES[told], moment)).then_some(told)
    }

    /// Weighed causes that nothing excludes in a state of a round, one bit each.
    pub fn open_causes(&self, moment: &Moment<'_, '_, '_>) -> u64 {
        (0..CAUSES.len())
            .filter(|cause| self.open(*cause, moment).is_some())
            .fold(0, |bits, cause| bits | 1 << cause)
    }

    /// Probability of every cause in a state of a round, by softmax over those that no condition
    /// excludes.
    pub fn probabilities(&self, moment: &Moment<'_, '_, '_>) -> [f64; CAUSES.len()] {
        let mut all = [IMPOSSIBLE; CAUSES.len()];
        let mut open = [None; CAUSES.len()];
        for (cause, told) in open.iter_mut().enumerate() {
            *told = self.open(cause, moment);
        }
        let mut known = open.iter().flatten();
        match (known.next(), known.next()) {
            (None, _) => {}
            (Some(told), None) => all[*told] = 0.0,
            (Some(_), Some(_)) => {
                let smooth = self.smooth(moment);
                for (cause, told) in open.iter().enumerate() {
                    let bias = self.table.causes[cause].1[moment.state as usize];
                    if let Some(told) = told {
                        all[*told] = f64::from(smooth[cause] + f32::from(bias)) * UNIT;
                    }
                }
            }
        }
        softmax(all)
    }

    /// Smoothed scores of a round.
    fn smooth(&self, moment: &Moment<'_, '_, '_>) -> &Row {
        let index = moment.index;
        self.smooth[index].get_or_init(|| {
            let row = |other: usize| self.rows.row(other, &self.features[other]);
            smoothed(moment.facts.m, self.features.len(), row, index)
        })
    }
}

/// The cause that a weighed one is in this connection, unless a condition of it excludes that. The
/// SYNs show which of both windows limits.
fn told(facts: &Facts<'_, '_>, cause: usize) -> Option<usize> {
    let told = match CAUSES[cause].id {
        "receive-window-limited" if facts.is_unscaled() => place("no-window-scaling")?,
        _ => cause,
    };
    is_allowed(CAUSES[told], facts).then_some(told)
}

/// Whether the conditions of the connection allow a cause.
pub(crate) fn is_allowed(cause: &Cause, facts: &Facts<'_, '_>) -> bool {
    let of = |condition: &Condition| match condition.test {
        Test::Connection(test) => test(facts),
        Test::Round(_) => None,
    };
    let is_connection = |condition: &Condition| matches!(condition.test, Test::Connection(_));
    allows(cause, is_connection, of)
}

/// Whether the conditions of a round allow a cause.
pub(crate) fn is_possible(cause: &Cause, moment: &Moment<'_, '_, '_>) -> bool {
    let is_round = |condition: &Condition| matches!(condition.test, Test::Round(_));
    let of = |condition: &Condition| match condition.test {
        Test::Connection(_) => None,
        Test::Round(test) => test(moment),
    };
    allows(cause, is_round, of)
}

/// Whether all that is required holds and nothing refutes the cause, of the conditions that
/// `applies` selects.
fn allows(
    cause: &Cause,
    applies: impl Fn(&Condition) -> bool,
    holds: impl Fn(&Condition) -> Option<bool>,
) -> bool {
    let mut required = cause.requires.iter().filter(|condition| applies(condition));
    let mut refuting = cause
        .refuted_by
        .iter()
        .filter(|condition| applies(condition));
    required.all(|condition| holds(condition) == Some(true))
        && !refuting.any(|condition| holds(condition) == Some(true))
}

/// The scores of rounds, each computed when it is needed. A feature that is the same in all of them
/// is added once.
struct Rows {
    matrix: &'static Matrix,
    common: Row,
    varying: Vec<Feature>,
    rows: Vec<OnceCell<Row>>,
}

impl Rows {
    fn new(matrix: &'static Matrix, features: &[Features]) -> Self {
        let mut varies = [false; FEATURES];
        for one in features {
            for ((varies, value), other) in varies.iter_mut().zip(&one.0).zip(&features[0].0) {
                *varies |= value.to_bits() != other.to_bits();
            }
        }
        let (varying, common): (Vec<Feature>, Vec<Feature>) = Feature::ALL
            .iter()
            .partition(|feature| varies[**feature as usize]);
        let first = features.first();
        Self {
            matrix,
            common: first.map_or(ZERO, |first| matrix.add(&ZERO, first, &common)),
            varying,
            rows: vec![OnceCell::new(); features.len()],
        }
    }

    /// Scores of a round, which has these features.
    fn row(&self, index: usize, features: &Features) -> &Row {
        self.rows[index].get_or_init(|| self.matrix.add(&self.common, features, &self.varying))
    }
}

/// A round's scores averaged with those of neighbors after the same loss event. Single rounds are
/// noisy, and the limit of a connection seldom changes from one to the next.
fn smoothed<'a>(
    m: &Measures<'_>,
    rounds: usize,
    row: impl Fn(usize) -> &'a Row,
    index: usize,
) -> Row {
    let from = index.saturating_sub(SMOOTHED);
    let until = (index + SMOOTHED + 1).min(rounds);
    let mut mean = ZERO;
    let mut total = 0.0;
    for near in (from..until).filter(|near| m.after[*near] == m.after[index]) {
        let weight = if near == index { 2.0 } else { 1.0 };
        total += weight;
        let scores = row(near);
        for cause in 0..ZERO.len() {
            mean[cause] += weight * scores[cause];
        }
    }
    mean.iter_mut().for_each(|sum| *sum /= total);
    debug_assert!(
        mean.iter().all(|score| score.is_finite()),
        "scores are sums of finite weights: round {index}, {mean:?}"
    );
    mean
}

/// Each exponential over the sum of all; zeros if nothing is possible.
fn softmax<const N: usize>(mut all: [f64; N]) -> [f64; N] {
    let most = all.iter().copied().fold(IMPOSSIBLE, f64::max);
    let mut sum = 0.0;
    for one in &mut all {
        *one = if *one > IMPOSSIBLE {
            libm::exp(*one - most)
        } else {
            0.0
        };
        sum += *one;
    }
    if sum > 0.0 {
        all.iter_mut().for_each(|part| *part /= sum);
    }
    debug_assert!(
        sum == 0.0 || (all.iter().sum::<f64>() - 1.0).abs() < 1e-9,
        "probabilities of all causes add up to 1: {all:?}"
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::place;
    use alloc::string::String;

    fn all_rows(matrix: &'static Matrix, features: &[Features]) -> Vec<Row> {
        let rows = Rows::new(matrix, features);
        let all = features.iter().enumerate();
        all.map(|(index, one)| *rows.row(index, one)).collect()
    }

    #[test]
    fn a_value_lies_between_its_knots_and_stays_at_the_outer_ones() {
        let knots = [0.0, 1.0, 3.0];
        assert_eq!(position(&knots, -5.0), (0, 0.0));
        assert_eq!(position(&knots, 2.0), (1, 0.5));
        assert_eq!(position(&knots, 9.0), (2, 0.0));
    }

    #[test]
    fn probabilities_add_up_to_one() {
        let all = softmax([1.5, 2.5, -700.0, IMPOSSIBLE]);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{all:?}");
        assert_eq!(softmax([IMPOSSIBLE; 2]), [0.0; 2]);
    }

    #[test]
    fn weights_are_in_the_order_of_the_causes() {
        for table in [NEAR, AWAY] {
            let ids = table.causes.iter().map(|(id, _, _)| *id);
            assert!(ids.eq(CAUSES.iter().map(|cause| cause.id)));
        }
    }

    #[test]
    fn features_that_are_the_same_in_all_rounds_count_as_those_that_vary() {
        let mut one = Features([f32::NAN; FEATURES]);
        for (place, feature) in one.0.iter_mut().zip(Feature::ALL) {
            let knots = feature.knots();
            *place = f64::midpoint(knots[0], knots[1]) as f32;
        }
        let nothing = Features([f32::NAN; FEATURES]);
        for matrix in [&NEAR_MATRIX, &AWAY_MATRIX] {
            let alone = all_rows(matrix, &[one]);
            let both = all_rows(matrix, &[nothing, one]);
            assert_eq!(both, [ZERO, alone[0]]);
            let by_hand: f32 = (0..FEATURES)
                .map(|feature| FIRST_KNOT[feature])
                .map(|knot| f32::from(matrix.0[knot][3] + matrix.0[knot + 1][3]) / 2.0)
                .sum();
            assert!((alone[0][3] - by_hand).abs() < 0.01);
        }
    }

    #[test]
    fn every_cause_that_takes_time_can_win() {
        let tables = [(NEAR, &NEAR_MATRIX), (AWAY, &AWAY_MATRIX)];
        for (table, matrix) in tables {
            for cause in CAUSES.iter().filter(|cause| cause.features().count() > 0) {
                // The features that favor it most, and nothing else.
                let mut features = Features([f32::NAN; FEATURES]);
                let place = place(cause.id).unwrap_or_default();
                for (feature, weights) in table.causes[place].2 {
                    let best = (0..weights.len()).max_by_key(|knot| weights[*knot]);
                    let knot = feature.knots()[best.unwrap_or(0)];
                    features.0[*feature as usize] = knot as f32;
                }
                let scores = all_rows(matrix, &[features])[0];
                let wins = cause.states.iter().any(|state| {
                    let mut all = [IMPOSSIBLE; CAUSES.len()];
                    let is_weighed = |one: &usize| {
                        CAUSES[*one].states.contains(state) && !CAUSES[*one].features.is_empty()
                    };
                    for one in (0..all.len()).filter(is_weighed) {
                        let bias = table.causes[one].1[*state as usize];
                        all[one] = f64::from(scores[one] + f32::from(bias)) * UNIT;
                    }
                    softmax(all)[place] > 0.5
                });
                assert!(wins, "{}", String::from(cause.id));
            }
        }
    }
}
