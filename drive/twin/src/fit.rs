//! Fits a twin: runs each candidate, refines the likeliest, keeps those that repeat the original.
//!
//! The search is greedy. Its runs are simulations of the whole transfer, a hundred or so. Several
//! fits may remain. Constants that the capture leaves open differ between them, and so do their
//! predictions. Examples are a control before any loss, and a queue that was never full.

use gigatcp_tcp::congestion;
use rayon::prelude::*;

use crate::candidates::{CONTROLS, candidates, share, shown_bps, unmodeled};
use crate::constants::{Buffer, Constants, LINUX, LossProcess, MODERN, Supply};
use crate::likeness::Likeness;
use crate::measured::Measured;
use crate::transfer::Transfer;
use crate::world;

/// Queue limit below which overflows depend on bursts of the hosts, in packets.
pub(crate) const SMALL_QUEUE: u64 = 8;

/// Maximum error of a rate shown by packets, as a factor.
const SHOWN_RATE: f64 = 1.08;

/// Candidates tried under every control.
const LIKELY: usize = 10;

/// Candidates refined.
const REFINED: usize = 6;

/// Fits around which constants left open by the capture are varied.
const PROBED: usize = 3;

/// Maximum fits kept.
const KEPT: usize = 12;

/// Maximum additional distance of a kept fit from the original.
const SLACK: f64 = 0.3;

/// Minimum losses for a queue to repeat them not by accident.
const MIN_OVERFLOWS: usize = 4;

/// Maximum additional distance at which a queue alone is preferred to a replay.
const PREFERENCE: f64 = 0.2;

/// Causes of drops that depend on the sender's window. A replay cannot follow a change of it.
const DROPS: [&str; 3] = ["queue-overflow", "aqm-drops", "policer"];

/// Maximum share of the time limited by these causes for losses to be replayed.
const MOST_REPLAYED: f64 = 0.15;

/// Steps of a refinement, as factors: switches, then constants from coarse to fine.
const STEPS: [f64; 4] = [1.0, 1.4, 1.15, 1.05];

/// Maximum rounds of one step, while each improves the fit.
const ROUNDS: usize = 2;

/// Maximum ratios of rates and of queues at which two fits count as one.
const SAME_RATE: f64 = 1.05;
const SAME_QUEUE: f64 = 1.15;

/// A set of constants, and how well it repeats the original.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The constants.
    pub constants: Constants,
    /// Keys `KEY=VALUE` of the plan that the user knows.
    pub known: Vec<String>,
    /// Likeness of its run to the original.
    pub likeness: Likeness,
}

/// A twin: the fits that repeat a transfer, best first.
#[derive(Clone, Debug)]
pub struct Twin {
    /// The transfer.
    pub transfer: Transfer,
    /// The fits.
    pub fits: Vec<Fit>,
    /// True if packets show the rate of the bottleneck.
    pub shows_rate: bool,
    /// Number of simulations run.
    pub runs: usize,
}

/// Why a transfer has no twin.
#[derive(Clone, Debug)]
pub struct NoFit {
    /// Reason, in a sentence.
    pub reason: String,
    /// The best attempt, if any was made.
    pub best: Option<Box<Fit>>,
}

