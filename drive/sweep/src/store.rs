//! The result store: `runs/<name>-<hash>/`, whole or not at all.
//!
//! Files are written into a hidden folder beside the final one, which takes
//! its name only when everything is there. A folder that is not committed is
//! removed, whatever happens.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use gigatcp_events::EventHash;
use gigatcp_record::RunRecord;

/// Why results could not be stored.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {path}: {source}")]
pub struct StoreError {
    /// What was being done.
    pub action: &'static str,
    /// To what.
    pub path: String,
    /// What the system says.
    pub source: io::Error,
}

fn error(action: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError {
        action,
        path: path.display().to_string(),
        source,
    }
}

/// A result folder that is being filled.
#[derive(Debug)]
pub struct Folder {
    building: PathBuf,
    target: PathBuf,
    committed: bool,
}

impl Folder {
    /// Begins `base/<name>-<hash>`. Fails early, before anything is run, when
    /// the place cannot be written.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn begin(base: &Path, name: &str, hash: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(base).map_err(|e| error("create the folder", base, e))?;
        let target = base.join(format!("{name}-{hash}"));
        let building = base.join(format!(".{name}-{hash}.{}", std::process::id()));
        fs::create_dir(&building).map_err(|e| error("create the folder", &building, e))?;
        Ok(Self {
            building,
            target,
            committed: false,
        })
    }

    /// Where files go until the folder is committed.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.building
    }

    /// Writes a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        let path = self.building.join(name);
        fs::write(&path, content).map_err(|e| error("write", &path, e))
    }

    /// Writes `run.json`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_record(&self, record: &RunRecord) -> Result<(), StoreError> {
        let json = serde_json::to_vec(record)
            .map_err(|e| error("write", &self.building.join("run.json"), e.into()))?;
        self.write("run.json", &json)
    }

    /// Gives the folder its name, in place of an earlier run of the same plan
    /// and seed, which goes only when this one stands; returns the final path.
    ///
    /// # Errors
    /// When the folder cannot be renamed. The earlier run then still stands.
    pub fn commit(mut self) -> Result<PathBuf, StoreError> {
        let mut earlier = self.building.clone().into_os_string();
        earlier.push(".earlier");
        let earlier = PathBuf::from(earlier);
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &earlier).map_err(|e| error("replace", &self.target, e))?;
        }
        if let Err(refused) = fs::rename(&self.building, &self.target) {
            if replaces {
                // It was there a moment ago and its place is free.
                let _ = fs::rename(&earlier, &self.target);
            }
            return Err(error("finish the folder", &self.target, refused));
        }
        self.committed = true;
        if replaces {
            // Should it stay, its hidden name says what it is; this run stands.
            let _ = fs::remove_dir_all(&earlier);
        }
        Ok(self.target.clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.committed {
            // Nothing half-written stays; a failure here has nobody to tell.
            let _ = fs::remove_dir_all(&self.building);
        }
    }
}

/// Fingerprint of what determines a run: plan text, overrides, which series,
/// seed and repeats; 16 hex digits.
#[must_use]
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
        let folder = Folder::begin(base.path(), "plan", "0123").unwrap();
        folder.write("run.json", b"{}").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_second_run_of_the_same_plan_replaces_the_first() {
        let base = tempfile::tempdir().unwrap();
        for content in [b"1", b"2"] {
            let folder = Folder::begin(base.path(), "plan", "0123").unwrap();
            folder.write("run.json", content).unwrap();
            folder.commit().unwrap();
        }
        let kept = fs::read(base.path().join("plan-0123/run.json")).unwrap();
        assert_eq!(kept, b"2");
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1);
    }

    #[test]
    fn an_earlier_run_stays_where_the_new_one_cannot_take_its_place() {
        let base = tempfile::tempdir().unwrap();
        let begin = || Folder::begin(base.path(), "plan", "0123").unwrap();
        let folder = begin();
        folder.write("run.json", b"1").unwrap();
        folder.commit().unwrap();
        let folder = begin();
        fs::remove_dir_all(folder.path()).unwrap();
        assert!(folder.commit().is_err());
        let kept = fs::read(base.path().join("plan-0123/run.json")).unwrap();
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
