//! Detects incomplete files and directories of killed processes.
//!
//! Files and directories in progress have a hidden name with the ID of the process that writes
//! them, and are locked by it (`flock(2)`). The kernel releases the lock however the process ends,
//! so an unlocked one is abandoned. The process ID alone would not show that: it is reused, and
//! means another process in another container.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Maximum time from creating a file or directory to locking it.
const YOUNG: Duration = Duration::from_secs(60);

/// Locks the new file or directory at `path` while the value lives. `None` if the file system has
/// no locks.
pub fn lock(path: &Path) -> Option<File> {
    let file = opened(path)?;
    // A process that checks whether it is abandoned holds the lock briefly.
    file.lock().ok()?;
    Some(file)
}

/// Opens a path if it is a file or directory. Opening a pipe could block indefinitely, and a
/// symbolic link leads elsewhere.
fn opened(path: &Path) -> Option<File> {
    let kind = path.symlink_metadata().ok()?.file_type();
    (kind.is_file() || kind.is_dir()).then_some(())?;
    File::open(path).ok()
}

/// Whether process `maker` no longer writes the file or directory at `path`.
pub fn is_abandoned(path: &Path, maker: u32) -> bool {
    let Some(file) = opened(path) else {
        return false;
    };
    match file.try_lock() {
        Ok(()) => !may_be_young(&file, maker),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
    }
}

/// Whether its process may exist and not have locked it yet.
fn may_be_young(file: &File, maker: u32) -> bool {
    let modified = file.metadata().and_then(|about| about.modified());
    let age = modified.map(|then| SystemTime::now().duration_since(then));
    let is_young = !matches!(age, Ok(Ok(age)) if age > YOUNG);
    is_young && Path::new("/proc").join(maker.to_string()).exists()
}

/// Splits a name at its last dot into the rest and a process ID.
pub fn maker(name: &str) -> Option<(&str, u32)> {
    let (name, number) = name.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|octet| octet.is_ascii_digit());
    Some((name, number.parse().ok().filter(|_| is_number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ID that no process has.
    const NOBODY: u32 = u32::MAX;

    #[test]
    fn what_is_locked_is_somebodys_and_what_is_not_is_nobodys() {
        let folder = tempfile::tempdir().unwrap();
        let lock = lock(folder.path()).unwrap();
        assert!(!is_abandoned(folder.path(), NOBODY));
        drop(lock);
        assert!(is_abandoned(folder.path(), NOBODY));
        // Just created, by a process that may be about to lock it.
        assert!(!is_abandoned(folder.path(), std::process::id()));
        assert!(!is_abandoned(&folder.path().join("none"), NOBODY));
    }

    #[test]
    fn a_maker_is_the_number_at_the_end() {
        assert_eq!(maker(".plan-0123.77"), Some((".plan-0123", 77)));
        for other in [".plan-0123", "a.b", "a.", "a.-1", "a.+1", ""] {
            assert_eq!(maker(other), None, "{other}");
        }
    }
}
