//! Experiments: plans with names.
//!
//! All experiments of the project are built into the program. In a checkout the nearest directory
//! `experiments`, in the working directory or a parent, takes precedence. So a changed plan takes
//! effect without a build. A directory counts only if it contains a plan, because other projects
//! use that name too.

mod built_in;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use built_in::{BUILT_IN, BuiltIn};

/// Name of the directory.
const DIRECTORY: &str = "experiments";

/// Name of the plan in an experiment's own directory.
pub(crate) const PLAN: &str = "plan.toml";

/// Experiments that can be run by name.
#[derive(Clone, Debug)]
pub(crate) struct Experiments {
    directory: Option<PathBuf>,
    /// Names from the directory and from the program, sorted.
    names: Vec<String>,
}

/// Location of an experiment's files.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// In this directory.
    Directory(PathBuf),
    /// Built into the program.
    BuiltIn(&'static BuiltIn),
}

impl Experiments {
    /// Experiments of the nearest directory and of the program.
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

    /// Where the experiment called `name` is; a directory wins over the program.
    pub(crate) fn find(&self, name: &str) -> Option<Place> {
        let directory = self
            .directory
            .as_ref()
            .map(|directory| directory.join(name))
            .filter(|directory| directory.join(PLAN).is_file());
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
    /// Whether this directory's files differ from those of the built-in experiment `name`.
    pub(crate) fn differs(&self, name: &str) -> bool {
        let (Self::Directory(directory), Some(built_in)) = (self, BuiltIn::find(name)) else {
            return false;
        };
        let is_same = |(file, content): &(&str, &[u8])| {
            fs::read(directory.join(file)).is_ok_and(|read| read == *content)
        };
        !built_in.files.iter().all(is_same)
    }

    /// Describes the location of the plan.
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

/// Plan in `directory`, if `directory` is an experiment.
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
