//! Diagnoses what limited a connection: time attribution and verdicts.
//!
//! [`Watcher::handle_packet`] takes the packets of a capture one after the other;
//! [`Watcher::diagnose`] returns a [`Diagnosis`] of a connection. Every instant is attributed to
//! one cause or is unknown; the times add up to the duration.
//!
//! 1. Each direction with data is followed as its sender experienced it (`sender_view.rs`): at each
//!    instant the sender is in one [`State`].
//! 2. States are kept by rounds (`round.rs`), losses by recovery episodes (`episode.rs`).
//! 3. At the end they are measured ([`features`], from `measures/`): quantities with units,
//!    before any cause is considered.
//! 4. Each [cause](CAUSES) is scored in each round as a log likelihood ratio (`score.rs`),
//!    and a slice of time is attributed to the most probable one (`account.rs`).
//!
//! | file | what |
//! |---|---|
//! | `watcher.rs` | all connections of a capture |
//! | `sender_view.rs`, `sender_view/` | one direction as its sender experienced it |
//! | `monotone.rs` | capture time that never steps back |
//! | `echoes.rs` | bounds from timestamps on when a segment was made |
//! | `round.rs`, `episode.rs` | rounds; losses and their recovery |
//! | `packed.rs`, `samples.rs` | rounds in few bytes; statistics of a round |
//! | `exchange.rs` | requests and responses: think time, transfer, RTTs |
//! | `icmp_errors.rs` | ICMP errors about segments of a host |
//! | `capture_point.rs` | the capture point |
//! | `segment_size.rs` | size of full segments, and its cause |
//! | `capture_context.rs` | capture point and segment size, in few bytes per connection |
//! | `capture_pair.rs` | combined findings of two captures of one connection |
//! | `measures/` | quantities of a direction: path, losses, sending |
//! | `features.rs` | the features of a round, their units and knots |
//! | `trigger.rs`, `chain.rs` | what caused a loss event, where facts decide; its mechanism and effect |
//! | `facts.rs`, `conditions.rs` | what a capture shows, and what causes require of it |
//! | `causes/` | one cause in one file |
//! | `score.rs`, `weights/`, `calibration.rs` | probability of each cause; the fitted numbers |
//! | `counters/` | the same diagnosis from counters of hosts |
//! | `outcome.rs` | what is decided by rule before a limit is weighed |
//! | `handshakes.rs`, `accept_queue.rs` | what connections of a server show together |
//! | `no_data.rs` | what became of a connection without data |
//! | `one_direction.rs`, `one_direction/` | what the packets of one host show |
//! | `account.rs`, `cost.rs` | time and cost of each cause |
//! | `limits.rs` | limits other than the primary cause, and the quantities that they follow from |
//! | `next_limit.rs` | the next limit after the primary cause |
//! | `verdict.rs`, `sentence.rs`, `summary.rs` | the diagnosis, its first line, and its figures |
//! | `answer.rs`, `contradictions.rs` | what every renderer prints, and what may not be printed |
//!
//! Out of scope: files. Properties that only a host knows (its CPU, its buffers) are inferred from
//! its behavior on the wire, with what is indistinguishable from it.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod accept_queue;
mod account;
mod answer;
mod calibration;
mod capture_context;
mod capture_pair;
mod capture_point;
mod causes;
mod chain;
mod conditions;
mod contradictions;
#[cfg(test)]
mod conversation;
mod cost;
pub mod counters;
mod cut;
mod echoes;
mod episode;
mod exchange;
mod facts;
pub mod features;
mod handshakes;
mod icmp_errors;
mod limits;
mod measures;
mod monotone;
mod next_limit;
mod no_data;
mod one_direction;
mod outcome;
mod packed;
mod round;
mod samples;
mod score;
mod segment_size;
mod sender_view;
mod sentence;
mod summary;
pub mod trains;
mod trigger;
mod verdict;
mod watcher;
pub mod weights;

pub use accept_queue::AcceptQueue;
pub use account::{DECIDED, MIN_PROBABILITY, Span};
pub use answer::{Answer, Gain};
pub use capture_context::{CaptureContext, Outlines, data_sender, shown_bytes};
pub use capture_pair::{CapturePair, Delay};
pub use capture_point::CapturePoint;
pub use causes::{CAUSES, Cause, Evidence, find};
pub use conditions::Condition;
pub use contradictions::RULES as CONTRADICTIONS;
pub use cost::Cost;
pub use cut::Cut;
pub use facts::{MIN_DATA_PACKETS, takes_slow_start};
pub use handshakes::RepeatedHandshakes;
pub use icmp_errors::IcmpErrors;
pub use limits::{Limit, Quantities, loss_window};
pub use measures::{Capacity, CapacitySource};
pub use next_limit::NextLimit;
pub use no_data::{NoData, NoDataKind};
pub use outcome::Outcome;
pub use round::{MAX_ROUNDS, STATES, State};
pub use score::position;
pub use segment_size::{SegmentSize, SizeCause};
pub use summary::{DiagnosisSummary, PrimaryCause};
pub use verdict::{Diagnosis, MIN_CONFIDENCE, Shared, Verdict};
pub use watcher::{Slice, Slices, Watcher};
