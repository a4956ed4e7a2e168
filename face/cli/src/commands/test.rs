//! `gigatcp test`: measures the throughput between two hosts.
//!
//! The tester is `gigatcp-meter`; this module turns a command line into a request and formats
//! the result.
//!
//! | file | content |
//! |---|---|
//! | `request.rs` | from options to a request |
//! | `settings.rs` | rare settings, as `KEY=VALUE` |
//! | `live.rs` | output while a test runs |
//! | `native.rs` | the answer |
//! | `hosts.rs` | CPU and drops of both hosts |
//! | `latency.rs` | pings before and during a test |
//! | `ceiling.rs` | whether the tester itself is the limit |
//! | `campaign.rs` | repeated tests: a mean with its interval |
//! | `sums.rs` | sums over streams, for several formats |
//! | `iperf3_text.rs`, `iperf3_json.rs` | iperf3's text, and its `-J` |
//! | `record.rs` | a result as the record of a run |
//! | `nuttcp_text.rs` | nuttcp's text |
//! | `stack.rs` | the engine's device, and hints for its errors |
//! | `stamp.rs` | one-way delays against a reflector |
//! | `transactions.rs` | requests and responses in place of streams |
//! | `whatif.rs` | predictions for other settings |
//! | `csv.rs` | a line for each stream and interval |

mod campaign;
mod ceiling;
mod csv;
mod hosts;
pub(super) mod iperf3_json;
pub(super) mod iperf3_text;
mod latency;
mod live;
mod native;
mod nuttcp_text;
mod record;
pub(super) mod request;
mod settings;
#[cfg(target_os = "linux")]
mod stack;
#[cfg(not(target_os = "linux"))]
#[path = "test/no_stack.rs"]
mod stack;
mod stamp;
mod sums;
mod transactions;
pub(super) mod whatif;

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use gigatcp_meter::tester::{self, Outcome as Measured, TestError};
use gigatcp_units::{Bytes, Duration};

use self::settings::Settings;
pub(crate) use self::settings::setting;
use super::Outcome;
use crate::atomic_file::AtomicFile;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{output, values};

/// Output format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Format {
    /// Rate, what limited it, and the fix
    Native,
    /// iperf3's text
    Iperf3,
    /// nuttcp's text
    Nuttcp,
    /// Everything, as one JSON value
    Json,
    /// One JSON value per line: each interval, then the end
    JsonLines,
    /// A line for each stream and interval
    Csv,
    /// iperf3's JSON
    #[value(skip)]
    Iperf3Json,
    /// iperf3's JSON, an event on each line
    #[value(skip)]
    Iperf3JsonStream,
}

/// Protocol of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Protocol {
    /// That of `gigatcp server` and `iperf3 -s`
    Iperf3,
    /// That of `gigatcp server` and `nuttcp -S`
    Nuttcp,
}

/// What the test exchanges with the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Mode {
    /// Data, as fast as possible or at a rate
    Stream,
    /// Requests and responses, many on each of -P connections (neper's)
    #[value(name = "tcp_rr")]
    TcpRr,
    /// Connect, request and response, up to -P connections at a time (neper's)
    #[value(name = "tcp_crr")]
    TcpCrr,
    /// Requests and responses over UDP, on each of -P flows (neper's)
    #[value(name = "udp_rr")]
    UdpRr,
    /// Test packets of STAMP: one-way delays against any reflector (RFC 8762, or TWAMP Light)
    Stamp,
}

/// The TCP of the streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum StackChoice {
    /// The kernel's, through sockets
    Kernel,
    /// The engine of gigatcp, on a TUN device
    Engine,
}

/// Examples at the end of the help.
const EXAMPLES: &str = "\
Examples:
  gigatcp test dtn2.example                      10 s of TCP to a server
  gigatcp test dtn2.example -R -P 4              from there to here, four streams
  gigatcp test dtn2.example -C bbr -w 64M        congestion control and socket buffers
  gigatcp test dtn2.example -u -b 1G             UDP at a rate: loss, reordering, jitter
  gigatcp test dtn2.example -n 10G               an amount instead of a time
  gigatcp test dtn2.example --until 2%           repeated until the mean is known within 2 %
  sudo gigatcp test dtn2.example --whatif flow.congestion_control=bbr3
                                                 and what BBR would have brought
  gigatcp test dtn2.example --rrul -P auto       latency under load, and as RPM
  gigatcp test dtn2.example --protocol nuttcp    to a stock `nuttcp -S`
  gigatcp test dtn2.example --mode tcp_rr -P 5000
                                                 requests and responses on 5000 connections
  gigatcp test --ndt7 wss://ndt.example -R       from a server of M-Lab's ndt7
  gigatcp test dtn2.example -J | jq .end         iperf3's JSON";

