//! `gigatcp doctor`: finds settings of a host that limit TCP over a path.
//!
//! The rules are in `gigatcp-doctor`; the facts they read come from `host` in `gigatcp-meter`. This
//! module completes the path from what the kernel remembers, and prints the report. With `--verify`
//! it adds a test with the peer. Nothing is changed without `--apply`.

mod apply;
mod json;
mod stored;
mod test;
mod view;

#[cfg(not(target_os = "linux"))]
#[path = "doctor/no_host.rs"]
mod host;
#[cfg(target_os = "linux")]
mod host;

use std::path::PathBuf;

use gigatcp_doctor::{Direction, HostFacts, Path, examine, law};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use serde_json::json;

use self::test::Test;
use super::Outcome;
use crate::failure::Failure;
use crate::{output, values};

/// Command-line arguments of `doctor`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Find settings of this host that limit TCP over a path, and their fixes",
    long_about = "\
Find settings of this host that limit TCP over a path, and their fixes.

Reads sysctls, route metrics, queueing disciplines, the network card, interrupts, CPUs and \
limits of the control group, and calculates what each allows on the path. Nothing is changed, \
and nothing is sent except the lookup of HOST. Each finding has its ceiling, the setting that \
overrides another, the command that changes it and, with -v, the one that restores it. \
`gigatcp explain ID` describes a rule.

With --verify a test with a server at HOST (`gigatcp server`, or a stock `iperf3 -s`) comes \
first: the report has its rate next to the rate that each rule calculated. --apply then runs the \
commands of findings that always limit and can be undone, and tests again.

Exit status: 0 nothing found (with --apply: nothing left); 1 something found; 2 invalid usage or \
facts, or no test.",
    after_help = "\
Examples:
  gigatcp doctor server.example --rtt 80ms --rate 10G
                                       what limits connections to and from this host
  gigatcp doctor --rtt 80ms --rate 1G --loss 1e-5 --direction send
                                       which congestion control, at that loss
  gigatcp doctor server.example --rate 1G --verify --save-test before.json
                                       what limits, and what a test reaches ...
  gigatcp doctor server.example --rate 1G --verify --against before.json
                                       ... and after you have changed something
  gigatcp doctor --save facts.json     store what was read, here or elsewhere ...
  gigatcp doctor --facts facts.json --rtt 20ms
                                       ... and examine it for another path"
)]
pub(crate) struct Arguments {
    /// The other host: its route decides interface and metrics [default: the default route]
    #[arg(value_name = "HOST", conflicts_with = "facts")]
    host: Option<String>,

    /// RTT of the path, as in 80ms [default: from the kernel's metrics of HOST, else 80 ms]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    rtt: Option<Duration>,

    /// Rate that one connection should reach, as in 10G [default: the speed of the link, else
    /// 10 Gbit/s]
    #[arg(long, value_parser = values::rate, allow_hyphen_values = true)]
    rate: Option<Rate>,

    /// Probability that the path loses a packet without congestion, as in 1e-5
    #[arg(long, value_name = "P", value_parser = values::probability, allow_hyphen_values = true)]
    loss: Option<Probability>,

    /// Whether this host sends or receives
    #[arg(long, value_enum, default_value_t = Side::Both)]
    direction: Side,

    /// Read facts from a file of --save instead of from this host
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,

    /// Store the facts that were read
    #[arg(long, value_name = "FILE", conflicts_with = "facts")]
    save: Option<PathBuf>,

    /// Test with HOST first, and show its rate next to the calculated ones
    #[arg(long, requires = "host", conflicts_with = "facts")]
    verify: bool,

    /// Port of the server at HOST
    #[arg(long, value_name = "PORT", default_value_t = PORT, requires = "verify")]
    port: u16,

    /// Duration of a test in seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5, requires = "verify",
        value_parser = clap::value_parser!(u32).range(2..=3600))]
    time: u32,

    /// Store the result of the test
    #[arg(long, value_name = "FILE", requires = "verify")]
    save_test: Option<PathBuf>,

    /// Compare with a test of --save-test
    #[arg(long, value_name = "FILE", requires = "verify")]
    against: Option<PathBuf>,

    /// Run the commands of findings that always limit and can be undone, and test again; requires
    /// root
    #[arg(long, requires = "verify")]
    apply: bool,

    /// Show every finding in full, and the commands that undo what is changed
    #[arg(short, long)]
    verbose: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Port of iperf3's protocol.
const PORT: u16 = gigatcp_protocol::iperf3::PORT;

/// Values of `--direction`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Side {
    Send,
    Receive,
    Both,
}

impl From<Side> for Direction {
    fn from(side: Side) -> Self {
        match side {
            Side::Send => Self::Send,
            Side::Receive => Self::Receive,
            Side::Both => Self::Both,
        }
    }
}

/// A quantity of the path and its source.
#[derive(Clone, Copy)]
struct Known<T> {
    value: T,
    source: Source,
}

