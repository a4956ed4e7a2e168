//! `cargo xtask duel --rivals`: one flow of the kernel against one of the engine,
//! of the same algorithm, on each path of `experiments/duel`.

use std::process::ExitCode;
use std::time::Duration;

use gigatcp_live::Options;
use gigatcp_plan::Series;
use gigatcp_proof::{Rivals, Trouble, compete};

const PLAN: &str = include_str!("../../../experiments/duel/plan.toml");
/// What is asked for.
const JAIN: f64 = 0.95;

fn main() -> ExitCode {
    match words().and_then(|(only, seconds)| measure(&only, seconds)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rivals: {error}");
            ExitCode::from(2)
        }
    }
}

/// Only these series, and how long each counts.
fn words() -> Result<(Vec<String>, u64), String> {
    let (mut only, mut seconds) = (Vec::new(), 20);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--series" => only.push(value),
            "--seconds" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                seconds = number.ok_or(format!("`{value}` is no number of seconds"))?;
            }
            odd => return Err(format!("what is `{odd}`? There are --series and --seconds")),
        }
    }
    Ok((only, seconds))
}

fn measure(only: &[String], seconds: u64) -> Result<(), String> {
    let plan = gigatcp_plan::parse("duel", PLAN.as_bytes(), &[]);
    let plan = plan.map_err(|found| found.to_string())?;
    let wanted = |series: &&Series| only.is_empty() || only.contains(&series.name);
    println!("{seconds} s after a warm-up of a fifth of that; Mbit/s of one flow each");
    println!("series                                                     engine    kernel    Jain");
    let mut found = Vec::new();
    for series in plan.series.iter().filter(wanted) {
        let split =
            compete(&rivals(series, plan.seed, seconds)).map_err(|trouble| match trouble {
                Trouble::Lab(error) => match error.hint() {
                    Some(hint) => format!("{error}\n  {hint}"),
                    None => error.to_string(),
                },
                Trouble::Failed(what) => what,
            })?;
        let jain = split.jain();
        found.push(jain);
        let note = match split.stalls {
            0 => String::new(),
            stalls => format!("  the path had lost its processor {stalls} times"),
        };
        println!(
            "{:<10} {:<46} {:8.1}  {:8.1}  {jain:6.3}{note}",
            series.name,
            series.title,
            split.engine / 1e6,
            split.kernel / 1e6
        );
    }
    found.sort_by(f64::total_cmp);
    let (Some(least), middle) = (found.first(), found.get(found.len() / 2)) else {
        return Err(format!("no series of those names: {}", only.join(", ")));
    };
    let met = found.iter().filter(|jain| **jain >= JAIN).count();
    println!(
        "Jain: least {least:.3}, middle {:.3}; {met} of {} at {JAIN} or more",
        middle.unwrap_or(least),
        found.len()
    );
    Ok(())
}

fn rivals(series: &Series, seed: u64, seconds: u64) -> Rivals {
    let (scenario, flow) = (&series.scenario, &series.scenario.flows[0]);
    let [forward, reverse] = scenario.path();
    // The kernel has one CUBIC, which is what `cubic-linux` restates.
    let control = flow.congestion.name.trim_end_matches("-linux").to_owned();
    Rivals {
        forward,
        reverse,
        seed,
        mtu: u16::try_from(scenario.sender.mtu).unwrap_or(u16::MAX),
        engine: Options {
            congestion: flow.congestion,
            slow_start: flow.slow_start,
            initial_ssthresh: flow.initial_ssthresh,
            ..Options::of_profile(scenario.sender.profile)
        },
        control,
        warm_up: Duration::from_millis(seconds * 200),
        window: Duration::from_secs(seconds),
    }
}
