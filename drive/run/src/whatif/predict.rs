//! Predictions: the lowest limit after the changes, by its closed form or simulated.
//!
//! A closed form is scaled by how much of its limit the transfer achieved. A simulation runs without
//! and with the changes, over everything that the evidence leaves open, with the same random losses
//! (common random numbers). What does not give the transfer's goodput without the changes is left out;
//! the prediction is that goodput times the gain. The interval covers all that fits, and an error of
//! the model.

use gigatcp_analyze::Diagnosis;
use gigatcp_units::Duration;

use super::change::Change;
use super::engine::{self, Draw};
use super::model::{Estimate, LimitedRate, Model, SHORT};
use super::transfer::Transfer;

/// Certainty of a prediction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// A goodput with an interval.
    Number,
    /// An interval, too wide for a number.
    Range,
    /// A lower bound: the evidence does not show the next limit.
    AtLeast,
    /// The evidence does not decide.
    Unsure,
}

impl Certainty {
    /// That of an interval, by how wide it is.
    fn of(bps: &Estimate) -> Self {
        match bps.high / bps.low.max(1.0) {
            ..=NUMBER => Self::Number,
            ..=RANGE => Self::Range,
            _ => Self::Unsure,
        }
    }

    /// Its name in records.
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
    /// Goodput in bit/s.
    pub goodput_bps: f64,
    /// Bounds of the interval, in bit/s.
    pub interval_bps: [f64; 2],
    /// Goodput as a multiple of the transfer's.
    pub gain: f64,
    /// Id of the limit that holds then.
    pub limit: &'static str,
    /// Why the interval is as wide as it is, and what would narrow it.
    pub reason: String,
    /// Simulations that it took.
    pub runs: usize,
}

/// Ratio to a lower bound from which an estimate is more than that.
const POINT: f64 = 1.01;

/// Ratio of the interval's ends up to which a prediction is a number.
const NUMBER: f64 = 2.0;

/// Ratio up to which it is a range.
const RANGE: f64 = 5.0;

/// Relative error of a closed form, and of the engine.
const FORM_ERROR: f64 = 0.05;
const ENGINE_ERROR: f64 = 0.1;

/// Standard deviations of the runs on each side of their mean that an interval covers.
const SPREAD: f64 = 2.0;

/// Largest logarithm of simulated over measured goodput, without the changes, of a choice that fits.
const FIT: f64 = 0.15;

/// Choices that a simulation tries, as deviates of rate, queue and losses from -1 to 1.
const DEVIATES: [[f64; 3]; 5] = [
    [0.0, 0.0, 0.0],
    [1.0, -1.0, 0.5],
    [-1.0, 1.0, -0.5],
    [0.5, 0.5, 1.0],
    [-0.5, -0.5, -1.0],
];

/// Queue limit in BDPs below which the engine overestimated two of five transfers by a third or more.
const SHORT_QUEUE: f64 = 0.4;

/// Mean share of a receive window that is in flight: bursts wait for themselves on the path, and ACKs
/// for further data. Measured on Linux 6.18: 0.81 to 0.96 over 20 transfers.
const WINDOW_FILL: f64 = 0.92;

/// Round trips of a transfer without data: the handshake, and the last ACK.
const ROUNDS_AROUND: f64 = 2.0;

/// Relative error of what another initial window brings if no law gives the rest of the transfer.
const START_ERROR: f64 = 0.15;

/// Segments of a window below which delayed ACKs decide what it brings.
const FEW: f64 = 20.0;

/// Minimum share of its limit that a transfer achieves.
const MIN_EFFICIENCY: f64 = 0.3;

impl Prediction {
    /// Whether the goodput is an estimate, and not only a bound.
    pub fn has_point(&self) -> bool {
        match self.certainty {
            Certainty::Number | Certainty::Range => true,
            Certainty::AtLeast => self.goodput_bps > POINT * self.interval_bps[0],
            Certainty::Unsure => false,
        }
    }

