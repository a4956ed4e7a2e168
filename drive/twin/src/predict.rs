//! Predictions for other settings: variations of every fit, over seeds, with an interval.
//!
//! Each variation runs with the same seeds and the same losses as the twin without it (common
//! random numbers). A prediction is the original's goodput times the gain between the two runs. The
//! interval covers what the capture leaves open: the kept fits, and the seeds, each with another
//! loss rate within what the number of losses allows. What such a draw also changes in the run
//! without the changes is removed (`regression`). If they disagree by much there is no number: a
//! lower bound if all of them gain, otherwise none.

use rayon::prelude::*;

use crate::constants::{Constants, LossProcess, needs_pacing};
use crate::fit::{Fit, SMALL_QUEUE, Twin};
use crate::world;

/// Standard deviation of the RTT of a draw, relative: overflowing queues are chaotic.
const JITTER: f64 = 0.01;

/// Standard deviation of the rate of a draw, relative.
///
/// A window near the BDP plus queue limit overflows the queue, or does not.
const RATE_JITTER: f64 = 0.03;

/// Share of the time above which a limit of a host prevents some predictions.
const UNSHARED: f64 = 0.15;

/// Limits that connections of one host may have separately or in common.
const HOST_LIMITS: [&str; 7] = [
    "application-limited",
    "pacing-limited",
    "sender-cpu-limited",
    "receiver-cpu-limited",
    "slow-reader",
    "local-queue",
    "delayed-ack-stall",
];

/// Limits by packets, by bytes or by both.
const PACKET_COSTS: [&str; 4] = [
    "sender-cpu-limited",
    "receiver-cpu-limited",
    "slow-reader",
    "pacing-limited",
];

/// Segments per ACK above which the receiver may count bytes or time.
const MOST_ACK_EVERY: u64 = 4;

/// Minimum flight for a new packet size, in packets of that size.
const MIN_FLIGHT: f64 = 8.0;

/// Key of parallel connections: together they carry the bytes of the original.
pub const PARALLEL: &str = "flow.count";

/// Standard normal deviates, one for each draw.
const DEVIATES: [f64; 5] = [0.0, 1.64, 0.84, -1.64, -0.84];

/// Additional relative half-width of every interval.
///
/// From simulations with seeds below 3,500,000, which the proof does not use.
const MARGIN: f64 = 0.07;

/// Additional relative half-width if goodput changes by a tenth.
///
/// Another limit then applies, which the capture has not shown.
const MARGIN_OF_CHANGE: f64 = 0.15;

/// Quantiles of the weighted runs that bound the interval.
const TAILS: [f64; 2] = [0.02, 0.98];

/// Maximum ratio of largest to smallest goodput of the runs for a number.
const MAX_SPREAD: f64 = 1.6;

/// Maximum such ratio if goodput changes by a tenth.
const MAX_SPREAD_OF_CHANGE: f64 = 1.4;

/// Maximum such ratio if packets do not show the rate of the path either.
const MAX_SPREAD_OPEN: f64 = 1.25;

/// Maximum distance of a fit that gives a number if goodput changes by a tenth.
const MAX_DISTANCE_OF_CHANGE: f64 = 0.3;

/// Maximum ratio of largest to smallest goodput of the runs for a range.
///
/// Runs that gain by a rate not shown by packets give no range either: the upper end is open.
const MAX_RANGE: f64 = 3.0;

/// Minimum ratio of a lower bound to the original.
const MIN_GAIN: f64 = 1.1;

/// Certainty of a prediction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// A goodput with an interval.
    Number,
    /// An interval, too wide for a number.
    Range,
    /// A lower bound only: the fits agree in a gain, but not in its size.
    AtLeast,
    /// No prediction: the fits contradict one another.
    Unsure,
}

impl Certainty {
    /// Returns the name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Number => "number",
            Self::Range => "range",
            Self::AtLeast => "at-least",
            Self::Unsure => "unsure",
        }
    }
}

/// A prediction for a set of changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Prediction {
    /// The changes, `KEY=VALUE`.
    pub changes: Vec<String>,
    /// Certainty of the prediction.
    pub certainty: Certainty,
    /// Median goodput in bits per second.
    pub goodput_bps: f64,
    /// Bounds of the interval, in bits per second.
    pub interval_bps: [f64; 2],
    /// Goodput as a multiple of the original's.
    pub gain: f64,
    /// Number of runs, those without the changes included.
    pub runs: usize,
}

