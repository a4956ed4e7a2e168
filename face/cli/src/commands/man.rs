//! `gigatcp man`: the man pages, from the same text as `--help`.

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory;

use super::Outcome;
use crate::failure::Failure;

/// Command-line arguments of `man`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Write the man pages into a directory",
    hide = true,
    after_help = "\
Examples:
  gigatcp man ~/.local/share/man/man1      then `man gigatcp-why`"
)]
pub(crate) struct Arguments {
    /// Where gigatcp.1 and a page for each command are written
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
}

/// Writes the man pages.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let directory = &arguments.directory;
    let written = fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(crate::arguments::Arguments::command(), directory));
    written.map_err(|error| {
        Failure::at("write man pages to", directory, &error)
            .effect("there are no man pages, or not all")
    })?;
    Ok(Outcome::Done)
}
