//! Contents of a phantom payload: octets that are a fixed function of their place in the stream.
//!
//! The stream is cut into 8-octet words. Word `i` (counted from 0) holds, in
//! little-endian order,
//!
//! ```text
//! x = (i + 1) * 0x9e37_79b9_7f4a_7c15   (modulo 2^64)
//! w = x xor (x >> 32)
//! ```
//!
//! Both steps are one-to-one, so no two words of a stream are equal. A run of octets that is eight
//! or more octets away from its place is always detected. One multiplication per word keeps capture
//! files cheap.
//!
//! This is no random generator and no secret: its only purpose is a checkable capture.

use crate::{Checksum, Phantom};

const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Word `index` of the phantom stream.
const fn word(index: u64) -> u64 {
    let x = index.wrapping_add(1).wrapping_mul(MULTIPLIER);
    x ^ (x >> 32)
}

/// Octet at `offset` of every phantom stream.
pub const fn phantom_octet(offset: u64) -> u8 {
    word(offset / 8).to_le_bytes()[(offset % 8) as usize]
}

/// Groups of eight octets of the stream, little-endian, from any offset on.
struct Groups {
    next_index: u64,
    current: u64,
    shift: u32,
}

impl Groups {
    const fn from_offset(offset: u64) -> Self {
        Self {
            next_index: (offset / 8).wrapping_add(1),
            current: word(offset / 8),
            shift: (offset % 8) as u32 * 8,
        }
    }

    /// Next eight octets.
    #[inline]
    const fn advance(&mut self) -> u64 {
        let next = word(self.next_index);
        self.next_index = self.next_index.wrapping_add(1);
        // Two shifts, because a shift by 64 is not defined at shift zero.
        let group = (self.current >> self.shift) | (next << 1 << (63 - self.shift));
        self.current = next;
        group
    }
}

/// Fills `out` with the octets of the phantom stream from `offset` on.
pub fn fill_phantom(offset: u64, out: &mut [u8]) {
    let mut groups = Groups::from_offset(offset);
    let (whole, tail) = out.as_chunks_mut::<8>();
    for chunk in whole {
        *chunk = groups.advance().to_le_bytes();
    }
    let last = groups.advance().to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
}

/// Fills `out` like [`fill_phantom`] and adds it to `sum`.
pub(crate) fn fill_and_sum_phantom(offset: u64, out: &mut [u8], sum: &mut Checksum) {
    let mut groups = Groups::from_offset(offset);
    let mut words: u64 = 0;
    let len = out.len();
    let (whole, tail) = out.as_chunks_mut::<8>();
    for chunk in whole {
        let group = groups.advance();
        *chunk = group.to_le_bytes();
        words += (group & 0xffff_ffff) + (group >> 32);
    }
    let last = groups.advance().to_le_bytes();
    tail.copy_from_slice(&last[..tail.len()]);
    let mut padded = [0; 8];
    padded[..tail.len()].copy_from_slice(tail);
    let last = u64::from_le_bytes(padded);
    words += (last & 0xffff_ffff) + (last >> 32);
    sum.add_little_endian(words, len);
}

/// An octet that differs from the phantom stream at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PhantomMismatch {
    /// Stream offset of the first wrong octet.
    pub offset: u64,
    /// The octet of the stream there.
    pub expected: u8,
    /// The octet that was found.
    pub found: u8,
}

impl core::fmt::Display for PhantomMismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(
            f,
            "stream offset {}: expected octet {:#04x}, found {:#04x}",
            self.offset, self.expected, self.found
        )
    }
}

impl core::error::Error for PhantomMismatch {}

/// Checks that `octets` are those of the phantom stream from `offset` on.
///
/// # Errors
/// The first octet that differs.
pub fn verify_phantom(offset: u64, octets: &[u8]) -> Result<(), PhantomMismatch> {
    let mut groups = Groups::from_offset(offset);
    let (whole, tail) = octets.as_chunks::<8>();
    let mut good = 0;
    for chunk in whole {
        if groups.advance() != u64::from_le_bytes(*chunk) {
            return Err(first_mismatch(offset, octets, good));
        }
        good += 8;
    }
    if groups.advance().to_le_bytes()[..tail.len()] != *tail {
        return Err(first_mismatch(offset, octets, good));
    }
    Ok(())
}

