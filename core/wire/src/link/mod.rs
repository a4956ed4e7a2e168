//! Finds the TCP segment in a captured packet, beginning with its first octet.
//!
//! [`dissect`] walks from layer to layer until it reaches TCP or finds that there is none. Each
//! file here reads one layer and returns the next. Lengths come from the headers and from the
//! packet's length on the wire, never from the captured length. So a packet cut by a snap length is
//! read like a whole one if its fixed TCP header was captured.
//!
//! | file | layer |
//! |---|---|
//! | `link_type.rs` | the header that a capture's packets begin with |
//! | `ethernet.rs` | Ethernet, 802.3 with LLC and SNAP, FDDI; EtherTypes; VLAN tags |
//! | `mpls.rs` | MPLS label stacks, with Ethernet inside or IP |
//! | `ppp.rs` | PPP, PPPoE, Cisco HDLC |
//! | `cooked.rs` | Linux cooked captures, both versions |
//! | `loopback.rs` | BSD loopback in both orders; bare IP |
//! | `gre.rs`, `erspan.rs` | GRE; mirrored frames in it |
//! | `udp.rs` | VXLAN, Geneve, GTP-U and MPLS in UDP |
//! | `wireless.rs` | 802.11, radiotap |
//! | `network.rs` | IPv4 and IPv6 as in captures; tunnels |
//! | `fragment.rs`, `reassembly.rs` | fragments of either, and their reassembly |
//! | `transport.rs` | TCP, and the state of its checksum |
//! | `icmp.rs` | ICMP errors, and the segments that they quote |
//! | `dns.rs` | lookups of names |
//! | `reason.rs` | names for packets that are not read |
//!
//! These functions never panic on captured data, and follow at most sixteen nested layers.
//!
//! Out of scope: frame relay, token ring and other link types without a name in `link_type.rs`;
//! L2TP, Teredo and tunnels on ports other than their registered ones; encrypted payloads. Such
//! packets are named by the reason why the walk stopped ([`DissectError::reason`]).

mod cooked;
mod dns;
mod erspan;
mod ethernet;
mod fragment;
mod gre;
mod icmp;
mod link_type;
mod loopback;
mod mpls;
mod network;
mod ppp;
mod reason;
mod reassembly;
mod transport;
mod udp;
mod wireless;

pub use dns::{NameMessage, Question, dissect_name_message};
pub use fragment::{Fragment, Fragmentation};
pub use icmp::{CapturedIcmpError, dissect_icmp_error};
pub use link_type::LinkType;
pub use network::LengthFrom;
pub use reason::Reason;
pub use reassembly::{DatagramId, LIMIT, MAX_DATAGRAMS, MAX_PIECES, Outcome, Reassembly};
pub use transport::{Captured, ChecksumVerdict};

use crate::Endpoints;
use network::Packet;

/// Maximum number of nested layers.
const MAX_LAYERS: usize = 16;

/// A layer, to report where a walk stopped and what it passed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Layer {
    /// Ethernet or FDDI.
    Ethernet,
    /// A VLAN tag (802.1Q, 802.1ad).
    Vlan,
    /// LLC, with or without SNAP.
    Llc,
    /// MPLS labels.
    Mpls,
    /// PPPoE.
    Pppoe,
    /// PPP or Cisco HDLC.
    Ppp,
    /// GRE.
    Gre,
    /// Linux cooked.
    Cooked,
    /// BSD loopback.
    Loopback,
    /// IPv4.
    Ipv4,
    /// IPv6 and its extension headers.
    Ipv6,
    /// A second IP header inside the first.
    Tunnel,
    /// TCP.
    Tcp,
    /// UDP with a tunnel in it.
    Udp,
    /// VXLAN or VXLAN-GPE.
    Vxlan,
    /// Geneve.
    Geneve,
    /// GTP-U.
    Gtp,
    /// ERSPAN.
    Erspan,
    /// IEEE 802.11 or radiotap.
    Wireless,
    /// ICMP or ICMPv6.
    Icmp,
}

/// A set of layers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Layers(u32);

impl Layers {
    /// Whether the set contains `layer`.
    pub const fn contains(self, layer: Layer) -> bool {
        self.0 & 1 << layer as u32 != 0
    }

    #[inline]
    const fn add(&mut self, layer: Layer) {
        self.0 |= 1 << layer as u32;
    }
}

