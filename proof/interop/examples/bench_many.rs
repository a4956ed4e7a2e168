//! Part of `cargo xtask bench-live` about many connections. It measures the memory of an idle
//! connection, and how a thousand senders share one emulated path; both are compared with the
//! kernel.

use std::process::ExitCode;
use std::time::Duration;

use gigatcp_interop::{Shares, Sharing, Trouble, idle, share};
use gigatcp_units::{Bytes, Duration as Span, Rate};

/// Minimum Jain's index of a shared path.
const JAIN: f64 = 0.9;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let is_short = words.iter().any(|word| word == "--short");
    if let Some(odd) = words.iter().find(|word| *word != "--short") {
        eprintln!("bench-many: what is `{odd}`? There is `--short`");
        return ExitCode::from(2);
    }
    match measure(is_short) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Trouble::Setup(error)) => {
            eprintln!("bench-many: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("  {hint}");
            }
            ExitCode::from(2)
        }
        Err(Trouble::Failed(what)) => {
            eprintln!("bench-many: {what}");
            ExitCode::FAILURE
        }
    }
}

fn measure(is_short: bool) -> Result<(), Trouble> {
    let idle = idle(if is_short { 1_000 } else { 10_000 })?;
    println!(
        "{} idle connections, octets of memory for each",
        idle.connections
    );
    println!("  engine, open                        {:7}", idle.open);
    println!("  engine, 1000 octets carried each way {:6}", idle.used);
    match idle.kernel {
        Some(octets) => println!("  kernel's socket, open               {octets:7}"),
        None => println!("  kernel's socket: /proc/slabinfo cannot be read"),
    }
    println!();
    let (flows, rate, seconds) = if is_short {
        (100, 100_000_000, 2)
    } else {
        (1_000, 1_000_000_000, 20)
    };
    let sharing = Sharing {
        engine_sends: true,
        flows,
        rate: Rate::from_bps(rate),
        round_trip: Span::from_millis(40),
        // Two round trips: several packets per connection.
        queue: Bytes::new(rate / 8 / 1000 * 80),
        warm_up: Duration::from_secs(seconds / 2),
        window: Duration::from_secs(seconds),
        control: "cubic",
    };
    println!(
        "{flows} connections over {}, {}, queue {}, {seconds} s after a warm-up of {}",
        sharing.rate,
        sharing.round_trip,
        sharing.queue,
        seconds / 2
    );
    println!("who sends         Mbit/s    Jain   least    most  starved   goal");
    for (control, engine_sends) in [
        ("cubic", true),
        ("cubic", false),
        ("reno", true),
        ("reno", false),
    ] {
        let sharing = Sharing {
            control,
            engine_sends,
            ..sharing
        };
        print(&sharing, &share(&sharing)?);
    }
    Ok(())
}

fn print(sharing: &Sharing, shares: &Shares) {
    let who = if sharing.engine_sends {
        "engine"
    } else {
        "kernel"
    };
    let verdict = match (
        sharing.engine_sends,
        shares.jain >= JAIN && shares.starved == 0,
    ) {
        (false, _) => String::new(),
        (true, true) => format!("Jain {JAIN}, none starves: met"),
        (true, false) => format!("Jain {JAIN}, none starves: MISSED"),
    };
    println!(
        "{who:7} {:7} {:8.1} {:7.3} {:7.2} {:7.2} {:8}   {verdict}",
        sharing.control,
        shares.goodput / 1e6,
        shares.jain,
        shares.least,
        shares.most,
        shares.starved
    );
    if shares.stalls > 0 {
        println!(
            "        the path's thread was not scheduled {} times",
            shares.stalls
        );
    }
}
