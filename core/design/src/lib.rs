//! Experiments over axes of a plan: which cells to run, and what their results say.
//!
//! ```text
//! plan + axes + design -> cells (changes of the plan) -> values of a metric -> statistics
//! ```
//!
//! * [`question`]: what is varied, in the words of a plan or a command line.
//! * [`space`]: the cells of a question, one by one, without a list of them.
//! * [`fractional`], [`sampling`]: which combinations.
//! * [`address`]: what a cell is filed under: the same changes of the same plan are the
//!   same cell, whichever axes led to it.
//! * [`grid`]: values of one metric by cell and repetition; tables of any axes.
//! * [`statistics`], [`effects`]: intervals, bootstrap, paired differences; effects,
//!   interactions and shares of variance.
//! * [`surface`]: a quadratic in all factors.
//!
//! Not included: designs that depend on results, except that repetitions go on until an
//! interval is narrow enough.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

pub mod address;
mod arms;
pub mod effects;
pub mod fractional;
pub mod grid;
pub mod question;
pub mod sampling;
pub mod space;
pub mod statistics;
pub mod surface;

pub use gigatcp_plan::axis::Amount;
pub use question::{Question, Refused};
pub use space::{Cell, Space};
