//! The workloads of `cargo xtask bench`: one named workload per process.
//!
//!     cargo run --profile measure -p gigatcp-sim --example bench -- single-flow [SECONDS [untimed]]
//!
//! SECONDS (10 by default) is the virtual time for which flows send, unless the name of the
//! workload has their number. `untimed` reads no clock and prints zero, so that every run executes
//! exactly the same instructions.
//!
//! Prints one line of `key value` pairs, separated by single spaces, on standard output: `wall_s`
//! (wall seconds of the run alone, without building the simulation), `packets` (wire packets
//! delivered to hosts), `ns_per_packet`, `simulated_s`, `goodput_mbps`, `drops`, `jain` (Jain's
//! fairness index of the flows' bytes), `resident_mib` (memory after the run). The caller measures
//! peak memory and CPU time and repeats runs. An unknown workload is exit code 2.

use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Instant as WallClock;

#[path = "../tests/common/mod.rs"]
mod common;

use common::{flow, host, link, wire, world};
use gigatcp_path::{Hop, HopConfig, Parcel, queue};
use gigatcp_sim::{Observe, Stop, World, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_tcp::congestion::Counting;
use gigatcp_units::{Duration, Instant};

/// One flow, 10 Gbit/s, 80 ms, MTU 9000, 60 MB, CUBIC.
fn single_flow(span: Duration) -> WorldConfig {
    let host = host(Profile::MODERN, 9000, "cubic", 60_000_000);
    let delay = Duration::from_millis(40);
    world(
        link("forward", 10_000_000_000, delay, 20_000),
        wire("reverse", delay),
        vec![flow("one", &host, Stop::After(span))],
    )
}

/// 100 Reno flows with growth per ACK, as other simulators' Reno, starts 4 ms apart.
///
/// 1 Gbit/s, 20 ms, MTU 1500, queue of one BDP.
fn dumbbell(span: Duration) -> WorldConfig {
    let profile = Profile::MODERN.with(|profile| {
        profile.congestion.counting = Counting::PerAck;
    });
    let host = host(profile, 1500, "reno", 16_000_000);
    let delay = Duration::from_millis(10);
    let bdp_packets = 1_000_000_000 / 50 / 8 / 1500;
    let flows = (0..100)
        .map(|number| {
            let stop = Stop::After(span);
            let mut flow = flow(&format!("flow-{number}"), &host, stop);
            flow.start = Duration::from_millis(4) * number;
            flow
        })
        .collect();
    let mut config = world(
        link("forward", 1_000_000_000, delay, bdp_packets),
        wire("reverse", delay),
        flows,
    );
    config.end = span;
    config
}

/// One flow, 100 Gbit/s, 80 ms, MTU 9000, a window of one BDP, CUBIC.
fn hundred_gigabit(span: Duration) -> WorldConfig {
    let host = host(Profile::MODERN, 9000, "cubic", 1_000_000_000);
    let delay = Duration::from_millis(40);
    world(
        link("forward", 100_000_000_000, delay, 20_000),
        wire("reverse", delay),
        vec![flow("one", &host, Stop::After(span))],
    )
}

/// A packet of 1500 bytes of one of 16 flows.
#[derive(Clone)]
struct Packet(u32);

impl Parcel for Packet {
    fn wire_packets(&self) -> usize {
        1
    }

    fn ip_bytes(&self) -> u64 {
        1500
    }

    fn leading_ip_bytes(&self) -> u64 {
        1500
    }

    fn split_front(&mut self, _: usize) -> Self {
        self.clone()
    }

    fn flow(&self) -> u32 {
        self.0
    }
}

/// Runs a single hop and returns the packets that came out.
///
/// 10 Gbit/s, 1 ms, bursts of 8 packets at a load of 95 %.
fn hop_alone(config: HopConfig, span: Duration) -> u64 {
    let mut hop = Hop::new(config, 1).expect("a hop that can be built");
    let burst = Duration::from_nanos(8 * 1200 * 100 / 95);
    let end = Instant::ZERO + span;
    let (mut next, mut number, mut out) = (Instant::ZERO, 0, 0);
    while next < end {
        while let Some(due) = hop.poll_timeout().filter(|due| *due <= next) {
            out += u64::from(hop.poll_delivery(due).is_some());
        }
        for _ in 0..8 {
            number += 1;
            hop.handle_arrival(next, Packet(number % 16));
        }
        next += burst;
    }
    out
}

/// Hop of a workload named `hop-` and a discipline.
fn hop_of(name: &str) -> Option<HopConfig> {
    let discipline = queue::find(name.strip_prefix("hop-")?)?;
    let mut config = link("hop", 10_000_000_000, Duration::from_millis(1), 1000);
    config.queue.discipline = discipline;
    Some(config)
}

/// One flow with about `segments` segments of 1448 bytes in flight.
fn in_flight(segments: u64) -> WorldConfig {
    let window = segments * 1448;
    let mut host = host(Profile::MODERN, 1500, "reno", window);
    host.tcp.transport_mut().initial_ssthresh = None;
    let rate = 100_000_000_000_u64;
    // The window is exactly the BDP.
    let rtt = Duration::from_nanos(segments * 1500 * 8_000_000_000 / rate);
    let packets = 3_000_000;
    let stop = Stop::Bytes(gigatcp_units::Bytes::new(packets * 1448));
    world(
        link("forward", rate, rtt / 2, 10_000_000),
        wire("reverse", rtt / 2),
        vec![flow("one", &host, stop)],
    )
}

/// `count` short flows of 3 kB, 1 ms apart on average.
///
/// The path has 100 Mbit/s and 20 ms. Memory stays that of the flows that are alive.
fn short_flows(count: u64) -> WorldConfig {
    let host = host(Profile::MODERN, 1500, "cubic", 4_000_000);
    let delay = Duration::from_millis(10);
    let mut config = world(
        link("forward", 100_000_000, delay, 1000),
        link("reverse", 100_000_000, delay, 1000),
        vec![],
    );
    let arrivals = format!("arrivals, every 1 ms, size 3 kB, count {count}");
    let mut template = flow("mice", &host, Stop::After(Duration::ZERO));
    template.application = gigatcp_app::read(&arrivals).ok();
    config.arrivals = vec![template];
    config.end = Duration::from_secs(100_000);
    config
}

/// 1,000 flows of web search over 10 hops, Poisson arrivals, half load.
///
/// Each hop has 10 Gbit/s.
fn ten_hops(count: u64) -> WorldConfig {
    let host = host(Profile::MODERN, 1500, "cubic", 16_000_000);
    let delay = Duration::from_micros(100);
    let mut config = world(
        link("hop 0", 10_000_000_000, delay, 1000),
        wire("reverse", delay * 10),
        vec![],
    );
    let hops = (1..10).map(|n| link(&format!("hop {n}"), 10_000_000_000, delay, 1000));
    config.forward.extend(hops);
    let arrivals = format!("arrivals, load 50 %, rate 10 Gbit/s, web_search, count {count}");
    let mut template = flow("web search", &host, Stop::After(Duration::ZERO));
    template.application = gigatcp_app::read(&arrivals).ok();
    config.arrivals = vec![template];
    config
}

/// A workload for this virtual time. `dumbbell-` and a discipline has that as its queue.
fn timed(name: &str, span: Duration) -> Option<WorldConfig> {
    Some(match name {
        "single-flow" => single_flow(span),
        "hundred-gigabit" => hundred_gigabit(span),
        "dumbbell" => dumbbell(span),
        _ => {
            let mut config = dumbbell(span);
            config.forward[0].queue.discipline = queue::find(name.strip_prefix("dumbbell-")?)?;
            config
        }
    })
}

/// Resident memory of this process in MiB. Zero if the system does not report it.
fn resident_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.map_or(0.0, |kib: f64| kib / 1024.0)
}

