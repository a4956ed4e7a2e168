//! A server whose clients are killed: `server_soak [MINUTES] [GIGATCP]`.
//!
//! Each second a client starts, of this project or iperf3, and is killed at a random time of its
//! test. Every tenth second one is left to finish and must succeed. Printed each minute: tests
//! begun and ended, the server's memory, threads and open files. The server has to survive, to
//! serve, and not to grow.

use std::fs;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Port of the server; that of nuttcp is the next.
const PORT: &str = "25201";
const NUTTCP: &str = "25202";

/// Resources of the server's process.
#[derive(Clone, Copy, Debug)]
struct Held {
    kilobytes: u64,
    threads: u64,
    files: usize,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let minutes: u64 = words
        .get(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(30);
    let tool = words
        .get(2)
        .map_or("target/release/gigatcp", String::as_str);
    match soak(minutes, tool) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {tool}: {error}");
            ExitCode::from(2)
        }
    }
}

fn soak(minutes: u64, tool: &str) -> std::io::Result<bool> {
    let mut server = Command::new(tool)
        .args(["server", "-p", PORT, "--nuttcp-port", NUTTCP])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    sleep(Duration::from_millis(500));
    let start = Instant::now();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let (mut killed, mut finished, mut failed) = (0, 0, 0);
    let mut first: Option<Held> = None;
    let mut second = 0_u64;
    while start.elapsed() < Duration::from_secs(60 * minutes) {
        let due = start + Duration::from_secs(second + 1);
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let part = Duration::from_millis((random >> 33) % 900);
        if second % 10 == 9 {
            let ended = client(tool, 0, "1")?.wait()?;
            finished += u32::from(ended.success());
            failed += u32::from(!ended.success());
        } else {
            let mut child = client(tool, random >> 60, "10")?;
            sleep(part);
            child.kill()?;
            child.wait()?;
            killed += 1;
        }
        if let Some(status) = server.try_wait()? {
            println!("the server ended after {second} s: {status}");
            return Ok(false);
        }
        second += 1;
        if second.is_multiple_of(60) {
            let now = held(server.id())?;
            println!(
                "{:3} min: {killed} killed, {finished} finished, {failed} failed, {now:?}",
                second / 60
            );
            first.get_or_insert(now);
        }
        sleep(due.saturating_duration_since(Instant::now()));
    }
    let last = held(server.id())?;
    server.kill()?;
    server.wait()?;
    let grew = first.is_some_and(|first| {
        last.kilobytes > first.kilobytes * 3 / 2 + 4096
            || last.files > first.files + 20
            || last.threads > first.threads + 20
    });
    println!(
        "first minute {first:?}, end {last:?}: {}",
        if grew { "it grew" } else { "it did not grow" }
    );
    Ok(failed == 0 && !grew)
}

/// Starts a client of one of four kinds.
fn client(tool: &str, kind: u64, seconds: &str) -> std::io::Result<Child> {
    let mut command = match kind % 4 {
        0 | 1 => {
            let mut command = Command::new(tool);
            command.args(["test", "127.0.0.1", "-p", PORT, "-t", seconds, "-b", "50M"]);
            command.args(if kind % 4 == 1 {
                &["-R", "-P", "4"][..]
            } else {
                &[]
            });
            command
        }
        2 => {
            let mut command = Command::new("iperf3");
            command.args(["-c", "127.0.0.1", "-p", PORT, "-t", seconds, "-b", "50M"]);
            command
        }
        _ => {
            let mut command = Command::new(tool);
            command.args([
                "test",
                "127.0.0.1",
                "--protocol",
                "nuttcp",
                "-p",
                NUTTCP,
                "-t",
                seconds,
            ]);
            command.args(["-b", "50M"]);
            command
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

fn held(process: u32) -> std::io::Result<Held> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let number = |word: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(word));
        line.and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or(0)
    };
    Ok(Held {
        kilobytes: number("VmRSS:"),
        threads: number("Threads:"),
        files: fs::read_dir(format!("/proc/{process}/fd"))?.count(),
    })
}