impl Twin {
    /// Fits a transfer. `known` are keys `KEY=VALUE` of the plan that the user knows.
    ///
    /// # Errors
    /// Why there is no fit.
    pub fn fit(transfer: Transfer, known: &[String]) -> Result<Self, NoFit> {
        if let Some(reason) = unmodeled(&transfer) {
            return Err(NoFit { reason, best: None });
        }
        let mut search = Search {
            original: &transfer.measured,
            known,
            shown_bps: shown_bps(&transfer),
            runs: 0,
        };
        let fits = search
            .fits(&transfer)
            .map_err(|reason| NoFit { reason, best: None })?;
        let (runs, shows_rate) = (search.runs, search.shown_bps.is_some());
        let replays = fits[0].constants.loss != LossProcess::None;
        let overflows = !transfer.measured.losses.is_empty() && !replays;
        let reason = if overflows && !shows_rate {
            Some("a queue overflowed, and packets do not show the rate behind it".into())
        } else if replays && share(&transfer, &DROPS) > MOST_REPLAYED {
            Some("a queue or a policer dropped packets, and no run repeats its drops".into())
        } else {
            let objection = fits[0].likeness.objection(&transfer.measured);
            objection.map(|one| format!("the refitted run does not repeat the original: {one}"))
        };
        if let Some(reason) = reason {
            let best = Some(Box::new(fits[0].clone()));
            return Err(NoFit { reason, best });
        }
        Ok(Self {
            transfer,
            fits,
            shows_rate,
            runs,
        })
    }
}

struct Search<'a> {
    original: &'a Measured,
    known: &'a [String],
    /// Rate of the bottleneck, if packets show it.
    shown_bps: Option<f64>,
    runs: usize,
}

impl Search<'_> {
    /// Returns the kept fits, best first; at least one.
    fn fits(&mut self, transfer: &Transfer) -> Result<Vec<Fit>, String> {
        let candidates = candidates(transfer);
        let given = self
            .known
            .iter()
            .find_map(|one| one.strip_prefix("flow.congestion_control="));
        let given = given.and_then(|name| congestion::find(name.trim_matches('"')));
        let controls = given.map_or_else(|| CONTROLS.to_vec(), |entry| vec![entry.name]);
        let with = |one: &Constants, control| Constants {
            control,
            ..one.clone()
        };
        let first = candidates
            .iter()
            .map(|one| with(one, controls[0]))
            .collect();
        let mut tried = self.try_all(first)?;
        sort(&mut tried);
        let likely = tried.iter().take(LIKELY);
        let others = likely.flat_map(|fit| {
            controls[1..]
                .iter()
                .map(|control| with(&fit.constants, control))
        });
        let switched = tried
            .iter()
            .take(LIKELY)
            .flat_map(|fit| switched(&fit.constants));
        let others: Vec<Constants> = others.chain(switched).collect();
        if !others.is_empty() {
            tried.extend(self.try_all(others)?);
        }
        sort(&mut tried);
        let mut refined = Vec::new();
        for one in distinct(&tried, REFINED) {
            refined.extend(self.refine(one)?);
        }
        tried.extend(refined);
        sort(&mut tried);
        let shows_rate = self.shown_bps.is_some();
        let open: Vec<Constants> = distinct(&tried, PROBED)
            .iter()
            .flat_map(|fit| undecided(&fit.constants, shows_rate))
            .collect();
        tried.extend(self.try_all(open)?);
        sort(&mut tried);
        self.prefer_overflow(&mut tried);
        let most = tried[0].likeness.distance + SLACK;
        tried.retain(|one| one.likeness.distance <= most);
        let mut kept = distinct(&tried, KEPT);
        // In addition to nearer fits, keeps the extremes of what the capture leaves open.
        for value in [
            |one: &Fit| one.constants.rate_bps,
            |one: &Fit| one.constants.queue as f64,
        ] {
            let by = |a: &&Fit, b: &&Fit| value(a).total_cmp(&value(b));
            kept.extend(tried.iter().min_by(by).cloned());
            kept.extend(tried.iter().max_by(by).cloned());
        }
        Ok(distinct(&kept, kept.len()))
    }

    /// Removes replayed losses if a queue that overflows repeats them as well.
    ///
    /// The queue is one constant, and a replay has one for each loss.
    fn prefer_overflow(&self, tried: &mut Vec<Fit>) {
        let has_overflow = self.original.losses.len() >= MIN_OVERFLOWS
            && tried.iter().any(|one| {
                one.constants.loss == LossProcess::None
                    && one.likeness.distance < tried[0].likeness.distance + PREFERENCE
            });
        if has_overflow {
            tried.retain(|one| one.constants.loss == LossProcess::None);
        }
    }

    /// Runs all candidates; those that fail are left out, unless all fail.
    fn try_all(&mut self, all: Vec<Constants>) -> Result<Vec<Fit>, String> {
        self.runs += all.len();
        let (original, known) = (self.original, self.known);
        let tried: Vec<Result<Fit, String>> = all
            .into_par_iter()
            .map(|one| attempt(original, known, one))
            .collect();
        let failed = tried.iter().find_map(|one| one.as_ref().err().cloned());
        let fits: Vec<Fit> = tried.into_iter().flatten().collect();
        if fits.is_empty() {
            return Err(failed.unwrap_or_else(|| "nothing to try".into()));
        }
        Ok(fits)
    }

    /// Returns true if the rate agrees with that shown by packets.
    fn allows(&self, one: &Constants) -> bool {
        let Some(shown) = self.shown_bps else {
            return true;
        };
        (shown / SHOWN_RATE..=shown * SHOWN_RATE).contains(&one.rate_bps)
    }

    /// Improves a fit step by step; returns every improvement.
    fn refine(&mut self, begin: Fit) -> Result<Vec<Fit>, String> {
        let mut all = Vec::new();
        let mut now = begin;
        for step in STEPS {
            for _ in 0..ROUNDS {
                let mut tries = neighbors(&now.constants, step);
                tries.extend(corrected(&now, self.original));
                tries.retain(|one| *one != now.constants && self.allows(one));
                let mut tried = self.try_all(tries)?;
                sort(&mut tried);
                let is_better = tried[0].likeness.distance < now.likeness.distance;
                if is_better {
                    now = tried[0].clone();
                }
                all.extend(tried);
                if !is_better {
                    break;
                }
            }
        }
        Ok(all)
    }
}

