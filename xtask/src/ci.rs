//! `cargo xtask ci`: everything a change must pass, in one command.
//!
//! Cheap steps come first. The first step that fails ends the run, and the remaining steps are
//! listed. Tests are counted from cargo's output; each other step counts as one. The last line is
//! `N passed, N failed`.
//!
//! The result depends on the change and not on chance: property tests draw from a fixed seed (`proof`
//! draws a new one). A run must leave the host as it found it: at its end the network settings of the
//! host are compared with those before its first step.
//!
//! To be fast, tests, doc tests, swarm, benchmark and the wheel of the Python module share one
//! profile and one set of compiled crates; clippy and rustdoc only check.

use std::process::Command;
use std::time::Instant;

use crate::process::{self, cargo, run_lines, spelled};
use crate::{Failed, api, bench, host_settings, ledger, python, swarm, targets, tidy, tools};

/// Seeds of the swarm, always the same. So a failure is caused by the change.
const SEEDS: [&str; 4] = ["--seed", "1", "--count", "500"];

/// Seed of property tests, always the same for the same reason. Any number serves.
const PROPERTY_SEED: u64 = 1;

/// All crates except the Python module, which the step `python` builds. With `mcp` in all steps, the
/// command is compiled once; the step `features` checks it without.
const RUST: [&str; 5] = [
    "--workspace",
    "--exclude",
    "gigatcp-py",
    "--features",
    "gigatcp/mcp",
];

/// Counts of tests and steps.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Count {
    passed: u64,
    pub failed: u64,
}

impl Count {
    const PASSED: Self = Self {
        passed: 1,
        failed: 0,
    };
    const FAILED: Self = Self {
        passed: 0,
        failed: 1,
    };

    fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
    }
}

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<Count, Failed>);

/// All steps, the cheap ones first.
const STEPS: [Step; 15] = [
    ("tools", || {
        tools::install();
        Ok(Count::PASSED)
    }),
    ("format", || {
        // Prints the files that differ; `cargo fmt --all` corrects them.
        check(&["fmt", "--all", "--", "--check", "-l"], None)
    }),
    ("tidy", || one(tidy::run())),
    ("ledger", || one(ledger::run(&[]))),
    ("clippy", || {
        let words = ["clippy", "--quiet", "--all-targets"];
        check(
            &[&words[..], &RUST, &["--", "-D", "warnings"]].concat(),
            None,
        )
    }),
    ("features", || one(targets::features())),
    ("targets", || one(targets::bare())),
    ("tests", || all_tests(PROPERTY_SEED)),
    ("doc tests", || {
        let words = ["test", "--no-fail-fast", "--doc"];
        tests(cargo(&[&words[..], &RUST].concat()))
    }),
    ("documentation", || {
        let words = ["doc", "--quiet", "--no-deps"];
        let words = [&words[..], &RUST].concat();
        check(&words, Some(("RUSTDOCFLAGS", "-D warnings")))
    }),
    ("api", || one(api::run(&[]))),
    ("python", || {
        let counts = python::tested(false)?;
        let count = |(passed, failed)| Count { passed, failed };
        Ok(counts.map_or_else(Count::default, count))
    }),
    ("swarm", || one(swarm::run(&SEEDS.map(String::from)))),
    ("bench", || one(bench::run(&["--short".into()]))),
    ("linear", || {
        one(bench::run(&["--linear".into(), "--short".into()]))
    }),
];

/// Runs all steps; prints the counts on the last line.
pub fn run() -> Result<(), Failed> {
    let started = Instant::now();
    let settings = host_settings::read();
    let (mut count, left) = run_steps(&STEPS);
    // Also after a failure: it may be the reason for it.
    count.add(host_unchanged(&settings));
    println!();
    if !left.is_empty() {
        println!("not run: {}", left.join(", "));
    }
    println!("ci took {:.0} s", started.elapsed().as_secs_f64());
    println!("{} passed, {} failed", count.passed, count.failed);
    if count.failed == 0 {
        Ok(())
    } else {
        Err(Failed::Found)
    }
}

