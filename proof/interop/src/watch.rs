//! What this process holds of the system: memory, descriptors, threads,
//! namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// System resources that this process holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Octets of memory that are resident.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Network namespaces that a descriptor or a thread keeps.
    pub namespaces: usize,
}

impl Held {
    /// As of now. What cannot be read counts as nothing.
    #[must_use]
    pub fn now() -> Self {
        let descriptors = links("/proc/self/fd");
        let threads = entries("/proc/self/task");
        let of_threads = threads
            .iter()
            .filter_map(|thread| fs::read_link(thread.join("ns/net")).ok());
        let namespaces: BTreeSet<PathBuf> = descriptors
            .iter()
            .filter(|link| link.to_string_lossy().starts_with("net:["))
            .cloned()
            .chain(of_threads)
            .collect();
        Self {
            memory: memory(),
            descriptors: descriptors.len(),
            threads: threads.len(),
            namespaces: namespaces.len(),
        }
    }
}

/// Octets of this process that are resident.
#[must_use]
pub fn memory() -> u64 {
    // Pages of 4 KiB: the second number (`proc_pid_statm(5)`).
    let pages = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let resident = pages.split_whitespace().nth(1);
    resident
        .and_then(|pages| pages.parse::<u64>().ok())
        .unwrap_or(0)
        * 4096
}

fn entries(folder: &str) -> Vec<PathBuf> {
    let read = fs::read_dir(Path::new(folder)).into_iter().flatten();
    read.flatten().map(|entry| entry.path()).collect()
}

/// Targets of the links in a directory; the descriptor that reads it is gone.
fn links(folder: &str) -> Vec<PathBuf> {
    let paths = entries(folder);
    paths
        .iter()
        .filter_map(|path| fs::read_link(path).ok())
        .collect()
}
