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

/// Both endpoints as words, the smaller one first. An IPv4 address takes one
/// word of its four.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    words: [[u32; 4]; 2],
    ports: [u16; 2],
    is_v6: bool,
}

impl Key {
    /// The key of a packet, and whether the packet comes from the endpoint
    /// that stands first in it.
    #[inline]
    pub fn of(packet: &Observed) -> (Self, bool) {
        let (src, dst, is_v6) = match packet.endpoints {
            Endpoints::V4 { src, dst } => {
                ([src.to_bits(), 0, 0, 0], [dst.to_bits(), 0, 0, 0], false)
            }
            Endpoints::V6 { src, dst } => (words_of(src), words_of(dst), true),
        };
        let is_forward = (src, packet.src_port) <= (dst, packet.dst_port);
        let (words, ports) = if is_forward {
            ([src, dst], [packet.src_port, packet.dst_port])
        } else {
            ([dst, src], [packet.dst_port, packet.src_port])
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
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        let pair = u64::from(a[0]) << 32 | u64::from(b[0]);
        let mut hash = fold(pair ^ seed, ports ^ 0x9e37_79b9_7f4a_7c15 ^ seed >> 7);
        if self.is_v6 {
            for index in 1..4 {
                let pair = u64::from(a[index]) << 32 | u64::from(b[index]);
                hash = fold(hash ^ pair, seed ^ 0xd6e8_feb8_6659_fd93);
            }
        }
        fold(hash, seed | 1)
    }

    /// The endpoint at that place.
    pub fn endpoint(&self, is_first: bool) -> Endpoint {
        let index = usize::from(!is_first);
        let words = self.words[index];
        let address = if self.is_v6 {
            let bits = words
                .iter()
                .fold(0, |bits: u128, word| bits << 32 | u128::from(*word));
            IpAddr::V6(Ipv6Addr::from_bits(bits))
        } else {
            IpAddr::V4(Ipv4Addr::from_bits(words[0]))
        };
        Endpoint {
            address,
            port: self.ports[index],
        }
    }
}

fn words_of(address: Ipv6Addr) -> [u32; 4] {
    let bits = address.to_bits();
    [
        (bits >> 96) as u32,
        (bits >> 64) as u32,
        (bits >> 32) as u32,
        bits as u32,
    ]
}

/// Both halves of a product, mixed.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a | 1 << 63) * u128::from(b | 1);
    product as u64 ^ (product >> 64) as u64 ^ a
}
