//! `gigatcp diff`: compares two stored results, tests or runs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use gigatcp_capture::{CaptureReader, Format};
use gigatcp_plan::record::growth::median;
use gigatcp_plan::record::{CauseShare, FlowRecord, FurtherFlow, RunRecord};
use gigatcp_report::escape::terminal;
use gigatcp_report::number;
use gigatcp_report::prose::wrap_hanging;
use serde_json::{Value, json};

use super::Outcome;
use super::why::stored;
use crate::failure::Failure;
use crate::output;

/// Command-line arguments of `diff`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Compare two stored results",
    long_about = "\
Compare two stored results: files of `gigatcp test --save`, or directories of `gigatcp run`. \
Flows are matched by series, repeat and name. Single runs do not show whether a difference is \
significant: for its probability use `gigatcp compare`, or runs with --repeat.",
    after_help = "\
Examples:
  gigatcp diff before.json after.json            two tests
  gigatcp diff runs/a-0123456789abcdef runs/b-0123456789abcdef
                                                 two runs
  gigatcp diff --json before.json after.json     as JSON"
)]
pub(crate) struct Arguments {
    /// First result
    #[arg(value_name = "A")]
    first: PathBuf,

    /// Second result
    #[arg(value_name = "B")]
    second: PathBuf,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// A flow that both results have; its figures are medians over the seeds.
struct Pair {
    /// Series and flow.
    name: String,
    first: FlowRecord,
    second: FlowRecord,
    /// Number of seeds of each.
    seeds: [usize; 2],
}

/// Compares the results.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (first, second) = (read(&arguments.first)?, read(&arguments.second)?);
    let (pairs, unmatched) = pairs(&first, &second);
    if pairs.is_empty() {
        return Err(Failure::new("the two results have no flow in common")
            .effect("nothing was compared")
            .hint("flows are matched by series, repeat and name: `gigatcp test` names them stream 1, 2, 3"));
    }
    if arguments.json {
        output::print_json(&value(&pairs, &unmatched))?;
    } else {
        output::print_lines(&text(&pairs, &unmatched))?;
    }
    Ok(Outcome::Done)
}

/// Reads a result: a file, or the directory of a run.
fn read(place: &Path) -> Result<RunRecord, Failure> {
    let file = if place.is_dir() {
        place.join("run.json")
    } else {
        place.to_path_buf()
    };
    stored::read(&file).map_err(|failure| {
        if is_capture(&file) {
            not_compared(place)
        } else {
            failure
        }
    })
}

/// Whether a file is a capture by its first bytes.
fn is_capture(file: &Path) -> bool {
    CaptureReader::open(file).is_ok_and(|reader| reader.format() != Format::Text)
}

fn not_compared(capture: &Path) -> Failure {
    let name = terminal(&capture.display().to_string());
    Failure::new(format!(
        "{name} is a capture, and `diff` compares stored results: run.json of `run` and `test`"
    ))
    .effect("nothing was compared")
    .hint("`gigatcp why A.pcap B.pcap` joins two captures of one connection")
    .hint("`gigatcp why --summary A.pcap B.pcap` lists the connections of both: rate, RTT, limit")
}

/// Flows by series, repeat and name, and their number of seeds.
fn flows(record: &RunRecord) -> Vec<(String, FlowRecord, usize)> {
    let mut flows = Vec::new();
    for series in &record.series {
        let repeat = match record.repeat {
            0 | 1 => String::new(),
            _ => format!(" #{}", series.repeat + 1),
        };
        for (place, flow) in series.flows.iter().enumerate() {
            let name = format!("{}{repeat}, {}", series.name, flow.name);
            let further = series.further.iter().flat_map(|further| &further.runs);
            let further: Vec<&FurtherFlow> =
                further.filter_map(|run| run.flows.get(place)).collect();
            flows.push((name, over_seeds(flow, &further), 1 + further.len()));
        }
    }
    flows
}

/// A flow with the medians of its figures over the first and further seeds.
fn over_seeds(flow: &FlowRecord, further: &[&FurtherFlow]) -> FlowRecord {
    let first = FurtherFlow::from(flow);
    let of = |figure: fn(&FurtherFlow) -> f64| {
        let seeds = further.iter().copied().chain([&first]);
        median(seeds.map(figure)).unwrap_or_default()
    };
    FlowRecord {
        goodput_bps: of(|flow| flow.goodput_bps),
        retransmitted_segments: of(|flow| flow.retransmitted_segments as f64) as u64,
        sender_cpu_fraction: of(|flow| flow.sender_cpu_fraction),
        receiver_cpu_fraction: of(|flow| flow.receiver_cpu_fraction),
        ..flow.clone()
    }
}

/// Flows of both results, and the names that only one result has.
fn pairs(first: &RunRecord, second: &RunRecord) -> (Vec<Pair>, Vec<String>) {
    let mut others = flows(second);
    let mut pairs = Vec::new();
    let mut unmatched = Vec::new();
    for (name, first, seeds) in flows(first) {
        match others.iter().position(|(second, ..)| *second == name) {
            Some(index) => {
                let (_, second, other_seeds) = others.remove(index);
                pairs.push(Pair {
                    name,
                    first,
                    second,
                    seeds: [seeds, other_seeds],
                });
            }
            None => unmatched.push(format!("A only: {name}")),
        }
    }
    unmatched.extend(
        others
            .into_iter()
            .map(|(name, ..)| format!("B only: {name}")),
    );
    (pairs, unmatched)
}

