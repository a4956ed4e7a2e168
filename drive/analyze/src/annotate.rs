//! Copies a capture as pcapng, with what was found in it as comments that any Wireshark shows.
//!
//! The file has the answers as its comment. The first packet of each diagnosed connection has its
//! answer, a packet about where another cause begins has that cause (within an RTT, or within the
//! RTTs that were merged in a long transfer), and packets that prove a cause have the evidence. Every comment begins with [`MARK`], so `frame.comment contains "GigaTCP"`
//! finds them.
//!
//! Packets keep their bytes, times, order, interfaces, directions and earlier comments. What is
//! about no packet is not copied: names of hosts, secrets for decryption, frame check sequences.

use std::collections::BTreeMap;
use std::io::Write;
use std::vec;

use gigatcp_capture::{
    CaptureError, CaptureReader, Format, Interface, InterfaceId, PcapngWriter, Record, SnapLength,
};
use gigatcp_flows::{Connection, Observed, Verdict};
use gigatcp_units::Instant;
use gigatcp_units::grammar::human_duration;
use gigatcp_why::{CAUSES, Diagnosis};

use crate::capture::Capture;
use crate::error::Error;
use crate::options::Options;
use crate::revisit::{Chosen, Visitor, revisit};

/// Beginning of every comment.
pub const MARK: &str = "GigaTCP: ";

/// Maximum bytes of a comment (16-bit length of a pcapng option).
const MAX_COMMENT: usize = u16::MAX as usize;

/// End of a comment that was cut.
const CUT: &str = "\n... (cut: pcapng holds 65535 bytes)";

/// Result of [`annotate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotated {
    /// Packets copied.
    pub packets: u64,
    /// Comments added to them.
    pub comments: u64,
}

/// Why a capture was not annotated.
#[derive(Debug, thiserror::Error)]
pub enum AnnotateError {
    /// The capture cannot be read again.
    #[error(transparent)]
    Read(#[from] Error),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] CaptureError),
    /// The capture consists of printed packets, which lack parts of real ones.
    #[error("printed packets lack parts of real ones")]
    Printed,
}

/// Copies a capture to `out` with comments about these connections. `summary` is the comment of the
/// file.
///
/// # Errors
/// [`AnnotateError`].
pub fn annotate(
    capture: &Capture,
    connections: Vec<usize>,
    summary: &str,
    out: impl Write,
) -> Result<Annotated, AnnotateError> {
    if capture.info().format == Format::Text {
        return Err(AnnotateError::Printed);
    }
    let comments = comments(capture, connections)?;
    let added = comments.values().map(|texts| texts.len() as u64).sum();
    let opened = capture.source().open();
    let reader = opened.map_err(|source| read_error(capture, source))?;
    let writer = PcapngWriter::with_comment(out, &fitted(summary.trim_end()))?;
    let packets = Copy::new(reader, writer).all(capture, comments)?;
    Ok(Annotated {
        packets,
        comments: added,
    })
}

fn read_error(capture: &Capture, source: gigatcp_capture::ReadError) -> AnnotateError {
    AnnotateError::Read(Error::Read {
        name: capture.name(),
        source,
    })
}

/// Comments by the number of their packet.
type Comments = BTreeMap<u64, Vec<String>>;

/// Comments about these connections.
fn comments(capture: &Capture, connections: Vec<usize>) -> Result<Comments, Error> {
    let mut comments = Comments::new();
    let mut chosen = Vec::new();
    let mut timelines = Vec::new();
    for diagnosed in capture.diagnoses(connections) {
        let (index, diagnosis) = diagnosed?;
        let known = capture.connections();
        let Some((connection, first_packet)) =
            known.connection(index).zip(known.first_packet(index))
        else {
            continue;
        };
        chosen.push(Chosen {
            connection,
            first_packet,
        });
        timelines.push(timeline(&diagnosis));
        comments
            .entry(first_packet)
            .or_default()
            .push(answer(&diagnosis));
        for (packet, text) in evidence(&diagnosis) {
            comments.entry(packet).or_default().push(text);
        }
    }
    let options = Options::default();
    let begin = |place: usize, _: &Connection| Placing {
        timeline: timelines[place].clone().into_iter().peekable(),
        placed: Vec::new(),
    };
    for (packet, text) in revisit(capture.source(), &options, &chosen, begin)?
        .into_iter()
        .flatten()
    {
        comments.entry(packet).or_default().push(text);
    }
    Ok(comments)
}

/// Answer for a connection: its sentence, then a line for each label.
fn answer(diagnosis: &Diagnosis) -> String {
    let answer = diagnosis.answer();
    let mut text = format!("{MARK}{}", answer.sentence);
    for (label, line) in answer.lines() {
        let separator = if label.is_empty() { "" } else { ": " };
        text.push_str(&format!("\n{label}{separator}{line}"));
    }
    text
}

/// Evidence that has a packet, by its number.
fn evidence(diagnosis: &Diagnosis) -> impl Iterator<Item = (u64, String)> {
    diagnosis.verdicts.iter().flat_map(|verdict| {
        let placed = verdict.evidence.iter().filter_map(|piece| {
            let text = format!("{MARK}evidence of {}: {}", verdict.cause.id, piece.text);
            Some((piece.packet?, text))
        });
        placed.collect::<Vec<_>>()
    })
}

/// Beginning of each interval, and the cause that limited then.
fn timeline(diagnosis: &Diagnosis) -> Vec<(Instant, String)> {
    let spans = diagnosis.spans.iter().map(|span| {
        let cause = span.cause.map_or("unknown", |cause| CAUSES[cause].id);
        let length = human_duration(span.length);
        (
            span.start,
            format!("{MARK}{cause} from about here, for {length}"),
        )
    });
    spans.collect()
}

/// Finds the first packet of a connection in each interval of its timeline.
struct Placing {
    timeline: std::iter::Peekable<vec::IntoIter<(Instant, String)>>,
    placed: Vec<(u64, String)>,
}

impl Visitor for Placing {
    type Output = Vec<(u64, String)>;

