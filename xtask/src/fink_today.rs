//! `cargo xtask fink-today`: CUBIC of the running kernel with an initial ssthresh of 100 and
//! without.
//!
//! The path is emulated, with 1 Gbit/s and 80 ms. The prediction comes first, then the
//! measurement.
//!
//! The threshold is a parameter of the kernel's module, for the whole machine. It is set while
//! one transfer runs, and always restored. A separate process waits for the end of this one,
//! however it ends, and writes the previous values.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::{Failed, process};

/// Directory of the parameters of the kernel's CUBIC.
const PARAMETERS: &str = "/sys/module/tcp_cubic/parameters";
/// Parameters of the second series: an initial ssthresh, and no `HyStart`. `HyStart` could end
/// slow start earlier.
const SET: [(&str, &str); 2] = [("initial_ssthresh", "100"), ("hystart", "0")];
const PLAN: &str = "experiments/fink-today/plan.toml";
/// Kernel stacks at both ends, in real time.
const LIVE: [&str; 6] = [
    "--on",
    "live",
    "--set",
    "sender.stack=kernel",
    "--set",
    "receiver.stack=kernel",
];

/// Prints the prediction, then measures.
pub fn run() -> Result<(), Failed> {
    let before = read()?;
    println!("{}", expectation());
    println!("\nin virtual time:\n");
    gigatcp(&[])?;
    println!("\non the running kernel, as it is:\n");
    let series = |name| [&LIVE[..], &["--series", name]].concat();
    gigatcp(&series("default"))?;
    let said: Vec<String> = SET
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    println!("\non the running kernel, with {}:\n", said.join(" "));
    let guard = Guard::new(&before)?;
    let measured = write(&SET.map(|(name, value)| (name, value.to_owned())))
        .and_then(|()| gigatcp(&series("initial-ssthresh-100")));
    guard.put_back(&before)?;
    measured
}

/// Prediction, from equations. BIC and CUBIC without a last maximum add a segment per 20
/// acknowledged, a twentieth per round trip; slow start doubles.
fn expectation() -> String {
    const SEGMENTS: f64 = 1e9 * 0.08 / 8.0 / 1538.0;
    const RTT: f64 = 0.08;
    let rounds = |from: f64, factor: f64| (SEGMENTS / from).ln() / factor.ln();
    let (slow, fast) = (rounds(100.0, 1.05), rounds(10.0, 2.0));
    format!(
        "the path holds {SEGMENTS:.0} segments\n\
         from 100, by 1.05 each round trip: {slow:.0} round trips, {:.1} s\n\
         from 10, doubling: {fast:.1} round trips, {:.2} s",
        slow * RTT,
        fast * RTT,
    )
}

fn gigatcp(words: &[&str]) -> Result<(), Failed> {
    let mut command = process::cargo(&["run", "--quiet", "--release", "--package", "gigatcp"]);
    command.args(["--", "run", PLAN]).args(words);
    process::succeed(command)
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(PARAMETERS).join(name)
}

/// Current values of the parameters.
fn read() -> Result<[(&'static str, String); 2], Failed> {
    let mut values = SET.map(|(name, _)| (name, String::new()));
    for (name, value) in &mut values {
        let text = fs::read_to_string(path(name)).map_err(|error| missing(name, &error))?;
        *value = text.trim().to_owned();
    }
    Ok(values)
}

fn write(values: &[(&str, String); 2]) -> Result<(), Failed> {
    values.iter().try_for_each(|(name, value)| {
        fs::write(path(name), format!("{value}\n")).map_err(|error| missing(name, &error))
    })
}

fn missing(name: &str, error: &io::Error) -> Failed {
    Failed::Usage(format!(
        "cannot use {}: {error}; requires root, and `modprobe tcp_cubic` where there is none",
        path(name).display()
    ))
}

/// Shell that restores the parameters when its input ends. The input is open as long as this
/// process lives. The shell is in a separate process group, so that Ctrl-C does not reach it.
struct Guard {
    shell: Child,
}

impl Guard {
    fn new(before: &[(&'static str, String); 2]) -> Result<Self, Failed> {
        let [first, second] = before;
        let put = |(name, value): &(&str, String)| format!("echo {value} > {PARAMETERS}/{name}");
        let text = format!(
            "trap '' INT TERM HUP; cat > /dev/null; {}; {}",
            put(first),
            put(second)
        );
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &text]).process_group(0);
        command.stdin(Stdio::piped());
        let shell = command
            .spawn()
            .map_err(|error| process::cannot(&command, &error))?;
        Ok(Self { shell })
    }

    /// Ends the guard's wait, and checks that the parameters are restored.
    fn put_back(mut self, before: &[(&'static str, String); 2]) -> Result<(), Failed> {
        drop(self.shell.stdin.take());
        let ended = self.shell.wait();
        ended.map_err(|error| Failed::Usage(format!("cannot wait for the guard: {error}")))?;
        if read()? != *before {
            let message = format!("{PARAMETERS} is not as it was: {before:?}");
            return Err(Failed::Usage(message));
        }
        Ok(())
    }
}
