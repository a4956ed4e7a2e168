//! `gigatcp new`: copies an experiment as the start of a plan.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;

use super::Outcome;
use super::run::quoted;
use crate::experiments::{Experiments, PLAN, Place};
use crate::failure::Failure;
use crate::{complete, output, plan_file};

/// Command-line arguments of `new`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Copy an experiment as the start of a plan",
    long_about = "\
Copy an experiment as the start of your own plan: its plan.toml, its README.md, the published \
numbers, and files that the plan names.

Existing files are never overwritten.",
    after_help = "\
Examples:
  gigatcp new single-flow                 into ./single-flow
  gigatcp new fink-slow-start my-path     into ./my-path
  gigatcp run my-path/plan.toml"
)]
pub(crate) struct Arguments {
    /// Name of an experiment (see `gigatcp list`)
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::experiments))]
    name: String,

    /// Where the copy is made [default: a directory with the experiment's name]
    #[arg(value_name = "DIRECTORY")]
    directory: Option<PathBuf>,
}

/// Copies the experiment.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let name = &arguments.name;
    let experiments = Experiments::known();
    let place = experiments
        .find(name)
        .ok_or_else(|| plan_file::no_experiment(name, &experiments))?;
    let files = files(&place).map_err(|error| {
        Failure::io("read the files of the experiment", &error).effect("nothing was copied")
    })?;
    let directory = arguments
        .directory
        .clone()
        .unwrap_or_else(|| PathBuf::from(name));
    let mut targets = files.iter().map(|(name, _)| directory.join(name));
    if let Some(existing) = targets.find(|target| target.exists()) {
        return Err(Failure::new(format!("{} exists", existing.display()))
            .effect("nothing was copied")
            .hint(format!(
                "name another directory: `gigatcp new {name} DIRECTORY`"
            )));
    }
    write(&directory, &files).map_err(|error| {
        Failure::io(&format!("write to {}", directory.display()), &error)
            .effect("the copy is not complete")
    })?;
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    let plan = quoted(&directory.join(PLAN).to_string_lossy());
    output::print(&format!(
        "{} from {}: {}\nnext: gigatcp run {plan}\n",
        directory.display(),
        place.plan(),
        names.join(", ")
    ))?;
    Ok(Outcome::Done)
}

/// A file's name and content.
type Content = (String, Vec<u8>);

fn files(place: &Place) -> io::Result<Vec<Content>> {
    let directory = match place {
        Place::BuiltIn(known) => {
            let files = known.files.iter();
            return Ok(files
                .map(|(name, content)| ((*name).to_owned(), content.to_vec()))
                .collect());
        }
        Place::Directory(directory) => directory,
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            let name = entry.file_name().to_string_lossy().into_owned();
            files.push((name, fs::read(entry.path())?));
        }
    }
    files.sort();
    Ok(files)
}

/// Writes `files`; fails if one of them exists.
fn write(directory: &Path, files: &[Content]) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    for (name, content) in files {
        fs::write(directory.join(name), content)?;
    }
    Ok(())
}
