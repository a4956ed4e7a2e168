//! Calibration of a fit's probabilities on generators it was not fitted to.

use std::collections::BTreeMap;

use crate::fit::{Example, Prior, fit};

/// Examples with weights that balance the causes.
pub fn balanced(examples: &[&Example]) -> Vec<Example> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for one in examples {
        *sums.entry(one.cause).or_default() += one.weight;
    }
    let mean = sums.values().sum::<f64>() / sums.len().max(1) as f64;
    let scaled = examples.iter().map(|example| Example {
        weight: example.weight * (mean / sums[&example.cause]).sqrt(),
        ..(*example).clone()
    });
    scaled.collect()
}

/// Leaves one generator of captures out at a time. Returns its primary causes that facts did not
/// decide, with their probabilities by weights fitted to the other generators and to simulated
/// worlds, and whether they are correct. Worlds are always fitted to and never tested; changed
/// captures are tested if the change removed the window scale. A `prior` must not have been fitted
/// to any of these generators.
pub fn fitted_apart(examples: &[&Example], prior: &Prior) -> Vec<Answer> {
    let mut generators: Vec<usize> = examples
        .iter()
        .filter_map(|example| example.generator)
        .collect();
    generators.sort_unstable();
    generators.dedup();
    let mut answers = Vec::new();
    for generator in generators {
        let (left_out, others): (Vec<&Example>, Vec<&Example>) = examples
            .iter()
            .partition(|example| example.generator == Some(generator));
        let fitted = fit(&others, prior, |_, _| ());
        for one in left_out {
            let is_asked = !one.is_changed || !one.knows_windows;
            if let Some((said, probability)) = fitted.primary(&one.slices).filter(|_| is_asked) {
                answers.push(Answer {
                    name: one.name.clone(),
                    truth: one.cause,
                    said,
                    knows_windows: one.knows_windows,
                    is_right: one.cause == said || one.acceptable.contains(&said),
                    probability,
                });
            }
        }
    }
    answers
}

/// Answer for a connection that no weight was fitted to.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Index of the cause.
    pub truth: usize,
    /// Index of the answer.
    pub said: usize,
    /// Whether the window scale is known.
    pub knows_windows: bool,
    /// Whether the answer is that cause, or another correct one.
    pub is_right: bool,
    /// Name of the connection.
    pub name: String,
    /// Mean probability of the answer.
    pub probability: f64,
}

/// Share of correct answers by probability, never falling (pool adjacent violators).
pub fn calibration(answers: &[&Answer]) -> Vec<(f64, f64)> {
    /// Number of bins of answers.
    const BINS: usize = 12;
    let mut sorted: Vec<(f64, bool)> = answers
        .iter()
        .map(|answer| (answer.probability, answer.is_right))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let each = sorted.len().div_ceil(BINS).max(1);
    // (answers, sum of probabilities, number right)
    let mut pools: Vec<(f64, f64, f64)> = Vec::new();
    for bin in sorted.chunks(each) {
        let count = bin.len() as f64;
        let probability: f64 = bin.iter().map(|answer| answer.0).sum();
        // Half an answer of each kind is added, so that nothing is certain.
        let right = bin.iter().filter(|answer| answer.1).count() as f64;
        let mut pool = (count, probability, (right + 0.5) * count / (count + 1.0));
        while let Some(last) = pools.last() {
            if last.2 / last.0 < pool.2 / pool.0 {
                break;
            }
            pool = (pool.0 + last.0, pool.1 + last.1, pool.2 + last.2);
            pools.pop();
        }
        pools.push(pool);
    }
    let mut knots = vec![(0.0, 0.0)];
    knots.extend(
        pools
            .iter()
            .map(|(weight, sum, right)| (sum / weight, right / weight)),
    );
    knots.push((1.0, knots.last().map_or(1.0, |last| last.1)));
    knots.dedup_by(|b, a| b.0 <= a.0 + 1e-4);
    knots
}
