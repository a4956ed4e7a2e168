//! `cargo xtask live-soak`: mixed traffic between the engine and the kernel for a chosen time.
//! Reports the compared octets and leaks at the end.
//!
//! Exit code 1 if an octet was lost or a resource leaked, 2 if the environment does not permit a
//! test.

use std::process::ExitCode;
use std::time::Duration;

use gigatcp_interop::{Held, Progress, Soak, Soaked, Trouble};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut minutes, mut seed) = (30.0, 1);
    for pair in words.chunks(2) {
        let value = pair.get(1).map_or("", String::as_str);
        let is_good = match pair[0].as_str() {
            "--minutes" => value.parse().map(|value| minutes = value).is_ok(),
            "--seed" => value.parse().map(|value| seed = value).is_ok(),
            _ => false,
        };
        if !is_good || !(0.0..100_000.0).contains(&minutes) {
            let what = pair.join(" ");
            eprintln!("live-soak: what is `{what}`? There are --minutes N and --seed N");
            return ExitCode::from(2);
        }
    }
    let soak = Soak {
        lasts: Duration::from_secs_f64(minutes * 60.0),
        seed,
    };
    match soak.run(show) {
        Ok(soaked) => judge(&soaked),
        Err(Trouble::Setup(error)) => {
            eprintln!("live-soak: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("  {hint}");
            }
            ExitCode::from(2)
        }
        Err(Trouble::Failed(what)) => {
            println!("live-soak: FAILED: {what}");
            ExitCode::FAILURE
        }
    }
}

fn show(progress: &Progress) {
    let Progress {
        at,
        opened,
        ended,
        compared,
        connections: (connections, time_wait),
        held,
    } = progress;
    eprintln!(
        "{:6.0} s: {opened} opened, {ended} ended, {:.1} MB compared, {:.1} MB resident, \
         {} descriptors, {} threads; the engine has {connections} connections, \
         {time_wait} in TIME-WAIT",
        at.as_secs_f64(),
        *compared as f64 / 1e6,
        held.memory as f64 / 1e6,
        held.descriptors,
        held.threads
    );
}

fn judge(soaked: &Soaked) -> ExitCode {
    let Progress {
        at,
        opened,
        ended,
        compared,
        ..
    } = &soaked.progress;
    println!("live-soak: {:.1} minutes", at.as_secs_f64() / 60.0);
    println!("  connections  {opened} opened, {ended} ended as they should");
    println!("  compared     {compared} octets, none lost, none other");
    let ways = &soaked.path.directions;
    let sum = |of: fn(&gigatcp_emulate::Direction) -> u64| ways.iter().map(of).sum::<u64>();
    println!(
        "  the path     {} packets, {} dropped, {} duplicated, {} reordered",
        sum(|way| way.arrived().packets),
        sum(gigatcp_emulate::Direction::dropped),
        sum(gigatcp_emulate::Direction::duplicated),
        sum(|way| way
            .hops
            .iter()
            .map(|hop| hop.counters.reordered.packets)
            .sum())
    );
    let mb = |octets: u64| octets as f64 / 1e6;
    println!(
        "  memory       {:.1} MB at the start, {:.1} after the warm-up, {:.1} at the end, \
         {:.1} when all was given back",
        mb(soaked.before.memory),
        mb(soaked.warm),
        mb(soaked.last),
        mb(soaked.after.memory)
    );
    let count = |what: &str, of: fn(&Held) -> usize| {
        println!(
            "  {what:12} {} before, {} after",
            of(&soaked.before),
            of(&soaked.after)
        );
    };
    count("descriptors", |held| held.descriptors);
    count("threads", |held| held.threads);
    count("namespaces", |held| held.namespaces);
    let leaks = soaked.leaks();
    if leaks.is_empty() {
        println!("live-soak: nothing lost, nothing left behind");
        ExitCode::SUCCESS
    } else {
        println!("live-soak: FAILED: {}", leaks.join("; "));
        ExitCode::FAILURE
    }
}
