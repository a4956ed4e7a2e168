//! `cargo xtask bench`: the simulator's workloads, compared with their goals.
//!
//! Each run is a separate process (`drive/sim/examples/bench.rs`), after a warm-up that is
//! discarded. Minimum, median and maximum wall time are reported, because on a shared machine
//! single numbers are worthless; the median is compared with the goal. Goals are shown, never
//! enforced: a slow machine does not break the build.
//!
//! `--short` runs less often and with the build of the tests, which is available in CI: it shows
//! that the benchmark works, not how fast anything is. `--instructions` counts instructions under
//! valgrind instead, which are the same on every run and every machine of one type. It finds
//! regressions of a percent that wall time hides.
//!
//! `--linear` counts them for twice the work along each axis (`linear`), and fails if anything grows
//! faster than that.
//!
//! Then networks (`networks`): 100 Gbit/s, ten hops, flows that come and go, managed queues
//! compared with FIFO, and ns-2. `--networks` runs only those.
//!
//! Then the rate of reading captures (`captures`), by CPU time, and of analyzing their
//! connections (`summary`, or `--why` alone), compared with other programs.
//!
//! Then the engine's goodput on known paths, compared with the theoretical maximum (`figures`):
//! goals of goodput, and with `--grid` the grid that is stored as a snapshot. Those are in
//! virtual time, exact, and the same on every machine.

mod captures;
mod figures;
mod instructions;
mod linear;
mod measure;
mod networks;
mod summary;

use std::path::Path;

use crate::{Failed, process};
use measure::Run;

/// Workload and its goals.
struct Workload {
    name: &'static str,
    what: &'static str,
    /// Wall seconds that suffice, and the target.
    wall_goal: Option<(f64, f64)>,
    /// Peak memory that suffices, in MiB.
    memory_goal: Option<f64>,
}

const WORKLOADS: [Workload; 2] = [
    Workload {
        name: "single-flow",
        what: "A: one flow, 10 Gbit/s, 80 ms, MTU 9000, 10 s, CUBIC",
        wall_goal: Some((0.3, 0.15)),
        memory_goal: Some(40.0),
    },
    Workload {
        name: "dumbbell",
        what: "C: 100 flows, 1 Gbit/s, 20 ms, MTU 1500, 10 s, Reno",
        wall_goal: Some((0.5, 0.25)),
        memory_goal: None,
    },
];

/// Segments in flight of the workloads that show a constant cost.
const IN_FLIGHT: [&str; 4] = ["10", "1000", "100000", "1000000"];

/// Maximum ratio of the highest cost per packet to the lowest.
const FLAT: f64 = 1.25;

/// Runs all workloads and prints their cost, then the goals of goodput.
pub fn run(words: &[String]) -> Result<(), Failed> {
    match words.split_first() {
        Some((table, rest)) if table == "--grid" => return figures::grid(rest),
        Some((table, rest)) if table == "--goals" => return figures::goals(rest),
        Some((table, rest)) if table == "--why" => return summary::run(rest),
        _ => {}
    }
    let mut is_short = false;
    let mut count_instructions = false;
    let mut only_linear = false;
    let mut only_networks = false;
    for word in words {
        match word.as_str() {
            "--short" => is_short = true,
            "--instructions" => count_instructions = true,
            "--linear" => only_linear = true,
            "--networks" => only_networks = true,
            _ => {
                let known = "--short, --instructions, --linear, --networks; --goals, --grid and --why come first";
                return Err(Failed::Usage(format!(
                    "bench: what is {word}? known: {known}"
                )));
            }
        }
    }
    if only_linear {
        return linear::run(profile(is_short));
    }
    let runs = if is_short { 3 } else { 7 };
    let program = process::build_example("gigatcp-sim", "bench", profile(is_short))?;
    if is_short {
        println!("(built with assertions: without --short the figures are those of packages)");
    }
    if count_instructions {
        return instructions::run(&program);
    }
    if only_networks {
        return networks::run(&program, runs);
    }
    for workload in &WORKLOADS {
        let measured = measure::several(&program, workload.name, runs)?;
        println!("{} ({})", workload.name, workload.what);
        show(&measured, workload.wall_goal, workload.memory_goal);
    }
    flat_cost(&program, runs)?;
    networks::run(&program, runs)?;
    captures::run(is_short, runs)?;
    let words = if is_short {
        vec!["--short".into()]
    } else {
        Vec::new()
    };
    summary::run(&words)?;
    if is_short {
        Ok(())
    } else {
        figures::goals(&[])
    }
}

