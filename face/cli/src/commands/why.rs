//! `gigatcp why`: diagnoses what limited the connections of a capture.
//!
//! `gigatcp-analyze` analyzes, and `gigatcp_report::why` words the answers. This module reads what
//! the command line names, and prints.
//!
//! | file | content |
//! |---|---|
//! | `fix.rs` | predicted effect of the fix |
//! | `summary.rs` | a table with a line for each connection |
//! | `reported.rs` | reports of testers and of `ss` |
//! | `stored.rs` | stored runs |
//! | `live.rs` | a capture of this host, with the kernel's counters |
//! | `counters.rs` | those counters next to the packets |
//! | `recording.rs` | an interval of a recording of `watch` |

mod counters;
mod fix;
#[cfg(target_os = "linux")]
mod live;
#[cfg(not(target_os = "linux"))]
#[path = "why/no_linux.rs"]
mod live;
#[cfg(target_os = "linux")]
mod recording;
#[cfg(not(target_os = "linux"))]
#[path = "why/no_recording.rs"]
mod recording;
pub(super) mod reported;
pub(super) mod stored;
mod summary;

#[cfg(target_os = "linux")]
pub(super) use live::capture_failure;
pub(super) use stored::diagnose;

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use gigatcp_analyze::reports::{self, Report};
use gigatcp_analyze::{
    AnnotateError, Capture, Error, Note, NoteKind, Options, PairedDiagnosis, Source, annotate,
    diagnose_pairs,
};
use gigatcp_capture::CaptureError;
use gigatcp_flows::Side;
use gigatcp_report::escape::terminal;
use gigatcp_report::graph;
use gigatcp_report::why::{AnsweredCapture, Diagnosed, HELD, Order, answer, detail, json, text};
use gigatcp_units::grammar::human_rate;
use gigatcp_units::{Duration, Rate};
use gigatcp_why::CAUSES;
use serde::Serialize;
use serde_json::Value;

use counters::Counters;
use stored::Stored;

use super::Outcome;
use super::flows;
use super::graphs::{self, Outputs, StreamDiagnosis, Survey};
use crate::atomic_file::{AtomicFile, refused};
use crate::failure::Failure;
use crate::json::Each;
use crate::output::{self, Stream};
use crate::values;

/// Maximum number of connections analyzed jointly, the largest of the first capture.
const MAX_PAIRED: usize = 64;

/// Command-line arguments of `why`.
#[derive(clap::Args, Debug)]
#[command(
    group(clap::ArgGroup::new("period").args(["interface", "at"])),
    about = "Diagnose what limited the connections in a capture",
    long_about = "\
Diagnose what limited the connections in a capture, or of this host as they run. The answer comes first: the cause that took \
most of the time, what it cost, what to change, and the evidence. The largest connection comes \
first. At most 8 connections are shown, of 10 kB and more unless there is only one; the others are \
counted, with what limited most of their time.

