//! Grades `why` on connections whose cause is known, and fits its weights.
//!
//! | file | what |
//! |---|---|
//! | `worlds/` | simulated worlds with one known cause, as plans |
//! | `kernels/` | labeled captures of the running kernel's TCP |
//! | `counters.rs` | the explanation from counters, on the same connections |
//! | `tester/` | `gigatcp test` over emulated paths: its number and its cause |
//! | `fit_counters.rs` | fits the weights of that explanation |
//! | `dataset.rs` | what their captures show, and the answers |
//! | `fit.rs` | fits the weights of `gigatcp-why` |
//! | `calibrate.rs` | what the probabilities of a fit are worth |
//! | `metamorphic.rs` | changes of a capture that mean nothing |
//! | `stability.rs` | whether answers stay after them |
//! | `rates.rs` | whether stated rates are those of counters |
//! | `shares.rs`, `next.rs` | two causes in one connection; what limits next |
//! | `whatif.rs` | predictions of the twin, against runs of what was predicted |
//! | `matrix.rs` | the confusion matrix, and what a confidence is worth |
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod counterfactual;
#[cfg(target_os = "linux")]
pub mod counters;
#[cfg(target_os = "linux")]
pub mod dataset;
pub mod fit;
#[cfg(target_os = "linux")]
pub mod fit_counters;
#[cfg(target_os = "linux")]
pub mod kernels;
pub mod matrix;
#[cfg(target_os = "linux")]
pub mod metamorphic;
#[cfg(target_os = "linux")]
pub mod next;
pub mod rates;
#[cfg(target_os = "linux")]
pub mod shares;
#[cfg(target_os = "linux")]
pub mod stability;
#[cfg(target_os = "linux")]
pub mod tester;
#[cfg(target_os = "linux")]
pub mod whatif;
pub mod worlds;
