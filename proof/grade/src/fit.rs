//! Fits the weights of all causes to connections with a known cause.
//!
//! The model is that of `gigatcp-why` (multinomial logistic regression over features that are
//! interpolated between knots). An example is a connection with a known cause, which labels its
//! slices. A slice may instead show slow cwnd growth (every connection begins with it) or a
//! saturated path. The likelihood of a slice is a mixture of these, and the fit decides. Weights
//! have an L2 penalty, and rows of weights a group lasso. A feature without information about a
//! cause therefore has no weights for it.
//!
//! A fit begins at zero, or continues from the current weights ([`Prior`]).
//!
//! Fitted numbers: all of `core/why/src/weights/`, and nothing else.

use gigatcp_why::features::{FEATURES, Feature};
use gigatcp_why::weights::fitted;
use gigatcp_why::{CAUSES, DECIDED, MIN_PROBABILITY, STATES, Slice, position};
use rayon::prelude::*;

/// Maximum slices used of one example: the longest ones.
const MAX_SLICES: usize = 24;

/// Number of steps, and of batches: each step uses one.
const STEPS: usize = 480;
const BATCHES: usize = 6;

/// Step size of the optimizer (Adam), and decay of its averages.
const STEP: f64 = 0.06;
const DECAY: (f64, f64) = (0.9, 0.99);

/// Penalties of weights: of their squares, and of the length of a row.
const RIDGE: f64 = 2e-5;
const LASSO: f64 = 5e-4;

/// Probability that a slice shows something other than the connection's cause.
const OTHER: f64 = 0.12;

/// Connection with a known cause, as one capture shows it.
#[derive(Clone, Debug)]
pub struct Example {
    /// Name of the connection, for a reader.
    pub name: String,
    /// Index of its cause in [`CAUSES`].
    pub cause: usize,
    /// Index of each successive cause, and the fraction of time at its end.
    pub phases: Vec<(usize, f64)>,
    /// Indices of other correct answers.
    pub acceptable: Vec<usize>,
    /// Weight in the fit.
    pub weight: f64,
    /// Whether the capture point is away from the sender.
    pub is_away: bool,
    /// Whether the window scale is known.
    pub knows_windows: bool,
    /// Index of the generator of a captured connection; `None` for a simulated one.
    pub generator: Option<usize>,
    /// Whether its capture was changed in a way that should not matter.
    pub is_changed: bool,
    /// Slices of the capture.
    pub slices: Vec<Slice>,
}

/// A slice, with all that does not depend on weights computed.
struct Prepared {
    /// Causes it may show, with their probabilities.
    parts: Vec<(usize, f64)>,
    weight: f64,
    state: usize,
    /// Causes that facts leave open, one bit each.
    open: u64,
    /// Per feature: knot index plus one, or zero if unknown, and relative position. The position
    /// counts towards the next knot.
    at: [(u8, f32); FEATURES],
}

/// Positions of the rows of weights, by cause and feature.
struct Layout {
    /// By cause: (feature, offset) pairs.
    rows: Vec<Vec<(usize, usize)>>,
    /// Start of the biases of each cause.
    biases: Vec<usize>,
    len: usize,
}

impl Layout {
    fn new() -> Self {
        let mut len = 0;
        let mut rows = Vec::new();
        let mut biases = Vec::new();
        for cause in CAUSES {
            biases.push(len);
            len += STATES;
            let mut seen = [false; FEATURES];
            let mut of = Vec::new();
            for feature in cause.features() {
                if std::mem::replace(&mut seen[feature as usize], true) {
                    continue;
                }
                of.push((feature as usize, len));
                len += feature.knots().len();
            }
            rows.push(of);
        }
        Self { rows, biases, len }
    }
}

/// Seconds of a cause, those that facts decided, and the sum of probability times seconds.
#[derive(Clone, Default)]
struct Attributed {
    time: f64,
    decided: f64,
    weight: f64,
}

