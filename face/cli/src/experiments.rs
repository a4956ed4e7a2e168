//! Experiments: plans that have names.
//!
//! All experiments of the project are part of the program. In a checkout the files of the nearest
//! directory `experiments` win, in this or a parent directory, so that a change of a plan takes
//! effect without a build. A directory counts only if it holds a plan: others use that name too.

mod built_in;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use built_in::{BUILT_IN, BuiltIn};

/// Name of the directory.
const DIRECTORY: &str = "experiments";

/// Name of the plan in an experiment's own directory.
pub(crate) const PLAN: &str = "plan.toml";

/// The experiments that can be run by name.
#[derive(Clone, Debug)]
pub(crate) struct Experiments {
    directory: Option<PathBuf>,
    /// Of the directory and of the program, sorted.
    names: Vec<String>,
}

/// Where the files of an experiment are.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In this directory.
    Directory(PathBuf),
    /// In the program.
    BuiltIn(&'static BuiltIn),
}

impl Experiments {
    /// Returns those of the nearest directory and those of the program.
    pub(crate) fn known() -> Self {
        let (directory, names) = nearest().unzip();
        let mut names: Vec<String> = names.unwrap_or_default();
        names.extend(BUILT_IN.iter().map(|known| known.name.to_owned()));
        names.sort();
        names.dedup();
        Self { directory, names }
    }

    /// Their names, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> + Clone {
        self.names.iter().map(String::as_str)
    }

    /// Returns where the experiment called `name` is; a directory wins over the program.
    pub(crate) fn find(&self, name: &str) -> Option<Place> {
        let directory = self.directory.as_ref().map(|all| all.join(name));
        let directory = directory.filter(|one| one.join(PLAN).is_file());
        let is_known = self.names.iter().any(|known| known == name);
        match directory.filter(|_| is_known) {
            Some(directory) => Some(Place::Directory(directory)),
            None => BuiltIn::find(name).map(Place::BuiltIn),
        }
    }

    /// The directory that was found, if any.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }
}

impl Place {
    /// Returns whether this is a directory whose files are not those of the program's experiment
    /// called `name`.
    pub(crate) fn differs(&self, name: &str) -> bool {
        let (Self::Directory(directory), Some(built_in)) = (self, BuiltIn::find(name)) else {
            return false;
        };
        let is_same = |(file, content): &(&str, &[u8])| {
            fs::read(directory.join(file)).is_ok_and(|read| read == *content)
        };
        !built_in.files.iter().all(is_same)
    }

    /// The plan's place as words.
    pub(crate) fn plan(&self) -> String {
        match self {
            Self::Directory(directory) => directory.join(PLAN).display().to_string(),
            Self::BuiltIn(known) => format!("{}/{PLAN} (built in)", known.name),
        }
    }
}

/// Finds the nearest directory with plans, and the names of its experiments.
fn nearest() -> Option<(PathBuf, Vec<String>)> {
    let levels = std::env::current_dir().ok()?.ancestors().count();
    let mut upwards = PathBuf::new();
    for _ in 0..levels {
        let directory = upwards.join(DIRECTORY);
        let names = names(&directory);
        if !names.is_empty() {
            return Some((directory, names));
        }
        upwards.push("..");
    }
    None
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let with_plan = entries.filter(|entry| entry.path().join(PLAN).is_file());
    let names = with_plan.filter_map(|entry| entry.file_name().into_string().ok());
    names.collect()
}

/// Returns the plan inside `directory`, if it is that of an experiment.
pub(crate) fn plan_in(directory: &Path) -> Option<PathBuf> {
    let plan = directory.join(PLAN);
    plan.is_file().then_some(plan)
}

#[cfg(test)]
mod tests {
    use gigatcp_report::Published;

    use super::*;

    #[test]
    fn every_built_in_experiment_can_be_read_with_all_that_it_names() {
        assert!(BuiltIn::find("fink-slow-start").is_some());
        for known in BUILT_IN {
            let file = crate::plan_file::PlanFile::of(Place::BuiltIn(known));
            let plan = file.and_then(|file| file.parse_silently(&[]));
            assert!(
                plan.is_ok_and(|plan| plan.name == known.name),
                "{}",
                known.name
            );
            let published = known.file(Published::FILE_NAME);
            let text = published.map(|bytes| String::from_utf8_lossy(bytes));
            let read = text.map(|text| Published::parse(&text, known.name));
            assert!(read.is_none_or(|read| read.is_ok()), "{}", known.name);
            assert!(known.file("README.md").is_some(), "{}", known.name);
        }
    }
}
