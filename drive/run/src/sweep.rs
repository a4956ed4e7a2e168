//! Runs the cells of a sweep on all cores, and stores the results.
//!
//! ```text
//! plan + question -> cells -> rows in a store -> tables, and grids for statistics
//! ```
//!
//! * [`Sweep`]: all of it, for `gigatcp sweep` and `gigatcp show`.
//! * [`rows`]: the stored results of a cell; the columns of the tables, with units.
//! * [`store`]: rows in files that only grow, by the address of their cell.
//! * [`stored_question`]: a question and its plan as they are stored.
//! * [`execute`]: runs what is not in the store, and nothing else. [`Worker`]: a part of it in
//!   another process, on any machine.
//! * [`tables`]: all rows as compressed CSV, or Parquet.
//! * [`results`]: the values of one column, for `gigatcp_plan::design`.
//!
//! Out of scope: starting workers on other machines (`face/py` does, by an executor of Python).

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod execute;
mod index;
#[cfg(feature = "parquet")]
mod parquet;
pub mod results;
pub mod rows;
pub mod store;
pub mod stored_question;
pub mod stored_sweep;
pub mod tables;
mod worker;

pub use execute::Progress;
pub use store::{Store, StoreError};
pub use stored_question::StoredQuestion;
pub use stored_sweep::Sweep;
pub use worker::Worker;
