//! `gigatcp flows`: the connections of captures, and what each did.
//!
//! The analysis is `gigatcp-flows`; here files are read, and facts aligned.
//! What is odd about a file is said with its place and does not keep the rest
//! from being read.

mod facts;
mod flags;
mod view;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};

use gigatcp_capture::{CaptureReader, Note, ReadError};
use gigatcp_flows::{FlowTable, Observed, Verdict};
use gigatcp_report::escape::terminal;
use gigatcp_units::Instant;

use super::Outcome;
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
    #[arg(long, value_name = "TOOL", conflicts_with = "long")]
    flags: Option<Tool>,
}

/// Whose flags.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Tool {
    /// The tcp.analysis flags of Wireshark and tshark
    Wireshark,
}

/// A capture that was read.
pub(super) struct Capture {
    name: String,
    format: String,
    packets: u64,
    segments: u64,
    notes: Vec<Note>,
    table: FlowTable,
}

/// Reads and shows.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    match arguments.flags {
        Some(Tool::Wireshark) => flags::show(arguments)?,
        None => show(arguments)?,
    }
    Ok(Outcome::Done)
}

/// The connections of each file.
fn show(arguments: &Arguments) -> Result<(), Failure> {
    let mut captures = Vec::new();
    for file in &arguments.files {
        let capture = read(file, |_| Ok(()))?;
        capture.say_notes();
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
struct Step<'a> {
    /// Which packet of the file it is, from 1.
    frame: u64,
    packet: &'a Observed,
    verdict: Verdict,
    table: &'a FlowTable,
}

/// Reads all of it; `each` sees every segment.
fn read(
    file: &Path,
    mut each: impl FnMut(Step<'_>) -> Result<(), Failure>,
) -> Result<Capture, Failure> {
    let name = file.display().to_string();
    let opened = if name == "-" {
        CaptureReader::standard_input()
    } else {
        CaptureReader::open(file)
    };
    let mut reader = opened.map_err(|error| refused(&name, &error))?;
    // Whoever sends packets must not know which of them collide.
    let mut table = FlowTable::new(RandomState::new().build_hasher().finish());
    let mut now = Instant::ZERO;
    let mut segments = 0;
    loop {
        let record = match reader.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return Err(refused(&name, &error)),
        };
        // A packet without a time came at the time of the one before.
        now = record.time.unwrap_or(now);
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
    })
}

fn refused(name: &str, error: &ReadError) -> Failure {
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
        ReadError::Unknown { .. } => {
            failure.hint("captures are pcap, pcapng or printed packets, plain, gzip or zstd")
        }
        _ => failure,
    }
}
