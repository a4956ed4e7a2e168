//! Workloads of networks: managed queues against FIFO, many flows and hops, 100 Gbit/s, ns-2.
//!
//! Workload C is compared with ns-2. Processes that are compared run alternately, and the median
//! of the ratios of pairs is shown: other work on the machine then affects both.

use std::path::Path;
use std::process::{Command, Stdio};

use super::measure::{self, Run};
use super::{beside, middle, show};
use crate::{Failed, process, top};

/// Disciplines that are compared with FIFO.
const QUEUES: [&str; 4] = ["codel", "fq_codel", "red", "pie"];

/// Maximum cost of a packet with a managed queue, relative to FIFO.
pub const QUEUE_GOAL: f64 = 1.3;

/// Goal in nanoseconds per packet at 100 Gbit/s.
const HUNDRED_GIGABIT_NS: f64 = 200.0;

/// Maximum ratio of memory for ten times as many finished flows.
const FLAT_MEMORY: f64 = 1.1;

/// Goal for the time of ns-2 in multiples of ours.
const NS2_GOAL: f64 = 5.0;

/// Workload C for ns-2.
const NS2_SCRIPT: &str = "docs/notes/ns-2/dumbbell.tcl";

/// Runs all of them.
pub fn run(program: &Path, runs: usize) -> Result<(), Failed> {
    let measured = measure::several(program, "ten-hops-1000", runs)?;
    println!("ten-hops-1000 (1000 flows of web search, Poisson arrivals, 10 hops of 10 Gbit/s)");
    show(&measured, None, None);
    // Other work on the machine affects CPU time less than wall time.
    let cpu_ns = middle(&measured, Run::cpu_per_packet) * 1e9;
    println!(
        "  packets     {cpu_ns:.0} ns of processor time each over all hops, {:.2} million a second",
        1e3 / cpu_ns
    );
    let measured = measure::several(program, "hundred-gigabit", runs)?;
    println!("hundred-gigabit (one flow, 100 Gbit/s, 80 ms, MTU 9000, 10 s, CUBIC)");
    show(&measured, None, None);
    let per_packet = middle(&measured, |run| run.number("ns_per_packet"));
    println!(
        "  packets     {per_packet:.0} ns each{}",
        beside(" ns", per_packet, HUNDRED_GIGABIT_NS)
    );
    short_flows(program, runs)?;
    queues(program, runs)?;
    ns2(program, runs)
}

/// Runs 10,000 and 100,000 flows that end, and compares the memory of the process.
fn short_flows(program: &Path, runs: usize) -> Result<(), Failed> {
    let mut memory = Vec::new();
    for count in [10_000, 100_000] {
        let measured = measure::several(program, &format!("short-flows-{count}"), runs)?;
        println!("short-flows-{count} (flows of 3 kB that begin 1 ms apart and end)");
        show(&measured, None, None);
        let after = middle(&measured, |run| run.number("resident_mib"));
        println!("  after all flows have ended: {after:.1} MiB");
        memory.push(after);
    }
    let ratio = memory[1] / memory[0];
    println!(
        "flat memory: 100,000 flows that have ended, to 10,000: {ratio:.2}{}",
        beside("", ratio, FLAT_MEMORY)
    );
    Ok(())
}

/// Compares each discipline with FIFO, on a single hop and in workload C.
fn queues(program: &Path, runs: usize) -> Result<(), Failed> {
    for (kind, fifo) in [("hop", "hop-fifo"), ("dumbbell", "dumbbell")] {
        for queue in QUEUES {
            let name = format!("{kind}-{queue}");
            let ratio = pairs(
                || measure::once(program, &name),
                || measure::once(program, fifo),
                Run::cpu_per_packet,
                runs,
            )?;
            println!(
                "{name}: processor time per packet, to {fifo}: {ratio:.2}{}",
                beside("", ratio, QUEUE_GOAL)
            );
        }
    }
    Ok(())
}

/// Runs workload C here and in ns-2, whole processes alternately.
fn ns2(program: &Path, runs: usize) -> Result<(), Failed> {
    if !process::has("ns") {
        println!("dumbbell against ns-2: `ns` is not installed (Debian: ns2)");
        return Ok(());
    }
    let script = || {
        let mut command = Command::new("ns");
        command.arg(top().join(NS2_SCRIPT)).stdout(Stdio::piped());
        measure::run(command)
    };
    let ratio = pairs(
        script,
        || measure::once(program, "dumbbell"),
        |run| run.user_s + run.system_s,
        runs,
    )?;
    let verdict = if ratio >= NS2_GOAL { "met" } else { "missed" };
    println!("dumbbell: processor time in ns-2, to here: {ratio:.2}; goal {NS2_GOAL} {verdict}");
    Ok(())
}

/// Median ratio of the costs `of` two commands, run alternately.
fn pairs(
    first: impl Fn() -> Result<Run, Failed>,
    second: impl Fn() -> Result<Run, Failed>,
    of: impl Fn(&Run) -> f64,
    runs: usize,
) -> Result<f64, Failed> {
    let mut ratios = Vec::new();
    for _ in 0..runs {
        ratios.push(of(&first()?) / of(&second()?));
    }
    ratios.sort_by(f64::total_cmp);
    Ok(ratios[ratios.len() / 2])
}
