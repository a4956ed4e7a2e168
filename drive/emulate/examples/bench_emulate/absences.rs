//! Measures how long this machine's CPUs are unavailable, the limit of punctuality for any program
//! on it.
//!
//! On each CPU a thread of the path's scheduling class only reads the clock. Between two readings
//! lie some 50 ns. In a much longer gap an interrupt, another thread or the hypervisor had the CPU.
//! A packet due in such a gap is late, whichever thread delivers it. The share of time in gaps of
//! 50 us and more is the share of packets late by 50 us. Packets whose thread finds another CPU are
//! exceptions.

use std::thread;
use std::time::Duration;

use gigatcp_linux::{clock, process};

use crate::{Any, Effort};

/// Time for which each CPU is watched. It is below the 950 ms per second that a real-time class may
/// use.
const WATCHED: Duration = Duration::from_millis(900);
/// Minimum lengths of gaps, by class.
const FROM: [Duration; 3] = [
    Duration::from_micros(50),
    Duration::from_micros(200),
    Duration::from_millis(1),
];

/// Gaps of a minimum length: number and total time.
#[derive(Clone, Copy, Default)]
struct Gaps {
    count: u64,
    nanos: u64,
}

/// Prints the gaps of each CPU over all rounds.
pub fn measure(effort: Effort) -> Result<(), Any> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let mut all = vec![[Gaps::default(); FROM.len()]; processors];
    for _ in 0..effort.rounds {
        let watched: Vec<_> = (0..processors)
            .map(|processor| thread::spawn(move || watch(processor)))
            .collect();
        for (sum, thread) in all.iter_mut().zip(watched) {
            let gaps = thread.join().map_err(|_| "a watching thread has ended")??;
            for (sum, gaps) in sum.iter_mut().zip(gaps) {
                sum.count += gaps.count;
                sum.nanos += gaps.nanos;
            }
        }
        // Ordinary threads are waiting by now.
        thread::sleep(WATCHED);
    }
    let seconds = WATCHED.as_secs_f64() * effort.rounds as f64;
    for (processor, gaps) in all.iter().enumerate() {
        let text: Vec<String> = FROM
            .iter()
            .zip(gaps)
            .map(|(from, gaps)| {
                let rate = gaps.count as f64 / seconds;
                let share = gaps.nanos as f64 / seconds / 1e7;
                format!("{from:?} and more {rate:.1} times a second, {share:.2} % of the time")
            })
            .collect();
        println!("processor {processor} is away for {}", text.join("; "));
    }
    Ok(())
}

/// Gaps between readings of the clock on a CPU.
fn watch(processor: usize) -> std::io::Result<[Gaps; FROM.len()]> {
    process::pin_to_processor(processor)?;
    // Best effort: without the privilege, other threads count as well.
    let _ = clock::request_realtime(clock::Rank::Path);
    let mut gaps = [Gaps::default(); FROM.len()];
    let mut last = clock::monotonic();
    let end = last + WATCHED.as_nanos() as i64;
    while last < end {
        let now = clock::monotonic();
        let gap = (now - last).unsigned_abs();
        for (from, gaps) in FROM.iter().zip(&mut gaps) {
            if u128::from(gap) >= from.as_nanos() {
                gaps.count += 1;
                gaps.nanos += gap;
            }
        }
        last = now;
    }
    Ok(gaps)
}
