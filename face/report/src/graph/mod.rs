//! The time-sequence graph of a captured connection, at any zoom from ten minutes to one packet.
//!
//! | file | content |
//! |---|---|
//! | `point.rs` | a packet in a graph |
//! | `watch.rs` | converts the results of `gigatcp-flows` to points |
//! | `builder.rs` | builds blocks from points |
//! | `block.rs` | the summary of a block of neighboring points |
//! | `detail.rs` | the packed points of a block |
//! | `interest.rs` | selects the blocks that keep their points if not all fit |
//! | `varint.rs`, `pack.rs` | the encoded data of a page |
//! | `page.rs` | the page |
//! | `xplot.rs`, `csv.rs` | output for other programs |
//! | `row.rs` | a packet as a row of a table |
//!
//! A page holds the summary of every block of neighboring packets, and the packets of as many
//! blocks as fit. Blocks with events come first, then the others, evenly spread. The page
//! itself builds the levels above the blocks. A summary has the minimum and maximum of every
//! value, so that a block no wider than a pixel is drawn like its packets (as in `thin.rs`, but
//! with zoom).
//!
//! If a connection exceeds the budget, intervals without events are shown as blocks only; the
//! page names them. The CSV file has everything.

mod block;
mod builder;
pub mod csv;
mod detail;
mod interest;
mod pack;
mod page;
mod point;
pub mod row;
mod varint;
mod watch;
pub mod xplot;

pub use block::Summary;
pub use builder::{Graph, GraphBuilder};
pub use page::{DiagnosisText, PAGE_BUDGET, Page, Plotted, Span};
pub use point::{Effect, Point, SackRange};
pub use watch::{Watch, Watched};
