//! The internet checksum, RFC 1071, with the pseudo headers of IPv4 (RFC 9293
//! section 3.1) and IPv6 (RFC 8200 section 8.1).
//!
//! The sum is kept in little-endian words and swapped once at the end, which
//! RFC 1071 section 2 (B) allows; 32-bit words are added into 64 bits and the
//! carries folded afterwards (section 2 (C)), a loop that compilers turn into
//! vector code.
//!
//! Not here: the incremental *update* of a stored checksum (RFC 1624). Every
//! packet is encoded whole, so nothing would use it; a forwarder that rewrites
//! headers pays a full sum per packet.

use crate::Endpoints;

/// The protocol number of TCP in the IP header (IANA; RFC 9293 section 3.1).
pub const TCP_PROTOCOL: u8 = 6;

/// A running ones' complement sum over octets that arrive in pieces.
///
/// Pieces may have odd lengths: the sum is that of the pieces joined.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Checksum {
    /// Folded sum of little-endian 16-bit words.
    sum: u16,
    /// Whether an odd number of octets went in, so that the next octet is the
    /// second half of a word.
    odd: bool,
}

impl Checksum {
    /// The sum over nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { sum: 0, odd: false }
    }

    /// The sum over the pseudo header of a segment of `len` octets, TCP header
    /// included, that travels between `endpoints`.
    #[must_use]
    pub fn pseudo_header(endpoints: &Endpoints, len: u32) -> Self {
        let mut sum = Self::new();
        match endpoints {
            Endpoints::V4 { src, dst } => {
                sum.add_octets(&src.octets());
                sum.add_octets(&dst.octets());
            }
            Endpoints::V6 { src, dst } => {
                sum.add_octets(&src.octets());
                sum.add_octets(&dst.octets());
            }
        }
        // Both layouts hold the protocol and the length in otherwise zero
        // words; a sum does not care in which order.
        sum.add_octets(&[0, TCP_PROTOCOL]);
        sum.add_octets(&len.to_be_bytes());
        sum
    }

    /// Adds the next octets.
    pub fn add_octets(&mut self, octets: &[u8]) {
        let (words, tail) = octets.as_chunks::<4>();
        // 2^32 words of 32 bits fit the 64 bits: 16 GiB in one call.
        let mut sum: u64 = words
            .iter()
            .map(|w| u64::from(u32::from_le_bytes(*w)))
            .sum();
        let mut last = [0; 4];
        last[..tail.len()].copy_from_slice(tail);
        sum += u64::from(u32::from_le_bytes(last));
        self.add_little_endian(sum, octets.len());
    }

    /// Adds `len` octets of which `sum` is the unfolded sum of little-endian
    /// words, zero-filled at the end.
    pub(crate) const fn add_little_endian(&mut self, sum: u64, len: usize) {
        let folded = fold(sum);
        // After an odd number of octets every octet stands in the other half
        // of its word (RFC 1071 section 2 (A), (B)).
        let aligned = if self.odd {
            folded.swap_bytes()
        } else {
            folded
        };
        self.sum = fold(self.sum as u64 + aligned as u64);
        self.odd ^= len % 2 == 1;
    }

    /// The value of the checksum field: the complement of the sum, in the
    /// octet order of `u16::to_be_bytes`.
    #[must_use]
    pub const fn finish(self) -> u16 {
        !self.sum.swap_bytes()
    }

    /// Whether the octets summed, checksum field included, are unharmed as far
    /// as the checksum can tell.
    #[must_use]
    pub const fn is_valid(self) -> bool {
        self.finish() == 0
    }
}

/// Folds a sum to 16 bits by adding the carries back in; the four halves fit
/// 18 bits, so two steps more are enough.
const fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use core::net::{Ipv4Addr, Ipv6Addr};
    use proptest::prelude::*;

    fn checksum_of(octets: &[u8]) -> u16 {
        let mut sum = Checksum::new();
        sum.add_octets(octets);
        sum.finish()
    }

    /// RFC 1071 section 4.1 transcribed as slowly as it reads.
    fn reference(octets: &[u8]) -> u16 {
        let mut sum: u32 = 0;
        for pair in octets.chunks(2) {
            sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    #[test]
    fn rfc_1071_section_3_example_sums_to_ddf2() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum_of(&octets), !0xddf2);
    }

    #[test]
    fn the_sum_over_nothing_is_all_ones() {
        assert_eq!(checksum_of(&[]), 0xffff);
    }

    #[test]
    fn the_widely_published_ipv4_header_example_gives_b861() {
        let header = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x00, 0x00, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(checksum_of(&header), 0xb861);
    }

    #[test]
    fn pseudo_headers_equal_the_written_out_ones() {
        let v4 = Endpoints::V4 {
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(198, 51, 100, 7),
        };
        let written = [192, 0, 2, 1, 198, 51, 100, 7, 0, 6, 0x05, 0xdc];
        assert_eq!(
            Checksum::pseudo_header(&v4, 1500).finish(),
            reference(&written)
        );

        let (src, dst) = (
            Ipv6Addr::LOCALHOST,
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9),
        );
        let mut written: Vec<u8> = Vec::new();
        written.extend(src.octets());
        written.extend(dst.octets());
        written.extend(70_000_u32.to_be_bytes());
        written.extend([0, 0, 0, 6]);
        let sum = Checksum::pseudo_header(&Endpoints::V6 { src, dst }, 70_000);
        assert_eq!(sum.finish(), reference(&written));
    }

    #[test]
    fn a_mebibyte_of_ones_does_not_overflow() {
        let octets = alloc::vec![0xff; 1 << 20];
        assert_eq!(checksum_of(&octets), reference(&octets));
    }

    proptest! {
        #[test]
        fn fast_and_slow_sums_agree(octets in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(checksum_of(&octets), reference(&octets));
        }

        #[test]
        fn pieces_of_any_length_sum_like_the_whole(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20),
        ) {
            let mut sum = Checksum::new();
            for piece in &pieces {
                sum.add_octets(piece);
            }
            prop_assert_eq!(sum.finish(), reference(&pieces.concat()));
        }

        #[test]
        fn a_stored_checksum_verifies(
            mut octets in prop::collection::vec(any::<u8>(), 2..100),
            flip in any::<(prop::sample::Index, u8)>(),
        ) {
            octets[..2].fill(0);
            let field = checksum_of(&octets);
            octets[..2].copy_from_slice(&field.to_be_bytes());
            let mut sum = Checksum::new();
            sum.add_octets(&octets);
            prop_assert!(sum.is_valid());

            let at = flip.0.index(octets.len());
            octets[at] ^= 1 << (flip.1 % 8);
            let mut sum = Checksum::new();
            sum.add_octets(&octets);
            prop_assert!(!sum.is_valid(), "a single bit error is always seen");
        }
    }
}
