//! Captures of connections with a known cause, and their diagnoses.

use std::path::PathBuf;

use gigatcp_analyze::{Analysis, Answer, Options, Source, analyze};
use gigatcp_capture::CaptureReader;
use gigatcp_why::{CAUSES, find};
use rayon::prelude::*;

use crate::fit::Example;
use crate::kernels::corpus::{CaseDir, Place as KernelPlace};
use crate::kernels::families;
use crate::kernels::label::Label;
use crate::metamorphic::{Change, changed, packets, pcap};
use crate::worlds::{CapturePoint, GradedWorld, Paths, by_time, next_limit, two_causes, world};

/// Capture points.
pub const PLACES: [&str; 4] = ["sender", "receiver", "middle", "both"];

/// Result of one capture of a connection, with the correct answer.
#[derive(Debug, Default)]
pub struct Observed {
    /// Name of the connection, for a reader.
    pub name: String,
    /// Correct cause by id; `unknown` if it cannot be known from this capture point.
    pub truth: String,
    /// Other correct answers.
    pub acceptable: Vec<String>,
    /// Limit for the rest of the time, if known.
    pub second: Option<String>,
    /// Next limit named by the diagnosis.
    pub next: Option<&'static str>,
    /// Index in [`PLACES`].
    pub place: usize,
    /// Answer: the id of the primary finding, `unknown`, or `unsure`.
    pub said: String,
    /// Causes by attributed time, the most first.
    pub ranked: Vec<&'static str>,
    /// Causes noted in addition.
    pub notes: Vec<&'static str>,
    /// Confidence of the answer.
    pub confidence: f64,
    /// Mean probability of the primary cause before calibration, and whether it is correct.
    pub probability: Option<(f64, bool)>,
    /// Stated cost in bits per second, and whether it is a lower bound.
    pub cost: Option<(f64, bool)>,
    /// Measured capacity in bits per second, and whether it is a lower bound.
    pub capacity: Option<(f64, bool)>,
    /// Known rates.
    pub rates: Option<Rates>,
    /// Mean throughput, bits per second.
    pub throughput_bps: f64,
    /// Shares of the time by cause.
    pub account: String,
    /// Slices with the cause, if weights can be fitted to it.
    pub example: Option<Example>,
}

/// Causes that show in counters only, and what a capture shows of them.
const CPUS: [(&str, &str); 2] = [
    ("receiver-cpu-limited", "slow-reader"),
    ("sender-cpu-limited", "application-limited"),
];

/// A cause that the SYNs tell from another, and the one whose weights it shares.
const UNSCALED: (&str, &str) = ("no-window-scaling", "receive-window-limited");

/// Several timeouts in a row without an answer are an outage.
const TIMEOUTS: (&str, &str) = ("rto-backoff", "outage");

impl Observed {
    /// Whether the answer is correct.
    pub fn is_right(&self) -> bool {
        let is_note = find(&self.truth).is_some_and(|cause| cause.states.is_empty());
        self.said == self.truth
            || self.acceptable.contains(&self.said)
            || [CPUS[0], CPUS[1], TIMEOUTS].contains(&(&self.truth, &self.said))
            || is_note && self.notes.contains(&self.truth.as_str())
    }

    /// Whether no cause was claimed.
    pub fn is_unsure(&self) -> bool {
        matches!(self.said.as_str(), "unsure" | "unknown")
    }
}

/// Facts about a connection known before its captures are analyzed.
#[derive(Default)]
pub(crate) struct Known {
    pub name: String,
    pub truth: String,
    pub acceptable: Vec<String>,
    pub place: usize,
    /// Index of the generator of a capture; `None` for a simulated one.
    pub generator: Option<usize>,
    pub second: Option<String>,
    /// Causes in time order, each with its share of the time.
    pub phases: Vec<(String, f64)>,
    pub rates: Option<Rates>,
}

impl Known {
    /// Facts of a simulated world at capture point `place`, an index in [`PLACES`].
    fn of_world(name: String, truth: &str, place: usize) -> Self {
        Self {
            name,
            truth: truth.to_owned(),
            place,
            ..Self::default()
        }
    }

    /// Facts of a kernel connection from its label, at the sender.
    fn of(label: &Label) -> Self {
        Self {
            name: format!("{}-{}: {}", label.family, label.seed, label.reason),
            truth: label.cause.clone(),
            // The fault may be the first answer.
            acceptable: [&label.acceptable[..], &label.notes].concat(),
            place: 0,
            generator: Some(0),
            second: label.second.clone(),
            phases: phases(label),
            rates: Some(Rates {
                bottleneck_bps: label.bottleneck_bps,
                goodput_bps: label.goodput_bps,
            }),
        }
    }
}

/// Causes of a case in time order; that of its family comes first.
fn phases(label: &Label) -> Vec<(String, f64)> {
    let first = families::all()
        .into_iter()
        .filter(|family| family.name == label.family)
        .map(|family| family.cause)
        .next();
    let mut phases = label.shares.clone();
    phases.sort_by_key(|(cause, _)| Some(cause.as_str()) != first);
    phases
}

