//! What is on the wire: sequence numbers, flags, options, segments and the
//! IP packets that carry them.
//!
//! A [`Segment`] is the parsed form that the engine handles;
//! [`encode_packet`] and [`decode_packet`] turn it into the octets of RFC 9293
//! section 3.1 inside IPv4 or IPv6 and back, without an allocation: one writes into the caller's
//! buffer, the other gives a segment whose payload is borrowed. Every segment of a simulated run
//! can be encoded: nothing in it is a model's shorthand.
//!
//! [`link::dissect`] finds the segment in a packet as captures hold it, from
//! the first octet of its link layer on.
//!
//! Two shapes beyond the RFC, both for speed and both exact:
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
mod routers;
mod segment;
mod seq;
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
    MAX_OPTIONS_LEN, Options, RareOptions, SackBlock, SackBlocks, Timestamps, option_kind,
};
pub use packet::{
    ChecksumCheck, PacketError, append_packet, decode_packet, decode_packet_with, encode_front,
    encode_headers, encode_packet, packet_len,
};
pub use payload::{Payload, Phantom};
pub use phantom::{PhantomMismatch, fill_phantom, phantom_octet, verify_phantom};
pub use routers::{RequestScheme, RouterReply, RouterRequest};
pub use segment::{FIXED_HEADER_LEN, MAX_SUPER_SEGMENT, Segment, WireWindow};
pub use seq::SeqNumber;
pub use user_timeout::UserTimeout;
