//! Reports of iperf3 made from models: runs that a receive window bounds, and others.
//!
//! A run has a window, an RTT, noise of the RTT and of the intervals, and an old or a new version of
//! iperf3. The share of named windows, of windows within 5 %, and of windows named falsely are the
//! bars of the project. The models are this file's; they are no proof for a kernel.

use std::fmt::Write;

use gigatcp_analyze::reports::{Reported, report};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// An interval of a model.
struct Second {
    bytes: f64,
    rtt: f64,
    retransmits: u64,
    cwnd: f64,
    window: f64,
    is_omitted: bool,
}

/// Settings that the intervals share.
struct Test {
    congestion: &'static str,
    has_windows: bool,
    requested: u64,
}

fn json(test: &Test, seconds: &[Second]) -> String {
    let mut intervals = String::new();
    let mut at = 0;
    let mut was_omitted = true;
    for second in seconds {
        // iperf3 begins anew after the omitted intervals.
        at = if was_omitted && !second.is_omitted {
            0
        } else {
            at
        };
        was_omitted = second.is_omitted;
        let window = if test.has_windows {
            format!(r#""snd_wnd":{},"#, second.window as u64)
        } else {
            String::new()
        };
        let separator = if intervals.is_empty() { "" } else { "," };
        write!(
            intervals,
            r#"{separator}{{"streams":[{{"socket":5,"start":{at},"end":{},"seconds":1,"bytes":{},"retransmits":{},"snd_cwnd":{},{window}"rtt":{},"omitted":{},"sender":true}}]}}"#,
            at + 1,
            second.bytes as u64,
            second.retransmits,
            second.cwnd as u64,
            (second.rtt * 1e6) as u64,
            second.is_omitted,
        )
        .unwrap();
        at += 1;
    }
    let requested = match test.requested {
        0 => String::new(),
        size => format!(r#""sock_bufsize":{size},"#),
    };
    format!(
        r#"{{"start":{{"connected":[{{"socket":5,"local_host":"192.0.2.1","local_port":40000,"remote_host":"198.51.100.2","remote_port":5201}}],{requested}"tcp_mss_default":1448,"test_start":{{"protocol":"TCP","reverse":0}}}},"intervals":[{intervals}],"end":{{"cpu_utilization_percent":{{"host_total":9.5,"remote_total":12.5}},"sender_tcp_congestion":"{}"}}}}"#,
        test.congestion
    )
}

fn diagnosed(test: &Test, seconds: &[Second]) -> Reported {
    let report = report(&json(test, seconds)).expect("a report");
    let connection = report.connections.into_iter().next().expect("a connection");
    assert_eq!(connection.diagnosis.contradiction(), None);
    connection
}

/// Whether the answer is a receive window, and sure.
fn is_window(reported: &Reported) -> bool {
    let diagnosis = &reported.diagnosis;
    let first = diagnosis.primary();
    !diagnosis.is_unsure() && first.is_some_and(|first| first.cause.id == "receive-window-limited")
}

/// The window that the answer names, in bytes.
fn named(reported: &Reported) -> Option<f64> {
    let subject = &reported.diagnosis.primary()?.subject;
    let (number, unit) = subject
        .split_once('(')?
        .1
        .trim_end_matches(')')
        .split_once(' ')?;
    let power = ["B", "kB", "MB", "GB"]
        .iter()
        .position(|known| *known == unit)?;
    Some(number.parse::<f64>().ok()? * 1000_f64.powi(power as i32))
}

/// Draws and counts, with a fixed seed.
fn count<T: std::fmt::Debug>(
    runs: u32,
    of: impl Strategy<Value = T>,
    is: impl Fn(T) -> bool,
) -> f64 {
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), random);
    let drawn = (0..runs).map(|_| of.new_tree(&mut runner).unwrap().current());
    drawn.map(is).filter(|is| *is).count() as f64 / f64::from(runs)
}

/// Noise of each of ten seconds, -1 to 1.
fn noise() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((-1.0..1.0, -1.0..1.0), 10)
}

/// Natural logarithm of a quantity between two.
fn between(from: f64, to: f64) -> impl Strategy<Value = f64> {
    (from.ln()..to.ln()).prop_map(f64::exp)
}

/// A run that a window bounds. Each second has a window per RTT, the first one the send buffer too.
fn bounded(window: f64, rtt: f64, noise: &[(f64, f64)], omitted: usize) -> Vec<Second> {
    let spread = 0.06;
    let seconds = noise
        .iter()
        .enumerate()
        .map(|(second, (of_rtt, of_bytes))| {
            let rtt = rtt * (1.0 + spread * of_rtt.abs());
            let usable = window * (0.975 + 0.025 * of_bytes);
            // A second is so many RTTs; the last one is not whole.
            let filled = if second == 0 {
                0.7 * usable / rtt + 2e6
            } else {
                usable / rtt
            };
            Second {
                bytes: filled,
                rtt,
                retransmits: 0,
                cwnd: window * 1.9,
                window: window * (1.0 - 0.002 * of_bytes.abs()),
                is_omitted: second < omitted,
            }
        });
    seconds.collect()
}