/// Command-line arguments of `test`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Measure the throughput to a host and what limited it",
    disable_version_flag = true,
    long_about = "\
Measure the throughput to a host and what limited it. The host runs `gigatcp server` or a stock \
`iperf3 -s` (3.1 and later). Options have iperf3's names and defaults: TCP, one stream, 10 s, \
from this host to the other.

With --protocol nuttcp the host runs `gigatcp server` or a stock `nuttcp -S`. A stock server \
reports only its output lines.

With --ndt7 HOST is the URL of a server of M-Lab's ndt7, ws:// or wss://, with its path and query \
if it needs them. Its measurements are the counters of the other end.

The rate is the goodput of the receiving application. Socket options are read back; an option \
that was overridden is named with the cause.

With -J the output is iperf3's JSON, with --format iperf3 its text.

With --stack engine the streams of TCP are those of gigatcp's own engine, on a TUN device with \
an address of 10.85.0.0/16, which is removed at the end. This needs CAP_NET_ADMIN (`sudo`, or \
once `sudo setcap cap_net_admin+ep $(command -v gigatcp)`). A server on this host is reachable \
directly. For another host this host has to forward and to translate the engine's address:

  sudo sysctl -w net.ipv4.ip_forward=1
  sudo iptables -t nat -A POSTROUTING -s 10.85.0.0/16 -j MASQUERADE

(Without the second command the server needs a route to 10.85.0.0/16 over this host.) The \
control connection is the kernel's.",
    after_help = EXAMPLES,
    after_long_help = format!("{}\n{EXAMPLES}", settings::help())
)]
pub(crate) struct Arguments {
    /// Host that runs a server: name or address; with --ndt7 a URL
    #[arg(value_name = "HOST")]
    host: String,

    /// Rare settings; `--help` lists them
    #[arg(value_name = "KEY=VALUE")]
    settings: Vec<String>,

    /// Protocol of the server
    #[arg(long, value_name = "PROTOCOL", value_enum, default_value_t = Protocol::Iperf3)]
    protocol: Protocol,

    /// Test with a server of M-Lab's ndt7: HOST is its URL, as in wss://ndt.example
    #[arg(long, conflicts_with_all = ["protocol", "port", "json", "json_stream", "whatif"])]
    ndt7: bool,

    /// What is exchanged; tcp_rr, tcp_crr and udp_rr require a `gigatcp server`
    #[arg(long, value_name = "MODE", value_enum, default_value_t = Mode::Stream)]
    mode: Mode,

    /// Port of the server [default: 5201; with --protocol nuttcp 5000, with --mode stamp 862]
    #[arg(short, long, value_name = "PORT", value_parser = values::port)]
    port: Option<u16>,

    /// Duration; 0: until Ctrl-C
    #[arg(short, long, value_name = "SECONDS", default_value_t = 10, value_parser = values::seconds, conflicts_with_all = ["bytes", "blockcount"])]
    time: u32,

