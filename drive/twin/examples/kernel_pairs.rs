//! Predictions against the running kernel: pairs of transfers over one emulated path.
//!
//! ```text
//! cargo run --release -p gigatcp-twin --example kernel_pairs -- target/release/gigatcp 60
//! ```
//!
//! Each pair has a path of its own, and transfers that differ in the control. The first is
//! captured at its sender and fitted, and the second is predicted and run. Requires root,
//! `iperf3`, and a machine without other load.

use std::path::Path;
use std::process::{Command, ExitCode};

use gigatcp_analyze::{Options, Source};
use gigatcp_twin::{Transfer, Twin};

/// Controls that every kernel has as modules, in pairs: captured and predicted.
const PAIRS: [[&str; 2]; 4] = [
    ["cubic", "reno"],
    ["reno", "cubic"],
    ["cubic", "bbr"],
    ["bbr", "cubic"],
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, count] = &words[..] else {
        eprintln!("kernel_pairs PROGRAM COUNT");
        return ExitCode::from(2);
    };
    let count: u64 = count.parse().unwrap_or(4);
    let (mut predicted, mut correct, mut covered) = (0, 0, 0);
    for seed in 0..count {
        match pair(Path::new(program), seed) {
            Ok((line, is_correct, is_covered)) => {
                predicted += 1;
                correct += u64::from(is_correct);
                covered += u64::from(is_covered);
                println!("{seed}: {line}");
            }
            Err(reason) => println!("{seed}: no prediction: {reason}"),
        }
    }
    println!(
        "{predicted} predictions of {count} pairs: {correct} within 10 %, {covered} inside of the interval"
    );
    ExitCode::SUCCESS
}

/// Runs, predicts and runs again.
fn pair(program: &Path, seed: u64) -> Result<(String, bool, bool), String> {
    let [first, second] = PAIRS[(seed % 4) as usize];
    let path = path(seed);
    let transfer = captured(program, &path, first, seed)?;
    let known = format!("flow.congestion_control={first}");
    let twin = Twin::fit(transfer, &[known]).map_err(|no| no.reason)?;
    let change = format!("flow.congestion_control={second}");
    let one = twin.predict(&[change])?;
    let truth = captured(program, &path, second, seed + 1_000_000)?
        .measured
        .goodput_bps();
    let error = one.goodput_bps / truth - 1.0;
    let [low, high] = one.interval_bps;
    let mbps = |bps: f64| bps / 1e6;
    let line = format!(
        "{first} to {second} over {}: {:.2} ({:.2} to {:.2}) Mbit/s, it is {:.2}, {:+.1} %",
        path.join(" "),
        mbps(one.goodput_bps),
        mbps(low),
        mbps(high),
        mbps(truth),
        error * 100.0
    );
    Ok((line, error.abs() <= 0.1, (low..=high).contains(&truth)))
}

/// The options of a path: rates of 5 to 100 Mbit/s, RTTs of 10 to 80 ms, losses on every second.
fn path(seed: u64) -> Vec<String> {
    let share = |prime: u64| (seed * prime % 101) as f64 / 100.0;
    let rate = 5.0 * 20_f64.powf(share(37));
    let rtt = 10.0 * 8_f64.powf(share(53));
    let mut all = vec![
        "--rate".into(),
        format!("{rate:.1} Mbit/s"),
        "--rtt".into(),
        format!("{rtt:.0} ms"),
        "--queue".into(),
        format!("{:.1} BDP", 0.3 + 1.7 * share(71)),
    ];
    if seed % 2 == 1 {
        all.extend([
            "--loss".into(),
            format!("{:.5}", 0.0005 * 20_f64.powf(share(17))),
        ]);
    }
    all
}

/// Captures a transfer of 6 MB over an emulated path.
fn captured(program: &Path, path: &[String], control: &str, seed: u64) -> Result<Transfer, String> {
    let place = std::env::temp_dir().join(format!("kernel-pair-{seed}-{control}.pcapng"));
    let status = Command::new(program)
        .args([
            "emulate",
            "--quiet",
            "--seed",
            &seed.to_string(),
            "--server",
            "iperf3 -s -1",
        ])
        .args(path)
        .arg("--capture")
        .arg(&place)
        .args(["--", "sh", "-c"])
        .arg(format!(
            "iperf3 -c $GIGATCP_SERVER -n 6M -C {control} > /dev/null"
        ))
        .status()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("the transfer ended with {status}"));
    }
    let transfer = Transfer::read(&Source::file(&place), &Options::default(), None);
    let _ = std::fs::remove_file(&place);
    transfer
}