    /// The stated gain: of a range its point nearest to 1, of a lower bound the bound.
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

impl Transfer {
    /// Predicts the goodput with these changes. `known` are settings of the transfer as it was.
    ///
    /// # Errors
    /// The fault of a change, or what the evidence lacks.
    pub fn predict(&self, changes: &[String], known: &[String]) -> Result<Prediction, String> {
        let before = self.model(known)?;
        let parsed = Change::parse_all(changes)?;
        let after = before.changed(&parsed);
        before.predict(&after, changes)
    }

    /// The limits of the transfer after these changes, the lowest first. `known` are settings of the
    /// transfer as it was.
    ///
    /// # Errors
    /// The fault of a change, or what the evidence lacks.
    pub fn limits(&self, changes: &[String], known: &[String]) -> Result<Vec<LimitedRate>, String> {
        let model = self.model(known)?;
        Ok(model.changed(&Change::parse_all(changes)?).limits())
    }

    /// The model of the transfer. `known` are settings of it.
    ///
    /// # Errors
    /// The fault of a setting, or what the evidence lacks.
    pub fn model(&self, known: &[String]) -> Result<Model, String> {
        let known = Change::parse_all(known)?;
        let rtt = known.iter().find_map(|change| match change {
            Change::Rtt(rtt) => Some(Duration::from_secs_f64(*rtt)),
            _ => None,
        });
        // A report of a receiver has none.
        let missing = rtt.filter(|_| self.diagnosis.min_rtt.is_zero());
        let model = match missing {
            Some(min_rtt) => Model::of(&Diagnosis {
                min_rtt,
                ..self.diagnosis.clone()
            }),
            None => Model::of(&self.diagnosis),
        };
        Ok(model?.changed(&known))
    }
}

impl Model {
    /// Goodput of `after`, a change of this model.
    ///
    /// # Errors
    /// If no limit is known, or the fault of a key that only the engine knows.
    pub fn predict(&self, after: &Self, changes: &[String]) -> Result<Prediction, String> {
        let limits = after.limits();
        let lowest = limits.first().ok_or("no limit of the transfer is known")?;
        let unknown = self.without_law(after);
        if let Some(cause) = self.unknown_cause()
            && let Some(bps) = self.despite_unknown(after)
        {
            return Ok(self.despite(cause, bps, changes));
        }
        let (bps, runs) = if self.is_closed(after) {
            (self.closed(after), 0)
        } else {
            let (bps, runs) = self.simulated(after)?;
            // The simulated hosts do not have these limits.
            let settings = after.settings.iter();
            (settings.fold(bps, |sum, limit| sum.min(&limit.bps)), runs)
        };
        let is_open = bps.is_open() || lowest.bps.is_open();
        // Of a limit whose upper end is unknown the transfer has shown what it allows at least.
        let low = if is_open {
            bps.low.max(self.goodput.min(bps.mid) / (1.0 + FORM_ERROR))
        } else {
            bps.low
        };
        let is_short = after.queue != self.queue && after.queue.mid < SHORT_QUEUE * after.bdp();
        let certainty = if unknown.is_some() {
            Certainty::Unsure
        } else if is_open {
            Certainty::AtLeast
        } else if is_short {
            Certainty::Unsure
        } else {
            Certainty::of(&bps)
        };
        let goodput_bps = if bps.mid.is_finite() {
            bps.mid
        } else {
            bps.low
        };
        Ok(Prediction {
            changes: changes.to_vec(),
            certainty,
            goodput_bps,
            interval_bps: [low, bps.high],
            gain: goodput_bps / self.goodput,
            limit: lowest.cause,
            reason: if let Some(cause) = unknown {
                format!("no law says how {cause} depends on these settings")
            } else if is_short {
                "bursts of the hosts decide what a queue far below the BDP drops".into()
            } else {
                self.reason(after, lowest.cause, is_open)
            },
            runs,
        })
    }

