//! Goodput of a transfer with other settings: which limit is lowest then.
//!
//! ```text
//! diagnosis -> model: its limits, each with an interval -> changes move limits -> the lowest
//!                                                       -> control, queue, losses: simulated
//! ```
//!
//! A window, a buffer, pacing, an RTT or a rate has a closed form. Where the dynamics of the
//! congestion control decide (losses, a queue that overflows, another control, a short transfer),
//! the engine runs with the profile of Linux, without and with the changes, over everything that the
//! evidence leaves open.
//!
//! | file | what |
//! |---|---|
//! | `transfer.rs` | a connection of a capture or of a report, with its diagnosis |
//! | `change.rs` | changes `KEY=VALUE`: keys of a plan, and sysctls |
//! | `model.rs` | the limits of a transfer, and what a change does to them |
//! | `buffers.rs` | what of a window or a buffer is in flight |
//! | `engine.rs` | the same model as a plan, simulated |
//! | `predict.rs` | a goodput, its interval and the reason for its width |
//! | `fix.rs` | the changes of a host that would help, by its settings and a transfer |
//! | `levers.rs` | settings that a user can change, and the advice of `why` as changes |

mod buffers;
pub mod change;
pub mod engine;
pub mod fix;
pub mod levers;
pub mod model;
pub mod predict;
pub mod transfer;

pub use change::Change;
pub use fix::{Evidence, Fix, FixPlan, Place};
pub use model::Model;
pub use predict::{Certainty, Prediction};
pub use transfer::Transfer;
