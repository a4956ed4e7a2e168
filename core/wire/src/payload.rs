//! The payload as a type parameter.
//!
//! Real bytes on a real wire, lengths only in simulation: 100 Gbit/s of phantom payload costs no
//! memory. A [`Phantom`] has the stream offset of its first octet, so integrity is still checked
//! end to end.

use core::fmt::Debug;

/// The payload of a segment or a buffer: a sequence of octets. It can be cut and, if two are
/// contiguous, joined.
pub trait Payload: Clone + Debug + Default {
    /// Length in octets.
    fn len(&self) -> usize;

    /// Whether there is no octet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keeps the first `len` octets and returns the remainder. Cheap: shares or recomputes, never
    /// copies octets.
    ///
    /// # Panics
    /// May panic when `len` exceeds the length.
    #[must_use]
    fn split_off(&mut self, len: usize) -> Self;

    /// Bytes from `start` up to `end`. As cheap as [`Payload::split_off`].
    ///
    /// # Panics
    /// May panic when `end` exceeds the length or `start` exceeds `end`.
    #[inline]
    fn slice(&self, start: usize, end: usize) -> Self {
        let mut front = self.clone();
        if end < front.len() {
            let _behind = front.split_off(end);
        }
        if start == 0 {
            return front;
        }
        front.split_off(start)
    }

    /// Drops the first `len` bytes. As cheap as [`Payload::split_off`].
    ///
    /// # Panics
    /// May panic when `len` exceeds the length.
    #[inline]
    fn advance(&mut self, len: usize) {
        *self = self.split_off(len);
    }

    /// Appends `next` if that is possible without copying octets; otherwise returns it. The default
    /// joins only if one of the two is empty.
    ///
    /// # Errors
    /// `next` itself, if the two cannot be joined without a copy.
    #[inline]
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

    /// Joins pieces into one, copying if necessary. Used if one segment spans several writes of the
    /// application.
    fn concat(pieces: &[Self]) -> Self;
}

/// A payload without contents: `len` octets from `offset` in the connection's stream.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Phantom {
    /// Stream offset of the first octet (0 = first octet of the connection).
    pub offset: u64,
    /// Number of octets.
    pub len: u32,
}

impl Payload for Phantom {
    fn len(&self) -> usize {
        self.len as usize
    }

    fn split_off(&mut self, len: usize) -> Self {
        assert!(len <= self.len as usize, "split beyond the payload");
        let rest = Self {
            offset: self.offset + len as u64,
            len: self.len - len as u32,
        };
        self.len = len as u32;
        rest
    }

    fn try_append(&mut self, next: Self) -> Result<(), Self> {
        if self.len == 0 {
            *self = next;
            return Ok(());
        }
        let follows = self.offset + u64::from(self.len) == next.offset;
        match self.len.checked_add(next.len) {
            Some(len) if follows => {
                self.len = len;
                Ok(())
            }
            _ => Err(next),
        }
    }

    fn concat(pieces: &[Self]) -> Self {
        let mut all = Self::default();
        for piece in pieces {
            let joined = all.try_append(*piece);
            assert!(joined.is_ok(), "phantom pieces do not follow each other");
        }
        all
    }
}
