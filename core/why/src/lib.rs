//! Why a connection was not faster: an account of its time, and verdicts.
//!
//! [`Watcher::handle_packet`] takes the packets of a capture, one after the
//! other; [`Watcher::diagnose`] gives a [`Diagnosis`] of a connection. Every
//! instant has one cause or is unknown; the times add up to the run.
//!
//! 1. Each direction with data is followed as its sender lived it
//!    (`trail.rs`): at each instant the sender waits for one thing, its
//!    [`State`]. That is seen, not judged.
//! 2. States are kept by rounds (`round.rs`), losses by episodes
//!    (`episode.rs`).
//! 3. At the end the [rules](RULES) bid for the stretches of time with how sure
//!    they are, and the surest has it (`account.rs`).
//!
//! | file | what |
//! |---|---|
//! | `watcher.rs` | all connections of a capture |
//! | `trail.rs`, `trail/` | one direction as its sender lived it: what it sent, heard, and when it knew |
//! | `monotone.rs` | capture time that never steps back |
//! | `echoes.rs` | what timestamps say about when a segment was made |
//! | `round.rs`, `episode.rs` | what is kept: rounds; losses and their repair |
//! | `packed.rs`, `samples.rs` | rounds in few octets; statistics of a round |
//! | `exchange.rs` | requests and responses: thinking, transfer, RTTs |
//! | `view.rs` | where the capture was taken |
//! | `segment_size.rs` | how large full segments are, and why |
//! | `surroundings.rs` | both of these for very many connections, in few octets each |
//! | `between.rs` | what two captures of one connection know together |
//! | `case.rs`, `losses.rs`, `metered.rs` | what rules are asked about; why segments were lost |
//! | `crowded.rs`, `flood.rs` | whether losses come when the queue is longer; what went through a flood of them |
//! | `ethernet.rs` | whether an Ethernet before the place of capture is full |
//! | `rules/` | one rule in one file |
//! | `account.rs` | whose each stretch of time is |
//! | `verdict.rs`, `words.rs` | what is said of it |
//! | `brief.rs` | the same in figures alone |
//!
//! Deliberately not here: files, and guesses. A stretch for which no rule is
//! clearly surer than not is unknown. What only a host can know (its processor,
//! its buffers) is inferred from what it does on the wire, and said with what
//! looks alike.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod account;
mod between;
mod brief;
mod case;
#[cfg(test)]
mod conversation;
mod crowded;
mod echoes;
mod episode;
mod ethernet;
mod exchange;
mod flood;
mod losses;
mod metered;
mod monotone;
mod packed;
mod round;
mod rules;
mod samples;
mod segment_size;
mod surroundings;
mod trail;
mod verdict;
mod view;
mod watcher;
mod way_back;
mod words;

pub use account::{LEAST_SURE, Span};
pub use between::{Between, Delay};
pub use brief::{Brief, Cause};
pub use round::{MAX_ROUNDS, State};
pub use rules::{Evidence, RULES, Rule, find};
pub use segment_size::{SegmentSize, SizeCause};
pub use surroundings::{Outlines, Surroundings, data_sender};
pub use verdict::{Diagnosis, Verdict};
pub use view::View;
pub use watcher::Watcher;