/// Fitted weights.
pub struct Fitted {
    layout: Layout,
    weights: Vec<f64>,
}

/// Weights in the absence of evidence from the examples.
#[derive(Clone, Debug)]
pub struct Prior {
    /// Weights in the order of a [`Layout`], in nats.
    weights: Vec<f64>,
    /// Penalty of the squared distance from each of them.
    strength: Vec<f64>,
}

impl Prior {
    /// Prior without an earlier fit.
    pub fn zero() -> Self {
        Self {
            weights: vec![0.0; Layout::new().len],
            strength: vec![RIDGE; Layout::new().len],
        }
    }

    /// Current weights as a prior: they represent all connections they were fitted to.
    ///
    /// `strength` is the penalty of a distance from them; their existing rows have no penalty. For
    /// causes and features they never had, the weights are fitted as from zero.
    pub fn in_use(is_away: bool, strength: f64) -> Self {
        let layout = Layout::new();
        let mut weights = vec![0.0; layout.len];
        let nats = |hundredths: i16| f64::from(hundredths) / 100.0;
        for (cause, (_, biases, rows)) in fitted(is_away).iter().enumerate() {
            for (state, bias) in biases.iter().enumerate() {
                weights[layout.biases[cause] + state] = nats(*bias);
            }
            for (feature, row) in *rows {
                let known = layout.rows[cause].iter();
                let Some((_, begin)) = known.clone().find(|entry| entry.0 == *feature as usize)
                else {
                    continue;
                };
                for (knot, weight) in row.iter().enumerate() {
                    weights[begin + knot] = nats(*weight);
                }
            }
        }
        let strength = strengths(fitted(is_away), &layout, strength);
        Self { weights, strength }
    }
}

/// Penalty of a distance from each weight of a table. It is small for a cause or feature without
/// weights in the table.
fn strengths(table: &[gigatcp_why::weights::Fitted], layout: &Layout, strength: f64) -> Vec<f64> {
    let mut strengths = vec![strength; layout.len];
    let mut known = [false; FEATURES];
    for (feature, _) in table.iter().flat_map(|(_, _, rows)| *rows) {
        known[*feature as usize] = true;
    }
    for (cause, (_, _, rows)) in table.iter().enumerate() {
        for (feature, begin) in &layout.rows[cause] {
            if rows.is_empty() || !known[*feature] {
                let knots = Feature::ALL[*feature].knots().len();
                strengths[*begin..begin + knots].fill(RIDGE);
            }
        }
        if rows.is_empty() {
            strengths[layout.biases[cause]..][..STATES].fill(RIDGE);
        }
    }
    strengths
}

/// Fits weights to the examples; `progress` receives the step and its loss.
pub fn fit(examples: &[&Example], prior: &Prior, mut progress: impl FnMut(usize, f64)) -> Fitted {
    let layout = Layout::new();
    let prepared: Vec<Prepared> = examples
        .iter()
        .flat_map(|example| prepare(example))
        .collect();
    let mut batches: Vec<Vec<Prepared>> = (0..BATCHES).map(|_| Vec::new()).collect();
    for (index, one) in prepared.into_iter().enumerate() {
        batches[index % BATCHES].push(one);
    }
    let mut weights = prior.weights.clone();
    let (mut mean, mut square) = (vec![0.0; layout.len], vec![0.0; layout.len]);
    for step in 1..=STEPS {
        let batch = &batches[step % BATCHES];
        let total: f64 = batch.iter().map(|example| example.weight).sum();
        let (loss, gradient) = gradient(&layout, &weights, batch);
        let (rise, spread) = (
            1.0 - DECAY.0.powi(step as i32),
            1.0 - DECAY.1.powi(step as i32),
        );
        // Steps shrink towards the end.
        let length = STEP * (1.0 - 0.97 * step as f64 / STEPS as f64);
        let costs = row_costs(&layout, &weights, &prior.weights);
        for (index, weight) in weights.iter_mut().enumerate() {
            let distance = *weight - prior.weights[index];
            let slope = gradient[index] / total + prior.strength[index] * distance + costs[index];
            mean[index] = DECAY.0 * mean[index] + (1.0 - DECAY.0) * slope;
            square[index] = DECAY.1 * square[index] + (1.0 - DECAY.1) * slope * slope;
            *weight -= length * (mean[index] / rise) / ((square[index] / spread).sqrt() + 1e-6);
        }
        if step % 60 == 0 {
            progress(step, loss / total);
        }
    }
    Fitted { layout, weights }
}