/// Runs constants and compares the result with the original.
fn attempt(original: &Measured, known: &[String], constants: Constants) -> Result<Fit, String> {
    let plan = constants.to_toml();
    let ran = world::run(&plan, known, 1)?;
    Ok(Fit {
        likeness: Likeness::of(original, &ran.first),
        known: known.to_vec(),
        constants,
    })
}

fn sort(fits: &mut [Fit]) {
    fits.sort_by(|a, b| a.likeness.distance.total_cmp(&b.likeness.distance));
}

/// Returns the first `count` of sorted fits that differ from those before.
fn distinct(fits: &[Fit], count: usize) -> Vec<Fit> {
    let mut kept: Vec<Fit> = Vec::new();
    for one in fits {
        let is_new = kept
            .iter()
            .all(|other| !is_alike(&one.constants, &other.constants));
        if is_new && kept.len() < count {
            kept.push(one.clone());
        }
    }
    kept
}

/// Returns true if two fits have the same hypotheses, and nearly equal rate and queue.
fn is_alike(a: &Constants, b: &Constants) -> bool {
    let kind = std::mem::discriminant::<LossProcess>;
    let is_near = |a: f64, b: f64, factor: f64| a < b * factor && b < a * factor;
    let supply = std::mem::discriminant::<Supply>;
    a.control == b.control
        && supply(&a.supply) == supply(&b.supply)
        && a.reader_bps.is_some() == b.reader_bps.is_some()
        && a.initial_ssthresh.is_some() == b.initial_ssthresh.is_some()
        && kind(&a.loss) == kind(&b.loss)
        && a.send == b.send
        && a.pacing == b.pacing
        && is_near(a.rate_bps, b.rate_bps, SAME_RATE)
        && is_near(a.queue as f64, b.queue as f64, SAME_QUEUE)
}

