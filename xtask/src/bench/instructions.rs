//! Instructions per operation and per packet, counted under valgrind.
//!
//! Operations of a connection and of the wire format are separate functions in
//! `core/tcp/examples/instructions.rs`. callgrind counts the instructions inside one of them,
//! which are divided by the number of its calls.
//!
//! For packets of a simulation, two runs of different length are counted and subtracted. So the
//! start of the process and building the world do not count. The first is counted twice, and must
//! give the same result.

use std::path::Path;
use std::process::Command;

use super::beside;
use super::measure::Run;
use super::networks::QUEUE_GOAL;
use crate::{Failed, process};

/// Operation of a connection or of the wire format.
struct Operation {
    /// Function in the example, under whose name the example counts it too.
    function: &'static str,
    what: &'static str,
    goal: Option<f64>,
}

const fn operation(function: &'static str, what: &'static str, goal: Option<f64>) -> Operation {
    Operation {
        function,
        what,
        goal,
    }
}

/// Segments of 1448 bytes with timestamps; CUBIC in congestion avoidance.
const ENGINE: [Operation; 7] = [
    operation(
        "data_received",
        "data segment received in order",
        Some(200.0),
    ),
    operation("data_read", "read of a segment's bytes", Some(60.0)),
    operation("data_written", "write of 256 KiB", None),
    operation("data_sent", "data segment sent", Some(500.0)),
    operation(
        "ack_processed",
        "ACK of two segments processed",
        Some(700.0),
    ),
    operation("ack_sent", "ACK sent", Some(300.0)),
    operation("nothing_sent", "poll with nothing to send", None),
];

/// Packets of 1500 bytes.
const WIRE: [Operation; 6] = [
    operation("packet_encoded", "packet encoded", None),
    operation("packet_decoded", "packet decoded", None),
    operation(
        "unsummed_encoded",
        "packet encoded, checksum left to the device",
        None,
    ),
    operation(
        "unsummed_decoded",
        "packet decoded, checksum verified by the device",
        None,
    ),
    operation("bytes_copied", "1448 bytes copied", None),
    operation("bytes_summed", "1500 bytes summed", None),
];

/// Goal of encoding and decoding a packet with checksum offload, in instructions.
const UNSUMMED_GOAL: f64 = 400.0;

/// Count of Van Jacobson's message of 1993 on `tcp_usrrecv`, and what it leaves out.
const JACOBSON: &str = "\
  (Jacobson 1993: 33 SPARC instructions for a data segment received in order, header prediction
  and what follows it. Not in those: timestamps and PAWS, receive buffer autotuning, the memory
  that packets occupy, delayed and quick ACKs, ECN counters, keep-alive, 64-bit offsets.)";

/// Workload: name and argument of the shorter and of the longer run.
type Pair = [(&'static str, &'static str); 2];

/// Runs of one and two virtual seconds. In the first the window grows.
const fn seconds(name: &'static str) -> Pair {
    [(name, "1"), (name, "2")]
}

/// Workloads A and C, and many flows over ten hops.
const WORKLOADS: [Pair; 3] = [
    seconds("single-flow"),
    seconds("dumbbell"),
    [("ten-hops-100", "1"), ("ten-hops-200", "1")],
];

/// Managed queues compared with FIFO: a single hop, and workload C.
const QUEUES: [(Pair, [Pair; 4]); 2] = [
    (
        seconds("hop-fifo"),
        [
            seconds("hop-codel"),
            seconds("hop-fq_codel"),
            seconds("hop-red"),
            seconds("hop-pie"),
        ],
    ),
    (
        seconds("dumbbell"),
        [
            seconds("dumbbell-codel"),
            seconds("dumbbell-fq_codel"),
            seconds("dumbbell-red"),
            seconds("dumbbell-pie"),
        ],
    ),
];

