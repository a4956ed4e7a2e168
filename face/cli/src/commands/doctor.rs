//! `gigatcp doctor`: finds settings of a host that limit TCP over a path.
//!
//! The rules are in `gigatcp_meter::doctor`; the facts they read come from `host` in `gigatcp-meter`. This
//! module completes the path from what the kernel remembers, and prints the report.
//!
//! | file | what |
//! |---|---|
//! | `host.rs` | facts of this host, and tests from it |
//! | `stored.rs` | facts in a file |
//! | `test.rs` | results of tests, stored and compared |
//! | `observed.rs` | a transfer, and the changes that are predicted to help it |
//! | `trial.rs` | those changes, made one at a time, measured, kept or undone |
//! | `undo.rs` | commands that change this host, and the file that undoes them |
//! | `view.rs`, `json.rs` | the report |

mod json;
mod observed;
mod stored;
mod test;
mod trial;
mod undo;
mod view;

#[cfg(not(target_os = "linux"))]
#[path = "doctor/no_host.rs"]
mod host;
#[cfg(target_os = "linux")]
mod host;

use std::path::PathBuf;

use gigatcp_meter::doctor::{Direction, HostFacts, Path, examine, law};
use gigatcp_run::whatif::FixPlan;
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use serde_json::{Value, json};

use self::observed::Observed;
use self::test::Test;
use self::undo::Changes;
use super::Outcome;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{output, values};

/// Command-line arguments of `doctor`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Find settings of this host that limit TCP over a path, and their fixes",
    long_about = "\
Find settings of this host that limit TCP over a path, and their fixes.

Reads sysctls, route metrics, queueing disciplines, the network card, interrupts, CPUs and \
limits of the control group, and calculates what each allows on the path. Nothing is changed, \
and nothing is sent except the lookup of HOST and, without --rtt, five echo requests to it. Each finding has its ceiling, the setting that \
overrides another, the command that changes it and, with -v, the one that restores it. \
`gigatcp explain ID` describes a rule.

With --verify a test with a server at HOST (`gigatcp server`, or a stock `iperf3 -s`) comes \
first, with --from a capture or a report is read: the answer is then which changes would help that \
transfer, each with its predicted goodput. Changes on the other host and in the program are \
printed as well.

--try makes the changes of this host one at a time, after a question for each, tests again, keeps \
what helps and undoes what does not. It changes nothing that it cannot undo. Before each change it \
writes a file for --undo; Ctrl-C, SIGTERM, SIGHUP and SIGQUIT undo everything.

Exit status: 0 nothing found (with --verify, --from and --try: nothing left that would help); 1 \
something found; 2 invalid usage or facts, or no test.",
    after_help = "\
Examples:
  gigatcp doctor server.example --rtt 80ms --rate 10G
                                       what limits connections to and from this host
  gigatcp doctor --rtt 80ms --rate 1G --loss 1e-5 --direction send
                                       which congestion control, at that loss
  gigatcp doctor server.example --verify
                                       which change would help, by a test
  gigatcp doctor --from transfer.pcap  ... by a capture at this host
  sudo gigatcp doctor server.example --try
                                       make these changes, and measure each
  sudo gigatcp doctor --undo gigatcp-undo.json
                                       undo what --try kept
  gigatcp doctor --save facts.json     store what was read, here or elsewhere ...
  gigatcp doctor --facts facts.json --rtt 20ms
                                       ... and examine it for another path"
)]
pub(crate) struct Arguments {
    /// The other host: its route decides interface and metrics [default: the default route]
    #[arg(value_name = "HOST", conflicts_with = "facts")]
    host: Option<String>,

    /// RTT of the path, as in 80ms [default: by echo requests to HOST, else from the kernel's
    /// metrics of it, else 80 ms]
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

    /// Test with HOST first, and predict what changes would bring
    #[arg(long, requires = "host", conflicts_with = "facts")]
    verify: bool,

    /// Predict what changes would bring to the transfer of a capture or report in place of a test
    #[arg(long, value_name = "FILE", conflicts_with_all = ["verify", "facts"])]
    from: Option<PathBuf>,

    /// Port of the server at HOST
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,

