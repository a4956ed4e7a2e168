//! Programs of the system that tests and benchmarks use if installed.
//!
//! Tests are skipped if their program is missing:
//! * `tshark`: comparison with Wireshark's reading of a packet,
//! * `tcptrace`: comparison of counts,
//! * `chromedriver`: use of a page as by a person,
//! * `iperf3` and `nuttcp`: throughput with stock peers,
//! * `valgrind`: growth of instructions with the work.
//!
//! This module installs them if that is possible without a question, and otherwise names them.
//! Nothing fails because of it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::process::{self, has};
use crate::{Failed, debian};

/// Time limit for the installation of one package, in seconds.
const PATIENCE: &str = "240";

/// A program, its package, and what is skipped without it.
const WANTED: [(&str, &str, &str); 6] = [
    (
        "tshark",
        "tshark",
        "captures are not compared with Wireshark's reading",
    ),
    (
        "tcptrace",
        "tcptrace",
        "counts are not compared with tcptrace's, and it is not timed",
    ),
    (
        "chromedriver",
        "chromium-driver",
        "graphs are not tried in a browser",
    ),
    (
        "iperf3",
        "iperf3",
        "the tester is not tried with a stock iperf3",
    ),
    (
        "nuttcp",
        "nuttcp",
        "the tester is not tried with a stock nuttcp",
    ),
    (
        "valgrind",
        "valgrind",
        "nothing proves that instructions grow no faster than the work",
    ),
];

/// Installs missing programs as far as possible; reports the others.
pub fn install() {
    for (program, package, without) in WANTED {
        if has(program) {
            println!("{program}: there");
        } else if apt_get(&["install", package]) {
            println!("{program}: installed");
        } else {
            println!("{program}: missing, {without}; install the package {package}");
        }
    }
    debian::fetch();
}

/// Path of the tool `name`. Cargo installs it into `target/tools` if it is not there.
pub fn cargo_tool(name: &str, version: &str) -> Result<PathBuf, Failed> {
    let root = process::target().join("tools");
    let program = root.join("bin").join(name);
    if !program.is_file() {
        let mut install = process::cargo(&["install", "--quiet", "--locked", name]);
        install
            .args(["--version", version])
            .arg("--root")
            .arg(&root);
        process::succeed(install)?;
    }
    Ok(program)
}

/// Installs with apt-get, after an update of its lists if necessary.
fn apt_get(words: &[&str]) -> bool {
    let root = Command::new("id").arg("-u").output();
    let is_root = root.is_ok_and(|output| output.stdout.trim_ascii() == b"0");
    if !is_root || !has("apt-get") || !has("timeout") {
        return false;
    }
    run(words) || (run(&["update"]) && run(words))
}

fn run(words: &[&str]) -> bool {
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
