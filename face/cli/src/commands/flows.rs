//! `gigatcp flows`: the connections of captures, and what each did.
//!
//! The analysis is `gigatcp-flows`; here files are read, and facts aligned.
//! What is odd about a file is said with its place and does not keep the rest
//! from being read.

pub(super) mod clocks;
pub(super) mod facts;
mod flags;
mod view;

pub(super) use view::note_json;

use std::fs::File;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gigatcp_capture::{CaptureReader, ReadError};
use gigatcp_flows::{Details, FlowTable, Observed, Packet, Verdict};
use gigatcp_report::escape::terminal;
use gigatcp_units::Instant;
use gigatcp_why::Outlines;

use super::Outcome;
use super::graphs::{self, Known, Outputs, Survey};
use super::segments::{About, Found, Walk};
use crate::failure::Failure;
use crate::json::Each;
use crate::{nearest, output};

/// What can be typed.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show the TCP connections of captures, and what each did",
    long_about = "\
Show the TCP connections of captures: octets, retransmissions by kind, reordering, round trips, \
windows, resets, and what the capture lacks.

Captures are pcap, pcapng, snoop or printed packets (tcpdump's text, also in the middle of \
prose), plain, gzip or zstd; - is standard input. Several files are looked at one after the \
other. What is odd about a file is said on stderr with its offset, and the rest is read. \
Packets inside VXLAN, Geneve, GTP-U, GRE, ERSPAN, MPLS, PPPoE, VLAN tags and unencrypted \
802.11 are read; packets without a TCP segment are counted by what they are.

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
    pub(super) about: About,
    pub(super) segments: u64,
    pub(super) table: FlowTable,
    /// The first packet of each connection.
    first_packets: Vec<u64>,
    unit: Unit,
    /// What only the detailed view counts and follows, where it was asked for.
    details: Details,
    outlines: Outlines,
}

/// What all times are whole multiples of.
#[derive(Clone, Copy, Default)]
pub(super) struct Unit {
    is_finer: bool,
}

impl Unit {
    #[inline(always)]
    pub(super) const fn add(&mut self, at: Instant) {
        self.is_finer |= !at.as_nanos().is_multiple_of(MICROSECOND);
    }

    /// Of two parts of a capture.
    pub(super) const fn or(self, other: Self) -> Self {
        Self {
            is_finer: self.is_finer | other.is_finer,
        }
    }

    /// In nanoseconds: 1000 or 1.
    pub(super) const fn as_nanos(self) -> u64 {
        if self.is_finer { 1 } else { MICROSECOND }
    }
}

/// Where a capture comes from, once or several times.
pub(super) enum Source {
    /// A file.
    File(PathBuf),
    /// Standard input, as it comes.
    Input,
    /// Standard input or a pipe, held in memory.
    Held {
        /// What it is called.
        name: String,
        /// All of it.
        octets: Arc<[u8]>,
    },
}

impl Source {
    /// `file`, or standard input where that is `-`; what can be read only once is
    /// held where it is to be read more often.
    pub(super) fn new(file: &Path, is_read_again: bool) -> Result<Self, Failure> {
        let is_input = file.as_os_str() == "-";
        if !is_read_again && is_input {
            return Ok(Self::Input);
        }
        if !is_read_again || !is_input && !is_pipe(file) {
            return Ok(Self::File(file.to_owned()));
        }
        let name = file.display().to_string();
        let what = if is_input { "standard input" } else { &name };
        let octets = if is_input {
            held(io::stdin().lock())
        } else {
            File::open(file).and_then(held)
        };
        let octets = octets.map_err(|error| Failure::io(&format!("read {what}"), &error))?;
        if octets.len() as u64 > MOST_HELD {
            return Err(Failure::new(format!(
                "{what} has more than 1 GiB, and graphs read a capture twice"
            ))
            .hint("write it to a file, and name that"));
        }
        let octets = octets.into();
        Ok(Self::Held { name, octets })
    }

    /// What it is called.
    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Input => "-".into(),
            Self::Held { name, .. } => name.clone(),
        }
    }

    /// Octets of it, where that is known.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File(path) => path.metadata().map_or(0, |about| about.len()),
            Self::Input => 0,
            Self::Held { octets, .. } => octets.len() as u64,
        }
    }

    /// Begins to read it.
    pub(super) fn open(&self) -> Result<CaptureReader, ReadError> {
        match self {
            Self::File(path) => CaptureReader::open(path),
            Self::Input => CaptureReader::standard_input(),
            Self::Held { octets, .. } => {
                CaptureReader::from_reader(Cursor::new(Arc::clone(octets)))
            }
        }
    }
}

/// Whether it is neither file nor folder, and so can be read once.
pub(super) fn is_pipe(file: &Path) -> bool {
    file.exists() && !file.is_file() && !file.is_dir()
}

