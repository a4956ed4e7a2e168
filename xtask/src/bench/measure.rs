//! One run of a workload as a process, with its cost.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{Failed, process};

/// Output and cost of one run.
#[derive(Clone, Debug)]
pub struct Run {
    said: BTreeMap<String, f64>,
    /// CPU time in user mode of the whole process, in seconds.
    pub user_s: f64,
    /// CPU time in the kernel, in seconds.
    pub system_s: f64,
    /// Largest resident set in MiB. Pages of a mapped file that are in memory count.
    pub peak_mib: f64,
    /// Time from its start to its end.
    pub elapsed_s: f64,
}

impl Run {
    /// Parses the line of `key value` pairs that a workload prints.
    pub fn parse(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().collect();
        let pairs = words.chunks_exact(2);
        let said = pairs
            .filter_map(|pair| Some((pair[0].to_string(), pair[1].parse().ok()?)))
            .collect();
        Self {
            said,
            user_s: 0.0,
            system_s: 0.0,
            peak_mib: 0.0,
            elapsed_s: 0.0,
        }
    }

    /// Seconds of CPU time per packet.
    pub fn cpu_per_packet(&self) -> f64 {
        (self.user_s + self.system_s) / self.number("packets")
    }

    /// Number it printed under `key`; NaN if it printed none.
    pub fn number(&self, key: &str) -> f64 {
        self.said.get(key).copied().unwrap_or(f64::NAN)
    }
}

/// Several runs, after one that is discarded.
pub fn several(program: &Path, workload: &str, runs: usize) -> Result<Vec<Run>, Failed> {
    once(program, workload)?;
    (0..runs).map(|_| once(program, workload)).collect()
}

/// Runs a workload once, with the kernel's resource usage.
pub fn once(program: &Path, workload: &str) -> Result<Run, Failed> {
    let mut command = Command::new(program);
    command.arg(workload).stdout(Stdio::piped());
    run(command)
}

/// Runs a command once; its output is read if it is piped.
pub fn run(mut command: Command) -> Result<Run, Failed> {
    let started = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| process::cannot(&command, &error))?;
    let mut said = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout
            .read_to_string(&mut said)
            .map_err(|error| process::cannot(&command, &error))?;
    }
    let Some(usage) = wait(child.id()) else {
        let what = format!("`{}` failed", process::spelled(&command));
        return Err(Failed::Usage(what));
    };
    let wall_s = started.elapsed().as_secs_f64();
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Run {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        // In KiB on Linux.
        peak_mib: usage.ru_maxrss as f64 / 1024.0,
        elapsed_s: wall_s,
        ..Run::parse(&said)
    })
}

/// Waits for the child `id`; returns its resource usage, or `None` if it failed.
fn wait(id: u32) -> Option<libc::rusage> {
    let mut status = 0;
    // SAFETY: all zero is a value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that live through the call, and the
    // child has not been waited for: its handle is dropped without waiting.
    let waited = unsafe { libc::wait4(id.cast_signed(), &mut status, 0, &mut usage) };
    let succeeded =
        waited == id.cast_signed() && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
    succeeded.then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_pairs_is_read_by_key() {
        let run = Run::parse("wall_s 0.25 packets 1000 drops 0");
        assert_eq!(run.number("wall_s"), 0.25);
        assert_eq!(run.number("packets"), 1000.0);
        assert!(run.number("jain").is_nan());
    }

    #[test]
    fn a_child_that_fails_is_told_from_one_that_succeeds() {
        let outcome = |script: &str| {
            let mut command = Command::new("sh");
            let mut child = command.args(["-c", script]).spawn().unwrap();
            let outcome = wait(child.id());
            // The child has been waited for already.
            assert!(child.wait().is_err());
            outcome
        };
        assert!(outcome("exit 0").is_some_and(|usage| usage.ru_maxrss > 0));
        assert!(outcome("exit 3").is_none());
    }
}
