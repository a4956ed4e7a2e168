//! `gigatcp emulate` as the path of a case.
//!
//! Programs that do nothing hold its two ends open; the case's programs enter their namespaces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::forward::counters::{DirectionCounters, PathCounters};
use super::process::{Running, Start, spawn};

/// Bytes that the emulator's link adds to each packet.
const LINK_OVERHEAD: u64 = 38;

/// A running emulator.
#[derive(Debug)]
pub struct Emulated {
    running: Running,
    /// Processes that hold the namespaces: client, server.
    pub idle: [u32; 2],
    json: PathBuf,
}

/// Processes that hold the namespaces of `token` open.
fn holders(token: &str) -> [Option<u32>; 2] {
    let mut found = [None, None];
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_idle = words.get(1).is_some_and(|word| *word == b"idle");
        if !is_idle || words.get(3).is_none_or(|word| *word != token.as_bytes()) {
            continue;
        }
        let is_server = words.get(2).is_some_and(|word| *word != b"0");
        found[usize::from(is_server)] = Some(process);
    }
    found
}

impl Emulated {
    /// Starts the emulator, which writes its capture into `at`.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start(gigatcp: &Path, arguments: &[String], at: &Path) -> Result<Self, String> {
        let me = std::env::current_exe()
            .map_err(|error| error.to_string())?
            .to_string_lossy()
            .into_owned();
        let token = format!("case-{}-{}", std::process::id(), super::sample::now_ns());
        let json = at.join("emulate.json");
        let mut command = Command::new(gigatcp);
        command.arg("emulate").args(arguments).arg("--quiet");
        command.arg("--capture").arg(at.join("emulate.pcapng"));
        command.arg("--json").arg(&json);
        command
            .arg("--server")
            .arg(format!("exec {me} idle 9 {token}"));
        command.arg("--").args([&me, "idle", "0", &token]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let own = fs::File::open("/proc/self/ns/net").map_err(|error| error.to_string())?;
        let start = Start {
            nice: -15,
            ..Start::default()
        };
        let child = spawn(&mut command, super::process::raw(&own), &start)
            .map_err(|error| format!("gigatcp emulate: {error}"))?;
        let mut running = Running {
            child,
            name: "emulate".into(),
        };
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until && !running.wait(Duration::ZERO) {
            if let [Some(client), Some(server)] = holders(&token) {
                return Ok(Self {
                    running,
                    idle: [client, server],
                    json,
                });
            }
            thread::sleep(Duration::from_millis(20));
        }
        Err("gigatcp emulate did not start".into())
    }

    /// Ends the emulator and returns its counters as written.
    pub fn finish(mut self) -> Option<Value> {
        // SAFETY: plain integers.
        unsafe { libc::kill(self.idle[0].cast_signed(), libc::SIGKILL) };
        self.running.wait(Duration::from_secs(10));
        let text = fs::read_to_string(&self.json).ok()?;
        let _ = fs::remove_file(&self.json);
        serde_json::from_str(&text).ok()
    }
}

fn direction(value: &Value, rate_bps: f64) -> DirectionCounters {
    let hops = value["hops"].as_array().cloned().unwrap_or_default();
    let sum = |name: &str| -> u64 { hops.iter().filter_map(|hop| hop[name].as_u64()).sum() };
    let delivered = sum("delivered_packets");
    let bytes = sum("delivered_bytes");
    let dropped_by = |names: &[&str]| -> u64 {
        let counts = hops
            .iter()
            .flat_map(|hop| names.iter().map(|name| hop["drops"][*name].as_u64()));
        counts.flatten().sum()
    };
    let reasons: [(&str, &[&str]); 4] = [
        ("queue", &["queue_full", "aqm"]),
        ("random", &["loss"]),
        ("policer", &["policed"]),
        ("mtu", &["too_big"]),
    ];
    let dropped = reasons
        .iter()
        .map(|(reason, names)| ((*reason).to_owned(), dropped_by(names)))
        // The receiver drops what its checksum rejects.
        .chain([("corrupt".to_owned(), sum("corrupted_packets"))])
        .filter(|(_, count)| *count > 0);
    let wire = (bytes + LINK_OVERHEAD * delivered) as f64 * 8.0;
    DirectionCounters {
        packets: sum("arrived_packets"),
        bytes: sum("arrived_bytes"),
        delivered,
        delivered_bytes: bytes,
        dropped: dropped.collect(),
        duplicated: sum("duplicated_packets"),
        reordered: sum("reordered_packets"),
        marked: sum("marked_packets"),
        busy_us: if rate_bps > 0.0 {
            wire / rate_bps * 1e6
        } else {
            0.0
        },
        ..DirectionCounters::default()
    }
}

/// Emulator's counters in the form of the forwarder's.
pub fn counters(value: &Value, rate_bps: f64) -> PathCounters {
    let directions = || value["directions"].as_array().into_iter().flatten();
    let late = |name: &str| {
        let most = directions().filter_map(|direction| direction[name].as_u64());
        most.max().unwrap_or(0) as f64 / 1e3
    };
    let device = directions().filter_map(|direction| direction["dropped_by_device"].as_u64());
    PathCounters {
        forward: direction(&value["directions"][0], rate_bps),
        reverse: direction(&value["directions"][1], rate_bps),
        late_p50_us: late("late_p50_ns"),
        late_p99_us: late("late_p99_ns"),
        late_max_us: late("late_max_ns"),
        socket_drops: device.sum(),
        refused: 0,
    }
}

/// Holds a namespace open until killed, listening on `port` unless that is 0.
///
/// # Errors
/// If the port cannot be listened on.
pub fn idle(port: u16) -> std::io::Result<()> {
    let _listener = match port {
        0 => None,
        port => Some(std::net::TcpListener::bind(("0.0.0.0", port))?),
    };
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}