/// A workload whose name ends with a number.
fn numbered(name: &str) -> Option<WorldConfig> {
    let (kind, number) = name.rsplit_once('-')?;
    let number = number.parse().ok()?;
    Some(match kind {
        "in-flight" => in_flight(number),
        "short-flows" => short_flows(number),
        "ten-hops" => ten_hops(number),
        _ => return None,
    })
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or_default();
    let seconds = std::env::args().nth(2);
    let Ok(seconds) = seconds.as_deref().unwrap_or("10").parse() else {
        eprintln!("{seconds:?} is not a whole number of seconds");
        std::process::exit(2);
    };
    let span = Duration::from_secs(seconds);
    let is_timed = std::env::args().nth(3).as_deref() != Some("untimed");
    if let Some(config) = hop_of(&name) {
        let started = is_timed.then(WallClock::now);
        let packets = hop_alone(config, span);
        let wall = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
        let per_packet = wall * 1e9 / packets as f64;
        println!("wall_s {wall:.4} packets {packets} ns_per_packet {per_packet:.1}");
        return;
    }
    let Some(mut config) = timed(&name, span).or_else(|| numbered(&name)) else {
        eprintln!(
            "workloads: single-flow, hundred-gigabit, dumbbell, dumbbell-QUEUE, hop-QUEUE, \
             in-flight-N, short-flows-N, ten-hops-N"
        );
        std::process::exit(2);
    };
    config.observe = Observe::NOTHING;
    let mut world = World::new(config).expect("a world that can be built");
    let started = is_timed.then(WallClock::now);
    world.run(&AtomicBool::new(false), &AtomicU64::new(0));
    let wall = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    let outcome = world.outcome();
    let bytes: Vec<f64> = outcome
        .flows
        .iter()
        .map(|flow| flow.bytes().as_bits_f64())
        .collect();
    let short = outcome.arrivals.iter();
    let short: f64 = short.map(|flows| flows.bytes.as_bits_f64()).sum();
    let total: f64 = bytes.iter().sum();
    // Without flows there is nothing to compare, so nothing is unfair.
    let jain = |squares: f64| match bytes.len() {
        0 => 1.0,
        flows => total * total / (flows as f64 * squares),
    };
    let squares: f64 = bytes.iter().map(|b| b * b).sum();
    let drops: u64 = outcome
        .hops
        .iter()
        .map(|hop| hop.counters().drops.total().packets)
        .sum();
    println!(
        "wall_s {wall:.4} packets {} ns_per_packet {:.1} simulated_s {:.3} goodput_mbps {:.2} drops {drops} jain {:.3} resident_mib {:.1}",
        outcome.packets,
        wall * 1e9 / outcome.packets as f64,
        outcome.now.as_secs_f64(),
        (total + short) / outcome.now.as_secs_f64() / 1e6,
        jain(squares),
        resident_mib(),
    );
}
