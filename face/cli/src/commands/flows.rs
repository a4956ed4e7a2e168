//! `gigatcp flows`: the connections of captures, and what each did.
//!
//! The analysis is `gigatcp-flows`; here files are read, and facts aligned.
//! What is odd about a file is said with its place and does not keep the rest
//! from being read.

pub(super) mod clocks;
pub(super) mod facts;
mod flags;
mod view;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gigatcp_capture::{CaptureReader, Note, ReadError};
use gigatcp_flows::{FlowTable, Observed, Verdict};
use gigatcp_report::escape::terminal;
use gigatcp_units::Instant;

use super::Outcome;
use super::graphs::{self, Outputs};
use crate::failure::Failure;
use crate::output;

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show the TCP connections of captures, and what each did",
    long_about = "\
Show the TCP connections of captures: octets, retransmissions by kind, reordering, round trips, \
windows, resets, and what the capture lacks.

Captures are pcap, pcapng or printed packets (tcpdump's text, also in the middle of prose), plain, \
gzip or zstd; - is standard input. Several files are looked at one after the other. What is odd \
about a file is said on stderr with its offset, and the rest is read.

A line has: octets each side sent, each once; segments sent again, by each side, wire segments of \
super-segments counted; packets overtaken on the way; the least round trip; how it ended.",
    after_help = "\
Examples:
  gigatcp flows trace.pcapng                     a line for each connection
  gigatcp flows --long trace.pcap.zst            everything that is known of each
  gigatcp flows --json a.pcap b.pcap | jq .      the same for programs
  gigatcp flows --flags wireshark trace.pcap     what tshark says of packets, and where it is wrong
  gigatcp flows trace.pcap --graph trace.html    its largest connections as graphs to zoom into
  gigatcp flows --clocks a.pcap b.pcap           how far the clocks of two captures are apart
  tcpdump -w - tcp | gigatcp flows -             what passes, until Ctrl-C ends tcpdump"
)]
pub(crate) struct Arguments {
    /// Captures; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Everything that is known of each connection, one fact a line
    #[arg(long, conflicts_with = "json")]
    long: bool,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    /// The analysis flags that another tool gives each packet, and what is so where they are wrong
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["long", "graph", "xplot", "csv"])]
    flags: Option<Tool>,

    /// Compare the clocks of two captures by the connections that are in both
    #[arg(long, conflicts_with_all = ["long", "flags", "graph", "xplot", "csv"])]
    clocks: bool,

    #[command(flatten)]
    outputs: Outputs,
}

/// Whose flags.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Tool {
    /// The tcp.analysis flags of Wireshark and tshark
    Wireshark,
}

/// A capture that was read.
pub(super) struct Capture {
    pub(super) name: String,
    pub(super) format: String,
    pub(super) packets: u64,
    pub(super) segments: u64,
    notes: Vec<Note>,
    pub(super) table: FlowTable,
    /// What all times are whole multiples of, in nanoseconds: 1000 or 1.
    pub(super) unit_ns: u64,
}

/// Where a capture comes from, once or several times.
pub(super) enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input, as it comes.
    Input,
    /// Standard input, held in memory.
    Held(Arc<[u8]>),
}

impl Source {
    /// `file`, or standard input where that is `-`; held where it is to be
    /// read more than once.
    pub(super) fn new(file: &Path, is_read_again: bool) -> Result<Self, Failure> {
        if file.as_os_str() != "-" {
            return Ok(Self::File(file.to_owned()));
        }
        if !is_read_again {
            return Ok(Self::Input);
        }
        let mut octets = Vec::new();
        let mut input = io::stdin().lock().take(MOST_HELD + 1);
        let read = input.read_to_end(&mut octets);
        read.map_err(|error| Failure::io("read standard input", &error))?;
        if octets.len() as u64 > MOST_HELD {
            return Err(Failure::new(
                "standard input has more than 1 GiB, and graphs read a capture twice",
            )
            .hint("write it to a file, and name that"));
        }
        Ok(Self::Held(octets.into()))
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Input | Self::Held(_) => "-".into(),
        }
    }

    /// Begins to read it.
    pub(super) fn open(&self) -> Result<CaptureReader, ReadError> {
        match self {
            Self::File(path) => CaptureReader::open(path),
            Self::Input => CaptureReader::standard_input(),
            Self::Held(octets) => CaptureReader::from_reader(Cursor::new(Arc::clone(octets))),
        }
    }
}

