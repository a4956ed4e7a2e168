//! Simulations with each event that either program counts.

use gigatcp_path::{HopConfig, LossModel, Reorder};
use gigatcp_sim::{HostConfig, Reader, Stop, Supply, WorldConfig};
use gigatcp_tcp::Profile;
use gigatcp_units::{Bytes, Duration, Probability};
use gigatcp_wire::{IpVersion, SeqNumber};

use crate::captures::Lacks;
use crate::common::{flow, host, link, wire, world};

const MBIT: u64 = 1_000_000;

/// A simulation, and the packets missing in its captures.
pub struct Case {
    pub name: &'static str,
    pub config: WorldConfig,
    pub lacks: Lacks,
}

/// Delay from one end to the other.
pub const DELAY: Duration = Duration::from_millis(10);

/// Hops of the data, each with half of the impairments.
///
/// The capture point in the middle is after the first hop and before the second.
fn way(loss: f64, reorder: f64) -> Vec<HopConfig> {
    let probability = |chance| Probability::try_new(chance).unwrap();
    let hop = |hop: HopConfig| HopConfig {
        loss: vec![LossModel::Bernoulli(probability(loss / 2.0))],
        reorder: (reorder > 0.0).then(|| Reorder {
            probability: probability(reorder / 2.0),
            extra_delay: Duration::from_millis(3),
        }),
        ..hop
    };
    vec![
        hop(link("first", 100 * MBIT, DELAY / 2, 300)),
        hop(wire("second", DELAY / 2)),
    ]
}

fn case(name: &'static str, host: &HostConfig, octets: u64, forward: Vec<HopConfig>) -> Case {
    let flows = vec![flow("one", host, Stop::Bytes(Bytes::new(octets)))];
    let mut config = world(wire("unused", DELAY), wire("back", DELAY / 2), flows);
    config.forward = forward;
    config.reverse.push(wire("home", DELAY / 2));
    Case {
        name,
        config,
        lacks: Lacks::Nothing,
    }
}

fn with(profile: Profile) -> HostConfig {
    host(profile, 1500, "reno", 256 * 1024)
}

/// Hops of the forward path that lose `count` consecutive packets after `first`.
fn burst(first: u64, count: u64) -> Vec<HopConfig> {
    let mut hops = way(0.0, 0.0);
    hops[1].loss = vec![LossModel::Listed((first..first + count).collect())];
    hops
}

/// All of them.
pub fn all() -> Vec<Case> {
    let mut cases = usual();
    cases.extend(windows());
    cases.extend(ends());
    cases.extend(incomplete());
    cases
}

/// Loss and reordering under several senders.
fn usual() -> Vec<Case> {
    let modern = with(Profile::MODERN);
    let no_sack = with(Profile::MODERN.with(|profile| {
        profile.recovery.sack = false;
        profile.recovery.rack = false;
        profile.recovery.tlp = false;
    }));
    let no_timestamps = with(Profile::MODERN.with(|profile| {
        profile.options.timestamps = false;
    }));
    let mut v6 = with(Profile::MODERN);
    v6.tcp.ip = IpVersion::V6;
    let mut wraps = with(Profile::MODERN);
    wraps.tcp.iss = SeqNumber::new(u32::MAX - 200_000);
    // Timers that are too short: spurious retransmissions.
    let eager = with(Profile::MODERN.with(|profile| {
        profile.recovery.rack = false;
        profile.recovery.dup_thresh = 1;
        profile.recovery.tlp = false;
    }));
    let copying = {
        let mut hops = way(0.01, 0.0);
        hops[0].duplicate = Some(Probability::try_new(0.01).unwrap());
        hops
    };
    let mut acks_lost = case("acks lost", &modern, 600_000, way(0.01, 0.0));
    acks_lost.config.reverse[0].loss =
        vec![LossModel::Bernoulli(Probability::try_new(0.1).unwrap())];
    vec![
        case("clean", &modern, 400_000, way(0.0, 0.0)),
        case("loss", &modern, 1_000_000, way(0.02, 0.0)),
        case("reordering", &modern, 1_000_000, way(0.0, 0.03)),
        case("both", &modern, 1_000_000, way(0.03, 0.03)),
        case("no SACK", &no_sack, 1_000_000, way(0.02, 0.01)),
        case("no timestamps", &no_timestamps, 1_000_000, way(0.02, 0.02)),
        case(
            "2.6.20",
            &with(Profile::LINUX_2_6_20),
            800_000,
            way(0.02, 0.01),
        ),
        case("IPv6", &v6, 600_000, way(0.02, 0.02)),
        case("wraps", &wraps, 600_000, way(0.02, 0.02)),
        case("needless repairs", &eager, 600_000, way(0.0, 0.05)),
        case("copies", &modern, 600_000, copying),
        acks_lost,
        case("ladder", &modern, 400_000, burst(60, 90)),
    ]
}

