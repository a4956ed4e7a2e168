//! `cargo xtask live-transfers`: random octets between the engine and the kernel over emulated
//! paths. Each path follows from a seed.
//!
//! Prints every failed case with the command that replays it, and a summary. Exit code 1 if a case
//! failed, 2 if the environment does not permit a test.

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use gigatcp_interop::{Case, Done, Trouble, covering, run};

/// Number of concurrent cases: most of them wait most of the time.
const AT_ONCE: usize = 4;
/// Cases between two progress lines.
const BATCH: u64 = 20;

struct Arguments {
    cases: Vec<(String, Case)>,
    shows: bool,
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(what) => {
            eprintln!("live-transfers: {what}");
            return ExitCode::from(2);
        }
    };
    match run_all(&arguments) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(what) => {
            eprintln!("live-transfers: {what}");
            ExitCode::from(2)
        }
    }
}

#[derive(Default)]
struct Tally {
    passed: u64,
    skipped: u64,
    failed: u64,
    compared: u64,
    /// Wire packets.
    arrived: u64,
    dropped: u64,
}

/// Runs all cases. Returns the number that failed, or the reason none could run.
fn run_all(arguments: &Arguments) -> Result<u64, String> {
    let began = Instant::now();
    let (next, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
    let state = Mutex::new((Tally::default(), None));
    let place = || {
        while let Some((replay, case)) = arguments
            .cases
            .get(next.fetch_add(1, Ordering::Relaxed) as usize)
            && !is_over.load(Ordering::Relaxed)
        {
            let done = run(case);
            let mut state = state
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let (tally, missing) = &mut *state;
            if let Some(what) = tally.count(replay, case, done, arguments.shows) {
                *missing = Some(what);
                is_over.store(true, Ordering::Relaxed);
            }
            let done = tally.passed + tally.skipped + tally.failed;
            if done.is_multiple_of(BATCH) {
                let (all, failed) = (arguments.cases.len(), tally.failed);
                let seconds = began.elapsed().as_secs();
                eprintln!("live-transfers: {done} of {all} cases, {failed} failed, {seconds} s");
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(place);
        }
    });
    let (tally, missing) = state
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(what) = missing {
        return Err(what);
    }
    println!(
        "live-transfers: {} passed, {} skipped, {} failed; {} octets compared; {} packets, {} lost",
        tally.passed, tally.skipped, tally.failed, tally.compared, tally.arrived, tally.dropped
    );
    Ok(tally.failed)
}

impl Tally {
    /// Counts a case. Returns the missing prerequisite if no case can run.
    fn count(
        &mut self,
        replay: &str,
        case: &Case,
        done: Result<Done, Trouble>,
        shows: bool,
    ) -> Option<String> {
        match done {
            Ok(Done::Passed {
                took,
                compared,
                path,
            }) => {
                self.passed += 1;
                self.compared += compared;
                self.arrived += path
                    .directions
                    .iter()
                    .map(|way| way.arrived().packets)
                    .sum::<u64>();
                self.dropped += path.directions.iter().map(|way| way.dropped()).sum::<u64>();
                if shows {
                    println!("{:.2} s: {case}", took.as_secs_f64());
                }
            }
            Ok(Done::Skipped(why)) => {
                self.skipped += 1;
                println!("skipped: {why}");
            }
            Err(Trouble::Setup(error)) => {
                let hint = error.hint().unwrap_or_default();
                return Some(format!("{error}\n  {hint}"));
            }
            Err(Trouble::Failed(what)) => {
                self.failed += 1;
                println!("failed: {what}\n  {case}\n  replay: cargo xtask live-transfers {replay}");
            }
        }
        None
    }
}

fn arguments() -> Result<Arguments, String> {
    let (mut seed, mut count, mut row, mut shows) = (1, 100, None, false);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().ok_or(format!("{word} needs a number"))?;
            value
                .parse::<u64>()
                .map_err(|_| format!("{word} {value}: not a whole number"))
        };
        match word.as_str() {
            "--seed" => seed = number()?,
            "--count" => count = number()?,
            "--row" => row = Some(number()?),
            "--show" => shows = true,
            _ => {
                return Err(format!(
                    "what is {word}? There are --seed, --count, --row, --show"
                ));
            }
        }
    }
    let cases = match row {
        None => (seed..seed.saturating_add(count))
            .map(|seed| (format!("--seed {seed} --count 1"), Case::random(seed)))
            .collect(),
        Some(row) => {
            let mut rows = covering();
            let all = rows.len() as u64;
            // Row 0 stands for all rows.
            rows.retain(|case| row == 0 || case.seed == row);
            if rows.is_empty() {
                return Err(format!("--row {row}: there are 1 to {all}, and 0 for all"));
            }
            rows.into_iter()
                .map(|case| (format!("--row {}", case.seed), case))
                .collect()
        }
    };
    Ok(Arguments { cases, shows })
}