    /// Duration of a test in seconds
    #[arg(short, long, value_name = "SECONDS", default_value_t = 5,
        value_parser = clap::value_parser!(u32).range(2..=3600))]
    time: u32,

    /// Test with HOST, make the changes that would help one at a time, and keep those that do;
    /// requires root or CAP_NET_ADMIN
    #[arg(long = "try", group = "changes", requires = "host", conflicts_with_all = ["facts", "from"])]
    tries: bool,

    /// Agree to every change of --try, or of --undo though something else changed a setting since
    #[arg(long, requires = "changes")]
    yes: bool,

    /// Where --try writes how to undo its changes; no file that exists is replaced
    #[arg(long, value_name = "FILE", requires = "tries", default_value = UNDO)]
    undo_file: PathBuf,

    /// Undo the changes of --try
    #[arg(long, group = "changes", value_name = "FILE", conflicts_with_all = ["host", "facts", "from", "verify", "tries"])]
    undo: Option<PathBuf>,

    /// Show every finding in full, and the commands that undo what is changed
    #[arg(short, long)]
    verbose: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Port of iperf3's protocol.
const PORT: u16 = gigatcp_protocol::iperf3::PORT;

/// File of `--undo-file` by default.
const UNDO: &str = "gigatcp-undo.json";

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
    if arguments.tries {
        trial::check(arguments)?;
    }
    let is_read_only = arguments.tries && host::are_settings_read_only();
    if is_read_only {
        output::warn(
            "/proc/sys is read-only here, as in a container: nothing is changed; \
             type the commands where it is not",
        );
    }
    let tries = arguments.tries && !is_read_only;
    let changes = tries || arguments.undo.is_some();
    let _alone = changes.then(host::claim_changes).transpose()?;
    if let Some(file) = &arguments.undo {
        // A signal does not stop it halfway.
        Interrupt::listen_until_undone()?;
        return undo::restore(file, arguments.yes, arguments.json);
    }
    let interrupt = Interrupt::listen_until_undone()?;
    let quiet = quiet_rtt(arguments);
    let observed = observe(arguments, &interrupt)?;
    let tests: Vec<Test> = observed
        .iter()
        .filter_map(|observed| observed.test.clone())
        .collect();
    let peer = arguments.host.clone().or_else(|| observed.first()?.peer());
    let facts = match &arguments.facts {
        Some(file) => stored::read(file)?,
        None => host::read(peer.as_deref())?,
    };
    if let Some(file) = &arguments.save {
        stored::write(file, &facts)?;
    }
    let question = question(
        arguments,
        &facts,
        quiet.into_iter().chain(test::min_rtt(&tests)).min(),
    );
    let report = examine(&facts, &question.path);
    let plans: Vec<Planned> = observed
        .iter()
        .map(|observed| observed.plan(&facts, arguments.rate))
        .collect();
    let mut document = json::document(&facts, &question, &report, &tests);
    let transfers = observed.iter().zip(&plans);
    document["transfers"] = transfers
        .clone()
        .map(|(observed, plan)| observed::json(observed, plan))
        .collect();
    if !arguments.json {
        let mut text: String = transfers
            .map(|(observed, plan)| observed::text(observed, plan))
            .collect();
        if observed.is_empty() || arguments.verbose {
            text.push_str(&view::text(&facts, &question, &report, arguments.verbose));
        }
        output::print(&text)?;
    }
    let mut is_good = match plans.is_empty() {
        true => report.findings.is_empty(),
        false => !plans.iter().any(has_worth),
    };
    if tries && interrupt.signal().is_none() {
        is_good = try_all(arguments, observed, &facts, &interrupt, &mut document)?;
    }
    if arguments.json {
        output::print_json(&document).inspect_err(|_| warn_of_kept(&document))?;
    }
    Ok(Outcome::of(&interrupt, !is_good))
}

/// Says on stderr where changes are that were kept, if the report could not be printed.
fn warn_of_kept(document: &Value) {
    if let Some(place) = document["undo_file"].as_str() {
        output::warn(&format!(
            "changes were kept: `gigatcp doctor --undo {place}`"
        ));
    }
}

/// Changes that would help, or why that is unknown.
type Planned = Result<FixPlan, String>;

/// Whether one of these changes is worth a try.
fn has_worth(plan: &Planned) -> bool {
    plan.as_ref()
        .is_ok_and(|plan| plan.fixes.iter().any(|fix| fix.is_worth))
}

