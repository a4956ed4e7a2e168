//! Experiments over axes of a plan: cells to run, and statistics of their results.
//!
//! ```text
//! plan + axes + design -> cells (changes of the plan) -> values of a metric -> statistics
//! ```
//!
//! * [`question`]: specification of an experiment, in the syntax of a plan or a command line.
//! * [`space`]: the cells of a question, generated one by one.
//! * [`fractional`]: selection of combinations.
//! * [`address`]: key of a cell's results. The same changes of the same plan are the same cell,
//!   independent of the axes.
//! * [`grid`]: values of one metric by cell and repetition; tables of any axes.
//! * [`statistics`], [`effects`]: intervals, bootstrap, paired differences; effects,
//!   interactions and shares of variance.
//! * [`numeric`]: factors whose levels are numbers.
//!
//! Not included: designs that depend on results. The one exception: repetitions continue until an
//! interval is narrow enough.

pub mod address;
mod arms;
pub mod effects;
pub mod fractional;
pub mod grid;
pub mod numeric;
pub mod question;
pub mod space;
pub mod statistics;

pub use crate::axis::Amount;
pub use question::{Question, QuestionError};
pub use space::{Cell, Space};
