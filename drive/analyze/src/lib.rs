//! Analyzes captures: from files to what limited each connection.
//!
//! Combines capture readers (`gigatcp-capture`), connection tracking (`gigatcp-flows`) and
//! diagnosis (`gigatcp-why`) in one place. Its callers are the command, tests, fuzz targets and
//! graders.
//!
//! ```
//! use gigatcp_analyze::{Options, Source, analyze};
//!
//! let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/captures/transfer.txt");
//! let analysis = analyze(&[Source::file(file)], &Options::default())?;
//! for answer in analysis.answers() {
//!     println!("{}", answer.diagnosis.limited_by());
//! }
//! # let answers: Vec<_> = analysis.answers().collect();
//! # assert_eq!(answers.len(), 1);
//! # assert!(!answers[0].diagnosis.verdicts.is_empty());
//! # Ok::<(), gigatcp_analyze::Error>(())
//! ```
//!
//! | to get | call | memory |
//! |---|---|---|
//! | what limited each connection, two captures of one joined | [`analyze`] | all connections |
//! | the same in parts, file by file | [`Capture::read`], [`diagnose_pairs`] | all connections |
//! | the same with many connections: [`Options::held`] | [`Capture::diagnoses`] | counts of all, state of the largest |
//! | one row per connection of a large capture | [`summarize`] | open connections |
//! | counts and every segment, without a diagnosis | [`follow`] | counts of all connections |
//! | the packets of chosen connections once more | [`revisit`] | the caller's |
//! | a copy with the findings as comments of packets | [`annotate`] | the comments |
//! | a diagnosis of packets that are in no file | [`Analyzer`] | all connections |
//!
//! Threads share the connections of an uncompressed file; results do not depend on their number.
//! Reading reports progress and can be stopped ([`Options`]). Oddities of a capture do not end the
//! analysis. They are counted by kind, each with the place of the first ([`CaptureInfo`]).
//!
//! | file | what |
//! |---|---|
//! | `source.rs`, `options.rs`, `error.rs` | input, options and errors |
//! | `walk.rs` | the segments of a capture, fragments reassembled |
//! | `shares.rs` | threads that share connections |
//! | `tracker.rs` | one thread's share of the connections |
//! | `capture.rs`, `connections.rs` | a capture read to its end |
//! | `held.rs`, `diagnoses.rs` | the state of the largest connections; others read again |
//! | `pairs.rs` | two captures of one connection |
//! | `summary.rs` | one row per connection |
//! | `follow.rs`, `revisit.rs` | segment by segment; chosen connections in a second pass |
//! | `annotate.rs` | a copy with comments |
//! | `graph/` | the time-sequence graph of a connection |
//! | `packets.rs` | packets without a file |
//! | `reports/` | reports of testers and of `ss` in place of a capture |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod annotate;
mod capture;
mod connections;
mod diagnoses;
mod error;
mod follow;
pub mod graph;
mod held;
mod name_lookups;
mod options;
mod packets;
mod pairs;
mod programs;
pub mod reports;
mod revisit;
mod shares;
mod source;
mod summary;
#[cfg(test)]
mod tests;
mod tracker;
mod walk;

use std::cmp::Reverse;

pub use annotate::{AnnotateError, Annotated, MARK, annotate};
pub use capture::Capture;
pub use connections::Connections;
pub use diagnoses::Diagnoses;
pub use error::Error;
pub use follow::{FlowCounts, Step, check, follow};
pub use gigatcp_capture::{Format, Note, NoteKind, ReadError};
pub use gigatcp_why::{
    AcceptQueue, CapturePoint, Diagnosis, NoData, NoDataKind, RepeatedHandshakes, Slice, Slices,
    loss_window,
};
pub use options::{Options, Progress};
pub use packets::Analyzer;
pub use pairs::{ConnectionKey, PairedDiagnosis, diagnose_pairs};
pub use revisit::{Chosen, Visitor, revisit};
pub use source::{MAX_TEXT, Source, is_text};
pub use summary::{Summary, SummaryRow, summarize};
pub use walk::CaptureInfo;

