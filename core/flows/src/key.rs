//! What makes two packets belong together: both endpoints, in either order.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_wire::Endpoints;

use crate::Observed;

/// An address and a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Endpoint {
    /// The address.
    pub address: IpAddr,
    /// The port.
    pub port: u16,
}

impl core::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self.address {
            IpAddr::V4(address) => write!(f, "{address}:{}", self.port),
            IpAddr::V6(address) => write!(f, "[{address}]:{}", self.port),
        }
    }
}

/// Both endpoints as words, the smaller one first. An IPv4 address takes half
/// of one word of its two.
#[derive(Clone, Copy, Eq, Debug)]
pub(crate) struct Key {
    words: [[u64; 2]; 2],
    ports: u32,
    is_v6: bool,
}

impl PartialEq for Key {
    /// All differences at once: keys are nearly always equal, and a branch for
    /// each word would cost more.
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let [[a, b], [c, d]] = self.words;
        let [[e, f], [g, h]] = other.words;
        let words = (a ^ e) | (b ^ f) | (c ^ g) | (d ^ h);
        let rest = u64::from(self.ports ^ other.ports) | u64::from(self.is_v6 ^ other.is_v6);
        words | rest == 0
    }
}

impl Key {
    /// The key of a packet, and whether the packet comes from the endpoint
    /// that stands first in it.
    #[inline]
    pub fn of(packet: &Observed) -> (Self, bool) {
        let (from, to) = (packet.src_port, packet.dst_port);
        let (src, dst, is_v6, is_forward) = match packet.endpoints {
            Endpoints::V4 { src, dst } => {
                let (src, dst) = (u64::from(src.to_bits()), u64::from(dst.to_bits()));
                let is_forward = src << 16 | u64::from(from) <= dst << 16 | u64::from(to);
                ([src, 0], [dst, 0], false, is_forward)
            }
            Endpoints::V6 { src, dst } => {
                let is_forward = (src, from) <= (dst, to);
                (halves(src), halves(dst), true, is_forward)
            }
        };
        let (words, ports) = if is_forward {
            ([src, dst], u32::from(from) << 16 | u32::from(to))
        } else {
            ([dst, src], u32::from(to) << 16 | u32::from(from))
        };
        let key = Self {
            words,
            ports,
            is_v6,
        };
        (key, is_forward)
    }

    /// A hash that whoever sends packets cannot aim at without the seed.
    #[inline]
    pub fn hash(&self, seed: u64) -> u64 {
        let [a, b] = &self.words;
        let pair = a[0].rotate_left(32) ^ b[0];
        let ports = u64::from(self.ports);
        let mut hash = fold(pair ^ seed, ports ^ 0x9e37_79b9_7f4a_7c15 ^ seed >> 7);
        if self.is_v6 {
            hash = fold(hash ^ a[0], seed ^ 0xd6e8_feb8_6659_fd93);
            hash = fold(hash ^ a[1], seed ^ 0xa076_1d64_78bd_642f);
            hash = fold(hash ^ b[1], seed ^ 0xe703_7ed1_a0b4_28db);
        }
        fold(hash, seed | 1)
    }

    /// The endpoint at that place.
    pub fn endpoint(&self, is_first: bool) -> Endpoint {
        let [high, low] = self.words[usize::from(!is_first)];
        let address = if self.is_v6 {
            IpAddr::V6(Ipv6Addr::from_bits(
                u128::from(high) << 64 | u128::from(low),
            ))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(high as u32))
        };
        let ports = self.ports;
        Endpoint {
            address,
            port: if is_first { ports >> 16 } else { ports } as u16,
        }
    }
}

/// The halves of an address.
#[inline]
const fn halves(address: Ipv6Addr) -> [u64; 2] {
    let bits = address.to_bits();
    [(bits >> 64) as u64, bits as u64]
}

/// Both halves of a product, mixed.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a | 1 << 63) * u128::from(b | 1);
    product as u64 ^ (product >> 64) as u64 ^ a
}
