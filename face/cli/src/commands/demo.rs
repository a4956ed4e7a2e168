//! `gigatcp demo`: a slow transfer, its diagnosis and its fix.
//!
//! Live, between this machine's kernels in two network namespaces, if those may be created;
//! otherwise in virtual time. It runs commands that a user can type: `gigatcp emulate` and `test`,
//! or `gigatcp run`.

use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use clap::Parser;

use super::Outcome;
use crate::experiments::BuiltIn;
use crate::failure::Failure;
use crate::output;

/// The plan for virtual time.
pub(crate) const PLAN: BuiltIn = BuiltIn {
    name: "demo",
    files: &[("plan.toml", include_bytes!("demo/plan.toml"))],
};

/// Options of the emulated path.
const PATH: [&str; 6] = [
    "--rate",
    "100 Mbit/s",
    "--rtt",
    "40 ms",
    "--control",
    "cubic",
];

/// What the second transfer has other than the first, as `whatif` names it.
const CURE: [&str; 2] = ["receiver.buffer=auto", "sender.buffer=auto"];

/// Seconds of each transfer.
const SECONDS: &str = "6";

/// Command-line arguments of `demo`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show a slow transfer, its diagnosis and its fix in 20 seconds",
    long_about = "\
Show a slow transfer, its diagnosis and its fix in 20 seconds.

A path of 100 Mbit/s with an RTT of 40 ms is emulated between two network namespaces of this \
machine. A receiver that requests a small buffer cannot use it; `gigatcp test` finds out why. \
Where namespaces may not be created, the same runs in virtual time.",
    after_help = "\
Examples:
  gigatcp demo"
)]
pub(crate) struct Arguments {
    /// Run both transfers: what runs at the client's end of the path
    #[arg(long, hide = true)]
    inside: bool,
}

/// Runs the demonstration.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if arguments.inside {
        return transfers();
    }
    let Some(reason) = why_not_live()? else {
        return live();
    };
    output::warn(&format!(
        "no network namespaces here, so in virtual time instead: {reason}\n"
    ));
    in_virtual_time()
}

/// Reason why a path cannot be emulated, or `None` if it can.
fn why_not_live() -> Result<Option<String>, Failure> {
    if !cfg!(target_os = "linux") {
        return Ok(Some("they are Linux's".to_owned()));
    }
    let mut command = emulate()?;
    command.args(["--", "true"]).stdout(Stdio::null());
    let output = command.output().map_err(|error| unstarted(&error))?;
    if output.status.success() {
        return Ok(None);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = said.lines().next().unwrap_or("no reason was given");
    Ok(Some(reason.trim_start_matches("error: ").to_owned()))
}

fn live() -> Result<Outcome, Failure> {
    output::print(
        "Live: this machine's kernels in two network namespaces; between them a path of\n\
         100 Mbit/s with an RTT of 40 ms (gigatcp emulate).\n",
    )?;
    let program = program()?;
    let server = gigatcp_report::escape::quoted(&program.to_string_lossy());
    let mut command = emulate()?;
    command.args(["--server", &format!("{server} server -q > /dev/null"), "--"]);
    command.arg(&program).args(["demo", "--inside"]);
    ended(&mut command)
}

/// Runs the slow transfer and the fixed one, to the server's end.
fn transfers() -> Result<Outcome, Failure> {
    let server = std::env::var("GIGATCP_SERVER").unwrap_or_else(|_| "localhost".to_owned());
    let test = ["test", &server, "-t", SECONDS];
    output::print(
        "\n1. The receiver requests a buffer of 100 kB. What if neither end did?\n   $ gigatcp test SERVER -w 100k --whatif receiver.buffer=auto --whatif sender.buffer=auto\n",
    )?;
    let mut command = Command::new(program()?);
    command.args(test).args(["-w", "100k"]);
    for change in CURE {
        command.args(["--whatif", change]);
    }
    let slow = ended(&mut command)?;
    if slow != Outcome::Done {
        return Ok(slow);
    }
    output::print(
        "\n2. The cure: they request nothing, and the kernel fits the buffers to the path. Measured, \
         with what was predicted:\n   $ gigatcp test SERVER\n",
    )?;
    let outcome = ended(Command::new(program()?).args(test))?;
    output::print(NEXT)?;
    Ok(outcome)
}

fn in_virtual_time() -> Result<Outcome, Failure> {
    output::print(
        "In virtual time: a path of 100 Mbit/s with an RTT of 40 ms (gigatcp run). In `slow`\n\
         the receiver requests a buffer of 100 kB, in `cured` it requests nothing.\n",
    )?;
    let words = ["gigatcp", "run", PLAN.name, "--why"];
    let run = crate::arguments::Arguments::parse_from(words);
    let outcome = run.command.run()?;
    output::print(NEXT)?;
    Ok(outcome)
}

/// Next steps, printed at the end.
const NEXT: &str = "
Next: gigatcp test HOST, gigatcp why CAPTURE, gigatcp theory --rate 10G --rtt 80ms
";

fn program() -> Result<PathBuf, Failure> {
    let program = std::env::current_exe();
    program.map_err(|error| Failure::io("find this program", &error).effect("nothing was run"))
}

fn emulate() -> Result<Command, Failure> {
    let mut command = Command::new(program()?);
    command.args(["emulate", "--quiet"]).args(PATH);
    Ok(command)
}

/// Runs a command and returns how it ended.
fn ended(command: &mut Command) -> Result<Outcome, Failure> {
    let status = command.status().map_err(|error| unstarted(&error))?;
    Ok(match status.success() {
        true => Outcome::Done,
        false => Outcome::Exited(code(status)),
    })
}

/// The exit status of a command that did not succeed.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.filter(|code| *code > 0)
        .unwrap_or(crate::failure::USAGE)
}

fn unstarted(error: &std::io::Error) -> Failure {
    Failure::io("start this program again", error).effect("nothing was run")
}
