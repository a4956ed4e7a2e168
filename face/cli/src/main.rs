//! The command `gigatcp`.
//!
//! The result of a command goes to stdout and is data; diagnostics go to stderr. Exit status: 0
//! done; 1 a measured result missed its goal; 2 wrong usage, plan or environment; 130 or 143
//! interrupted.
//!
//! * [`arguments`]: the command line; the options of each command are in [`commands`].
//! * [`failure`]: error messages.
//! * [`output`]: writing to stdout and stderr.
//! * [`complete`]: shell completion.
//! * [`guide`]: next steps, printed by `gigatcp` without arguments.
//! * [`json`]: long JSON lists, written element by element.
//! * [`atomic_file`]: files that are replaced atomically.
//! * [`experiments`], [`plan_file`]: from a name to a checked plan.
//! * [`profiles`]: the settings of hosts, by name.
//! * [`interrupt`], [`progress`]: signals and progress during a run.
//! * [`values`], [`grid`], [`nearest`]: parsing values, aligning columns, suggesting words.
//!
//! Out of scope: configuration files, and environment variables that change a result. A command
//! line, a plan and a seed fully determine it; GIGATCP_LOG and NO_COLOR concern stderr only.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
mod atomic_file;
mod commands;
mod complete;
mod experiments;
mod failure;
mod grid;
mod guide;
mod interrupt;
mod json;
mod nearest;
mod output;
mod plan_file;
mod profiles;
mod progress;
mod signals;
mod values;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};

use arguments::Arguments;
use commands::Outcome;
use failure::Failure;

fn main() -> ExitCode {
    // Answers a request of a shell for completions and exits.
    clap_complete::CompleteEnv::with_factory(Arguments::command).complete();
    if std::env::args_os().len() <= 1 && std::io::stdout().is_terminal() {
        return match output::print(guide::TEXT) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => ExitCode::from(failure.exit_status()),
        };
    }
    let color = output::typed_color(std::env::args());
    let parsed = Arguments::command().color(color).try_get_matches();
    let arguments = match parsed.and_then(|parsed| Arguments::from_arg_matches(&parsed)) {
        Ok(arguments) => arguments,
        Err(error) => return misuse(&error),
    };
    match arguments
        .output
        .apply()
        .and_then(|()| arguments.command.run())
    {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Missed) => ExitCode::from(1),
        Ok(Outcome::Exited(status)) => ExitCode::from(status),
        Ok(Outcome::Refused) => ExitCode::from(failure::USAGE),
        Ok(Outcome::Interrupted(signal)) => ExitCode::from(signal.exit_status()),
        Err(failure) => {
            failure.say();
            ExitCode::from(failure.exit_status())
        }
    }
}

/// Prints help, version, or the error for invalid arguments.
fn misuse(error: &clap::Error) -> ExitCode {
    if let Some(failure) = unknown_command(error) {
        failure.say();
        return ExitCode::from(failure.exit_status());
    }
    // stdout may be closed, as in `gigatcp --help | head`.
    let _ = error.print();
    let status = u8::try_from(error.exit_code());
    ExitCode::from(status.unwrap_or(failure::USAGE))
}

/// Returns the error for an unknown command, with the nearest one as hint.
fn unknown_command(error: &clap::Error) -> Option<Failure> {
    let given = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(given))) => given,
        _ => return None,
    };
    let command = Arguments::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(|one| one.get_name())
        .collect();
    let failure = Failure::new(format!("there is no command `{given}`")).effect("nothing was done");
    let is_file = std::path::Path::new(given).is_file();
    Some(match nearest::nearest(given, names.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `gigatcp {meant}`?")),
        None if is_file => failure.hint(format!(
            "a capture: `gigatcp why {given}`; a plan: `gigatcp run {given}`"
        )),
        None => failure.hint(format!("commands: {}", names.join(", "))),
    })
}
