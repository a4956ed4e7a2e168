//! `gigatcp whatif`: predicts the result of other settings for a captured transfer.
//!
//! `gigatcp-twin` fits and runs; this module prints the answers.

use std::path::PathBuf;

use gigatcp_analyze::{Capture, Options, Source};
use gigatcp_report::escape::terminal;
use gigatcp_report::prose::wrap;
use gigatcp_twin::{Certainty, Fit, NoFit, Prediction, Transfer, Twin};
use gigatcp_units::Rate;
use gigatcp_units::grammar::human_rate;
use serde_json::{Value, json};

use super::Outcome;
use super::why::answer::labeled;
use crate::failure::Failure;
use crate::output;

/// The schema of `--json`.
const SCHEMA: &str = "gigatcp.whatif/1";

/// Maximum number of changes that `--best` shows.
const MAX_SHOWN: usize = 12;

/// Exit status for a transfer that cannot be fitted.
const NO_FIT: u8 = 1;

/// Command-line arguments of `whatif`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Predict the goodput of a captured transfer with other settings",
    long_about = "\
Predict the goodput of a captured transfer with other settings. A path and two hosts are fitted \
to the capture, which must be taken near the sender: base RTT, bottleneck rate, queue, losses, \
windows, ACKs, application and congestion control. The fitted simulation must reproduce the \
original; otherwise the reason is given instead of a prediction. The changes are then simulated \
over every remaining fit, with the same losses with and without them.

The interval covers what the capture does not determine. A setting outside the range of the \
capture is predicted from the model alone, which has no other traffic and no links with a \
smaller MTU. docs/guide/whatif.md states how often predictions are correct.",
    after_help = "\
Examples:
  gigatcp whatif transfer.pcap --set receiver.buffer='64 MB'
                                       would a larger receive buffer help?
  gigatcp whatif transfer.pcap --set flow.congestion_control=bbr3 --set sender.initial_window=32
                                       both together, then each alone
  gigatcp whatif transfer.pcap --best  which setting brings most
  gigatcp whatif transfer.pcap --known flow.congestion_control=cubic --best
                                       the sender is known to use CUBIC
  gigatcp whatif transfer.pcap --plan > twin.toml
                                       the fitted plan, for `gigatcp run`"
)]
pub(crate) struct Arguments {
    /// The capture; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// A change to predict, a key of a plan: see `gigatcp list keys`. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Try the levers of a user and rank them: buffers, control, initial window, MTU, flows
    #[arg(long)]
    best: bool,

    /// A known setting of the original, in place of a fit. May be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    known: Vec<String>,

    /// Number of the connection, as `flows` lists it [default: the one with most data]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connection: Option<u32>,

    /// Print the fitted plan and predict nothing
    #[arg(long, conflicts_with_all = ["set", "best", "json"])]
    plan: bool,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Fits, predicts and prints.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let source = Source::named(&arguments.file);
    let name = terminal(&arguments.file.display().to_string());
    let index = arguments.connection.map(|number| number as usize - 1);
    let source = source.rereadable()?;
    let options = Options::default();
    let capture = Capture::read(&source, &options)?;
    let transfer = Transfer::within(&capture, &options, index);
    let transfer = transfer.map_err(|reason| refused(&name, &reason, None))?;
    let twin = Twin::fit(transfer, &arguments.known);
    let twin = twin.map_err(|no| {
        let NoFit { reason, best } = no;
        refused(&name, &reason, best.as_deref())
    })?;
    if arguments.plan {
        output::print(&twin.fits[0].constants.to_toml())?;
        return Ok(Outcome::Done);
    }
    let predictions = predictions(arguments, &twin)?;
    if arguments.json {
        output::print_json(&document(&twin, &predictions))?;
    } else {
        output::print(&text(&twin, &predictions))?;
    }
    Ok(Outcome::Done)
}

/// Fits a twin and returns its predictions for changes in words. The error is the reason why there
/// is none.
pub(super) fn answer(transfer: Transfer, changes: &[String]) -> Result<String, String> {
    let twin = Twin::fit(transfer, &[]).map_err(|no| no.reason)?;
    Ok(text(&twin, &together_and_alone(&twin, changes)?))
}

/// Predicts all changes together, then each alone.
fn together_and_alone(twin: &Twin, changes: &[String]) -> Result<Vec<Prediction>, String> {
    let mut wanted: Vec<&[String]> = Vec::new();
    if !changes.is_empty() {
        wanted.push(changes);
    }
    if changes.len() > 1 {
        wanted.extend(changes.chunks(1));
    }
    wanted.into_iter().map(|one| twin.predict(one)).collect()
}

/// Returns the requested predictions.
fn predictions(arguments: &Arguments, twin: &Twin) -> Result<Vec<Prediction>, Failure> {
    let mut all = together_and_alone(twin, &arguments.set).map_err(unpredicted)?;
    if arguments.best {
        all.extend(twin.best().map_err(unpredicted)?);
    }
    Ok(all)
}

fn unpredicted(reason: String) -> Failure {
    Failure::new(reason).effect("nothing was predicted")
}

