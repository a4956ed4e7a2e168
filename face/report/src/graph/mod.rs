//! The time-sequence graph of a captured connection, from ten minutes down to
//! one packet: facts in, levels of detail out.
//!
//! | file | what |
//! |---|---|
//! | `point.rs` | a packet as the graph sees it |
//! | `watch.rs` | from what `gigatcp-flows` says of packets to points |
//! | `builder.rs` | points in, blocks out |
//! | `block.rs` | the summary of a block of neighboring points |
//! | `detail.rs` | the points of a block, packed |
//! | `interest.rs` | which blocks keep their points where there is no room for all |
//! | `varint.rs`, `base64.rs`, `pack.rs` | the octets that a page carries |
//! | `page.rs` | the page |
//! | `xplot.rs`, `csv.rs` | the same for other programs |
//! | `row.rs` | a packet as a row of a table |
//!
//! A page holds the summary of every block of neighboring packets, and the
//! packets of as many blocks as there is room for: where something happens
//! first, then evenly all over. The page builds the levels above the blocks
//! itself. A summary has the minimum and maximum of every value in it, so that a
//! block no wider than a pixel is drawn as its packets would be (the idea of
//! `thin.rs`, for a picture that can be zoomed).
//!
//! What that costs: where a connection is too large for the budget, dull
//! stretches are seen in blocks and no finer; the page says which. Everything
//! is in the CSV file.

mod base64;
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
pub use page::{PAGE_BUDGET, Page, Plotted, Said, Span};
pub use point::{Point, SackRange, What};
pub use watch::{Watch, Watched};
