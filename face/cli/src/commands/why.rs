//! `gigatcp why`: what limited the connections of a capture.
//!
//! The analysis is `gigatcp-analyze`; here verdicts are shown.

mod row;
mod stored;
mod summary;
mod view;

pub(super) use stored::judge;

use std::path::{Path, PathBuf};

use gigatcp_analyze::{Capture, Options, PairedDiagnosis, diagnose_pairs};
use gigatcp_flows::Side;
use gigatcp_report::escape::terminal;
use gigatcp_report::graph;
use gigatcp_why::{CAUSES, Diagnosis};
use serde::Serialize;
use serde_json::Value;

use stored::Stored;

use super::Outcome;
use super::flows;
use super::graphs::{self, Known, Outputs, Survey};
use crate::failure::Failure;
use crate::json::Each;
use crate::output::{self, Stream};
use crate::values;

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
gzip or zstd; - is standard input. The folder of a stored run stands for its captures; one without \
is repeated in virtual time and judged by what its senders send and hear. They may be taken at the \
sender, at the receiver or on the way: which of them is found out. Of two captures of one connection, from two places, what both know is \
said too: what was lost between them, and on which way queues are. Every instant has one cause or is unknown; the times add up.

Beside that, a page of graphs with the verdicts beneath, to zoom into, is written to report.html in \
the working folder; one that was written before is replaced. --no-report leaves it out. There is \
none of standard input or a pipe, of several captures, and with --json, unless --graph names one.

Of many connections the largest are shown, and one line tells of the rest; --connection N shows \
that one. `gigatcp explain ID` tells what a verdict means and how it was found.",
    after_help = "\
Examples:
  gigatcp why trace.pcapng                       why it was slow, in words
  gigatcp why here.pcap there.pcap               two captures of one connection, judged together
  gigatcp why runs/my-0123456789abcdef           a stored run, and its own account
  gigatcp why --all trace.pcap.zst               every connection, not only the largest
  gigatcp why --connection 3 trace.pcap          the third alone
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

    /// How many threads share the connections of a file [default: one for each processor, where the
    /// file is large]
    #[arg(long, value_name = "N", value_parser = values::threads)]
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
        let has_one = matches!(&self.files[..], [file] if file.is_file());
        if self.no_report || self.json || !has_one {
            self.outputs.clone()
        } else {
            self.outputs.with_report()
        }
    }
}

/// A connection's place in the capture and what is said of it.
pub(super) struct Diagnosed {
    index: usize,
    diagnosis: Diagnosis,
}

/// Reads and says why.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let (files, stored) = named_files(&arguments.files)?;
    let (stored, bare): (Vec<Stored>, Vec<Stored>) =
        stored.into_iter().partition(|run| !run.captures.is_empty());
    if arguments.summary {
        return summaries(arguments, &files);
    }
    if arguments.is_joined() && is_same(&files[0], &files[1]) {
        return Err(named_twice(&files[0]));
    }
    let outputs = &arguments.outputs();
    outputs.check_told(files.len())?;
    let ask = Ask {
        arguments,
        outputs,
        stored: &stored,
    };
    if arguments.json {
        ask.answer_json(&files, &bare)?;
    } else {
        ask.answer(&files, &bare)?;
    }
    Ok(Outcome::Done)
}

/// What is asked, whichever capture it is about.
#[derive(Clone, Copy)]
struct Ask<'a> {
    arguments: &'a Arguments,
    outputs: &'a Outputs,
    stored: &'a [Stored],
}

impl Ask<'_> {
    /// In words.
    fn answer(self, files: &[PathBuf], bare: &[Stored]) -> Result<(), Failure> {
        for run in bare {
            output::print(&run.told())?;
        }
        let mut first = None;
        for file in files {
            let taken = self.take(file)?;
            let mut out = Stream::new();
            if files.len() > 1 {
                out.write(&format!("{}:\n\n", terminal(&taken.name)))?;
            }
            view::put(&taken, &mut out)?;
            for run in self.stored {
                out.write(&run.account(file))?;
            }
            out.finish()?;
            if !self.arguments.is_joined() {
                continue;
            }
            let Some(before) = &first else {
                first = Some(taken);
                continue;
            };
            let joined = self.join([before, &taken])?;
            output::print(&view::joined([before, &taken], &joined))?;
        }
        Ok(())
    }

    /// For programs, each capture let go when it is written, but where two are
    /// joined.
    fn answer_json(self, files: &[PathBuf], bare: &[Stored]) -> Result<(), Failure> {
        flows::check_captures(files)?;
        let bare = bare.iter().map(|run| Ok(Listed::Run(run.json())));
        if self.arguments.is_joined() {
            let both = [self.take(&files[0])?, self.take(&files[1])?];
            let both_taken = [&both[0], &both[1]];
            let joined = self.join(both_taken)?;
            let joined = joined.iter().map(|one| view::joined_json(both_taken, one));
            let joined = joined.collect();
            let all = Each::new(bare.chain(both.iter().map(|one| Ok(Listed::Both(one)))));
            return output::print_json(&view::Document::new(&all, joined));
        }
        // Nothing is written where already the first cannot be read.
        let mut files = files.iter();
        let first = files.next().map(|file| self.take(file)).transpose()?;
        let rest = files.map(|file| self.take(file));
        let taken = first.into_iter().map(Ok).chain(rest);
        let all = Each::new(bare.chain(taken.map(|one| Ok(Listed::One(Box::new(one?))))));
        let printed = output::print_json(&view::Document::new(&all, Vec::new()));
        all.failed().and(printed)
    }

    /// How captures are read.
    fn options(self) -> Options<'static> {
        Options {
            threads: self.arguments.threads,
            ..Options::default()
        }
    }

    /// The connections shown of the first capture that are in the second too.
    fn join(self, both: [&Taken; 2]) -> Result<Vec<PairedDiagnosis>, Failure> {
        let captures = both.map(|taken| &taken.capture);
        Ok(diagnose_pairs(captures, &both[0].shown, &self.options())?)
    }

    /// Reads a file, says what is odd, and draws what is asked for.
    fn take(self, file: &Path) -> Result<Taken, Failure> {
        let source = flows::source(file, self.outputs.reads_again())?;
        let capture = Capture::read(&source, &self.options())?;
        let name = capture.name();
        for note in &capture.about().notes {
            output::say(&format!("{}: {note}", terminal(&name)));
        }
        if self.outputs.reads_again() {
            let survey = Taken::survey(&name, &capture, self.arguments.threads);
            graphs::write(self.outputs, &source, &survey, |index, side| {
                known(&capture, index, side)
            })?;
        }
        let named = self.outputs.named(capture.connections().len())?;
        let is_chosen = !named.is_empty();
        let (shown, count) = choose(&capture, self.arguments.all, named);
        let account = self.stored.first().map(|run| run.account(file));
        Ok(Taken {
            name,
            capture,
            shown,
            is_chosen,
            count,
            account,
        })
    }
}

