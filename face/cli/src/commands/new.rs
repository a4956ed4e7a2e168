//! `gigatcp new`: copies an experiment as the start of a plan.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use gigatcp_report::Published;

use super::Outcome;
use crate::experiments::{Experiments, PLAN, Place};
use crate::failure::Failure;
use crate::{complete, output, plan_file};
use gigatcp_report::escape::quoted;

/// Command-line arguments of `new`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Copy an experiment as the start of a plan",
    long_about = "\
Copy an experiment as the start of your own plan: its plan.toml, its README.md, the published \
numbers, and files that the plan names. With a name that ends in .toml, only the plan and those \
files.

Existing files are never overwritten.",
    after_help = "\
Examples:
  gigatcp new single-flow                 into ./single-flow
  gigatcp new fink-slow-start my-path     into ./my-path
  gigatcp new single-flow my.toml         the plan alone
  gigatcp run my-path/plan.toml"
)]
pub(crate) struct Arguments {
    /// Name of an experiment (see `gigatcp list`)
    #[arg(value_name = "NAME", add = ArgValueCompleter::new(complete::experiments))]
    name: String,

    /// Where the copy is made [default: a directory with the experiment's name]
    #[arg(value_name = "DIRECTORY|PLAN.toml")]
    target: Option<PathBuf>,
}

/// Copies the experiment.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let name = &arguments.name;
    let experiments = Experiments::known();
    let place = experiments
        .find(name)
        .ok_or_else(|| plan_file::no_experiment(name, &experiments))?;
    let mut files = files(&place).map_err(|error| {
        Failure::io("read the files of the experiment", &error).effect("nothing was copied")
    })?;
    let target = arguments.target.as_deref().unwrap_or(Path::new(name));
    let is_plan = target.extension().is_some_and(|ending| ending == "toml");
    let (directory, plan) = if is_plan {
        files.retain(|(name, _)| !["README.md", Published::FILE_NAME].contains(&name.as_str()));
        (target.parent().unwrap_or(target), target.to_owned())
    } else {
        (target, target.join(PLAN))
    };
    let copy_of = |name: &str| match name {
        PLAN => plan.clone(),
        data => directory.join(data),
    };
    let mut copies = files.iter().map(|(name, _)| copy_of(name));
    if let Some(existing) = copies.find(|copy| copy.exists()) {
        return Err(Failure::new(format!("{} exists", existing.display()))
            .effect("nothing was copied")
            .hint(format!(
                "name another directory: `gigatcp new {name} DIRECTORY`"
            )));
    }
    fs::create_dir_all(directory)
        .and_then(|()| {
            files
                .iter()
                .try_for_each(|(name, content)| fs::write(copy_of(name), content))
        })
        .map_err(|error| {
            Failure::at("write to", target, &error).effect("the copy is not complete")
        })?;
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    output::print(&format!(
        "{} from {}: {}\nnext: gigatcp run {}\n",
        target.display(),
        place.plan(),
        names.join(", "),
        quoted(&plan.to_string_lossy()),
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