/// Profile that workloads are built under.
fn profile(is_short: bool) -> &'static str {
    if is_short { "test" } else { process::MEASURE }
}

/// Compares the cost per packet with ten to a million segments in flight. By CPU time, which
/// other work on the machine affects less than wall time.
fn flat_cost(program: &Path, runs: usize) -> Result<(), Failed> {
    let mut costs = Vec::new();
    for segments in IN_FLIGHT {
        let name = format!("in-flight-{segments}");
        let measured = measure::several(program, &name, runs)?;
        println!("{name} (one flow, {segments} segments of 1448 octets in flight)");
        show(&measured, None, None);
        costs.push(middle(&measured, Run::cpu_per_packet));
    }
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let most = costs.iter().copied().fold(0.0, f64::max);
    println!(
        "flat cost: processor time per packet, highest to lowest: {:.2}{}",
        most / least,
        beside("", most / least, FLAT)
    );
    Ok(())
}

/// Prints the measurements of one workload.
fn show(runs: &[Run], wall_goal: Option<(f64, f64)>, memory_goal: Option<f64>) {
    let mut walls: Vec<f64> = runs.iter().map(|run| run.number("wall_s")).collect();
    walls.sort_by(f64::total_cmp);
    let wall = middle(runs, |run| run.number("wall_s"));
    let goals = wall_goal.map_or(String::new(), |(goal, target)| {
        beside(" s", wall, goal) + &format!("; target {target} s: {:.2} of it", wall / target)
    });
    println!(
        "  wall        {:.3} / {wall:.3} / {:.3} s (min, median, max of {}){goals}",
        walls[0],
        walls[walls.len() - 1],
        runs.len()
    );
    println!(
        "  CPU         {:.3} s user, {:.3} s system",
        middle(runs, |run| run.user_s),
        middle(runs, |run| run.system_s)
    );
    let memory = middle(runs, |run| run.peak_mib);
    let goal = memory_goal.map_or(String::new(), |goal| beside(" MiB", memory, goal));
    println!("  peak memory {memory:.1} MiB{goal}");
    let per_packet = middle(runs, |run| run.number("ns_per_packet"));
    println!(
        "  per packet  {per_packet:.1} ns, {:.2} million packets a second",
        1e3 / per_packet
    );
    println!(
        "  result      {:.2} Mbit/s goodput, {} drops, fairness {:.3}, {} packets in {} s",
        runs[0].number("goodput_mbps"),
        runs[0].number("drops"),
        runs[0].number("jain"),
        runs[0].number("packets"),
        runs[0].number("simulated_s"),
    );
}

/// Comparison of a measurement with its goal, as text.
fn beside(unit: &str, measured: f64, goal: f64) -> String {
    let verdict = if measured <= goal { "met" } else { "missed" };
    format!(
        "; goal {goal}{unit} {verdict}: {:.2} of it",
        measured / goal
    )
}

/// Median of `of` over the runs.
fn middle(runs: &[Run], of: impl Fn(&Run) -> f64) -> f64 {
    let mut numbers: Vec<f64> = runs.iter().map(of).collect();
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    if numbers.len() % 2 == 1 {
        numbers[half]
    } else {
        (numbers[half - 1] + numbers[half]) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_even_number_lies_between_the_two_in_the_middle() {
        let runs = |walls: &[f64]| -> Vec<Run> {
            let run = |wall: &f64| Run::parse(&format!("wall_s {wall}"));
            walls.iter().map(run).collect()
        };
        let wall = |run: &Run| run.number("wall_s");
        assert_eq!(middle(&runs(&[3.0, 1.0, 2.0]), wall), 2.0);
        assert_eq!(middle(&runs(&[4.0, 1.0, 2.0, 3.0]), wall), 2.5);
    }

    #[test]
    fn a_goal_is_met_at_its_value_and_missed_above() {
        assert!(beside(" s", 0.3, 0.3).contains("met: 1.00"));
        assert!(beside(" s", 0.6, 0.3).contains("missed: 2.00"));
    }
}