/// Runs the steps until one fails; also returns those not run.
fn run_steps(steps: &[Step]) -> (Count, Vec<&'static str>) {
    let mut total = Count::default();
    for (number, (name, step)) in steps.iter().enumerate() {
        println!("\n== {} of {}: {name}", number + 1, steps.len());
        let started = Instant::now();
        let count = step().unwrap_or_else(|failed| {
            if let Failed::Usage(what) = failed {
                println!("{what}");
            }
            Count::FAILED
        });
        let seconds = started.elapsed().as_secs_f64();
        total.add(count);
        let verdict = if count.failed == 0 {
            "passed"
        } else {
            "FAILED"
        };
        println!("== {name}: {verdict}, {seconds:.1} s");
        if count.failed > 0 {
            let left = steps[number + 1..].iter().map(|(name, _)| *name);
            return (total, left.collect());
        }
    }
    (total, Vec::new())
}

/// Compares the network settings of the host with those before the first step.
fn host_unchanged(before: &host_settings::Settings) -> Count {
    println!("\n== last: network settings of the host");
    let differences = host_settings::differences(before, &host_settings::read());
    for line in &differences {
        println!("{line}");
    }
    if differences.is_empty() {
        println!("== all {} as before: passed", before.len());
        return Count::PASSED;
    }
    println!("== {} changed on the host: FAILED", differences.len());
    Count::FAILED
}

/// Runs all tests except doc tests. Property tests draw their cases from `seed`.
pub fn all_tests(seed: u64) -> Result<Count, Failed> {
    let words = ["test", "--no-fail-fast", "--lib", "--bins", "--tests"];
    let mut command = cargo(&[&words[..], &RUST].concat());
    command.env("PROPTEST_RNG_SEED", seed.to_string());
    println!("property tests draw from PROPTEST_RNG_SEED={seed}");
    tests(command)
}

/// Count of a step that is one of these tasks.
fn one(done: Result<(), Failed>) -> Result<Count, Failed> {
    match done {
        Ok(()) => Ok(Count::PASSED),
        Err(Failed::Found) => Ok(Count::FAILED),
        Err(failed) => Err(failed),
    }
}

/// Runs a step that is one cargo command.
fn check(words: &[&str], variable: Option<(&str, &str)>) -> Result<Count, Failed> {
    let mut command = cargo(words);
    command.envs(variable);
    println!("{}", spelled(&command));
    Ok(if process::run(command)?.success() {
        Count::PASSED
    } else {
        Count::FAILED
    })
}

/// Runs tests and counts them by their summaries. Lines about single tests that passed are not
/// printed.
fn tests(command: Command) -> Result<Count, Failed> {
    let mut count = Count::default();
    println!("{}", spelled(&command));
    let status = run_lines(command, |line| {
        count.add(summary(line).unwrap_or_default());
        if !line.is_empty() && !line.ends_with(" ... ok") && !line.starts_with("running ") {
            println!("{line}");
        }
    })?;
    if !status.success() && count.failed == 0 {
        // Something other than a test failed: it did not build, or crashed.
        count.failed = 1;
    }
    Ok(count)
}

/// Counts in a line like `test result: ok. 3 passed; 0 failed; ...`.
fn summary(line: &str) -> Option<Count> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        let part = counts.split(';').find(|part| part.trim().ends_with(what))?;
        part.trim().strip_suffix(what)?.trim().parse().ok()
    };
    Some(Count {
        passed: number("passed")?,
        failed: number("failed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_cargo_test_gives_its_counts() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; \
                    0 filtered out; finished in 0.00s";
        let count = Count {
            passed: 12,
            failed: 3,
        };
        assert_eq!(summary(line), Some(count));
        assert_eq!(summary("test tests::a ... ok"), None);
        assert_eq!(summary("test result: nonsense"), None);
    }

    #[test]
    fn the_first_failing_step_ends_the_run_and_the_rest_is_named() {
        const STEPS: [Step; 4] = [
            ("first", || {
                Ok(Count {
                    passed: 7,
                    failed: 0,
                })
            }),
            ("second", || one(Err(Failed::Found))),
            ("third", || Ok(Count::PASSED)),
            ("fourth", || Ok(Count::PASSED)),
        ];
        let (count, left) = run_steps(&STEPS);
        assert_eq!((count.passed, count.failed), (7, 1));
        assert_eq!(left, ["third", "fourth"]);
    }

    #[test]
    fn a_step_that_cannot_begin_counts_as_failed() {
        const STEPS: [Step; 1] = [("only", || Err(Failed::Usage("no such program".into())))];
        assert_eq!(run_steps(&STEPS), (Count::FAILED, vec![]));
    }
}
