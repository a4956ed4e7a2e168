//! `cargo xtask proof`: the gradings that take too long for CI, one after the other.
//!
//! Each keeps its result in `docs/`, so that the difference to the last one shows. With
//! `--kernels DIR` captures of kernels (`cargo xtask grade --make`) are graded as well;
//! without it that part is named as not run.

use crate::{Failed, grade};

/// The gradings of simulated worlds.
const WORLDS: [&str; 6] = [
    "--seeds 20 --write",
    "--fat --seeds 10 --write",
    "--shared --seeds 10 --write",
    "--elements --seeds 10 --write",
    "--counterfactual --seeds 5 --write",
    "--next --seeds 30 --write",
];

/// The gradings of kernels' captures.
const KERNELS: [&str; 3] = ["--write", "--two --write", "--metamorphic --write"];

/// Runs all of them; stops at the first that cannot be run.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let directory = words
        .iter()
        .position(|word| word == "--kernels")
        .and_then(|place| words.get(place + 1));
    for text in WORLDS {
        graded(text)?;
    }
    let Some(directory) = directory else {
        println!("not run: captures of kernels (--kernels DIR)");
        return graded("--metamorphic --seeds 1 --write");
    };
    for text in KERNELS {
        graded(&format!("--kernels {directory} {text}"))?;
    }
    Ok(())
}

fn graded(text: &str) -> Result<(), Failed> {
    println!("\n== cargo xtask grade {text}");
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    grade::run(&words)
}
