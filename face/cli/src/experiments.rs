//! The directory `experiments`: where plans have names.
//!
//! It is looked for in the current directory and its parents, so that names work anywhere inside a
//! checkout. A directory counts only if it contains a plan: other projects have directories of that
//! name too.

use std::fs;
use std::path::{Path, PathBuf};

/// Name of the directory.
const FOLDER: &str = "experiments";

/// Name of the plan in an experiment's own directory.
const PLAN: &str = "plan.toml";

/// The experiments of the nearest such directory, searching upwards.
#[derive(Clone, Debug)]
pub(crate) struct Experiments {
    folder: PathBuf,
    names: Vec<String>,
}

impl Experiments {
    /// Finds them; nothing when there are none.
    pub(crate) fn nearest() -> Option<Self> {
        let levels = std::env::current_dir().ok()?.ancestors().count();
        let mut upwards = PathBuf::new();
        for _ in 0..levels {
            let folder = upwards.join(FOLDER);
            let names = names(&folder);
            if !names.is_empty() {
                return Some(Self { folder, names });
            }
            upwards.push("..");
        }
        None
    }

    /// Their names, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }

    /// The plan of the one called `name`.
    pub(crate) fn plan(&self, name: &str) -> Option<PathBuf> {
        let is_known = self.names.iter().any(|known| known == name);
        is_known.then(|| self.folder.join(name).join(PLAN))
    }

    /// Where they are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let with_plan = entries.filter(|entry| entry.path().join(PLAN).is_file());
    let mut names: Vec<String> = with_plan
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// The plan inside `folder`, if it is the directory of an experiment.
pub(crate) fn plan_in(folder: &Path) -> Option<PathBuf> {
    let plan = folder.join(PLAN);
    plan.is_file().then_some(plan)
}
