//! Compares predictions with the running kernel: pairs of transfers over one emulated path.
//!
//! ```text
//! cargo run --release -p gigatcp-twin --example kernel_pairs -- target/release/gigatcp 16
//! ```
//!
//! Each pair has a separate path, and its two transfers differ in one setting. The first is
//! captured at its sender and fitted; the second is predicted and run. Requires root, `iperf3`, and
//! a machine without other load.

use std::path::Path;
use std::process::{Command, ExitCode};

use gigatcp_analyze::{Options, Source};
use gigatcp_twin::{Certainty, Prediction, Transfer, Twin};

/// A setting: options of `iperf3` and of the path, and as keys of a plan.
struct Setting {
    tester: &'static str,
    path: &'static [&'static str],
    keys: &'static [&'static str],
}

const fn tester(tester: &'static str, keys: &'static [&'static str]) -> Setting {
    Setting {
        tester,
        path: &[],
        keys,
    }
}

const fn path(path: &'static [&'static str], keys: &'static [&'static str]) -> Setting {
    Setting {
        tester: "-C cubic",
        path,
        keys,
    }
}

const LOSS: &[&str] = &["--loss", "0.002"];
const CUBIC: &[&str] = &["flow.congestion_control=cubic-linux"];
const RENO: &[&str] = &["flow.congestion_control=reno"];
const BBR: &[&str] = &["flow.congestion_control=bbr"];
const BUFFERS_64: &[&str] = &["receiver.buffer=65536 B", "sender.buffer=131072 B"];
const BUFFERS_32: &[&str] = &["receiver.buffer=32768 B", "sender.buffer=65536 B"];
const BUFFERS_AMPLE: &[&str] = &["receiver.buffer=6291456 B", "sender.buffer=4194304 B"];

/// Options of the path in both transfers, the captured setting, and the predicted one.
const PAIRS: [(&[&str], Setting, Setting); 8] = [
    (LOSS, tester("-C cubic", CUBIC), tester("-C bbr", BBR)),
    (LOSS, tester("-C reno", RENO), tester("-C bbr", BBR)),
    (
        &[],
        tester("-C cubic -w 64K", CUBIC),
        tester("-C cubic", BUFFERS_AMPLE),
    ),
    (
        &[],
        tester("-C cubic", CUBIC),
        tester("-C cubic -w 64K", BUFFERS_64),
    ),
    (LOSS, tester("-C cubic", CUBIC), tester("-C reno", RENO)),
    (
        &[],
        tester("-C cubic -w 128K", CUBIC),
        tester("-C cubic -w 32K", BUFFERS_32),
    ),
    (
        &[],
        path(&["--queue", "0.3 BDP"], CUBIC),
        path(&["--queue", "2 BDP"], &["path.queue=2 BDP"]),
    ),
    (&[], path(&[], CUBIC), path(LOSS, &["path.loss=0.002"])),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, count] = &words[..] else {
        eprintln!("kernel_pairs PROGRAM COUNT");
        return ExitCode::from(2);
    };
    let count: u64 = count.parse().unwrap_or(16);
    let (mut numbers, mut correct, mut covered, mut bounds, mut reached) = (0, 0, 0, 0, 0);
    let (mut ranges, mut ranges_covered) = (0, 0);
    for seed in 0..count {
        let (before, predicted, truth) = match pair(Path::new(program), seed) {
            Ok(pair) => pair,
            Err(reason) => {
                println!("{seed}: no prediction: {reason}");
                continue;
            }
        };
        let [low, high] = predicted.interval_bps;
        match predicted.certainty {
            Certainty::Number => {
                numbers += 1;
                correct += u64::from((predicted.goodput_bps / truth - 1.0).abs() <= 0.1);
                covered += u64::from((low..=high).contains(&truth));
            }
            Certainty::AtLeast => {
                bounds += 1;
                reached += u64::from(truth >= low);
            }
            Certainty::Range => {
                ranges += 1;
                ranges_covered += u64::from((low..=high).contains(&truth));
            }
            Certainty::Unsure => {}
        }
        println!(
            "{seed}: {} from {:.2} Mbit/s: {} {:.2} ({:.2} to {:.2}), it is {:.2}, {:+.1} %",
            predicted.changes.join(" "),
            before / 1e6,
            predicted.certainty.name(),
            predicted.goodput_bps / 1e6,
            low / 1e6,
            high / 1e6,
            truth / 1e6,
            (predicted.goodput_bps / truth - 1.0) * 100.0
        );
    }
    println!(
        "{numbers} predictions of {count} pairs: {correct} within 10 %, {covered} inside of the \
         interval; {ranges} ranges, {ranges_covered} cover; {bounds} lower bounds, {reached} reached"
    );
    ExitCode::SUCCESS
}

/// Runs, predicts and runs again. Returns goodput before, the prediction, and goodput after.
fn pair(program: &Path, seed: u64) -> Result<(f64, Prediction, f64), String> {
    let (both, first, second) = &PAIRS[(seed % PAIRS.len() as u64) as usize];
    let path = link(seed);
    let transfer = captured(program, &path, both, first, seed)?;
    let before = transfer.measured.goodput_bps();
    let truth = captured(program, &path, both, second, seed + 1_000_000)?;
    let truth = truth.measured.goodput_bps();
    let about = |reason: String| {
        format!(
            "{reason} [{:?}, {:.2} to {:.2} Mbit/s]",
            second.keys,
            before / 1e6,
            truth / 1e6
        )
    };
    let owned = |keys: &[&str]| keys.iter().map(|&key| key.to_owned()).collect::<Vec<_>>();
    let twin = Twin::fit(transfer, &owned(first.keys)).map_err(|no| about(no.reason))?;
    let predicted = twin.predict(&owned(second.keys)).map_err(about)?;
    Ok((before, predicted, truth))
}

/// Returns rate and RTT of a path: 5 to 100 Mbit/s, 10 to 80 ms.
fn link(seed: u64) -> [String; 4] {
    let share = |prime: u64| (seed * prime % 101) as f64 / 100.0;
    let rate = 5.0 * 20_f64.powf(share(37));
    let rtt = 10.0 * 8_f64.powf(share(53));
    [
        "--rate".into(),
        format!("{rate:.1} Mbit/s"),
        "--rtt".into(),
        format!("{rtt:.0} ms"),
    ]
}

/// Captures a transfer of 6 MB over an emulated path.
fn captured(
    program: &Path,
    path: &[String],
    both: &[&str],
    setting: &Setting,
    seed: u64,
) -> Result<Transfer, String> {
    let place = std::env::temp_dir().join(format!("kernel-pair-{seed}.pcapng"));
    let status = Command::new(program)
        .args(["emulate", "--quiet", "--seed", &seed.to_string()])
        .args(["--server", "iperf3 -s -1 > /dev/null"])
        .args(path)
        .args(both)
        .args(setting.path)
        .arg("--capture")
        .arg(&place)
        .args(["--", "sh", "-c"])
        .arg(format!(
            "iperf3 -c $GIGATCP_SERVER -n 6M {} > /dev/null",
            setting.tester
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
