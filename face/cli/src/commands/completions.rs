//! `gigatcp completions`: the completion script of a shell.

use clap_complete::Shell;
use clap_complete::env::Shells;

use super::Outcome;
use crate::failure::Failure;
use crate::output;

/// Command-line arguments of `completions`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Print the completion script of a shell",
    long_about = "\
Print the completion script of a shell. It offers commands, options, experiments, and for --set keys \
of a plan and their values; the shell asks gigatcp for them.",
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

/// Script of bash, which ends words at `=`: clap's own offers no values.
const BASH: &str = include_str!("completions/gigatcp.bash");

/// Prints the script.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.shell == Shell::Bash {
        output::print(BASH)?;
        return Ok(Outcome::Done);
    }
    let shells = Shells::builtins();
    let shell = shells.completer(&arguments.shell.to_string());
    let shell =
        shell.ok_or_else(|| Failure::new(format!("no completions for {}", arguments.shell)))?;
    let mut script = Vec::new();
    let written =
        shell.write_registration("COMPLETE", "gigatcp", "gigatcp", "gigatcp", &mut script);
    written.map_err(|error| Failure::io("write the script", &error))?;
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