/// Tries the changes in each direction that was tested. Returns whether none is left that would help.
/// After a signal everything is undone, after a failure what was not kept.
fn try_all(
    arguments: &Arguments,
    observed: Vec<Observed>,
    facts: &HostFacts,
    interrupt: &Interrupt,
    document: &mut Value,
) -> Result<bool, Failure> {
    let mut changes = Changes::begin(&arguments.undo_file, facts)?;
    let tried = try_each(arguments, observed, &mut changes, interrupt, document);
    if interrupt.signal().is_some() {
        if let Err(failure) = &tried {
            failure.warn();
        }
        trial::undo_all(&mut changes)?;
        return Ok(false);
    }
    tried.map_err(|failure| {
        if let Err(failure) = changes.undo_unkept() {
            failure.say();
        }
        changes.holding(failure)
    })
}

fn try_each(
    arguments: &Arguments,
    observed: Vec<Observed>,
    changes: &mut Changes,
    interrupt: &Interrupt,
    document: &mut Value,
) -> Result<bool, Failure> {
    let place = &arguments.undo_file;
    let mut is_good = true;
    let mut trials = Vec::new();
    for observed in observed {
        let before = observed.goodput();
        let trial = trial::run(arguments, observed, changes, interrupt)?;
        if interrupt.signal().is_some() {
            break;
        }
        is_good &= !trial.is_left;
        if !arguments.json {
            let undo_file = place.display().to_string();
            let summary = trial::summary(before, &trial, &undo_file, changes.count());
            if output::print(&summary).is_err() {
                output::warn(&summary);
            }
        }
        trials.push(json!({
            "direction": trial.last.direction.map(Direction::name),
            "before_bps": before,
            "after_bps": trial.last.goodput(),
            "attempts": trial.attempts,
        }));
    }
    document["tried"] = json!(trials);
    document["undo_file"] = json!((changes.count() > 0).then_some(place));
    Ok(is_good)
}

/// Tests with the host in each direction, or reads a file; nothing without `--verify`, `--try` and
/// `--from`.
fn observe(arguments: &Arguments, interrupt: &Interrupt) -> Result<Vec<Observed>, Failure> {
    if let Some(file) = &arguments.from {
        return Ok(vec![Observed::read(file, arguments.direction.into())?]);
    }
    if !arguments.verify && !arguments.tries {
        return Ok(Vec::new());
    }
    let wanted = Direction::from(arguments.direction);
    let directions = [Direction::Send, Direction::Receive].into_iter();
    directions
        .filter(|direction| wanted.overlaps(*direction))
        .map(|direction| host::test(arguments, direction, interrupt))
        .collect()
}

fn question(arguments: &Arguments, facts: &HostFacts, measured: Option<Duration>) -> Question {
    let rtt = rtt(arguments, facts, measured);
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

/// RTT of the path before a test loads it. `None`: it is given, no host is named, or it is unknown.
fn quiet_rtt(arguments: &Arguments) -> Option<Duration> {
    let host = arguments.host.as_deref();
    host::quiet_rtt(host.filter(|_| arguments.rtt.is_none())?)
}

/// RTT and its source. It is as given, measured without load, remembered by the kernel for the peer
/// (with the queues of earlier connections), or assumed.
fn rtt(arguments: &Arguments, facts: &HostFacts, measured: Option<Duration>) -> Known<Duration> {
    const ASSUMED: Duration = Duration::from_millis(80);
    let remembered = facts.peer.as_ref().and_then(|peer| peer.rtt_us);
    let (value, source) = match (arguments.rtt, measured, remembered) {
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

/// Rate: as given, the speed of the link, or assumed.
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

/// Payload of a segment with timestamps at the smallest known MTU.
fn mss(facts: &HostFacts) -> Bytes {
    const ETHERNET: u64 = 1500;
    let route = facts.route.as_ref();
    let card = facts.interface.as_ref().and_then(|card| card.mtu_bytes);
    let metric = facts.metrics().mtu_bytes;
    let learned = route.and_then(|route| route.path_mtu_bytes);
    let mtu = card.into_iter().chain(metric).chain(learned).min();
    law::mss_of(mtu.unwrap_or(ETHERNET))
}
