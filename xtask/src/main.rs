//! The project's own tasks: `cargo xtask <task>`.
//!
//! | task | what it does |
//! |---|---|
//! | `ci` | everything a change must pass: format, tidy, clippy, tests, documentation, swarm, a short bench |
//! | `tidy` | the house rules that no compiler checks |
//! | `ledger` | which requirement of which RFC is met where, and what shows it |
//! | `fuzz` | libFuzzer looks for inputs that break a reader or the engine |
//! | `bench` | the simulator's workloads beside their goals |
//! | `bench-live` | the engine on a real device, beside two kernels |
//! | `grade` | how often `gigatcp why` finds the known cause of a simulated capture |
//! | `swarm` | random worlds, and what must hold in each |
//!
//! This crate links none of the others, and of libraries only what reads
//! TOML: the simulator's workloads and the
//! swarm are examples of `gigatcp-sim`, the figures of goodput one of
//! `gigatcp-sweep`, built and run as processes. So tidy
//! takes two seconds to build, a benchmark is a process whose memory can be
//! measured, and a world that hangs can be ended. The cost: results come back
//! as text.

mod bench;
mod bench_live;
mod ci;
mod fuzz;
mod grade;
mod ledger;
mod process;
mod swarm;
mod tidy;
mod tools;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  ci                                   everything a change must pass
  tidy                                 the house rules
  ledger [ID ...] [--all]              requirements of the RFCs, where they are met
  fuzz TARGET [--seconds N]            inputs that break packet, options, engine, script, capture, …
  bench [--short] [--instructions]     the workloads, beside their goals
  bench --goals [--seeds N] [--only TEXT] [--set KEY=VALUE]
                                       goodput on known paths, beside goals
  bench --grid [--check] [--only TEXT] [--set KEY=VALUE]
                                       goodput by loss, round trip, MTU, window:
                                       docs/grid.txt, written or compared
  bench-live [--short]                 the engine on a real device, beside two
                                       kernels; needs root
  grade [--seeds N] [--first SEED] [--cause ID] [--show] [--write]
                                       does `gigatcp why` find the known cause?
                                       --write keeps it: docs/grade.txt
  swarm [--seed N] [--count M] [--plant BUG]
                                       random worlds; the same seed, the same world";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match words.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("", &[][..]),
    };
    let done = match task {
        "ci" if rest.is_empty() => ci::run(),
        "tidy" if rest.is_empty() => tidy::run(),
        "ledger" => ledger::run(rest),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "bench-live" => bench_live::run(rest),
        "grade" => grade::run(rest),
        "swarm" => swarm::run(rest),
        _ => Err(Failed::Usage(format!(
            "what is `{}`?\n{USAGE}",
            words.join(" ")
        ))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failed::Found) => ExitCode::FAILURE,
        Err(Failed::Usage(what)) => {
            eprintln!("xtask: {what}");
            ExitCode::from(2)
        }
    }
}

/// Why a task failed.
#[derive(Debug)]
enum Failed {
    /// It found something and has said what.
    Found,
    /// It could not begin: what was asked for or the environment is wrong.
    Usage(String),
}

/// The checkout's top folder.
fn top() -> std::path::PathBuf {
    let xtask = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_path_buf()
}
