//! From the segments of a capture to facts per connection, in one pass.
//!
//! [`FlowTable::handle_packet`] takes one [`Observed`] packet after the other,
//! says of each what it is ([`Kinds`]), and keeps what adds up in a
//! [`Connection`] of two [`Direction`]s.
//!
//! | file | what |
//! |---|---|
//! | `datagrams.rs` | packets that came in fragments, reassembled and in order |
//! | `observed.rs` | a packet as the analysis sees it |
//! | `packet_summary.rs` | the few words of it that nearly everything is decided by |
//! | `plain.rs` | a packet at one look, as nearly all are |
//! | `key.rs`, `places.rs`, `table.rs` | which connection a packet belongs to |
//! | `connection.rs` | both directions together: handshake, end, windows |
//! | `predicted.rs` | nearly every segment: the one that was expected |
//! | `direction.rs` | what is counted of one direction |
//! | `sequence.rs` | what a segment is by its sequence numbers |
//! | `acknowledgment.rs` | what a segment is by its acknowledgment |
//! | `retransmission.rs` | why a segment was retransmitted; whether it had to be |
//! | `gaps.rs` | what was not seen of the sequence space |
//! | `sent.rs`, `round_trips.rs` | times of sending; round-trip times |
//! | `kinds.rs` | the names of it all |
//! | `clocks.rs` | the clocks of two captures of one connection |
//! | `wireshark.rs` | what tshark would say, to compare with |
//! | `correction.rs` | where that is wrong |
//! | `detail.rs`, `transmissions.rs` | what only the detailed view counts |
//! | `spread.rs` | min, max, mean and deviation |
//!
//! Memory is flat: a connection keeps intervals and never packets. What is in
//! flight has one boundary for each segment up to [`MAX_BOUNDARIES`], from
//! there on for every second, every fourth, all over the flight: the counts stay
//! exact, round trips are sampled less often. An idle connection keeps none.
//!
//! Out of scope: payload, checksums, the reassembled stream; and what only the
//! sender can know. A verdict rests on what passed the capture point.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod acknowledgment;
mod clocks;
mod connection;
mod correction;
mod datagrams;
mod detail;
mod direction;
mod gaps;
mod key;
mod kinds;
mod observed;
mod packet_summary;
mod passages;
mod places;
mod plain;
mod predicted;
mod retransmission;
mod round_trips;
mod sent;
mod sequence;
mod spread;
mod table;
mod transmissions;
mod wireshark;

pub use clocks::{Clocks, Crossing, PacketTimes};
pub use connection::{Connection, Scaling, Side};
pub use correction::Correction;
pub use datagrams::{Arrival, Datagrams, Looked, MAX_HELD, Odd, OddFragment};
pub use detail::{Detail, Details};
pub use direction::{Direction, Options, Shares};
pub use key::{Endpoint, Pair};
pub use kinds::{Kind, Kinds};
pub use observed::Observed;
pub use packet_summary::{Packet, PacketSummary};
pub use passages::Bytes;
pub use plain::Plain;
pub use round_trips::RoundTrips;
pub use sent::MAX_BOUNDARIES;
pub use spread::Spread;
pub use table::{FlowTable, Verdict};
pub use wireshark::{Wireshark, WiresharkFlag, WiresharkFlags};
