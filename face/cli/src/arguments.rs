//! Command line of `gigatcp`: the commands and their help.

use clap::{CommandFactory, Parser, Subcommand};

#[cfg(feature = "mcp")]
use crate::commands::mcp;
use crate::commands::{
    Outcome, check, compare, completions, demo, diff, doctor, emulate, explain, flows, list, man,
    new, run, server, show, sweep, test, theory, trace, watch, whatif, why,
};
use crate::failure::Failure;
use crate::output;

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "gigatcp",
    version,
    about = "Finds what limits a TCP connection; tests, emulates and simulates paths",
    long_about = "\
Finds what limits a TCP connection: in a capture (`why`), between two hosts (`test`), in the \
settings of this host (`doctor`), in the connections that run now (`watch`).

Paths are emulated for any command (`emulate`), or simulated from plans in TOML (`run`, \
`sweep`): the same plan and seed give the same result on every machine.

Results go to stdout, diagnostics to stderr. Exit status: 0 success; 1 a result missed its goal; \
2 invalid usage, plan or environment; 130 SIGINT; 143 SIGTERM.

~/.config/gigatcp/config.toml, or the file that GIGATCP_CONFIG names, may set `color`, `log` (as \
GIGATCP_LOG) and `out` (the directory of results), as in out = \"/data/runs\".",
    after_help = "\
Examples:
  gigatcp why trace.pcapng                       why the connections of a capture were not faster
  gigatcp whatif trace.pcapng --best             which setting would bring how much
  gigatcp test HOST                              throughput to a host, and what limited it
  gigatcp doctor --rtt 80ms --rate 10G           which settings of this host limit that path
  gigatcp watch :443                             what limits the connections that run now
  gigatcp theory --rate 10G --rtt 80ms           which buffers the path requires
  gigatcp emulate --rtt 80ms -- bash             a shell behind a real-time path
  gigatcp compare OLD NEW --paths wan,lossy      is a new build worse? for CI: exit 1 if so
  gigatcp run fink-slow-start                    an experiment and its tables; `list` names all
  gigatcp sweep my.toml --over path.rtt=10ms,80ms
                                                 one question: the plan over an axis",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// Command to run.
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) output: output::Settings,
}

/// Options that `-h` shows of commands with many, with spaces between them; `--help` shows all.
const SHORT: [(&str, &str); 8] = [
    (
        "test",
        "time parallel reverse bidir udp bitrate window congestion port protocol steady whatif \
         report save json",
    ),
    (
        "emulate",
        "rate rtt loss jitter queue mtu server sysctl control uplink capture json",
    ),
    (
        "server",
        "port nuttcp-port bind daemon user max-tests allow max-duration",
    ),
    (
        "sweep",
        "over repeat until metric set series plot dry-run all out",
    ),
    (
        "doctor",
        "rtt rate loss direction verify from try yes undo verbose json",
    ),
    (
        "why",
        "verbose all json whatif summary report interface for capture",
    ),
    ("run", "set series repeat on capture verbose all json out"),
    ("theory", "rate rtt mss loss window control verbose json"),
];

/// Groups of the options of `test` in its help, after the ten that people use first: duration, port,
/// parallel, both directions, UDP, rate, window, congestion control and JSON.
const TEST_GROUPS: [(&str, &str); 5] = [
    (
        "Hosts and addresses",
        "protocol ndt7 mptcp version4 version6 bind affinity stack",
    ),
    (
        "Streams",
        "bytes blockcount length set-mss no-delay tos zerocopy",
    ),
    (
        "Measurement",
        "mode omit interval latency no-probe rrul steady whatif",
    ),
    ("Repeated tests", "until repeat"),
    ("Output", "report save format json-stream"),
];

/// The words as typed, for messages; of a file name that is no UTF-8 as near as possible.
pub(crate) fn typed() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}

/// The command line with a short `-h`, and the options of `test` in groups.
pub(crate) fn command() -> clap::Command {
    TEST_GROUPS
        .iter()
        .fold(shortened(), |command, (group, longs)| {
            command.mut_subcommand("test", |test| {
                longs.split(' ').fold(test, |test, long| {
                    test.mut_arg(long.replace('-', "_"), |option| option.help_heading(*group))
                })
            })
        })
}

