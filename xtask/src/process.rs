//! Running other programs, mostly cargo.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::{Failed, top};

/// Profile of measured programs: link-time optimization, line tables for profilers.
pub const MEASURE: &str = "measure";

/// A command for the cargo that runs this task, at the checkout's top directory.
pub fn cargo(words: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(words).current_dir(top());
    command
}

/// Command as typed on a shell.
pub fn spelled(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs a command that inherits our output.
pub fn run(mut command: Command) -> Result<ExitStatus, Failed> {
    command.status().map_err(|error| cannot(&command, &error))
}

/// Runs a command and passes every line of its standard output to `each`.
pub fn run_lines(mut command: Command, mut each: impl FnMut(&str)) -> Result<ExitStatus, Failed> {
    let spawned = command.stdout(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| cannot(&command, &error))?;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            each(String::from_utf8_lossy(&line).trim_end());
        }
    }
    child.wait().map_err(|error| cannot(&command, &error))
}

/// Runs a command that must succeed.
pub fn succeed(command: Command) -> Result<(), Failed> {
    let line = spelled(&command);
    match run(command)?.success() {
        true => Ok(()),
        false => Err(Failed::Usage(format!("`{line}` failed (see above)"))),
    }
}

/// Runs a command and prints its standard output; also returns that.
pub fn shown(command: Command) -> Result<(ExitStatus, String), Failed> {
    let mut text = String::new();
    let status = run_lines(command, |line| {
        println!("{line}");
        text.push_str(line);
        text.push('\n');
    })?;
    Ok((status, text))
}

/// Standard output of a command.
pub fn printed(mut command: Command) -> Result<String, Failed> {
    let output = command.output().map_err(|error| cannot(&command, &error))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Error that a command could not be run at all.
pub fn cannot(command: &Command, error: &std::io::Error) -> Failed {
    Failed::Usage(format!("cannot run `{}`: {error}", spelled(command)))
}

/// Builds an example of `package` under `profile`; returns its path.
pub fn build_example(package: &str, name: &str, profile: &str) -> Result<PathBuf, Failed> {
    let mut build = cargo(&["build", "--quiet", "--package", package]);
    build.args(["--example", name, "--profile", profile]);
    succeed(build)?;
    Ok(directory(profile).join("examples").join(name))
}

/// Builds an example under `profile` and runs it with `words`. Exit code 2 means that it could
/// not begin; the message then is `nothing`.
pub fn run_example(
    (package, name): (&str, &str),
    profile: &str,
    words: &[String],
    nothing: &str,
) -> Result<(), Failed> {
    let mut command = Command::new(build_example(package, name, profile)?);
    command.args(words).current_dir(top());
    match run(command)?.code() {
        Some(0) => Ok(()),
        Some(2) => Err(Failed::Usage(format!("{nothing} (see above)"))),
        _ => Err(Failed::Found),
    }
}

/// Builds the command `gigatcp` under `profile`; returns its path.
pub fn build_command(profile: &str) -> Result<PathBuf, Failed> {
    let mut build = cargo(&["build", "--quiet", "--package", "gigatcp"]);
    build.args(["--profile", profile]);
    succeed(build)?;
    Ok(directory(profile).join("gigatcp"))
}

/// Output directory of a profile: that of `test` is called debug.
fn directory(profile: &str) -> PathBuf {
    target().join(if profile == "test" { "debug" } else { profile })
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => top().join(folder),
        None => top().join("target"),
    }
}

/// Whether the program is installed.
pub fn has(program: &str) -> bool {
    found(program).is_some()
}

/// Path of the program.
pub fn found(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}
