//! System resources of this process: memory, descriptors, threads, namespaces.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// System resources of this process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Held {
    /// Resident memory in octets.
    pub memory: u64,
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Network namespaces that a descriptor or thread keeps open.
    pub namespaces: usize,
}

impl Held {
    /// Reads the current values. An unreadable value counts as zero.
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

/// Resident memory of this process in octets.
pub fn memory() -> u64 {
    // The second number counts pages of 4 KiB (`proc_pid_statm(5)`).
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

/// Targets of the links in a directory. The descriptor that reads it is already closed.
fn links(folder: &str) -> Vec<PathBuf> {
    let paths = entries(folder);
    paths
        .iter()
        .filter_map(|path| fs::read_link(path).ok())
        .collect()
}