/// All of it, or an octet more than may be held.
fn held(from: impl Read) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    from.take(MOST_HELD + 1).read_to_end(&mut octets)?;
    Ok(octets)
}

/// In nanoseconds.
const MICROSECOND: u64 = 1_000;

/// Octets of standard input or a pipe that are held at most.
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
    if arguments.json {
        return show_json(arguments);
    }
    for file in &arguments.files {
        let capture = taken(arguments, file)?;
        let mut out = output::Stream::new();
        if arguments.files.len() > 1 {
            out.write(&format!("{}:\n", terminal(&capture.name)))?;
        }
        if arguments.long {
            for index in 0..capture.table.len() {
                out.write(&view::long(&capture, index))?;
            }
        } else {
            out.write(&view::lines(&capture))?;
        }
        out.finish()?;
    }
    Ok(())
}

/// The same for programs, each capture let go when it is written.
fn show_json(arguments: &Arguments) -> Result<(), Failure> {
    check_captures(&arguments.files)?;
    // Nothing is written where already the first cannot be read.
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

/// Whether these can be read, before anything of several is written.
pub(super) fn check_captures(files: &[PathBuf]) -> Result<(), Failure> {
    // A pipe can be opened once.
    let is_checked = |file: &&PathBuf| file.as_os_str() != "-" && !is_pipe(file);
    for file in files.iter().filter(is_checked) {
        let source = Source::File(file.clone());
        // Of text only its packets tell.
        let begun = source
            .open()
            .and_then(|reader| Walk::new(reader).stretch(&mut |_: Found<'_>| ()));
        begun.map_err(|error| refused(&source.name(), &error))?;
    }
    Ok(())
}

/// Reads a file, says what is odd, and draws what is asked for.
fn taken(arguments: &Arguments, file: &Path) -> Result<Capture, Failure> {
    let source = Source::new(file, arguments.outputs.reads_again())?;
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
            Known::default()
        })?;
    }
    Ok(capture)
}

impl Capture {
    /// What its graphs are made by.
    fn survey(&self) -> Survey<'_> {
        let seen = self.table.connections().zip(&self.first_packets);
        Survey {
            name: &self.name,
            format: &self.about.format,
            packets: self.about.packets,
            segments: self.segments,
            connections: seen.map(|(one, first)| (one, *first)).collect(),
            unit_ns: self.unit.as_nanos(),
            threads: None,
        }
    }

    /// Says what was odd about it.
    fn say_notes(&self) {
        for note in &self.about.notes {
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
    let reader = source.open().map_err(|error| refused(&name, &error))?;
    let mut walk = Walk::new(reader);
    // Whoever sends packets must not know which of them collide.
    let mut table = FlowTable::new(RandomState::new().build_hasher().finish());
    let mut first_packets = Vec::new();
    let mut segments = 0;
    let mut unit = Unit::default();
    let mut failed = None;
    loop {
        let more = walk.stretch(&mut |found: Found<'_>| {
            unit.add(found.at);
            let Some(segment) = found.segment.filter(|_| failed.is_none()) else {
                return;
            };
            segments += 1;
            let packet = segment.observed();
            let verdict = table.handle_packet(&packet);
            if verdict.connection == first_packets.len() {
                first_packets.push(found.number);
            }
            let step = Step {
                frame: found.number,
                packet: &packet,
                verdict,
                table: &table,
            };
            failed = each(step).err();
        });
        let is_over = !more.map_err(|error| refused(&name, &error))?;
        if let Some(failure) = failed {
            return Err(failure);
        }
        if is_over {
            break;
        }
    }
    Ok(Capture {
        name,
        about: walk.about(),
        segments,
        table,
        first_packets,
        unit,
        details: Details::new(),
        outlines: Outlines::new(),
    })
}

/// Why a capture cannot be read.
pub(super) fn refused(name: &str, error: &ReadError) -> Failure {
    let failure = match error {
        ReadError::Open { .. } => Failure::caused(error),
        _ => Failure::caused(error).within(name),
    };
    let failure = failure.effect("nothing was read of it");
    match error {
        ReadError::Unknown { .. } | ReadError::NoPackets { .. } | ReadError::Empty => {
            failure.hint("captures are pcap, pcapng, snoop or printed packets, plain, gzip or zstd")
        }
        ReadError::Open { path, .. } if path.is_symlink() && !path.exists() => {
            failure.hint("it is a link that points nowhere: name the capture itself")
        }
        ReadError::Open { path, source } if source.kind() == io::ErrorKind::NotFound => {
            match nearest::neighbour(path, "") {
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
            "name a capture; `gigatcp why` also takes a folder that `gigatcp run` has stored",
        ),
        _ => failure,
    }
}
