//! Grades diagnoses, and fits the weights that they rest on.
//!
//! Usage:
//!
//! * `grade [--seeds N] [--first SEED] [--fat | --shared] [--cause ID] [--show]`: simulated
//!   worlds.
//! * `grade --kernels DIR [--show]`: captures of kernels that `kernels make` wrote.
//! * `grade --fit [--seeds N] [--kernels DIR] --write DIR`: fits weights to worlds with
//!   seeds below 1,000,000 and to the captures in DIR, and writes them to a directory
//!   (`core/why/src/weights`).
//!
//! Worlds with seeds below 1,000,000 are for fitting; grade with others.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gigatcp_grade::dataset::{Observed, PLACES, of_cases, of_world};
use gigatcp_grade::fit::{Example, fit};
use gigatcp_grade::kernels::corpus::Corpus;
use gigatcp_grade::matrix::Matrix;
use gigatcp_grade::worlds::{CAUSES, Paths};
use gigatcp_why::CAUSES as ALL;
use rayon::prelude::*;

/// Where seeds for grading begin.
const FIRST_HELD: u64 = 1_000_000;

struct Request {
    seeds: u64,
    first: u64,
    paths: Paths,
    cause: Option<String>,
    kernels: Vec<PathBuf>,
    fits: bool,
    shows: bool,
    write: Option<PathBuf>,
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
        fits: false,
        shows: false,
        write: None,
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
            "--kernels" => request.kernels.push(value()?.into()),
            "--fit" => request.fits = true,
            "--show" => request.shows = true,
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
    if request.fits {
        return fit_all(request);
    }
    let observed = if request.kernels.is_empty() {
        worlds(request, request.first, request.paths)?
    } else {
        kernels(&request.kernels)?
    };
    print(&observed, request.shows);
    Ok(())
}

/// What worlds show, from this seed on.
fn worlds(request: &Request, first: u64, paths: Paths) -> Result<Vec<Observed>, String> {
    let causes = CAUSES.iter().filter(|id| {
        let only = request.cause.as_deref();
        only.is_none_or(|only| only == **id)
    });
    let jobs: Vec<(&str, u64)> = causes
        .flat_map(|id| (first..first + request.seeds).map(move |seed| (*id, seed)))
        .collect();
    if jobs.is_empty() {
        return Err(format!(
            "no world has this cause; there are {}",
            CAUSES.join(", ")
        ));
    }
    let all = jobs.par_iter().map(|(id, seed)| of_world(id, *seed, paths));
    let all: Result<Vec<Vec<Observed>>, String> = all.collect();
    Ok(all?.into_iter().flatten().collect())
}

/// What captures of kernels show; cases whose counters do not prove their label are left
/// out, and counted.
fn kernels(directories: &[PathBuf]) -> Result<Vec<Observed>, String> {
    let mut observed = Vec::new();
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
        let (of, failed) = of_cases(&cases);
        for error in failed {
            eprintln!("not read: {error}");
        }
        observed.extend(of);
    }
    Ok(observed)
}

fn print(observed: &[Observed], shows: bool) {
    for (place, name) in PLACES.into_iter().enumerate() {
        let mut matrix = Matrix::new(name);
        for one in observed.iter().filter(|one| one.place == place) {
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
}

/// Fits both tables: of what is seen near the sender, and away from it.
fn fit_all(request: &Request) -> Result<(), String> {
    let mut observed = kernels(&request.kernels)?;
    if request.seeds > 0 {
        observed.extend(worlds(request, 1, Paths::Usual)?);
        observed.extend(worlds(request, 100_000, Paths::Shared)?);
    }
    for (is_away, file, name) in [(false, "near.rs", "NEAR"), (true, "away.rs", "AWAY")] {
        let examples: Vec<&Example> = observed
            .iter()
            .filter_map(|one| one.example.as_ref())
            .filter(|one| one.is_away == is_away)
            .collect();
        let balanced = balanced(&examples);
        let examples: Vec<&Example> = balanced.iter().collect();
        eprintln!("{name}: {} examples", examples.len());
        let fitted = fit(&examples, |step, loss| {
            eprintln!("step {step}, loss {loss:.4}")
        });
        let answers = fitted_apart(&examples);
        report(&answers);
        if let Some(directory) = &request.write {
            write(
                &directory.join(file),
                &fitted.source(name, &calibration(&answers)),
            )?;
        }
    }
    Ok(())
}

/// The same examples, so that each cause counts about the same.
fn balanced(examples: &[&Example]) -> Vec<Example> {
    let mut sums: BTreeMap<usize, f64> = BTreeMap::new();
    for one in examples {
        *sums.entry(one.cause).or_default() += one.weight;
    }
    let mean = sums.values().sum::<f64>() / sums.len().max(1) as f64;
    let scaled = examples.iter().map(|one| Example {
        weight: one.weight * (mean / sums[&one.cause]).sqrt(),
        ..(*one).clone()
    });
    scaled.collect()
}

/// Probabilities of primary causes and whether they are right, of kernels' connections
/// that were not used: fitted to those with odd seeds and asked about even ones, and the
/// other way round. Simulated worlds are on both sides, and are not asked about.
fn fitted_apart(examples: &[&Example]) -> Vec<Answer> {
    let is_in = |one: &Example, half: u64| one.kernel.is_some_and(|seed| seed % 2 == half);
    let mut answers = Vec::new();
    for half in [0, 1] {
        let others = examples.iter().copied().filter(|one| !is_in(one, half));
        let fitted = fit(&others.collect::<Vec<_>>(), |_, _| ());
        for one in examples.iter().filter(|one| is_in(one, half)) {
            if let Some((said, probability)) = fitted.primary(&one.slices, one.is_away) {
                answers.push(Answer {
                    truth: one.cause,
                    said,
                    is_right: one.cause == said || one.others.contains(&said),
                    probability,
                });
            }
        }
    }
    answers
}

/// What was said of a connection that no weight was fitted to.
struct Answer {
    truth: usize,
    said: usize,
    is_right: bool,
    probability: f64,
}

/// The share of right answers by probability, never falling (pool adjacent violators).
fn calibration(answers: &[Answer]) -> Vec<(f64, f64)> {
    /// Answers that stand together.
    const BINS: usize = 12;
    let mut sorted: Vec<(f64, bool)> = answers
        .iter()
        .map(|one| (one.probability, one.is_right))
        .collect();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let each = sorted.len().div_ceil(BINS).max(1);
    // (answers, sum of probabilities, number right)
    let mut pools: Vec<(f64, f64, f64)> = Vec::new();
    for bin in sorted.chunks(each) {
        let count = bin.len() as f64;
        let probability: f64 = bin.iter().map(|one| one.0).sum();
        // Half an answer of each kind more, so that nothing is certain.
        let right = bin.iter().filter(|one| one.1).count() as f64;
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

/// How the fit does on what it was not fitted to: a look at the model, not a grade.
fn report(answers: &[Answer]) {
    let mut wrong: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for one in answers.iter().filter(|one| !one.is_right) {
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
