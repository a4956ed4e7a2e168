//! Benchmark of `gigatcp why --summary` on large captures, compared with tcptrace and tshark.
//!
//! All run in the same session, and so does `cat`, which only reads.
//!
//! Then the time to a first graph to zoom into: `gigatcp why FILE --report PAGE`, from its start
//! to its end, with two threads, by wall time. Then the whole page is on the disk: all packets of
//! the largest connections, and what limited each of these at each time. The findings for all
//! connections are printed too.
//!
//! The captures are created first (`drive/capture/examples/make_capture.rs`) and deleted
//! afterwards. Rates are by CPU time, including system time, since a shared machine makes wall
//! time worthless. Two threads are the exception: their gain shows only in wall time, and in the
//! CPU time that each adds. A program that is not installed is skipped, with a message.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::measure::{self, Run};
use crate::{Failed, process};

/// Capture and goals of the summary.
struct Capture {
    kind: &'static str,
    what: &'static str,
    packets: u64,
    /// Millions of packets per second and thread.
    rate: f64,
    /// Octets of memory per connection in addition to 32 MiB, if measured.
    connections: Option<u64>,
    /// Whether its graph is measured too.
    is_drawn: bool,
}

const CAPTURES: [Capture; 4] = [
    Capture {
        kind: "many",
        what: "1000 connections side by side",
        packets: 7_800_000,
        rate: 25.0,
        connections: Some(1000),
        is_drawn: true,
    },
    Capture {
        kind: "large",
        what: "2 connections side by side",
        packets: 7_800_000,
        rate: 25.0,
        connections: Some(2),
        is_drawn: true,
    },
    Capture {
        kind: "short",
        what: "300,000 connections of 26 packets",
        packets: 7_800_000,
        rate: 10.0,
        connections: Some(300_000),
        is_drawn: false,
    },
    Capture {
        kind: "one-sided",
        what: "one direction of one connection",
        packets: 200_000,
        // All of it in 20 ms.
        rate: 10.0,
        connections: None,
        is_drawn: false,
    },
];

/// Program that reads the same file.
struct Program {
    name: &'static str,
    words: &'static [&'static str],
}

const OTHERS: [Program; 3] = [
    Program {
        name: "tcptrace",
        words: &["-l", "-n"],
    },
    Program {
        name: "tshark",
        words: &["-n", "-q", "-z", "conv,tcp", "-r"],
    },
    Program {
        name: "cat",
        words: &[],
    },
];

/// Goals of the first graph: seconds, and megabytes of its page.
const GRAPH_S: f64 = 1.0;
const GRAPH_MB: f64 = 3.0;

/// Goals of memory: octets per connection, and a fixed amount in MiB.
const PER_CONNECTION: f64 = 400.0;
const BESIDE_MIB: f64 = 32.0;

/// Measures all captures; with `--short` a fifth of each, one run instead of three.
pub fn run(words: &[String]) -> Result<(), Failed> {
    let is_short = match words {
        [] => false,
        [word] if word == "--short" => true,
        _ => return Err(Failed::Usage("bench --why takes --short alone".into())),
    };
    let gigatcp = process::build_command(super::profile(is_short))?;
    let maker =
        process::build_example("gigatcp-capture", "make_capture", super::profile(is_short))?;
    for capture in &CAPTURES {
        let packets = if is_short && capture.packets > 1_000_000 {
            capture.packets / 5
        } else {
            capture.packets
        };
        let file = std::env::temp_dir().join(format!("gigatcp-why-{}.pcap", capture.kind));
        make(&maker, capture, packets, &file)?;
        let outcome = compare(&gigatcp, capture, packets, &file, is_short);
        let removed = std::fs::remove_file(&file);
        outcome?;
        removed.map_err(|error| Failed::Usage(format!("{}: {error}", file.display())))?;
    }
    Ok(())
}

fn make(maker: &Path, capture: &Capture, packets: u64, file: &Path) -> Result<(), Failed> {
    let mut command = Command::new(maker);
    command.args([capture.kind, &packets.to_string()]).arg(file);
    command.stdout(Stdio::piped());
    let made = measure::run(command)?;
    println!(
        "{}: {}, {} packets, {:.2} GB",
        capture.kind,
        capture.what,
        made.number("packets"),
        made.number("octets") / 1e9
    );
    Ok(())
}