/// Reasons why a captured packet shows no TCP segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DissectError {
    /// A link type that is not read.
    UnknownLinkType {
        /// The link type.
        link: LinkType,
    },
    /// The snap length cut the packet inside this layer's header.
    Cut {
        /// The layer.
        layer: Layer,
    },
    /// The link layer carries neither IPv4 nor IPv6.
    NotIp {
        /// The layer that defines the number: Ethernet for an EtherType in any layer.
        layer: Layer,
        /// EtherType, protocol number, service access points or address family.
        kind: u16,
    },
    /// IP carries another protocol.
    NotTcp {
        /// Its protocol number.
        protocol: u8,
    },
    /// A fragment other than the first: only that one has a TCP header. [`Reassembly`] reassembles
    /// them.
    LaterFragment {
        /// Source and destination.
        endpoints: Endpoints,
        /// Identification, common to all fragments of a packet.
        ident: u32,
        /// Octets of the packet's payload before this fragment.
        offset: u32,
        /// Octets of the packet's payload in this fragment.
        len: u32,
    },
    /// This layer's header is invalid.
    Malformed {
        /// The layer.
        layer: Layer,
    },
    /// A form of packet that is not read, or that carries no packet.
    Unread {
        /// Its name.
        what: &'static str,
    },
    /// More nested layers than are followed.
    TooDeep,
}

impl core::fmt::Display for DissectError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownLinkType { link } => write!(f, "link type {} is not read", link.0),
            Self::Cut { layer } => write!(f, "the packet is cut inside its {layer:?} header"),
            Self::NotIp { kind, .. } => write!(f, "type 0x{kind:04x} is not IP"),
            Self::NotTcp { protocol } => write!(f, "IP protocol {protocol} is not TCP"),
            Self::LaterFragment { ident, offset, .. } => {
                write!(
                    f,
                    "fragment of packet {ident} at {offset} has no TCP header"
                )
            }
            Self::Malformed { layer } => write!(f, "the {layer:?} header is malformed"),
            Self::Unread { what } => write!(f, "{what} is not read"),
            Self::TooDeep => write!(f, "more than {MAX_LAYERS} layers inside one another"),
        }
    }
}

impl core::error::Error for DissectError {}

/// The next layer in a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Next {
    Ethernet,
    Fddi,
    EtherType(u16),
    Llc,
    Mpls,
    Pppoe,
    Ppp,
    Hdlc,
    Cooked,
    Cooked2,
    Loopback,
    /// IP of the version in its header.
    Ip,
    Gre,
    Udp,
    Radiotap,
    Wireless,
    Tcp,
}

/// State of the walk through a packet's layers.
struct Walk<'a> {
    /// Captured octets that are not read yet.
    octets: &'a [u8],
    /// Length of these octets on the wire, padding at the end included.
    wire: usize,
    layers: Layers,
    vlan: Option<u16>,
    /// The innermost IP header so far.
    packet: Option<Packet<'a>>,
    /// The outermost fragment so far.
    fragment: Option<Fragment<'a>>,
}

impl<'a> Walk<'a> {
    /// First `len` octets, which belong to `layer`, without consuming them.
    #[inline]
    fn peek(&self, len: usize, layer: Layer) -> Result<&'a [u8], DissectError> {
        self.octets.get(..len).ok_or_else(|| self.short(len, layer))
    }

    /// Consumes the first `len` octets, which belong to `layer`.
    #[inline]
    fn take(&mut self, len: usize, layer: Layer) -> Result<&'a [u8], DissectError> {
        let Some((taken, rest)) = self.octets.split_at_checked(len) else {
            return Err(self.short(len, layer));
        };
        self.octets = rest;
        self.wire = self.wire.saturating_sub(len);
        self.layers.add(layer);
        Ok(taken)
    }

    /// Error for fewer than `len` octets. Either the packet never had them, or they were not
    /// captured.
    #[cold]
    const fn short(&self, len: usize, layer: Layer) -> DissectError {
        if self.wire < len {
            DissectError::Malformed { layer }
        } else {
            DissectError::Cut { layer }
        }
    }
}

#[inline]
fn word(octets: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

#[inline]
fn long(octets: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]])
}

