//! `gigatcp flows`: lists the connections of captures, with facts of each.
//!
//! `gigatcp-analyze` reads the files; this module formats the facts. Oddities of a file are
//! reported with their position and do not stop the reading.

pub(super) mod facts;
mod view;

use std::io;
use std::path::{Path, PathBuf};

use gigatcp_analyze::{Error, FlowCounts, Options, ReadError, Source, Step};
use gigatcp_flows::Details;
use gigatcp_report::escape::terminal;
use gigatcp_why::Outlines;

use super::Outcome;
use super::graphs::{self, Outputs, StreamDiagnosis, Survey};
use crate::failure::Failure;
use crate::json::Each;
use crate::{nearest, output};

/// Command-line arguments of `flows`.
#[derive(clap::Args, Debug)]
#[command(
    about = "List the TCP connections in captures",
    long_about = "\
Show the TCP connections of captures: bytes, retransmissions by kind, reordering, RTTs, windows, \
resets, and what the capture lacks.

Captures are pcap, pcapng, snoop or printed packets (tcpdump's text, also in the middle of \
prose), plain, gzip or zstd; - is standard input. Several files are read one after the other. \
Anomalies of a file are reported on stderr with their offset; the rest is read. Packets inside \
VXLAN, Geneve, GTP-U, GRE, ERSPAN, MPLS, PPPoE, VLAN tags and unencrypted 802.11 are read; \
packets without a TCP segment are counted by what they are.

A line has: the unique bytes of each side; the retransmissions of each side, in wire segments; \
the reordered packets; the minimum RTT; how the connection ended.",
    after_help = "\
Examples:
  gigatcp flows trace.pcapng                     a line for each of the 32 largest
  gigatcp flows --long trace.pcap.zst            everything that is known of each
  gigatcp flows --json a.pcap b.pcap | jq .      the same for programs
  gigatcp flows trace.pcap --report trace.html   its largest connections as graphs to zoom into
  tcpdump -w - tcp | gigatcp flows -             what passes, until Ctrl-C ends tcpdump"
)]
pub(crate) struct Arguments {
    /// Captures; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// A line for every connection, not only for the largest
    #[arg(long, short, conflicts_with_all = ["json", "long"])]
    verbose: bool,

    /// Show all facts of each connection, one per line
    #[arg(long, conflicts_with = "json")]
    long: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    outputs: Outputs,
}

/// Connections with a line, unless all are wanted.
const MOST_LINES: usize = 32;

/// A capture that was read.
pub(super) struct Capture {
    pub(super) name: String,
    pub(super) counts: FlowCounts,
    /// Counters for the detailed view only.
    details: Details,
    outlines: Outlines,
}

/// Reads the captures and prints their connections.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    arguments.outputs.check_distinct(&arguments.files)?;
    arguments.outputs.check(arguments.files.len())?;
    if arguments.json {
        show_json(arguments)?;
        return Ok(Outcome::Done);
    }
    for file in &arguments.files {
        let capture = taken(arguments, file)?;
        let mut out = output::Stream::new();
        if arguments.files.len() > 1 {
            out.write(&format!("{}:\n", terminal(&capture.name)))?;
        }
        if arguments.long {
            for index in 0..capture.counts.table.len() {
                out.write(&view::long(&capture, index))?;
            }
        } else {
            let most = if arguments.verbose {
                usize::MAX
            } else {
                MOST_LINES
            };
            out.write_lines(&view::lines(&capture, most))?;
        }
        out.finish()?;
    }
    Ok(Outcome::Done)
}

/// Prints the connections as JSON; each capture is released after it is written.
fn show_json(arguments: &Arguments) -> Result<(), Failure> {
    check_captures(&arguments.files)?;
    // Nothing is written if the first file cannot be read.
    let mut files = arguments.files.iter();
    let first = files
        .next()
        .map(|file| taken(arguments, file))
        .transpose()?;
    let rest = files.map(|file| taken(arguments, file));
    let captures = Each::new(first.into_iter().map(Ok).chain(rest));
    let printed = output::print_json(&view::Document::new(&captures));
    captures.failed().and(printed)
}

/// Checks that all files can be read, before anything is written about several.
pub(super) fn check_captures(files: &[PathBuf]) -> Result<(), Failure> {
    let sources = files.iter().map(|file| Source::named(file));
    for source in sources {
        gigatcp_analyze::check(&source)?;
    }
    Ok(())
}

