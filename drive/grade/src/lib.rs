//! Grades `why` on connections whose cause is known, and fits its weights.
//!
//! | file | what |
//! |---|---|
//! | `worlds/` | simulated worlds with one known cause, as plans |
//! | `kernels/` | labeled captures of the running kernel's TCP |
//! | `dataset.rs` | what their captures show, and what was said of them |
//! | `fit.rs` | fits the weights of `gigatcp-why` |
//! | `metamorphic.rs` | changes of a capture that mean nothing |
//! | `matrix.rs` | what was said of what, and what a confidence is worth |
#![deny(missing_docs)]

pub mod counterfactual;
#[cfg(target_os = "linux")]
pub mod dataset;
pub mod fit;
#[cfg(target_os = "linux")]
pub mod kernels;
pub mod matrix;
#[cfg(target_os = "linux")]
pub mod metamorphic;
pub mod worlds;