/// Maximum connections for which two captures are joined, the largest of the first capture.
const MAX_PAIRED: usize = 64;

/// Result of an analysis: connections and what limited them.
#[derive(Debug)]
pub struct Analysis {
    captures: Vec<Capture>,
    pairs: Vec<PairedDiagnosis>,
}

/// Diagnosis of one connection, with its origin.
#[derive(Debug)]
pub struct Answer {
    /// Index of the capture that packet numbers refer to.
    pub capture: usize,
    /// Index of the connection in that capture.
    pub connection: usize,
    /// Whether two captures were joined for it.
    pub is_joined: bool,
    /// Diagnosis of the connection.
    pub diagnosis: Diagnosis,
}

/// Reads captures and diagnoses the connections in them.
///
/// With exactly two captures, connections in both are diagnosed from both: the 64 largest of the
/// first capture. [`diagnose_pairs`] diagnoses others. Captures that are joined are read twice.
///
/// # Errors
/// [`Error`] of the first capture that cannot be read.
pub fn analyze(files: &[Source], options: &Options<'_>) -> Result<Analysis, Error> {
    let read = |source: &Source| match files.len() {
        2 => Capture::read(&source.clone().rereadable()?, options),
        _ => Capture::read(source, options),
    };
    let captures: Vec<Capture> = files.iter().map(read).collect::<Result<_, _>>()?;
    let pairs = match &captures[..] {
        [first, second] => {
            let mut chosen = first.connections().largest_first();
            chosen.truncate(MAX_PAIRED);
            diagnose_pairs([first, second], &chosen, options)?
        }
        _ => Vec::new(),
    };
    Ok(Analysis { captures, pairs })
}

impl Analysis {
    /// Captures, in the order of the sources.
    pub fn captures(&self) -> &[Capture] {
        &self.captures
    }

    /// Joint diagnoses of connections that are in both captures.
    pub fn pairs(&self) -> &[PairedDiagnosis] {
        &self.pairs
    }

    /// One answer for each connection that carried data, largest first.
    ///
    /// A connection in two captures has one answer, from both.
    pub fn answers(&self) -> impl Iterator<Item = Answer> {
        let mut all: Vec<(Reverse<u64>, usize, usize)> = Vec::new();
        for (capture, read) in self.captures.iter().enumerate() {
            let connections = read.connections();
            let sized = connections.with_data().into_iter();
            all.extend(sized.map(|index| {
                let bytes = connections.data_bytes(index);
                (Reverse(bytes), capture, index)
            }));
        }
        all.sort_unstable();
        all.into_iter()
            .filter_map(|(_, capture, connection)| self.answer(capture, connection))
    }

    /// Slices of a connection's time, for graders and for fitting weights. With two joined captures
    /// they are from both.
    pub fn slices(&self, answer: &Answer) -> Option<Slices> {
        let connections = self.captures[answer.capture].connections();
        let (watcher, index) = connections.at(answer.connection)?;
        let mut pairs = self.pairs.iter();
        let is_it = |pair: &&PairedDiagnosis| pair.indices[answer.capture] == answer.connection;
        let pair = pairs.find(is_it).filter(|_| answer.is_joined);
        let second = match pair {
            Some(pair) => {
                let far = 1 - pair.near;
                let other = self.captures[far].connections().at(pair.indices[far])?;
                pair.between.as_ref().map(|between| (other, between))
            }
            None => None,
        };
        watcher.slices(index, second)
    }

    /// Answer for a connection of a capture. `None` if the other capture of its pair has the
    /// answer.
    fn answer(&self, capture: usize, connection: usize) -> Option<Answer> {
        let mut pairs = self.pairs.iter();
        if let Some(pair) = pairs.find(|pair| pair.indices[capture] == connection) {
            return (capture == pair.near).then(|| Answer {
                capture,
                connection,
                is_joined: true,
                diagnosis: pair.diagnosis.clone(),
            });
        }
        Some(Answer {
            capture,
            connection,
            is_joined: false,
            diagnosis: self.captures[capture].connections().diagnose(connection)?,
        })
    }
}
