//! `cargo xtask grade`: how often `gigatcp why` finds the correct cause, and the fit of its
//! weights.
//!
//! A separate crate grades (`proof/grade`): simulated worlds with one known cause, and captures
//! of the running kernel whose counters prove the cause. `--make DIR` makes such captures, which
//! requires root; `--kernels DIR` grades them. `--fit` fits the weights to worlds with seeds
//! below 1,000,000 and to kernels' captures, and writes `core/why/src/weights/`. `--tester
//! --seeds A..B [--peer iperf3]` runs `gigatcp test` over emulated paths, which requires root.
//! `--write` stores a grade in `docs/`.

use std::path::PathBuf;
use std::process::Command;

use crate::{Failed, files, process, top};

/// Directory of the weights.
const WEIGHTS: &str = "core/why/src/weights";

/// Stored grades: options that select one, and the ending of its file. The first that fits counts.
const KEPT: [(&[&str], &str); 12] = [
    (&["--tester", "iperf3"], "-tester-stock"),
    (&["--tester"], "-tester"),
    (&["--whatif"], "-whatif"),
    (&["--counterfactual"], "-counterfactual"),
    (&["--metamorphic"], "-metamorphic"),
    (&["--two"], "-two"),
    (&["--next"], "-next"),
    (&["--kernels"], "-kernels"),
    (&["--fat"], "-fat"),
    (&["--elements"], "-elements"),
    (&["--shared"], "-shared"),
    (&[], ""),
];

/// File of a stored grade.
fn kept(words: &[String]) -> String {
    let has = |option: &&str| words.iter().any(|word| word == option);
    let fits = |(options, _): &&(&[&str], &str)| options.iter().all(has);
    let ending = KEPT.iter().find(fits).map_or("", |(_, ending)| ending);
    format!("proof/results/grade{ending}.txt")
}

/// Builds a program of the crate; returns its path.
fn build(name: &str) -> Result<PathBuf, Failed> {
    let mut build = process::cargo(&["build", "--quiet", "--release"]);
    build.args(["--package", "gigatcp-grade", "--bin", name]);
    process::succeed(build)?;
    Ok(process::target().join("release").join(name))
}

/// Runs the grading with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    if let Some(place) = words.iter().position(|word| word == "--make") {
        let mut command = Command::new(build("kernels")?);
        command.args(["make", "--out"]).args(&words[place + 1..]);
        return ended(command);
    }
    let mut command = if words.iter().any(|word| word == "--tester") {
        // It is in the directory of that program.
        process::build_command("release")?;
        Command::new(build("tester")?)
    } else {
        Command::new(build("grade")?)
    };
    command.current_dir(top());
    if words.iter().any(|word| word == "--fit") {
        command.args(words).args(["--write", WEIGHTS]);
        return ended(command);
    }
    let keeps = words.iter().any(|word| word == "--write");
    let rest: Vec<&String> = words.iter().filter(|word| *word != "--write").collect();
    command.args(rest.iter().filter(|word| **word != "--tester"));
    let mut text = String::from("# cargo xtask grade --write");
    for word in &rest {
        text.push_str(&format!(" {word}"));
    }
    let (status, printed) = process::shown(command)?;
    match status.code() {
        Some(0) if keeps => files::write(&top().join(kept(words)), format!("{text}\n{printed}")),
        Some(0) => Ok(()),
        _ => Err(Failed::Usage(
            "the grading did not begin (see above)".into(),
        )),
    }
}

/// Runs a program whose exit code is the result.
fn ended(mut command: Command) -> Result<(), Failed> {
    command.current_dir(top());
    match process::run(command)?.code() {
        Some(0) => Ok(()),
        _ => Err(Failed::Usage("it did not end well (see above)".into())),
    }
}
