//! Golden windows: cwnd after every round trip, for every control, through
//! slow start, a loss, a second loss before the window is back, a timeout, an
//! undone loss and a silence. A change of any figure must be meant. To accept one,
//! run with `BLESS=1` and read the difference.

use crate::harness::{Rounds, SMSS, linux_2_6_20, modern};
use gigatcp_tcp::congestion::{Config, CongestionKind, Family, REGISTRY, SlowStart, find};
use gigatcp_tcp::events::Phase;
use gigatcp_units::Duration;
use std::fmt::Write;
use std::path::Path;

const RTT: Duration = Duration::from_millis(80);
const ROUNDS: u32 = 280;

/// What happens before that round.
fn event_before(round: u32) -> Option<&'static str> {
    match round {
        6 => Some("loss"),
        120 => Some("loss"),
        150 => Some("loss"),
        200 => Some("timeout"),
        230 => Some("undone loss"),
        260 => Some("silence"),
        _ => None,
    }
}

fn strike(rounds: &mut Rounds, event: &str) {
    match event {
        "loss" => rounds.lose(),
        "timeout" => rounds.time_out(Duration::from_millis(280)),
        "silence" => rounds.idle(Duration::from_secs(3)),
        _ => {
            rounds.congestion(CongestionKind::Loss);
            rounds.acknowledge(0, Phase::Recovery, RTT);
            rounds.control.undo(rounds.now);
        }
    }
}

fn run(name: &str, config: &Config, segments_per_ack: u64) -> String {
    let entry = find(name).expect("a control of the registry");
    let mut rounds = Rounds::new((entry.build)(config), RTT, segments_per_ack);
    // What answers delay or rates has a path to answer.
    if entry.family != Family::WindowBased {
        rounds = rounds.with_path(400);
    }
    let mut text = String::from("round       cwnd   ssthresh  before it\n");
    for round in 0..ROUNDS {
        let event = event_before(round);
        if let Some(event) = event {
            strike(&mut rounds, event);
        }
        rounds.round();
        let ssthresh = match rounds.control.ssthresh().as_u64() {
            u64::MAX => String::from("unset"),
            octets => format!("{:.3}", octets as f64 / SMSS as f64),
        };
        let line = format!(
            "{round:5} {:10.3} {ssthresh:>10}  {}",
            rounds.cwnd(),
            event.unwrap_or_default()
        );
        writeln!(text, "{}", line.trim_end()).expect("a string takes everything");
    }
    text
}

fn compare(snapshot: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots/congestion")
        .join(format!("{snapshot}.txt"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, got).expect("the snapshot can be written");
        return;
    }
    let expected = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; run with BLESS=1", path.display()));
    for (line, (got, expected)) in got.lines().zip(expected.lines()).enumerate() {
        assert_eq!(got, expected, "{snapshot}, line {}", line + 1);
    }
    assert_eq!(got.lines().count(), expected.lines().count(), "{snapshot}");
}

/// The file that holds the windows of that control.
fn snapshot_of(name: &str) -> String {
    name.replace(['-', '.'], "_").replace('+', "_plus")
}

/// Controls of Linux 2.6.20, whose own settings count by ACK.
const OLD_KERNELS: &[&str] = &["bic-2.6.20", "cubic-2.6.20"];

#[test]
fn every_control_with_todays_settings() {
    for entry in REGISTRY {
        if !OLD_KERNELS.contains(&entry.name) {
            let windows = run(entry.name, &modern(None), 2);
            compare(&snapshot_of(entry.name), &windows);
        }
    }
}

#[test]
fn reno_counting_by_ack() {
    compare("reno_per_ack", &run("reno", &linux_2_6_20(None), 2));
}

#[test]
fn reno_with_limited_slow_start() {
    let limited = Config {
        slow_start: SlowStart::Limited { max_ssthresh: 100 },
        ..modern(None)
    };
    compare("reno_limited_slow_start", &run("reno", &limited, 1));
}

#[test]
fn cubic_of_linux_6_with_its_own_slow_start() {
    // In the rounds of this harness nothing delays, but ACKs come all the time, and that
    // is a train.
    let usual = Config {
        slow_start: SlowStart::Usual,
        ..modern(None)
    };
    compare("cubic_linux_hystart", &run("cubic-linux", &usual, 2));
}

#[test]
fn dctcp_without_marks_is_reno() {
    compare("reno", &run("dctcp", &modern(None), 2));
}

#[test]
fn cubic_of_linux_2_6_20() {
    let name = "cubic-2.6.20";
    compare("cubic_2_6_20", &run(name, &linux_2_6_20(None), 1));
    let no_threshold = linux_2_6_20(Some(0));
    compare("cubic_2_6_20_ssthresh_0", &run(name, &no_threshold, 2));
}

#[test]
fn bic_of_linux_2_6_20() {
    let name = "bic-2.6.20";
    compare("bic_2_6_20", &run(name, &linux_2_6_20(None), 1));
    let no_threshold = linux_2_6_20(Some(0));
    compare("bic_2_6_20_ssthresh_0", &run(name, &no_threshold, 2));
}
