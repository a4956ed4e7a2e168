//! Control bits, RFC 9293 section 3.1; AE from RFC 9768.

use core::ops::{BitOr, BitOrAssign};

/// The nine control bits of the TCP header. They are the low bits of octets 12 and 13.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Flags(u16);

impl Flags {
    /// No control bit.
    pub const NONE: Self = Self(0);
    /// No more data from sender.
    pub const FIN: Self = Self(0x001);
    /// Synchronize sequence numbers.
    pub const SYN: Self = Self(0x002);
    /// Reset the connection.
    pub const RST: Self = Self(0x004);
    /// Push function.
    pub const PSH: Self = Self(0x008);
    /// The acknowledgment field is significant.
    pub const ACK: Self = Self(0x010);
    /// The urgent pointer field is significant.
    pub const URG: Self = Self(0x020);
    /// ECN-Echo (RFC 3168).
    pub const ECE: Self = Self(0x040);
    /// Congestion Window Reduced (RFC 3168).
    pub const CWR: Self = Self(0x080);
    /// Accurate ECN (RFC 9768), once the nonce sum.
    pub const AE: Self = Self(0x100);

    /// The three flags that form the ACE field of RFC 9768, once negotiated.
    pub const ACE: Self = Self(0x1c0);

    /// Flags whose ACE field is `count` modulo 8. AE is its highest bit, ECE its lowest (RFC 9768
    /// section 3.2.2).
    pub const fn from_ace(count: u8) -> Self {
        Self((count as u16 & 7) << 6)
    }

    /// ACE field.
    pub const fn ace(self) -> u8 {
        (self.0 >> 6) as u8 & 7
    }

    /// Flags with these header bits; bits above AE are dropped.
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x1ff)
    }

    /// Header bits.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Sequence numbers they occupy: one each for SYN and FIN. RFC 9293 section 3.4.
    #[inline]
    pub const fn seq_len(self) -> u32 {
        self.contains(Self::SYN) as u32 + self.contains(Self::FIN) as u32
    }

    /// Whether every bit of `other` is set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any bit of `other` is set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// These flags without those of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl BitOr for Flags {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ace_field_is_ae_cwr_ece_from_high_to_low() {
        assert_eq!(Flags::from_ace(0b100), Flags::AE);
        assert_eq!(Flags::from_ace(0b010), Flags::CWR);
        assert_eq!(Flags::from_ace(0b001), Flags::ECE);
        for count in 0..8 {
            let flags = Flags::ACK | Flags::FIN | Flags::from_ace(count);
            assert_eq!(flags.ace(), count);
            assert_eq!(flags.without(Flags::ACE), Flags::ACK | Flags::FIN);
        }
        assert_eq!(Flags::from_ace(13).ace(), 5, "modulo 8");
    }
}
