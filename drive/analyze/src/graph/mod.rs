//! The time-sequence graph of a connection, fed by its packets: of a capture, a simulation, or a
//! live run.
//!
//! | file | content |
//! |---|---|
//! | `point.rs` | a packet in a graph |
//! | `watch.rs` | converts the results of `gigatcp-flows` for packets to points |
//! | `builder.rs` | builds blocks from points |
//! | `block.rs` | the summary of a block of neighboring points |
//! | `detail.rs` | the packed points of a block |
//! | `interest.rs` | selects the blocks that keep their points if not all fit |
//! | `varint.rs`, `pack.rs` | the encoded graph, as a page and the record of a run have it |
//!
//! A graph holds the summary of every block of neighboring packets, and the packets of as many
//! blocks as fit. Blocks with events come first, then the others, evenly spread. A summary has the
//! minimum and maximum of every value, so that a block no wider than a pixel is drawn like its
//! packets. A page builds the levels above the blocks.

mod block;
mod builder;
mod detail;
mod interest;
mod pack;
mod point;
mod varint;
mod watch;

pub use block::{State, Summary};
pub use builder::{Graph, GraphBuilder};
pub use pack::pack;
pub use point::{Effect, Point, SackRange};
pub use watch::{Watch, Watched};
