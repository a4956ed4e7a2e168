//! The command `gigatcp`.
//!
//! What a command found out goes to stdout and is data; everything said about
//! it goes to stderr. Exit status: 0 done, 2 wrong usage, plan or
//! surroundings, 130 or 143 interrupted, 1 a measured result that missed its
//! bar.
//!
//! * [`arguments`]: what can be typed; every command's own part stands with
//!   the command, in [`commands`].
//! * [`failure`]: what is said when something is wrong.
//! * [`output`]: how things are said, and to whom.
//! * [`json`]: long lists for programs, written as they are made.
//! * [`whole_file`]: files that are there whole or not at all.
//! * [`experiments`], [`plan_file`]: from a name to a checked plan.
//! * [`profiles`]: the settings of hosts, by name.
//! * [`interrupt`], [`progress`]: while something runs.
//! * [`values`], [`grid`], [`nearest`]: reading and aligning words.
//!
//! Deliberately absent: configuration files and environment variables. A
//! command line, a plan and a seed say everything about a result.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
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
mod whole_file;

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

/// Help and version, which are asked for, and arguments that cannot be.
fn misuse(error: &clap::Error) -> ExitCode {
    // Nobody may be there to read it, as in `gigatcp --help | head`.
    let _ = error.print();
    let status = u8::try_from(error.exit_code());
    ExitCode::from(status.unwrap_or(failure::USAGE))
}
