//! Fits the weights of the diagnosis from counters.
//!
//! The model is that of `gigatcp_why::counters`: a multinomial logistic regression over features
//! interpolated between knots. A fit starts from the current weights. Leaving them is penalized,
//! as are new rows of weights (group lasso), so weights without evidence in the examples stay.
//! Examples are whole connections with one known cause; any slice of them may show slow cwnd
//! growth or a saturated path instead.
//!
//! Fitted numbers: all of `core/why/src/counters/weights.rs`, and nothing else.

use std::fmt::Write;

use gigatcp_why::counters::weights::WEIGHTS;
use gigatcp_why::counters::{CounterAccount, FEATURES, Feature, Features, UNSEEN, Wait};
use gigatcp_why::position;

/// Steps of the optimizer (Adam), their size, and decay of its averages.
const STEPS: usize = 300;
const STEP: f64 = 0.04;
const DECAY: (f64, f64) = (0.9, 0.99);

/// Penalty of leaving the current weights, and shrinkage of a new row per full step.
const RIDGE: f64 = 3e-4;
const LASSO: f64 = 0.04;

/// Probability that a slice shows cwnd growth or a saturated path instead of the cause.
const OTHER: f64 = 0.12;

/// Rows whose weights are all smaller, in nats, are omitted: of 916 reports of three generators as many are
/// answered right without them.
const MIN_WEIGHT: f64 = 0.4;

/// Initial bias of a wait in which a card has no weight yet.
const RARE: f64 = -4.0;

/// A slice of an example.
#[derive(Clone, Debug)]
pub struct Part {
    wait: Wait,
    /// Share of the connection's time.
    share: f64,
    /// Known features: index, knot below, and relative position to the next knot.
    places: Vec<(usize, usize, f64)>,
    /// Whether each card is possible.
    possible: Vec<bool>,
}

/// Connection with a known cause, as one set of counters shows it.
#[derive(Clone, Debug)]
pub struct Example {
    /// Name, for a reader.
    pub name: String,
    /// Index of the correct card.
    pub right: usize,
    /// Indices of other correct cards.
    pub acceptable: Vec<usize>,
    /// Weight in the fit.
    pub weight: f64,
    /// Seed; folds of a cross-validation keep seeds together.
    pub seed: u64,
    parts: Vec<Part>,
}

/// Index of a card.
pub fn card(id: &str) -> Option<usize> {
    WEIGHTS.iter().position(|weights| weights.card == id)
}

/// An example from counters. `None` if no card has its cause or nothing was observed.
pub fn example(
    (name, seed, weight): (String, u64, f64),
    account: &CounterAccount,
    cause: &str,
    acceptable: &[&str],
) -> Option<Example> {
    let right = card(cause)?;
    let mut parts = Vec::new();
    let slices = account.scored_slices();
    let total: f64 = slices.iter().flat_map(|slice| slice.waits).sum();
    for slice in &slices {
        for wait in Wait::ALL {
            let share = slice.waits[wait as usize] / total.max(1e-9);
            if share > 1e-4 {
                parts.push(part(&slice.features, wait, share));
            }
        }
    }
    (!parts.is_empty()).then(|| Example {
        name,
        right,
        acceptable: acceptable.iter().filter_map(|id| card(id)).collect(),
        weight,
        seed,
        parts,
    })
}

fn part(features: &Features, wait: Wait, share: f64) -> Part {
    let known = Feature::ALL.iter().filter_map(|feature| {
        let (knot, part) = position(feature.knots(), features.value(*feature)?);
        Some((*feature as usize, knot, part))
    });
    let is_possible = |index: usize| match gigatcp_why::counters::needed(index) {
        Some(feature) => features.value(feature).is_some_and(|value| value > 0.0),
        None => true,
    };
    Part {
        wait,
        share,
        places: known.collect(),
        possible: (0..WEIGHTS.len()).map(is_possible).collect(),
    }
}

/// All weights in one vector. For each card, the biases of all waits precede the knots of each
/// feature.
#[derive(Clone, Debug)]
pub struct Model {
    values: Vec<f64>,
    /// Whether the row of this weight existed before.
    kept: Vec<bool>,
}

