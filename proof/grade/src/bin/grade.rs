//! Grades diagnoses, and fits their weights.
//!
//! Usage:
//!
//! * `grade [--seeds N] [--first SEED] [--fat | --shared | --elements] [--cause ID] [--show]`:
//!   simulated worlds.
//! * `grade --kernels DIR [--show]`: captures of kernels that `kernels make` wrote.
//! * `grade --counterfactual [--seeds N]`: whether lifting the stated cause helps, in worlds.
//! * `grade --metamorphic [--seeds N] [--kernels DIR]`: whether answers stay the same under
//!   changes of captures that should not matter.
//! * `grade --two [--seeds N] [--kernels DIR]`: connections with two causes.
//! * `grade --next [--seeds N]`: the next limit once the first limit is lifted, in worlds.
//! * `grade --fit [--seeds N] [--kernels DIR] [--others DIR] [--continue STRENGTH] --write DIR`:
//!   fits weights to worlds with seeds below 1,000,000, to the captures in DIR, and to those of
//!   other generators. It writes the weights to a directory (`core/why/src/weights`). With `--continue` the current weights represent the
//!   connections they were fitted to, and a distance from them costs STRENGTH times its square.
//!   DIR then requires only captures with new seeds. The calibration stays.
//!
//! Worlds with seeds below 1,000,000 are for fitting; grade with other seeds.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gigatcp_capture::CaptureReader;
use gigatcp_grade::calibrate::{Answer, balanced, calibration, fitted_apart};
use gigatcp_grade::counterfactual::{Verdict, counterfactual, holds};
use gigatcp_grade::dataset::{
    Observed, PLACES, changed_captures_of, of_cases, of_next_limit, of_two_causes, of_world,
};
use gigatcp_grade::fit::{Example, Prior, fit};
use gigatcp_grade::kernels::corpus::{CaseDir, Corpus};
use gigatcp_grade::left_out::Case;
use gigatcp_grade::matrix::Matrix;
use gigatcp_grade::next::NextScore;
use gigatcp_grade::rates::RateScore;
use gigatcp_grade::shares::Shares;
use gigatcp_grade::stability::Stability;
use gigatcp_grade::whatif::{WhatifScore, graded};
use gigatcp_grade::worlds::{CAUSES, Paths, world};
use gigatcp_why::CAUSES as ALL;
use gigatcp_why::weights::calibrations;
use rayon::prelude::*;

/// First seed for grading.
const FIRST_HELD: u64 = 1_000_000;

enum Mode {
    Grade,
    Fit,
    Counterfactual,
    Metamorphic,
    Two,
    Next,
    Whatif,
}

struct Request {
    seeds: u64,
    first: u64,
    paths: Paths,
    cause: Option<String>,
    kernels: Vec<PathBuf>,
    /// Directories of captures of other generators.
    others: Vec<PathBuf>,
    mode: Mode,
    shows: bool,
    write: Option<PathBuf>,
    /// Cost of a distance from the current weights, if a fit continues from them.
    continues: Option<f64>,
}

impl Request {
    fn seeds(&self) -> Range<u64> {
        self.first..self.first + self.seeds
    }
}

fn main() -> ExitCode {
    match request().and_then(|request| run(&request)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("grade: {error}");
            ExitCode::from(2)
        }
    }
}

fn request() -> Result<Request, String> {
    let mut request = Request {
        seeds: 20,
        first: FIRST_HELD,
        paths: Paths::Usual,
        cause: None,
        kernels: Vec::new(),
        others: Vec::new(),
        mode: Mode::Grade,
        shows: false,
        write: None,
        continues: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seeds" => request.seeds = number(&value()?)?,
            "--first" => request.first = number(&value()?)?,
            "--cause" => request.cause = Some(value()?),
            "--fat" => request.paths = Paths::Fat,
            "--shared" => request.paths = Paths::Shared,
            "--elements" => request.paths = Paths::Elements,
            "--kernels" => request.kernels.push(value()?.into()),
            "--others" => request.others.push(value()?.into()),
            "--fit" => request.mode = Mode::Fit,
            "--counterfactual" => request.mode = Mode::Counterfactual,
            "--metamorphic" => request.mode = Mode::Metamorphic,
            "--two" => request.mode = Mode::Two,
            "--next" => request.mode = Mode::Next,
            "--whatif" => request.mode = Mode::Whatif,
            "--show" => request.shows = true,
            "--continue" => {
                let strength = value()?;
                let parsed = strength.parse().ok().filter(|one: &f64| *one > 0.0);
                request.continues = Some(parsed.ok_or(format!("`{strength}` is no strength"))?);
            }
            "--write" => request.write = Some(value()?.into()),
            _ => return Err(format!("unknown argument `{word}`")),
        }
    }
    Ok(request)
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn run(request: &Request) -> Result<(), String> {
    match request.mode {
        Mode::Grade => {
            let observed = if request.kernels.is_empty() {
                worlds(request, request.seeds(), request.paths)?
            } else {
                observed(&cases(&request.kernels)?)
            };
            print(&observed, request.shows);
            Ok(())
        }
        Mode::Fit => fit_all(request),
        Mode::Counterfactual => lifted(request),
        Mode::Metamorphic => metamorphic(request),
        Mode::Two => two(request),
        Mode::Next => next(request),
        Mode::Whatif => whatif(request),
    }
}