Captures are pcap, pcapng, snoop or printed packets (tcpdump's text, also in the middle of prose), \
plain, gzip or zstd; - is standard input. They may be taken at the sender, at the receiver or on \
the path: `why` finds out which. Two captures of one connection give one answer: packets lost or \
delayed between the capture points are counted, and decide. The directory of a stored run stands \
for its captures; a run without captures is repeated in virtual time.

With --interface, `why` captures by itself: the headers of TCP packets, until --for is over, \
Ctrl-C, or 3 million packets. It needs CAP_NET_RAW. Words are then a filter, as in tcpdump: \
host A, net A/LENGTH, port N, tcp, ip, ip6, and, or, not. The kernel's counters of the same \
sockets are read meanwhile, and are a piece of evidence. Packets that this host was too busy to \
capture are counted. Nothing is sent, and without --capture nothing is kept.

Reports are understood as well, with less certainty, also from standard input: what iperf3, iperf 2, \
nuttcp, `ss -tinm`, `curl -w`, nstat and `netstat -s` print, and `gigatcp watch --json-lines`. What a tester and ss say of one \
connection, in a text or in two, is explained together.

A directory of `gigatcp watch --record` is a recording of the kernel's counters: --at says which \
time of it to explain, --for how long, --peer which connections.

--annotate copies a capture for Wireshark: the answers are the comment of the file (Statistics > \
Capture File Properties), and the packets that an answer rests on have comments. The display filter \
`frame.comment` shows those.

--report writes a page of one capture: causes, rate, RTT, bytes in flight and losses over one time \
axis, and every packet.

\"Could be\" is the throughput that the connection would have reached without the cause, on \
average over its duration: what the path carried at its best, at most the next limit. With \
\"at least\" the path may carry more than this capture shows. The next limit is the bottleneck or \
the advertised window, whichever would limit first without the cause; other limits of the hosts \
show only once they limit.

Confidence is how often an answer like this one is right, from 0 to 1, measured on captures of \
kernels that the weights were not fitted to. Below 0.80 the answer is \"unsure\": it names two \
causes, proposes no fix, and says which further capture may decide between them.

`gigatcp explain ID` describes a cause.",
    after_help = "\
Examples:
  gigatcp why trace.pcapng                       what limited its connections
  gigatcp why sender.pcap receiver.pcap          two captures of one connection: one answer
  gigatcp why -v trace.pcap                      all causes and all evidence
  gigatcp why --all trace.pcap.zst               every connection
  gigatcp why --connection 3 trace.pcap          one connection, by its number
  gigatcp why --summary trace.pcap               a line for each connection
  gigatcp why --json trace.pcap | jq .           the answers as JSON; with -v everything
  sudo gigatcp why --interface eth0 --for 30s    what limits the connections of this host now
  sudo gigatcp why --interface eth0 port 443     some of them, until Ctrl-C
  gigatcp why iperf3.json                        a report of iperf3 -J, nuttcp -i1 or ss -tinm
  gigatcp why --at 14:05 --peer 192.0.2.7 DIR    why it was slow then, from `watch --record DIR`
  gigatcp why runs/my-0123456789abcdef           a stored run, and what the run measured
  gigatcp why trace.pcap --annotate t.pcapng     a copy for Wireshark, with comments
  gigatcp why trace.pcap --report why.html       its page, with the packets to zoom into
  tcpdump -w - tcp | gigatcp why -               until Ctrl-C ends tcpdump"
)]
pub(crate) struct Arguments {
    /// Captures, or directories of stored runs or recordings; - is standard input. With --interface: a
    /// filter
    #[arg(value_name = "FILE", required_unless_present = "interface")]
    files: Vec<PathBuf>,

    /// Capture on this interface; any: on all
    #[arg(
        long,
        value_name = "IFACE",
        conflicts_with_all = ["summary", "connection"]
    )]
    interface: Option<String>,

    /// Time to capture [default: until Ctrl-C], or to explain of a recording [default: 1 min]
    #[arg(
        long = "for",
        value_name = "TIME",
        value_parser = values::time,
        requires = "period"
    )]
    duration: Option<Duration>,

    /// Begin of the time to explain of a recording: HH:MM or HH:MM:SS of the last 24 h, or RFC 3339
    #[arg(
        long,
        value_name = "TIME",
        conflicts_with_all = [
            "connection", "whatif", "annotate", "report", "xplot", "csv", "threads",
        ]
    )]
    at: Option<String>,

    /// Only connections with this peer: an address, a prefix, a name, or a filter of `watch`
    #[arg(long, value_name = "HOST", requires = "at")]
    peer: Option<String>,

    /// Keep the captured packets in a pcapng file
    #[arg(long, value_name = "FILE", requires = "interface")]
    capture: Option<PathBuf>,

    /// Show all causes, all evidence, and a line for each small connection; with --json intervals too
    #[arg(short, long, conflicts_with = "summary")]
    verbose: bool,

    /// Show every connection that carried data, not only the largest
    #[arg(long)]
    all: bool,

    /// Print the answers as JSON
    #[arg(long)]
    json: bool,

    /// Predict what the fix of each connection shown would bring: takes seconds to minutes
    #[arg(long, conflicts_with = "summary")]
    whatif: bool,

    /// Print a line for each connection: what it did, and what limited it most
    #[arg(long, conflicts_with_all = ["all", "json", "report", "xplot", "csv"])]
    summary: bool,

    /// Write a copy of the capture, as pcapng, with the answers as comments that Wireshark shows
    #[arg(long, value_name = "FILE", conflicts_with = "summary")]
    annotate: Option<PathBuf>,

    /// Number of threads that share the connections of a file [default: one per CPU if the file is
    /// large]
    #[arg(long, value_name = "N", value_parser = values::threads)]
    threads: Option<u32>,

    #[command(flatten)]
    outputs: Outputs,
}