/// In nanoseconds.
const MICROSECOND: u64 = 1_000;

/// Octets of standard input that are held at most.
const MOST_HELD: u64 = 1 << 30;

/// Reads and shows.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match arguments.flags {
        Some(Tool::Wireshark) => flags::show(arguments)?,
        None if arguments.clocks => clocks::show(arguments)?,
        None => show(arguments)?,
    }
    Ok(Outcome::Done)
}

/// The connections of each file.
fn show(arguments: &Arguments) -> Result<(), Failure> {
    arguments.outputs.check(arguments.files.len())?;
    let mut captures = Vec::new();
    for file in &arguments.files {
        let source = Source::new(file, arguments.outputs.reads_again())?;
        let capture = read(&source, |_| Ok(()))?;
        capture.say_notes();
        if arguments.outputs.reads_again() {
            graphs::write(&arguments.outputs, &source, &capture, |_, _| Vec::new())?;
        }
        if arguments.json {
            captures.push(capture);
            continue;
        }
        if arguments.files.len() > 1 {
            output::print(&format!("{}:", terminal(&capture.name)))?;
        }
        if arguments.long {
            for (index, connection) in capture.table.connections().enumerate() {
                output::print(&view::long(index, connection))?;
            }
        } else {
            output::print(&view::lines(&capture))?;
        }
    }
    if arguments.json {
        output::print_json(&view::json(&captures))?;
    }
    Ok(())
}

impl Capture {
    /// Says what was odd about it.
    fn say_notes(&self) {
        for note in &self.notes {
            output::say(&format!("{}: {note}", terminal(&self.name)));
        }
    }
}

/// A segment that was just taken in.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// Which packet of the file it is, from 1.
    pub(super) frame: u64,
    pub(super) packet: &'a Observed,
    pub(super) verdict: Verdict,
    pub(super) table: &'a FlowTable,
}

/// Reads all of it; `each` sees every segment.
pub(super) fn read(
    source: &Source,
    mut each: impl FnMut(Step<'_>) -> Result<(), Failure>,
) -> Result<Capture, Failure> {
    let name = source.name();
    let mut reader = source.open().map_err(|error| refused(&name, &error))?;
    // Whoever sends packets must not know which of them collide.
    let mut table = FlowTable::new(RandomState::new().build_hasher().finish());
    let mut now = Instant::ZERO;
    let mut segments = 0;
    let mut is_finer = false;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return Err(refused(&name, &error)),
        };
        // A packet without a time came at the time of the one before.
        now = record.time.unwrap_or(now);
        is_finer |= !now.as_nanos().is_multiple_of(MICROSECOND);
        let place = record.place();
        match record.dissect() {
            Ok(segment) => {
                segments += 1;
                let packet = Observed::new(now, &segment);
                let verdict = table.handle_packet(&packet);
                each(Step {
                    frame: place.record,
                    packet: &packet,
                    verdict,
                    table: &table,
                })?;
            }
            Err(obstacle) => reader.note_obstacle(place, &obstacle),
        }
    }
    Ok(Capture {
        name,
        format: reader.format().to_string(),
        packets: reader.records(),
        segments,
        notes: reader.notes().iter().copied().collect(),
        table,
        unit_ns: if is_finer { 1 } else { MICROSECOND },
    })
}

/// Why a capture cannot be read.
pub(super) fn refused(name: &str, error: &ReadError) -> Failure {
    let mut message = match error {
        ReadError::Open { .. } => error.to_string(),
        _ => format!("{name}: {error}"),
    };
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    let failure = Failure::new(message);
    match error {
        ReadError::Unknown { .. } | ReadError::NoPackets { .. } => {
            failure.hint("captures are pcap, pcapng or printed packets, plain, gzip or zstd")
        }
        _ => failure,
    }
}