/// Requested worlds.
fn jobs(request: &Request, seeds: Range<u64>) -> Result<Vec<(&'static str, u64)>, String> {
    let causes = CAUSES.iter().filter(|id| {
        let only = request.cause.as_deref();
        only.is_none_or(|only| only == **id)
    });
    let jobs: Vec<(&str, u64)> = causes
        .flat_map(|id| seeds.clone().map(move |seed| (*id, seed)))
        .collect();
    if jobs.is_empty() {
        return Err(format!(
            "no world has this cause; there are {}",
            CAUSES.join(", ")
        ));
    }
    Ok(jobs)
}

/// Runs the worlds of these seeds. Returns the results at each capture point.
fn worlds(request: &Request, seeds: Range<u64>, paths: Paths) -> Result<Vec<Observed>, String> {
    let jobs = jobs(request, seeds)?;
    let all = jobs.par_iter().map(|(id, seed)| of_world(id, *seed, paths));
    let all: Result<Vec<Vec<Observed>>, String> = all.collect();
    Ok(all?.into_iter().flatten().collect())
}

/// Runs `of` for each seed. Returns the results at each capture point.
fn each_seed(
    seeds: Range<u64>,
    of: fn(u64) -> Result<Vec<Observed>, String>,
) -> Result<Vec<Observed>, String> {
    let all: Result<Vec<Vec<Observed>>, String> = seeds.into_par_iter().map(of).collect();
    Ok(all?.into_iter().flatten().collect())
}

/// Kernel cases whose counters prove their label. Counts the others.
fn cases(directories: &[PathBuf]) -> Result<Vec<CaseDir>, String> {
    let mut proven = Vec::new();
    for directory in directories {
        let opened = Corpus::open(directory);
        let mut cases = opened.map_err(|error| format!("{}: {error}", directory.display()))?;
        let all = cases.len();
        cases.retain(|case| case.label.binding);
        eprintln!(
            "{}: {} of {all} cases are proven",
            directory.display(),
            cases.len()
        );
        proven.extend(cases);
    }
    Ok(proven)
}

/// Results of kernel captures.
fn observed(cases: &[CaseDir]) -> Vec<Observed> {
    let (observed, failed) = of_cases(cases);
    for error in failed {
        eprintln!("not read: {error}");
    }
    observed
}

/// Prints whether lifting the stated cause helps.
fn lifted(request: &Request) -> Result<(), String> {
    let jobs = jobs(request, request.seeds())?.into_iter();
    // A capture fault limits nothing.
    let jobs: Vec<_> = jobs.filter(|(id, _)| *id != "capture-artifact").collect();
    let graded = jobs.par_iter().map(|(id, seed)| {
        let world = world(id, *seed, request.paths);
        let views = of_world(id, *seed, request.paths)?;
        let one = &views[0];
        let claimed = one.cost.filter(|_| !one.is_unsure());
        let Some((cost, _)) = claimed else {
            return Ok((None, String::new()));
        };
        let verdict = match holds(&counterfactual(&world)?, &one.said, cost) {
            // A fault that is noted counts as stated.
            Verdict::OtherBetter { cause, .. } if one.notes.contains(&cause) => Verdict::Holds,
            other => other,
        };
        let line = format!(
            "{id} {seed}: said {} {:.2}, {:.1} of {:.1} Mbit/s: {verdict:?} [{}]",
            one.said,
            one.confidence,
            cost / 1e6,
            one.throughput_bps / 1e6,
            one.name
        );
        Ok((Some(verdict == Verdict::Holds), line))
    });
    let graded: Vec<(Option<bool>, String)> = graded.collect::<Result<_, String>>()?;
    let count = |of: Option<bool>| graded.iter().filter(|(grade, _)| *grade == of).count();
    if request.shows {
        for (_, line) in graded.iter().filter(|(grade, _)| *grade == Some(false)) {
            println!("{line}");
        }
    }
    println!(
        "counterfactual: {} hold, {} do not, {} unsure",
        count(Some(true)),
        count(Some(false)),
        count(None)
    );
    Ok(())
}

