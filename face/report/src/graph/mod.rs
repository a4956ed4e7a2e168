//! Outputs of the time-sequence graph of a captured connection ([`gigatcp_analyze::graph`]).
//!
//! | file | content |
//! |---|---|
//! | `page.rs` | the page |
//! | `xplot.rs`, `csv.rs` | output for other programs |
//! | `row.rs` | a packet as a row of a table |
//!
//! The page of a run draws its graphs with the same script. If a connection exceeds the budget,
//! intervals without events are shown as blocks only; the page names them. The CSV file has
//! everything.

pub mod csv;
mod page;
pub mod row;
pub mod xplot;

pub use gigatcp_analyze::graph::{
    Effect, Graph, GraphBuilder, Point, SackRange, Summary, Watch, Watched,
};
pub use page::{DiagnosisText, PAGE_BUDGET, Page, Plotted, Span};
pub(crate) use page::{SEQUENCE_SCRIPT, SEQUENCE_TOOLS};
