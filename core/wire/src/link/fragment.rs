//! A fragment of an IP packet: which packet it is of, where in it it lies, and
//! what of it was captured. RFC 791 section 3.2, RFC 8200 section 4.5.

use super::network::{self, Packet};
use super::udp::UDP;
use super::{DissectError, Layers, Walk};
use crate::Endpoints;

/// Whether a packet came in fragments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub enum Fragmentation {
    /// It came in one.
    #[default]
    Whole,
    /// This is its first fragment, and of the others nothing is known.
    First,
    /// It was reassembled from all of them.
    Reassembled,
}

/// What the header says of a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// What the whole packet carries.
    pub protocol: u8,
    /// Common to all fragments of a packet.
    pub ident: u32,
    /// Octets of the packet's payload before this fragment.
    pub offset: u32,
    /// Whether others follow.
    pub more: bool,
}

/// A fragment of a packet. In IPv6 what is reassembled begins behind the
/// fragment header.
#[derive(Clone, Copy, Debug)]
pub struct Fragment<'a> {
    pub(super) piece: Piece,
    pub(super) packet: Packet<'a>,
    pub(super) layers: Layers,
    pub(super) vlan: Option<u16>,
    /// What was captured of its octets.
    pub(super) octets: &'a [u8],
}

impl Fragment<'_> {
    /// Source and destination.
    #[must_use]
    pub const fn endpoints(&self) -> Endpoints {
        self.packet.header.endpoints
    }

    /// Whether it is the first one of its packet, by its place.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.piece.offset == 0
    }

    /// Octets of the packet's payload before it.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.piece.offset
    }

    /// Octets of the packet's payload in it, captured or not.
    #[must_use]
    pub const fn payload_len(&self) -> u32 {
        self.packet.payload_len as u32
    }
}

/// The walk stands behind the header of a fragment: notes it. Only the first
/// one has what can be read on.
#[cold]
#[inline(never)]
pub(super) fn found(walk: &mut Walk<'_>, piece: Piece) -> Result<(), DissectError> {
    let Some(packet) = walk.packet else {
        return Ok(());
    };
    let protocol = piece.protocol;
    // A tunnel in UDP is known by its ports, which the first fragment alone has, and the
    // segment's length stands in there too: nothing is gained by waiting for the others.
    if protocol == UDP && piece.offset == 0 {
        return Ok(());
    }
    if !network::may_carry_tcp(protocol) {
        return Err(DissectError::NotTcp { protocol });
    }
    // A tunnel may be cut in pieces and carry some: the outer ones come first.
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
