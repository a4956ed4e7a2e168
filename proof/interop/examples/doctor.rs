//! `cargo xtask proof --doctor`: checks `gigatcp doctor` against tests. Compared are the stated
//! costs, and the gain of its first advice.
//!
//! Without arguments: every cost, then seeds 1 to 25, with which rules were corrected, then seeds
//! 2001 to 2025, with which they never were. `costs` alone, or seeds such as `1..26`, select a
//! part. Exit code 0 if the goals are met, 1 if not, 2 if the environment does not permit a test.

use std::ops::Range;
use std::process::ExitCode;

use gigatcp_emulate::Side;
use gigatcp_interop::doctor::advice::{self, Mistuned};
use gigatcp_interop::doctor::{Bed, Link, costs};
use gigatcp_units::{Duration, Rate};

/// Share of namespaces in which the first advice must hold, in percent.
const GOAL: usize = 90;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.first().map(String::as_str) {
        None => all(),
        Some("costs") => good_host().and_then(|good| Ok(good & cost_table()?)),
        Some(seeds) => match range(seeds) {
            Some(seeds) => advice_table(seeds),
            None => Err(format!(
                "`{seeds}` is neither `costs` nor a range of seeds as 1..26"
            )),
        },
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("doctor: {error}");
            ExitCode::from(2)
        }
    }
}

fn range(words: &str) -> Option<Range<u64>> {
    let (from, to) = words.split_once("..")?;
    Some(from.parse().ok()?..to.parse().ok()?)
}

fn all() -> Result<bool, String> {
    let good = good_host()?;
    let costs = cost_table()?;
    println!("\nSeeds that rules were corrected with:");
    let seen = advice_table(1..26)?;
    println!("\nSeeds that rules were never corrected with:");
    let unseen = advice_table(2001..2026)?;
    Ok(good && costs && seen && unseen)
}

/// Checks that a host with the kernel's defaults on a saturated path has no findings.
fn good_host() -> Result<bool, String> {
    let link = Link {
        rate: Rate::from_bps(20_000_000),
        rtt: Duration::from_millis(20),
        loss: None,
    };
    let bed = Bed::new(link)?;
    let mut found = Vec::new();
    for side in Side::ALL {
        found.extend(bed.examine(side)?.findings);
    }
    // Counters of the machine: they include other work on it.
    found.retain(|found| !found.rule.id.starts_with("softnet"));
    let names: Vec<&str> = found.iter().map(|found| found.rule.id).collect();
    let mbps = bed.transfer()?.mbps;
    println!(
        "Good host, 20 Mbit/s and 20 ms: {} found {}; {mbps:.1} of {:.1} Mbit/s",
        names.len(),
        names.join(", "),
        link.payload().as_bps() as f64 * 1e-6
    );
    Ok(names.is_empty())
}

fn cost_table() -> Result<bool, String> {
    println!("\n{}", costs::heading());
    let (mut right, mut all) = (0, 0);
    costs::costs(&mut |cost| {
        println!("{cost}");
        right += usize::from(cost.is_right());
        all += 1;
    })?;
    println!("{right} of {all} costs are within 20 % of what a test shows");
    Ok(right == all)
}

fn advice_table(seeds: Range<u64>) -> Result<bool, String> {
    println!("{}", advice::heading());
    let (mut held, mut all) = (0, 0);
    for seed in seeds {
        let followed = Mistuned::random(seed).follow()?;
        println!("{followed}");
        held += usize::from(followed.holds());
        all += 1;
    }
    println!("in {held} of {all} the first advice gave at least 70 % of the gain it predicted");
    Ok(held * 100 >= all * GOAL)
}
