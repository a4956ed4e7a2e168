//! The twin: a simulation fitted to one transfer, and what other settings would bring.
//!
//! ```text
//! capture -> measures -> candidates -> runs like the original? -> variations -> prediction
//! ```
//!
//! The fit rests on what the capture shows. Constants are named and counted. A refitted run
//! that does not repeat the original is no fit, and then there is no prediction.
//!
//! | file | what |
//! |---|---|
//! | `measured.rs` | one transfer, measured from its packets |
//! | `trains.rs` | the rate of a bottleneck, by trains that it stretched |
//! | `transfer.rs` | a transfer in a capture, with its diagnosis |
//! | `constants.rs` | what is fitted, and the plan it makes |
//! | `candidates.rs` | hypotheses, each with constants from the measures |
//! | `world.rs` | runs a plan and measures it in the same way |
//! | `likeness.rs` | how well a run repeats the original |
//! | `fit.rs` | the search |
//! | `predict.rs` | variations, with an interval |
//! | `fixes.rs` | what `why` advises, as changes |
//! | `levers.rs` | what a user can change, ranked by gain |
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod candidates;
pub mod constants;
pub mod fit;
pub mod fixes;
pub mod levers;
pub mod likeness;
pub mod measured;
pub mod predict;
pub mod trains;
pub mod transfer;
pub mod world;

pub use constants::Constants;
pub use fit::{Fit, NoFit, Twin};
pub use likeness::Likeness;
pub use measured::Measured;
pub use predict::{Certainty, Prediction};
pub use transfer::Transfer;
