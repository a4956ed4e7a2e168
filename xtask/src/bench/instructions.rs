//! Instructions per packet, counted under valgrind.
//!
//! Two runs of different length are counted and subtracted, so that starting
//! the process and building the world cost nothing. The first is counted twice,
//! and must come out the same.

use std::path::Path;
use std::process::Command;

use super::beside;
use super::measure::Run;
use super::networks::QUEUE_GOAL;
use crate::{Failed, process};

/// A workload: name and argument of the shorter and of the longer run.
type Pair = [(&'static str, &'static str); 2];

/// Virtual seconds. In the first the window opens.
const fn seconds(name: &'static str) -> Pair {
    [(name, "1"), (name, "2")]
}

/// Workloads A and C, and many flows over ten hops.
const WORKLOADS: [Pair; 3] = [
    seconds("single-flow"),
    seconds("dumbbell"),
    [("ten-hops-100", "1"), ("ten-hops-200", "1")],
];

/// Managed queues compared with FIFO: a hop alone, and workload C.
const QUEUES: [(Pair, [Pair; 4]); 2] = [
    (
        seconds("hop-fifo"),
        [
            seconds("hop-codel"),
            seconds("hop-fq_codel"),
            seconds("hop-red"),
            seconds("hop-pie"),
        ],
    ),
    (
        seconds("dumbbell"),
        [
            seconds("dumbbell-codel"),
            seconds("dumbbell-fq_codel"),
            seconds("dumbbell-red"),
            seconds("dumbbell-pie"),
        ],
    ),
];

/// Counts and prints.
pub fn run(program: &Path) -> Result<(), Failed> {
    if !process::has("valgrind") {
        let what = "--instructions needs valgrind: install the package valgrind";
        return Err(Failed::Usage(what.into()));
    }
    for workload in &WORKLOADS {
        per_packet(program, workload)?;
    }
    for (fifo, managed) in &QUEUES {
        let fifo = per_packet(program, fifo)?;
        for workload in managed {
            let ratio = per_packet(program, workload)? / fifo;
            println!("  to FIFO: {ratio:.2}{}", beside("", ratio, QUEUE_GOAL));
        }
    }
    Ok(())
}

/// Counts a workload, prints what a packet takes, and returns it.
fn per_packet(program: &Path, workload: &Pair) -> Result<f64, Failed> {
    let [shorter, longer] = *workload;
    let first = count(program, shorter)?;
    let again = count(program, shorter)?;
    let second = count(program, longer)?;
    let instructions = second.0.saturating_sub(first.0);
    let packets = second.1.saturating_sub(first.1).max(1);
    let per_packet = instructions as f64 / packets as f64;
    let repeated = match first == again {
        true => "the same when repeated".into(),
        false => format!("REPEATED DIFFERENTLY: {} and {}", first.0, again.0),
    };
    println!(
        "{}: {per_packet:.1} instructions per packet, {packets} packets, {repeated}",
        longer.0
    );
    Ok(per_packet)
}

/// Instructions and packets of one run.
fn count(program: &Path, (name, seconds): (&str, &str)) -> Result<(u64, u64), Failed> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args([name, seconds, "untimed"]);
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