/// Gradient of the penalty for a row's existence, by weight. Rows of the prior have none.
fn row_costs(layout: &Layout, weights: &[f64], prior: &[f64]) -> Vec<f64> {
    let mut costs = vec![0.0; weights.len()];
    for (feature, begin) in layout.rows.iter().flatten() {
        let row = *begin..begin + Feature::ALL[*feature].knots().len();
        if prior[row.clone()].iter().any(|weight| *weight != 0.0) {
            continue;
        }
        let squares = weights[row.clone()].iter().map(|weight| weight * weight);
        let length = squares.sum::<f64>().sqrt() + 0.02;
        for index in row {
            costs[index] = LASSO * weights[index] / length;
        }
    }
    costs
}

fn prepare(example: &Example) -> Vec<Prepared> {
    let mut slices = labeled(example);
    slices.sort_by_key(|(slice, _)| std::cmp::Reverse(slice.time));
    // The longest slices, and some of the others: short rounds count too.
    if slices.len() > MAX_SLICES {
        let rest = slices.split_off(MAX_SLICES / 2);
        let every = rest.len() / (MAX_SLICES / 2);
        slices.extend(rest.into_iter().step_by(every.max(1)).take(MAX_SLICES / 2));
    }
    let times = slices.iter().map(|(slice, _)| slice.time.as_secs_f64());
    let time: f64 = times.sum();
    slices
        .into_iter()
        .map(|(slice, own)| Prepared {
            parts: mixture(&own, slice.open),
            weight: example.weight * slice.time.as_secs_f64() / time.max(1e-9),
            state: slice.state as usize,
            open: slice.open,
            at: places(slice),
        })
        .collect()
}

/// Slices of an example with the causes each may have by its label. Slices in which none is
/// possible are omitted.
fn labeled(example: &Example) -> Vec<(&Slice, Vec<usize>)> {
    let slices = example.slices.iter();
    let whole: f64 = slices.clone().map(|slice| slice.time.as_secs_f64()).sum();
    let mut passed = 0.0;
    let labeled = slices.map(|slice| {
        let from = passed / whole;
        passed += slice.time.as_secs_f64();
        let mut own = example.causes(from, passed / whole);

        own.retain(|cause| slice.open >> cause & 1 == 1);
        (slice, own)
    });
    labeled.filter(|(_, own)| !own.is_empty()).collect()
}

impl Example {
    /// Correct answers in the interval `from` to `to`, both as shares of the time.
    fn causes(&self, from: f64, to: f64) -> Vec<usize> {
        /// Uncertainty of the time of a change.
        const MARGIN: f64 = 0.03;
        if self.phases.is_empty() {
            return [&[self.cause], &self.acceptable[..]].concat();
        }
        let mut begin = 0.0;
        let mut causes = Vec::new();
        for (cause, until) in &self.phases {
            if from < until + MARGIN && to > begin - MARGIN {
                causes.push(*cause);
            }
            begin = *until;
        }
        causes
    }
}

fn places(slice: &Slice) -> [(u8, f32); FEATURES] {
    let mut at = [(0, 0.0); FEATURES];
    for (place, feature) in at.iter_mut().zip(Feature::ALL) {
        if let Some(value) = slice.features.value(*feature) {
            let (knot, part) = position(feature.knots(), value);
            *place = (knot as u8 + 1, part as f32);
        }
    }
    at
}