#[test]
fn a_window_that_bounds_a_run_is_named_within_5_percent() {
    let runs = (
        between(1e-3, 0.3),
        between(30e3, 16e6),
        noise(),
        0..3_usize,
        any::<bool>(),
    );
    let share = count(500, runs, |(rtt, window, noise, omitted, is_new)| {
        // An old iperf3 does not report the window: a default one, or one that was requested.
        let window = if is_new || window < 2e6 {
            window
        } else {
            3.0 * 1_048_576.0
        };
        let test = Test {
            congestion: "cubic",
            has_windows: is_new,
            requested: if window < 2e6 { window as u64 } else { 0 },
        };
        let reported = diagnosed(&test, &bounded(window, rtt, &noise, omitted));
        let named = named(&reported).unwrap_or(0.0);
        is_window(&reported) && (named / window - 1.0).abs() < 0.05
    });
    assert!(share >= 0.95, "named in {share} of the runs");
}

/// A path that cwnd fills, in a sawtooth up to the BDP with its queue.
fn full(
    rate: f64,
    rtt: f64,
    queue: f64,
    period: usize,
    noise: &[(f64, f64)],
    window: f64,
) -> Vec<Second> {
    let bdp = rate * rtt;
    let seconds = noise
        .iter()
        .enumerate()
        .map(|(second, (of_rtt, of_bytes))| {
            let phase = (second % period) as f64 / period as f64;
            let flight = bdp * (1.0 + queue * phase).max(0.75);
            Second {
                bytes: rate * (1.0 + 0.01 * of_bytes),
                rtt: (flight / rate).max(rtt) * (1.0 + 0.03 * of_rtt),
                retransmits: u64::from(second % period == 0) * 12,
                cwnd: flight,
                window,
                is_omitted: false,
            }
        });
    seconds.collect()
}

#[test]
fn a_full_path_is_not_called_a_window() {
    let runs = (
        (between(1e-3, 0.3), between(1e6, 1e9)),
        (0.1..2.0, 2..8_usize),
        noise(),
        (1.05..8.0, any::<bool>()),
    );
    let share = count(
        500,
        runs,
        |((rtt, rate), (queue, period), noise, (room, is_new))| {
            let window = rate * rtt * (1.0 + queue) * room;
            let test = Test {
                congestion: "cubic",
                has_windows: is_new,
                requested: 0,
            };
            is_window(&diagnosed(
                &test,
                &full(rate, rtt, queue, period, &noise, window),
            ))
        },
    );
    assert!(share < 0.01, "called a window in {share} of the runs");
}

#[test]
fn a_model_of_the_path_an_application_and_a_send_buffer_are_not_called_a_window() {
    // BBR holds cwnd at twice the BDP, an application its rate, a send buffer the flight.
    let runs = (
        (between(1e-3, 0.3), between(1e5, 1e9)),
        0..3_u8,
        noise(),
        (1.3..20.0, any::<bool>()),
    );
    let share = count(500, runs, |((rtt, rate), kind, noise, (room, is_new))| {
        let bdp = rate * rtt;
        let test = Test {
            congestion: if kind == 0 { "bbr" } else { "cubic" },
            has_windows: is_new,
            requested: 0,
        };
        let seconds = noise.iter().map(|(of_rtt, of_bytes)| Second {
            bytes: rate * (1.0 + 0.01 * of_bytes),
            rtt: rtt * (1.0 + 0.04 * of_rtt.abs()),
            retransmits: 0,
            cwnd: bdp * if kind == 1 { 1.5 } else { 2.05 },
            window: bdp * room,
            is_omitted: false,
        });
        is_window(&diagnosed(&test, &seconds.collect::<Vec<_>>()))
    });
    assert!(share < 0.01, "called a window in {share} of the runs");
}

#[test]
fn losses_that_hold_cwnd_below_the_window_are_not_called_a_window() {
    let runs = (
        (between(1e-3, 0.3), between(30e3, 3e6)),
        0.3..0.95,
        noise(),
        any::<bool>(),
    );
    let share = count(500, runs, |((rtt, window), part, noise, is_new)| {
        let test = Test {
            congestion: "reno",
            has_windows: is_new,
            requested: 0,
        };
        let seconds = noise.iter().map(|(of_rtt, of_cwnd)| {
            let cwnd = window * part * (1.0 + 0.2 * of_cwnd);
            let rtt = rtt * (1.0 + 0.03 * of_rtt.abs());
            Second {
                bytes: 0.95 * cwnd / rtt,
                rtt,
                retransmits: 3,
                cwnd,
                window,
                is_omitted: false,
            }
        });
        is_window(&diagnosed(&test, &seconds.collect::<Vec<_>>()))
    });
    assert!(share < 0.01, "called a window in {share} of the runs");
}

#[test]
fn omitted_intervals_leave_time_and_rate_as_iperf3_reports_them() {
    // -O 3: the clock of the intervals begins anew, and time runs backwards once.
    let test = Test {
        congestion: "cubic",
        has_windows: true,
        requested: 0,
    };
    let noise = [(0.0, 0.0); 10];
    let mut seconds = bounded(1e6, 0.1, &noise, 3);
    seconds[..3]
        .iter_mut()
        .for_each(|second| second.bytes *= 5.0);
    let diagnosis = diagnosed(&test, &seconds).diagnosis;
    assert_eq!(diagnosis.duration.as_millis(), 7000);
    let rate = seconds[3..].iter().map(|second| second.bytes).sum::<f64>() * 8.0 / 7.0;
    assert!((diagnosis.throughput.as_bps() as f64 / rate - 1.0).abs() < 0.001);
    assert!(diagnosis.capacity.rate().as_bps() as f64 <= 1.05 * rate);
}