impl Arguments {
    /// Whether two captures are to be analyzed jointly. `captures` are the files without reports.
    fn is_joined(&self, captures: &[PathBuf]) -> bool {
        captures.len() == 2 && captures == self.files && captures.iter().all(|file| file.is_file())
    }
}

/// Reads the captures and prints what limited their connections.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    if let Some(interface) = &arguments.interface {
        return run_live(interface, arguments);
    }
    if let Some(at) = &arguments.at {
        return recording::run(at, arguments);
    }
    if let Some(place) = arguments
        .files
        .iter()
        .find(|place| recording::is_recording(place))
    {
        return Err(recording::without_time(place));
    }
    let outputs = arguments
        .outputs
        .with_annotated(arguments.annotate.as_ref());
    let (files, stored) = named_files(&arguments.files)?;
    outputs.check_distinct(&arguments.files)?;
    outputs.check_distinct(&files)?;
    let (files, reports) = reports_of(files)?;
    if files.is_empty() && !reports.is_empty() && outputs.reads_again() {
        return Err(
            Failure::new("only reports of other tools are named, which have no packets")
                .effect("nothing was written")
                .hint("name a capture, or leave out --annotate, --report, --xplot and --csv"),
        );
    }
    let reports = reports
        .into_iter()
        .map(|(path, report)| Ok((path, with_named(report, &outputs)?)))
        .collect::<Result<Vec<Named>, Failure>>()?;
    let (all, verbose) = (arguments.all, arguments.verbose);
    let mut reported_json = Vec::new();
    for (path, report) in &reports {
        if arguments.json {
            reported_json.push(reported::json(path, report, verbose));
        } else if arguments.summary {
            output::print(&reported::summary(path, report))?;
        } else {
            output::print(&reported::text(path, report, all, verbose))?;
        }
    }
    if arguments.json && files.is_empty() && stored.is_empty() {
        output::print_json(&json::Document::new(&reported_json, Vec::new()))?;
    }
    if files.is_empty() && stored.is_empty() {
        return Ok(Outcome::Done);
    }
    let (stored, bare): (Vec<Stored>, Vec<Stored>) =
        stored.into_iter().partition(|run| !run.captures.is_empty());
    if arguments.summary {
        return summaries(arguments, &files);
    }
    let is_joined = arguments.is_joined(&files);
    if is_joined && is_same(&files[0], &files[1]) {
        return Err(named_twice(&files[0]));
    }
    outputs.check_with_text(files.len())?;
    let request = Request {
        arguments,
        outputs: &outputs,
        stored: &stored,
        is_joined,
    };
    if arguments.json {
        reported_json.extend(bare.iter().map(Stored::json));
        request.answer_json(&files, reported_json)?;
    } else {
        request.answer(&files, &bare)?;
    }
    Ok(Outcome::Done)
}

/// Captures on an interface and prints what limited its connections.
fn run_live(interface: &str, arguments: &Arguments) -> Result<Outcome, Failure> {
    let outputs = arguments
        .outputs
        .with_annotated(arguments.annotate.as_ref());
    let request = Request {
        arguments,
        outputs: &outputs,
        stored: &[],
        is_joined: false,
    };
    outputs.check_distinct(arguments.capture.as_slice())?;
    request.outputs.check_with_text(1)?;
    let (source, live) = live::capture(interface, arguments)?;
    let loaded = request.analyze(source, Some(live))?;
    if arguments.json {
        request.finish(&loaded)?;
        output::print_json(&json::Document::new(&[loaded], Vec::new()))?;
    } else {
        let mut out = Stream::new();
        request.put(&loaded, false, &mut out)?;
        out.finish()?;
        request.finish(&loaded)?;
    }
    Ok(Outcome::Done)
}

