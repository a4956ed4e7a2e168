//! Runs packet scripts against a stack and reports which pass.

mod collect;
mod kernel;
mod view;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use gigatcp_conformance::engine::Engine;
use gigatcp_conformance::run::{Leniency, Pace, Settings, Tolerance};
use rayon::prelude::*;

use self::collect::{ScriptFile, collect};
use self::view::{Judged, Summary};

/// Exit status for invalid usage or environment.
const USAGE: u8 = 2;

/// Command-line arguments.
#[derive(Parser, Debug)]
#[command(
    name = "gigatcp-conformance",
    about = "Run packet scripts against the engine or the kernel",
    long_about = "\
Run packet scripts in packetdrill's notation (see conformance/README.md). The result has per \
directory how many passed, failed (and in what respect) or are unsupported by the stack. For \
each failed script stderr has what was expected, what occurred and the last events before it.

Scripts run in virtual time and are compared exactly. --lenient is for scripts that were written \
for real clocks or for another stack: `time` grants each script its own --tolerance_usecs (4 ms \
if it has none), `push` ignores PSH, `layout` ignores order and padding of TCP options.

`--stack kernel` runs the scripts against this machine's kernel in real time: each in its own \
isolated network namespace, many at the same time, without root if user namespaces are allowed. \
A failed script is repeated alone. Differences that conformance/differences.toml lists are \
counted separately.

Exit status: 0 no script failed (unsupported ones are reported and do not count as failed); 1 a \
script failed or cannot be read; 2 invalid usage.",
    after_help = "\
Examples (after `cargo run -p gigatcp-conformance --`):
  conformance/script                               all scripts of this checkout
  conformance/script/close/we-close-first.pkt      one, with its story if it fails
  ~/linux/packetdrill --lenient time,push
  conformance/script --stack kernel
  ~/linux/packetdrill --stack kernel --every-version
  conformance/script --json | jq '.failed[].file'"
)]
struct Arguments {
    /// Scripts, or directories of scripts
    #[arg(value_name = "DIR|FILE.pkt", required = true)]
    paths: Vec<PathBuf>,

    /// Stack to run the scripts against
    #[arg(long, value_enum, default_value = "engine")]
    stack: Which,

    /// Differences to ignore
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT,...")]
    lenient: Vec<Lenient>,

    /// Run scripts that name no IP version over IPv6
    #[arg(long)]
    ipv6: bool,

    /// With the kernel: run each script over IPv4, IPv6, and IPv4 through IPv6 sockets
    #[arg(long, conflicts_with = "ipv6")]
    every_version: bool,

    /// With the kernel: number of scripts at the same time
    #[arg(long, value_name = "N", default_value = "16")]
    jobs: NonZeroUsize,

    /// Define a name that scripts use. May be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    defines: Vec<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Stacks that scripts can run against.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    /// The engine, in virtual time
    Engine,
    /// The kernel of this machine, in real time and in a network namespace
    Kernel,
}

/// Aspects in which a deviation from the script is accepted.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Lenient {
    /// Times within the script's --tolerance_usecs, or 4 ms
    Time,
    /// PSH
    Push,
    /// Order and padding of TCP options
    Layout,
}

fn main() -> ExitCode {
    run(&Arguments::parse()).unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(USAGE)
    })
}

/// Runs the scripts and prints their results.
fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let settings = settings(arguments)?;
    let found = collect(&arguments.paths)?;
    let judged: Vec<Judged> = match arguments.stack {
        Which::Engine if arguments.every_version => {
            return Err(
                "--every-version requires --stack kernel: the engine has no sockets \
                        of two IP versions\n  hint: add --stack kernel, or use --ipv6"
                    .to_owned(),
            );
        }
        Which::Engine => found
            .par_iter()
            .map(|found| on_engine(found, &settings))
            .collect(),
        Which::Kernel => match kernel::judge(&found, arguments, &settings)? {
            Ok(judged) => judged,
            // A second process with the privilege has run and reported everything.
            Err(status) => return Ok(ExitCode::from(status)),
        },
    };
    let summary = Summary::of(&judged);
    if arguments.json {
        println!("{}", summary.json()?);
    } else {
        for judged in judged.iter().filter(|judged| judged.is_failure()) {
            eprintln!("{}", judged.story);
        }
        print!("{}", summary.text());
    }
    Ok(if summary.has_failures() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn settings(arguments: &Arguments) -> Result<Settings, String> {
    let is_lenient = |what| arguments.lenient.contains(&what);
    let mut defines = Vec::new();
    for define in &arguments.defines {
        let Some((name, value)) = define.split_once('=') else {
            return Err(format!("`-D {define}` is not -D NAME=VALUE"));
        };
        defines.push((name.to_owned(), value.to_owned()));
    }
    Ok(Settings {
        tolerance: if is_lenient(Lenient::Time) {
            Tolerance::Script
        } else {
            Tolerance::Exact
        },
        leniency: Leniency {
            push: is_lenient(Lenient::Push),
            layout: is_lenient(Lenient::Layout),
        },
        pace: Pace::Virtual,
        strict: None,
        ipv6: arguments.ipv6,
        defines,
    })
}

/// Runs a script in virtual time.
fn on_engine(found: &ScriptFile, settings: &Settings) -> Judged {
    let script = match gigatcp_conformance::parse(&found.text) {
        Ok(script) => script,
        Err(mistake) => return Judged::unreadable(found, &mistake),
    };
    let mut engine = Engine::new();
    if let Some(text) = found.defaults() {
        engine = engine.with_defaults(text);
    }
    let report = gigatcp_conformance::run::run(&script, &found.text, &mut engine, settings);
    Judged::of(found, &report)
}