/// Prints whether answers stay the same under changes of captures that should not matter.
fn metamorphic(request: &Request) -> Result<(), String> {
    let of_case = |case: &CaseDir| -> Result<Stability, String> {
        let mut all = Stability::default();
        for (place, path) in &case.captures {
            let name = format!("{}-{} {place:?}", case.label.family, case.label.seed);
            let reader = CaptureReader::open(path).map_err(|error| error.to_string())?;
            all = all.with(Stability::of(&name, reader)?);
        }
        Ok(all)
    };
    let of_job = |(id, seed): &(&str, u64)| -> Result<Stability, String> {
        let mut all = Stability::default();
        for (place, bytes) in PLACES
            .iter()
            .zip(world(id, *seed, request.paths).captures()?)
        {
            let reader = CaptureReader::from_octets(bytes).map_err(|error| error.to_string())?;
            all = all.with(Stability::of(&format!("{id} {seed} {place}"), reader)?);
        }
        Ok(all)
    };
    let all: Result<Vec<Stability>, String> = if request.kernels.is_empty() {
        jobs(request, request.seeds())?
            .par_iter()
            .map(of_job)
            .collect()
    } else {
        cases(&request.kernels)?.par_iter().map(of_case).collect()
    };
    let all = all?.into_iter().fold(Stability::default(), Stability::with);
    if request.shows {
        all.others.iter().for_each(|line| println!("{line}"));
    }
    print!("{all}");
    Ok(())
}

/// Prints the answers for connections with two causes.
fn two(request: &Request) -> Result<(), String> {
    let observed = if request.kernels.is_empty() {
        each_seed(request.seeds(), of_two_causes)?
    } else {
        observed(&cases(&request.kernels)?)
    };
    let mut shares = Shares::default();
    for one in observed.iter().filter(|capture| capture.second.is_some()) {
        shares.add(one);
        if request.shows {
            let place = PLACES[one.place];
            println!(
                "{place}: {} [{}]\n      {}",
                one.truth, one.name, one.account
            );
        }
    }
    print!("{shares}");
    Ok(())
}

/// Prints how often the next limit is named, and how often correctly.
fn next(request: &Request) -> Result<(), String> {
    let mut score = NextScore::default();
    for one in each_seed(request.seeds(), of_next_limit)? {
        let is_wrong = score.add(&one);
        if request.shows && is_wrong {
            println!("{}: said {:?} [{}]", PLACES[one.place], one.next, one.name);
        }
    }
    print!("{score}");
    Ok(())
}

/// Prints how often a prediction and its interval are correct.
fn whatif(request: &Request) -> Result<(), String> {
    let jobs = jobs(request, request.seeds())?.into_iter();
    let jobs: Vec<_> = jobs.filter(|(id, _)| *id != "capture-artifact").collect();
    let mut score = WhatifScore::default();
    let graded = jobs.par_iter().map(|(id, seed)| {
        let one = graded(id, *seed, request.paths);
        match &one {
            Ok(one) if request.shows => println!("{one}"),
            Err(reason) => {
                let first_line = reason.lines().next().unwrap_or_default();
                println!("{id} {seed}: not run: {first_line}");
            }
            Ok(_) => {}
        }
        one
    });
    for one in graded.collect::<Vec<_>>() {
        score.add(one.as_ref().ok());
    }
    print!("{score}");
    Ok(())
}

