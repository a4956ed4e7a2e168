//! `gigatcp emulate`: runs a command over an emulated path in real time.
//!
//! The path is `gigatcp-emulate`. This module turns arguments into hops, starts commands at both
//! ends, and shows the counters.

#[cfg(target_os = "linux")]
mod control;
#[cfg(target_os = "linux")]
mod jobs;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "emulate/no_linux.rs"]
mod linux;
mod path;
#[cfg(target_os = "linux")]
mod runtime;
mod set;
#[cfg(target_os = "linux")]
mod sysctl;
#[cfg(target_os = "linux")]
mod uplink;
#[cfg(target_os = "linux")]
mod view;
mod words;

use std::ffi::OsString;
use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use self::set::Set;
use self::words::Described;
use super::Outcome;
use crate::failure::Failure;
use crate::plan_file::PlanFile;
use crate::{complete, values};

/// Command-line arguments of `emulate`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Run a command over an emulated path in real time",
    override_usage = "gigatcp emulate [OPTIONS] [NAME|PLAN.toml] -- <CMD>...\n       \
                      gigatcp emulate set [OPTIONS] [KEY=VALUE]...",
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    long_about = "\
Run a command over an emulated path in real time.

Creates two network namespaces with the path between them. The command runs in one, the command \
of --server in the other. Without --uplink they reach only each other. Both find the addresses \
in $GIGATCP_CLIENT, $GIGATCP_SERVER, $GIGATCP_CLIENT_V6 and $GIGATCP_SERVER_V6.

The path is defined by a plan or by options. Options apply to both directions, each independent \
of the other. From a plan, path, links and MTUs are used; hosts and flows are not. `forward` is \
from client to server. Segmentation offloads stay on: super-segments pass whole, and rate, \
queue, loss and reordering apply to the packets in them. A rate includes 38 bytes of link \
overhead per packet, as Ethernet has; --link-overhead changes that.

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
  gigatcp emulate --rate '20 Mbit/s' --reverse-rate '5 Mbit/s' --queue fq_codel -- bash
  gigatcp emulate --rate '100 Mbit/s' --queue '50 packets' --capture client.pcapng -- ./my-client
  gigatcp emulate --rtt '20 ms' --policer '80 Mbit/s' --policer-burst '256 KiB' -- bash
  gigatcp emulate --rate '2 Mbit/s' --rtt '600 ms' --uplink eth0 -- curl -O http://example.org/
  gigatcp emulate --name lab --rate '50 Mbit/s' -- bash   # see `gigatcp emulate set --help`
  gigatcp emulate --rate '100 Mbit/s' --rtt '80 ms' --control bbr -- bash
  gigatcp emulate --rtt '80 ms' --sysctl net.ipv4.tcp_rmem='4096 131072 268435456' -- bash"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    /// Name of an experiment (see `gigatcp list`), or path of a plan, instead of --rate and so on
    #[arg(value_name = "NAME|PLAN.toml", add = ArgValueCompleter::new(complete::plans))]
    plan: Option<PathBuf>,

    /// Change the plan: dotted key and value, as in path.rtt='20 ms'. May be repeated
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "plan",
        add = ArgValueCompleter::new(complete::changes))]
    overrides: Vec<String>,

    /// Series of the plan whose path is used [default: the first]
    #[arg(long, value_name = "NAME", requires = "plan", add = ArgValueCompleter::new(complete::series))]
    series: Option<String>,

    #[command(flatten)]
    path: Described,

    /// Root of every random stream [default: the plan's, or 1]
    #[arg(long, value_name = "N", value_parser = values::seed, allow_hyphen_values = true)]
    seed: Option<u64>,

    /// Name by which `gigatcp emulate set` finds the path [default: the process ID]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<String>,

    /// A shell command for the other end, started first; the command waits until it listens
    #[arg(long, value_name = "CMD")]
    server: Option<String>,

    /// Setting of both namespaces, as in net.ipv4.tcp_ecn=1. They start with this machine's
    /// tcp_rmem, tcp_wmem and default congestion control, otherwise with the kernel's defaults; the
    /// most important ones are printed. May be repeated
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
    #[arg(long, alias = "write", value_name = "FILE")]
    capture: Option<PathBuf>,

    /// Where packets are captured
    #[arg(
        long,
        alias = "write-at",
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

    /// As --snaplen 0
    #[arg(long, hide = true, requires = "capture", conflicts_with = "snaplen")]
    whole: bool,

    /// Write the counters to a JSON file at the end
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

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

