//! `gigatcp whatif`: predicts the result of other settings for a transfer.
//!
//! `gigatcp-run` predicts; this module reads the evidence and prints the answers.

use std::path::{Path, PathBuf};

use gigatcp_analyze::{Capture, Options, Source, diagnose_pairs};
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap;
use gigatcp_report::why::answer::labeled;
use gigatcp_run::whatif::model::{Estimate, LimitedRate};
use gigatcp_run::whatif::{Certainty, Change, Prediction, Transfer};
use gigatcp_units::Rate;
use gigatcp_units::grammar::human_rate;
use gigatcp_why::find;
use serde_json::{Value, json};

use super::Outcome;
use super::why::reported;
use crate::failure::Failure;
use crate::output;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.whatif/2";

/// Maximum number of changes that `--best` shows.
const MAX_SHOWN: usize = 12;

/// Minimum predicted gain of a change that `--best` recommends.
const MIN_GAIN: f64 = 1.05;

/// Exit status for evidence that has no data.
const NO_DATA: u8 = 1;

/// Command-line arguments of `whatif`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Predict the goodput of a transfer with other settings",
    long_about = "\
Predict the goodput of a transfer with other settings, from a capture at either end, two captures, \
`iperf3 -J`, or the text of `ss -tin`.

The limits of the transfer are listed as `why` finds them: windows and buffers per RTT, pacing, the \
application, the path, the response of the congestion control to losses. A change moves one of them, \
and the lowest limit is the answer. Where the dynamics of the congestion control decide, the engine \
simulates them. The interval covers what the evidence leaves open, and the answer says why it is as \
wide as it is. docs/guide/whatif.md states how often predictions are correct.",
    after_help = "\
Examples:
  gigatcp whatif transfer.pcap --set receiver.buffer='64 MB'
                                       would a larger receive buffer help?
  gigatcp whatif transfer.pcap --set net.ipv4.tcp_rmem='4096 131072 67108864'
                                       the setting that `why` advises
  gigatcp whatif transfer.pcap --set flow.congestion_control=bbr --set sender.initial_window=32
                                       both together, then each alone
  gigatcp whatif transfer.pcap --limits
                                       its limits, the lowest first
  gigatcp whatif transfer.pcap --best  which setting brings most
  gigatcp whatif transfer.pcap --known path.queue='100 packets' --set flow.congestion_control=reno
                                       the queue of the path is known
  gigatcp whatif transfer.pcap --plan > transfer.toml
                                       the model as a plan, for `gigatcp run`"
)]
pub(crate) struct Arguments {
    /// The capture or report; - is standard input. A second capture of the transfer from another
    /// place may follow
    #[arg(value_name = "FILE", required = true, num_args = 1..=2)]
    files: Vec<PathBuf>,

    /// A change to predict, a key of a plan (see `gigatcp list keys`) or a sysctl of Linux. May be
    /// repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Try the levers of a user and rank them: buffers, control, initial window, MTU, flows
    #[arg(long)]
    best: bool,

    /// Print the limits of the transfer, the lowest first; with --set, those after the changes
    #[arg(long)]
    limits: bool,

    /// A known setting of the transfer, in place of what the evidence shows. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    known: Vec<String>,

    /// Number of the connection, as `flows` lists it [default: the one with most data]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connection: Option<u32>,

    /// Print the plan of the transfer and predict nothing
    #[arg(long, conflicts_with_all = ["set", "best", "json", "limits"])]
    plan: bool,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Predicts and prints.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    check_keys(&[&arguments.set[..], &arguments.known[..]].concat())?;
    let name = terminal(&arguments.files[0].display().to_string());
    let index = arguments.connection.map(|number| number as usize - 1);
    let transfer = read(&arguments.files, index)?.map_err(|reason| no_data(&name, &reason))?;
    let model = transfer
        .model(&arguments.known)
        .map_err(|reason| no_data(&name, &reason))?;
    if arguments.plan {
        output::print(&model.plan())?;
        return Ok(Outcome::Done);
    }
    let mut predictions =
        together_and_alone(&transfer, &arguments.set, &arguments.known).map_err(unpredicted)?;
    if arguments.best {
        predictions.extend(transfer.best(&arguments.known).map_err(unpredicted)?);
    }
    let limits = transfer
        .limits(&arguments.set, &arguments.known)
        .map_err(unpredicted)?;
    if arguments.json {
        output::print_json(&document(&transfer, &predictions, &limits))?;
    } else if arguments.limits {
        output::print(&list(&transfer, &limits))?;
    } else if arguments.set.is_empty() && arguments.best {
        output::print(&ranking(&transfer, &predictions))?;
    } else {
        output::print(&text(&transfer, &predictions))?;
    }
    Ok(Outcome::Done)
}

