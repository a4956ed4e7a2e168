//! Captures in Debian packages, if `cargo xtask ci` has fetched them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// All captures; prints a message if there are none.
pub fn all() -> Option<Vec<PathBuf>> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut paths = Vec::new();
    files(&target.join("debian-captures"), &mut paths);
    if paths.is_empty() {
        let line = "SKIPPED: no captures of Debian's packages in target/debian-captures, \
                    see `cargo xtask ci`\n";
        io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    Some(paths)
}

/// Finds all captures of a directory and its subdirectories.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}