/// Request that applies to all captures.
#[derive(Clone, Copy)]
struct Request<'a> {
    arguments: &'a Arguments,
    outputs: &'a Outputs,
    stored: &'a [Stored],
    /// Whether the two captures are analyzed jointly.
    is_joined: bool,
}

impl Request<'_> {
    /// Prints the answers as text.
    fn answer(self, files: &[PathBuf], bare: &[Stored]) -> Result<(), Failure> {
        for run in bare {
            output::print(&run.text())?;
        }
        if self.is_joined {
            let both = [self.load(&files[0])?, self.load(&files[1])?];
            let both = [&both[0], &both[1]];
            let pairs = self.join(both)?;
            let mut out = Stream::new();
            if pairs.is_empty() {
                for loaded in both {
                    self.put(loaded, true, &mut out)?;
                    out.write("\n")?;
                }
                out.write(&text::nothing_joined(both))?;
            } else {
                text::put(&both, &pairs, self.detail(), &mut |part| out.write(part))?;
            }
            out.finish()?;
            return both.into_iter().try_for_each(|loaded| self.finish(loaded));
        }
        for (index, file) in files.iter().enumerate() {
            let loaded = self.load(file)?;
            let mut out = Stream::new();
            if index > 0 {
                out.write("\n")?;
            }
            self.put(&loaded, files.len() > 1, &mut out)?;
            out.finish()?;
            self.finish(&loaded)?;
        }
        Ok(())
    }

    /// Writes the answers for one capture.
    fn put(
        self,
        loaded: &AnsweredCapture,
        is_named: bool,
        out: &mut Stream,
    ) -> Result<(), Failure> {
        if is_named {
            out.write(&format!("{}:\n\n", terminal(&loaded.capture.name())))?;
        }
        text::put(&[loaded], &[], self.detail(), &mut |part| out.write(part))?;
        match &loaded.account {
            Some(account) => out.write(account),
            None => Ok(()),
        }
    }

    const fn detail(self) -> text::Detail {
        text::Detail {
            shows_all: self.arguments.all,
            predicts: true,
            is_verbose: self.arguments.verbose,
        }
    }

    /// Prints the answers as JSON. Each capture is released after it is written, unless two are
    /// analyzed jointly. `without_packets` has the answers for reports and for runs without captures.
    fn answer_json(self, files: &[PathBuf], without_packets: Vec<Value>) -> Result<(), Failure> {
        flows::check_captures(files)?;
        let others = without_packets
            .into_iter()
            .map(|answer| Ok(Listed::WithoutPackets(answer)));
        if self.is_joined {
            let both = [self.load(&files[0])?, self.load(&files[1])?];
            let both = [&both[0], &both[1]];
            both.into_iter()
                .try_for_each(|loaded| self.finish(loaded))?;
            let pairs = self.join(both)?;
            let order = Order::of(&both, &pairs, true);
            let joined = Diagnosed::all(&both, &pairs, order.shown())
                .filter_map(|diagnosed| {
                    diagnosed
                        .map_err(Failure::from)
                        .map(|pair| json::joined(both, &pair, self.arguments.verbose))
                        .transpose()
                })
                .collect::<Result<_, _>>()?;
            let captures = both.iter().enumerate().map(|(capture, loaded)| {
                let joined = pairs.iter().map(|pair| pair.indices[capture]).collect();
                Ok(Listed::Both(json::Listed { loaded, joined }))
            });
            let listed = Each::new(others.chain(captures));
            return output::print_json(&json::Document::new(&listed, joined));
        }
        // Nothing is written if the first one cannot be read.
        let load = |file: &PathBuf| {
            let loaded = self.load(file)?;
            self.finish(&loaded)?;
            Ok::<_, Failure>(loaded)
        };
        let mut unread = files.iter();
        let first = unread.next().map(load).transpose()?;
        let captures = first
            .into_iter()
            .map(Ok)
            .chain(unread.map(load))
            .map(|loaded| Ok(Listed::One(Box::new(loaded?))));
        let listed = Each::new(others.chain(captures));
        let printed = output::print_json(&json::Document::new(&listed, Vec::new()));
        listed.failed().and(printed)
    }

    /// Options for reading captures. Captures that are joined are held completely.
    fn options(self) -> Options<'static> {
        Options {
            threads: self.arguments.threads,
            held: (!self.is_joined).then_some(HELD),
            ..Options::default()
        }
    }

    /// Connections that both captures contain.
    fn join(self, both: [&AnsweredCapture; 2]) -> Result<Vec<PairedDiagnosis>, Failure> {
        let captures = both.map(|loaded| &loaded.capture);
        let mut chosen = captures[0].connections().largest_first();
        chosen.truncate(MAX_PAIRED);
        Ok(diagnose_pairs(captures, &chosen, &self.options())?)
    }

    /// Reads a file.
    fn load(self, file: &Path) -> Result<AnsweredCapture, Failure> {
        let source = flows::source(file, self.outputs.reads_again())?;
        let account = self.stored.first().map(|run| run.account(file));
        Ok(AnsweredCapture {
            account,
            ..self.analyze(source, None)?
        })
    }

    /// Reads a source.
    fn analyze(self, source: Source, live: Option<Live>) -> Result<AnsweredCapture, Failure> {
        let capture = Capture::read(&source, &self.options())?;
        let not_captured = live.as_ref().map(|live| live.dropped);
        let counters = live.map(|live| live.counters.into_comparison());
        Ok(AnsweredCapture {
            chosen: self.outputs.named(capture.connections().len())?,
            is_verbose: self.arguments.verbose,
            predict: self.arguments.whatif.then_some(fix::predicted as _),
            counters,
            not_captured,
            ..AnsweredCapture::new(capture)
        })
    }

    /// Writes a copy of a capture with the answers as comments.
    fn annotate(self, loaded: &AnsweredCapture, file: &Path) -> Result<(), Failure> {
        let detail = text::Detail {
            predicts: false,
            is_verbose: false,
            ..self.detail()
        };
        let mut summary = String::new();
        text::put::<Error>(&[loaded], &[], detail, &mut |part| {
            summary.push_str(part);
            Ok(())
        })?;
        let order = Order::of(&[loaded], &[], detail.shows_all);
        let mut connections: Vec<usize> = order.shown().iter().map(|place| place.index).collect();
        connections.sort_unstable();
        let mut out = BufWriter::with_capacity(1 << 16, AtomicFile::begin(file)?);
        let copied = annotate(&loaded.capture, connections, &summary, &mut out);
        copied.map_err(|error| match error {
            AnnotateError::Read(error) => error.into(),
            AnnotateError::Write(CaptureError::Write { source, .. }) => refused(file, &source),
            AnnotateError::Printed => Failure::new(format!(
                "{} has printed packets, which lack parts of real ones",
                loaded.capture.name()
            ))
            .effect("no copy was written")
            .hint("--annotate needs the capture itself: pcap, pcapng or snoop"),
            AnnotateError::Write(error) => Failure::caused(&error).effect("no copy was written"),
        })?;
        graphs::finish(out, file)
    }

    /// Writes the graphs of a capture and reports its oddities. Called after the answers.
    fn finish(self, loaded: &AnsweredCapture) -> Result<(), Failure> {
        let info = loaded.capture.info();
        if let Some(file) = self.outputs.annotated() {
            self.annotate(loaded, file)?;
        }
        if self.outputs.draws() {
            let survey = Survey {
                name: &loaded.capture.name(),
                info,
                segments: loaded.capture.segments(),
                connections: loaded.capture.connections().iter().collect(),
                unit_ns: loaded.capture.time_unit_ns(),
                threads: self.arguments.threads,
            };
            graphs::write(
                self.outputs,
                loaded.capture.source(),
                &survey,
                |index, side| known(loaded, index, side),
            )?;
        }
        // A live capture has headers only.
        let is_cut =
            |note: &&Note| note.kind == NoteKind::SnapLength && loaded.not_captured.is_some();
        for note in info.notes.iter().filter(|note| !is_cut(note)) {
            output::say(&format!("{}: {note}", terminal(&loaded.capture.name())));
        }
        Ok(())
    }
}

