//! `gigatcp emulate set`: changes a path that runs in another terminal.

use serde::{Deserialize, Serialize};

use super::linux;
use super::words::{self, Anew, Words};
use crate::commands::Outcome;
use crate::failure::Failure;

/// Command-line arguments of `emulate set`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Change a path while it runs in another terminal",
    override_usage = "gigatcp emulate set [--name NAME] [OPTIONS] [KEY=VALUE]...",
    long_about = "\
Change a path while it runs in another terminal.

Options have the same meaning as for `gigatcp emulate` and replace those of the start. A path of \
a plan is changed by the plan's keys, as with `--set` at the start. Without a change the current \
path is printed.

A change loses no packet. Propagating packets arrive on time and are not reordered. The packet \
in service continues at the new rate. Queued packets move to the new queue; those above its \
limit are dropped and counted. Schedules and traces start when they are set. MTU and number of \
hops cannot change. Changes are comments on the next packet of the capture, and `changes` in \
--json.",
    after_help = "\
Examples:
  gigatcp emulate set
  gigatcp emulate set --rate '5 Mbit/s' --rtt '80 ms'
  gigatcp emulate set --direction reverse --loss 0.01
  gigatcp emulate set --queue 'fq_codel, 1000 packets'
  gigatcp emulate set --unset policer --unset policer-burst
  gigatcp emulate set --name lab path.rate='2 Mbit/s'"
)]
pub(crate) struct Set {
    /// Keys of the plan, for a path of a plan, as in path.rate='5 Mbit/s'
    #[arg(value_name = "KEY=VALUE")]
    keys: Vec<String>,

    /// Name of the path, as `--name` gave it at the start [default: the only one]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Change one direction only
    #[arg(long, value_name = "DIRECTION", value_enum)]
    direction: Option<Direction>,

    /// Remove an option, as in `--unset policer`. May be repeated
    #[arg(long, value_name = "OPTION")]
    unset: Vec<String>,

    #[command(flatten)]
    path: Anew,
}

/// A direction of the path.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    /// From client to server
    Forward,
    /// From server to client
    Reverse,
}

/// Requested changes of a path: one line of JSON.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) keys: Vec<String>,
    pub(super) direction: Option<Direction>,
    pub(super) unset: Vec<String>,
    pub(super) words: Words,
}

/// Sends the request to the path and prints the reply.
pub(crate) fn run(set: &Set) -> Result<Outcome, Failure> {
    let unset = set.unset.iter().map(|name| words::check_name(name));
    let mut request = Request {
        keys: set.keys.clone(),
        direction: set.direction,
        unset: unset.collect::<Result<_, _>>()?,
        words: set.path.0.clone(),
    };
    // The path may run in another working directory.
    request.words.adjust("rate-trace", |file| {
        let whole = std::path::absolute(file);
        whole.map_or_else(|_| file.to_owned(), |whole| whole.display().to_string())
    });
    linux::send_request(set.name.as_deref(), &request)
}
