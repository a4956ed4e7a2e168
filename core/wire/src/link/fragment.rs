//! A fragment of an IP packet: its packet, its place in it, its captured octets. RFC 791 section
//! 3.2, RFC 8200 section 4.5.

use super::network::{self, Packet};
use super::udp::UDP;
use super::{DissectError, Layers, Walk};
use crate::Endpoints;

/// Whether and how a packet was fragmented.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Fragmentation {
    /// It was not fragmented.
    #[default]
    Whole,
    /// This is its first fragment; the others are unknown.
    First,
    /// It was reassembled from all its fragments.
    Reassembled,
}

/// Header fields of a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Protocol of the whole packet.
    pub protocol: u8,
    /// Common to all fragments of a packet.
    pub ident: u32,
    /// Octets of the packet's payload before this fragment.
    pub offset: u32,
    /// Whether others follow.
    pub more: bool,
}

/// A fragment of a packet. In IPv6 the reassembled part begins after the fragment header.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    pub(super) piece: Piece,
    pub(super) packet: Packet<'a>,
    pub(super) layers: Layers,
    pub(super) vlan: Option<u16>,
    /// Its captured octets.
    pub(super) octets: &'a [u8],
}

impl Fragment<'_> {
    /// Source and destination.
    pub const fn endpoints(&self) -> Endpoints {
        self.packet.header.endpoints
    }

    /// Whether its place is the first in its packet.
    pub const fn is_first(&self) -> bool {
        self.piece.offset == 0
    }

    /// Number of octets of the packet's payload before it.
    pub const fn offset(&self) -> u32 {
        self.piece.offset
    }

    /// Number of octets of the packet's payload in it, captured or not.
    pub const fn payload_len(&self) -> u32 {
        self.packet.payload_len as u32
    }
}

/// Records the fragment whose header the walk has passed. Only the first one can be read further.
#[cold]
#[inline(never)]
pub(super) fn found(walk: &mut Walk<'_>, piece: Piece) -> Result<(), DissectError> {
    let Some(packet) = walk.packet else {
        return Ok(());
    };
    let protocol = piece.protocol;
    // A tunnel in UDP is recognized by its ports, which only the first fragment has. The segment's
    // length is in there too: waiting for the others gains nothing.
    if protocol == UDP && piece.offset == 0 {
        return Ok(());
    }
    if !network::may_carry_tcp(protocol) {
        if piece.offset > 0 {
            // Only the first one has a header.
            walk.octets = &[];
        }
        return Err(DissectError::NotTcp { protocol });
    }
    // A tunnel may be fragmented and carry fragments: the outer ones come first.
    walk.fragment.get_or_insert(Fragment {
        piece,
        packet,
        layers: walk.layers,
        vlan: walk.vlan,
        octets: walk.octets,
    });
    if piece.offset == 0 {
        return Ok(());
    }
    Err(DissectError::LaterFragment {
        endpoints: packet.header.endpoints,
        ident: piece.ident,
        offset: piece.offset,
        len: packet.payload_len as u32,
    })
}
