//! The command `gigatcp`.
//!
//! The result of a command goes to stdout and is data; diagnostics go to stderr. Exit status: 0
//! done; 1 a measured result missed its goal; 2 wrong usage, plan or environment; 130 or 143
//! interrupted.
//!
//! * [`arguments`]: what can be typed; every command's own part stands with
//!   the command, in [`commands`].
//! * [`failure`]: error messages.
//! * [`output`]: writing to stdout and stderr.
//! * [`json`]: long lists for programs, written as they are made.
//! * [`atomic_file`]: files that are replaced atomically.
//! * [`experiments`], [`plan_file`]: from a name to a checked plan.
//! * [`profiles`]: the settings of hosts, by name.
//! * [`interrupt`], [`progress`]: while something runs.
//! * [`values`], [`grid`], [`nearest`]: reading and aligning words.
//!
//! Out of scope: configuration files and environment variables. A command line, a plan and a seed
//! fully determine a result.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
mod atomic_file;
mod commands;
mod experiments;
mod failure;
mod grid;
mod interrupt;
mod json;
mod nearest;
mod output;
mod plan_file;
mod profiles;
mod progress;
mod signals;
mod values;

use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;
use commands::Outcome;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return misuse(&error),
    };
    match arguments.command.run() {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Missed) => ExitCode::from(1),
        Ok(Outcome::Told(status)) => ExitCode::from(status),
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
    // stdout may be closed, as in `gigatcp --help | head`.
    let _ = error.print();
    let status = u8::try_from(error.exit_code());
    ExitCode::from(status.unwrap_or(failure::USAGE))
}