/// Facts about a live capture that are not in its packets.
struct Live {
    /// The kernel's counters of its sockets.
    counters: Counters,
    /// Packets that were not captured, because the host was too busy.
    dropped: u64,
}

/// An element of the list of captures in JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    WithoutPackets(Value),
    One(Box<AnsweredCapture>),
    Both(json::Listed<'a>),
}

/// Prints a table of each capture.
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
        .hint("name it once, or add a capture from another capture point")
}

/// Whether two names refer to the same file.
fn is_same(one: &Path, other: &Path) -> bool {
    let resolved = |path: &Path| path.canonicalize().ok();
    resolved(one).is_some() && resolved(one) == resolved(other)
}

/// Named captures, with stored runs replaced by their captures, and the stored runs.
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

/// A report and its file.
type Named = (PathBuf, Report);

/// Splits files into captures and reports of other tools. What several texts say of one transfer is
/// explained with that of the tester, and a text of which nothing else is left is not listed.
fn reports_of(files: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<Named>), Failure> {
    let (mut captures, mut texts, mut statements) = (Vec::new(), Vec::new(), Vec::new());
    for file in files {
        match reported::read(&file)? {
            Some(statement) => {
                texts.push(file);
                statements.push(statement);
            }
            None => captures.push(file),
        }
    }
    let mut reports: Vec<Named> = texts
        .into_iter()
        .zip(reports::explain(statements))
        .collect();
    // Texts of which none says anything are named, each.
    let says_any = reports.iter().any(|(_, report)| !report.is_empty());
    reports.retain(|(_, report)| !says_any || !report.is_empty());
    Ok((captures, reports))
}