fn scores(
    layout: &Layout,
    weights: &[f64],
    at: &[(u8, f32); FEATURES],
    (state, open): (usize, u64),
) -> Vec<Option<f64>> {
    let of = |cause: usize| {
        let is_open = open >> cause & 1 == 1;
        is_open.then(|| {
            let mut score = weights[layout.biases[cause] + state];
            for (feature, begin) in &layout.rows[cause] {
                let (knot, part) = at[*feature];
                if knot > 0 {
                    let begin = begin + usize::from(knot) - 1;
                    let part = f64::from(part);
                    score += weights[begin] * (1.0 - part);
                    if part > 0.0 {
                        score += weights[begin + 1] * part;
                    }
                }
            }
            score
        })
    };
    (0..CAUSES.len()).map(of).collect()
}

/// Probabilities of the open causes.
fn probabilities(scores: &[Option<f64>]) -> Vec<f64> {
    let most = scores.iter().flatten().copied().fold(f64::MIN, f64::max);
    let parts = scores
        .iter()
        .map(|score| score.map_or(0.0, |nats| (nats - most).exp()));
    let parts: Vec<f64> = parts.collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| part / sum).collect()
}

/// Causes that a slice of a connection with these causes may show, with probabilities.
fn mixture(own: &[usize], open: u64) -> Vec<(usize, f64)> {
    let others = [
        "cwnd-growth-limited",
        "path-saturated",
        "application-limited",
    ]
    .map(|id| CAUSES.iter().position(|cause| cause.id == id));
    let is_other = |cause: &usize| !own.contains(cause) && open >> cause & 1 == 1;
    let others: Vec<usize> = others.into_iter().flatten().filter(is_other).collect();
    let each = |all: &[usize], share: f64| -> Vec<(usize, f64)> {
        let share = share / all.len().max(1) as f64;
        all.iter().map(|cause| (*cause, share)).collect()
    };
    [each(own, 1.0 - OTHER), each(&others, OTHER)].concat()
}

fn gradient(layout: &Layout, weights: &[f64], all: &[Prepared]) -> (f64, Vec<f64>) {
    let empty = || (0.0, vec![0.0; layout.len]);
    all.par_chunks(512)
        .fold(empty, |(mut loss, mut sum), chunk| {
            for one in chunk {
                let given = probabilities(&scores(layout, weights, &one.at, (one.state, one.open)));
                let parts = &one.parts;
                let likelihood: f64 = parts.iter().map(|(cause, part)| part * given[*cause]).sum();
                loss -= one.weight * likelihood.max(1e-12).ln();
                let mut slope = given.clone();
                for (cause, part) in parts {
                    slope[*cause] -= part * given[*cause] / likelihood.max(1e-12);
                }
                for (cause, slope) in slope.into_iter().enumerate() {
                    if slope != 0.0 {
                        add(layout, &mut sum, one, cause, slope * one.weight);
                    }
                }
            }
            (loss, sum)
        })
        .reduce(empty, |(a, mut sum), (b, added)| {
            sum.iter_mut()
                .zip(added)
                .for_each(|(entry, added)| *entry += added);
            (a + b, sum)
        })
}

fn add(layout: &Layout, sum: &mut [f64], one: &Prepared, cause: usize, slope: f64) {
    sum[layout.biases[cause] + one.state] += slope;
    for (feature, begin) in &layout.rows[cause] {
        let (knot, part) = one.at[*feature];
        if knot > 0 {
            let begin = begin + usize::from(knot) - 1;
            let part = f64::from(part);
            sum[begin] += slope * (1.0 - part);
            if part > 0.0 {
                sum[begin + 1] += slope * part;
            }
        }
    }
}

