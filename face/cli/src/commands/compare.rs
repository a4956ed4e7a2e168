//! `gigatcp compare`: whether one command is worse than another over emulated paths.
//!
//! | file | content |
//! |---|---|
//! | `linux.rs` | from arguments to pairs of runs |
//! | `paths.rs` | named paths, plans, keys of hops |
//! | `runs.rs` | one run of a command over a path |
//! | `verdict.rs` | what the pairs of runs say; text and JSON |
//!
//! The loop is that of [`super::repeat`], the statistics are `gigatcp_theory::paired`.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "compare/no_linux.rs"]
mod linux;
mod paths;
#[cfg(target_os = "linux")]
mod runs;
#[cfg(target_os = "linux")]
mod verdict;

use gigatcp_units::Duration;

use crate::values;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Measure {
    /// New payload that arrived at either end (TCP bytes without retransmissions and headers, and
    /// UDP payload), over the time of the command
    Goodput,
    /// Time from the start of the command to its end
    Time,
}

/// Command-line arguments of `compare`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Compare two commands over emulated paths; exit 1 if the second is worse",
    long_about = format!("\
Compare two commands that transfer data over emulated paths, and exit with 1 if NEW is worse than \
OLD by more than --worse on a path.

OLD and NEW are lines for a shell, as root of a namespace at one end of the path. --server runs at \
the other, whose address is $GIGATCP_SERVER. Write both in single quotes. Each run has fresh \
namespaces and a fresh server, so settings of one run (`sysctl -w`, `ip route change`) do not reach \
the next. Namespaces start with tcp_rmem, tcp_wmem and default congestion control of the namespace that \
runs the command, otherwise with the kernel's defaults.

Measured is the goodput of a run: new payload that arrived at either end, over the time from the \
start of the command to its end. So transfers of an amount and transfers of a duration are compared \
alike. Retransmissions and headers do not count. With --measure time it is the time alone.

Runs are pairs, OLD and NEW in random order with the same seed of the path. Paths take turns. A path \
ends when its answer is certain, by an always-valid test of paired differences. If NEW equals OLD, \
the probability of \"worse\" on any path is at most --error, whatever the noise and the number of \
runs. Intervals and \"not worse\" are wrong as rarely if the differences of pairs are symmetric \
about their center. With --measure time, a run that --timeout ended decides nothing in favour of \
its side.

Paths of --paths:
{}
Any other word is a plan, as in my.toml, or a name of `gigatcp list`. KEY=VALUE words with the keys \
of `gigatcp list links`, as in --paths 'rate=20 Mbit/s delay=10 ms loss=0.01', are one path.

Root is not required if user namespaces are allowed. Ctrl-C ends all processes and removes the \
namespaces; what was measured is printed.

Exit status: 0 no regression of that size is certain; 1 there is one; 2 invalid usage, or a command \
failed.", paths::help()),
    after_help = "\
Examples:
  gigatcp compare 'curl -so f http://$GIGATCP_SERVER:8000/f' --server './old' --server-new './new'
  gigatcp compare 'gigatcp test $GIGATCP_SERVER -t 2 -C cubic' \\
                  'gigatcp test $GIGATCP_SERVER -t 2 -C bbr' --server 'gigatcp server'
  gigatcp compare 'iperf3 -c $GIGATCP_SERVER -t 2' \\
                  'sysctl -qw net.ipv4.tcp_sack=0; iperf3 -c $GIGATCP_SERVER -t 2' \\
                  --server 'iperf3 -s' --paths lossy,wan --worse 10% --within 5min"
)]
pub(crate) struct Arguments {
    /// Command that NEW is compared with
    #[arg(value_name = "OLD")]
    old: String,

    /// Command that must not be worse [default: OLD, if --server-new differs]
    #[arg(value_name = "NEW", required_unless_present = "server_new")]
    new: Option<String>,

    /// Paths, separated by commas, or KEY=VALUE words of one path. May be repeated
    #[arg(
        long,
        value_name = "PATHS",
        default_value = "wan,lossy,lte,wifi,policer,lan"
    )]
    paths: Vec<String>,

    /// A shell command for the other end, started before each run, which waits until it listens
    #[arg(long, value_name = "CMD")]
    server: Option<String>,

    /// That of NEW [default: as --server]
    #[arg(long, value_name = "CMD", requires = "server")]
    server_new: Option<String>,

    /// How much worse NEW may be: goodput lower, or time longer, by this share
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, default_value = "5%")]
    worse: f64,

    /// Probability of a false "worse" on any of the paths
    #[arg(long, value_name = "PERCENT", value_parser = values::percent, default_value = "1%")]
    error: f64,

    /// Time for all paths; what is undecided then stays so
    #[arg(long, value_name = "TIME", value_parser = values::time, default_value = "10min")]
    within: Duration,

    /// Time after which a run is ended; its goodput is that until then [default: such that the
    /// pairs of a certain answer fit in --within, at least 3 s]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    timeout: Option<Duration>,

    /// What is compared
    #[arg(long, value_name = "WHAT", value_enum, default_value = "goodput")]
    measure: Measure,

    /// Setting of both namespaces, as in net.ipv4.tcp_ecn=1. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    sysctl: Vec<String>,

    /// Root of the order of runs and of the paths' random streams [default: drawn anew, and printed]
    #[arg(long, value_name = "N", value_parser = values::seed)]
    seed: Option<u64>,

    /// Print JSON, with every run
    #[arg(long)]
    json: bool,
}

pub(crate) use self::linux::run;