/// Reads a file, reports oddities, and draws the requested graphs.
fn taken(arguments: &Arguments, file: &Path) -> Result<Capture, Failure> {
    let source = source(file, arguments.outputs.reads_again())?;
    let (mut details, mut outlines) = (Details::new(), Outlines::new());
    let is_detailed = arguments.long || arguments.json;
    let mut capture = read(&source, |step| {
        if is_detailed {
            details.handle_packet(step.table, &step.verdict, step.packet);
            outlines.handle_packet(step.table, &step.verdict, step.packet);
        }
        Ok(())
    })?;
    (capture.details, capture.outlines) = (details, outlines);
    capture.say_notes();
    if arguments.outputs.reads_again() {
        graphs::write(&arguments.outputs, &source, &capture.survey(), |_, _| {
            Ok(StreamDiagnosis::default())
        })?;
    }
    Ok(capture)
}

impl Capture {
    /// Input for its graphs.
    fn survey(&self) -> Survey<'_> {
        let counts = &self.counts;
        let seen = counts.table.connections().zip(&counts.first_packets);
        Survey {
            name: &self.name,
            info: &counts.info,
            segments: counts.segments,
            connections: seen
                .map(|(connection, first)| (connection, *first))
                .collect(),
            unit_ns: counts.time_unit_ns,
            threads: None,
        }
    }

    /// Prints the oddities of the capture.
    fn say_notes(&self) {
        for note in &self.counts.info.notes {
            output::say(&format!("{}: {note}", terminal(&self.name)));
        }
    }
}

/// Reads the whole capture; `each` is called with every segment.
pub(super) fn read(
    source: &Source,
    each: impl FnMut(Step<'_>) -> Result<(), Failure>,
) -> Result<Capture, Failure> {
    let counts = gigatcp_analyze::follow(source, &Options::default(), each)?;
    Ok(Capture {
        name: source.name(),
        counts,
        details: Details::new(),
        outlines: Outlines::new(),
    })
}

/// Named source, held in memory if it is read several times.
pub(super) fn source(file: &Path, is_read_again: bool) -> Result<Source, Failure> {
    let source = Source::named(file);
    if is_read_again {
        Ok(source.rereadable()?)
    } else {
        Ok(source)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match &error {
            Error::Read { name, source } => refused(name, source),
            Error::NoPacket { .. } => Self::caused(&error)
                .effect("nothing was read of it")
                .hint("capture again, or copy the file again: its end is missing"),
            Error::Hold { name, source } => Self::io(&format!("read {}", spoken(name)), source),
            Error::TooLarge { name, .. } => Self::new(format!(
                "{} has more than 1 GiB, and graphs read a capture twice",
                spoken(name)
            ))
            .hint("write it to a file, and name that"),
            Error::Changed { .. } | Error::Stopped => Self::caused(&error),
        }
    }
}

/// The name of a source in a sentence.
fn spoken(name: &str) -> &str {
    if name == "-" { "standard input" } else { name }
}

fn refused(name: &str, error: &ReadError) -> Failure {
    let failure = match error {
        ReadError::Open { .. } => Failure::caused(error),
        _ => Failure::caused(error).within(name),
    }
    .effect("nothing was read of it");
    match error {
        ReadError::NoPackets { resembles, .. } => failure.hint(resembles.map_or(
            "`gigatcp why` reads captures (`tcpdump -w FILE`), the lines of tcpdump and tshark, \
             `iperf3 -J`, and `ss -tino`",
            |(_, hint)| hint,
        )),
        ReadError::Unknown { .. } | ReadError::Empty => {
            failure.hint("captures are pcap, pcapng, snoop or printed packets, plain, gzip or zstd; `editcap` converts others")
        }
        ReadError::Open { path, .. } if path.is_symlink() && !path.exists() => {
            failure.hint("it is a link that points nowhere: name the capture itself")
        }
        ReadError::Open { path, source } if source.kind() == io::ErrorKind::NotFound => {
            match nearest::neighbor(path, "") {
                Some(meant) => failure.hint(format!("did you mean `{}`?", meant.display())),
                None => failure.hint("name a capture that is there; `ls` shows what is"),
            }
        }
        ReadError::Open { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
            failure.hint(format!(
                "have it read by who may: `sudo cat {} | gigatcp why -`",
                path.display()
            ))
        }
        ReadError::Open { path, .. } if path.is_dir() => failure.hint(
            "name a capture; `gigatcp why` also takes a directory that `gigatcp run` has stored",
        ),
        _ => failure,
    }
}
