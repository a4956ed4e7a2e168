//! `gigatcp why`: what limited the connections of a capture.
//!
//! The diagnosis is `gigatcp-why`; here files are read and verdicts shown.

mod joined;
mod stored;
mod summary;
mod view;

pub(super) use stored::judge;
pub(super) use view::wrap;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;

use gigatcp_capture::Note;
use gigatcp_flows::{Observed, Side};
use gigatcp_report::escape::terminal;
use gigatcp_report::graph;
use gigatcp_units::Instant;
use gigatcp_why::{Diagnosis, RULES, Watcher};

use stored::Stored;

use super::Outcome;
use super::flows::{self, Source};
use super::graphs::{self, Outputs};
use crate::failure::Failure;
use crate::output;

/// Connections shown where not all are asked for.
const SHOWN: usize = 5;

/// Stretches of time named beneath a graph, the longest ones.
const NAMED: usize = 200;

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Say why the connections of captures were not faster",
    long_about = "\
Say why the connections of captures were not faster: for each a paragraph, the verdicts in order of \
the time they took, and where all of its time went.

Captures are pcap, pcapng or printed packets (tcpdump's text, also in the middle of prose), plain, \
gzip or zstd; - is standard input. The folder of a stored run stands for its captures. They may be taken at the sender, at the receiver or on the way: \
which of them is found out. Of two captures of one connection, from two places, what both know is \
said too: what was lost between them, and on which way queues are. Every instant has one cause or is unknown; the times add up.

Beside that, a page of graphs with the verdicts beneath, to zoom into, is written to report.html in \
the working folder; one that was written before is replaced. --no-report leaves it out. There is \
none of standard input, of several captures, and with --json, unless --graph names one.

Of many connections the largest are shown, and one line tells of the rest. `gigatcp explain ID` \
tells what a verdict means and how it was found.",
    after_help = "\
Examples:
  gigatcp why trace.pcapng                       why it was slow, in words
  gigatcp why here.pcap there.pcap               two captures of one connection, judged together
  gigatcp why runs/my-0123456789abcdef           the captures of a stored run, and its own account
  gigatcp why --all trace.pcap.zst               every connection, not only the largest
  gigatcp why --summary trace.pcap               all connections, a line each, as fast as it goes
  gigatcp why --json a.pcap b.pcap | jq .        the same for programs
  gigatcp why trace.pcap --graph other.html      the page of graphs under another name
  tcpdump -w - tcp | gigatcp why -               what passes, until Ctrl-C ends tcpdump"
)]
pub(crate) struct Arguments {
    /// Captures, or folders of stored runs; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Every connection that carried data, not only the largest
    #[arg(long)]
    all: bool,

    /// Print JSON instead of sentences
    #[arg(long)]
    json: bool,

    /// Write no report.html
    #[arg(long, conflicts_with = "graph")]
    no_report: bool,

    /// A line for each connection: what it did, and what limited it most
    #[arg(long, conflicts_with_all = ["all", "json", "graph", "xplot", "csv"])]
    summary: bool,

    /// How many threads share the connections of --summary [default: one for each processor]
    #[arg(long, value_name = "N", requires = "summary", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,

    #[command(flatten)]
    outputs: Outputs,
}

impl Arguments {
    /// Whether two captures are to be judged together.
    fn is_joined(&self) -> bool {
        let is_file = |file: &PathBuf| file.is_file() && !file.ends_with("run.json");
        self.files.len() == 2 && self.files.iter().all(is_file)
    }

    /// What is written: the report too, where it is to be had.
    fn outputs(&self) -> Outputs {
        let is_capture = |file: &PathBuf| file.as_os_str() != "-" && !file.is_dir();
        let has_one = matches!(&self.files[..], [file] if is_capture(file));
        if self.no_report || self.json || !has_one {
            self.outputs.clone()
        } else {
            self.outputs.with_report()
        }
    }
}

/// A capture that was read.
pub(super) struct Capture {
    name: String,
    format: String,
    packets: u64,
    notes: Vec<Note>,
    watcher: Watcher,
}

/// A connection's place in the capture and what is said of it.
pub(super) struct Diagnosed {
    index: usize,
    diagnosis: Diagnosis,
}

