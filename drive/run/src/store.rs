//! The result store: `runs/<name>-<hash>/`, written atomically.
//!
//! Files are written into a hidden directory next to the final one, which is renamed when it is
//! complete. A directory that is not committed is always removed. If the process had no time for it
//! (`kill -9`), the next one that stores results there does.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gigatcp_plan::record::RunRecord;
use gigatcp_tcp::events::EventHash;

use crate::leftover;

/// Failure to store results.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}: {source}")]
pub struct StoreError {
    /// The attempted action.
    pub action: &'static str,
    /// The path it concerned.
    pub path: String,
    /// The system's error.
    pub source: io::Error,
}

fn error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError {
        action,
        path: path.display().to_string(),
        source,
    }
}

/// A result directory in progress.
#[derive(Debug)]
pub struct ResultDirectory {
    building: PathBuf,
    /// Marks the directory as in use.
    lock: Option<File>,
    /// Abandoned directories that were removed.
    removed: Vec<PathBuf>,
    target: PathBuf,
    committed: bool,
}

impl ResultDirectory {
    /// Creates the directory for `base/<name>-<hash>`.
    ///
    /// It fails early, before any run, if the location is not writable.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn begin(base: &Path, name: &str, hash: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(base).map_err(|e| error("create the directory", base, e))?;
        let target = base.join(format!("{name}-{hash}"));
        let building = base.join(format!(".{name}-{hash}.{}", std::process::id()));
        let removed = clear(base);
        fs::create_dir(&building).map_err(|e| error("create the directory", &building, e))?;
        Ok(Self {
            lock: leftover::lock(&building),
            building,
            removed,
            target,
            committed: false,
        })
    }

    /// Incomplete directories of killed runs that were found and removed.
    pub fn removed(&self) -> &[PathBuf] {
        &self.removed
    }

    /// Directory for files until the commit.
    pub fn path(&self) -> &Path {
        &self.building
    }

    /// Writes a file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.building.join(name);
        fs::write(&path, content).map_err(|e| error("write", &path, e))
    }

    /// Writes `run.json`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_record(&self, record: &RunRecord) -> Result<(), StoreError> {
        let json = serde_json::to_vec(record)
            .map_err(|e| error("write", &self.building.join("run.json"), e.into()))?;
        self.write("run.json", &json)
    }

    /// Gives the directory its final name, and returns its path.
    ///
    /// It replaces an earlier run of the same plan and seed, which is removed only afterwards.
    ///
    /// # Errors
    /// If the directory cannot be renamed. The earlier run is then unchanged.
    pub fn commit(mut self) -> Result<PathBuf, StoreError> {
        let mut earlier = self.building.clone().into_os_string();
        earlier.push(EARLIER);
        let earlier = PathBuf::from(earlier);
        let replaces = self.target.exists();
        // Under its hidden name it would briefly seem abandoned.
        let _held = leftover::lock(&self.target);
        if replaces {
            fs::rename(&self.target, &earlier).map_err(|e| error("replace", &self.target, e))?;
        }
        if let Err(refused) = fs::rename(&self.building, &self.target) {
            if replaces {
                // It existed a moment ago and its path is free.
                let _ = fs::rename(&earlier, &self.target);
            }
            return Err(error("finish the directory", &self.target, refused));
        }
        self.committed = true;
        drop(self.lock.take());
        if replaces {
            // If it stays, its hidden name identifies it; this run is valid.
            let _ = fs::remove_dir_all(&earlier);
        }
        Ok(self.target.clone())
    }
}

impl Drop for ResultDirectory {
    fn drop(&mut self) {
        if !self.committed {
            // Removes the incomplete directory; a failure cannot be reported here.
            let _ = fs::remove_dir_all(&self.building);
        }
    }
}

/// Suffix of a run that is being replaced, until the new one is complete.
const EARLIER: &str = ".earlier";

/// Removes abandoned directories in `base`, and returns them.
///
/// Also restores the name of runs whose replacement was not completed.
fn clear(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
    let mut removed = Vec::new();
    for name in names {
        let (hidden, is_earlier) = match name.strip_suffix(EARLIER) {
            Some(hidden) => (hidden, true),
            None => (name.as_str(), false),
        };
        let Some((stem, maker)) = leftover::maker(hidden).filter(|(stem, _)| is_run(stem)) else {
            continue;
        };
        let path = base.join(&name);
        if !leftover::is_abandoned(&path, maker) {
            continue;
        }
        let target = base.join(&stem[1..]);
        if is_earlier && !target.exists() {
            // Its replacement was not completed.
            let _ = fs::rename(&path, &target);
        } else if fs::remove_dir_all(&path).is_ok() {
            removed.push(path);
        }
    }
    removed.sort();
    removed
}

