//! System programs of cases, installed if possible.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Timeout for installing one package, in seconds.
const PATIENCE: &str = "240";

/// Programs with their packages.
const WANTED: [(&str, &str); 10] = [
    ("tcpdump", "tcpdump"),
    ("iperf3", "iperf3"),
    ("nuttcp", "nuttcp"),
    ("curl", "curl"),
    ("ethtool", "ethtool"),
    ("zstd", "zstd"),
    ("ip", "iproute2"),
    ("tc", "iproute2"),
    ("sysctl", "procps"),
    ("unshare", "util-linux"),
];

fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.push("/usr/sbin".into());
    places.push("/sbin".into());
    places.iter().any(|at| at.join(program).exists())
}

fn apt_get(words: &[&str]) -> bool {
    let mut command = Command::new("timeout");
    command
        .args([PATIENCE, "apt-get", "-y", "-qq"])
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Installs missing programs.
///
/// # Errors
/// The packages that cannot be installed.
pub fn install() -> Result<(), String> {
    let mut missing = Vec::new();
    for (program, package) in WANTED {
        if has(program) {
            continue;
        }
        let done = apt_get(&["install", package])
            || (apt_get(&["update"]) && apt_get(&["install", package]));
        if !done {
            missing.push(package);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!(
        "missing programs; install the packages {}",
        missing.join(" ")
    ))
}

/// Finds the `gigatcp` command: as given, or next to this program.
///
/// # Errors
/// If there is none.
pub fn gigatcp(named: Option<&Path>) -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let beside = own.with_file_name("gigatcp");
    let found = named.map_or(beside, Path::to_owned);
    if found.exists() {
        return Ok(found);
    }
    Err(format!(
        "no {}: build it with `cargo build --release`, or name it with --gigatcp",
        found.display()
    ))
}