/// Layer that packets of a link type begin with.
const fn first(link: LinkType) -> Option<Next> {
    Some(match link {
        LinkType::ETHERNET => Next::Ethernet,
        LinkType::FDDI => Next::Fddi,
        LinkType::PPP | LinkType::PPP_HDLC => Next::Ppp,
        LinkType::PPP_ETHER => Next::Pppoe,
        LinkType::C_HDLC => Next::Hdlc,
        LinkType::IEEE802_11 => Next::Wireless,
        LinkType::IEEE802_11_RADIOTAP => Next::Radiotap,
        LinkType::LINUX_SLL => Next::Cooked,
        LinkType::LINUX_SLL2 => Next::Cooked2,
        LinkType::NULL | LinkType::LOOP => Next::Loopback,
        LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => Next::Ip,
        // Some systems use for bare IP the number that others use for loopback; the first octet
        // distinguishes them.
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD => Next::Ip,
        LinkType::PPP_PPPD | LinkType::PPP_WITH_DIR => Next::Ppp,
        _ => return None,
    })
}

/// Finds the TCP segment in a captured packet. `octets` of it were captured; `wire_len` is its
/// length on the wire. Of a first fragment, the segment is the part it holds.
///
/// [`DissectError`], if there is none or it cannot be read.
#[inline]
pub fn dissect(link: LinkType, octets: &[u8], wire_len: u32) -> Result<Captured<'_>, DissectError> {
    let mut walk = start(octets, wire_len);
    let first = begin(&mut walk, link)?;
    go(&mut walk, first)
}

/// Finds the TCP segment as [`dissect`] does; also returns the fragment it is in. The packet of
/// that fragment may have TCP in it. There is no fragment if [`dissect`] calls the packet whole:
/// calling that first is quicker.
///
/// As of [`dissect`], in addition to the fragment.
pub fn dissect_with_fragment(
    link: LinkType,
    octets: &[u8],
    wire_len: u32,
) -> (Result<Captured<'_>, DissectError>, Option<Fragment<'_>>) {
    let mut walk = start(octets, wire_len);
    let found = begin(&mut walk, link).and_then(|first| go(&mut walk, first));
    (found, walk.fragment)
}

#[inline]
fn start(octets: &[u8], wire_len: u32) -> Walk<'_> {
    Walk {
        octets,
        // A wire length below the captured length is wrong.
        wire: (wire_len as usize).max(octets.len()),
        layers: Layers::default(),
        vlan: None,
        packet: None,
        fragment: None,
    }
}

#[inline]
fn begin(walk: &mut Walk<'_>, link: LinkType) -> Result<Next, DissectError> {
    let Some(next) = first(link) else {
        return Err(DissectError::UnknownLinkType { link });
    };
    match link {
        LinkType::PPP_PPPD | LinkType::PPP_WITH_DIR => {
            walk.take(1, Layer::Ppp)?;
        }
        LinkType::RAW_BSD | LinkType::RAW_OPENBSD if walk.octets.first() == Some(&0) => {
            return Ok(Next::Loopback);
        }
        _ => {}
    }
    Ok(next)
}

/// Walks from layer to layer, and reads the segment.
#[inline]
fn go<'a>(walk: &mut Walk<'a>, next: Next) -> Result<Captured<'a>, DissectError> {
    to_tcp(walk, next)?;
    transport::read(walk)
}

/// Walks from layer to layer up to the TCP header.
#[inline]
fn to_tcp(walk: &mut Walk<'_>, mut next: Next) -> Result<(), DissectError> {
    for _ in 0..MAX_LAYERS {
        next = match next {
            Next::Ip => network::step(walk)?,
            Next::Tcp => return Ok(()),
            Next::Ethernet => ethernet::step(walk)?,
            Next::EtherType(kind) => ethernet::ether_type(walk, kind)?,
            other => rare(other, walk)?,
        };
    }
    Err(DissectError::TooDeep)
}

/// Reads the layers that few captures have, separate from the others.
#[inline(never)]
fn rare(next: Next, walk: &mut Walk<'_>) -> Result<Next, DissectError> {
    match next {
        Next::Fddi => ethernet::fddi(walk),
        Next::Llc => ethernet::llc(walk),
        Next::Mpls => mpls::step(walk),
        Next::Pppoe => ppp::pppoe(walk),
        Next::Ppp => ppp::step(walk),
        Next::Hdlc => ppp::hdlc(walk),
        Next::Cooked => cooked::first_version(walk),
        Next::Cooked2 => cooked::second_version(walk),
        Next::Loopback => loopback::step(walk),
        Next::Gre => gre::step(walk),
        Next::Udp => udp::step(walk),
        Next::Radiotap => wireless::radiotap(walk),
        Next::Wireless => wireless::step(walk),
        Next::Ethernet | Next::EtherType(_) | Next::Ip | Next::Tcp => Ok(next),
    }
}

#[cfg(test)]
mod tests;
