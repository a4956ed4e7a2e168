//! Payload of a real network: pieces of shared memory that are gathered, not copied.
//!
//! A segment that spans two writes of the application consists of two pieces of memory; a
//! super-segment may be several. A device gathers them (`writev`), or they are copied once into the
//! packet, piece by piece. Nearly all segments are one piece, which is held without an allocation.
//!
//! Small pieces are copied together nevertheless. A piece costs a reference count, an entry in a
//! device's list and a part of an allocation, as much as copying a few hundred bytes.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use bytes::Bytes;

use crate::{Checksum, Payload, PayloadOctets};

/// Pieces with a mean length below this are copied together.
const SMALL_PIECE: usize = 512;

/// A run of bytes in pieces of shared memory.
///
/// A segment gathers pieces as long as there are few. A buffer does not, as their number would be
/// unlimited: [`Payload::try_append`] joins nothing.
#[derive(Clone, Default, Debug)]
pub struct Octets {
    /// Empty only if the run is empty.
    head: Bytes,
    /// The following pieces, none of them empty; `None` if there are none.
    #[allow(
        clippy::box_collection,
        reason = "few have it, and all are moved about: one word instead of four"
    )]
    more: Option<Box<VecDeque<Bytes>>>,
}

impl Octets {
    /// Maximum number of pieces that are gathered; more are copied together.
    pub const MAX_PIECES: usize = 16;

    /// An empty run.
    pub const fn new() -> Self {
        Self {
            head: Bytes::new(),
            more: None,
        }
    }

    /// Pieces in order, one for nearly all payloads.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let more = self.more.iter().flat_map(|more| more.iter());
        core::iter::once(&self.head)
            .chain(more)
            .map(|piece| &piece[..])
    }

    /// All bytes in one piece, which copies only if there are several.
    pub fn into_bytes(self) -> Bytes {
        if self.more.is_none() {
            return self.head;
        }
        let mut joined = Vec::with_capacity(Payload::len(&self));
        for piece in self.pieces() {
            joined.extend_from_slice(piece);
        }
        joined.into()
    }

    /// Run of `pieces`, none of them empty.
    fn from_pieces(mut pieces: VecDeque<Bytes>) -> Self {
        let Some(head) = pieces.pop_front() else {
            return Self::default();
        };
        let more = (!pieces.is_empty()).then(|| Box::new(pieces));
        let all = Self { head, more };
        all.assert_invariants();
        all
    }

    /// Asserts that no piece is empty, unless the run is.
    fn assert_invariants(&self) {
        debug_assert!(
            self.more.as_ref().is_none_or(|more| {
                !self.head.is_empty()
                    && !more.is_empty()
                    && more.iter().all(|piece| !piece.is_empty())
            }),
            "no piece of several is empty: {self:?}"
        );
    }

    #[cold]
    fn len_of_several(&self) -> usize {
        self.pieces().map(<[u8]>::len).sum()
    }

    #[cold]
    fn write_several(&self, mut out: &mut [u8]) {
        for piece in self.pieces() {
            let len = piece.len().min(out.len());
            let (front, rest) = out.split_at_mut(len);
            front.copy_from_slice(&piece[..len]);
            out = rest;
        }
        assert!(out.is_empty(), "write beyond the payload");
    }

    #[cold]
    fn copy_several(&self, mut out: &mut [u8], sum: &mut Checksum) {
        for piece in self.pieces() {
            let (front, rest) = out.split_at_mut(piece.len());
            sum.copy_octets(piece, front);
            out = rest;
        }
        assert!(out.is_empty(), "the buffer is longer than the payload");
    }

    #[cold]
    fn split_off_of_several(&mut self, len: usize) -> Self {
        let mut pieces = match self.more.take() {
            Some(more) => *more,
            None => VecDeque::new(),
        };
        if len < self.head.len() {
            pieces.push_front(self.head.split_off(len));
            return Self::from_pieces(pieces);
        }
        let mut kept = VecDeque::new();
        let mut left = len - self.head.len();
        while left > 0 {
            let mut piece = pieces.pop_front().expect("a cut within the payload");
            if left < piece.len() {
                pieces.push_front(piece.split_off(left));
            }
            left -= piece.len();
            kept.push_back(piece);
        }
        self.more = (!kept.is_empty()).then(|| Box::new(kept));
        self.assert_invariants();
        debug_assert_eq!(
            self.len_of_several(),
            len,
            "what is kept ends where it was cut"
        );
        Self::from_pieces(pieces)
    }
}

impl From<Bytes> for Octets {
    #[inline]
    fn from(head: Bytes) -> Self {
        Self { head, more: None }
    }
}

impl PartialEq for Octets {
    /// Whether the bytes are equal, in whatever pieces.
    fn eq(&self, other: &Self) -> bool {
        Payload::len(self) == Payload::len(other)
            && self.pieces().flatten().eq(other.pieces().flatten())
    }
}

impl Eq for Octets {}