/// Checks that the changes can be read, before the evidence is. Keys that only the engine knows are
/// those of a plan.
fn check_keys(changes: &[String]) -> Result<(), Failure> {
    const PLAN: &[u8] = b"name = \"transfer\"\n\
        path = { rate = \"100 Mbit/s\", rtt = \"20 ms\" }\n\
        flow = { duration = \"1 s\" }\n\
        [[series]]\nname = \"one\"\n";
    let mut others = Vec::new();
    for change in changes {
        if let Change::Other(text) = Change::parse(change).map_err(unpredicted)? {
            others.push(text);
        }
    }
    let plan = gigatcp_plan::parse("the transfer", PLAN, &others);
    plan.map(drop)
        .map_err(|findings| Failure::Plan(Box::new(findings)))
}

/// Reads the transfer from a report, a capture, or two captures. The inner error is the reason why
/// the evidence has no transfer.
pub(super) fn read(
    files: &[PathBuf],
    index: Option<usize>,
) -> Result<Result<Transfer, String>, Failure> {
    if let [file] = files
        && let Some(report) = reported::find(file)?
    {
        let connection = report.connections.get(index.unwrap_or(0));
        return Ok(connection
            .map(Transfer::from)
            .ok_or_else(|| "it has no connection with data".into()));
    }
    let capture = |file: &Path| -> Result<Capture, Failure> {
        let source = Source::named(file).rereadable()?;
        Ok(Capture::read(&source, &Options::default())?)
    };
    let first = capture(&files[0])?;
    let Some(second) = files.get(1) else {
        return Ok(Transfer::within(&first, index));
    };
    let second = capture(second)?;
    let largest = first.connections().largest_first().first().copied();
    let Some(index) = index.or(largest) else {
        return Ok(Err("no connection carried data".into()));
    };
    let pairs = diagnose_pairs([&first, &second], &[index], &Options::default())?;
    Ok(match pairs.into_iter().next() {
        Some(pair) => Transfer::of(&first, index, pair.diagnosis),
        None => Err("the connection is not in both captures".into()),
    })
}

/// Predictions for changes in words. The error is the reason why there is none.
pub(super) fn answer(transfer: &Transfer, changes: &[String]) -> Result<String, String> {
    Ok(text(transfer, &together_and_alone(transfer, changes, &[])?))
}

/// Predicts all changes together, then each alone.
fn together_and_alone(
    transfer: &Transfer,
    changes: &[String],
    known: &[String],
) -> Result<Vec<Prediction>, String> {
    let mut wanted: Vec<&[String]> = Vec::new();
    if !changes.is_empty() {
        wanted.push(changes);
    }
    if changes.len() > 1 {
        wanted.extend(changes.chunks(1));
    }
    wanted
        .into_iter()
        .map(|change| transfer.predict(change, known))
        .collect()
}

fn unpredicted(reason: String) -> Failure {
    Failure::new(reason).effect("nothing was predicted")
}

fn no_data(name: &str, reason: &str) -> Failure {
    Failure::new(format!("{name}: {reason}"))
        .effect("nothing was predicted")
        .hint("`gigatcp why` says what the file shows")
        .status(NO_DATA)
}

fn rate(bps: f64) -> String {
    human_rate(Rate::from_bps(bps.clamp(0.0, 1e15) as u64))
}

/// Name of a cause.
fn cause(id: &str) -> &str {
    find(id).map_or(id, |cause| cause.name)
}

/// A prediction as a sentence.
pub(super) fn stated(one: &Prediction) -> String {
    let [low, high] = one.interval_bps.map(rate);
    let is_open = one.interval_bps[1].is_infinite();
    match one.certainty {
        Certainty::Number => format!("{} ({low} to {high})", rate(one.goodput_bps)),
        Certainty::Range => format!("about {} ({low} to {high})", rate(one.goodput_bps)),
        Certainty::AtLeast if one.has_point() => {
            format!("about {}, at least {low}", rate(one.goodput_bps))
        }
        Certainty::AtLeast => format!("at least {low}"),
        Certainty::Unsure if is_open => format!("unsure, {low} or more"),
        Certainty::Unsure => format!("unsure, {low} to {high}"),
    }
}