/// Counts and prints everything.
pub fn run(program: &Path) -> Result<(), Failed> {
    if !process::has("valgrind") {
        let what = "--instructions needs valgrind: install the package valgrind";
        return Err(Failed::Usage(what.into()));
    }
    operations()?;
    for workload in &WORKLOADS {
        per_packet(program, workload)?;
    }
    for (fifo, managed) in &QUEUES {
        let fifo = per_packet(program, fifo)?;
        for workload in managed {
            let ratio = per_packet(program, workload)? / fifo;
            println!("  to FIFO: {ratio:.2}{}", beside("", ratio, QUEUE_GOAL));
        }
    }
    Ok(())
}

/// Counts every operation and prints the tables.
fn operations() -> Result<(), Failed> {
    let program = process::build_example("gigatcp-tcp", "instructions", process::MEASURE)?;
    println!("instructions per operation of a connection:");
    for operation in &ENGINE {
        per_operation(&program, "engine", operation)?;
    }
    println!("{JACOBSON}");
    println!("the same without timestamps, segments of 1460 bytes:");
    for Operation { function, what, .. } in &ENGINE {
        per_operation(&program, "plain", &operation(function, what, None))?;
    }
    println!("instructions per packet of 1500 bytes, payload copied:");
    let mut unsummed = 0.0;
    for operation in &WIRE {
        let each = per_operation(&program, "wire", operation)?;
        if operation.function.starts_with("unsummed") {
            unsummed += each;
        }
    }
    let goal = beside("", unsummed, UNSUMMED_GOAL);
    println!("  encoded and decoded without sums: {unsummed:.0}{goal}");
    Ok(())
}

/// Counts an operation, prints its instructions per call, and returns them.
fn per_operation(program: &Path, group: &str, operation: &Operation) -> Result<f64, Failed> {
    let Operation {
        function,
        what,
        goal,
    } = operation;
    let inside = format!("--toggle-collect=*measured::{function}");
    let (instructions, run) = collect(program, &[&inside], &[group, "4000"])?;
    let each = instructions as f64 / run.number(function);
    let beside_goal = goal.map_or(String::new(), |goal| beside("", each, goal));
    println!("  {what:48} {each:7.1}{beside_goal}");
    Ok(each)
}

/// Counts a workload, prints its instructions per packet, and returns them.
fn per_packet(program: &Path, workload: &Pair) -> Result<f64, Failed> {
    let [shorter, longer] = *workload;
    let first = count(program, shorter)?;
    let again = count(program, shorter)?;
    let second = count(program, longer)?;
    let instructions = second.0.saturating_sub(first.0);
    let packets = second.1.saturating_sub(first.1).max(1);
    let per_packet = instructions as f64 / packets as f64;
    let repeated = match first == again {
        true => "the same when repeated".into(),
        false => format!("REPEATED DIFFERENTLY: {} and {}", first.0, again.0),
    };
    println!(
        "{}: {per_packet:.1} instructions per packet, {packets} packets, {repeated}",
        longer.0
    );
    Ok(per_packet)
}

/// Instructions and packets of one run.
fn count(program: &Path, (name, seconds): (&str, &str)) -> Result<(u64, u64), Failed> {
    let (instructions, said) = collect(program, &[], &[name, seconds, "untimed"])?;
    Ok((instructions, said.number("packets") as u64))
}

/// Instructions of one run under callgrind, and its output.
pub fn collect(program: &Path, options: &[&str], words: &[&str]) -> Result<(u64, Run), Failed> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(options)
        .arg(program)
        .args(words);
    let output = command
        .output()
        .map_err(|error| process::cannot(&command, &error))?;
    let said = Run::parse(&String::from_utf8_lossy(&output.stdout));
    let talk = String::from_utf8_lossy(&output.stderr);
    match collected(&talk) {
        Some(instructions) if output.status.success() => Ok((instructions, said)),
        _ => Err(Failed::Usage(format!(
            "`{}` failed:\n{talk}",
            process::spelled(&command)
        ))),
    }
}

/// Number behind `Collected :` in callgrind's report.
fn collected(talk: &str) -> Option<u64> {
    let line = talk.lines().find(|line| line.contains("Collected :"))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_callgrinds_report() {
        let talk = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(talk), Some(123_456));
        assert_eq!(collected("valgrind: no such file"), None);
    }
}