/// First wrong octet at or after index `from`; there must be one.
#[cold]
fn first_mismatch(offset: u64, octets: &[u8], from: usize) -> PhantomMismatch {
    let at = (from..octets.len())
        .find(|&at| octets[at] != phantom_octet(offset.wrapping_add(at as u64)))
        .expect("a group that differs has an octet that differs");
    let differs_at = offset.wrapping_add(at as u64);
    PhantomMismatch {
        offset: differs_at,
        expected: phantom_octet(differs_at),
        found: octets[at],
    }
}

/// Adds the octets of `phantom` to `sum` without writing them anywhere.
pub(crate) fn sum_phantom(phantom: Phantom, sum: &mut Checksum) {
    let mut groups = Groups::from_offset(phantom.offset);
    let mut words: u64 = 0;
    for _ in 0..phantom.len / 8 {
        let group = groups.advance();
        // At most 2^29 groups, each adding less than 2^33.
        words += (group & 0xffff_ffff) + (group >> 32);
    }
    let tail_bits = phantom.len % 8 * 8;
    let tail = groups.advance() & !(u64::MAX << tail_bits);
    words += (tail & 0xffff_ffff) + (tail >> 32);
    sum.add_little_endian(words, phantom.len as usize);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn filled(offset: u64, len: usize) -> Vec<u8> {
        let mut octets = vec![0; len];
        fill_phantom(offset, &mut octets);
        octets
    }

    #[test]
    fn the_first_words_are_those_of_the_documented_formula() {
        // Calculated by hand from the formula: 1 * K and 2 * K modulo 2^64.
        let (k1, k2) = (0x9e37_79b9_7f4a_7c15_u64, 0x3c6e_f372_fe94_f82a_u64);
        let mut expected = (k1 ^ 0x9e37_79b9).to_le_bytes().to_vec();
        expected.extend((k2 ^ 0x3c6e_f372).to_le_bytes());
        assert_eq!(filled(0, 16), expected);
    }

    #[test]
    fn offsets_near_the_end_of_the_number_range_do_not_panic() {
        let octets = filled(u64::MAX - 3, 16);
        assert_eq!(verify_phantom(u64::MAX - 3, &octets), Ok(()));
    }

    #[test]
    fn data_shifted_by_up_to_a_kibibyte_is_noticed() {
        for shift in 1..1024 {
            assert!(
                verify_phantom(shift, &filled(0, 64)).is_err(),
                "shift {shift}"
            );
        }
    }

    proptest! {
        #[test]
        fn filling_agrees_octet_by_octet(offset in any::<u64>(), len in 0_usize..70) {
            let expected: Vec<u8> =
                (0..len as u64).map(|at| phantom_octet(offset.wrapping_add(at))).collect();
            prop_assert_eq!(filled(offset, len), expected);
        }

        #[test]
        fn a_changed_octet_is_named(
            offset in 0..u64::MAX / 2,
            len in 1_usize..70,
            index in any::<prop::sample::Index>(),
            change in 1_u8..,
        ) {
            let mut octets = filled(offset, len);
            let at = index.index(len);
            octets[at] ^= change;
            let expected = phantom_octet(offset + at as u64);
            prop_assert_eq!(verify_phantom(offset, &octets), Err(PhantomMismatch {
                offset: offset + at as u64,
                expected,
                found: expected ^ change,
            }));
        }

        #[test]
        fn summing_without_writing_equals_summing_what_is_written(
            offset in any::<u64>(),
            len in 0_u32..70,
            before in 0_usize..3,
        ) {
            let mut direct = Checksum::new();
            direct.add_octets(&[7; 3][..before]);
            let mut written = direct;
            sum_phantom(Phantom { offset, len }, &mut direct);
            let expected = filled(offset, len as usize);
            let mut together = written;
            let mut out = vec![0; len as usize];
            fill_and_sum_phantom(offset, &mut out, &mut together);
            written.add_octets(&expected);
            prop_assert_eq!(direct.finish(), written.finish());
            prop_assert_eq!((out, together.finish()), (expected, written.finish()));
        }
    }
}
