//! What is on the wire: sequence numbers, flags, options, segments and the
//! IP packets that carry them.
//!
//! A [`Segment`] is the parsed form that the engine handles; [`encode`] and
//! [`decode`] turn it into the octets of RFC 9293 section 3.1 inside IPv4 or
//! IPv6 and back. Every segment of a simulated run can be encoded: nothing in
//! it is a model's shorthand.
//!
//! Two shapes beyond the RFC, both for speed and both exact:
//! * a *super-segment* (TSO/GRO shape): up to 64 KiB of payload with the size
//!   of the wire segments inside, see [`Segment::wire_segments`];
//! * the payload is a type parameter, see [`Payload`].
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod flags;
mod options;
mod payload;
mod segment;
mod seq;

pub use flags::Flags;
pub use options::{Options, SackBlock, SackBlocks, Timestamps};
pub use payload::{Payload, Phantom};
pub use segment::{MAX_SUPER_SEGMENT, Segment, WireWindow};
pub use seq::SeqNumber;