/// Whether a hidden directory's name, without its process ID, is of this module.
///
/// The form is `.<name>-<hash>`, with `-live` after the hash of a run in real time.
fn is_run(stem: &str) -> bool {
    let hash = stem
        .strip_suffix("-live")
        .unwrap_or(stem)
        .strip_prefix('.')
        .and_then(|stem| stem.rsplit_once('-'));
    hash.is_some_and(|(_, hash)| {
        hash.len() == 16
            && hash
                .bytes()
                .all(|octet| matches!(octet, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A fingerprint of everything that determines a run; 16 hex digits.
///
/// That is the plan's text, overrides, selected series, seed and repeats.
pub fn plan_hash(
    plan: &str,
    overrides: &[String],
    only: &[String],
    seed: u64,
    repeat: u32,
) -> String {
    let mut hash = EventHash::default();
    absorb(&mut hash, plan);
    for list in [overrides, only] {
        hash.absorb(list.len() as u64);
        list.iter().for_each(|text| absorb(&mut hash, text));
    }
    hash.absorb(seed);
    hash.absorb(u64::from(repeat));
    format!("{:016x}", hash.finish())
}

fn absorb(hash: &mut EventHash, text: &str) {
    hash.absorb(text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash.absorb(u64::from_le_bytes(word));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_committed_leaves_nothing_behind() {
        let base = tempfile::tempdir().unwrap();
        let directory = ResultDirectory::begin(base.path(), "plan", "0123456789abcdef").unwrap();
        directory.write("run.json", b"{}").unwrap();
        drop(directory);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_killed_run_has_left_is_removed_by_the_next_and_nothing_else_is() {
        let base = tempfile::tempdir().unwrap();
        let at = |name: &str| base.path().join(name);
        let nobody = u32::MAX;
        let half_made = at(&format!(".plan-0123456789abcdef.{nobody}"));
        fs::create_dir(&half_made).unwrap();
        fs::write(half_made.join("a.pcapng"), b"half").unwrap();
        let live = at(&format!(".plan-0123456789abcdef-live.{nobody}"));
        fs::create_dir(&live).unwrap();
        let replaced = at(&format!(".other-4567456745674567.{nobody}.earlier"));
        fs::create_dir(&replaced).unwrap();
        fs::write(replaced.join("run.json"), b"earlier").unwrap();
        let strange = [
            ".plan-0123456789abcdef",
            ".notes.12",
            "plan-89ab",
            ".venv-3.12",
            ".backup-2024.10",
        ]
        .map(at);
        strange
            .iter()
            .for_each(|path| fs::create_dir(path).unwrap());

        let other = ResultDirectory::begin(base.path(), "some", "0123456789abcdef").unwrap();
        assert_eq!(other.removed(), [live, half_made.clone()]);
        assert!(!half_made.exists());
        // The process was killed after moving it away and before replacing it.
        let kept = fs::read(at("other-4567456745674567").join("run.json")).unwrap();
        assert_eq!(kept, b"earlier");
        // A directory in use is not touched.
        let next = ResultDirectory::begin(base.path(), "next", "0123456789abcdef").unwrap();
        assert!(next.removed().is_empty() && other.path().exists());
        assert!(strange.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_second_run_of_the_same_plan_replaces_the_first() {
        let base = tempfile::tempdir().unwrap();
        for content in [b"1", b"2"] {
            let directory =
                ResultDirectory::begin(base.path(), "plan", "0123456789abcdef").unwrap();
            directory.write("run.json", content).unwrap();
            directory.commit().unwrap();
        }
        let kept = fs::read(base.path().join("plan-0123456789abcdef/run.json")).unwrap();
        assert_eq!(kept, b"2");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_run_stays_where_the_new_one_cannot_take_its_place() {
        let base = tempfile::tempdir().unwrap();
        let begin = || ResultDirectory::begin(base.path(), "plan", "0123456789abcdef").unwrap();
        let directory = begin();
        directory.write("run.json", b"1").unwrap();
        directory.commit().unwrap();
        let directory = begin();
        fs::remove_dir_all(directory.path()).unwrap();
        assert!(directory.commit().is_err());
        let kept = fs::read(base.path().join("plan-0123456789abcdef/run.json")).unwrap();
        assert_eq!(kept, b"1");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_fingerprint_depends_on_everything_that_determines_a_run() {
        let base = plan_hash("a", &[], &[], 1, 1);
        assert_ne!(base, plan_hash("b", &[], &[], 1, 1));
        let text = ["x".to_owned()];
        let (set, only) = (
            plan_hash("a", &text, &[], 1, 1),
            plan_hash("a", &[], &text, 1, 1),
        );
        assert!(base != set && base != only && set != only);
        assert_ne!(base, plan_hash("a", &[], &[], 2, 1));
        assert_ne!(base, plan_hash("a", &[], &[], 1, 2));
    }
}
