//! `cargo xtask proof --doctor`: compares the costs that `gigatcp doctor` states with tests.
//!
//! Exit code 0 if the goals are met, 1 if not, 2 if the environment does not permit a test.

use std::process::ExitCode;

use gigatcp_emulate::Side;
use gigatcp_interop::doctor::{Bed, Link, costs};
use gigatcp_units::{Duration, Rate};

fn main() -> ExitCode {
    let done = good_host().and_then(|is_good| Ok(is_good & cost_table()?));
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("doctor: {error}");
            ExitCode::from(2)
        }
    }
}

/// Checks that a host with the kernel's defaults on a saturated path has no findings.
fn good_host() -> Result<bool, String> {
    let link = Link {
        rate: Rate::from_bps(20_000_000),
        rtt: Duration::from_millis(20),
        loss: None,
    };
    let bed = Bed::new(link)?;
    let mut found = Vec::new();
    for side in Side::ALL {
        found.extend(bed.examine(side)?.findings);
    }
    // Counters of the machine: they include other work on it.
    found.retain(|found| !found.rule.id.starts_with("softnet"));
    let names: Vec<&str> = found.iter().map(|found| found.rule.id).collect();
    let mbps = bed.transfer()?.mbps;
    println!(
        "Good host, 20 Mbit/s and 20 ms: {} found {}; {mbps:.1} of {:.1} Mbit/s",
        names.len(),
        names.join(", "),
        link.payload().as_bps() as f64 * 1e-6
    );
    Ok(names.is_empty())
}

fn cost_table() -> Result<bool, String> {
    println!("\n{}", costs::heading());
    let (mut right, mut all) = (0, 0);
    costs::costs(&mut |cost| {
        println!("{cost}");
        right += usize::from(cost.is_right());
        all += 1;
    })?;
    println!("{right} of {all} costs are within 20 % of what a test shows");
    Ok(right == all)
}
