//! `cargo xtask bench --linear`: nothing grows faster than the work.
//!
//! Each axis is a plan of any size along one kind of work: losses, flows, hops. The command runs it
//! with half a size, the size and twice the size, and valgrind counts the instructions. From the
//! second run to the third the work grows by twice as much as from the first to the second, so the
//! instructions may grow by at most [`LIMIT`] times as many. Those of the start, which are the same
//! in all three, drop out. What grows with the square of the size grows by four times as many.
//!
//! Instructions of a run are the same on a busy machine and on an idle one, so `ci` enforces the
//! limit, on the build of the tests. valgrind reads all debug information when it starts, which takes
//! longer than most runs: the counted command is a copy without. Cache misses, which many flows cost,
//! are not counted. Without valgrind nothing is proven, and the step says so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::instructions;
use crate::{Failed, files, process};

/// Maximum growth of instructions from a size to twice that, relative to the growth up to the size.
const LIMIT: f64 = 2.2;

/// One kind of work.
struct Axis {
    name: &'static str,
    /// Number of units in the second of three runs; even.
    size: u64,
    /// Plan, or report, with this many units.
    plan: fn(u64) -> String,
    /// Use that the command makes of the plan.
    action: Action,
}

/// Use that the command makes of a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Run,
    /// Explains a capture of the run, which is made without counting.
    Why,
    /// Explains the text itself, which is no plan but a report.
    Explain,
    /// Sweeps over this many levels of the seed.
    Sweep,
}

const fn axis(name: &'static str, size: u64, plan: fn(u64) -> String, action: Action) -> Axis {
    Axis {
        name,
        size,
        plan,
        action,
    }
}

/// All axes. The sizes are such that a run takes seconds under valgrind, and all of them a minute of
/// CPU time.
const AXES: [Axis; 10] = [
    axis("losses of one overshoot", 20, overshoot, Action::Run),
    axis("SACK holes", 200, holes, Action::Run),
    axis("segments in flight", 400, window, Action::Run),
    axis("flows", 20, flows, Action::Run),
    axis("flows with random loss", 20, lossy_flows, Action::Run),
    axis("hops", 4, hops, Action::Run),
    axis("seconds", 12, seconds, Action::Run),
    axis("cells of a sweep", 20, cells, Action::Sweep),
    axis("connections of a capture", 40, connections, Action::Why),
    axis("sockets of ss", 400, sockets, Action::Explain),
];

/// Standard slow start overflows a queue of one BDP: losses grow with the rate.
fn overshoot(mbps: u64) -> String {
    let (queue, bytes) = (mbps * 12_500, mbps * 400_000);
    format!(
        "path = {{ rate = \"{mbps} Mbit/s\", rtt = \"100 ms\", queue = \"{queue} B\" }}\n\
         flow = {{ congestion_control = \"cubic\", slow_start = \"standard\", window = \"1 GB\", \
         bytes = \"{bytes} B\" }}\n"
    )
}

/// A window of which 5 % are holes, for about ten round trips.
fn holes(segments: u64) -> String {
    let plan = window(segments);
    plan.replace("rtt =", "loss = \"0.05\", rtt =")
        .replace("\"reno\"", "\"fixed\"")
}

/// A full window without loss, for about ten round trips.
fn window(segments: u64) -> String {
    let (window, bytes) = (segments * 1448, segments * 14_480);
    format!(
        "path = {{ rate = \"100 Gbit/s\", rtt = \"50 ms\" }}\n\
         flow = {{ congestion_control = \"reno\", window = \"{window} B\", bytes = \"{bytes} B\" }}\n"
    )
}

/// Flows that share a path of 2 Mbit/s for each.
fn flows(count: u64) -> String {
    let rate = count * 2;
    format!(
        "duration = \"1 s\"\n\
         path = {{ rate = \"{rate} Mbit/s\", rtt = \"20 ms\" }}\n\
         [[flow]]\nname = \"f\"\ncongestion_control = \"cubic\"\ncount = {count}\n\
         duration = \"900 ms\"\nstart_step = \"10 us\"\n"
    )
}

/// Flows with random loss, which each of them is examined for.
fn lossy_flows(count: u64) -> String {
    flows(count).replace("rtt =", "loss = \"0.01\", rtt =")
}

/// One flow over a number of hops.
fn hops(count: u64) -> String {
    let hop = "{ rate = \"1 Gbit/s\", delay = \"100 us\" }, ".repeat(count as usize);
    format!(
        "[path]\nforward = [{hop}]\nreverse = [{hop}]\n\
         [flow]\nwindow = \"1 MB\"\nbytes = \"4 MB\"\n"
    )
}

/// One flow for a number of seconds of virtual time.
fn seconds(count: u64) -> String {
    let duration = count + 1;
    format!(
        "duration = \"{duration} s\"\n\
         path = {{ rate = \"2 Mbit/s\", rtt = \"40 ms\" }}\n\
         flow = {{ window = \"64 kB\", duration = \"{count} s\" }}\n"
    )
}

/// A short transfer, of which each cell makes one.
fn cells(_: u64) -> String {
    "path = { rate = \"100 Mbit/s\", rtt = \"10 ms\", loss = \"0.01\" }\n\
     flow = { bytes = \"50 kB\" }\n"
        .into()
}