/// Returns constants corrected from one run; `None` if no correction applies.
fn corrected(fit: &Fit, original: &Measured) -> Option<Constants> {
    let mut next = fit.constants.clone();
    let flight = 1.0 / fit.likeness.flight[1].max(0.1);
    let is_near = |bytes: u64| (bytes as f64) < 1.3 * original.flight_p95;
    if let Buffer::Bytes(bytes) = next.receive
        && is_near(bytes)
    {
        next.receive = Buffer::Bytes((bytes as f64 * flight.clamp(0.8, 1.25)) as u64);
    }
    if let Buffer::Bytes(bytes) = next.send {
        next.send = Buffer::Bytes((bytes as f64 * flight) as u64);
    }
    let slower = 1.0 / fit.likeness.goodput.max(0.1);
    next.reader_bps = next.reader_bps.map(|bps| bps * slower);
    next.supply = match next.supply {
        Supply::Everything => Supply::Everything,
        Supply::Pieces(bytes, every) => Supply::Pieces(bytes, every / slower),
        Supply::Paced(bps) => Supply::Paced(bps * slower),
        Supply::Cpu(each) => Supply::Cpu(each / slower),
        Supply::Link(bps) => Supply::Link(bps * slower),
    };
    (next != fit.constants).then_some(next)
}

/// Returns variations of constants that a transfer may leave open. They are a rate, and a queue
/// that never filled. Those whose runs repeat the original as well are kept, and widen the
/// interval.
fn undecided(now: &Constants, shows_rate: bool) -> Vec<Constants> {
    let mut all = Vec::new();
    let rates: &[f64] = if shows_rate {
        &[]
    } else {
        &[0.3, 0.5, 0.8, 1.25, 1.6, 2.5, 6.0]
    };
    for factor in rates {
        all.push(Constants {
            rate_bps: now.rate_bps * factor,
            queue: ((now.queue as f64 * factor) as u64).max(3),
            ..now.clone()
        });
    }
    for factor in [0.1, 0.3, 2.0, 4.0] {
        let queue = ((now.queue as f64 * factor) as u64).max(3);
        all.push(Constants {
            queue,
            ..now.clone()
        });
    }
    all
}

/// Returns constants with pacing and ACKs other than the capture suggests.
///
/// A network card joins ACKs, and no sender paces its first flight.
fn switched(now: &Constants) -> Vec<Constants> {
    let mut all = vec![Constants {
        pacing: !now.pacing,
        ..now.clone()
    }];
    for pacing in [now.pacing, !now.pacing] {
        all.extend([1, 2].map(|ack_every| Constants {
            pacing,
            ack_every,
            ..now.clone()
        }));
    }
    all.retain(|one| one != now);
    all
}

/// Returns constants with one of them changed by a factor. At factor one a switch is changed
/// instead.
fn neighbors(now: &Constants, factor: f64) -> Vec<Constants> {
    let mut all = Vec::new();
    let mut put = |edit: &dyn Fn(&mut Constants)| {
        let mut next = now.clone();
        edit(&mut next);
        all.push(next);
    };
    if factor == 1.0 {
        put(&|one| one.pacing = !one.pacing);
        put(&|one| one.profile = if one.profile == LINUX { MODERN } else { LINUX });
        put(&|one| one.ack_every = (one.ack_every * 2).min(64));
        put(&|one| one.ack_every = (one.ack_every / 2).max(1));
        return all;
    }
    for factor in [factor, 1.0 / factor] {
        let small = 1.0 + (factor - 1.0) / 4.0;
        put(&|one| one.queue = ((one.queue as f64 * factor).round() as u64).max(2));
        put(&|one| one.rate_bps *= small);
        put(&|one| one.rtt *= small);
        if now.initial_ssthresh.is_some() {
            put(&|one| {
                let scaled = |segments: u64| ((segments as f64 * factor).round() as u64).max(2);
                one.initial_ssthresh = one.initial_ssthresh.map(scaled);
            });
        }
        if let Buffer::Bytes(bytes) = now.receive {
            put(&|one| one.receive = Buffer::Bytes((bytes as f64 * small) as u64));
        }
    }
    all
}
