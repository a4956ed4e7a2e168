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

use crate::{Failed, process, top};

/// Directory of the weights.
const WEIGHTS: &str = "core/why/src/weights";

/// Returns the file of a stored grade.
fn kept(words: &[String]) -> &'static str {
    let has = |option: &str| words.iter().any(|word| word == option);
    if has("--tester") && has("iperf3") {
        "docs/grade-tester-stock.txt"
    } else if has("--tester") {
        "docs/grade-tester.txt"
    } else if has("--whatif") && has("--kernels") {
        "docs/grade-whatif-kernels.txt"
    } else if has("--whatif") {
        "docs/grade-whatif.txt"
    } else if has("--counterfactual") {
        "docs/grade-counterfactual.txt"
    } else if has("--metamorphic") {
        "docs/grade-metamorphic.txt"
    } else if has("--two") {
        "docs/grade-two.txt"
    } else if has("--next") {
        "docs/grade-next.txt"
    } else if has("--kernels") {
        "docs/grade-kernels.txt"
    } else if has("--fat") {
        "docs/grade-fat.txt"
    } else if has("--elements") {
        "docs/grade-elements.txt"
    } else if has("--shared") {
        "docs/grade-shared.txt"
    } else {
        "docs/grade.txt"
    }
}

/// Builds a program of the crate; returns its path.
fn build(name: &str) -> Result<PathBuf, Failed> {
    let words = [
        "build",
        "--quiet",
        "--release",
        "--package",
        "gigatcp-grade",
    ];
    let mut build = process::cargo(&words);
    build.args(["--bin", name]);
    if process::run(build)?.success() {
        return Ok(process::target().join("release").join(name));
    }
    Err(Failed::Usage(format!("{name} does not build (see above)")))
}

/// Builds the command that the tester's grading runs, in the directory of that program.
fn gigatcp() -> Result<(), Failed> {
    let words = ["build", "--quiet", "--release", "--package", "gigatcp-cli"];
    match process::run(process::cargo(&words))?.success() {
        true => Ok(()),
        false => Err(Failed::Usage("gigatcp does not build (see above)".into())),
    }
}

/// Runs the grading with the given arguments.
pub fn run(words: &[String]) -> Result<(), Failed> {
    if let Some(place) = words.iter().position(|word| word == "--make") {
        let mut command = Command::new(build("kernels")?);
        command.args(["make", "--out"]).args(&words[place + 1..]);
        return ended(command);
    }
    let mut command = if words.iter().any(|word| word == "--tester") {
        gigatcp()?;
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
    text.push('\n');
    let status = process::run_lines(command, |line| {
        println!("{line}");
        text.push_str(line);
        text.push('\n');
    })?;
    let kept = kept(words);
    match status.code() {
        Some(0) if keeps => std::fs::write(top().join(kept), text)
            .map_err(|error| Failed::Usage(format!("cannot write {kept}: {error}"))),
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
