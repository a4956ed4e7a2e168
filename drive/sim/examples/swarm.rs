//! Random simulations with invariant checks: `cargo xtask swarm`.
//!
//!     cargo run --profile test -p gigatcp-sim --example swarm -- --seed 1 --count 100
//!
//! Prints every simulation that failed with the command that repeats it, and a summary; exit code 1
//! if any failed. Uses all CPUs. A simulation that takes a minute of wall time is reported as
//! stuck, which ends the run.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[path = "../tests/swarm/mod.rs"]
mod swarm;

use swarm::injected_bug::InjectedBug;
use swarm::{Failure, Task, check_seeds, places, stuck};

/// Wall time after which a simulation is stuck; the longest take a second.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seeds between two lines of progress.
const BATCH: u64 = 100;

struct Arguments {
    seed: u64,
    count: u64,
    bug: Option<InjectedBug>,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(what) => {
            let plants: Vec<_> = InjectedBug::ALL.iter().map(|bug| bug.name()).collect();
            eprintln!("swarm: {what}");
            eprintln!("usage: swarm --seed N [--count M] [--plant BUG]");
            eprintln!("bugs that can be planted: {}", plants.join(", "));
            return ExitCode::from(2);
        }
    };
    let failed = run(&arguments);
    let worlds = swarm::Kind::ALL.len() as u64 * arguments.count;
    println!("swarm: {worlds} worlds, each run twice: {failed} failed");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs every seed, reports failures immediately, and returns their number.
fn run(arguments: &Arguments) -> usize {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let running = places(threads);
    let over = AtomicBool::new(false);
    let mut failed = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| watch(arguments, &running, &over));
        let started = Instant::now();
        let end = arguments.seed.saturating_add(arguments.count);
        let mut seed = arguments.seed;
        while seed < end {
            let count = BATCH.min(end - seed);
            let failures = check_seeds(seed, count, arguments.bug, &running);
            failures
                .iter()
                .for_each(|failure| report(arguments, failure));
            failed += failures.len();
            seed += count;
            eprintln!(
                "swarm: {} of {} seeds, {} worlds failed, {:.0} s",
                seed - arguments.seed,
                arguments.count,
                failed,
                started.elapsed().as_secs_f64()
            );
        }
        over.store(true, Ordering::Relaxed);
    });
    failed
}

fn report(arguments: &Arguments, failure: &Failure) {
    let kind = format!("{:?}", failure.task.kind).to_lowercase();
    // With one seed the whole state, with many the finding alone.
    let what = match arguments.count {
        1 => failure.what.as_str(),
        _ => failure.finding(),
    };
    println!("seed {} ({kind}) failed: {what}", failure.task.seed);
    println!("  replay: {}", replay(failure.task, arguments.bug));
}

/// Ends the process if a simulation is stuck: nothing else can.
fn watch(
    arguments: &Arguments,
    running: &[std::sync::Mutex<Option<(Task, Instant)>>],
    over: &AtomicBool,
) {
    while !over.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
        if let Some(task) = stuck(running, PATIENCE) {
            println!(
                "seed {} ({:?}) failed: stuck for {} s",
                task.seed,
                task.kind,
                PATIENCE.as_secs()
            );
            println!("  replay: {}", replay(task, arguments.bug));
            std::process::exit(1);
        }
    }
}

fn replay(task: Task, bug: Option<InjectedBug>) -> String {
    let plant = bug.map_or(String::new(), |bug| format!(" --plant {}", bug.name()));
    format!("cargo xtask swarm --seed {} --count 1{plant}", task.seed)
}

fn arguments() -> Result<Arguments, String> {
    let mut arguments = Arguments {
        seed: 1,
        count: 1,
        bug: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words
            .next()
            .ok_or_else(|| format!("{word} needs a value"))?;
        let number = || {
            let what = |_| format!("{word} {value}: not a whole number");
            value.parse::<u64>().map_err(what)
        };
        match word.as_str() {
            "--seed" => arguments.seed = number()?,
            "--count" => arguments.count = number()?,
            "--plant" => {
                let bug = InjectedBug::find(&value);
                arguments.bug = Some(bug.ok_or(format!("there is no bug named {value}"))?);
            }
            _ => return Err(format!("what is {word}?")),
        }
    }
    Ok(arguments)
}
