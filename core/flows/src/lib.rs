//! Facts per connection from the segments of a capture, in one pass.
//!
//! [`FlowTable::handle_packet`] analyzes one [`Observed`] packet after another, returns its
//! [`Kinds`], and keeps the sums in a [`Connection`] of two [`Direction`]s.
//!
//! | file | what |
//! |---|---|
//! | `datagrams.rs` | packets with fragments reassembled, in order |
//! | `observed.rs` | a packet as the analysis sees it |
//! | `packet_summary.rs` | the few words that decide nearly everything about it |
//! | `plain.rs` | fast reading of a common packet |
//! | `key.rs`, `connection_map.rs`, `table.rs` | the connection of a packet |
//! | `window_scales.rs` | window scales that the capture does not show |
//! | `connection.rs` | both directions together: handshake, end, windows |
//! | `predicted.rs` | fast path for expected segments: nearly all |
//! | `direction.rs` | state and counts of one direction |
//! | `sequence.rs` | classifies a segment by its sequence numbers |
//! | `acknowledgment.rs` | classifies a segment by its acknowledgment |
//! | `retransmission.rs` | why a segment was retransmitted; whether it was spurious |
//! | `gaps.rs` | unseen intervals of the sequence space |
//! | `sent.rs`, `round_trips.rs` | times of sending; RTTs |
//! | `kinds.rs` | names of the kinds of packets |
//! | `clocks.rs` | the clocks of two captures of one connection |
//! | `detail.rs`, `transmissions.rs` | counts that only the detailed view has |
//! | `spread.rs` | min, max, mean and deviation |
//!
//! Memory is flat: a connection keeps intervals and never packets. Up to [`MAX_BOUNDARIES`]
//! segments in flight have one boundary each. Beyond, every second, every fourth has one, over the
//! whole flight: the counts stay exact, RTTs are sampled less often. An idle connection keeps none.
//!
//! Out of scope: payload, checksums, the reassembled stream, and what only the sender knows. A
//! verdict rests on what passed the capture point.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod acknowledgment;
mod clocks;
mod connection;
mod connection_map;
mod datagrams;
mod detail;
mod direction;
mod gaps;
mod key;
mod kinds;
mod observed;
mod packet_summary;
mod plain;
mod predicted;
mod retransmission;
mod round_trips;
mod sent;
mod sequence;
mod sequence_ranges;
mod spread;
mod table;
mod transmissions;
mod window_scales;

pub use clocks::{Clocks, Crossing, PacketTimes, PathBetween};
pub use connection::{Connection, Scaling, Side};
pub use datagrams::{Arrival, Datagrams, DissectedPacket, FragmentIssue, MAX_HELD, OddFragment};
pub use detail::{Detail, Details};
pub use direction::{Direction, MinMaxMean, Options};
pub use key::{Endpoint, Pair};
pub use kinds::{Kind, Kinds};
pub use observed::Observed;
pub use packet_summary::{Packet, PacketSummary};
pub use plain::Plain;
pub use round_trips::RoundTrips;
pub use sent::MAX_BOUNDARIES;
pub use sequence_ranges::Bytes;
pub use spread::Spread;
pub use table::{FlowTable, Verdict};
pub use window_scales::WindowScales;