fn compare(
    gigatcp: &Path,
    capture: &Capture,
    packets: u64,
    file: &PathBuf,
    is_short: bool,
) -> Result<(), Failed> {
    let runs = if is_short { 1 } else { 3 };
    let octets = std::fs::metadata(file).map_or(0, |about| about.len());
    let amount = (packets, octets);
    let ours = |threads: &str| {
        let mut command = Command::new(gigatcp);
        command
            .args(["why", "--summary", "--threads", threads])
            .arg(file);
        best(runs, &command)
    };
    let one = ours("1")?;
    show("gigatcp why --summary", &one, amount, None);
    goals(capture, &one, packets, is_short);
    let two = ours("2")?;
    show("the same, two threads", &two, amount, Some(&one));
    println!(
        "    wall {:.3} s against {:.3}: {:.2} times as fast; goal 1.8",
        two.elapsed_s,
        one.elapsed_s,
        one.elapsed_s / two.elapsed_s
    );
    if capture.is_drawn {
        first_graph(gigatcp, file, runs, is_short)?;
    }
    // A comparison with a build with assertions is meaningless.
    let others = if is_short { &[][..] } else { &OTHERS };
    for other in others {
        if !process::has(other.name) {
            println!("  {}: SKIPPED, it is not installed", other.name);
            continue;
        }
        let mut command = Command::new(other.name);
        command.args(other.words).arg(file);
        let run = best(if other.name == "cat" { runs } else { 1 }, &command)?;
        show(other.name, &run, amount, Some(&one));
    }
    Ok(())
}

/// Measures the time to a page of graphs, and its size.
fn first_graph(gigatcp: &Path, file: &Path, runs: usize, is_short: bool) -> Result<(), Failed> {
    let page = file.with_extension("html");
    let mut command = Command::new(gigatcp);
    command.args(["why", "--threads", "2", "--overwrite", "--report"]);
    command.arg(&page).arg(file);
    let run = best(runs, &command)?;
    let mb = std::fs::metadata(&page).map_or(0, |about| about.len()) as f64 / 1e6;
    std::fs::remove_file(&page)
        .map_err(|error| Failed::Usage(format!("{}: {error}", page.display())))?;
    println!(
        "  gigatcp why --report, two threads: {:.3} s until the page is there, {mb:.2} MB",
        run.elapsed_s
    );
    if !is_short {
        let verdict = |is_met: bool| if is_met { "met" } else { "missed" };
        println!(
            "    goals {GRAPH_S} s {}: {:.2} of it, {GRAPH_MB} MB {}: {:.2} of it",
            verdict(run.elapsed_s <= GRAPH_S),
            run.elapsed_s / GRAPH_S,
            verdict(mb <= GRAPH_MB),
            mb / GRAPH_MB
        );
    }
    Ok(())
}

/// Run of several with the lowest CPU time.
fn best(runs: usize, command: &Command) -> Result<Run, Failed> {
    let mut least: Option<Run> = None;
    for _ in 0..runs {
        let mut again = Command::new(command.get_program());
        again.args(command.get_args());
        again.stdout(Stdio::null()).stderr(Stdio::null());
        let run = measure::run(again)?;
        if least.as_ref().is_none_or(|least| cpu(&run) < cpu(least)) {
            least = Some(run);
        }
    }
    least.ok_or_else(|| Failed::Usage("the number of runs is zero".into()))
}

fn cpu(run: &Run) -> f64 {
    run.user_s + run.system_s
}

fn show(name: &str, run: &Run, (packets, octets): (u64, u64), ours: Option<&Run>) {
    let seconds = cpu(run);
    let ratio = ours.map_or(String::new(), |ours| {
        format!(", {:.2} times ours", seconds / cpu(ours))
    });
    println!(
        "  {name}: {seconds:.3} s of processor, {:.2} million packets a second, {:.0} MB a second, \
         {:.0} MiB{ratio}",
        packets as f64 / seconds / 1e6,
        octets as f64 / seconds / 1e6,
        run.peak_mib
    );
}

fn goals(capture: &Capture, run: &Run, packets: u64, is_short: bool) {
    let rate = packets as f64 / cpu(run) / 1e6;
    let verdict = |is_met: bool| if is_met { "met" } else { "missed" };
    println!(
        "    goal {} million packets a second {}: {:.2} of it",
        capture.rate,
        verdict(rate >= capture.rate),
        rate / capture.rate
    );
    if let Some(connections) = capture.connections.filter(|_| !is_short) {
        let goal = BESIDE_MIB + connections as f64 * PER_CONNECTION / f64::from(1 << 20);
        println!(
            "    goal {goal:.0} MiB {}: {:.2} of it",
            verdict(run.peak_mib <= goal),
            run.peak_mib / goal
        );
    }
}