/// Short connections, captured.
fn connections(count: u64) -> String {
    flows(count).replace("duration = \"900 ms\"", "bytes = \"20 kB\"")
}

/// What `ss` printed three times.
fn sockets(count: u64) -> String {
    let mut text = String::new();
    for run in 1..=3 {
        text += "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n";
        for socket in 0..count {
            let (sent, segments) = (500_000 * run, 350 * run);
            let port = 10_000 + socket;
            text += &format!(
                "ESTAB 0 0 192.0.2.1:{port} 192.0.2.2:5201\n\t cubic wscale:7,7 rtt:8.2/4.1 mss:1448 \
                 cwnd:10 bytes_sent:{sent} bytes_acked:{sent} data_segs_out:{segments}\n"
            );
        }
    }
    text
}

/// Counts all axes and prints them; fails if one exceeds the limit.
pub fn run(profile: &str) -> Result<(), Failed> {
    if !process::has("valgrind") {
        println!("SKIPPED, NOTHING PROVEN: valgrind is not installed, nothing counts instructions");
        return Ok(());
    }
    let directory = process::target().join("linear");
    // What an earlier run has left would not be run again.
    let _ = std::fs::remove_dir_all(&directory);
    let program = without_debug_information(process::build_command(profile)?, &directory)?;
    println!(
        "growth of instructions from a size to its double, to that from its half; limit {LIMIT}:"
    );
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(axis) = AXES.get(number) else { break };
                    let row = counts(&program, &directory, axis);
                    rows.lock().expect("no thread panics").push((number, row));
                }
            });
        }
    });
    let mut sorted = rows.into_inner().expect("no thread panics");
    sorted.sort_by_key(|(number, _)| *number);
    let mut exceeds = false;
    for (number, counts) in sorted {
        let axis = &AXES[number];
        let [half, once, twice] = counts?.map(|count| count as f64 / 1e6);
        let ratio = (twice - once) / (once - half);
        let verdict = if ratio <= LIMIT { "" } else { "  EXCEEDED" };
        exceeds |= ratio > LIMIT;
        println!(
            "  {:24} {:5}: {ratio:.2} ({half:.0}, {once:.0}, {twice:.0} million){verdict}",
            axis.name, axis.size,
        );
    }
    if exceeds { Err(Failed::Found) } else { Ok(()) }
}

/// Path of a copy of `program` without debug information, or of `program` itself where nothing can
/// make one.
fn without_debug_information(program: PathBuf, directory: &Path) -> Result<PathBuf, Failed> {
    if !process::has("strip") {
        return Ok(program);
    }
    std::fs::create_dir_all(directory)
        .map_err(|error| files::failed("create", directory, &error))?;
    let copy = directory.join("gigatcp");
    let mut command = Command::new("strip");
    command
        .arg("--strip-all")
        .arg("-o")
        .arg(&copy)
        .arg(&program);
    process::succeed(command)?;
    Ok(copy)
}

/// Instructions of an axis: for half its size, its size, and twice that.
fn counts(program: &Path, directory: &Path, axis: &Axis) -> Result<[u64; 3], Failed> {
    let count = |size| {
        let name = format!("{}-{size}", axis.name.replace(' ', "-"));
        let plan = directory.join(format!("{name}.toml"));
        let text = match axis.action {
            Action::Explain => (axis.plan)(size),
            _ => format!("name = \"{name}\"\nseed = 1\n{}", (axis.plan)(size)),
        };
        files::write(&plan, &text)?;
        let out = directory.join("runs").display().to_string();
        let plan_file = plan.display().to_string();
        let words = match axis.action {
            Action::Run => vec!["run".into(), plan_file, "--seed".into(), "1".into()],
            Action::Sweep => {
                let over = format!("flow.bytes=50 kB..60 kB linear {size}");
                vec!["sweep".into(), plan_file, "--over".into(), over]
            }
            Action::Explain => vec!["why".into(), plan_file],
            Action::Why => vec![
                "why".into(),
                capture(program, directory, &plan_file, &name)?,
            ],
        };
        let makes_runs = matches!(axis.action, Action::Run | Action::Sweep);
        let out = makes_runs.then(|| ["--out".into(), out]);
        let words: Vec<String> = words.into_iter().chain(out.into_iter().flatten()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(instructions::collect(program, &[], &words)?.0)
    };
    Ok([
        count(axis.size / 2)?,
        count(axis.size)?,
        count(axis.size * 2)?,
    ])
}

/// Runs a plan and returns the path of its capture.
fn capture(program: &Path, directory: &Path, plan: &str, name: &str) -> Result<String, Failed> {
    let out = directory.join(format!("captured-{name}"));
    let mut command = Command::new(program);
    command.args(["run", plan, "--seed", "1", "--capture", "--quiet", "--out"]);
    command.arg(&out).stdout(Stdio::null());
    process::succeed(command)?;
    let stored = std::fs::read_dir(&out).map_err(|error| files::failed("read", &out, &error))?;
    let mut captures = stored
        .flatten()
        .map(|run| run.path().join(format!("{name}.pcapng")));
    let capture = captures.find(|path| path.is_file());
    capture
        .map(|path| path.display().to_string())
        .ok_or_else(|| Failed::Usage(format!("no capture below {}", out.display())))
}
