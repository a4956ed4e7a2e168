//! The internet checksum, RFC 1071, with the pseudo headers of IPv4 (RFC 9293
//! section 3.1) and IPv6 (RFC 8200 section 8.1).
//!
//! The sum is kept in little-endian words and swapped once at the end, which RFC 1071 section 2 (B)
//! allows. Eight bytes are added at a time and their carries at the end (section 2 (C)). A second
//! sum, of the upper halves of all words, shows how much of the first is carries. Compilers turn
//! the loop into vector code, four instructions for 16 bytes.
//!
//! Out of scope: the incremental *update* of a stored checksum (RFC 1624). Every packet is encoded
//! whole, so nothing would use it. A forwarder that rewrites headers pays a full sum per packet.

use crate::Endpoints;

/// The protocol number of TCP in the IP header (IANA; RFC 9293 section 3.1).
pub const TCP_PROTOCOL: u8 = 6;

/// Ones' complement sum over octets that are added in pieces.
///
/// Pieces may have odd lengths: the sum is that of the pieces joined.
#[derive(Clone, Copy, Default, Debug)]
pub struct Checksum {
    /// Sum of little-endian words, each piece of the octets folded to 32 bits.
    sum: u64,
    /// Whether an odd number of octets was added. If so, the next octet is the second half of a
    /// word.
    odd: bool,
}

impl Checksum {
    /// Creates a sum of no octets.
    pub const fn new() -> Self {
        Self { sum: 0, odd: false }
    }

    /// Sums the pseudo header of a segment between `endpoints`. `len` is the segment's length in
    /// octets, TCP header included.
    #[inline]
    pub const fn pseudo_header(endpoints: &Endpoints, len: u32) -> Self {
        let addresses = match endpoints {
            Endpoints::V4 { src, dst } => {
                u32::from_le_bytes(src.octets()) as u64 + u32::from_le_bytes(dst.octets()) as u64
            }
            Endpoints::V6 { src, dst } => {
                sum_of_address(src.octets()) + sum_of_address(dst.octets())
            }
        };
        // Both layouts hold the protocol and the length in otherwise zero words; their order does
        // not change the sum.
        let rest = u32::from_le_bytes([0, 0, 0, TCP_PROTOCOL]) as u64 + len.swap_bytes() as u64;
        Self {
            sum: addresses + rest,
            odd: false,
        }
    }

    /// Adds the next octets.
    #[inline]
    pub fn add_octets(&mut self, octets: &[u8]) {
        self.add_little_endian(sum_of(octets), octets.len());
    }

    /// Copies `octets` to the front of `out` and adds them. Each block is summed while it is in the
    /// cache, so memory is read once.
    ///
    /// # Panics
    /// When `out` is shorter than `octets`.
    #[inline]
    pub fn copy_octets(&mut self, octets: &[u8], out: &mut [u8]) {
        let out = &mut out[..octets.len()];
        for (from, to) in octets.chunks(STRETCH).zip(out.chunks_mut(STRETCH)) {
            to.copy_from_slice(from);
            self.add_octets(to);
        }
    }

    /// Adds `len` octets, given as the unfolded sum of their little-endian words. The last word is
    /// zero-filled.
    #[inline]
    pub(crate) const fn add_little_endian(&mut self, sum: u64, len: usize) {
        let folded = fold_once(sum);
        // After an odd number of octets every octet stands in the other half
        // of its word (RFC 1071 section 2 (A), (B)).
        let aligned = if self.odd {
            fold(folded).swap_bytes() as u64
        } else {
            folded
        };
        self.sum += aligned;
        self.odd ^= len % 2 == 1;
    }

    /// Checksum field: the complement of the sum, as for `u16::to_be_bytes`.
    #[inline]
    pub const fn finish(self) -> u16 {
        !fold(self.sum).swap_bytes()
    }

    /// Whether the checksum over the octets, checksum field included, is correct.
    #[inline]
    pub const fn is_valid(self) -> bool {
        self.finish() == 0
    }
}

/// Octets that are copied before they are summed: a part of the smallest caches.
const STRETCH: usize = 4096;

/// Words that are added in parallel: two vectors of the smallest vector unit.
const LANES: usize = 4;

/// Sums of 64-bit words in lanes: of whole words, and of their upper halves.
type Halves = [[u64; LANES]; 2];

#[inline(always)]
fn add_words([total, high]: &mut Halves, words: &[[u8; 8]]) {
    let words: [u64; LANES] = core::array::from_fn(|lane| u64::from_le_bytes(words[lane]));
    for lane in 0..LANES {
        total[lane] = total[lane].wrapping_add(words[lane]);
        high[lane] = high[lane].wrapping_add(words[lane] >> 32);
    }
}

/// Sum of all halves: of fewer than 2^31 words, 16 GiB.
#[inline(always)]
fn sum_of_halves([total, high]: &Halves) -> u64 {
    let mut sum: u64 = 0;
    for lane in 0..LANES {
        // The lower halves are the remainder.
        let more = high[lane].wrapping_sub(high[lane] << 32);
        sum = sum.wrapping_add(total[lane]).wrapping_add(more);
    }
    sum
}

/// Sum of fewer than 64 octets.
#[inline(always)]
fn sum_of_rest(octets: &[u8]) -> u64 {
    let (words, tail) = octets.as_chunks::<8>();
    let last = |word, octet: &u8| word << 8 | u64::from(*octet);
    let mut sum = fold_once(tail.iter().rev().fold(0, last));
    for word in words {
        let word = u64::from_le_bytes(*word);
        sum += (word & 0xffff_ffff) + (word >> 32);
    }
    sum
}

/// Sum of the little-endian words of `octets`, zero-filled at the end.
#[inline]
fn sum_of(octets: &[u8]) -> u64 {
    let (blocks, rest) = octets.as_chunks::<64>();
    let sum = sum_of_rest(rest);
    if blocks.is_empty() {
        return sum;
    }
    sum + sum_of_blocks(blocks)
}

/// Sum of whole blocks. A separate function, in which compilers find the vectors.
#[inline(never)]
fn sum_of_blocks(blocks: &[[u8; 64]]) -> u64 {
    let mut halves = Halves::default();
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        add_words(&mut halves, &words[..LANES]);
        add_words(&mut halves, &words[LANES..]);
    }
    sum_of_halves(&halves)
}

const fn sum_of_address(octets: [u8; 16]) -> u64 {
    let all = u128::from_le_bytes(octets);
    fold_once(all as u64) + fold_once((all >> 64) as u64)
}

/// Adds the upper half to the lower, and the carry: 32 bits remain.
#[inline]
const fn fold_once(sum: u64) -> u64 {
    sum.wrapping_add(sum.rotate_left(32)) >> 32
}

/// Folds a sum to 16 bits by adding the carries back in.
#[inline]
const fn fold(sum: u64) -> u16 {
    let sum = fold_once(sum) as u32;
    (sum.wrapping_add(sum.rotate_left(16)) >> 16) as u16
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

    /// Calculates RFC 1071 section 4.1, transcribed literally and slow.
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
        fn octets_copied_are_the_octets_and_sum_like_them(
            octets in prop::collection::vec(any::<u8>(), 0..9000),
            before in prop::collection::vec(any::<u8>(), 0..3),
        ) {
            let mut out = alloc::vec![0xee; octets.len() + 1];
            let mut sum = Checksum::new();
            sum.add_octets(&before);
            sum.copy_octets(&octets, &mut out);
            prop_assert_eq!(out.pop(), Some(0xee));
            prop_assert_eq!(sum.finish(), reference(&[before, out.clone()].concat()));
            prop_assert_eq!(out, octets);
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
