//! From what was typed to a checked plan.
//!
//! What contains a `/` or ends in `.toml` is a file; anything else is the name
//! of an experiment, or else a file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use gigatcp_plan::{Files, Plan};
use gigatcp_report::diagnostics;
use gigatcp_run::files::Beside;

use crate::experiments::{self, Experiments};
use crate::failure::Failure;
use crate::{nearest, output};

/// Larger files are no plans: what was meant is another file.
const LARGEST: u64 = 4 << 20;

/// A plan that has been found and read, not yet understood.
#[derive(Clone, Debug)]
pub(crate) struct PlanFile {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The files it named when it was understood, by their name in the plan.
    named: RefCell<BTreeMap<String, String>>,
}

impl PlanFile {
    /// Finds and reads what `name` says.
    pub(crate) fn find(name: &Path) -> Result<Self, Failure> {
        let path = locate(name)?;
        let bytes = read(&path)?;
        Ok(Self::new(path, bytes))
    }

    /// Reads the plan at `path`.
    pub(crate) fn at(path: PathBuf) -> Result<Self, Failure> {
        let bytes = read(&path)?;
        Ok(Self::new(path, bytes))
    }

    fn new(path: PathBuf, bytes: Vec<u8>) -> Self {
        Self {
            path,
            bytes,
            named: RefCell::default(),
        }
    }

    /// The files that the plan named, with their texts, once it is understood: they
    /// are part of what it says.
    pub(crate) fn named(&self) -> BTreeMap<String, String> {
        self.named.borrow().clone()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The folder it is in.
    pub(crate) fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
            Some(parent) => parent,
            None => Path::new("."),
        }
    }

    /// Its text; after [`PlanFile::parse`] exactly what was read.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Understands it, with overrides `KEY=VALUE`, and says its warnings.
    pub(crate) fn parse(&self, overrides: &[String]) -> Result<Plan, Failure> {
        let plan = self.parse_silently(overrides)?;
        if !plan.warnings.list.is_empty() {
            output::say(&diagnostics::text(&plan.warnings));
        }
        Ok(plan)
    }

    /// Understands it; the warnings are the plan's.
    pub(crate) fn parse_silently(&self, overrides: &[String]) -> Result<Plan, Failure> {
        let name = self.path.display().to_string();
        gigatcp_plan::parse_with(&name, &self.bytes, overrides, self)
            .map_err(|findings| Failure::Plan(Box::new(findings)))
    }
}

impl Files for PlanFile {
    fn read(&self, name: &str) -> Result<String, String> {
        let text = Beside(self.folder()).read(name)?;
        let mut named = self.named.borrow_mut();
        named.insert(name.to_owned(), text.clone());
        Ok(text)
    }
}

fn locate(name: &Path) -> Result<PathBuf, Failure> {
    let is_path = name.components().count() > 1
        || name.to_string_lossy().ends_with(std::path::is_separator)
        || name.extension().is_some_and(|ending| ending == "toml");
    if is_path {
        return Ok(name.to_path_buf());
    }
    let experiments = Experiments::nearest();
    let word = name.to_string_lossy();
    let plan = experiments.as_ref().and_then(|known| known.plan(&word));
    match plan {
        Some(plan) => Ok(plan),
        None if name.exists() => Ok(name.to_path_buf()),
        None => Err(no_experiment(&word, experiments.as_ref())),
    }
}

fn no_experiment(word: &str, experiments: Option<&Experiments>) -> Failure {
    let failure = Failure::new(format!("there is no experiment `{word}`"));
    let failure = failure.effect("nothing was run");
    let Some(experiments) = experiments else {
        return failure
            .hint("no folder `experiments` here or above: go to the top folder of GigaTCP")
            .hint("or give the path of a plan, as in `./my.toml`");
    };
    let names: Vec<&str> = experiments.names().collect();
    failure
        .hint(nearest::hint(word, "experiments", &names))
        .hint("a plan of your own is given as a path, as in `./my.toml`")
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.is_dir() {
        return Err(folder_given(path));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    file.take(LARGEST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > LARGEST {
        let most = LARGEST >> 20;
        return Err(
            Failure::new(format!("{} is larger than {most} MiB", path.display()))
                .effect("it was not read: a plan has a few thousand bytes")
                .hint("give the path of a plan, a TOML file"),
        );
    }
    Ok(bytes)
}

fn folder_given(path: &Path) -> Failure {
    let failure = Failure::new(format!("{} is a folder, not a plan", path.display()))
        .effect("nothing was run");
    match experiments::plan_in(path) {
        Some(plan) => failure.hint(format!("did you mean `{}`?", plan.display())),
        None => failure.hint("give the path of a plan, a TOML file"),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let action = format!("read the plan {}", path.display());
    let failure = Failure::io(&action, error).effect("nothing was run");
    if error.kind() != ErrorKind::NotFound {
        return failure;
    }
    match nearest_plan(path) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint("`gigatcp list` shows the experiments there are"),
    }
}

/// What was most likely meant by the path of a plan that does not exist: a
/// neighbour, or an experiment.
fn nearest_plan(path: &Path) -> Option<String> {
    if let Some(neighbour) = nearest::neighbour(path, ".toml") {
        return Some(neighbour.display().to_string());
    }
    let experiments = Experiments::nearest()?;
    let folder = path.parent().and_then(Path::file_name);
    let words = [path.file_stem(), folder].into_iter().flatten();
    let words = words.filter_map(|word| word.to_str());
    let mut meant = words.filter_map(|word| nearest::nearest(word, experiments.names()));
    meant.next().map(str::to_owned)
}