/// The cause that took most of the time.
fn primary(flow: &FlowRecord) -> Option<&CauseShare> {
    flow.limited_by.iter().max_by_key(|share| share.spent_ns)
}

/// `receive-window-limited 88 %`.
fn cause(flow: &FlowRecord) -> String {
    let total: u64 = flow.limited_by.iter().map(|share| share.spent_ns).sum();
    primary(flow).map_or_else(
        || "unknown".into(),
        |share| {
            let percent = 100.0 * share.spent_ns as f64 / total.max(1) as f64;
            format!("{} {percent:.0} %", share.cause)
        },
    )
}

fn change(first: f64, second: f64) -> f64 {
    if first > 0.0 {
        100.0 * (second / first - 1.0)
    } else {
        0.0
    }
}

/// Flows that are shown in full; of more each has a line.
const MOST_IN_FULL: usize = 8;

/// Flows that have a line at most: those that changed most.
const MOST_LINES: usize = 30;

/// Changes of the goodput below this, in percent, are none.
const SAME_PERCENT: f64 = 1.0;

fn text(pairs: &[Pair], unmatched: &[String]) -> String {
    let mut text = counts(pairs);
    if pairs.len() <= MOST_IN_FULL {
        pairs.iter().for_each(|pair| text.push_str(&in_full(pair)));
    } else {
        let mut sorted: Vec<&Pair> = pairs.iter().collect();
        sorted.sort_by(|a, b| b.change().abs().total_cmp(&a.change().abs()));
        let shown = &sorted[..sorted.len().min(MOST_LINES)];
        shown.iter().for_each(|pair| text.push_str(&pair.rates()));
        if sorted.len() > shown.len() {
            let _ = writeln!(
                text,
                "{} more changed less: --json",
                sorted.len() - shown.len()
            );
        }
    }
    for side in ["A only: ", "B only: "] {
        let names = unmatched.iter().filter_map(|name| name.strip_prefix(side));
        let names: Vec<&str> = names.collect();
        let some = &names[..names.len().min(MOST_IN_FULL)];
        let more = match names.len() - some.len() {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        if !some.is_empty() {
            text.push_str(&wrap_hanging(
                &format!("{side}{}{more}", some.join("; ")),
                0,
                2,
            ));
        }
    }
    text
}

/// Counts of flows that became faster and slower; empty for one flow.
fn counts(pairs: &[Pair]) -> String {
    let count = |is: fn(f64) -> bool| pairs.iter().filter(|pair| is(pair.change())).count();
    match pairs.len() {
        0 => "Nothing to compare: no flow has the same name in both\n".to_owned(),
        1 => String::new(),
        all => format!(
            "Of {all} flows {} faster, {} slower, {} within {SAME_PERCENT} %\n",
            count(|change| change > SAME_PERCENT),
            count(|change| change < -SAME_PERCENT),
            count(|change| change.abs() <= SAME_PERCENT)
        ),
    }
}

impl Pair {
    /// The change of the goodput, percent.
    fn change(&self) -> f64 {
        change(self.first.goodput_bps, self.second.goodput_bps)
    }

    /// The goodput of both, a line.
    fn rates(&self) -> String {
        let [first, second] =
            [&self.first, &self.second].map(|flow| number::rate(flow.goodput_bps));
        let seeds = match self.seeds {
            [1, 1] => String::new(),
            [a, b] => format!("; medians of {a} and {b} seeds"),
        };
        format!(
            "{}: {first} -> {second} ({:+.1} %{seeds})\n",
            self.name,
            self.change()
        )
    }
}

/// All that is compared of a flow.
fn in_full(pair: &Pair) -> String {
    let (first, second) = (&pair.first, &pair.second);
    let mut text = pair.rates();
    let _ = writeln!(
        text,
        "  Retransmitted  {} -> {} segments",
        first.retransmitted_segments, second.retransmitted_segments
    );
    let _ = writeln!(
        text,
        "  Limited by     {} -> {}",
        cause(first),
        cause(second)
    );
    let cpu = |flow: &FlowRecord| {
        let percent = |share: f64| 100.0 * share;
        let (sender, receiver) = (flow.sender_cpu_fraction, flow.receiver_cpu_fraction);
        format!("{:.0} and {:.0} %", percent(sender), percent(receiver))
    };
    let _ = writeln!(
        text,
        "  CPU            {} -> {} (sender and receiver)",
        cpu(first),
        cpu(second)
    );
    if first.congestion_control != second.congestion_control {
        let (a, b) = (&first.congestion_control, &second.congestion_control);
        let _ = writeln!(text, "  Control        {a} -> {b}");
    }
    text
}

fn value(pairs: &[Pair], unmatched: &[String]) -> Value {
    let side = |flow: &FlowRecord| {
        json!({
            "goodput_bps": flow.goodput_bps,
            "retransmitted_segments": flow.retransmitted_segments,
            "congestion_control": flow.congestion_control,
            "primary_cause": primary(flow).map(|share| &share.cause),
            "limited_by": flow.limited_by,
            "sender_cpu_fraction": flow.sender_cpu_fraction,
            "receiver_cpu_fraction": flow.receiver_cpu_fraction,
        })
    };
    let compared = pairs.iter().map(|pair| {
        json!({
            "flow": pair.name,
            "a": side(&pair.first),
            "b": side(&pair.second),
            "seeds": pair.seeds,
            "goodput_change_percent": change(pair.first.goodput_bps, pair.second.goodput_bps),
        })
    });
    json!({
        "schema": "gigatcp-diff/1",
        "flows": compared.collect::<Vec<_>>(),
        "unmatched": unmatched,
    })
}