    fn handle_packet(&mut self, number: u64, packet: &Observed, _: &Verdict, _: &Connection) {
        while let Some((_, text)) = self.timeline.next_if(|(start, _)| *start <= packet.at) {
            // An interval between two packets is within the next one.
            self.placed.pop_if(|(placed, _)| *placed == number);
            self.placed.push((number, text));
        }
    }

    fn finish(self) -> Self::Output {
        self.placed
    }
}

/// A capture on its way from a reader to a writer.
struct Copy<W: Write> {
    reader: CaptureReader,
    writer: PcapngWriter<W>,
    /// Interfaces of the copy, in the order of the original.
    interfaces: Vec<InterfaceId>,
    /// Bytes of the current packet.
    octets: Vec<u8>,
}

impl<W: Write> Copy<W> {
    const fn new(reader: CaptureReader, writer: PcapngWriter<W>) -> Self {
        Self {
            reader,
            writer,
            interfaces: Vec::new(),
            octets: Vec::new(),
        }
    }

    /// Copies all packets; returns their number.
    fn all(mut self, capture: &Capture, mut comments: Comments) -> Result<u64, AnnotateError> {
        // A capture that grows meanwhile ends where its diagnosis does.
        let last = capture.info().packets;
        loop {
            let next = self.reader.next_record();
            let Some(record) = next.map_err(|source| read_error(capture, source))? else {
                break;
            };
            if record.number > last {
                break;
            }
            for comment in record.options.comments() {
                self.writer.comment_next(comment)?;
            }
            for comment in comments.remove(&record.number).unwrap_or_default() {
                self.writer.comment_next(&fitted(&comment))?;
            }
            // The description of its interface is in the reader, which the record borrows.
            self.octets.clear();
            self.octets.extend_from_slice(record.octets);
            let record = Record {
                octets: &self.octets,
                options: gigatcp_capture::Options::default(),
                ..record
            };
            let interface = record.interface as usize;
            while self.interfaces.len() <= interface {
                let described = &self.reader.interfaces()[self.interfaces.len()];
                self.interfaces
                    .push(self.writer.add_interface(copied(described))?);
            }
            self.writer
                .write_record(self.interfaces[interface], &record)?;
        }
        for (described, id) in self.reader.interfaces().iter().zip(&self.interfaces) {
            if let Some(lost) = described.lost {
                self.writer.write_lost(*id, lost)?;
            }
        }
        let packets = self.writer.packets();
        self.writer.finish()?;
        Ok(packets)
    }
}

/// Description of an interface in the copy.
fn copied(described: &gigatcp_capture::CapturedInterface) -> Interface {
    Interface {
        link: described.link,
        snap_length: match described.snap_len {
            0 => SnapLength::Whole,
            octets => SnapLength::Octets(octets),
        },
        ..Interface::new(described.name.clone().unwrap_or_default())
    }
}

/// A comment that fits into pcapng.
fn fitted(comment: &str) -> String {
    if comment.len() <= MAX_COMMENT {
        return comment.to_owned();
    }
    let mut ends = (0..=MAX_COMMENT - CUT.len()).rev();
    let end = ends.find(|end| comment.is_char_boundary(*end));
    format!("{}{CUT}", &comment[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comment_that_is_too_long_is_cut_between_characters() {
        assert_eq!(fitted("short"), "short");
        for filler in 0..4 {
            let long = format!("{}{}", "x".repeat(filler), "é".repeat(MAX_COMMENT));
            let fitted = fitted(&long);
            assert!(fitted.len() <= MAX_COMMENT && fitted.len() + 2 >= MAX_COMMENT);
            assert!(fitted.ends_with(CUT));
        }
    }
}