impl Fitted {
    /// Cause with most time of an example and its mean probability, as the product attributes it,
    /// but without averaging over neighbors. `None` if facts decided it: then its confidence does
    /// not rest on weights.
    pub fn primary(&self, slices: &[Slice]) -> Option<(usize, f64)> {
        let mut causes = vec![Attributed::default(); CAUSES.len()];
        for slice in slices {
            let time = slice.time.as_secs_f64();
            if let Some(cause) = slice.decided {
                causes[cause].time += time;
                causes[cause].decided += time;
                causes[cause].weight += time * DECIDED;
                continue;
            }
            let waits = (slice.state as usize, slice.open);
            let scores = scores(&self.layout, &self.weights, &places(slice), waits);
            let given = probabilities(&scores).into_iter().enumerate();
            let most = given.max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((cause, probability)) = most.filter(|(_, one)| *one >= MIN_PROBABILITY) {
                causes[cause].time += time;
                causes[cause].weight += time * probability;
            }
        }
        let most = causes
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.time.total_cmp(&b.1.time));
        most.filter(|(_, most)| most.decided * 2.0 < most.time)
            .map(|(cause, most)| (cause, most.weight / most.time))
    }

    /// Weights as source text of a table of `core/why/src/weights/`.
    pub fn source(&self, name: &str, calibrations: [(&str, Vec<(f64, f64)>); 2]) -> String {
        let hundredths = |value: &f64| ((value * 100.0).round() as i64).clamp(-30_000, 30_000);
        let list = |values: &[f64]| {
            let each = values.iter().map(|value| hundredths(value).to_string());
            each.collect::<Vec<_>>().join(", ")
        };
        let mut text = format!(
            "//! Written by `cargo xtask grade --fit`. Not to be edited by hand.\n\n\
             use super::Table;\n\
             use crate::features::Feature as F;\n\n\
             #[rustfmt::skip]\n\
             pub(crate) const {name}: &Table = &Table {{\n    causes: &[\n"
        );
        let all = self.layout.biases.iter().zip(&self.layout.rows);
        for (cause, (begin, rows)) in CAUSES.iter().zip(all) {
            let biases = list(&self.weights[*begin..begin + STATES]);
            text += &format!("        (\"{}\", [{biases}], &[\n", cause.id);
            for (feature, begin) in rows {
                let feature = Feature::ALL[*feature];
                let row = &self.weights[*begin..begin + feature.knots().len()];
                if row.iter().any(|weight| weight.abs() >= MIN_WEIGHT) {
                    text += &format!("            (F::{feature:?}, &[{}]),\n", list(row));
                }
            }
            text += "        ]),\n";
        }
        text += "    ],\n";
        for (name, curve) in calibrations {
            let column = |of: fn(&(f64, f64)) -> f64| {
                let texts = curve.iter().map(|point| format!("{:.3}", of(point)));
                texts.collect::<Vec<_>>().join(", ")
            };
            let (values, shares) = (column(|point| point.0), column(|point| point.1));
            text += &format!("    {name}: (&[{values}], &[{shares}]),\n");
        }
        text + "};\n"
    }
}

/// Rows whose weights are all smaller are omitted: answers to the captures of five generators are the same
/// without them.
const MIN_WEIGHT: f64 = 0.35;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_of_a_new_cause_or_feature_are_free_and_others_are_held() {
        let layout = Layout::new();
        let place = |id: &str| CAUSES.iter().position(|cause| cause.id == id).unwrap();
        let (old, new) = (place("random-loss"), place("aqm-drops"));
        let rows: &[(Feature, &[i16])] = &[(Feature::LossFill, &[1; 7])];
        let mut table = vec![("", [0; STATES], &[][..]); CAUSES.len()];
        table[old].2 = rows;
        let costs = strengths(&table, &layout, 0.5);
        let of = |cause: usize, feature: Feature| {
            let row = layout.rows[cause]
                .iter()
                .find(|entry| entry.0 == feature as usize);
            costs[row.unwrap().1]
        };
        assert_eq!(of(old, Feature::LossFill), 0.5);
        assert_eq!(of(old, Feature::QueueEven), RIDGE);
        assert_eq!(of(new, Feature::LossFill), RIDGE);
        assert_eq!(costs[layout.biases[new]], RIDGE);
        assert_eq!(costs[layout.biases[old]], 0.5);
    }
}
