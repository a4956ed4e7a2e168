//! `gigatcp conform`: runs packet scripts against a stack and says which it
//! meets.

mod collect;
mod view;

use std::path::{Path, PathBuf};

use gigatcp_script::engine::Engine;
use gigatcp_script::run::{Leniency, Pace, Report, Settings, Tolerance, Verdict};
use gigatcp_script::stack::Stack;
use rayon::prelude::*;

use self::collect::{Found, collect};
use self::view::{Judged, Summary};
use super::Outcome;
use crate::failure::Failure;
use crate::output;

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Run packet scripts against the engine or the kernel",
    long_about = "\
Run packet scripts (the notation of packetdrill, see conformance/README.md) and say which the \
stack meets: per folder how many passed, how many failed and in what respect, and how many need \
something the stack has not. What a failed script expected, what came instead and the last events \
before it stand on stderr.

Scripts run in virtual time and exactly. Scripts that were written for real clocks, or against \
another stack, may ask for leniency: `time` grants each script its own --tolerance_usecs (4 ms if \
it has none), `push` ignores PSH, `layout` ignores order and padding of TCP options.

Exit status: 0 nothing failed; 1 a script failed or cannot be read; 2 wrong usage.",
    after_help = "\
Examples:
  gigatcp conform conformance/script               all scripts of this checkout
  gigatcp conform conformance/script/close/fin.pkt one, with its story if it fails
  gigatcp conform ~/linux/packetdrill --lenient time,push
  gigatcp conform conformance/script --stack kernel
  gigatcp conform conformance/script --json | jq '.failed[].file'"
)]
pub(crate) struct Arguments {
    /// Scripts, or folders of them
    #[arg(value_name = "DIR|FILE.pkt", required = true)]
    paths: Vec<PathBuf>,

    /// What to run them against
    #[arg(long, value_enum, default_value = "engine")]
    stack: Which,

    /// What not to be exact about
    #[arg(long, value_enum, value_delimiter = ',', value_name = "WHAT,...")]
    lenient: Vec<Lenient>,

    /// Run over IPv6 what names no version
    #[arg(long)]
    ipv6: bool,

    /// Define a name that scripts use. May be repeated
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    defines: Vec<String>,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// What scripts are run against.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    /// The engine, in virtual time
    Engine,
    /// The kernel of this machine, in real time and in a network namespace
    Kernel,
}

/// What is not held to the script.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Lenient {
    /// Times, as far as the script's --tolerance_usecs or 4 ms
    Time,
    /// PSH
    Push,
    /// Order and padding of TCP options
    Layout,
}

/// Runs the scripts.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let settings = settings(arguments)?;
    let found = collect(&arguments.paths)?;
    let judged: Vec<Judged> = match arguments.stack {
        Which::Engine => found
            .into_par_iter()
            .map(|found| judge(found, |_| Ok(run_on_engine), &settings))
            .collect::<Result<_, _>>()?,
        // One after the other: real time is shared by all.
        Which::Kernel => found
            .into_iter()
            .map(|found| judge(found, kernel_runner, &settings))
            .collect::<Result<_, _>>()?,
    };
    let summary = Summary::of(&judged);
    if arguments.json {
        output::print_json(&summary)?;
    } else {
        for judged in judged.iter().filter(|judged| judged.is_failure()) {
            output::say(&judged.story);
        }
        output::print(&summary.text())?;
    }
    Ok(match summary.has_failures() {
        true => Outcome::Missed,
        false => Outcome::Done,
    })
}

fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    let is_lenient = |what| arguments.lenient.contains(&what);
    let mut defines = Vec::new();
    for define in &arguments.defines {
        let Some((name, value)) = define.split_once('=') else {
            let said = format!("`-D {define}` defines nothing");
            return Err(Failure::new(said).hint("write -D NAME=VALUE"));
        };
        defines.push((name.to_owned(), value.to_owned()));
    }
    // A kernel keeps time to its own ticks.
    let is_timed = is_lenient(Lenient::Time) || arguments.stack == Which::Kernel;
    Ok(Settings {
        tolerance: if is_timed {
            Tolerance::Script
        } else {
            Tolerance::Exact
        },
        leniency: Leniency {
            push: is_lenient(Lenient::Push),
            layout: is_lenient(Lenient::Layout),
        },
        pace: match arguments.stack {
            Which::Engine => Pace::Virtual,
            Which::Kernel => Pace::Real,
        },
        strict: None,
        ipv6: arguments.ipv6,
        defines,
    })
}

/// How a script, its text and its file become a report.
type Runner = fn(&gigatcp_script::ast::Script, &str, &Path, &Settings) -> Result<Report, Failure>;

fn judge(
    found: Found,
    runner: impl Fn(&Path) -> Result<Runner, Failure>,
    settings: &Settings,
) -> Result<Judged, Failure> {
    let script = match gigatcp_script::parse(&found.text) {
        Ok(script) => script,
        Err(mistake) => return Ok(Judged::unreadable(&found, &mistake)),
    };
    let run = runner(&found.path)?;
    let report = run(&script, &found.text, &found.path, settings)?;
    Ok(Judged::of(&found, &report))
}

fn run_on_engine(
    script: &gigatcp_script::ast::Script,
    text: &str,
    _: &Path,
    settings: &Settings,
) -> Result<Report, Failure> {
    Ok(run_on(script, text, &mut Engine::new(), settings))
}

fn run_on(
    script: &gigatcp_script::ast::Script,
    text: &str,
    stack: &mut dyn Stack,
    settings: &Settings,
) -> Report {
    gigatcp_script::run::run(script, text, stack, settings)
}

/// Scripts of our dialect say with `// stack: linux` that Linux is expected to
/// meet them too; others are for any stack.
fn is_for_linux(script: &gigatcp_script::ast::Script) -> bool {
    let is_named = |header: &gigatcp_script::ast::Header| header.value == "linux";
    script.header("stack").is_some_and(is_named) || script.header("profile").is_none()
}

#[cfg(target_os = "linux")]
fn kernel_runner(_: &Path) -> Result<Runner, Failure> {
    fn run_on_kernel(
        script: &gigatcp_script::ast::Script,
        text: &str,
        path: &Path,
        settings: &Settings,
    ) -> Result<Report, Failure> {
        use gigatcp_kernel::{KernelStack, Lab, LabConfig};
        if !is_for_linux(script) {
            let what = gigatcp_script::stack::Unsupported::new("script", "for the engine alone");
            let verdict = Verdict::Unsupported { span: 0..0, what };
            let printed = Vec::new();
            return Ok(Report { verdict, printed });
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        let ran = Lab::run(&LabConfig::default(), |lab| {
            let mut stack = KernelStack::new(lab, folder)?;
            Ok(run_on(script, text, &mut stack, settings))
        });
        let report = ran.and_then(|report| report);
        report.map_err(|error| {
            let failure = Failure::new(error.to_string());
            match error.hint() {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }
    Ok(run_on_kernel)
}

#[cfg(not(target_os = "linux"))]
fn kernel_runner(_: &Path) -> Result<Runner, Failure> {
    Err(
        Failure::new("there is no kernel behind `--stack kernel` on this system")
            .hint("run it on Linux, or use --stack engine"),
    )
}
