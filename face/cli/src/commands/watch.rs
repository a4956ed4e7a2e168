//! `gigatcp watch`: the TCP connections that run now, and what limits them.
//!
//! `gigatcp-meter` takes the snapshots; this module shows them.
//!
//! | file | content |
//! |---|---|
//! | `live.rs` | periodic snapshots, one connection in depth, the summary at the end |
//! | `table.rs` | a snapshot as a table |
//! | `json.rs` | a snapshot as JSON lines |
//! | `record.rs` | one connection as a record, for the page |
//! | `metrics.rs` | the last snapshot as OpenMetrics, over HTTP |
//! | `recorder.rs` | all snapshots in a directory, for `why --at` |

#[cfg(target_os = "linux")]
mod json;
#[cfg(target_os = "linux")]
mod live;
#[cfg(not(target_os = "linux"))]
#[path = "watch/no_linux.rs"]
mod live;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recorder;
#[cfg(target_os = "linux")]
mod table;

use std::net::SocketAddr;
use std::path::PathBuf;

use gigatcp_units::Duration;

use super::Outcome;
use crate::failure::Failure;
use crate::values;

/// Command-line arguments of `watch`.
#[derive(clap::Args, Debug)]
#[command(
    about = "List the open TCP connections and what limits them",
    long_about = "\
List the TCP connections of this host that carry data, and what limits them: now, and since \
`watch` began. It reads the kernel's counters, captures nothing, sends no traffic and requires \
no privilege. Processes of other users are named only to root.

On a terminal the list is refreshed; otherwise a table is printed for each sample. Ctrl-C, or \
--count, ends with a summary of the largest connections, in the words of `gigatcp why`. It is \
less certain than `why` from a capture: confidence stays below 0.90. Only the sender's counters \
show most causes; for data that this host receives, `watch` shows the window and the reader.

With --record, the samples are kept: at most 64 MB a day and 512 MB in all, in a directory that only \
this user can read. `gigatcp why --at 14:05 DIR` explains from them what was slow then.

A filter selects connections by words that `ss` has: dport, sport, dst, src, state, and, or, \
not; or that tcpdump has: host A, net A/LENGTH, port N. A bare HOST, HOST:PORT, :PORT or address with a prefix length matches either end; pid:N and \
proc:NAME match the process.",
    after_help = "\
Examples:
  gigatcp watch                                  all connections, refreshed
  gigatcp watch :443 or dst 10.0.0.0/8           some of them
  gigatcp watch proc:iperf3 --interval '200 ms'  of a program, five times a second
  gigatcp watch --connection 51234               one of them every 10 ms, with all evidence
  gigatcp watch --connection 51234 --report one.html
                                                 and its page when the watch ends
  gigatcp watch --count 60 > connections.txt     a table each second for a minute
  gigatcp watch --json-lines | jq .              as JSON, a line for each connection and look
  gigatcp watch --open-metrics 127.0.0.1:9464    for Prometheus, at /metrics
  gigatcp watch --record DIR                     a flight recorder, for `why --at 14:05 DIR`"
)]
pub(crate) struct Arguments {
    /// Filter: addresses, words of ss, pid:N, proc:NAME [default: all]
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,

    /// Time between two samples [default: 1 s; 10 ms with --connection]
    #[arg(long, value_name = "TIME", value_parser = values::interval)]
    interval: Option<Duration>,

    /// End after N samples
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    /// Watch one connection in depth, by its ID in the list
    #[arg(long, value_name = "ID")]
    connection: Option<u32>,

    /// Write the report page of that connection when the watch ends
    #[arg(long, value_name = "FILE", requires = "connection")]
    report: Option<PathBuf>,

    /// Print each sample as JSON, a line for each connection
    #[arg(long)]
    json_lines: bool,

    /// Serve the last sample in the OpenMetrics format at this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    open_metrics: Option<SocketAddr>,

    /// Record the samples in this directory, for `gigatcp why --at`
    #[arg(long, value_name = "DIR", conflicts_with = "connection")]
    record: Option<PathBuf>,
}

/// Watches until Ctrl-C.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    live::run(arguments)
}
