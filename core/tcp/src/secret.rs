//! Keyed function for values that an attacker must not guess. They are initial sequence numbers,
//! timestamp offsets, SYN cookies, Fast Open cookies.
//!
//! SipHash-2-4 (Aumasson and Bernstein 2012) is a pseudorandom function of 64 bits with a key of
//! 128. It is designed for short inputs and cheap enough for every SYN of a flood. Each use has a
//! separate label in the first octet of the input, so that values published for one reveal nothing
//! about another. An address is hashed with its family, so that no IPv4 address equals an IPv6
//! one.
//!
//! The driver supplies the key, since the engine has no source of randomness. A simulation draws
//! it from the seed, a real host from its kernel. `Debug` does not show it.

use core::hash::Hasher;
use core::net::IpAddr;

use siphasher::sip::SipHasher24;

use crate::four_tuple::FourTuple;

/// Use of a keyed value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// RFC 6528.
    InitialSequenceNumber = 1,
    /// RFC 7323 section 5.4.
    TimestampOffset = 2,
    /// Time-independent part of a SYN cookie.
    SynCookieBase = 3,
    /// Key for the check of one period in a SYN cookie.
    SynCookieCount = 4,
    /// RFC 7413 section 4.1.2.
    #[cfg(feature = "fast-open")]
    FastOpenCookie = 5,
    /// RFC 6056 section 3.3.3.
    EphemeralPort = 6,
    /// Position of a connection in a table.
    Table = 7,
}

/// Secret key of this host, 128 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret([u8; 16]);

impl core::fmt::Debug for Secret {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<[u8; 16]> for Secret {
    fn from(octets: [u8; 16]) -> Self {
        Self::new(octets)
    }
}

impl Secret {
    /// Secret of these octets, which should come from a good source.
    pub const fn new(octets: [u8; 16]) -> Self {
        Self(octets)
    }

    /// No secret: that of the endpoint replaces it.
    pub(crate) const UNSET: Self = Self([0; 16]);

    /// SipHash-2-4 of addresses, without a label: for a secret without another use.
    #[cfg(feature = "fast-open")]
    pub(crate) fn sip_hash_of(&self, addresses: [IpAddr; 2]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for address in addresses {
            match address {
                IpAddr::V4(address) => hasher.write(&address.octets()),
                IpAddr::V6(address) => hasher.write(&address.octets()),
            }
        }
        hasher.finish()
    }

    /// Begins a value for `purpose`; the caller adds its inputs.
    pub(crate) fn keyed(&self, purpose: Purpose) -> Keyed {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u8(purpose as u8);
        Keyed(hasher)
    }
}

/// Keyed value in progress.
#[derive(Debug)]
pub(crate) struct Keyed(SipHasher24);

impl Keyed {
    /// Adds an address and its family.
    #[must_use]
    pub fn address(mut self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => {
                self.0.write_u8(4);
                self.0.write(&address.octets());
            }
            IpAddr::V6(address) => {
                self.0.write_u8(6);
                self.0.write(&address.octets());
            }
        }
        self
    }

    /// Adds both sockets, the local one first.
    #[must_use]
    pub fn tuple(self, tuple: &FourTuple) -> Self {
        let mut keyed = self
            .address(tuple.local_address())
            .address(tuple.remote_address());
        keyed.0.write(&tuple.local_port.to_be_bytes());
        keyed.0.write(&tuple.remote_port.to_be_bytes());
        keyed
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: u64) -> Self {
        self.0.write(&number.to_be_bytes());
        self
    }

    /// Value.
    pub fn finish(self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn siphash_gives_the_vector_of_its_paper() {
        // Aumasson and Bernstein 2012, appendix A: key 00..0f, input 00..0e.
        let octets: [u8; 16] = core::array::from_fn(|n| n as u8);
        let mut hasher = SipHasher24::new_with_key(&octets);
        hasher.write(&octets[..15]);
        assert_eq!(hasher.finish(), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn a_secret_does_not_show() {
        assert_eq!(format!("{:?}", Secret::new([77; 16])), "Secret(..)");
    }

    #[test]
    fn purpose_family_and_key_all_matter() {
        let secret = Secret::new([1; 16]);
        let v4 = IpAddr::V4(Ipv4Addr::new(1, 2, 3, 4));
        let v6 = IpAddr::V6(Ipv6Addr::from(0x0102_0304));
        let value =
            |secret: Secret, purpose, address| secret.keyed(purpose).address(address).finish();
        let one = value(secret, Purpose::FastOpenCookie, v4);
        assert_ne!(one, value(secret, Purpose::FastOpenCookie, v6));
        assert_ne!(one, value(secret, Purpose::TimestampOffset, v4));
        assert_ne!(
            one,
            value(Secret::new([2; 16]), Purpose::FastOpenCookie, v4)
        );
    }
}