/// Source of a quantity of the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Given,
    Measured,
    Remembered,
    LinkSpeed,
    Assumed,
}

impl Source {
    const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Measured => "measured",
            Self::Remembered => "remembered",
            Self::LinkSpeed => "link speed",
            Self::Assumed => "assumed",
        }
    }
}

/// The path examined, and the sources of its quantities.
struct Question {
    path: Path,
    rtt: Source,
    rate: Source,
}

/// Examines the host and prints what limits it.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let old = arguments.against.as_deref().map(test::read).transpose()?;
    let before = tests(arguments)?;
    if let Some(file) = &arguments.save_test {
        test::write(file, arguments.host.as_deref().unwrap_or_default(), &before)?;
    }
    let facts = match &arguments.facts {
        Some(file) => stored::read(file)?,
        None => host::read(arguments.host.as_deref())?,
    };
    if let Some(file) = &arguments.save {
        stored::write(file, &facts)?;
    }
    let question = question(arguments, &facts, &before);
    let report = examine(&facts, &question.path);
    let mut document = json::document(&facts, &question, &report, &before);
    document["before"] = json!(old);
    if !arguments.json {
        let mut text = view::text(&facts, &question, &report, &before, arguments.verbose);
        if let Some(old) = &old {
            text = format!("{text}\n\n{}", test::change(old, &before));
        }
        output::print(&text)?;
    }
    let mut is_good = report.findings.is_empty();
    if arguments.apply {
        let applied = apply::apply(&report);
        if !arguments.json {
            // Printed first, so that the undo commands are there even if the test is interrupted.
            output::print(&format!("\n{}", apply::text(&applied)))?;
        }
        let after = tests(arguments)?;
        let left = examine(&host::read(arguments.host.as_deref())?, &question.path);
        is_good = left.advice(&question.path).is_none();
        if !arguments.json {
            output::print(&format!("\n{}", test::change(&before, &after)))?;
        }
        document["applied"] = json!(applied);
        document["after"] = json!(after);
    }
    if arguments.json {
        output::print_json(&document)?;
    }
    Ok(match is_good {
        true => Outcome::Done,
        false => Outcome::Missed,
    })
}

/// Runs the tests for `--verify`; returns none without it.
fn tests(arguments: &Arguments) -> Result<Vec<Test>, Failure> {
    match &arguments.host {
        Some(host) if arguments.verify => host::test(
            host,
            arguments.port,
            arguments.time,
            arguments.direction.into(),
        ),
        _ => Ok(Vec::new()),
    }
}

fn question(arguments: &Arguments, facts: &HostFacts, tests: &[Test]) -> Question {
    let rtt = rtt(arguments, facts, tests);
    let rate = rate(arguments, facts);
    Question {
        path: Path {
            rtt: rtt.value,
            rate: rate.value,
            loss: arguments.loss,
            direction: arguments.direction.into(),
            mss: mss(facts),
        },
        rtt: rtt.source,
        rate: rate.source,
    }
}

/// Returns the RTT and its source. It is as given, measured by a test, remembered by the kernel for
/// the peer, or assumed.
fn rtt(arguments: &Arguments, facts: &HostFacts, tests: &[Test]) -> Known<Duration> {
    const ASSUMED: Duration = Duration::from_millis(80);
    let remembered = facts.peer.as_ref().and_then(|peer| peer.rtt_us);
    let (value, source) = match (arguments.rtt, test::min_rtt(tests), remembered) {
        (Some(rtt), ..) => (rtt, Source::Given),
        (None, Some(rtt), _) => (rtt, Source::Measured),
        (None, None, Some(micros)) => (
            Duration::from_nanos(micros.saturating_mul(1000)),
            Source::Remembered,
        ),
        (None, None, None) => (ASSUMED, Source::Assumed),
    };
    Known { value, source }
}

/// Returns the rate: as given, the speed of the link, or assumed.
fn rate(arguments: &Arguments, facts: &HostFacts) -> Known<Rate> {
    const ASSUMED: Rate = Rate::from_bps(10_000_000_000);
    let speed = facts.interface.as_ref().and_then(|card| card.speed_mbit);
    let (value, source) = match (arguments.rate, speed) {
        (Some(rate), _) => (rate, Source::Given),
        (None, Some(mbit)) => (
            Rate::from_bps(mbit.saturating_mul(1_000_000)),
            Source::LinkSpeed,
        ),
        (None, None) => (ASSUMED, Source::Assumed),
    };
    Known { value, source }
}

/// Returns the payload of a segment with timestamps at the smallest known MTU.
fn mss(facts: &HostFacts) -> Bytes {
    const ETHERNET: u64 = 1500;
    let route = facts.route.as_ref();
    let card = facts.interface.as_ref().and_then(|card| card.mtu_bytes);
    let metric = facts.metrics().mtu_bytes;
    let learned = route.and_then(|route| route.path_mtu_bytes);
    let mtu = card.into_iter().chain(metric).chain(learned).min();
    law::mss_of(mtu.unwrap_or(ETHERNET))
}
