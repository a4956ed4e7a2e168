//! Formats on the wire: sequence numbers, flags, options, segments and their IP packets.
//!
//! A [`Segment`] is the parsed form that the engine handles. [`encode_packet`] and
//! [`decode_packet`] convert it to and from the octets of RFC 9293 section 3.1 inside IPv4 or IPv6,
//! without an allocation. One writes into the caller's buffer, the other returns a segment whose
//! payload is borrowed. Every segment of a simulated run can be encoded: none is an abbreviation of
//! a model.
//!
//! [`link::dissect`] finds the segment in a captured packet, beginning with its link layer.
//!
//! Two forms extend the RFC, both for speed and both exact:
//! * a *super-segment* (TSO/GRO shape): up to 64 KiB of payload with the size
//!   of the wire segments inside, see [`Segment::wire_segments`];
//! * the payload is a type parameter, see [`Payload`]; [`Octets`] is the one for real networks.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod accecn;
mod authentication;
mod checksum;
mod decode;
mod ecn;
mod encode;
mod fast_open;
mod flags;
mod gather;
mod icmp;
mod ip;
pub mod link;
mod octets;
mod options;
mod packet;
mod payload;
mod phantom;
mod pool;
mod routers;
mod segment;
mod seq;
mod slabs;
mod user_timeout;

pub use bytes;

pub use accecn::{AccEcn, AccEcnOrder};
pub use authentication::{Authentication, authentication_place};
pub use checksum::{Checksum, TCP_PROTOCOL};
pub use decode::{DecodeError, decode, decode_header, verify_checksum};
pub use ecn::Ecn;
pub use encode::{ChecksumFill, EncodeError, encode};
pub use fast_open::FastOpenCookie;
pub use flags::Flags;
pub use gather::Octets;
pub use icmp::{IcmpError, IcmpKind, IpVersion};
pub use ip::{Endpoints, IPV4_HEADER_LEN, IPV6_HEADER_LEN, IpError, IpHeader, IpPayload};
pub use octets::PayloadOctets;
pub use options::{
    MAX_OPTIONS_LEN, OptionLayout, Options, RareOptions, SackBlock, SackBlocks, Timestamps,
    option_kind,
};
pub use packet::{
    ChecksumCheck, PacketError, append_packet, decode_packet, decode_packet_with, encode_front,
    encode_headers, encode_packet, packet_len,
};
pub use payload::{Payload, Phantom};
pub use phantom::{PhantomMismatch, fill_phantom, phantom_octet, verify_phantom};
pub use pool::PacketPool;
pub use routers::{RequestScheme, RouterReply, RouterRequest};
pub use segment::{FIXED_HEADER_LEN, MAX_SUPER_SEGMENT, Segment, WireWindow};
pub use seq::SeqNumber;
pub use slabs::Slabs;
pub use user_timeout::UserTimeout;
