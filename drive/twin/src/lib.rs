//! Digital twin of a transfer: a simulation fitted to it that predicts the effect of other
//! settings.
//!
//! ```text
//! capture -> measures -> candidates -> runs like the original? -> variations -> prediction
//! ```
//!
//! The fit rests on what the capture shows. Its constants are named and counted. If the refitted
//! run does not repeat the original, there is no fit and no prediction.
//!
//! | file | what |
//! |---|---|
//! | `measured.rs` | one transfer, measured from its packets |
//! | `trains.rs` | bottleneck rate, from trains of segments that it stretched |
//! | `transfer.rs` | a transfer in a capture, with its diagnosis |
//! | `constants.rs` | the fitted constants, and the plan made of them |
//! | `candidates.rs` | hypotheses, each with constants from the measures |
//! | `world.rs` | runs a plan and measures it in the same way |
//! | `likeness.rs` | how well a run repeats the original |
//! | `fit.rs` | the search |
//! | `predict.rs` | variations, with an interval |
//! | `fixes.rs` | advice of `why`, as changes |
//! | `levers.rs` | settings that a user can change, ranked by gain |
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