    /// What limited the transfer, if no law says what the change does to it.
    fn without_law(&self, after: &Self) -> Option<&'static str> {
        let is_policed = self.behind_policer.is_some() && after.behind_policer.is_some();
        let has_other_bursts =
            (&self.controls, self.queue, self.mss) != (&after.controls, after.queue, after.mss);
        let hosts = self.host.map(|(cause, _)| cause).into_iter();
        let cpu = hosts
            .chain(self.doubted.iter().copied())
            .find(|cause| matches!(*cause, "sender-cpu-limited" | "receiver-cpu-limited"));
        // Recovery without SACK depends on which packets of a window are lost.
        let has_other_recovery = self.has_sack() != after.has_sack();
        self.unknown_cause()
            .or((is_policed && has_other_bursts).then_some("policer"))
            .or(has_other_recovery.then_some("random-loss"))
            .or(cpu.filter(|_| self.mss != after.mss))
    }

    /// Goodput after changes that are bounded although no law says how what limited depends on them:
    /// buffers, the initial window, and parallel connections.
    fn despite_unknown(&self, after: &Self) -> Option<Estimate> {
        let same = Self {
            window: self.window,
            flight: self.flight,
            send_request: self.send_request,
            ..after.clone()
        };
        if same == *self {
            // Nothing is known of a report without a window and a flight.
            let is_known = self.allowed_flight().low > 0.0;
            return is_known.then(|| self.with_other_buffers(after));
        }
        let same = Self {
            initial_window: self.initial_window,
            ..after.clone()
        };
        if same == *self {
            return Some(self.with_other_start(after));
        }
        let same = Self {
            flows: self.flows,
            ..after.clone()
        };
        (same == *self && after.flows > self.flows).then(|| self.with_other_flows(after))
    }

    /// Goodput with other buffers: what the transfer has shown, or less if they allow less per RTT while
    /// something is sent. Less in flight makes the RTT that of the empty path at best. Time in which
    /// nothing is sent is not longer then.
    fn with_other_buffers(&self, after: &Self) -> Estimate {
        let allowed = after.allowed_flight();
        if allowed.low >= self.allowed_flight().low {
            return Estimate::about(self.goodput, ENGINE_ERROR);
        }
        let rate = self.goodput / self.active;
        let with = |bytes: f64, rtt: f64| {
            let slower = (rate * rtt / (8.0 * bytes)).max(1.0);
            self.goodput / (1.0 - self.active + self.active * slower)
        };
        let (low, high) = (with(allowed.low, self.rtt), with(allowed.high, self.base));
        Estimate {
            low: low / (1.0 + ENGINE_ERROR),
            mid: (low * high).sqrt(),
            high: high * (1.0 + ENGINE_ERROR),
        }
    }

    /// Goodput with another initial window: it saves or costs round trips of the first slow start.
    fn with_other_start(&self, after: &Self) -> Estimate {
        let initial = |model: &Self| model.initial_window.unwrap_or(10) as f64;
        let saved = (initial(after) / initial(self)).log2() * self.base;
        let gain = self.elapsed / (self.elapsed - saved).max(0.5 * self.elapsed);
        Estimate {
            low: self.goodput * gain.min(1.0) / (1.0 + START_ERROR),
            mid: self.goodput * gain.sqrt(),
            high: self.goodput * gain.max(1.0) * (1.0 + START_ERROR),
        }
    }

    /// Goodput of several connections: between that of one and that of as many, if the path carries
    /// it.
    fn with_other_flows(&self, after: &Self) -> Estimate {
        let count = after.flows as f64 / self.flows as f64;
        let high = (count * self.goodput).min(self.path.high.max(self.goodput));
        Estimate {
            low: self.goodput / (1.0 + ENGINE_ERROR),
            mid: (self.goodput * high).sqrt(),
            high: high * (1.0 + ENGINE_ERROR),
        }
    }

    /// The prediction for a transfer of whose limit no law is known.
    fn despite(&self, cause: &'static str, bps: Estimate, changes: &[String]) -> Prediction {
        Prediction {
            changes: changes.to_vec(),
            certainty: Certainty::of(&bps),
            goodput_bps: bps.mid,
            interval_bps: [bps.low, bps.high],
            gain: bps.mid / self.goodput,
            limit: cause,
            reason: format!("{cause} limits, and these settings bound only what it leaves"),
            runs: 0,
        }
    }

