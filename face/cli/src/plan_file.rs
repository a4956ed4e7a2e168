//! Finds, reads and checks the plan named on the command line.
//!
//! A name with a `/` or the ending `.toml` is a file. Any other name is an experiment, in a
//! checkout or built in, or otherwise a file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use gigatcp_plan::{Files, Plan, Template};
use gigatcp_report::diagnostics;
use gigatcp_run::files::PlanDirectory;

use crate::experiments::{self, Experiments, PLAN, Place};
use crate::failure::Failure;
use crate::{nearest, output};

/// Maximum size of a plan in bytes; a larger file is not a plan.
const LARGEST: u64 = 4 << 20;

/// A plan that was found and read, but not parsed.
#[derive(Clone, Debug)]
pub(crate) struct PlanFile {
    /// Path, or name of the built-in plan.
    name: String,
    place: Place,
    bytes: Vec<u8>,
    /// Texts of files that the plan refers to, by their name in it. Filled by parsing.
    named: RefCell<BTreeMap<String, String>>,
}

impl PlanFile {
    /// Finds and reads the plan called `name`.
    pub(crate) fn find(name: &Path) -> Result<Self, Failure> {
        match locate(name)? {
            Located::File(path) => Self::at(&path),
            Located::Experiment(place) => Self::of(place),
        }
    }

    /// Reads the plan at `path`.
    fn at(path: &Path) -> Result<Self, Failure> {
        let bytes = read(path)?;
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let place = Place::Directory(directory.to_path_buf());
        Ok(Self::new(path.display().to_string(), place, bytes))
    }

    /// Reads the plan of an experiment.
    pub(crate) fn of(place: Place) -> Result<Self, Failure> {
        match place {
            Place::Directory(directory) => Self::at(&directory.join(PLAN)),
            Place::BuiltIn(known) => {
                let bytes = known.file(PLAN).unwrap_or_default().to_vec();
                Ok(Self::new(place.plan(), place, bytes))
            }
        }
    }

    fn new(name: String, place: Place, bytes: Vec<u8>) -> Self {
        Self {
            name,
            place,
            bytes,
            named: RefCell::default(),
        }
    }

    /// Files that the plan named, with their texts. They are part of the plan, and known after
    /// parsing.
    pub(crate) fn named(&self) -> BTreeMap<String, String> {
        self.named.borrow().clone()
    }

    /// Path, or the name of the built-in plan.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Location of its files.
    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Its text; after [`PlanFile::parse`] exactly the bytes that were read.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Parses it with overrides `KEY=VALUE`, and prints its warnings.
    pub(crate) fn parse(&self, overrides: &[String]) -> Result<Plan, Failure> {
        let plan = self.parse_silently(overrides)?;
        print_warnings(&plan);
        Ok(plan)
    }

    /// Parses it as a template, and prints its warnings.
    pub(crate) fn template(&self, overrides: &[String]) -> Result<Template, Failure> {
        let template = self.template_silently(overrides)?;
        print_warnings(template.plan());
        Ok(template)
    }

    /// Parses it as a template; the warnings stay in its plan.
    pub(crate) fn template_silently(&self, overrides: &[String]) -> Result<Template, Failure> {
        Template::read(&self.name, &self.bytes, overrides, self)
            .map_err(|findings| Failure::Plan(Box::new(findings)))
    }

    /// Parses it; the warnings stay in the plan.
    pub(crate) fn parse_silently(&self, overrides: &[String]) -> Result<Plan, Failure> {
        gigatcp_plan::parse_with(&self.name, &self.bytes, overrides, self)
            .map_err(|findings| Failure::Plan(Box::new(findings)))
    }
}

impl Files for PlanFile {
    fn read(&self, name: &str) -> Result<String, String> {
        let text = match &self.place {
            Place::Directory(directory) => PlanDirectory(directory).read(name)?,
            Place::BuiltIn(known) => {
                let content = known.file(name).ok_or("it is not built in")?;
                String::from_utf8_lossy(content).into_owned()
            }
        };
        let mut named = self.named.borrow_mut();
        named.insert(name.to_owned(), text.clone());
        Ok(text)
    }

    fn locate(&self, name: &str) -> Result<String, String> {
        match &self.place {
            Place::Directory(directory) => PlanDirectory(directory).locate(name),
            Place::BuiltIn(_) => Err("it is not built in".to_owned()),
        }
    }
}

fn print_warnings(plan: &Plan) {
    if !plan.warnings.list.is_empty() {
        output::warn(&diagnostics::text(&plan.warnings));
    }
}

/// Meaning of a name on the command line.
enum Located {
    File(PathBuf),
    Experiment(Place),
}

fn locate(name: &Path) -> Result<Located, Failure> {
    let is_path = name.components().count() > 1
        || name.to_string_lossy().ends_with(std::path::is_separator)
        || name.extension().is_some_and(|ending| ending == "toml");
    if is_path {
        return Ok(Located::File(name.to_path_buf()));
    }
    let word = name.to_string_lossy();
    let experiments = Experiments::known();
    match experiments.find(&word) {
        Some(place) => {
            if place.differs(&word) {
                output::say(&differs(&word, &place));
            }
            Ok(Located::Experiment(place))
        }
        None if name.exists() => Ok(Located::File(name.to_path_buf())),
        None => Err(no_experiment(&word, &experiments)),
    }
}

/// Note on an experiment that differs from the built-in one of its name.
fn differs(name: &str, place: &Place) -> String {
    format!(
        "using {}, which differs from the experiment `{name}` built into this program",
        place.plan()
    )
}

/// Error for an unknown experiment.
pub(crate) fn no_experiment(word: &str, experiments: &Experiments) -> Failure {
    let names: Vec<&str> = experiments.names().collect();
    Failure::not_run(format!("there is no experiment `{word}`"))
        .hint(nearest::hint(word, "experiments", &names) + ": `gigatcp list` names them")
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
    let failure = Failure::not_run(format!("{} is a directory, not a plan", path.display()));
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

/// Likely intended path of a missing plan. It is a file with a similar name, or an experiment.
fn nearest_plan(path: &Path) -> Option<String> {
    if let Some(neighbor) = nearest::neighbor(path, ".toml") {
        return Some(neighbor.display().to_string());
    }
    let experiments = Experiments::known();
    let folder = path.parent().and_then(Path::file_name);
    let mut meant = [path.file_stem(), folder]
        .into_iter()
        .flatten()
        .filter_map(|word| word.to_str())
        .filter_map(|word| nearest::nearest(word, experiments.names()));
    meant.next().map(str::to_owned)
}