/// Reads and says why.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (files, stored) = named_files(&arguments.files)?;
    if arguments.summary {
        arguments.outputs.check(files.len())?;
        for file in &files {
            if files.len() > 1 {
                output::print(&format!("{}:\n", terminal(&file.display().to_string())))?;
            }
            summary::run(file, arguments.threads)?;
        }
        return Ok(Outcome::Done);
    }
    let outputs = &arguments.outputs();
    outputs.check(files.len())?;
    let mut captures = Vec::new();
    let mut first: Option<First> = None;
    let mut together = Vec::new();
    for file in &files {
        let source = Source::new(file, outputs.reads_again())?;
        let capture = read(&source)?;
        for note in &capture.notes {
            output::say(&format!("{}: {note}", terminal(&capture.name)));
        }
        if outputs.reads_again() {
            let whole = flows::read(&source, |_| Ok(()))?;
            graphs::write(outputs, &source, &whole, |index, side| {
                named(&capture, index, side)
            })?;
        }
        let (shown, rest) = choose(&capture, arguments.all);
        if arguments.json {
            let mut value = view::capture_json(&capture, &shown, rest);
            if let Some(run) = stored.first() {
                value["engine_account"] = run.account(file).into();
            }
            captures.push(value);
        } else {
            if files.len() > 1 {
                output::print(&format!("{}:\n", terminal(&capture.name)))?;
            }
            output::print(&view::text(&capture, &shown, rest))?;
            for run in &stored {
                output::print(&run.account(file))?;
            }
        }
        if !arguments.is_joined() {
            continue;
        }
        let Some(before) = &first else {
            first = Some(First {
                source,
                capture,
                shown,
            });
            continue;
        };
        let both = [&before.capture, &capture];
        let joined = joined::join([&before.source, &source], both, &before.shown)?;
        if arguments.json {
            together.extend(joined.iter().map(|one| view::joined_json(both, one)));
        } else {
            output::print(&view::joined(both, &joined))?;
        }
    }
    if arguments.json {
        output::print_json(&view::json(captures, together))?;
    }
    Ok(Outcome::Done)
}

/// The captures that are named, those of stored runs in their place; and these.
fn named_files(named: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<Stored>), Failure> {
    let (mut files, mut runs) = (Vec::new(), Vec::new());
    for path in named {
        match Stored::find(path)? {
            Some(run) => {
                files.extend(run.captures.iter().cloned());
                runs.push(run);
            }
            None => files.push(path.clone()),
        }
    }
    Ok((files, runs))
}

/// The first of two captures.
struct First {
    source: Source,
    capture: Capture,
    shown: Vec<Diagnosed>,
}

/// The connections to show, in the order of the capture, and how many are not.
fn choose(capture: &Capture, all: bool) -> (Vec<Diagnosed>, usize) {
    let table = capture.watcher.table();
    let octets = |index: usize| {
        table.connection(index).map_or(0, |connection| {
            let of = |side| connection.direction(side).unique_bytes();
            of(gigatcp_flows::Side::Client).max(of(gigatcp_flows::Side::Server))
        })
    };
    let mut largest: Vec<usize> = (0..table.len())
        .filter(|index| octets(*index) > 0)
        .collect();
    let count = largest.len();
    if !all {
        largest.sort_by_key(|index| (std::cmp::Reverse(octets(*index)), *index));
        largest.truncate(SHOWN);
        largest.sort_unstable();
    }
    let shown: Vec<Diagnosed> = largest
        .into_iter()
        .filter_map(|index| {
            let diagnosis = capture.watcher.diagnose(index)?;
            Some(Diagnosed { index, diagnosis })
        })
        .collect();
    let rest = count - shown.len();
    (shown, rest)
}

/// The stretches of a connection's time that have a cause, for its graph.
fn named(capture: &Capture, index: usize, side: Side) -> Vec<graph::Span> {
    let table = capture.watcher.table();
    let diagnosis = capture.watcher.diagnose(index);
    let diagnosis = diagnosis.filter(|diagnosis| diagnosis.sender == side);
    let (Some(connection), Some(diagnosis)) = (table.connection(index), diagnosis) else {
        return Vec::new();
    };
    let mut spans: Vec<&gigatcp_why::Span> = diagnosis.spans.iter().collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.length));
    spans.truncate(NAMED);
    spans.sort_by_key(|span| span.start);
    let named = spans.into_iter().filter_map(|span| {
        let rule = RULES.get(span.rule?)?;
        let verdict = diagnosis
            .verdicts
            .iter()
            .find(|verdict| verdict.rule.id == rule.id);
        let from_ns = span
            .start
            .saturating_since(connection.first_at())
            .as_nanos();
        Some(graph::Span {
            from_ns,
            to_ns: from_ns + span.length.as_nanos(),
            name: rule.id.into(),
            text: verdict.map_or_else(String::new, |verdict| verdict.finding.clone()),
        })
    });
    named.collect()
}

fn read(source: &Source) -> Result<Capture, Failure> {
    let name = source.name();
    let mut reader = source
        .open()
        .map_err(|error| flows::refused(&name, &error))?;
    // Whoever sends packets must not know which of them collide.
    let mut watcher = Watcher::new(RandomState::new().build_hasher().finish());
    let mut now = Instant::ZERO;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return Err(flows::refused(&name, &error)),
        };
        // A packet without a time came at the time of the one before.
        now = record.time.unwrap_or(now);
        let (place, number) = (record.place(), record.number);
        match record.dissect() {
            Ok(segment) => watcher.handle_packet(number, &Observed::new(now, &segment)),
            Err(obstacle) => reader.note_obstacle(place, &obstacle),
        }
    }
    Ok(Capture {
        name,
        format: reader.format().to_string(),
        packets: reader.records(),
        notes: reader.notes().iter().copied().collect(),
        watcher,
    })
}
