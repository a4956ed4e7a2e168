//! Instructions per packet of workload A, counted under valgrind.
//!
//! Two runs of different length are counted and subtracted, so that starting
//! the process and building the world cost nothing; each is counted twice,
//! and must come out the same.

use std::path::Path;
use std::process::Command;

use super::measure::Run;
use crate::{Failed, process};

/// Virtual seconds of the two runs. In the first second the window opens.
const SECONDS: [&str; 2] = ["1", "2"];

/// Counts and prints.
pub fn run(program: &Path) -> Result<(), Failed> {
    if !process::has("valgrind") {
        let what = "--instructions needs valgrind: install the package valgrind";
        return Err(Failed::Usage(what.into()));
    }
    let mut counts = Vec::new();
    for seconds in SECONDS {
        let first = count(program, seconds)?;
        let again = count(program, seconds)?;
        println!(
            "single-flow, {seconds} s: {} instructions, {} packets{}",
            first.0,
            first.1,
            if first == again {
                ", the same when repeated".into()
            } else {
                format!("; REPEATED DIFFERENTLY: {}", again.0)
            }
        );
        counts.push(first);
    }
    let instructions = counts[1].0.saturating_sub(counts[0].0);
    let packets = counts[1].1.saturating_sub(counts[0].1).max(1);
    println!(
        "per packet: {:.1} instructions",
        instructions as f64 / packets as f64
    );
    Ok(())
}

/// Instructions and packets of one run.
fn count(program: &Path, seconds: &str) -> Result<(u64, u64), Failed> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["single-flow", seconds, "untimed"]);
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    let said = Run::parse(&String::from_utf8_lossy(&output.stdout));
    let talk = String::from_utf8_lossy(&output.stderr);
    match collected(&talk) {
        Some(instructions) if output.status.success() => {
            Ok((instructions, said.number("packets") as u64))
        }
        _ => Err(Failed::Usage(format!(
            "`{}` failed:\n{talk}",
            process::spelled(&command)
        ))),
    }
}

/// The number behind `Collected :` in callgrind's report.
fn collected(talk: &str) -> Option<u64> {
    let line = talk.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_report() {
        let talk = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(talk), Some(123_456));
        assert_eq!(collected("valgrind: no such file"), None);
    }
}
