//! Drives engines with a given number of random segments:
//!
//!     cargo run --release -p gigatcp-fuzz --bin soak -- --segments 100000000
//!
//! Every run of an engine has its own seed. If one fails, the seed is printed, and `--seed N
//! --segments 1` replays it. The maximum memory of one engine is printed at the end. The exit
//! code is 1 if an engine failed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gigatcp_fuzz::engine::{self, Tally};
use gigatcp_fuzz::memory::{Counting, Mark};
use gigatcp_fuzz::octets::Random;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Octets that choose one run: some thousand segments at most.
const CHOICES: usize = 24 << 10;

struct Total {
    next_seed: AtomicU64,
    arrived: AtomicU64,
    sent: AtomicU64,
    runs: AtomicU64,
    established: AtomicU64,
    most_memory: AtomicU64,
    broken: AtomicBool,
}

fn main() -> ExitCode {
    let mut seed = 1;
    let mut segments = 1_000_000;
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next().and_then(|value| value.parse().ok());
        match (word.as_str(), number) {
            ("--seed", Some(n)) => seed = n,
            ("--segments", Some(n)) => segments = n,
            _ => {
                eprintln!("soak: what is {word}?\nusage: soak [--seed N] [--segments N]");
                return ExitCode::from(2);
            }
        }
    }
    let total = Total {
        next_seed: AtomicU64::new(seed),
        arrived: AtomicU64::new(0),
        sent: AtomicU64::new(0),
        runs: AtomicU64::new(0),
        established: AtomicU64::new(0),
        most_memory: AtomicU64::new(0),
        broken: AtomicBool::new(false),
    };
    let started = Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| work(&total, segments));
        }
        scope.spawn(|| tell(&total, segments, started));
    });
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    println!(
        "soak: {} segments in, {} out, {} engines, {} established, at most {} KiB for one, {:.0} s",
        get(&total.arrived),
        get(&total.sent),
        get(&total.runs),
        get(&total.established),
        get(&total.most_memory) >> 10,
        started.elapsed().as_secs_f64()
    );
    ExitCode::from(u8::from(total.broken.load(Ordering::Relaxed)))
}

fn is_over(total: &Total, segments: u64) -> bool {
    total.broken.load(Ordering::Relaxed) || total.arrived.load(Ordering::Relaxed) >= segments
}

fn work(total: &Total, segments: u64) {
    let mut octets = vec![0; CHOICES];
    while !is_over(total, segments) {
        let seed = total.next_seed.fetch_add(1, Ordering::Relaxed);
        Random(seed).fill(&mut octets);
        let mark = Mark::new();
        let Ok(tally) = catch_unwind(AssertUnwindSafe(|| engine::drive(&octets))) else {
            total.broken.store(true, Ordering::Relaxed);
            println!("seed {seed} broke an engine; replay: soak --seed {seed} --segments 1");
            return;
        };
        total.most_memory.fetch_max(mark.peak(), Ordering::Relaxed);
        let Tally {
            arrived,
            sent,
            established,
            ..
        } = tally;
        total.arrived.fetch_add(arrived, Ordering::Relaxed);
        total.sent.fetch_add(sent, Ordering::Relaxed);
        total.established.fetch_add(established, Ordering::Relaxed);
        total.runs.fetch_add(1, Ordering::Relaxed);
    }
}

/// Prints the progress every ten seconds.
fn tell(total: &Total, segments: u64, started: Instant) {
    let mut said = Duration::ZERO;
    while !is_over(total, segments) {
        std::thread::sleep(Duration::from_millis(50));
        if started.elapsed() - said >= Duration::from_secs(10) {
            said = started.elapsed();
            let arrived = total.arrived.load(Ordering::Relaxed);
            eprintln!(
                "soak: {arrived} of {segments} segments, {:.0} s",
                said.as_secs_f64()
            );
        }
    }
}