impl Payload for Octets {
    #[inline]
    fn len(&self) -> usize {
        if self.more.is_none() {
            return self.head.len();
        }
        self.len_of_several()
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    #[inline]
    fn split_off(&mut self, len: usize) -> Self {
        if self.more.is_none() {
            return self.head.split_off(len).into();
        }
        self.split_off_of_several(len)
    }

    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        if self.more.is_none() {
            return self.head.slice(start..end).into();
        }
        let mut front = self.clone();
        let _behind = front.split_off(end);
        front.split_off(start)
    }

    #[inline]
    fn advance(&mut self, len: usize) {
        if self.more.is_none() {
            Payload::advance(&mut self.head, len);
        } else {
            *self = self.split_off(len);
        }
    }

    fn concat(pieces: &[Self]) -> Self {
        if let [one] = pieces {
            return one.clone();
        }
        let len: usize = pieces.iter().map(Payload::len).sum();
        let all = || pieces.iter().flat_map(Self::pieces);
        let count = all().filter(|piece| !piece.is_empty()).count();
        if count > Self::MAX_PIECES || len < count * SMALL_PIECE {
            let mut joined = Vec::with_capacity(len);
            for piece in all() {
                joined.extend_from_slice(piece);
            }
            return Bytes::from(joined).into();
        }
        let bare = pieces
            .iter()
            .flat_map(|piece| {
                core::iter::once(&piece.head).chain(piece.more.iter().flat_map(|more| more.iter()))
            })
            .filter(|piece| !piece.is_empty());
        Self::from_pieces(bare.cloned().collect())
    }
}

impl PayloadOctets for Octets {
    #[inline]
    fn write_to(&self, out: &mut [u8]) {
        if self.more.is_none() {
            self.head.write_to(out);
        } else {
            self.write_several(out);
        }
    }

    fn add_to(&self, sum: &mut Checksum) {
        for piece in self.pieces() {
            sum.add_octets(piece);
        }
    }

    #[inline]
    fn copy_to(&self, out: &mut [u8], sum: &mut Checksum) {
        if self.more.is_none() {
            self.head.copy_to(out, sum);
        } else {
            self.copy_several(out, sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    /// A payload of pieces of these lengths, and its bytes.
    fn gathered(lengths: &[usize]) -> (Octets, Vec<u8>) {
        let whole: Vec<u8> = (0..lengths.iter().sum())
            .map(|at| (at % 251) as u8)
            .collect();
        let mut rest = Bytes::from(whole.clone());
        let pieces: Vec<Octets> = lengths
            .iter()
            .map(|len| Octets::from(rest.split_to(*len)))
            .collect();
        (Octets::concat(&pieces), whole)
    }

    fn lengths(octets: &Octets) -> Vec<usize> {
        octets.pieces().map(<[u8]>::len).collect()
    }

    #[test]
    fn large_pieces_are_gathered_where_they_lie() {
        let first = Octets::from(Bytes::from(vec![1; 600]));
        let second = Octets::from(Bytes::from(vec![2; 600]));
        let joined = Octets::concat(&[first.clone(), Octets::default(), second.clone()]);
        let at: Vec<*const u8> = joined.pieces().map(<[u8]>::as_ptr).collect();
        assert_eq!(at, [first.head.as_ptr(), second.head.as_ptr()]);
    }

    #[test]
    fn small_or_many_pieces_are_copied_in_order() {
        for lengths_of in [vec![5, 7, 600], vec![1000; 17]] {
            let (octets, whole) = gathered(&lengths_of);
            assert_eq!(lengths(&octets), [whole.len()]);
            assert_eq!(octets.into_bytes(), whole);
        }
        assert!(Octets::concat(&[]).is_empty());
    }

    #[test]
    fn pieces_are_cut_anywhere_and_joined_again() {
        let (octets, whole) = gathered(&[600, 700, 800]);
        assert_eq!(lengths(&octets), [600, 700, 800]);
        for at in [0, 1, 599, 600, 601, 1299, 1300, 1301, 2099, 2100] {
            let mut front = octets.clone();
            let rest = front.split_off(at);
            assert_eq!((front.len(), rest.len()), (at, 2100 - at));
            assert!(lengths(&rest).iter().all(|len| *len > 0 || at == 2100));
            let mut left = octets.clone();
            left.advance(at);
            let sliced = [octets.slice(0, at), octets.slice(at, 2100)];
            assert_eq!((&left, &sliced), (&rest, &[front.clone(), rest.clone()]));
            let joined = Octets::concat(&[front.clone(), rest.clone()]);
            assert_eq!(joined, octets, "cut at {at}");
            assert_eq!([front.into_bytes(), rest.into_bytes()].concat(), whole);
        }
    }

    #[test]
    fn the_sum_and_the_bytes_are_those_of_the_whole() {
        let (octets, whole) = gathered(&[601, 703, 800]);
        let mut expected = Checksum::new();
        expected.add_octets(&whole);
        let mut sums = [Checksum::new(); 2];
        octets.add_to(&mut sums[0]);
        let mut out = vec![0; whole.len()];
        octets.copy_to(&mut out, &mut sums[1]);
        assert_eq!(out, whole);
        assert_eq!(sums.map(Checksum::finish), [expected.finish(); 2]);
        for len in [0, 600, 601, 1000, 2104] {
            let mut out = vec![0; len];
            octets.write_to(&mut out);
            assert_eq!(out, whole[..len]);
        }
    }
}
