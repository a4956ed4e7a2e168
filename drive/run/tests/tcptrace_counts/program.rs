//! Output of the installed tcptrace for a capture.

use std::collections::BTreeMap;
use std::env;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One connection: its ends, and each count of both directions.
///
/// The first direction is that of the end named first.
pub struct Row {
    pub ends: [(IpAddr, u16); 2],
    counts: BTreeMap<String, [String; 2]>,
}

impl Row {
    /// A count of a direction, if tcptrace has it.
    pub fn count(&self, name: &str, from: usize) -> Option<&str> {
        let both = self
            .counts
            .get(name)
            .unwrap_or_else(|| panic!("tcptrace has no column {name}"));
        Some(both[from].as_str()).filter(|text| *text != "NA")
    }
}

/// Path of tcptrace; prints a message if it is not installed.
pub fn find() -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    let found = env::split_paths(&folders)
        .map(|folder| folder.join("tcptrace"))
        .find(|program| program.is_file());
    if found.is_none() {
        // Directly to stderr: the test runner hides the output of `eprintln!`.
        let line = "SKIPPED: tcptrace is not installed, nothing was compared with its counts\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
    found
}

/// Rows for the capture at `path`; empty if it reads none of it.
pub fn rows(program: &Path, path: &Path) -> Vec<Row> {
    let mut command = Command::new(program);
    command.args(["-l", "-r", "-W", "-n", "--csv"]).arg(path);
    // Options of its user must not apply.
    command.env_remove("TCPTRACEOPTS").env("HOME", "/nowhere");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .collect();
    let Some((names, lines)) = lines.split_first() else {
        return Vec::new();
    };
    // One of them has a blank in one direction only.
    let name = |name: &str| name.trim().replace(' ', "_");
    let names: Vec<String> = names.split(',').map(name).collect();
    lines.iter().filter_map(|line| row(&names, line)).collect()
}

fn row(names: &[String], line: &str) -> Option<Row> {
    let values: Vec<&str> = line.split(',').map(str::trim).collect();
    let value = |name: &str| {
        let index = names.iter().position(|column| column == name)?;
        values.get(index).copied()
    };
    let end = |host, port| Some((value(host)?.parse().ok()?, value(port)?.parse().ok()?));
    let ends = [end("host_a", "port_a")?, end("host_b", "port_b")?];
    let mut counts: BTreeMap<String, [String; 2]> = BTreeMap::new();
    for (name, value) in names.iter().zip(&values) {
        for (index, suffix) in ["_a2b", "_b2a"].into_iter().enumerate() {
            if let Some(name) = name.strip_suffix(suffix) {
                for (name, value) in parts(name, value) {
                    counts.entry(name.to_owned()).or_default()[index] = value.to_owned();
                }
            }
        }
    }
    for name in ["first_packet", "last_packet"] {
        let (seconds, micros) = value(name)?.split_once('.')?;
        // A number of microseconds, without leading zeros of the fraction.
        let value = format!("{seconds}.{micros:0>6}");
        counts.insert(name.to_owned(), [value.clone(), value]);
    }
    Some(Row { ends, counts })
}

/// Splits two columns that have two values each; yes and no are one and zero.
fn parts<'a>(name: &'a str, value: &'a str) -> Vec<(&'a str, &'a str)> {
    let names = match name {
        "SYN/FIN_pkts_sent" => ["SYN_pkts_sent", "FIN_pkts_sent"],
        "req_1323_ws/ts" => ["req_1323_ws", "req_1323_ts"],
        _ => return vec![(name, number(value))],
    };
    names
        .into_iter()
        .zip(value.split('/').map(number))
        .collect()
}

fn number(value: &str) -> &str {
    match value {
        "Y" => "1",
        "N" => "0",
        other => other,
    }
}
