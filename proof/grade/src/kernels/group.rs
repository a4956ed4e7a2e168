//! Control group with a CPU time quota (`cpu` controller, version 1 or 2).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = "gigatcp-kernels-";

/// Control group that is removed when dropped.
#[derive(Debug)]
pub struct Group {
    at: PathBuf,
}

/// Throttling counters of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Throttled {
    /// Periods in which it ran.
    pub periods: f64,
    /// Periods in which it exhausted its quota.
    pub throttled: f64,
}

fn root() -> (PathBuf, bool) {
    let first = Path::new("/sys/fs/cgroup/cpu");
    if first.join("cgroup.procs").exists() {
        (first.to_owned(), true)
    } else {
        (PathBuf::from("/sys/fs/cgroup"), false)
    }
}

/// Removes groups of runs that were killed.
pub fn sweep() {
    let (root, _) = root();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(PREFIX) else {
            continue;
        };
        let id = rest.split('-').next().unwrap_or_default();
        if !Path::new("/proc").join(id).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Group {
    /// Creates a group whose members have `share` of one CPU in each period.
    ///
    /// # Errors
    /// System call errors.
    pub fn new(name: &str, share: f64, period_us: u32) -> io::Result<Self> {
        let (root, is_first) = root();
        let at = root.join(format!("{PREFIX}{}-{name}", std::process::id()));
        fs::create_dir_all(&at)?;
        let group = Self { at };
        let quota = (f64::from(period_us) * share).max(1000.0) as u64;
        if is_first {
            fs::write(group.at.join("cpu.cfs_period_us"), period_us.to_string())?;
            fs::write(group.at.join("cpu.cfs_quota_us"), quota.to_string())?;
            // Only the quota should limit it, not the machine's other programs.
            fs::write(group.at.join("cpu.shares"), "262144")?;
        } else {
            fs::write(root.join("cgroup.subtree_control"), "+cpu")?;
            fs::write(group.at.join("cpu.max"), format!("{quota} {period_us}"))?;
            fs::write(group.at.join("cpu.weight"), "10000")?;
        }
        Ok(group)
    }

    /// File through which processes join.
    pub fn door(&self) -> String {
        self.at.join("cgroup.procs").to_string_lossy().into_owned()
    }

    /// Moves a process into the group.
    ///
    /// # Errors
    /// System call errors.
    pub fn admit(&self, process: u32) -> io::Result<()> {
        fs::write(self.at.join("cgroup.procs"), process.to_string())
    }

    /// Its throttling counters.
    pub fn throttled(&self) -> Throttled {
        let text = fs::read_to_string(self.at.join("cpu.stat")).unwrap_or_default();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|value| value.trim().parse().ok())
                .unwrap_or(0.0)
        };
        Throttled {
            periods: value("nr_periods "),
            throttled: value("nr_throttled "),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Members that are ending keep it busy for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.at).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
