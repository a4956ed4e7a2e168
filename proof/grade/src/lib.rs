//! Grades `why` on connections with a known cause, and fits its weights.
//!
//! | file | content |
//! |---|---|
//! | `worlds/` | simulated worlds with one known cause, as plans |
//! | `kernels/` | labeled captures of the running kernel's TCP |
//! | `counters.rs` | the diagnosis from counters, on the same connections |
//! | `tester/` | `gigatcp test` over emulated paths: its rate and its cause |
//! | `fit_counters.rs` | fits the weights of that diagnosis |
//! | `draw.rs` | random parameters |
//! | `dataset.rs` | diagnoses of their captures |
//! | `left_out.rs` | captures of generators that share no code with the product |
//! | `fit.rs` | fits the weights of `gigatcp-why` |
//! | `calibrate.rs` | calibration of a fit's probabilities |
//! | `metamorphic.rs` | changes of a capture that should not matter |
//! | `stability.rs` | whether answers stay the same after them |
//! | `rates.rs` | whether stated rates agree with counters |
//! | `shares.rs`, `next.rs` | two causes in one connection; the next limit |
//! | `whatif.rs` | predictions for other settings, compared to runs |
//! | `mistuned/` | hosts with wrong settings, and what the advice of `doctor` brings |
//! | `matrix.rs` | confusion matrix, and precision by confidence |
#![deny(missing_docs)]

#[cfg(target_os = "linux")]
pub mod calibrate;
pub mod counterfactual;
#[cfg(target_os = "linux")]
pub mod counters;
#[cfg(target_os = "linux")]
pub mod dataset;
pub mod draw;
pub mod fit;
#[cfg(target_os = "linux")]
pub mod fit_counters;
#[cfg(target_os = "linux")]
pub mod kernels;
#[cfg(target_os = "linux")]
pub mod left_out;
pub mod matrix;
#[cfg(target_os = "linux")]
pub mod metamorphic;
#[cfg(target_os = "linux")]
pub mod mistuned;
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