fn refused(name: &str, reason: &str, best: Option<&Fit>) -> Failure {
    let failure = Failure::new(format!("{name}: no fit, no prediction: {reason}"))
        .effect("nothing was predicted")
        .status(NO_FIT);
    match best {
        Some(fit) => failure.hint(format!(
            "state a known setting of the original, as in --known flow.congestion_control={}",
            fit.constants.control
        )),
        None => failure.hint("`gigatcp why` says what limited it"),
    }
}

fn rate(bps: f64) -> String {
    human_rate(Rate::from_bps(bps.max(0.0) as u64))
}

/// Returns a prediction as a sentence.
pub(super) fn stated(one: &Prediction) -> String {
    let [low, high] = one.interval_bps.map(rate);
    match one.certainty {
        Certainty::Number => format!("{} ({low} to {high})", rate(one.goodput_bps)),
        Certainty::Range => format!("{low} to {high}"),
        Certainty::AtLeast => {
            format!("at least {low}; the capture does not show how much more, up to {high}")
        }
        Certainty::Unsure => format!("unsure, {low} to {high}: the capture does not decide"),
    }
}

/// Returns the answer: the first prediction, the others in lines, the fit.
fn text(twin: &Twin, predictions: &[Prediction]) -> String {
    let original = rate(twin.transfer.measured.goodput_bps());
    let mut text = match predictions.first() {
        Some(first) => wrap(
            &format!(
                "Now {original}. With {}: {}.",
                first.changes.join(" and "),
                stated(first)
            ),
            0,
        ),
        None => format!("Now {original}. Nothing to predict: add --set or --best.\n"),
    };
    for one in predictions.iter().skip(1).take(MAX_SHOWN) {
        let gain = match one.certainty {
            Certainty::Number => format!("x {:.2}", one.gain),
            Certainty::Range => format!("~ {:.2}", one.gain),
            Certainty::AtLeast => format!("x {:.2} +", one.gain_stated()),
            Certainty::Unsure => "?".into(),
        };
        let line = format!("{}: {}", one.changes.join(" and "), stated(one));
        text.push_str(&labeled(&gain, &line));
    }
    text.push_str(&labeled("Fit", &fit_line(twin)));
    let named = twin.fits[0].constants.named();
    let named: Vec<String> = named
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let constants = format!("{} constants: {}", named.len(), named.join(", "));
    text.push_str(&labeled("Constants", &constants));
    text.push_str(&labeled("Details", &twin.transfer.ends));
    text
}

/// Returns the likeness of the best fit, and the controls of the others.
fn fit_line(twin: &Twin) -> String {
    let best = &twin.fits[0];
    let like = &best.likeness;
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let controls: Vec<&str> = twin.fits.iter().map(|fit| fit.constants.control).collect();
    let mut distinct = controls.clone();
    distinct.sort_unstable();
    distinct.dedup();
    format!(
        "refitted run: goodput {}, {:.0} retransmissions for {}, RTT p50 {}, p95 {}; {} kept after {} runs, with {}",
        percent(like.goodput),
        like.retransmitted,
        twin.transfer.measured.retransmitted,
        percent(like.rtt[1]),
        percent(like.rtt[3]),
        output::counted(twin.fits.len() as u64, "fit"),
        twin.runs,
        distinct.join(", "),
    )
}

/// Returns everything as JSON.
fn document(twin: &Twin, predictions: &[Prediction]) -> Value {
    let prediction = |one| {
        let mut value = prediction_json(one);
        value["runs"] = json!(one.runs);
        value
    };
    let predictions: Vec<Value> = predictions.iter().map(prediction).collect();
    let measured = &twin.transfer.measured;
    json!({
        "connection": twin.transfer.ends,
        "fits": twin.fits.iter().map(fit_json).collect::<Vec<Value>>(),
        "original": {
            "bytes": measured.bytes,
            "goodput_bps": measured.goodput_bps(),
            "retransmitted_segments": measured.retransmitted,
            "rtt_p50_s": measured.rtt.p50,
            "rtt_p95_s": measured.rtt.p95,
        },
        "predictions": predictions,
        "runs": twin.runs,
        "schema": SCHEMA,
    })
}

/// Returns a prediction as JSON.
pub(super) fn prediction_json(one: &Prediction) -> Value {
    json!({
        "certainty": one.certainty.name(),
        "changes": one.changes,
        "gain": one.gain,
        "goodput_bps": one.goodput_bps,
        "interval_bps": one.interval_bps,
    })
}

fn fit_json(fit: &Fit) -> Value {
    let named = fit.constants.named().into_iter();
    let constants: serde_json::Map<String, Value> = named
        .map(|(key, value)| (key.to_owned(), json!(value)))
        .collect();
    let like = &fit.likeness;
    json!({
        "constants": constants,
        "delivery_difference": like.delivery,
        "distance": like.distance,
        "flight_ratios": like.flight,
        "goodput_ratio": like.goodput,
        "known": fit.known,
        "retransmitted_segments": like.retransmitted,
        "rtt_ratios": like.rtt,
    })
}