/// Positions within a model.
struct Layout {
    /// Start of each feature's row within a card.
    rows: [usize; FEATURES],
    card: usize,
}

impl Layout {
    fn new() -> Self {
        let mut rows = [0; FEATURES];
        let mut next = Wait::ALL.len();
        for feature in Feature::ALL {
            rows[*feature as usize] = next;
            next += feature.knots().len();
        }
        Self { rows, card: next }
    }

    fn row(&self, card: usize, feature: usize) -> usize {
        card * self.card + self.rows[feature]
    }
}

/// Whether a card is possible in a wait.
fn allows(card: usize, wait: Wait) -> bool {
    match wait {
        Wait::Receiving => WEIGHTS[card].waits.iter().any(|(of, _)| *of == wait),
        _ => true,
    }
}

impl Model {
    /// Current weights.
    pub fn in_use() -> Self {
        let layout = Layout::new();
        let mut values = vec![0.0; layout.card * WEIGHTS.len()];
        let mut kept = vec![false; values.len()];
        for (card, weights) in WEIGHTS.iter().enumerate() {
            let base = card * layout.card;
            for wait in Wait::ALL {
                let stated = weights.waits.iter().find(|(of, _)| *of == wait);
                values[base + wait as usize] = stated.map_or(RARE, |(_, bias)| *bias);
                kept[base + wait as usize] = true;
            }
            for (feature, row) in weights.rows {
                let start = layout.row(card, *feature as usize);
                values[start..start + row.len()].copy_from_slice(row);
                kept[start..start + row.len()].fill(true);
            }
        }
        Self { values, kept }
    }

    /// Probability of every card in a slice.
    fn probabilities(&self, layout: &Layout, part: &Part) -> Vec<f64> {
        let scores = (0..WEIGHTS.len()).map(|card| {
            if !part.possible[card] || !allows(card, part.wait) {
                return f64::NEG_INFINITY;
            }
            let bias = self.values[card * layout.card + part.wait as usize];
            let rows = part.places.iter().map(|(feature, knot, along)| {
                let at = layout.row(card, *feature) + knot;
                let low = self.values[at];
                match along {
                    0.0 => low,
                    along => low + (self.values[at + 1] - low) * along,
                }
            });
            bias + rows.sum::<f64>()
        });
        let scores: Vec<f64> = scores.collect();
        let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut all: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
        let mut sum: f64 = all.iter().sum();
        if part.wait == Wait::Receiving {
            sum += (UNSEEN - most).exp();
        }
        all.iter_mut().for_each(|share| *share /= sum);
        all
    }

    /// Fits to examples, starting from these weights.
    pub fn fitted(&self, examples: &[&Example]) -> Self {
        let layout = Layout::new();
        let mut model = self.clone();
        let size = model.values.len();
        let (mut first, mut second) = (vec![0.0; size], vec![0.0; size]);
        let total: f64 = examples.iter().map(|example| example.weight).sum();
        for step in 1..=STEPS {
            let mut slope = vec![0.0; size];
            for example in examples {
                model.add_slope(&layout, example, &mut slope, example.weight / total);
            }
            let size_of_step = STEP * (1.0 - step as f64 / STEPS as f64).max(0.05);
            let warm = |decay: f64| 1.0 - decay.powi(step as i32);
            for index in 0..size {
                let slope = slope[index] - RIDGE * (model.values[index] - self.values[index]);
                first[index] = DECAY.0 * first[index] + (1.0 - DECAY.0) * slope;
                second[index] = DECAY.1 * second[index] + (1.0 - DECAY.1) * slope * slope;
                let (mean, square) = (first[index] / warm(DECAY.0), second[index] / warm(DECAY.1));
                model.values[index] += size_of_step * mean / (square.sqrt() + 1e-6);
            }
            model.shrink(&layout, size_of_step);
        }
        model
    }

