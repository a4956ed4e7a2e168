//! The payload of a real network: octets in at most two pieces of shared
//! memory.
//!
//! A segment that reaches over the border between two writes of the application
//! is two pieces that lie apart; a device gathers them (`writev`), so nothing is
//! copied. One that reaches over more than two writes, each then shorter than a
//! segment, is copied together: a device that gathered any number of pieces
//! would pay for each, and a list of them for its memory.

use bytes::Bytes;
use gigatcp_wire::{Checksum, Payload, PayloadOctets};

/// Payload in at most two pieces of shared memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Octets {
    head: Bytes,
    /// Empty where `head` is all there is.
    tail: Bytes,
}

impl Octets {
    /// Both pieces in order; the second may be empty.
    #[must_use]
    pub fn pieces(&self) -> [&[u8]; 2] {
        [&self.head, &self.tail]
    }

    /// All octets as one piece, which copies only where there are two.
    #[must_use]
    pub fn into_bytes(self) -> Bytes {
        if self.tail.is_empty() {
            self.head
        } else {
            [&self.head[..], &self.tail[..]].concat().into()
        }
    }
}

impl From<Bytes> for Octets {
    fn from(head: Bytes) -> Self {
        Self {
            head,
            tail: Bytes::new(),
        }
    }
}

impl Payload for Octets {
    fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn split_off(&mut self, len: usize) -> Self {
        match len.checked_sub(self.head.len()) {
            Some(in_tail) => self.tail.split_off(in_tail).into(),
            None => Self {
                head: self.head.split_off(len),
                tail: core::mem::take(&mut self.tail),
            },
        }
    }

    /// Only where one of the two is empty: a buffer of pieces that were joined
    /// in pairs would be cut into segments of more than two.
    fn try_append(&mut self, next: Self) -> Result<(), Self> {
        if next.is_empty() {
            return Ok(());
        }
        if !self.is_empty() {
            return Err(next);
        }
        *self = next;
        Ok(())
    }

    fn concat(pieces: &[Self]) -> Self {
        let mut bare = pieces
            .iter()
            .flat_map(|piece| [&piece.head, &piece.tail])
            .filter(|bytes| !bytes.is_empty());
        match (bare.next(), bare.next(), bare.next()) {
            (None, ..) => Self::default(),
            (Some(one), None, _) => one.clone().into(),
            (Some(one), Some(two), None) => Self {
                head: one.clone(),
                tail: two.clone(),
            },
            _ => {
                let mut joined = Vec::with_capacity(pieces.iter().map(Self::len).sum());
                for piece in pieces {
                    joined.extend_from_slice(&piece.head);
                    joined.extend_from_slice(&piece.tail);
                }
                Bytes::from(joined).into()
            }
        }
    }
}

impl PayloadOctets for Octets {
    fn write_to(&self, out: &mut [u8]) {
        let in_head = out.len().min(self.head.len());
        let (first, rest) = out.split_at_mut(in_head);
        first.copy_from_slice(&self.head[..in_head]);
        rest.copy_from_slice(&self.tail[..rest.len()]);
    }

    fn add_to(&self, sum: &mut Checksum) {
        sum.add_octets(&self.head);
        sum.add_octets(&self.tail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(octets: &'static [u8]) -> Octets {
        Bytes::from_static(octets).into()
    }

    fn two() -> Octets {
        Octets::concat(&[of(b"abc"), of(b"de")])
    }

    #[test]
    fn two_pieces_are_joined_where_they_lie() {
        let first = of(b"abc");
        let joined = Octets::concat(&[first.clone(), of(b""), of(b"de")]);
        assert_eq!(joined.pieces(), [&b"abc"[..], &b"de"[..]]);
        assert_eq!(joined.pieces()[0].as_ptr(), first.pieces()[0].as_ptr());
    }

    #[test]
    fn more_pieces_are_copied_in_order() {
        let joined = Octets::concat(&[two(), two(), of(b"f")]);
        assert_eq!(joined.pieces(), [&b"abcdeabcdef"[..], &b""[..]]);
        assert!(Octets::concat(&[]).is_empty());
    }

    #[test]
    fn two_pieces_are_cut_anywhere() {
        for at in 0..=5 {
            let mut front = two();
            let rest = front.split_off(at);
            assert_eq!((front.len(), rest.len()), (at, 5 - at));
            let whole = [front.into_bytes(), rest.into_bytes()].concat();
            assert_eq!(whole, b"abcde", "cut at {at}");
        }
    }

    #[test]
    fn the_sum_and_the_octets_are_those_of_the_whole() {
        let mut sums = [Checksum::new(); 2];
        two().add_to(&mut sums[0]);
        sums[1].add_octets(b"abcde");
        assert_eq!(sums[0].finish(), sums[1].finish());
        for len in 0..=5 {
            let mut out = vec![0; len];
            two().write_to(&mut out);
            assert_eq!(out, b"abcde"[..len]);
        }
    }
}