impl Prediction {
    /// Returns the stated gain. For a range that is its point nearest to 1, for a lower bound the
    /// bound, for no prediction 1.
    #[must_use]
    pub fn gain_stated(&self) -> f64 {
        let [low, high] = self
            .interval_bps
            .map(|bps| self.gain * bps / self.goodput_bps.max(1.0));
        match self.certainty {
            Certainty::Number => self.gain,
            Certainty::Range => 1.0_f64.clamp(low, high),
            Certainty::AtLeast => low,
            Certainty::Unsure => 1.0,
        }
    }
}

impl Twin {
    /// Predicts the goodput with these changes.
    ///
    /// # Errors
    /// The fault of a change, or why it cannot be predicted.
    pub fn predict(&self, changes: &[String]) -> Result<Prediction, String> {
        if let Some(reason) = self.objection(changes) {
            return Err(reason);
        }
        let draws = 0..=DEVIATES.len();
        let jobs: Vec<(&Fit, usize)> = self
            .fits
            .iter()
            .flat_map(|fit| draws.clone().map(move |draw| (fit, draw)))
            .collect();
        let runs: Result<Vec<(f64, f64)>, String> = jobs
            .par_iter()
            .map(|(fit, draw)| self.pair(fit, *draw, changes))
            .collect();
        let runs = runs?;
        let original = self.transfer.measured.goodput_bps();
        let best = self.fits[0].likeness.distance;
        let beta = regression(runs.chunks(DEVIATES.len() + 1));
        let mut samples: Vec<(f64, f64)> = Vec::new();
        for (fit, all) in self.fits.iter().zip(runs.chunks(DEVIATES.len() + 1)) {
            let weight = (-2.0 * (fit.likeness.distance - best)).exp();
            for (draw, (without, with)) in all.iter().enumerate() {
                let share = if draw == 0 { DEVIATES.len() } else { 1 };
                let luck = (without / all[0].0).powf(beta);
                let value = original * with / all[0].0 / luck;
                samples.push((value, weight * share as f64));
            }
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let goodput_bps = weighted(&samples, 0.5);
        let [low, high] = TAILS.map(|share| weighted(&samples, share));
        let changes_little = (goodput_bps / original.max(1.0) - 1.0).abs() <= MIN_GAIN - 1.0;
        let margin = if changes_little {
            MARGIN
        } else {
            MARGIN_OF_CHANGE
        };
        let interval_bps = [low * (1.0 - margin), high * (1.0 + margin)];
        // After a change another limit may apply, which the original hardly shows.
        let most = match (changes_little, self.shows_rate) {
            (true, _) => MAX_SPREAD,
            (false, true) => MAX_SPREAD_OF_CHANGE,
            (false, false) => MAX_SPREAD_OPEN,
        };
        let is_near = changes_little || best <= MAX_DISTANCE_OF_CHANGE;
        let certainty = if high <= most * low && is_near {
            Certainty::Number
        } else if high <= MAX_RANGE * low && (self.shows_rate || high <= original) {
            Certainty::Range
        } else if interval_bps[0] >= MIN_GAIN * original {
            Certainty::AtLeast
        } else {
            Certainty::Unsure
        };
        Ok(Prediction {
            changes: changes.to_vec(),
            certainty,
            goodput_bps,
            interval_bps,
            gain: goodput_bps / original.max(1.0),
            runs: 2 * runs.len(),
        })
    }

    /// Returns the goodput of a fit without and with the changes.
    ///
    /// Draw 0 has exactly the losses of the original, the others differ by a deviate.
    fn pair(&self, fit: &Fit, draw: usize, changes: &[String]) -> Result<(f64, f64), String> {
        let mut constants = fit.constants.clone();
        if let Some(deviate) = draw.checked_sub(1).map(|index| DEVIATES[index]) {
            let lost = constants.lost.len().max(1) as f64;
            constants.loss = constants.loss.scaled((deviate / lost.sqrt()).exp());
            constants.replays = false;
            constants.rtt *= 1.0 + JITTER * deviate;
            constants.rate_bps *= 1.0 + RATE_JITTER * DEVIATES[DEVIATES.len() - draw];
        }
        let plan = constants.to_toml();
        let all = [fit.known.as_slice(), &completed(changes, &constants)].concat();
        let seed = 100 + draw as u64;
        let without = world::run(&plan, &fit.known, seed)?.goodput_bps;
        let with = world::run(&plan, &all, seed)?.goodput_bps;
        Ok((without.max(1.0), with.max(1.0)))
    }

    /// Returns why a prediction is not possible; `None` if it is.
    fn objection(&self, changes: &[String]) -> Option<String> {
        let limited = |causes: &[&str]| {
            let verdicts = self.transfer.diagnosis.verdicts.iter();
            verdicts
                .filter(|one| one.share > UNSHARED)
                .find(|one| causes.contains(&one.cause.id))
        };
        let sets = |key: &str| changes.iter().any(|one| one.starts_with(key));
        if sets(PARALLEL)
            && let Some(one) = limited(&HOST_LIMITS)
        {
            let name = one.cause.name;
            return Some(format!(
                "limited by {name}, which parallel connections may share or not"
            ));
        }
        let (best, overflows) = (
            &self.fits[0].constants,
            !self.transfer.measured.losses.is_empty(),
        );
        if sets(PARALLEL) && overflows && best.loss == LossProcess::None && best.queue < SMALL_QUEUE
        {
            return Some(
                "bursts of the hosts decide how they share a queue of a few packets".into(),
            );
        }
        let sets_mtu = changes.iter().any(|one| one.contains(".mtu="));
        if sets_mtu && let Some(one) = limited(&PACKET_COSTS) {
            let name = one.cause.name;
            return Some(format!(
                "limited by {name}: what a larger packet costs does not show"
            ));
        }
        let every = self.fits[0].constants.ack_every;
        if sets_mtu && every > MOST_ACK_EVERY {
            return Some(format!(
                "the receiver acknowledges {every} segments at once: how many larger ones does not show"
            ));
        }
        let mtu = changes
            .iter()
            .filter_map(|one| one.split_once(".mtu=")?.1.parse::<f64>().ok())
            .fold(0.0, f64::max);
        if self.transfer.measured.flight_p95 < MIN_FLIGHT * mtu {
            return Some(
                "the flight is a few packets of that size: how hosts fill it decides".into(),
            );
        }
        if sets("sender.buffer")
            && let Some(one) = limited(&["sender-cpu-limited", "slow-reader"])
        {
            let name = one.cause.name;
            return Some(format!(
                "limited by {name}: how a smaller flight meets it does not show"
            ));
        }
        let mut queues = changes
            .iter()
            .filter_map(|one| one.strip_prefix("path.queue=")?.strip_suffix(" packets"));
        if queues.any(|packets| {
            packets
                .parse::<u64>()
                .is_ok_and(|count| count < SMALL_QUEUE)
        }) {
            return Some("bursts of the hosts decide what a queue of a few packets drops".into());
        }
        if sets("receiver.buffer")
            && let Some(one) = limited(&["slow-reader", "receiver-cpu-limited"])
        {
            let name = one.cause.name;
            return Some(format!(
                "limited by {name}: how the window follows its reads does not show"
            ));
        }
        None
    }
}

/// Returns the changes and those that follow from them.
///
/// A control may need pacing; parallel connections share the bytes.
fn completed(changes: &[String], constants: &Constants) -> Vec<String> {
    let value = |key: &str| {
        let mut pairs = changes.iter().filter_map(|one| one.split_once('='));
        pairs.find_map(|(found, value)| (found == key).then(|| value.trim_matches('"')))
    };
    let mut all = Vec::new();
    if value("flow.congestion_control").is_some_and(needs_pacing) {
        all.push("sender.pacing=true".to_owned());
    }
    let count: Option<u64> = value(PARALLEL).and_then(|count| count.parse().ok());
    if let Some(count) = count {
        let each = (constants.bytes / count.max(1)).max(1);
        all.push(format!("flow.bytes={each} B"));
    }
    for host in ["sender", "receiver"] {
        if value(&format!("{host}.buffer")).is_some() {
            all.push(format!("{host}.profile=modern"));
        }
    }
    all.extend(changes.iter().cloned());
    all
}

/// Returns how far runs with the changes follow those without, over draws.
///
/// It is the slope of the logarithms through each fit's first draw: 1 if the changes do not matter,
/// 0 if other losses decide there. It removes the random part of a draw, since the original shows
/// which losses it had (a control variate).
fn regression<'a>(fits: impl Iterator<Item = &'a [(f64, f64)]>) -> f64 {
    let (mut product, mut square) = (0.0, 1e-9);
    for all in fits {
        for (without, with) in &all[1..] {
            let step = (without / all[0].0).ln();
            product += step * (with / all[0].1).ln();
            square += step * step;
        }
    }
    (product / square).clamp(0.0, 1.0)
}

/// Returns the value that `share` of the weight is below, of sorted samples.
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

#[cfg(test)]
mod tests {
    use super::weighted;

    #[test]
    fn a_quantile_of_weighted_samples_counts_weights_and_not_samples() {
        let samples = [(1.0, 1.0), (2.0, 8.0), (3.0, 1.0)];
        assert_eq!(weighted(&samples, 0.05), 1.0);
        assert_eq!(weighted(&samples, 0.5), 2.0);
        assert_eq!(weighted(&samples, 0.98), 3.0);
    }
}