    /// Shrinks new rows towards zero.
    fn shrink(&mut self, layout: &Layout, step: f64) {
        for card in 0..WEIGHTS.len() {
            for feature in Feature::ALL {
                let start = layout.row(card, *feature as usize);
                let row = start..start + feature.knots().len();
                if self.kept[start] {
                    continue;
                }
                let norm = self.values[row.clone()]
                    .iter()
                    .map(|v| v * v)
                    .sum::<f64>()
                    .sqrt();
                // A step of Adam is as large as `step` whatever the slope, and so is this one.
                let left = (1.0 - LASSO * step / STEP / norm.max(1e-9)).max(0.0);
                self.values[row].iter_mut().for_each(|value| *value *= left);
            }
        }
    }

    fn add_slope(&self, layout: &Layout, example: &Example, slope: &mut [f64], weight: f64) {
        let mut mix = vec![0.0; WEIGHTS.len()];
        for id in ["cwnd-growth-limited", "path-saturated"] {
            mix[card(id).unwrap_or(0)] = OTHER;
        }
        for other in &example.acceptable {
            mix[*other] = 0.5;
        }
        mix[example.right] = 1.0;
        for part in &example.parts {
            let all = self.probabilities(layout, part);
            let sum: f64 = all.iter().zip(&mix).map(|(p, m)| p * m).sum();
            for (card, probability) in all.iter().enumerate() {
                let wanted = mix[card] * probability / sum.max(1e-12);
                let pull = (wanted - probability) * weight * part.share;
                if pull == 0.0 || !pull.is_finite() {
                    continue;
                }
                slope[card * layout.card + part.wait as usize] += pull;
                for (feature, knot, along) in &part.places {
                    let at = layout.row(card, *feature) + knot;
                    slope[at] += pull * (1.0 - along);
                    if *along > 0.0 {
                        slope[at + 1] += pull * along;
                    }
                }
            }
        }
    }

    /// Primary cause of an example and its mean probability.
    pub fn primary(&self, example: &Example) -> (usize, f64) {
        let layout = Layout::new();
        let mut sums = vec![(0.0, 0.0); WEIGHTS.len()];
        for part in &example.parts {
            let all = self.probabilities(&layout, part);
            let best = (0..all.len()).max_by(|a, b| all[*a].total_cmp(&all[*b]));
            let sum = &mut sums[best.unwrap_or(0)];
            sum.0 += part.share;
            sum.1 += part.share * all[best.unwrap_or(0)];
        }
        let best = (0..sums.len())
            .max_by(|a, b| sums[*a].0.total_cmp(&sums[*b].0))
            .unwrap_or(0);
        (best, sums[best].1 / sums[best].0.max(1e-9))
    }

    /// Table as source text.
    pub fn table(&self) -> String {
        let layout = Layout::new();
        let mut text = String::new();
        for (card, weights) in WEIGHTS.iter().enumerate() {
            let base = card * layout.card;
            let waits: Vec<String> = Wait::ALL
                .into_iter()
                .filter(|wait| match wait {
                    Wait::Receiving => allows(card, *wait),
                    wait => {
                        let has = weights.waits.iter().any(|(of, _)| of == wait);
                        has || self.values[base + *wait as usize] > RARE + 0.3
                    }
                })
                .map(|wait| {
                    format!(
                        "(Wait::{wait:?}, {:?})",
                        rounded(self.values[base + wait as usize])
                    )
                })
                .collect();
            let _ = writeln!(text, "    Weights {{\n        card: {:?},", weights.card);
            let _ = writeln!(
                text,
                "        waits: &[{}],\n        rows: &[",
                waits.join(", ")
            );
            for feature in Feature::ALL {
                let start = layout.row(card, *feature as usize);
                let row = &self.values[start..start + feature.knots().len()];
                if row.iter().any(|value| value.abs() >= MIN_WEIGHT) {
                    let row: Vec<f64> = row.iter().map(|value| rounded(*value)).collect();
                    let _ = writeln!(text, "            (F::{feature:?}, &{row:?}),");
                }
            }
            text.push_str("        ],\n    },\n");
        }
        text
    }
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0 + 0.0
}
