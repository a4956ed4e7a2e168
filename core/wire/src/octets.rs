//! Payloads with octets: real bytes and phantoms.
//!
//! [`bytes::Bytes`] is one piece of shared memory: cutting shares the allocation, joining copies
//! unless there is one piece ([`crate::Octets`] does not). Two adjacent `Bytes` are not merged into
//! one even if they are contiguous in memory; that costs one more entry in a queue, never a copy.

use alloc::vec::Vec;

use bytes::Bytes;

use crate::phantom::{fill_and_sum_phantom, fill_phantom, sum_phantom};
use crate::{Checksum, Payload, Phantom};

/// A payload that can be put on a wire or into a capture file.
pub trait PayloadOctets: Payload {
    /// Writes the first `out.len()` octets of the payload.
    ///
    /// # Panics
    /// When `out` is longer than the payload.
    fn write_to(&self, out: &mut [u8]);

    /// Adds all octets of the payload to a checksum.
    fn add_to(&self, sum: &mut Checksum);

    /// Fills `out` with the payload and adds it to a checksum in one pass. `out` is as long as the
    /// payload.
    ///
    /// # Panics
    /// When `out` has another length.
    fn copy_to(&self, out: &mut [u8], sum: &mut Checksum);
}

impl PayloadOctets for Phantom {
    fn write_to(&self, out: &mut [u8]) {
        assert!(out.len() <= self.len(), "write beyond the payload");
        fill_phantom(self.offset, out);
    }

    fn add_to(&self, sum: &mut Checksum) {
        sum_phantom(*self, sum);
    }

    fn copy_to(&self, out: &mut [u8], sum: &mut Checksum) {
        assert_eq!(out.len(), self.len(), "the buffer is not as long");
        fill_and_sum_phantom(self.offset, out, sum);
    }
}

impl Payload for Bytes {
    fn len(&self) -> usize {
        Self::len(self)
    }

    fn split_off(&mut self, len: usize) -> Self {
        Self::split_off(self, len)
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        Self::slice(self, start..end)
    }

    #[inline]
    fn advance(&mut self, len: usize) {
        bytes::Buf::advance(self, len);
    }

    fn concat(pieces: &[Self]) -> Self {
        match pieces {
            [] => Self::new(),
            [one] => one.clone(),
            many => {
                let mut joined = Vec::with_capacity(many.iter().map(Self::len).sum());
                for piece in many {
                    joined.extend_from_slice(piece);
                }
                joined.into()
            }
        }
    }
}

impl PayloadOctets for Bytes {
    fn write_to(&self, out: &mut [u8]) {
        out.copy_from_slice(&self[..out.len()]);
    }

    fn add_to(&self, sum: &mut Checksum) {
        sum.add_octets(self);
    }

    fn copy_to(&self, out: &mut [u8], sum: &mut Checksum) {
        assert_eq!(out.len(), self.len(), "the buffer is not as long");
        sum.copy_octets(self, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn lettered(octets: &'static [u8]) -> Bytes {
        Bytes::from_static(octets)
    }

    #[test]
    fn cutting_bytes_shares_them() {
        let whole = Bytes::from(vec![1, 2, 3, 4, 5]);
        let mut front = whole.clone();
        let rest = Payload::split_off(&mut front, 2);
        assert_eq!((&front[..], &rest[..]), (&[1, 2][..], &[3, 4, 5][..]));
        assert_eq!(rest.as_ptr(), whole[2..].as_ptr());
    }

    #[test]
    fn a_slice_and_what_is_left_share_the_memory() {
        let mut whole = Bytes::from(vec![1, 2, 3, 4, 5]);
        let middle = Payload::slice(&whole, 1, 4);
        assert_eq!(
            (&middle[..], middle.as_ptr()),
            (&[2, 3, 4][..], whole[1..].as_ptr())
        );
        Payload::advance(&mut whole, 1);
        assert_eq!(
            (&whole[..], whole.as_ptr()),
            (&[2, 3, 4, 5][..], middle.as_ptr())
        );
    }

    #[test]
    fn one_piece_is_joined_without_a_copy() {
        let whole = Bytes::from(vec![1, 2, 3]);
        let joined = Bytes::concat(core::slice::from_ref(&whole));
        assert_eq!(joined.as_ptr(), whole.as_ptr());
    }

    #[test]
    fn several_pieces_are_joined_in_order() {
        let joined = Bytes::concat(&[lettered(b"ab"), lettered(b""), lettered(b"cde")]);
        assert_eq!(&joined[..], b"abcde");
        assert!(Bytes::concat(&[]).is_empty());
    }

    #[test]
    fn bytes_append_only_where_it_is_free() {
        let mut empty = Bytes::new();
        assert_eq!(empty.try_append(lettered(b"ab")), Ok(()));
        assert_eq!(empty.try_append(Bytes::new()), Ok(()));
        assert_eq!(empty.try_append(lettered(b"cd")), Err(lettered(b"cd")));
        assert_eq!(&empty[..], b"ab");
    }

    #[test]
    fn a_payload_writes_as_much_as_there_is_room() {
        let mut out = [0; 2];
        lettered(b"abc").write_to(&mut out);
        assert_eq!(&out, b"ab");

        let phantom = Phantom { offset: 5, len: 9 };
        phantom.write_to(&mut out);
        assert_eq!(out, [crate::phantom_octet(5), crate::phantom_octet(6)]);
    }

    #[test]
    #[should_panic(expected = "write beyond the payload")]
    fn a_phantom_does_not_write_more_than_it_has() {
        Phantom { offset: 0, len: 1 }.write_to(&mut [0; 2]);
    }
}
