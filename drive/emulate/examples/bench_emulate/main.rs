//! `cargo xtask bench-live`, second part: the emulator's throughput between two kernels, and its
//! accuracy.
//!
//! Estimate, before measuring. A super-segment of 64 KiB costs the path's CPU two copies between
//! kernel and user at some 10 GB/s (13 us) and two system calls (1 us). The receiving kernel's
//! protocol work runs in the path's write (5 us). The sum is 19 us, or 27 Gbit/s. The sender's copy
//! and protocol work (10 us) and the receiver's copy (7 us) use another CPU and are less. With two
//! CPUs in total, 36 us of work are 18 us of time: 28 Gbit/s at best. At 80 ms there are 100 MB per
//! 10 Gbit/s in memory, so data read are no longer in the cache and copies cost twice: 15 Gbit/s.
//! Without offloads a packet of 1500 bytes costs two system calls with 1.5 us of protocol work, or
//! 2.5 us. Its share of the ACKs costs half as much again: 3 Gbit/s.
//!
//! The baseline, two kernels over a pair of Ethernet devices, is measured in the same rounds.
//!
//! `cargo run --profile measure -p gigatcp-emulate --example bench_emulate -- --only delay`
//! measures one part only: `streams`, `rate`, `absences` (unavailability of the machine's CPUs),
//! `delay`, `halts` or `loss`.

mod absences;
mod crowd;
mod managed;
mod streams;
mod trains;

use std::process::ExitCode;
use std::time::Duration;

use gigatcp_linux::Namespace;

pub type Any = Box<dyn std::error::Error + Send + Sync>;

/// Extent of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Rounds through all cases.
    pub rounds: usize,
    /// Time in which a stream is measured.
    pub window: Duration,
}

/// A part of the measurement, and its name.
type Part = (&'static str, fn(Effort) -> Result<(), Any>);

const PARTS: [Part; 8] = [
    ("streams", streams::measure),
    ("rate", trains::measure_rates),
    ("absences", absences::measure),
    ("delay", trains::measure_delays),
    ("halts", trains::measure_halts),
    ("loss", trains::measure_losses),
    ("crowd", crowd::measure),
    ("managed", managed::measure),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let is_short = words.contains(&"--short");
    let parts: &[Part] = match *words {
        [] | ["--short"] => &PARTS,
        ["--only", name] | ["--short", "--only", name] | ["--only", name, "--short"]
            if let Some(at) = PARTS.iter().position(|part| part.0 == name) =>
        {
            &PARTS[at..=at]
        }
        _ => {
            let names = PARTS.map(|part| part.0).join(", ");
            eprintln!(
                "bench-live: what is `{}`? There are `--short`, and `--only` with one of {names}",
                words.join(" ")
            );
            return ExitCode::from(2);
        }
    };
    if let Err(error) = Namespace::new() {
        eprintln!("bench-live: {error}");
        if let Some(hint) = error.hint() {
            eprintln!("  {hint}");
        }
        return ExitCode::from(2);
    }
    let effort = if is_short {
        Effort {
            rounds: 1,
            window: Duration::from_millis(500),
        }
    } else {
        Effort {
            rounds: 5,
            window: Duration::from_secs(2),
        }
    };
    match parts.iter().try_for_each(|(_, measure)| measure(effort)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-live: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Minimum, median and maximum.
pub fn spread(values: &[f64]) -> [f64; 3] {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    [
        sorted[0],
        sorted[sorted.len() / 2],
        sorted[sorted.len() - 1],
    ]
}