fn print(observed: &[Observed], shows: bool) {
    for (place, name) in PLACES.into_iter().enumerate() {
        let mut matrix = Matrix::new(name);
        // Two simultaneous causes are graded separately (`--two`).
        let asked = observed.iter().filter(|capture| capture.second.is_none());
        for one in asked.filter(|capture| capture.place == place) {
            matrix.add(one);
            if shows && !one.is_right() {
                println!(
                    "{name}: {} said {} {:.2}, is {} [{}]\n      {}",
                    if one.is_unsure() { "UNSURE" } else { "WRONG" },
                    one.said,
                    one.confidence,
                    one.truth,
                    one.name,
                    one.account
                );
            }
        }
        println!("{matrix}");
    }
    if observed.iter().any(|capture| capture.rates.is_some()) {
        let mut score = RateScore::default();
        for one in observed {
            if let Some(wrong) = score.add(one).filter(|_| shows) {
                println!("{}: {wrong} [{}]", PLACES[one.place], one.name);
            }
        }
        print!("{score}");
    }
}

/// Results of the captures of another generator.
fn other_generator(directory: &Path, index: usize) -> Result<Vec<Observed>, String> {
    let cases = Case::all(directory)?;
    let observed = cases.par_iter().map(|case| case.observe(directory, index));
    observed.collect()
}

/// Fits both tables: for capture points near the sender and away from it.
fn fit_all(request: &Request) -> Result<(), String> {
    let cases = cases(&request.kernels)?;
    let mut all = observed(&cases);
    if request.seeds > 0 {
        let from = |first: u64| first..first + request.seeds;
        all.extend(worlds(request, from(1), Paths::Usual)?);
        all.extend(worlds(request, from(100_000), Paths::Shared)?);
        all.extend(worlds(request, from(200_000), Paths::Fat)?);
        all.extend(worlds(request, from(300_000), Paths::Elements)?);
        let two = each_seed(1..4 * request.seeds + 1, of_two_causes)?;
        all.extend(two.into_iter().filter(is_timed));
    }
    for (index, directory) in request.others.iter().enumerate() {
        all.extend(other_generator(directory, index + 1)?);
    }
    let mut examples: Vec<Example> = all
        .into_iter()
        .filter_map(|capture| capture.example)
        .collect();
    let changed: Result<Vec<Vec<Example>>, String> =
        cases.par_iter().map(changed_captures_of).collect();
    examples.extend(changed?.into_iter().flatten());
    for (is_away, file, name) in [(false, "near.rs", "NEAR"), (true, "away.rs", "AWAY")] {
        let seen: Vec<&Example> = examples
            .iter()
            .filter(|example| example.is_away == is_away)
            .collect();
        let balanced = balanced(&seen);
        let examples: Vec<&Example> = balanced.iter().collect();
        eprintln!("{name}: {} examples", examples.len());
        let prior = request
            .continues
            .map_or_else(Prior::zero, |strength| Prior::in_use(is_away, strength));
        let fitted = fit(&examples, &prior, |step, loss| {
            eprintln!("step {step}, loss {loss:.4}")
        });
        let answers = fitted_apart(&examples, &prior);
        let (whole, cut): (Vec<&Answer>, Vec<&Answer>) =
            answers.iter().partition(|answer| answer.knows_windows);
        report(&whole, request.shows);
        eprintln!("windows unknown:");
        report(&cut, false);
        if let Some(directory) = &request.write {
            // The current calibration rests on more connections than a continued fit has.
            let [whole, cut] = match request.continues {
                Some(_) => calibrations(is_away),
                None => [calibration(&whole), calibration(&cut)],
            };
            let calibrations = [("calibration", whole), ("calibration_cut", cut)];
            write(&directory.join(file), &fitted.source(name, calibrations))?;
        }
    }
    Ok(())
}

/// Whether the time of each of its causes is known.
fn is_timed(one: &Observed) -> bool {
    let example = one.example.as_ref();
    example.is_some_and(|example| example.phases.len() == 2)
}

/// Prints the fit's result on held-out connections, as a check of the model.
fn report(answers: &[&Answer], shows: bool) {
    let mut wrong: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for one in answers.iter().filter(|answer| !answer.is_right) {
        if shows {
            let (truth, said) = (ALL[one.truth].id, ALL[one.said].id);
            let probability = one.probability;
            eprintln!("  {truth} taken for {said} {probability:.2}: {}", one.name);
        }
        *wrong.entry((one.truth, one.said)).or_default() += 1;
    }
    let right = answers.len() as u64 - wrong.values().sum::<u64>();
    eprintln!("fitted apart: {right} of {} right", answers.len());
    for ((truth, said), count) in wrong {
        eprintln!("  {} taken for {}: {count}", ALL[truth].id, ALL[said].id);
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))
}
