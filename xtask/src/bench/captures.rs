//! Benchmark of reading captures: `drive/capture/examples/bench.rs`.
//!
//! Each workload is compared with its goal in packets per second of CPU time, including system
//! time. Wall time is not shown: reading waits only for memory, so wall time differs only by
//! other processes on the CPU.
//!
//! The goal for the analysis of connections is 25 million packets a second. The other goals are
//! for reading only, which may take a quarter of that time.

use super::measure::{self, Run};
use super::middle;
use crate::{Failed, process};

/// Workload, description, and goal in millions of packets a second.
const WORKLOADS: [(&str, &str, f64); 7] = [
    ("mapped", "records of a mapped pcap file", 100.0),
    ("pcapng", "records of a mapped pcapng file", 100.0),
    ("dissected", "the same pcap file, and its segments", 50.0),
    ("flows", "the same, and the analysis of connections", 25.0),
    ("streamed", "records of the pcap file as a stream", 50.0),
    ("zstd", "the pcap file packed, and its segments", 10.0),
    ("gzip", "the pcap file packed, and its segments", 5.0),
];

/// Packets in the files: 0.8 GB, or a quarter of that.
const PACKETS: &str = "8000000";
const FEWER_PACKETS: &str = "2000000";

/// Runs all workloads, and deletes their files.
pub fn run(is_short: bool, runs: usize) -> Result<(), Failed> {
    let program = process::build_example("gigatcp-capture", "bench", super::profile(is_short))?;
    let packets = if is_short { FEWER_PACKETS } else { PACKETS };
    println!("captures of {packets} packets (96 octets kept of each, processor time)");
    for (name, what, goal) in WORKLOADS {
        let measured = measure::several(&program, &format!("{name}-{packets}"), runs)?;
        let rate = 1e-6 / middle(&measured, Run::cpu_per_packet);
        let verdict = if rate >= goal { "met" } else { "missed" };
        println!(
            "  {name:<10}{rate:7.1} million packets a second, {what}; goal {goal} {verdict}: {:.2} of it",
            rate / goal
        );
    }
    measure::several(&program, &format!("clean-{packets}"), 0).map(|_| ())
}