    /// Bytes to transfer instead of a duration
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = request::amount)]
    bytes: Option<Bytes>,

    /// Blocks, or transactions, instead of a duration
    #[arg(short = 'k', long, value_name = "N", conflicts_with = "bytes")]
    blockcount: Option<u64>,

    /// Rate of each stream [default: unlimited for TCP, 1 Mbit/s for UDP; 0: unlimited]
    #[arg(short = 'b', long, visible_alias = "bandwidth", value_name = "RATE", value_parser = request::bitrate)]
    bitrate: Option<request::Bitrate>,

    /// UDP instead of TCP
    #[arg(short, long)]
    udp: bool,

    /// Transfer from the server to this host
    #[arg(short = 'R', long, conflicts_with = "bidir")]
    reverse: bool,

    /// Transfer in both directions, on separate connections
    #[arg(long)]
    bidir: bool,

    /// Streams each way, or flows of --mode; auto: added until the rate is stable
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = request::streams)]
    parallel: request::Streams,

    /// Block size: bytes of each write, datagram or request
    #[arg(short, long, value_name = "SIZE", value_parser = request::amount)]
    length: Option<Bytes>,

    /// Socket buffers of both ends; disables their autotuning
    #[arg(short, long, value_name = "SIZE", value_parser = request::amount)]
    window: Option<Bytes>,

    /// Maximum segment size
    #[arg(short = 'M', long, value_name = "SIZE", value_parser = request::amount)]
    set_mss: Option<Bytes>,

    /// TCP of the streams at this end
    #[arg(long, value_name = "STACK", value_enum, default_value_t = StackChoice::Kernel)]
    stack: StackChoice,

    /// Multipath TCP (RFC 8684), if the server accepts it (`gigatcp server --mptcp`)
    #[arg(short = 'm', long, conflicts_with = "udp")]
    mptcp: bool,

    /// Congestion control, by the kernel's name
    #[arg(short = 'C', long, value_name = "NAME")]
    congestion: Option<String>,

    /// Turn Nagle's algorithm off
    #[arg(short = 'N', long)]
    no_delay: bool,

    /// Type of service, the whole byte (0 to 255)
    #[arg(short = 'S', long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=255))]
    tos: Option<u32>,

    /// Leave the first seconds out of the totals
    #[arg(short = 'O', long, value_name = "SECONDS", default_value_t = 0, value_parser = values::seconds)]
    omit: u32,

    /// Time between two reports; 0: none
    #[arg(short, long, value_name = "TIME", default_value = "1 s", value_parser = request::interval)]
    interval: Duration,

    /// Send from a file with sendfile(2), without copying
    #[arg(short = 'Z', long)]
    zerocopy: bool,

    /// CPU of the streams at this end, and at the server, as in 2 or 2,5
    #[arg(short = 'A', long, value_name = "N[,M]", value_parser = request::affinity)]
    affinity: Option<request::Affinity>,

    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "version6")]
    version4: bool,

    /// IPv6 only
    #[arg(short = '6', long)]
    version6: bool,

    /// Address to send from
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,

    /// Ping the server before and during the test: latency under load
    #[arg(long)]
    latency: bool,

    /// Measure neither what the path carries (packet trains to a `gigatcp server`, 0.3 s) nor the
    /// loopback ceiling of this host (0.6 s once)
    #[arg(long)]
    no_probe: bool,

    /// Streams both ways (4 each, or -P), with pings of ICMP, UDP and TCP before and during: flent's
    /// rrul, all best effort
    #[arg(long, conflicts_with_all = ["udp", "reverse", "bidir"])]
    rrul: bool,

    /// Exclude slow start from the rate; the counters show its end
    #[arg(long, conflicts_with = "udp")]
    steady: bool,

    /// Repeat until the 95 % confidence interval of the mean rate is within this share of it
    #[arg(long, value_name = "PERCENT", value_parser = values::percent)]
    until: Option<f64>,

    /// Number of runs; with --until, the maximum [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000))]
    repeat: Option<u32>,

    /// Predict the goodput with another setting, as `gigatcp whatif` does. Headers of the
    /// connection are captured, which needs CAP_NET_RAW. May be repeated
    #[arg(long, value_name = "KEY=VALUE", conflicts_with_all = ["udp", "reverse", "bidir", "rrul", "until", "repeat", "json", "json_stream"])]
    whatif: Vec<String>,

    /// Write the report page
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Store the result (run.json) for `gigatcp diff`; of repeated runs each, in this directory
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Native)]
    format: Format,

    /// iperf3's JSON
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,

    /// iperf3's JSON, an event on each line
    #[arg(long, conflicts_with_all = ["format", "json"])]
    json_stream: bool,
}

impl Arguments {
    /// Output format, as named by an option of its own or by `--format`.
    const fn format(&self) -> Format {
        match (self.json, self.json_stream) {
            (true, _) => Format::Iperf3Json,
            (_, true) => Format::Iperf3JsonStream,
            _ => self.format,
        }
    }
}

