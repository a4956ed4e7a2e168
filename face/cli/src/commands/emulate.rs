//! `gigatcp emulate`: runs a command over an emulated path in real time.
//!
//! The path is `gigatcp-emulate`. This module turns arguments into hops, starts commands at both
//! ends, and shows the counters.

#[cfg(target_os = "linux")]
mod control;
pub(crate) mod hop_keys;
#[cfg(target_os = "linux")]
pub(crate) mod jobs;
#[cfg(target_os = "linux")]
pub(crate) mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "emulate/no_linux.rs"]
mod linux;
pub(crate) mod path;
#[cfg(target_os = "linux")]
mod runtime;
mod set;
#[cfg(target_os = "linux")]
pub(crate) mod sysctl;
#[cfg(target_os = "linux")]
mod uplink;
#[cfg(target_os = "linux")]
mod view;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap_complete::engine::ArgValueCompleter;
use gigatcp_units::Bytes;

use self::hop_keys::Common;
use self::set::Set;
use super::Outcome;
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{complete, values};

/// Command-line arguments of `emulate`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Run a command over an emulated path in real time",
    override_usage = "gigatcp emulate [OPTIONS] [NAME|PLAN.toml] [KEY=VALUE]... -- <CMD>...\n       \
                      gigatcp emulate set [OPTIONS] [KEY=VALUE]...\n       \
                      gigatcp emulate --clean",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    long_about = "\
Run a command over an emulated path in real time.

Creates two network namespaces with the path between them. The command runs in one, the command \
of --server in the other. Without --uplink they reach only each other. Both find the addresses \
in $GIGATCP_CLIENT, $GIGATCP_SERVER, $GIGATCP_CLIENT_V6 and $GIGATCP_SERVER_V6.

Without a plan the path has one hop in each direction. KEY=VALUE sets a key of both (`gigatcp \
list keys path.forward`), forward.KEY=VALUE and reverse.KEY=VALUE of one; `forward` is from client \
to server. --rate, --loss, --jitter and --queue are the keys of that name. With a plan, path, links \
and MTUs are used, hosts and flows are not, and KEY=VALUE changes the plan.

Segmentation offloads stay on: super-segments pass whole, and rate, queue, loss and reordering \
apply to the packets in them. A rate includes 38 bytes of link overhead per packet, as Ethernet \
has; link_overhead changes that.

Output of the server's command goes to stderr. Counters are shown on stderr at the end and, on a \
terminal, during the run. When the command ends, all processes end, background processes \
included, also after an error, Ctrl-C or `kill -9`. After `kill -9` a partial capture \
`.FILE.PID.part` remains, which the next command that writes FILE removes. Root is not required \
if user namespaces are allowed.

Exit status: that of the command; 128 plus the signal's number if a signal ended it; 127 if it \
cannot be started; 2 invalid usage, plan or environment.",
    after_help = "\
Examples:
  gigatcp emulate --rate '1 Gbit/s' --rtt '80 ms' --loss 1e-5 -- bash
  gigatcp emulate --rtt '20 ms' --server 'iperf3 -s' -- sh -c 'iperf3 -c $GIGATCP_SERVER'
  gigatcp emulate fink-slow-start --server 'iperf3 -s' -- sh -c 'iperf3 -c $GIGATCP_SERVER -t 30'
  gigatcp emulate --rate '20 Mbit/s' reverse.rate='5 Mbit/s' --queue fq_codel -- bash
  gigatcp emulate --rate '100 Mbit/s' --queue '50 packets' --capture client.pcapng -- ./my-client
  gigatcp emulate --rtt '20 ms' policer='80 Mbit/s' policer_burst='256 KiB' -- bash
  gigatcp emulate --rate '2 Mbit/s' --rtt '600 ms' --uplink eth0 -- curl -O http://example.org/
  gigatcp emulate --name lab --rate '50 Mbit/s' -- bash   # see `gigatcp emulate set --help`
  gigatcp emulate --rate '100 Mbit/s' --rtt '80 ms' --control bbr -- bash
  gigatcp emulate --rtt '80 ms' --sysctl net.ipv4.tcp_rmem='4096 131072 268435456' -- bash"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Name of an experiment (see `gigatcp list`) or path of a plan, and settings of the path
    #[arg(value_name = "NAME|PLAN.toml|KEY=VALUE", add = ArgValueCompleter::new(complete::emulated))]
    words: Vec<String>,

    /// Series of the plan whose path is used [default: the first]
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(complete::series))]
    series: Option<String>,

    #[command(flatten)]
    common: Common,

    /// MTU of both ends [default: 1500]
    #[arg(long, value_name = "BYTES", value_parser = values::octets)]
    mtu: Option<Bytes>,

    /// Root of every random stream [default: the plan's, or 1]
    #[arg(long, value_name = "N", value_parser = values::seed, allow_hyphen_values = true)]
    seed: Option<u64>,

    /// Name by which `gigatcp emulate set` finds the path [default: the process ID]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,

    /// A shell command for the other end, started first; the command waits until it listens
    #[arg(long, value_name = "CMD")]
    server: Option<String>,

    /// Setting of both namespaces, as in net.ipv4.tcp_ecn=1. They start with tcp_rmem, tcp_wmem and
    /// default congestion control of the namespace that runs the command, otherwise with the
    /// kernel's defaults; the most important ones are printed. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    sysctl: Vec<String>,

    /// Congestion control of the route between both ends; also one that a namespace may not have as
    /// its default
    #[arg(long, value_name = "NAME")]
    control: Option<String>,

    /// Let the commands reach this machine's network over this interface, with address translation.
    /// Requires root, `ip`, and `nft` or `iptables`
    #[arg(long, value_name = "IFACE")]
    uplink: Option<String>,

    /// Disable segmentation and checksum offloads of both kernels
    #[arg(long)]
    no_offloads: bool,

    /// Memory for packets of each direction; when it is full, packets wait in the device, which
    /// drops
    #[arg(long, value_name = "SIZE", value_parser = values::amount, default_value = "2 GiB")]
    memory: Bytes,

    /// Capture packets to a pcapng file
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Where packets are captured
    #[arg(
        long,
        value_name = "END",
        value_enum,
        default_value = "client",
        requires = "capture"
    )]
    capture_at: End,

    /// Bytes captured of each packet, from its IP header on; 0: whole packets
    #[arg(
        long,
        value_name = "BYTES",
        default_value_t = 128,
        requires = "capture"
    )]
    snaplen: u32,

    /// Write the counters to a JSON file at the end
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Remove what killed paths of this user have left on this machine, and run nothing: sockets of
    /// `emulate set`, devices, rules and forwarding of --uplink. Every path does so before it begins
    #[arg(long, exclusive = true)]
    clean: bool,

    /// Command and its arguments
    #[arg(value_name = "CMD", last = true)]
    command: Vec<OsString>,
}