/// Windows that close, and applications that wait.
fn windows() -> Vec<Case> {
    let paused = |profile, after, length| {
        let mut host = host(profile, 1500, "reno", 64 * 1024);
        host.reader = Reader {
            read_size: Bytes::new(65_536),
            pause: Some((Bytes::new(after), length)),
            rate: None,
        };
        host
    };
    let probing = Profile::MODERN.with(|profile| {
        profile.segments.bare_window_probes = false;
    });
    let bare = Profile::MODERN.with(|profile| {
        profile.segments.bare_window_probes = true;
    });
    let alive = Profile::MODERN.with(|profile| {
        profile.liveness.keepalive = true;
        profile.liveness.keepalive_time = Duration::from_secs(2);
        profile.liveness.keepalive_interval = Duration::from_secs(1);
    });
    let seconds = Duration::from_secs;
    let mut slow = case("keep-alive", &with(alive), 20_000, way(0.0, 0.0));
    slow.config.flows[0].supply = Some(Supply {
        amount: Bytes::new(5_000),
        every: seconds(5),
        until: None,
    });
    vec![
        case(
            "window full",
            &paused(probing, 100_000, seconds(0)),
            400_000,
            way(0.0, 0.0),
        ),
        case(
            "zero window",
            &paused(probing, 100_000, seconds(10)),
            300_000,
            way(0.0, 0.0),
        ),
        case(
            "bare probes",
            &paused(bare, 100_000, seconds(10)),
            300_000,
            way(0.0, 0.0),
        ),
        slow,
    ]
}

/// Ends of connections, and several simultaneous ones.
fn ends() -> Vec<Case> {
    let modern = with(Profile::MODERN);
    let gives_up = with(Profile::MODERN.with(|profile| {
        profile.timer.retries = 3;
    }));
    let mut hops = way(0.0, 0.0);
    hops[1].loss = vec![LossModel::Listed((100..1000).collect())];
    let mut several = case("several", &modern, 300_000, way(0.02, 0.01));
    for _ in 0..3 {
        let mut more = several.config.flows[0].clone();
        more.start = Duration::from_millis(7);
        more.name = format!("more {}", several.config.flows.len());
        several.config.flows.push(more);
    }
    vec![
        case("gives up", &gives_up, 400_000, hops),
        case("SYN lost", &modern, 50_000, burst(1, 1)),
        case("nothing sent", &modern, 1, way(0.0, 0.0)),
        several,
    ]
}

fn incomplete() -> Vec<Case> {
    let modern = with(Profile::MODERN);
    let lacking = |name, lacks| Case {
        lacks,
        ..case(name, &modern, 600_000, way(0.02, 0.02))
    };
    let mut late = lacking("no beginning", Lacks::Beginning);
    late.config.flows[0].stop = Stop::Bytes(Bytes::new(3_000_000));
    vec![
        lacking("data alone", Lacks::Answers),
        lacking("answers alone", Lacks::Data),
        lacking("capture loses", Lacks::Every(50)),
        late,
    ]
}