/// Leaves the connections of a report that `--connection` names, or all.
fn with_named(mut report: Report, outputs: &Outputs) -> Result<Report, Failure> {
    let named = outputs.named(report.connections.len())?;
    if !named.is_empty() {
        let mut all: Vec<_> = report.connections.into_iter().map(Some).collect();
        report.connections = named
            .iter()
            .filter_map(|index| all[*index].take())
            .collect();
    }
    Ok(report)
}

/// Text shown with an interval whose cause is unknown.
const UNKNOWN: &str = "The capture does not show what limited the connection here.";

/// A headline with the achieved rate before it.
fn with_rate(rate: Rate, sentence: &str) -> String {
    if rate == Rate::ZERO || sentence.is_empty() {
        return sentence.to_owned();
    }
    format!("{}: {}", human_rate(rate), lowercase_first(sentence))
}

/// A sentence as the rest of another.
pub(super) fn lowercase_first(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Intervals and the answer for the graph of a connection. Each interval has one cause.
fn known(loaded: &AnsweredCapture, index: usize, side: Side) -> Result<StreamDiagnosis, Failure> {
    let capture = &loaded.capture;
    let connections = capture.connections();
    let diagnosis = capture
        .diagnose(index)?
        .filter(|diagnosis| diagnosis.sender == side);
    let (Some(connection), Some(diagnosis)) = (connections.connection(index), diagnosis) else {
        return Ok(StreamDiagnosis::default());
    };
    let spans = diagnosis.spans.iter().map(|span| {
        let cause = span.cause.and_then(|cause| CAUSES.get(cause));
        let mut verdicts = diagnosis.verdicts.iter();
        let verdict =
            verdicts.find(|verdict| cause.is_some_and(|cause| cause.id == verdict.cause.id));
        let from_ns = span
            .start
            .saturating_since(connection.first_at())
            .as_nanos();
        graph::Span {
            from_ns,
            to_ns: from_ns + span.length.as_nanos(),
            name: cause.map_or("unknown", |cause| cause.id).into(),
            text: match (cause, verdict) {
                (None, _) => UNKNOWN.into(),
                (_, verdict) => verdict.map_or_else(String::new, |verdict| verdict.finding.clone()),
            },
        }
    });
    let end = |side| connection.endpoint(side).to_string();
    let label = answer::ConnectionLabel {
        ends: format!("{} -> {}", end(side), end(side.other())),
        captured: format!("captured {}", answer::captured(diagnosis.capture_point)),
        place: String::new(),
        reset_by: answer::reset_by(connection, side),
        counters: loaded.counters(index, &diagnosis),
    };
    let mut said = detail::said(&label, &diagnosis);
    said.headline = with_rate(diagnosis.throughput, &said.headline);
    fix::put(loaded.predict.is_some(), &diagnosis, &mut said);
    Ok(StreamDiagnosis {
        spans: spans.collect(),
        said,
    })
}
