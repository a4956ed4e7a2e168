//! `gigatcp emulate set`: changes a path that runs in another terminal.

use clap_complete::engine::ArgValueCompleter;
use serde::{Deserialize, Serialize};

use super::hop_keys::Common;
use super::linux;
use crate::commands::Outcome;
use crate::complete;
use crate::failure::Failure;

/// Command-line arguments of `emulate set`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Change a path while it runs in another terminal",
    override_usage = "gigatcp emulate set [OPTIONS] [KEY=VALUE]...",
    long_about = "\
Change a path while it runs in another terminal.

Options and KEY=VALUE have the same meaning as for `gigatcp emulate` and replace what was set \
before; --rate replaces the rate of both directions. Without a change the current path is printed.

A change loses no packet. Propagating packets arrive on time and are not reordered. The packet \
in service continues at the new rate. Queued packets move to the new queue; those above its \
limit are dropped and counted. Schedules and traces start when they are set. MTU and number of \
hops cannot change. Changes are comments on the next packet of the capture, and `changes` in \
--json.",
    after_help = "\
Examples:
  gigatcp emulate set
  gigatcp emulate set --rate '5 Mbit/s' --rtt '80 ms'
  gigatcp emulate set reverse.loss=0.01
  gigatcp emulate set --queue 'fq_codel, 1000 packets'
  gigatcp emulate set --unset policer --unset policer_burst
  gigatcp emulate set --name lab path.rate='2 Mbit/s'"
)]
pub(crate) struct Set {
    /// Settings of the path; for a path of a plan its keys, as in path.rate='5 Mbit/s'
    #[arg(value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::emulated))]
    settings: Vec<String>,

    /// Name of the path, as `--name` gave it at the start [default: the only one]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Remove a key, as in `--unset policer`. May be repeated
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,

    #[command(flatten)]
    common: Common,
}

/// Requested changes of a path: one line of JSON.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Request {
    /// Settings, as `KEY=VALUE`.
    pub(super) settings: Vec<String>,
    /// Keys to be removed.
    pub(super) unset: Vec<String>,
}

#[cfg(target_os = "linux")]
impl Request {
    /// Settings and removals of hops' keys, which a plan does not have at its top.
    pub(super) fn of_hops(&self) -> impl Iterator<Item = &str> {
        let settings = self.settings.iter().filter(|setting| !is_of_plan(setting));
        settings.chain(&self.unset).map(String::as_str)
    }

    /// Settings and removals of a plan's keys.
    pub(super) fn of_plan(&self) -> impl Iterator<Item = &str> {
        let named = self.settings.iter().chain(&self.unset);
        named.filter(|name| is_of_plan(name)).map(String::as_str)
    }
}

/// Whether a setting names the way to its value in a plan.
#[cfg(target_os = "linux")]
fn is_of_plan(setting: &str) -> bool {
    let key = setting.split_once('=').map_or(setting, |(key, _)| key);
    let top = key.split_once('.').map(|(top, _)| top);
    top.is_some_and(|top| !matches!(top, "forward" | "reverse"))
}

/// Sends the request to the path and prints the reply.
pub(crate) fn run(set: &Set) -> Result<Outcome, Failure> {
    let common = set
        .common
        .given()
        .into_iter()
        .flat_map(|(_, assignments)| assignments);
    let request = Request {
        settings: common
            .chain(set.settings.iter().map(|setting| with_whole_path(setting)))
            .collect(),
        unset: set.unset.clone(),
    };
    linux::send_request(set.name.as_deref(), &request)
}

/// Makes the file of a rate trace absolute: the path may run in another working directory.
fn with_whole_path(setting: &str) -> String {
    match setting.split_once('=') {
        Some((key, file)) if key.ends_with("rate_trace") => {
            match std::path::absolute(file.trim()) {
                Ok(file) => format!("{key}={}", file.display()),
                Err(_) => setting.to_owned(),
            }
        }
        _ => setting.to_owned(),
    }
}
