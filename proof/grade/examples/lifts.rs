//! Prints the effect of lifting each cause in graded worlds, compared to the injected one.
//!
//! Usage: `lifts [FIRST SEEDS [usual|fat|shared [CAUSE]]]`

use gigatcp_grade::counterfactual::{Counterfactual, Verdict, counterfactual, holds};
use gigatcp_grade::worlds::{CAUSES, Paths, world};

/// Goodput without `cause`, divided by goodput with all causes.
fn factor(runs: &Counterfactual, cause: &str) -> f64 {
    let found = runs.lifted.iter().find(|(lifted, _)| *lifted == cause);
    found.map_or(1.0, |(_, goodput)| goodput / runs.goodput_bps.max(1.0))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
    let (Ok(first), Ok(seeds)) = (number(0, 1), number(1, 5)) else {
        eprintln!("lifts: `FIRST` and `SEEDS` are numbers");
        std::process::exit(2);
    };
    let paths = match words.get(2).map(String::as_str) {
        Some("fat") => Paths::Fat,
        Some("shared") => Paths::Shared,
        _ => Paths::Usual,
    };
    let wanted = |cause: &&&str| words.get(3).is_none_or(|only| only == **cause);
    // A capture fault limits nothing.
    let causes = CAUSES.iter().filter(|cause| **cause != "capture-artifact");
    for cause in causes.filter(wanted) {
        for seed in first..first + seeds {
            let world = world(cause, seed, paths);
            let runs = match counterfactual(&world) {
                Ok(runs) => runs,
                Err(error) => {
                    println!("{cause} {seed}: {error}");
                    continue;
                }
            };
            let own = factor(&runs, cause);
            let cost = (own - 1.0) * runs.goodput_bps;
            let others = runs.lifted.iter().filter(|(lifted, _)| lifted != cause);
            let best = others
                .max_by(|a, b| a.1.total_cmp(&b.1))
                .map_or("none", |(rival, _)| rival);
            let mark = match holds(&runs, cause, cost) {
                Verdict::Holds => "ok   ",
                _ => "WRONG",
            };
            println!(
                "{mark} {cause:30} {seed:3} {:8.2} Mbit/s x {own:6.2}; {best} x {:.2} [{}]",
                runs.goodput_bps / 1e6,
                factor(&runs, best),
                world.about
            );
        }
    }
}
