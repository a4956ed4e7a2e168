//! Grades `why`: connections whose cause is known, captured from several places,
//! diagnosed from the capture alone.
//!
//! Usage: `grade [--seeds N] [--first SEED] [--cause ID] [--show]`; with `--fat` over
//! paths of thousands of segments instead of hundreds, with `--shared` over paths that
//! others use as well; with `--live` the connections
//! are of the machine's kernel, else simulated. `--keep DIR` keeps the captures; of
//! kernels `--again DIR` judges kept ones. Prints a confusion matrix for each place,
//! precision and recall of each cause, and what a confidence is worth.
//!
//! | file | what |
//! |---|---|
//! | `worlds.rs`, `views.rs` | simulated worlds, and captures of them |
//! | `kernels/` | connections of kernels: `worlds.rs` draws, `ends.rs` are the applications |
//! | `draw.rs` | random parameters |
//! | `diagnosis.rs` | what is said of captures |
//! | `matrix.rs` | what was said of what |

mod asked;
mod diagnosis;
mod draw;
#[cfg(target_os = "linux")]
mod kernels;
mod matrix;
mod views;
mod worlds;

use std::process::ExitCode;
use std::{fs, io};

use asked::{Asked, Ground};
use diagnosis::Captured;
use matrix::Matrix;
use rayon::prelude::*;
use worlds::Paths;

/// Captures of one connection: sender, receiver, and perhaps more.
pub struct Sample {
    pub captures: Vec<Captured>,
    pub about: String,
}

/// What is to be graded.
struct Job {
    injection: &'static str,
    truth: &'static str,
    seed: u64,
}

struct Graded {
    truth: &'static str,
    view: usize,
    said: &'static str,
    confidence: f64,
    shown: String,
}

fn main() -> ExitCode {
    let asked = match asked::asked() {
        Ok(asked) => asked,
        Err(error) => return refuse(&error),
    };
    let injections = asked.injections();
    let seeds = || asked.first..asked.first + asked.seeds;
    let jobs: Vec<Job> = injections
        .iter()
        .flat_map(|&(injection, truth)| {
            seeds().map(move |seed| Job {
                injection,
                truth,
                seed,
            })
        })
        .collect();
    let graded = match &asked.ground {
        Ground::Simulated => {
            let all = jobs.par_iter().map(|job| simulated(job, &asked));
            match all.collect::<Result<_, String>>() {
                Ok(graded) => graded,
                Err(error) => return refuse(&error),
            }
        }
        Ground::Kernels => match on_kernels(&jobs, &asked) {
            Ok(graded) => graded,
            Err(End::Told(status)) => return ExitCode::from(status),
            Err(End::Failed(error)) => return refuse(&error),
        },
    };
    print(&asked, &jobs, &graded);
    ExitCode::SUCCESS
}

fn refuse(error: &str) -> ExitCode {
    eprintln!("grade: {error}");
    ExitCode::from(2)
}

fn print(asked: &Asked, jobs: &[Job], graded: &[Vec<Graded>]) {
    let mut causes: Vec<&str> = Vec::new();
    for job in jobs {
        if !causes.contains(&job.truth) {
            causes.push(job.truth);
        }
    }
    let views = asked.views();
    let mut matrices: Vec<Matrix> = views
        .iter()
        .map(|view| Matrix::new(view, &causes))
        .collect();
    for one in graded.iter().flatten() {
        if asked.show {
            println!("{}", one.shown);
        }
        matrices[one.view].add(one.truth, one.said, one.confidence);
    }
    println!(
        "seeds {} to {}, {} {}\n",
        asked.first,
        asked.first + asked.seeds - 1,
        jobs.len(),
        match asked.ground {
            Ground::Simulated => match asked.paths {
                Paths::Usual => "worlds",
                Paths::Fat => "worlds of long fat paths",
                Paths::Shared => "worlds of paths that others use as well",
            },
            Ground::Kernels => "connections of the kernel",
        },
    );
    for matrix in &matrices {
        println!("{matrix}");
    }
}