/// Payload rates by counters.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Payload rate of the bottleneck.
    pub bottleneck_bps: f64,
    /// Acknowledged payload rate.
    pub goodput_bps: f64,
}

/// Runs a simulated world. Returns the result at each capture point.
///
/// # Errors
/// If the world cannot be run.
pub fn of_world(cause: &str, seed: u64, paths: Paths) -> Result<Vec<Observed>, String> {
    let world = world(cause, seed, paths);
    seen(&world, |place, index| {
        let name = format!("{cause} {seed}: {}", world.about);
        let acceptable = world.finer().iter().map(|&id| id.to_owned());
        Known {
            acceptable: acceptable.collect(),
            ..Known::of_world(name, world.truth(place), index)
        }
    })
}

/// Runs a simulated world with two causes. Returns the result at each capture point.
///
/// # Errors
/// If the world cannot be run.
pub fn of_two_causes(seed: u64) -> Result<Vec<Observed>, String> {
    let (world, shares) = two_causes(seed);
    let [(first, _), (second, _)] = shares;
    let phases = by_time(shares).into_iter().flatten();
    let phases: Vec<(String, f64)> = phases.map(|(id, share)| (id.to_owned(), share)).collect();
    let name = format!("{first}, {second} {seed}: {}", world.about);
    seen(&world, |_, index| Known {
        second: Some(second.to_owned()),
        phases: phases.clone(),
        ..Known::of_world(name.clone(), first, index)
    })
}

/// Runs a simulated world with one limit below another. Returns the result at each capture point;
/// `second` is the limit once the first is lifted.
///
/// # Errors
/// If the world cannot be run.
pub fn of_next_limit(seed: u64) -> Result<Vec<Observed>, String> {
    let (world, [first, second]) = next_limit(seed);
    let name = format!("{first}, then {second} {seed}: {}", world.about);
    seen(&world, |_, index| Known {
        second: Some(second.to_owned()),
        ..Known::of_world(name.clone(), first, index)
    })
}

fn seen(
    world: &GradedWorld,
    known: impl Fn(CapturePoint, usize) -> Known,
) -> Result<Vec<Observed>, String> {
    let [sender, receiver, middle] = world.captures()?;
    let source = |name: &str, bytes: &[u8]| Source::bytes(name, bytes.to_vec());
    [
        (CapturePoint::Sender, vec![source("sender", &sender)]),
        (CapturePoint::Receiver, vec![source("receiver", &receiver)]),
        (CapturePoint::Middle, vec![source("middle", &middle)]),
        (
            CapturePoint::Both,
            vec![source("sender", &sender), source("receiver", &receiver)],
        ),
    ]
    .into_iter()
    .enumerate()
    .map(|(index, (place, sources))| observe(&sources, known(place, index)))
    .collect()
}

/// Result of a kernel case at each capture point.
///
/// # Errors
/// If a capture cannot be read.
pub fn of_case(case: &CaseDir) -> Result<Vec<Observed>, String> {
    let at = |place: KernelPlace| {
        let mut captures = case.captures.iter();
        captures
            .find(|(point, _)| *point == place)
            .map(|(_, path)| path.clone())
    };
    let (sender, receiver) = (at(KernelPlace::Sender), at(KernelPlace::Receiver));
    let both = sender
        .clone()
        .zip(receiver.clone())
        .map(|(a, b)| vec![a, b]);
    let one = |path: Option<PathBuf>| path.map(|path| vec![path]);
    let middle = at(KernelPlace::Middle).or_else(|| at(KernelPlace::Emulate));
    let sets = [one(sender), one(receiver), one(middle), both];
    let mut all = Vec::new();
    for (place, paths) in sets.into_iter().enumerate() {
        let Some(paths) = paths else { continue };
        let sources: Vec<Source> = paths.into_iter().map(Source::file).collect();
        let known = Known {
            place,
            ..Known::of(&case.label)
        };
        all.push(observe(&sources, known)?);
    }
    Ok(all)
}

/// Weight of a kernel connection in simulated ones.
const KERNEL_WEIGHT: f64 = 3.0;