/// A path without a plan: one hop in each direction.
#[derive(clap::Args, Debug)]
#[allow(
    dead_code,
    reason = "known to be right, most are read as they were typed (words.rs)"
)]
#[command(group = clap::ArgGroup::new("bottleneck").multiple(true)
    .args(["rate", "reverse_rate", "rate_trace", "shaper", "packet_rate"]))]
struct Link {
    /// Rate of the path, as in 1G or '1 Gbit/s' [default: unlimited]
    #[arg(long, value_parser = values::rate)]
    rate: Option<Rate>,

    /// Round-trip time, half of it each way
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    rtt: Option<Duration>,

    /// Probability that a packet is lost
    #[arg(long, value_name = "P", value_parser = values::probability)]
    loss: Option<Probability>,

    /// Rate from server to client [default: --rate]
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "rate")]
    reverse_rate: Option<Rate>,

    /// Schedule of the rate, as in '10 s: 1 Mbit/s, 20 s: 5 Mbit/s, every 40 s'
    #[arg(long, value_name = "CHANGES", requires = "rate")]
    rate_schedule: Option<String>,

    /// File of transmission opportunities in mahimahi's format, instead of a rate
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rate", "rate_schedule"])]
    rate_trace: Option<String>,

    /// Schedule of the one-way delay, as in '15 s: 60 ms, 30 s: 35 ms'
    #[arg(long, value_name = "CHANGES")]
    delay_schedule: Option<String>,

    /// Delay variation, as in '2 ms' or '2 ms, normal, hold 10 ms, overtaking'
    #[arg(long, value_name = "TIME")]
    jitter: Option<String>,

    /// Share of packets lost and mean length of a burst, as in '0.01:4'
    #[arg(long, value_name = "P:N")]
    loss_burst: Option<String>,

    /// Probability that a packet is corrupted: its checksum fails at the receiver
    #[arg(long, value_name = "P", value_parser = values::probability)]
    corrupt: Option<Probability>,

    /// Probability that a packet is reordered
    #[arg(long, value_name = "P", value_parser = values::probability, requires = "reorder_delay")]
    reorder: Option<Probability>,

    /// Extra delay of a reordered packet
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "reorder")]
    reorder_delay: Option<Duration>,

    /// Probability that a packet is duplicated
    #[arg(long, value_name = "P", value_parser = values::probability)]
    duplicate: Option<Probability>,

    /// Rate beyond which packets are dropped, without a queue, as in '80 Mbit/s'
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "policer_burst")]
    policer: Option<Rate>,

    /// Burst size of the policer, as in '256 KiB'
    #[arg(long, value_name = "SIZE", value_parser = values::amount, requires = "policer")]
    policer_burst: Option<Bytes>,

    /// Peak rate of a two-rate policer (RFC 2698); packets above it are dropped
    #[arg(long, value_name = "RATE", value_parser = values::rate,
        requires_all = ["policer", "policer_peak_burst"])]
    policer_peak: Option<Rate>,

    /// Burst size of the peak rate
    #[arg(long, value_name = "SIZE", value_parser = values::amount, requires = "policer_peak")]
    policer_peak_burst: Option<Bytes>,

    /// Action on packets between the two rates: pass, mark (ECN) or drop [default: pass]
    #[arg(long, value_name = "ACTION", requires = "policer_peak")]
    policer_yellow: Option<String>,

    /// Drop ACKs that a newer one makes redundant: 'queue', or all but one in n, as 'every 4'
    #[arg(long, value_name = "FILTER")]
    ack_filter: Option<String>,

    /// Changes of a middlebox to segments with SYN, as in 'mss 1400, no timestamps'
    #[arg(long, value_name = "CHANGES")]
    middlebox: Option<String>,

    /// Token rate of a shaper, as in '80 Mbit/s'
    #[arg(long, value_name = "RATE", value_parser = values::rate, requires = "shaper_burst")]
    shaper: Option<Rate>,

    /// Burst size of the shaper, as in '256 KiB'
    #[arg(long, value_name = "SIZE", value_parser = values::amount, requires = "shaper")]
    shaper_burst: Option<Bytes>,

    /// Queue limit, as in '100 packets', '1 MB' or '0.5 BDP', discipline, as in fq_codel (see
    /// `gigatcp list queues`), or both with settings, as in 'codel, 1000 packets, target 5 ms'
    /// [default: 1 BDP, at least 100 packets, FIFO]
    #[arg(long, value_name = "QUEUE", requires = "bottleneck", add = ArgValueCompleter::new(complete::queues))]
    queue: Option<String>,

    /// Corrupt every N-th packet
    #[arg(long, value_name = "N")]
    corrupt_every: Option<u64>,

    /// Corrupt these packets, counted from 1 in order of arrival
    #[arg(long, value_name = "LIST", value_parser = values::numbers)]
    corrupt_packets: Option<String>,

    /// Share of packets corrupted and mean length of a burst, as in '0.001:4'
    #[arg(long, value_name = "P:N")]
    corrupt_burst: Option<String>,

    /// Maximum packets served per second, as in '130600 packet/s'
    #[arg(long, value_name = "RATE")]
    packet_rate: Option<String>,

    /// Maximum packets in the hop, propagating ones included, as netem's `limit`
    #[arg(long, value_name = "N")]
    hold_limit: Option<u64>,

    /// Drop every N-th packet
    #[arg(long, value_name = "N")]
    lose_every: Option<u64>,

    /// Drop these packets, counted from 1 in order of arrival, as in '1000, 1001'
    #[arg(long, value_name = "LIST", value_parser = values::numbers)]
    lose_packets: Option<String>,

    /// Probabilities of a Gilbert-Elliott chain, as in netem's gemodel: '0.001 0.1 1 0'
    #[arg(long, value_name = "P R H K")]
    loss_gemodel: Option<String>,

    /// Start of the interval with loss
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    loss_from: Option<Duration>,

    /// End of the interval with loss
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    loss_until: Option<Duration>,

    /// Maximum packets per aggregate, as in Wi-Fi
    #[arg(long, value_name = "N", requires = "aggregate_overhead")]
    aggregate: Option<u64>,

    /// Overhead time of each aggregate
    #[arg(long, value_name = "TIME", value_parser = values::time, requires = "aggregate")]
    aggregate_overhead: Option<Duration>,

    /// Backlog above which ECN-capable packets are marked, as in '65 packets' or '1 ms'
    #[arg(long, value_name = "BACKLOG")]
    mark_above: Option<String>,

    /// Probability that an ECN-capable packet is marked
    #[arg(long, value_name = "P", value_parser = values::probability)]
    mark: Option<Probability>,

    /// Clear the ECN field of every packet
    #[arg(long)]
    ecn_bleach: bool,

    /// MTU of the link; larger packets are dropped
    #[arg(long, value_name = "BYTES", value_parser = values::octets)]
    link_mtu: Option<Bytes>,

    /// Send no ICMP message about packets that are too large
    #[arg(long, requires = "link_mtu")]
    no_icmp: bool,

    /// Cut larger IPv4 packets without DF into fragments
    #[arg(long, requires = "link_mtu")]
    fragment: bool,

    /// MTU of both ends [default: 1500]
    #[arg(long, value_name = "BYTES", value_parser = values::octets)]
    mtu: Option<Bytes>,

    /// Link overhead per packet, in bytes [default: 38]
    #[arg(long, value_name = "BYTES", value_parser = values::octets, requires = "rate")]
    link_overhead: Option<Bytes>,
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
    /// Checks that there is one path and a command to run. Without `--`, clap takes a command for a
    /// plan.
    fn check(&self) -> Result<(), Failure> {
        let plan = self.plan.as_ref().map(|plan| plan.display().to_string());
        if self.command.is_empty() {
            let is_plan = |plan: &PathBuf| PlanFile::find(plan).is_ok();
            let failure = match &plan {
                Some(plan) if !self.plan.as_ref().is_some_and(is_plan) => {
                    let what = format!("no command is given: `{plan}` stands where a plan does");
                    let hint = format!("what to run comes after `--`, as in `-- {plan}`");
                    Failure::new(what).hint(hint)
                }
                _ => Failure::new("no command is given")
                    .hint("what to run comes after `--`, as in `-- bash`"),
            };
            return Err(failure.effect("nothing was run"));
        }
        let given = self.path.words.names();
        match (plan, given.split_last()) {
            (Some(plan), Some((last, others))) => {
                let (joint, verb) = if others.is_empty() {
                    ("", "tells")
                } else {
                    (" and ", "tell")
                };
                let message = format!(
                    "the path is that of the plan `{plan}`, and {}{joint}{last} {verb} of another",
                    others.join(", ")
                );
                Err(Failure::new(message).effect("nothing was run").hint(
                    "a plan is changed by `--set`, as in `--set path.rtt='20 ms'`; or leave it out",
                ))
            }
            _ => Ok(()),
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(Action::Set(set)) = &arguments.action {
        return set::run(set);
    }
    arguments.check()?;
    linux::run(arguments)
}
