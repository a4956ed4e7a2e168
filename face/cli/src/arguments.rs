//! What can be typed: the commands, and what `--help` teaches about them.

use clap::{Parser, Subcommand};

use crate::commands::{
    Outcome, check, completions, conform, demo, diff, doctor, emulate, explain, flows, list, man,
    new, run, server, show, sweep, test, theory, trace, watch, whatif, why,
};
use crate::failure::Failure;
use crate::output;

/// The whole command line.
#[derive(Parser, Debug)]
#[command(
    name = "gigatcp",
    version,
    about = "Runs TCP over simulated paths and says what limited it",
    long_about = "\
Runs TCP over simulated paths and says what limited it.

A plan (TOML) says what to run: path, hosts, flows and series of variations. A run gives \
throughput per interval, where the time went, and what every path element dropped. One seed and \
one plan give the same result on every machine.

Results go to stdout, everything else to stderr. Exit status: 0 done; 1 a result missed its bar; 2 wrong usage, plan or \
environment; 130 after Ctrl-C, 143 after SIGTERM.",
    after_help = "\
Examples:
  gigatcp list                                   which experiments there are
  gigatcp run fink-slow-start                    run one and see the tables
  gigatcp sweep my.toml --over path.rtt=10ms,80ms
                                                 one question: the plan over an axis
  gigatcp check my.toml                          is my plan right, and what would it run?
  gigatcp conform conformance/script             does the engine follow the packet scripts?
  gigatcp why trace.pcapng                       why the connections of a capture were not faster
  gigatcp whatif trace.pcapng --best             which setting would bring how much
  gigatcp doctor --rtt 80ms --rate 10G           which settings of this host limit that path
  gigatcp emulate --rtt '80 ms' -- bash          a shell behind a real-time path
  gigatcp watch :443                             what limits the connections that run now
  gigatcp flows trace.pcapng                     which connections a capture contains
  gigatcp list keys                              everything a plan can say
  gigatcp theory --rate '10 Gbit/s' --rtt '80 ms' --mss 8948
                                                 what the textbooks expect of a path",
    arg_required_else_help = true,
    max_term_width = 100
)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) output: output::Settings,
}

/// What can be done; each command says itself what it does.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Run(run::Arguments),
    Sweep(Box<sweep::Arguments>),
    Show(show::Arguments),
    Check(check::Arguments),
    Conform(conform::Arguments),
    Why(why::Arguments),
    Whatif(whatif::Arguments),
    Doctor(doctor::Arguments),
    Explain(explain::Arguments),
    Emulate(Box<emulate::Arguments>),
    Flows(flows::Arguments),
    List(list::Arguments),
    New(new::Arguments),
    Man(man::Arguments),
    Theory(theory::Arguments),
    Test(Box<test::Arguments>),
    Server(server::Arguments),
    Trace(trace::Arguments),
    Demo(demo::Arguments),
    Diff(diff::Arguments),
    Watch(watch::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    /// Does it.
    pub(crate) fn run(&self) -> Result<Outcome, Failure> {
        match self {
            Self::Run(arguments) => run::run(arguments),
            Self::Sweep(arguments) => sweep::run(arguments),
            Self::Show(arguments) => show::run(arguments),
            Self::Check(arguments) => check::run(arguments),
            Self::Conform(arguments) => conform::run(arguments),
            Self::Why(arguments) => why::run(arguments),
            Self::Whatif(arguments) => whatif::run(arguments),
            Self::Doctor(arguments) => doctor::run(arguments),
            Self::Explain(arguments) => explain::run(arguments),
            Self::Emulate(arguments) => emulate::run(arguments),
            Self::Flows(arguments) => flows::run(arguments),
            Self::List(arguments) => list::run(arguments),
            Self::Man(arguments) => man::run(arguments),
            Self::New(arguments) => new::run(arguments),
            Self::Theory(arguments) => theory::run(arguments),
            Self::Test(arguments) => test::run(arguments),
            Self::Server(arguments) => server::run(arguments),
            Self::Trace(arguments) => trace::run(arguments),
            Self::Demo(arguments) => demo::run(arguments),
            Self::Diff(arguments) => diff::run(arguments),
            Self::Watch(arguments) => watch::run(arguments),
            Self::Completions(arguments) => completions::run(arguments),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_command_ends_its_help_with_examples() {
        for command in Arguments::command().get_subcommands() {
            let examples = command.get_after_help().map(ToString::to_string);
            let examples = examples.unwrap_or_default();
            assert!(
                examples.starts_with("Examples:\n"),
                "{}",
                command.get_name()
            );
        }
    }
}
