//! The command `gigatcp`.
//!
//! The result of a command goes to stdout and is data; diagnostics go to stderr. Exit status: 0
//! done; 1 a measured result missed its goal; 2 wrong usage, plan or environment; 130 or 143
//! interrupted.
//!
//! * [`arguments`]: the command line; the options of each command are in [`commands`].
//! * [`failure`]: error messages.
//! * [`output`]: writing to stdout and stderr; [`fit`]: lines wider than the terminal.
//! * [`complete`]: what a shell offers as the next word.
//! * [`config`]: the config file.
//! * [`guide`]: what to type next, for `gigatcp` alone.
//! * [`json`]: long lists for programs, written as they are made.
//! * [`atomic_file`]: files that are replaced atomically.
//! * [`experiments`], [`plan_file`]: from a name to a checked plan.
//! * [`profiles`]: the settings of hosts, by name.
//! * [`interrupt`], [`progress`]: signals and progress during a run.
//! * [`values`], [`nearest`]: parsing values, suggesting words.
//!
//! Out of scope: settings outside the command line that change a result. A command line, a plan
//! and a seed fully determine it; the config file, GIGATCP_LOG and NO_COLOR say what is shown, and
//! where it is stored.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod arguments;
mod atomic_file;
mod commands;
mod complete;
mod config;
mod experiments;
mod failure;
mod fit;
mod guide;
#[cfg(target_os = "linux")]
mod header_capture;
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

use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use arguments::Arguments;
use commands::Outcome;
use failure::Failure;

fn main() -> ExitCode {
    // Otherwise the signal ends this process without a message.
    #[cfg(target_os = "linux")]
    let _ = gigatcp_linux::process::explain_bus_errors();
    // Answers a shell and exits, if one asks.
    clap_complete::CompleteEnv::with_factory(arguments::command).complete();
    if std::env::args_os().len() <= 1 && std::io::stdout().is_terminal() {
        return match output::print(guide::TEXT) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => ExitCode::from(failure.exit_status()),
        };
    }
    let note = match config::load() {
        Ok(note) => note,
        Err(failure) => {
            failure.say();
            return ExitCode::from(failure.exit_status());
        }
    };
    let color = output::typed_color(arguments::typed());
    output::set_color(color);
    let parsed = arguments::command().color(color).try_get_matches();
    let arguments = match parsed.and_then(|parsed| Arguments::from_arg_matches(&parsed)) {
        Ok(arguments) => arguments,
        Err(error) => return misuse(&error),
    };
    let applied = arguments.output.apply();
    if let (Ok(()), Some(note)) = (&applied, note) {
        output::say(&note);
    }
    match applied.and_then(|()| arguments.command.run()) {
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
    let is_wanted = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if !is_wanted {
        let failure = invalid_arguments(&error.render().to_string(), setting(error));
        failure.say();
        return ExitCode::from(failure.exit_status());
    }
    // stdout may be closed, as in `gigatcp --help | head`.
    let _ = error.print();
    let status = u8::try_from(error.exit_code());
    ExitCode::from(status.unwrap_or(failure::USAGE))
}

/// Error for invalid arguments, from the words of clap. A `setting` that is meant replaces its tip.
fn invalid_arguments(text: &str, setting: Option<String>) -> Failure {
    let (told, rest) = text.split_once("\n\nFor more").unwrap_or((text, ""));
    debug_assert!(rest.is_empty() || rest.contains("--help"));
    let (told, usage) = told.split_once("\n\nUsage: ").unwrap_or((told, ""));
    let explained = told.strip_prefix("error: ").unwrap_or(told);
    let hint_of = |line: &str| {
        let hint = ["tip: ", "hint: "].map(|kind| line.strip_prefix(kind).map(str::to_owned));
        hint.into_iter().flatten().next()
    };
    let lines = || {
        explained
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
    };
    let message: Vec<&str> = lines().filter(|line| hint_of(line).is_none()).collect();
    let failure = Failure::new(message.join(" ")).effect("nothing was done");
    let failure = match setting {
        Some(setting) => failure.hint(format!("it is a setting here: `{setting}`")),
        None => lines().filter_map(hint_of).fold(failure, Failure::hint),
    };
    let commands = arguments::command();
    let typed = arguments::typed().nth(1).unwrap_or_default();
    let command = match commands.find_subcommand(&typed) {
        Some(command) => command.get_name(),
        None => "COMMAND",
    };
    let failure = usage.lines().fold(failure, |failure, usage| {
        failure.hint(format!("usage: {}", usage.trim()))
    });
    failure.hint(format!(
        "`gigatcp {command} --help` has the options, and examples"
    ))
}

/// The form KEY=VALUE of an unknown option of `test`, which iperf3 or nuttcp has as an option.
fn setting(error: &clap::Error) -> Option<String> {
    let given = match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) => given,
        _ => return None,
    };
    let is_test = arguments::typed().any(|word| word == "test");
    let name = given.trim_start_matches('-').replace('-', "_");
    is_test.then(|| commands::test::setting(&name)).flatten()
}

/// Error for an unknown command, with the nearest one as hint.
fn unknown_command(error: &clap::Error) -> Option<Failure> {
    let given = match (error.kind(), error.get(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, Some(ContextValue::String(given))) => given,
        _ => return None,
    };
    let command = arguments::command();
    let names: Vec<&str> = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name())
        .collect();
    let failure = Failure::new(format!("there is no command `{given}`")).effect("nothing was done");
    let is_file = std::path::Path::new(given).is_file();
    Some(match nearest::nearest(given, names.iter().copied()) {
        _ if given == "fix" => failure.hint("`gigatcp doctor --try` applies what `doctor` advises"),
        // Known only where the feature is on.
        _ if given == "mcp" => failure.hint(
            "packages have it; this program was built without: `cargo install --path face/cli --features mcp`",
        ),
        Some(meant) => failure.hint(format!("did you mean `gigatcp {meant}`?")),
        None if is_file => failure.hint(format!(
            "a capture: `gigatcp why {given}`; a plan: `gigatcp run {given}`"
        )),
        None => failure.hint(format!("commands: {}", names.join(", "))),
    })
}
