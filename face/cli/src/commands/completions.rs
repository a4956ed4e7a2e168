//! `gigatcp completions`: the completion script of a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::Outcome;
use crate::failure::Failure;
use crate::output;

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Print the completion script of a shell",
    after_help = "\
Examples:
  gigatcp completions bash > ~/.local/share/bash-completion/completions/gigatcp
  gigatcp completions zsh  > ~/.zfunc/_gigatcp      (with ~/.zfunc in fpath)
  gigatcp completions fish > ~/.config/fish/completions/gigatcp.fish"
)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut command = crate::arguments::Arguments::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "gigatcp", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