    /// Whether a closed form gives the goodput after the change: a window, a buffer or a host limits,
    /// clearly below what the path and the losses allow, or nothing that matters changes.
    pub fn is_closed(&self, after: &Self) -> bool {
        if after.others != self.others || after.initial_window != self.initial_window {
            return false;
        }
        let limits = after.limits();
        let Some(lowest) = limits.first() else {
            return true;
        };
        if lowest.bps.is_open() {
            return true;
        }
        let is_dynamic =
            |cause: &str| matches!(cause, "path-saturated" | "policer" | "random-loss");
        let others = limits.iter().filter(|limit| is_dynamic(limit.cause));
        let nearest = others
            .map(|limit| limit.bps.mid)
            .fold(f64::INFINITY, f64::min);
        self.is_full_with_other_packets(after)
            || (!is_dynamic(lowest.cause)
                && lowest.bps.mid < 0.8 * nearest
                && (self.mss == after.mss || after.segments(lowest.bps.mid) >= FEW))
    }

    /// Whether the path is full before and after, and only the size of packets differs: the share of
    /// their payload decides.
    fn is_full_with_other_packets(&self, after: &Self) -> bool {
        let is_full =
            |model: &Self| model.first_limit() == Some("path-saturated") && model.loss == 0.0;
        self.mss != after.mss
            && is_full(self)
            && is_full(after)
            && (self.base, self.flows) == (after.base, after.flows)
            && self.controls == after.controls
    }

    /// Goodput after a change by the closed form of the lowest limit.
    pub fn closed(&self, after: &Self) -> Estimate {
        let bound = |model: &Self| {
            let limits = model.limits();
            limits
                .iter()
                .fold(Estimate::UNLIMITED, |sum, limit| sum.min(&limit.bps))
        };
        let (own, then) = (bound(self), bound(after));
        let is_same = self.first_limit() == after.first_limit();
        let achieved = if own.mid.is_finite() {
            self.goodput / own.mid
        } else {
            1.0
        };
        // Another limit is reached after its own slow start.
        let efficiency = match after.first_limit() {
            _ if is_same => achieved,
            Some("receive-window-limited" | "no-window-scaling") => {
                WINDOW_FILL * after.after_start(then.mid)
            }
            _ => after.after_start(then.mid),
        };
        let Estimate { low, mid, high } = then.times(efficiency);
        Estimate {
            low: low / (1.0 + FORM_ERROR),
            mid,
            high: high * (1.0 + FORM_ERROR),
        }
    }

    /// Segments in flight of each connection at a rate.
    fn segments(&self, bps: f64) -> f64 {
        bps * self.base / 8.0 / self.mss / self.flows as f64
    }

    /// Share of a rate that is left after slow start up to it.
    fn after_start(&self, bps: f64) -> f64 {
        let segments = self.segments(bps);
        let initial = self.initial_window.unwrap_or(10) as f64;
        let rounds = (segments / initial).max(1.0).log2();
        if !rounds.is_finite() {
            return 1.0;
        }
        (1.0 - (rounds + ROUNDS_AROUND) * self.base / self.elapsed.max(1e-3))
            .clamp(MIN_EFFICIENCY, 1.0)
    }

    /// Goodput after a change by simulations, and their number.
    ///
    /// If the same limit holds before and after, the result is the transfer's goodput times the median
    /// gain over runs with the same losses: an error of the model is in both. Another limit has another
    /// error, and its goodput stands for itself.
    ///
    /// # Errors
    /// The fault of a key that only the engine knows.
    pub fn simulated(&self, after: &Self) -> Result<(Estimate, usize), String> {
        let is_same = self.first_limit() == after.first_limit() && self.queue == after.queue;
        let with = after.runs()?;
        if !is_same && self.doubted_loss == 0.0 {
            return Ok((spread(median(with.clone()), &with), with.len()));
        }
        let without = self.runs()?;
        let count = without.len() + with.len();
        let mut runs: Vec<(f64, f64)> = without.into_iter().zip(with).collect();
        if self.doubted_loss > 0.0 {
            let fits = |(without, _): &&(f64, f64)| (without / self.goodput).ln().abs() <= FIT;
            let fitting: Vec<(f64, f64)> = runs.iter().filter(fits).copied().collect();
            runs = if fitting.is_empty() { runs } else { fitting };
        }
        let (without, with): (Vec<f64>, Vec<f64>) = runs.iter().copied().unzip();
        if !is_same {
            return Ok((spread(median(with.clone()), &with), count));
        }
        let gains = runs.iter().map(|(without, with)| with / without);
        let mid = self.goodput * median(gains.collect());
        let scale = self.goodput / mean_log(&without).exp();
        let scaled: Vec<f64> = with.iter().map(|bps| bps * scale).collect();
        Ok((spread(mid, &scaled), count))
    }