/// Subcommands for a path that is already running.
#[derive(clap::Subcommand, Debug)]
enum Action {
    Set(Box<Set>),
}

/// Accepts a name for a path if it is valid as a file name.
fn name(text: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if text.is_empty() || text.len() > 40 || !text.chars().all(is_fine) {
        return Err("a name has 1 to 40 letters, digits, `-` and `_`".into());
    }
    Ok(text.to_owned())
}

/// An end of the path.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Where the command runs
    Client,
    /// Where --server runs
    Server,
}

impl Arguments {
    /// The plan, which is the word without `=`, and the settings.
    fn plan(&self) -> Result<(Option<&Path>, Vec<String>), Failure> {
        let (settings, plans): (Vec<&String>, Vec<&String>) =
            self.words.iter().partition(|word| word.contains('='));
        if let [first, second, ..] = plans[..] {
            return Err(
                Failure::not_run(format!("`{first}` and `{second}` are two plans"))
                    .hint("a setting is KEY=VALUE; what to run comes after `--`"),
            );
        }
        let plan = plans.first().copied().map(Path::new);
        Ok((plan, settings.into_iter().cloned().collect()))
    }

    /// Checks that there is one path and a command to run. Without `--`, clap takes a command for a
    /// plan.
    fn check(&self) -> Result<(), Failure> {
        let (plan, _) = self.plan()?;
        if self.command.is_empty() {
            let failure = match plan {
                Some(plan) if PlanFile::find(plan).is_err() => {
                    let word = plan.display();
                    Failure::new(format!(
                        "no command is given: `{word}` stands where a plan does"
                    ))
                    .hint(format!("what to run comes after `--`, as in `-- {word}`"))
                }
                _ => Failure::new("no command is given")
                    .hint("what to run comes after `--`, as in `-- bash`"),
            };
            return Err(failure.effect("nothing was run"));
        }
        let Some(plan) = plan else {
            return match &self.series {
                Some(series) => Err(Failure::not_run(format!(
                    "--series {series} requires a plan"
                ))),
                None => Ok(()),
            };
        };
        let mtu = self.mtu.map(|_| "--mtu");
        let options = self.common.given().into_iter().map(|(option, _)| option);
        let options: Vec<&str> = options.chain(mtu).collect();
        if options.is_empty() {
            return Ok(());
        }
        Err(Failure::not_run(format!(
            "{} cannot change the path of the plan `{}`",
            options.join(" and "),
            plan.display()
        ))
        .hint("a plan is changed by its keys, as in path.rtt='20 ms'"))
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(Action::Set(set)) = &arguments.action {
        return set::run(set);
    }
    if arguments.clean {
        return linux::clean();
    }
    arguments.check()?;
    linux::run(arguments)
}