fn simulated(job: &Job, asked: &Asked) -> Result<Vec<Graded>, String> {
    let case = worlds::world(job.injection, job.seed, asked.paths);
    let captures = views::captures(&case, job.seed);
    if let Some(folder) = &asked.keep {
        let told = |error: io::Error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(told)?;
        for (octets, view) in captures.iter().zip(views::VIEWS) {
            let name = format!("{}-{}-{view}.pcapng", job.injection, job.seed);
            fs::write(folder.join(name), octets).map_err(told)?;
        }
    }
    let sample = Sample {
        captures: captures.map(Captured::whole).into(),
        about: case.about,
    };
    Ok(grade(job, &sample, asked))
}

/// Why nothing came out.
enum End {
    /// Another process has done it.
    Told(u8),
    Failed(String),
}

/// One after the other: they would be noise to each other.
#[cfg(target_os = "linux")]
fn on_kernels(jobs: &[Job], asked: &Asked) -> Result<Vec<Vec<Graded>>, End> {
    let failed = End::Failed;
    if let Some(folder) = &asked.again {
        let grade = |job: &Job| {
            let sample = kernels::again(job.injection, job.seed, folder)?;
            Ok(grade(job, &sample, asked))
        };
        return jobs
            .par_iter()
            .map(grade)
            .collect::<Result<_, String>>()
            .map_err(failed);
    }
    if let Some(status) = kernels::begin().map_err(failed)? {
        return Err(End::Told(u8::try_from(status).unwrap_or(1)));
    }
    let own = std::env::temp_dir().join(format!("gigatcp-grade-{}", std::process::id()));
    let folder = asked.keep.as_ref().unwrap_or(&own);
    let made = fs::create_dir_all(folder);
    made.map_err(|error| End::Failed(format!("{}: {error}", folder.display())))?;
    let run = |job: &Job| {
        let sample = kernels::run(job.injection, job.seed, folder)?;
        if asked.keep.is_none() {
            kernels::forget(job.injection, job.seed, folder);
        }
        Ok(grade(job, &sample, asked))
    };
    let graded = jobs.iter().map(run).collect::<Result<_, String>>();
    if asked.keep.is_none() {
        let _ = fs::remove_dir(folder);
    }
    graded.map_err(failed)
}

#[cfg(not(target_os = "linux"))]
fn on_kernels(_: &[Job], _: &Asked) -> Result<Vec<Vec<Graded>>, End> {
    Err(End::Failed("`--live` needs Linux".into()))
}

/// Where only a place behind what swallows full segments saw it, nobody can
/// know more than that nothing came.
fn truth(job: &Job, view: &str) -> &'static str {
    let passes = matches!(view, "sender" | "both");
    if job.truth == "pmtu-black-hole" && !passes {
        "unknown"
    } else {
        job.truth
    }
}

fn grade(job: &Job, sample: &Sample, asked: &Asked) -> Vec<Graded> {
    let views = asked.views();
    let captures = &sample.captures;
    let alone = captures.iter().cloned().map(diagnosis::diagnose);
    let both = diagnosis::diagnose_both(captures[0].clone(), captures[1].clone());
    let mut graded = Vec::new();
    for (view, diagnosis) in alone.chain([both]).enumerate() {
        let truth = truth(job, views[view]);
        let answer = diagnosis
            .as_ref()
            .and_then(|diagnosis| diagnosis.headline());
        let (said, confidence) = answer.map_or(("unknown", 0.0), |verdict| {
            (verdict.cause.id, verdict.confidence)
        });
        let mut shown = String::new();
        if asked.show {
            let mark = if said == truth { "ok   " } else { "WRONG" };
            shown = format!(
                "{mark} {} {} {:8} [{}]",
                job.injection, job.seed, views[view], sample.about
            );
            if let Some(diagnosis) = &diagnosis {
                shown.push_str(&format!(
                    "\n      view {:?} base {:?} run {:?} | {}",
                    diagnosis.capture_point,
                    diagnosis.min_rtt,
                    diagnosis.duration,
                    diagnosis.limited_by()
                ));
                let remarks = diagnosis.verdicts.iter().filter(|one| one.time.is_zero());
                for remark in remarks {
                    shown.push_str(&format!(" +{}", remark.cause.id));
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
