//! `cargo xtask live-garbage`: connections between the engine and the kernel with corrupted
//! packets. Packets of both directions are corrupted on the wire.
//!
//! Exit code 1 if a check failed, with the command that repeats it; 2 if the environment does not
//! permit a test.

use std::process::ExitCode;
use std::time::Duration;

use gigatcp_interop::{Trouble, survive};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (mut seed, mut seconds) = (1, 10);
    for pair in words.chunks(2) {
        match (pair[0].as_str(), pair.get(1).map(|value| value.parse())) {
            ("--seed", Some(Ok(value))) => seed = value,
            ("--seconds", Some(Ok(value))) => seconds = value,
            _ => {
                let what = pair.join(" ");
                eprintln!("live-garbage: what is `{what}`? There are --seed N and --seconds N");
                return ExitCode::from(2);
            }
        }
    }
    // With super-segments and incomplete checksums, and without.
    for offloads in [true, false] {
        let half = Duration::from_secs(seconds) / 2;
        match survive(seed, offloads, half) {
            Ok(survived) => {
                let device = survived.counters.device;
                println!(
                    "offloads {}: {} connections compared; of {} victims {} failed; \
                     {} packets read, {} harmed, {} foreign",
                    if offloads { "on" } else { "off" },
                    survived.compared,
                    survived.victims,
                    survived.failed_victims,
                    device.reads,
                    device.malformed,
                    device.foreign
                );
            }
            Err(Trouble::Setup(error)) => {
                eprintln!("live-garbage: {error}");
                if let Some(hint) = error.hint() {
                    eprintln!("  {hint}");
                }
                return ExitCode::from(2);
            }
            Err(Trouble::Failed(what)) => {
                println!("failed, offloads {offloads}: {what}");
                println!("  again: cargo xtask live-garbage --seed {seed} --seconds {seconds}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