/// A capture that was read, and which of its connections are shown.
struct Taken {
    name: String,
    capture: Capture,
    shown: Vec<usize>,
    /// Whether they were asked for by number.
    is_chosen: bool,
    /// Connections that carried data.
    count: usize,
    /// The engine's own account, where it is of a stored run.
    account: Option<String>,
}

impl Taken {
    /// What is said of those shown, each made when it is asked for.
    fn diagnosed(&self) -> impl Iterator<Item = Diagnosed> {
        self.shown.iter().filter_map(|index| self.diagnose(*index))
    }

    /// What is said of one; nothing where it carried no data.
    fn diagnose(&self, index: usize) -> Option<Diagnosed> {
        let diagnosis = self.capture.connections().diagnose(index)?;
        Some(Diagnosed { index, diagnosis })
    }
}

/// What a list of captures may have in it.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    Run(Value),
    One(Box<Taken>),
    Both(&'a Taken),
}

/// A table of each capture, and nothing else.
fn summaries(arguments: &Arguments, files: &[PathBuf]) -> Result<Outcome, Failure> {
    arguments.outputs.check(files.len())?;
    for file in files {
        if files.len() > 1 {
            output::print(&format!("{}:\n", terminal(&file.display().to_string())))?;
        }
        summary::run(file, arguments.threads)?;
    }
    Ok(Outcome::Done)
}

fn named_twice(file: &Path) -> Failure {
    let twice = terminal(&file.display().to_string());
    Failure::new(format!("{twice} is named twice"))
        .effect("nothing was read: two captures of a connection come from two places")
        .hint("name it once, or the capture of another place beside it")
}

/// Whether two names are those of one file.
fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    resolved(one).is_some() && resolved(one) == resolved(other)
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

/// The connections to show, in the order of the capture where none are `named`,
/// and how many carried data.
fn choose(capture: &Capture, all: bool, named: Vec<usize>) -> (Vec<usize>, usize) {
    let with_data = capture.connections().with_data();
    let count = with_data.len();
    if !named.is_empty() {
        return (named, count);
    }
    if all {
        return (with_data, count);
    }
    let mut largest = capture.connections().largest_first();
    largest.truncate(SHOWN);
    largest.sort_unstable();
    (largest, count)
}

/// What is said of a connection beneath its graph: the stretches of its time
/// that have a cause, and all that is printed.
fn known(capture: &Capture, index: usize, side: Side) -> Known {
    let connections = capture.connections();
    let diagnosis = connections.diagnose(index);
    let diagnosis = diagnosis.filter(|diagnosis| diagnosis.sender == side);
    let (Some(connection), Some(diagnosis)) = (connections.connection(index), diagnosis) else {
        return Known::default();
    };
    let mut spans: Vec<&gigatcp_why::Span> = diagnosis.spans.iter().collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.length));
    spans.truncate(NAMED);
    spans.sort_by_key(|span| span.start);
    let named = spans.into_iter().filter_map(|span| {
        let cause = CAUSES.get(span.cause?)?;
        let verdict = diagnosis
            .verdicts
            .iter()
            .find(|verdict| verdict.cause.id == cause.id);
        let from_ns = span
            .start
            .saturating_since(connection.first_at())
            .as_nanos();
        Some(graph::Span {
            from_ns,
            to_ns: from_ns + span.length.as_nanos(),
            name: cause.id.into(),
            text: verdict.map_or_else(String::new, |verdict| verdict.finding.clone()),
        })
    });
    Known {
        spans: named.collect(),
        said: view::said(&diagnosis),
    }
}

impl Taken {
    /// What its graphs are made from.
    fn survey<'a>(name: &'a str, capture: &'a Capture, threads: Option<u32>) -> Survey<'a> {
        Survey {
            name,
            about: capture.about(),
            segments: capture.segments(),
            connections: capture.connections().iter().collect(),
            unit_ns: capture.time_unit_ns(),
            threads,
        }
    }
}
