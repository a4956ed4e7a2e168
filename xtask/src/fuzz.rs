//! `cargo xtask fuzz TARGET|all [--seconds N]`: libFuzzer on a target of the crate `fuzz`, or on one
//! after the other.
//!
//! It begins with the target's corpus. The instrumentation is that of LLVM's coverage pass, which
//! the stable compiler offers, in a separate target directory. Inputs that libFuzzer keeps go to
//! `target/fuzz/found/TARGET`. An input that causes a failure belongs into `fuzz/corpus/TARGET`,
//! where the tests replay it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Failed, process, top};

/// Compiler flags for coverage counters and a table of program counters, as libFuzzer reads them.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
                            -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
                            -Cllvm-args=-sanitizer-coverage-pc-table \
                            -Cllvm-args=-sanitizer-coverage-trace-compares \
                            -Ccodegen-units=1 -Cdebug-assertions";

/// Default search time in seconds.
const SECONDS: &str = "60";

/// Name that stands for all targets, one after the other.
pub const ALL: &str = "all";

/// Builds the instrumented program and runs it.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let targets = targets()?;
    let usage = || {
        let names = targets.join("|");
        Failed::Usage(format!(
            "usage: cargo xtask fuzz {ALL}|{names} [--seconds N]"
        ))
    };
    let (chosen, seconds) = match words {
        [chosen] => (chosen.as_str(), SECONDS),
        [chosen, flag, seconds] if flag == "--seconds" => (chosen.as_str(), seconds.as_str()),
        _ => return Err(usage()),
    };
    let is_chosen = |target: &&String| chosen == ALL || *target == chosen;
    let chosen: Vec<&String> = targets.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        return Err(usage());
    }
    let program = built()?;
    for target in chosen {
        println!("\n== fuzz {target}, {seconds} s");
        searched(&program, target, seconds)?;
    }
    Ok(())
}

/// All targets: each has a corpus.
fn targets() -> Result<Vec<String>, Failed> {
    let place = top().join("fuzz/corpus");
    let failed =
        |error: io::Error| Failed::Usage(format!("cannot read {}: {error}", place.display()));
    let entries = std::fs::read_dir(&place).map_err(failed)?;
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        names.push(name.to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(names)
}

/// The instrumented program.
fn built() -> Result<PathBuf, Failed> {
    let folder = top().join("target/fuzz");
    let mut build = process::cargo(&["build", "--release", "--package", "gigatcp-fuzz"]);
    build.args(["--bin", "guided", "--features", "guided", "--target-dir"]);
    // If a target is named, build scripts are not instrumented.
    let host = host()?;
    build.arg(&folder).args(["--target", &host]);
    build.env("RUSTFLAGS", INSTRUMENTED);
    process::succeed(build)?;
    Ok(folder.join(&host).join("release/guided"))
}

/// Searches for inputs that break a target.
fn searched(program: &Path, target: &str, seconds: &str) -> Result<(), Failed> {
    let folder = top().join("target/fuzz");
    let found = folder.join("found").join(target);
    std::fs::create_dir_all(&found)
        .map_err(|error| Failed::Usage(format!("cannot make {}: {error}", found.display())))?;
    let mut guided = Command::new(program);
    guided
        .env("FUZZ_TARGET", target)
        .args([&found, &top().join("fuzz/corpus").join(target)])
        .arg(format!("-max_total_time={seconds}"))
        .arg("-max_len=8192")
        .arg(format!("-artifact_prefix={}/", folder.display()));
    if process::run(guided)?.success() {
        Ok(())
    } else {
        Err(Failed::Found)
    }
}

/// Compiler's name of this machine.
fn host() -> Result<String, Failed> {
    let output = Command::new("rustc")
        .arg("-vV")
        .output()
        .map_err(|error| Failed::Usage(format!("cannot run rustc: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(String::from)
        .ok_or_else(|| Failed::Usage("rustc -vV names no host".into()))
}
