//! How long this machine's processors are away: what no program on it can be
//! more punctual than.
//!
//! On each processor a thread of the class that the path has does nothing but
//! read the clock. Between two readings lie some 50 ns; where much more lies, an
//! interrupt, another thread or the hypervisor had the processor. A packet
//! that is due in such a gap is late, whichever thread hands it over. The share of the time that
//! gaps of 50 us and more take is the share of packets that cannot be in time to 50 us, except
//! those whose thread finds another CPU.

use std::thread;
use std::time::Duration;

use gigatcp_linux::{clock, process};

use crate::{Any, Effort};

/// How long each processor is watched. Below the second of which a real-time class
/// may have 950 ms.
const WATCHED: Duration = Duration::from_millis(900);
/// Gaps are counted from these lengths on.
const FROM: [Duration; 3] = [
    Duration::from_micros(50),
    Duration::from_micros(200),
    Duration::from_millis(1),
];

/// Gaps that are at least so long: how many, and for how long in all.
#[derive(Clone, Copy, Default)]
struct Gaps {
    count: u64,
    nanos: u64,
}

/// Prints the gaps of each processor, in each of the rounds together.
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
        // Others wait by now.
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

/// The gaps between readings of the clock on a processor.
fn watch(processor: usize) -> std::io::Result<[Gaps; FROM.len()]> {
    process::pin_to_processor(processor)?;
    // Best effort: without the privilege, other threads count as well.
    let _ = clock::be_punctual(clock::Rank::Path);
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
