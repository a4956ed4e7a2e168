//! The answers of `gigatcp why` for captures, as text and as JSON. The command, the page in a
//! browser and annotated captures print these.
//!
//! | file | content |
//! |---|---|
//! | `order.rs` | the answered connections, largest first |
//! | `answer.rs` | one answer: a sentence and its lines |
//! | `not_shown.rs` | connections that are only counted |
//! | `detail.rs` | all verdicts and evidence |
//! | `text.rs`, `json.rs` | all answers for captures |
//! | `row.rs` | a line of a table for each connection |

pub mod answer;
pub mod detail;
pub mod json;
mod not_shown;
mod order;
pub mod row;
pub mod text;

use gigatcp_analyze::{Capture, Diagnosis, Error, PairedDiagnosis};
use gigatcp_flows::Connection;
use serde_json::Value;

pub use order::{Order, Place, SHOWN};

/// Connections whose state each thread holds ([`gigatcp_analyze::Options::held`]): those that are
/// answered by default, and those of which the time is summed.
pub const HELD: usize = SHOWN + not_shown::DIAGNOSED;

/// The kernel's counters of a connection next to the diagnosis of its packets, in a sentence.
pub type Counters = Box<dyn Fn(&Connection, &Diagnosis) -> Option<String>>;

/// Prediction for the fix of an answer.
#[derive(Clone, Debug)]
pub struct PredictedFix {
    /// Words that follow the label `What if`.
    pub text: String,
    /// The same as JSON.
    pub json: Value,
}

/// A capture that was read, and which of its connections were requested.
#[allow(missing_debug_implementations)]
pub struct AnsweredCapture {
    /// The capture.
    pub capture: Capture,
    /// Indices of connections that were requested by number; empty if none was.
    pub chosen: Vec<usize>,
    /// Whether JSON has all verdicts and intervals.
    pub is_verbose: bool,
    /// Predicts the effect of a fix, if that was requested.
    pub predict: Option<fn(&Diagnosis) -> PredictedFix>,
    /// Limits measured by the run, if the capture belongs to a stored run.
    pub account: Option<String>,
    /// The kernel's counters, if they were read while the packets were captured.
    pub counters: Option<Counters>,
    /// Packets that were not captured because the host was too busy, if that is known.
    pub not_captured: Option<u64>,
}

impl AnsweredCapture {
    /// A capture of which all connections may be answered.
    pub const fn new(capture: Capture) -> Self {
        Self {
            capture,
            chosen: Vec::new(),
            is_verbose: false,
            predict: None,
            account: None,
            counters: None,
            not_captured: None,
        }
    }

    /// The kernel's counters of a connection, next to the diagnosis of its packets.
    pub fn counters(&self, index: usize, packets: &Diagnosis) -> Option<String> {
        let connection = self.capture.connections().connection(index)?;
        self.counters.as_ref()?(connection, packets)
    }

    /// The connections that may be answered: those requested, or all with data.
    fn candidates(&self) -> Vec<usize> {
        let with_data = self.capture.connections().with_data();
        if self.chosen.is_empty() {
            return with_data;
        }
        let chosen = self.chosen.iter().copied();
        chosen
            .filter(|index| with_data.binary_search(index).is_ok())
            .collect()
    }
}

/// The diagnosis of a connection, and its place in the captures.
#[derive(Debug)]
pub struct Diagnosed {
    /// The capture that packet numbers refer to, and the connection in it.
    pub capture: usize,
    /// Index of the connection in it.
    pub index: usize,
    /// The connection in the other capture, if both were analyzed jointly.
    far: Option<Far>,
    /// The kernel's counters of it, if they were read.
    counters: Option<String>,
    /// What limited it.
    pub diagnosis: Diagnosis,
}

/// A connection in the other capture of a pair.
#[derive(Clone, Copy, Debug)]
struct Far {
    capture: usize,
    index: usize,
}

impl Diagnosed {
    /// The answers for connections of these captures, in their order. Those without data are left
    /// out.
    ///
    /// # Errors
    /// [`Error`] if a capture cannot be read again.
    pub fn all<'a>(
        captures: &'a [&'a AnsweredCapture],
        pairs: &'a [PairedDiagnosis],
        places: &'a [Place],
    ) -> impl Iterator<Item = Result<Self, Error>> + 'a {
        let pair_of = move |place: &Place| {
            pairs
                .iter()
                .find(|pair| pair.near == place.capture && pair.indices[pair.near] == place.index)
        };
        let alone = |capture: usize| {
            places
                .iter()
                .filter(|place| place.capture == capture && pair_of(place).is_none())
                .map(|place| place.index)
                .collect()
        };
        let mut alone: Vec<_> = captures
            .iter()
            .enumerate()
            .map(|(capture, loaded)| loaded.capture.diagnoses(alone(capture)).peekable())
            .collect();
        places.iter().filter_map(move |place| {
            let Place { capture, index, .. } = *place;
            let pair = pair_of(place);
            let diagnosis = match pair {
                Some(pair) => pair.diagnosis.clone(),
                None => {
                    let is_next = |next: &Result<(usize, _), _>| match next {
                        Ok((found, _)) => *found == index,
                        Err(_) => true,
                    };
                    match alone[capture].next_if(is_next)? {
                        Ok((_, diagnosis)) => diagnosis,
                        Err(error) => return Some(Err(error)),
                    }
                }
            };
            Some(Ok(Self {
                capture,
                index,
                far: pair.map(|pair| Far {
                    capture: 1 - pair.near,
                    index: pair.indices[1 - pair.near],
                }),
                counters: captures[capture].counters(index, &diagnosis),
                diagnosis,
            }))
        })
    }
}
