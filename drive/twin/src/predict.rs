//! What other settings would bring: variations of every fit, over seeds, with an interval.
//!
//! Each variation runs with the same seeds and the same losses as the twin without it
//! (common random numbers). A prediction is the original's goodput times the gain between
//! the two runs. The interval covers what the capture leaves open: the kept fits, and the
//! seeds, each with another loss rate out of what the number of losses allows.

use rayon::prelude::*;

use crate::constants::{LossProcess, needs_pacing};
use crate::fit::{Fit, Twin};
use crate::measured::quantile;
use crate::world;

/// Standard normal deviates: one seed for each.
const DEVIATES: [f64; 5] = [0.0, 0.84, -0.84, 1.64, -1.64];

/// Relative half-width that every interval has in addition, from simulations with seeds below
/// 1,000,000, which the proof does not use.
const MARGIN: f64 = 0.07;

/// What a set of changes would bring.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// The changes, `KEY=VALUE`.
    pub changes: Vec<String>,
    /// Goodput in bits per second.
    pub goodput_bps: f64,
    /// Bounds of the interval, in bits per second.
    pub interval_bps: [f64; 2],
    /// Goodput as a multiple of the original's.
    pub gain: f64,
    /// Runs that it took, those without the changes included.
    pub runs: usize,
}

impl Twin {
    /// Predicts the goodput with these changes.
    ///
    /// # Errors
    /// What is wrong with a change.
    pub fn predict(&self, changes: &[String]) -> Result<Prediction, String> {
        let seeds = |fit: &Fit| {
            if fit.constants.is_random() {
                DEVIATES.len()
            } else {
                1
            }
        };
        let jobs: Vec<(&Fit, usize)> = self
            .fits
            .iter()
            .flat_map(|fit| (0..seeds(fit)).map(move |seed| (fit, seed)))
            .collect();
        let runs: Result<Vec<(f64, f64)>, String> = jobs
            .par_iter()
            .map(|(fit, seed)| self.pair(fit, *seed, changes))
            .collect();
        let runs = runs?;
        let original = self.transfer.measured.goodput_bps();
        let best = self.fits[0].likeness.distance;
        let mut samples: Vec<(f64, f64)> = Vec::new();
        for ((fit, _), (without, with)) in jobs.iter().zip(&runs) {
            let weight = (-2.0 * (fit.likeness.distance - best)).exp() / seeds(fit) as f64;
            samples.push((original * with / without, weight));
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let goodput_bps = weighted(&samples, 0.5);
        let values: Vec<f64> = samples.iter().map(|(value, _)| *value).collect();
        let low = quantile(&values, 0.0).min(goodput_bps);
        let high = quantile(&values, 1.0).max(goodput_bps);
        Ok(Prediction {
            changes: changes.to_vec(),
            goodput_bps,
            interval_bps: [low * (1.0 - MARGIN), high * (1.0 + MARGIN)],
            gain: goodput_bps / original.max(1.0),
            runs: 2 * runs.len(),
        })
    }

    /// Goodput of a fit without and with the changes, from one seed.
    fn pair(&self, fit: &Fit, seed: usize, changes: &[String]) -> Result<(f64, f64), String> {
        let mut constants = fit.constants.clone();
        if constants.loss != LossProcess::None {
            let lost = self.transfer.measured.losses.len().max(1) as f64;
            constants.loss = constants.loss.scaled((DEVIATES[seed] / lost.sqrt()).exp());
        }
        let plan = constants.to_toml();
        let all = [fit.known.as_slice(), &paced(changes)].concat();
        let seed = 100 + seed as u64;
        let without = world::run(&plan, &fit.known, seed)?.goodput_bps;
        let with = world::run(&plan, &all, seed)?.goodput_bps;
        Ok((without.max(1.0), with))
    }
}

/// The changes, with pacing before a control that needs it.
fn paced(changes: &[String]) -> Vec<String> {
    let mut controls = changes
        .iter()
        .filter_map(|one| one.strip_prefix("flow.congestion_control="));
    let needs = controls.any(|control| needs_pacing(control.trim_matches('"')));
    let pacing = needs.then(|| "sender.pacing=true".to_owned());
    pacing.into_iter().chain(changes.iter().cloned()).collect()
}

/// The value that `share` of the weight is below, of sorted samples.
fn weighted(samples: &[(f64, f64)], share: f64) -> f64 {
    let all: f64 = samples.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for (value, weight) in samples {
        sum += weight;
        if sum >= share * all {
            return *value;
        }
    }
    samples.last().map_or(0.0, |(value, _)| *value)
}