/// Runs the test.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let settings = Settings::read(&arguments.settings)?;
    let mut request = request::of(arguments, &settings)?;
    arguments
        .report
        .iter()
        .try_for_each(|place| AtomicFile::check_new(place))?;
    if arguments.mode == Mode::Stamp {
        return stamp::run(arguments, &settings, &request);
    }
    if let Some(mode) = request::transactions(arguments) {
        return transactions::run(arguments, &settings, &request, mode);
    }
    stack::open(arguments, &mut request)?;
    if campaign::is_requested(arguments) {
        return campaign::run(arguments, &request);
    }
    let headers = whatif::begin(arguments, &request)?;
    let interrupt = Interrupt::listen()?;
    let stops = || interrupt.signal().is_some();
    let mut live = live::Live::new(arguments, &request);
    let measured = tester::run(&request, &stops, &mut |progress| live.show(progress));
    live.clear();
    let measured = match measured {
        Ok(measured) => measured,
        Err(error) => {
            let failure = request::failure(&request, &error);
            return failed(arguments, &request, &error, failure, &interrupt);
        }
    };
    let ceiling = ceiling::of(arguments, &measured);
    print(arguments, &measured, ceiling)?;
    if let Some(headers) = headers {
        output::print(&whatif::answer(headers, &arguments.whatif))?;
    }
    store(arguments, settings.readings.as_deref(), &measured, ceiling)?;
    Ok(Outcome::of(&interrupt, measured.cut_short.is_some()))
}

/// Writes the requested files.
fn store(
    arguments: &Arguments,
    readings_place: Option<&Path>,
    measured: &Measured,
    ceiling: Option<ceiling::Ceiling>,
) -> Result<(), Failure> {
    if let Some(place) = readings_place {
        let readings = tester::Readings::of(measured).to_json();
        AtomicFile::write(place, readings.to_string().as_bytes())?;
        output::say(&format!("readings: {}", place.display()));
    }
    if arguments.report.is_none() && arguments.save.is_none() {
        return Ok(());
    }
    let record = record::of(measured, measured.started_at, ceiling);
    if let Some(place) = &arguments.report {
        let page = gigatcp_report::Report::new(&record, None).html();
        AtomicFile::write(place, page.as_bytes())?;
        output::say(&format!("report: {}", place.display()));
    }
    if let Some(place) = &arguments.save {
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| Failure::fault(format!("the result cannot be written: {error}")))?;
        AtomicFile::write(place, &text)?;
        output::say(&format!("result: {}", place.display()));
    }
    Ok(())
}

fn print(
    arguments: &Arguments,
    measured: &Measured,
    ceiling: Option<ceiling::Ceiling>,
) -> Result<(), Failure> {
    match arguments.format() {
        Format::Iperf3Json => output::print_json(&iperf3_json::of(measured)),
        Format::Iperf3JsonStream => output::print(&iperf3_json::end_event(measured)),
        Format::Native => output::print(&native::text(measured, arguments.steady, ceiling)),
        Format::Iperf3 => output::print(&iperf3_text::end(measured)),
        Format::Nuttcp => output::print(&nuttcp_text::end(measured)),
        Format::Json => output::print_json(&native::json(measured, ceiling)),
        Format::JsonLines => {
            let end = native::reading_lines(measured) + &native::end_line(measured);
            output::print(&end)
        }
        Format::Csv => output::print(&csv::totals(measured)),
    }
}

/// Reports that no data flowed; as JSON if that is the output format.
fn failed(
    arguments: &Arguments,
    request: &tester::Request,
    error: &TestError,
    failure: Failure,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    if let (TestError::Stopped, Some(signal)) = (error, interrupt.signal()) {
        return Ok(Outcome::Interrupted(signal));
    }
    match arguments.format() {
        Format::Iperf3Json => output::print_json(&iperf3_json::error(request, error))?,
        Format::Iperf3JsonStream => output::print(&iperf3_json::error_event(error))?,
        Format::Json => output::print_json(&native::error(request, error))?,
        Format::JsonLines => output::print(&native::error_line(request, error))?,
        _ => return Err(failure),
    }
    // The hints are for people, who may read only the other stream.
    if matches!(arguments.format(), Format::Json | Format::JsonLines) {
        failure.say();
    }
    Ok(Outcome::Missed)
}