/// The command line with a short `-h`.
fn shortened() -> clap::Command {
    SHORT
        .iter()
        .fold(Arguments::command(), |command, (name, shown)| {
            command.mut_subcommand(name, |subcommand| {
                subcommand.mut_args(|option| {
                    let is_shown = |long| shown.split(' ').any(|name| name == long);
                    let is_hidden = !option.get_long().is_none_or(is_shown);
                    option.hide_short_help(is_hidden)
                })
            })
        })
}

/// Commands; the help text of each is in its own module.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Why(why::Arguments),
    Test(Box<test::Arguments>),
    Server(server::Arguments),
    Doctor(doctor::Arguments),
    Watch(watch::Arguments),
    Flows(flows::Arguments),
    Trace(trace::Arguments),
    Whatif(whatif::Arguments),
    Emulate(Box<emulate::Arguments>),
    Compare(compare::Arguments),
    Run(run::Arguments),
    Sweep(Box<sweep::Arguments>),
    Show(show::Arguments),
    Check(check::Arguments),
    New(new::Arguments),
    List(list::Arguments),
    Diff(diff::Arguments),
    Theory(theory::Arguments),
    Explain(explain::Arguments),
    Demo(demo::Arguments),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        match self {
            Self::Why(arguments) => why::run(arguments),
            Self::Test(arguments) => test::run(arguments),
            Self::Server(arguments) => server::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Watch(arguments) => watch::run(arguments),
            Self::Flows(arguments) => flows::run(arguments),
            Self::Trace(arguments) => trace::run(arguments),
            Self::Whatif(arguments) => whatif::run(arguments),
            Self::Emulate(arguments) => emulate::run(arguments),
            Self::Compare(arguments) => compare::run(arguments),
            Self::Run(arguments) => run::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Show(arguments) => show::run(arguments),
            Self::Check(arguments) => check::run(arguments),
            Self::New(arguments) => new::run(arguments),
            Self::List(arguments) => list::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Theory(arguments) => theory::run(arguments),
            Self::Explain(arguments) => explain::run(arguments),
            Self::Demo(arguments) => demo::run(arguments),
            #[cfg(feature = "mcp")]
            Self::Mcp(arguments) => mcp::run(arguments),
            Self::Completions(arguments) => completions::run(arguments),
            Self::Man(arguments) => man::run(arguments),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn short_help_shows_options_that_exist_and_fits_a_screen() {
        let mut command = command();
        command.build();
        for (name, shown) in SHORT {
            let one = command.find_subcommand_mut(name).expect(name);
            let longs: Vec<_> = one
                .get_arguments()
                .filter_map(clap::Arg::get_long)
                .collect();
            assert!(shown.split(' ').all(|long| longs.contains(&long)), "{name}");
            let lines = one.render_help().to_string().lines().count();
            assert!(lines <= 60, "{name}: {lines} lines");
        }
    }

    #[test]
    fn help_of_test_lists_ten_options_before_its_groups() {
        let mut command = command();
        command.build();
        let test = command.find_subcommand("test").expect("test");
        let first: Vec<&str> = test
            .get_arguments()
            .filter(|option| option.get_help_heading().is_none() && !option.is_global_set())
            .filter_map(clap::Arg::get_long)
            .filter(|long| *long != "help")
            .collect();
        let ten = [
            "port",
            "time",
            "bitrate",
            "udp",
            "reverse",
            "bidir",
            "parallel",
            "window",
            "congestion",
            "json",
        ];
        assert_eq!(first, ten);
    }

    #[test]
    fn every_command_ends_its_help_with_examples() {
        for command in Arguments::command().get_subcommands() {
            let examples = command
                .get_after_help()
                .map(ToString::to_string)
                .unwrap_or_default();
            assert!(
                examples.starts_with("Examples:\n"),
                "{}",
                command.get_name()
            );
        }
    }
}
