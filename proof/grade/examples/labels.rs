//! Prints how often the labels of graded worlds hold, and the run time of worlds.
//!
//! Usage: `labels [FIRST SEEDS [usual|fat|shared [CAUSE]]]`

use std::time::Instant;

use gigatcp_grade::worlds::{CAUSES, Paths, world};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: u64| words.get(at).map_or(Ok(default), |word| word.parse());
    let (Ok(first), Ok(seeds)) = (number(0, 1), number(1, 20)) else {
        eprintln!("labels: `FIRST` and `SEEDS` are numbers");
        std::process::exit(2);
    };
    let paths = match words.get(2).map(String::as_str) {
        Some("fat") => Paths::Fat,
        Some("shared") => Paths::Shared,
        _ => Paths::Usual,
    };
    let wanted = |cause: &&&str| words.get(3).is_none_or(|only| only == **cause);
    let begun = Instant::now();
    for cause in CAUSES.iter().filter(wanted) {
        let start = Instant::now();
        let (mut held, mut packets, mut failures) = (0, 0, Vec::new());
        for seed in first..first + seeds {
            match world(cause, seed, paths).check() {
                Ok(facts) => {
                    held += 1;
                    packets += facts.packets;
                }
                Err(error) => failures.push(format!("    seed {seed}: {error}")),
            }
        }
        println!(
            "{cause:30} {held:3} of {seeds} hold, {:6} packets each, {:6.2} s",
            packets / held.max(1),
            start.elapsed().as_secs_f64()
        );
        for failure in failures {
            println!("{failure}");
        }
    }
    println!("{:.1} s", begun.elapsed().as_secs_f64());
}