/// Captures of a case after changes that remove evidence, for fitting. Each capture loses its first
/// second, and undergoes two other changes that depend on the seed.
///
/// # Errors
/// If a capture cannot be read.
pub fn changed_captures_of(case: &CaseDir) -> Result<Vec<Example>, String> {
    /// Other changes per capture.
    const CHANGES: usize = 2;
    /// Weight of each changed capture.
    const WEIGHT: f64 = KERNEL_WEIGHT / 4.0;
    let is_taken = |change: &Change| change.removes_evidence() && *change != Change::NoFirstSecond;
    let others: Vec<Change> = Change::ALL.into_iter().filter(is_taken).collect();
    let label = &case.label;
    let mut all = Vec::new();
    if label.second.is_some() {
        // The times of its causes are known only for whole captures.
        return Ok(all);
    }
    for (place, path) in &case.captures {
        let index = match place {
            KernelPlace::Sender => 0,
            KernelPlace::Receiver => 1,
            _ => 2,
        };
        let read = CaptureReader::open(path).map_err(|error| error.to_string());
        let (link, packets) = read.and_then(packets)?;
        let from = label.seed as usize + index * CHANGES;
        let drawn = others
            .iter()
            .cycle()
            .skip(from % others.len())
            .take(CHANGES)
            .copied();
        for change in drawn.chain([Change::NoFirstSecond]) {
            let bytes = pcap(link, &changed(change, &packets));
            let known = Known {
                name: format!("{}-{}, {change:?}", label.family, label.seed),
                place: index,
                ..Known::of(label)
            };
            let example = observe(&[Source::bytes("changed", bytes)], known)?.example;
            all.extend(example.map(|example| Example {
                weight: WEIGHT,
                is_changed: true,
                ..example
            }));
        }
    }
    Ok(all)
}

/// Results of all cases, and the errors of those that cannot be read.
pub fn of_cases(cases: &[CaseDir]) -> (Vec<Observed>, Vec<String>) {
    let all: Vec<Result<Vec<Observed>, String>> = cases.par_iter().map(of_case).collect();
    let mut observed = Vec::new();
    let mut failed = Vec::new();
    for one in all {
        match one {
            Ok(of) => observed.extend(of),
            Err(error) => failed.push(error),
        }
    }
    (observed, failed)
}

pub(crate) fn observe(sources: &[Source], known: Known) -> Result<Observed, String> {
    let analysis = analyze(sources, &Options::default())
        .map_err(|error| format!("{}: {error}", known.name))?;
    let answer = analysis.answers().next();
    let mut observed = Observed {
        example: answer
            .as_ref()
            .and_then(|answer| example(&analysis, answer, &known)),
        name: known.name,
        truth: known.truth,
        acceptable: known.acceptable,
        second: known.second,
        rates: known.rates,
        place: known.place,
        said: "unknown".into(),
        ..Observed::default()
    };
    if let Some(answer) = answer {
        observed.hear(&answer);
    }
    Ok(observed)
}

fn example(analysis: &Analysis, answer: &Answer, known: &Known) -> Option<Example> {
    // A cause without attributed time has no weights.
    let place = |id: &str| {
        let mut shared = CPUS.iter().chain([&UNSCALED]);
        let weighed = shared.find(|(truth, _)| *truth == id);
        let id = weighed.map_or(id, |(_, weighed)| weighed);
        let found = find(id).filter(|cause| cause.features().next().is_some())?;
        CAUSES.iter().position(|cause| cause.id == found.id)
    };
    let slices = analysis.slices(answer)?;
    Some(Example {
        name: format!("{}: {}", PLACES[known.place], known.name),
        cause: place(&known.truth)?,
        phases: {
            let mut until = 0.0;
            let phases = known.phases.iter().map(|(id, share)| {
                until += share;
                Some((place(id)?, until))
            });
            phases.collect::<Option<Vec<_>>>()?
        },
        acceptable: known.acceptable.iter().filter_map(|id| place(id)).collect(),
        // The generators of others have enough cases.
        weight: if known.generator == Some(0) {
            KERNEL_WEIGHT
        } else {
            1.0
        },
        generator: known.generator,
        is_changed: false,
        is_away: !slices.view.is_near_sender(),
        knows_windows: slices.knows_windows,
        slices: slices.list,
    })
}

impl Observed {
    fn hear(&mut self, answer: &Answer) {
        let diagnosis = &answer.diagnosis;
        self.account = diagnosis.limited_by();
        self.throughput_bps = diagnosis.throughput.as_bps() as f64;
        let capacity = &diagnosis.capacity;
        self.capacity = Some((capacity.rate().as_bps() as f64, capacity.is_lower_bound()));
        self.next = diagnosis.next.map(|next| next.cause.id);
        let timed = diagnosis
            .verdicts
            .iter()
            .filter(|verdict| !verdict.time.is_zero());
        self.ranked = timed.map(|verdict| verdict.cause.id).collect();
        let notes = diagnosis.verdicts.iter().filter(|verdict| verdict.is_note);
        self.notes = notes.map(|verdict| verdict.cause.id).collect();
        let is_right =
            |id: &str| id == self.truth || self.acceptable.iter().any(|cause| cause == id);
        self.probability = diagnosis
            .primary()
            .map(|first| (first.probability, is_right(first.cause.id)));
        let Some(first) = diagnosis.headline() else {
            return;
        };
        self.confidence = first.confidence;
        self.cost = Some((first.cost.rate.as_bps() as f64, first.cost.at_least));
        let is_note = first.time.is_zero();
        self.said = if !is_note && diagnosis.is_unsure() {
            "unsure".into()
        } else {
            first.cause.id.into()
        };
    }
}
