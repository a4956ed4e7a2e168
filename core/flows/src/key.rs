//! Key of a connection: both endpoints, in either order.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use gigatcp_wire::Endpoints;

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

/// Both endpoints as words, the smaller one first. The addresses come first, and the last word
/// holds the ports. Its upper half is free for callers that keep many ([`crate::places`]).
pub(crate) type Words<const N: usize> = [u64; N];

/// A pair of endpoints, and which of them a packet comes from.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub(crate) key: Key,
    /// Whether the packet comes from the first endpoint.
    pub(crate) is_first: bool,
}

impl Pair {
    /// Creates a pair of IPv4 endpoints. Source and destination are side by side, and so are their
    /// ports.
    #[inline(always)]
    pub(crate) const fn v4(addresses: u64, ports: u32) -> Self {
        let (addresses_back, ports_back) = (addresses.rotate_left(32), ports.rotate_left(16));
        // Packets go either way, so a branch would not be predictable.
        let is_first =
            (addresses < addresses_back) | ((addresses == addresses_back) & (ports <= ports_back));
        let words = if is_first {
            [addresses, ports as u64]
        } else {
            [addresses_back, ports_back as u64]
        };
        Self {
            key: Key::V4(words),
            is_first,
        }
    }

    /// Both endpoints, in order.
    pub fn ends(&self) -> [Endpoint; 2] {
        self.key.ends()
    }

    /// Index of the share, of `count`, that its connections belong to. For parallel work: both
    /// directions and all connections of the same endpoints are in one share.
    #[inline]
    pub fn share(&self, count: u32) -> u32 {
        let word = match self.key {
            Key::V4([addresses, ports]) => addresses ^ ports << 16,
            Key::V6([a, b, c, d, ports]) => a ^ b ^ c ^ d ^ ports << 16,
        };
        // Fibonacci hashing: moves the low bits of the ports to the top.
        let mixed = word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        ((mixed * u64::from(count)) >> 32) as u32
    }

    /// Creates a pair of any endpoints.
    #[inline]
    pub fn of(endpoints: Endpoints, src_port: u16, dst_port: u16) -> Self {
        let ports = u32::from(src_port) << 16 | u32::from(dst_port);
        match endpoints {
            Endpoints::V4 { src, dst } => {
                let addresses = u64::from(src.to_bits()) << 32 | u64::from(dst.to_bits());
                Self::v4(addresses, ports)
            }
            Endpoints::V6 { src, dst } => {
                let is_first = (src, src_port) <= (dst, dst_port);
                let (one, other, ports) = if is_first {
                    (src, dst, ports)
                } else {
                    (dst, src, ports.rotate_left(16))
                };
                let ([a, b], [c, d]) = (halves(one), halves(other));
                Self {
                    key: Key::V6([a, b, c, d, u64::from(ports)]),
                    is_first,
                }
            }
        }
    }
}

/// Both endpoints of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    V4(Words<2>),
    V6(Words<5>),
}

impl Key {
    /// Both endpoints, in order.
    pub fn ends(&self) -> [Endpoint; 2] {
        let mut ends = [true, false].map(|is_first| self.endpoint(is_first));
        ends.sort_unstable();
        ends
    }

    /// First endpoint or the other one.
    pub fn endpoint(&self, is_first: bool) -> Endpoint {
        let (address, ports): (IpAddr, u64) = match *self {
            Self::V4([addresses, ports]) => {
                let address = if is_first { addresses >> 32 } else { addresses };
                (Ipv4Addr::from_bits(address as u32).into(), ports)
            }
            Self::V6([a, b, c, d, ports]) => {
                let (high, low) = if is_first { (a, b) } else { (c, d) };
                let bits = u128::from(high) << 64 | u128::from(low);
                (Ipv6Addr::from_bits(bits).into(), ports)
            }
        };
        Endpoint {
            address,
            port: if is_first { ports >> 16 } else { ports } as u16,
        }
    }
}

#[inline]
const fn halves(address: Ipv6Addr) -> [u64; 2] {
    let bits = address.to_bits();
    [(bits >> 64) as u64, bits as u64]
}