/// The answer: the first prediction, the others in lines.
fn text(transfer: &Transfer, predictions: &[Prediction]) -> String {
    let original = human_rate(transfer.diagnosis.throughput);
    let Some(first) = predictions.first() else {
        return format!("Now {original}. Nothing to predict: add --set, --best or --limits.\n");
    };
    let changes = first.changes.join(" and ");
    let mut text = wrap(
        &format!("Now {original}. With {changes}: {}.", stated(first)),
        0,
    );
    text.push_str(&labeled("Limit", &format!("then {}", cause(first.limit))));
    text.push_str(&labeled("Interval", &first.reason));
    text.push_str(&lines(&predictions[1..]));
    text.push_str(&labeled("Details", &transfer.ends));
    text
}

/// The answer to `--best`: the change that brings most, if one surely brings something.
fn ranking(transfer: &Transfer, predictions: &[Prediction]) -> String {
    let helps = |first: &Prediction| first.gain_stated() >= MIN_GAIN;
    let Some(first) = predictions.first().filter(|first| !helps(first)) else {
        return text(transfer, predictions);
    };
    let original = human_rate(transfer.diagnosis.throughput);
    let mut text = format!("Now {original}. None of the settings tried certainly raises it.\n");
    text.push_str(&labeled("Limit", cause(first.limit)));
    text.push_str(&lines(predictions));
    text.push_str(&labeled("Details", &transfer.ends));
    text
}

/// A line for each prediction, with its gain.
fn lines(predictions: &[Prediction]) -> String {
    let line = |one: &Prediction| {
        let gain = match one.certainty {
            Certainty::Number => format!("x {:.2}", one.gain),
            Certainty::Range => format!("~ {:.2}", one.gain),
            Certainty::AtLeast => format!("x {:.2} +", one.gain_stated()),
            Certainty::Unsure => "?".into(),
        };
        let line = format!("{}: {}", one.changes.join(" and "), stated(one));
        labeled(&gain, &line)
    };
    predictions.iter().take(MAX_SHOWN).map(line).collect()
}

/// The limits as lines, the lowest first.
fn list(transfer: &Transfer, limits: &[LimitedRate]) -> String {
    let original = human_rate(transfer.diagnosis.throughput);
    let mut text = format!("Achieved {original}. Limits, the lowest first:\n");
    for limit in limits {
        let Estimate { low, mid, high } = limit.bps;
        let bound = if high.is_infinite() {
            format!("at least {}", rate(low))
        } else {
            format!("{} ({} to {})", rate(mid), rate(low), rate(high))
        };
        let line = format!("{bound}: {}", limit.evidence);
        text.push_str(&wrap(&format!("{}: {line}", cause(limit.cause)), 2));
    }
    text.push_str(&labeled("Details", &transfer.ends));
    text
}

/// Everything as JSON.
fn document(transfer: &Transfer, predictions: &[Prediction], limits: &[LimitedRate]) -> Value {
    let diagnosis = &transfer.diagnosis;
    let open = |bps: f64| Some(bps).filter(|bps| bps.is_finite());
    let limit = |limit: &LimitedRate| {
        json!({
            "cause": limit.cause,
            "bps": open(limit.bps.mid),
            "evidence": limit.evidence,
            "interval_bps": [open(limit.bps.low), open(limit.bps.high)],
        })
    };
    json!({
        "connection": transfer.ends,
        "limits": limits.iter().map(limit).collect::<Vec<Value>>(),
        "original": {
            "bytes": diagnosis.delivered.as_u64(),
            "goodput_bps": diagnosis.throughput.as_bps(),
            "retransmitted_segments": diagnosis.quantities.lost,
            "rtt_min_s": diagnosis.min_rtt.as_secs_f64(),
            "rtt_p50_s": diagnosis.quantities.rtt.as_secs_f64(),
        },
        "predictions": predictions.iter().map(prediction_json).collect::<Vec<Value>>(),
        "runs": predictions.iter().map(|prediction| prediction.runs).sum::<usize>(),
        "schema": SCHEMA,
    })
}

/// A prediction as JSON. The upper bound is null if it is unknown.
pub(super) fn prediction_json(one: &Prediction) -> Value {
    let [low, high] = one.interval_bps;
    json!({
        "certainty": one.certainty.name(),
        "changes": one.changes,
        "gain": one.gain,
        "goodput_bps": one.goodput_bps,
        "interval_bps": [Some(low), Some(high).filter(|bps| bps.is_finite())],
        "limit": one.limit,
        "reason": one.reason,
        "runs": one.runs,
    })
}
