//! `cargo xtask duel --rivals`: one flow of the kernel against one of the engine. Both use the
//! same algorithm, on each path of `experiments/duel`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use gigatcp_interop::{Rivals, Split, Trouble, compete};
use gigatcp_live::Options;
use gigatcp_plan::Series;
use gigatcp_units::Bytes;

const PLAN: &str = include_str!("../../../experiments/duel/plan.toml");
/// Minimum Jain's index.
const JAIN: f64 = 0.95;

fn main() -> ExitCode {
    match words().and_then(|words| measure(&words)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rivals: {error}");
            ExitCode::from(2)
        }
    }
}

/// Command line options.
struct Words {
    /// Names of the series to run; empty for all.
    only: Vec<String>,
    /// Measured seconds per series.
    seconds: u64,
    /// Number of RTTs tried per path. These are the plan's RTT, and others within one packet time
    /// at the bottleneck.
    phases: u32,
}

fn words() -> Result<Words, String> {
    let (mut only, mut seconds, mut phases) = (Vec::new(), 20, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` needs a value"))?;
        match word.as_str() {
            "--series" => only.push(value),
            "--seconds" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                seconds = number.ok_or(format!("`{value}` is no number of seconds"))?;
            }
            "--phases" => {
                let number = value.parse().ok().filter(|number| *number > 0);
                phases = number.ok_or(format!("`{value}` is no number of phases"))?;
            }
            odd => {
                return Err(format!(
                    "what is `{odd}`? There are --series NAME, --seconds N and --phases N"
                ));
            }
        }
    }
    Ok(Words {
        only,
        seconds,
        phases,
    })
}

fn measure(words: &Words) -> Result<(), String> {
    let Words {
        only,
        seconds,
        phases,
    } = words;
    let plan =
        gigatcp_plan::parse("duel", PLAN.as_bytes(), &[]).map_err(|found| found.to_string())?;
    let wanted = |series: &&Series| only.is_empty() || only.contains(&series.name);
    println!("{seconds} s after a warm-up of a fifth of that; Mbit/s of one flow each");
    println!("series                                                     engine    kernel    Jain");
    let mut found = Vec::new();
    for series in plan.series.iter().filter(wanted) {
        let mut all = Split::default();
        for phase in 0..*phases {
            let rivals = rivals(series, plan.seed, *seconds);
            let split = compete(&at_phase(rivals, phase, *phases)).map_err(said)?;
            if *phases > 1 {
                println!("  at phase {phase}/{phases}{:46}{}", "", shares(&split));
            }
            all.engine += split.engine / f64::from(*phases);
            all.kernel += split.kernel / f64::from(*phases);
            all.stalls += split.stalls;
        }
        found.push(all.jain());
        let (name, title) = (&series.name, &series.title);
        println!("{name:<10} {title:<46} {}", shares(&all));
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

fn said(trouble: Trouble) -> String {
    match trouble {
        Trouble::Setup(error) => match error.hint() {
            Some(hint) => format!("{error}\n  {hint}"),
            None => error.to_string(),
        },
        Trouble::Failed(what) => what,
    }
}

fn shares(split: &Split) -> String {
    let note = match split.stalls {
        0 => String::new(),
        stalls => format!("  the path's thread was not scheduled {stalls} times"),
    };
    format!(
        "{:8.1}  {:8.1}  {:6.3}{note}",
        split.engine / 1e6,
        split.kernel / 1e6,
        split.jain()
    )
}

/// Lengthens the RTT by a part of the packet time at the bottleneck. This phase decides which
/// sender fills a free place in a full queue first. See Floyd and Jacobson, "On traffic phase
/// effects in packet-switched gateways", 1992.
fn at_phase(mut rivals: Rivals, phase: u32, phases: u32) -> Rivals {
    let rates = rivals.forward.iter().filter_map(|hop| hop.rate);
    if let Some(rate) = rates.min()
        && let Some(last) = rivals.forward.last_mut()
    {
        let packet = rate.time_for(Bytes::new(rivals.mtu.into()));
        last.one_way_delay += packet * phase.into() / phases.into();
    }
    rivals
}

fn rivals(series: &Series, seed: u64, seconds: u64) -> Rivals {
    let (scenario, flow) = (&series.scenario, &series.scenario.flows[0]);
    let [forward, reverse] = scenario.path();
    // The kernel has one CUBIC, which `cubic-linux` reimplements.
    let control = flow.congestion.name().trim_end_matches("-linux").to_owned();
    Rivals {
        forward,
        reverse,
        seed,
        mtu: u16::try_from(scenario.sender.mtu).unwrap_or(u16::MAX),
        engine: Options {
            congestion: Arc::new(flow.congestion.of_engine()),
            slow_start: flow.slow_start,
            initial_ssthresh: flow.initial_ssthresh,
            ..Options::of_profile(scenario.sender.profile)
        },
        control,
        warm_up: Duration::from_millis(seconds * 200),
        window: Duration::from_secs(seconds),
    }
}
