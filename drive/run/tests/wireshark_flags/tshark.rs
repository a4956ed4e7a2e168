//! Output of the installed tshark for a capture.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::flag::{NAMES, WiresharkFlags};
use super::independent_reader::find_tshark;

/// Where it is; where it is nowhere, that is said.
pub fn find() -> Option<PathBuf> {
    let found = find_tshark();
    if found.is_none() {
        // Directly to stderr: the test runner hides the output of `eprintln!`.
        let line = "SKIPPED: tshark is not installed, nothing was compared with its flags\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
    }
    found
}

/// Tshark's flags of every frame in which it finds TCP.
pub fn flags(program: &Path, path: &Path) -> BTreeMap<u64, WiresharkFlags> {
    let mut command = Command::new(program);
    // The content of segments does not matter, and may be malformed.
    command.args(["-n", "-Y", "tcp", "-d", "tcp.port==0-65535,data"]);
    command.args(["-T", "fields", "-E", "separator=;", "-e", "frame.number"]);
    for (_, name) in NAMES {
        let field = format!("tcp.analysis.{name}");
        command.args(["-e", &field]);
    }
    let output = command.arg("-r").arg(path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(line).collect()
}

fn line(line: &str) -> (u64, WiresharkFlags) {
    let (frame, fields) = line.split_once(';').unwrap();
    let set = fields
        .split(';')
        .zip(NAMES)
        .filter(|(field, _)| !field.is_empty());
    (
        frame.parse().unwrap(),
        set.map(|(_, (flag, _))| flag).collect(),
    )
}