    /// The model as a plan, with the most likely choices.
    pub fn plan(&self) -> String {
        engine::plan(self, &self.draw(0))
    }

    /// Goodput of runs over what the evidence leaves open.
    fn runs(&self) -> Result<Vec<f64>, String> {
        let draws = (0..DEVIATES.len()).map(|index| self.draw(index));
        draws
            .map(|draw| Ok(engine::goodput(self, &draw)?.max(1.0)))
            .collect()
    }

    /// Choice of everything that the evidence leaves open; the first is the most likely one.
    fn draw(&self, index: usize) -> Draw {
        let [rate, queue, losses] = DEVIATES[index];
        let loss = if index.is_multiple_of(2) {
            self.loss
        } else {
            self.loss.max(self.doubted_loss)
        };
        let path = if self.path.is_open() {
            self.unlimited()
        } else {
            pick(&self.path, rate)
        };
        Draw {
            path,
            queue: pick(&self.queue, queue),
            loss: loss * (losses / self.lost.max(1.0).sqrt()).exp(),
            control: self.controls[index % self.controls.len()].clone(),
            seed: 100 + index as u64,
            time: engine::time(self, path),
            ends_by_bytes: self.elapsed < SHORT,
        }
    }

    /// Rate at which a path whose rate is unknown does not limit, in bit/s.
    fn unlimited(&self) -> f64 {
        let limits = self.limits().into_iter().map(|limit| limit.bps.mid);
        let known = limits
            .filter(|bps| bps.is_finite())
            .fold(self.path.low, f64::max);
        4.0 * known
    }

    /// Reason for the width of the interval.
    fn reason(&self, after: &Self, limit: &str, is_open: bool) -> String {
        if is_open {
            return "the path's rate does not show: a capture in which it is full, or `gigatcp test`, would".into();
        }
        match limit {
            "path-saturated" | "random-loss" if !after.is_queue_known => {
                "the queue of the path is not known: --known path.queue=SIZE narrows it".into()
            }
            "random-loss" if self.lost < 100.0 => {
                format!(
                    "{:.0} losses leave their probability open: a longer capture narrows it",
                    self.lost
                )
            }
            "receive-window-limited" => {
                "how much of a buffer becomes window depends on the driver".into()
            }
            _ => "the error of the model".into(),
        }
    }
}

fn mean_log(values: &[f64]) -> f64 {
    values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64
}

/// An estimate from runs: their spread, and an error of the engine.
fn spread(mid: f64, runs: &[f64]) -> Estimate {
    let mean = mean_log(runs);
    let squares = runs.iter().map(|bps| (bps.ln() - mean).powi(2));
    let deviation = (squares.sum::<f64>() / (runs.len() - 1).max(1) as f64).sqrt();
    let half = (SPREAD * deviation).hypot(ENGINE_ERROR);
    let [low, high] = [(mean - half).exp(), (mean + half).exp()];
    Estimate {
        low,
        mid: mid.clamp(low, high),
        high,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Value at a deviate from -1 to 1.
fn pick(of: &Estimate, deviate: f64) -> f64 {
    if of.mid.is_infinite() {
        return of.low;
    }
    let end = if deviate < 0.0 {
        of.low
    } else {
        of.high.min(4.0 * of.mid)
    };
    of.mid * (end / of.mid).powf(deviate.abs())
}
