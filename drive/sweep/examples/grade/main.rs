//! Grades `why`: worlds whose cause is known, captured from three places,
//! diagnosed from the capture alone.
//!
//! Usage: `grade [--seeds N] [--first SEED] [--cause ID] [--show]`. Prints a
//! confusion matrix for each place, precision and recall of each cause, and
//! what a confidence is worth.

mod matrix;
mod views;
mod worlds;

use std::process::ExitCode;

use matrix::Matrix;
use rayon::prelude::*;
use worlds::CAUSES;

/// Where seeds for grading begin. Rules are written with seeds below.
const FIRST: u64 = 1_000_000;

struct Asked {
    seeds: u64,
    first: u64,
    cause: Option<String>,
    show: bool,
}

fn asked() -> Result<Asked, String> {
    let mut asked = Asked {
        seeds: 20,
        first: FIRST,
        cause: None,
        show: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--seeds" => asked.seeds = number(&value()?)?,
            "--first" => asked.first = number(&value()?)?,
            "--cause" => asked.cause = Some(value()?),
            "--show" => asked.show = true,
            _ => return Err(format!("what is `{word}`?")),
        }
    }
    match &asked.cause {
        Some(cause) if !CAUSES.contains(&cause.as_str()) => Err(format!(
            "no cause `{cause}`; there are {}",
            CAUSES.join(", ")
        )),
        _ => Ok(asked),
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no number"))
}

fn main() -> ExitCode {
    let asked = match asked() {
        Ok(asked) => asked,
        Err(error) => {
            eprintln!("grade: {error}");
            return ExitCode::from(2);
        }
    };
    let causes: Vec<&'static str> = CAUSES
        .into_iter()
        .filter(|cause| asked.cause.as_ref().is_none_or(|only| only == cause))
        .collect();
    let jobs: Vec<(&'static str, u64)> = causes
        .iter()
        .flat_map(|cause| (0..asked.seeds).map(|seed| (*cause, asked.first + seed)))
        .collect();
    let graded: Vec<Vec<Graded>> = jobs
        .par_iter()
        .map(|(cause, seed)| grade(cause, *seed, asked.show))
        .collect();
    let mut matrices = views::VIEWS.map(Matrix::new);
    for one in graded.iter().flatten() {
        if asked.show {
            println!("{}", one.shown);
        }
        matrices[one.view].add(one.truth, one.said, one.confidence);
    }
    println!(
        "seeds {} to {}, {} worlds\n",
        asked.first,
        asked.first + asked.seeds - 1,
        jobs.len()
    );
    for matrix in &matrices {
        println!("{matrix}");
    }
    ExitCode::SUCCESS
}

struct Graded {
    truth: &'static str,
    view: usize,
    said: &'static str,
    confidence: f64,
    shown: String,
}

fn grade(cause: &'static str, seed: u64, show: bool) -> Vec<Graded> {
    let case = worlds::world(cause, seed);
    let captures = views::captures(&case, seed);
    let mut graded = Vec::new();
    let [sender, receiver, _] = captures.clone();
    let both = views::diagnose_both(sender, receiver);
    let diagnoses = captures.map(views::diagnose).into_iter().chain([both]);
    for (view, diagnosis) in diagnoses.enumerate() {
        let truth = case.truth(cause, views::VIEWS[view]);
        let answer = diagnosis
            .as_ref()
            .and_then(|diagnosis| diagnosis.headline());
        let (said, confidence) = answer.map_or(("unknown", 0.0), |verdict| {
            (verdict.rule.id, verdict.confidence)
        });
        let mut shown = String::new();
        if show {
            let mark = if said == truth { "ok   " } else { "WRONG" };
            shown = format!(
                "{mark} {cause} {seed} {:8} [{}]",
                views::VIEWS[view],
                case.about
            );
            if let Some(diagnosis) = &diagnosis {
                shown.push_str(&format!(
                    "\n      view {:?} base {:?} run {:?} | {}",
                    diagnosis.view,
                    diagnosis.round_trip,
                    diagnosis.run,
                    diagnosis.limited_by()
                ));
                let remarks = diagnosis.verdicts.iter().filter(|one| one.time.is_zero());
                for remark in remarks {
                    shown.push_str(&format!(" +{}", remark.rule.id));
                }
            }
        }
        graded.push(Graded {
            truth,
            view,
            said,
            confidence,
            shown,
        });
    }
    graded
}
