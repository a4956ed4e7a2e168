//! Send buffer: octets written by the application and not yet acknowledged.
//!
//! Pieces are in the order written; neighbors that can be joined for free are joined, so a phantom
//! stream is a single piece. An offset is found by binary search over pieces.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_wire::Payload;

use crate::records::Records;

/// Octets between SND.UNA and the end of what was written.
#[derive(Clone, Debug)]
pub struct SendBuffer<P> {
    /// Pieces with the stream offset of their first octet.
    pieces: VecDeque<(u64, P)>,
    /// Offset of the oldest octet kept.
    start: u64,
    /// Offset after the newest octet written.
    end: u64,
    /// Piece in which the last slice began; the next one usually begins there too.
    cursor: usize,
    /// Maximum number of octets kept.
    capacity: u64,
    records: Records,
}

impl<P: Payload> SendBuffer<P> {
    /// An empty buffer whose first octet is at offset 1 (after SYN).
    pub fn new(capacity: u64) -> Self {
        Self {
            pieces: VecDeque::new(),
            start: 1,
            end: 1,
            cursor: 0,
            capacity,
            records: Records::default(),
        }
    }

    /// Offset after the newest octet written.
    #[inline]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Octets that can be written now.
    #[inline]
    pub fn space(&self) -> u64 {
        self.capacity.saturating_sub(self.end - self.start)
    }

    /// Octets in the buffer.
    #[inline]
    pub fn queued(&self) -> u64 {
        self.end - self.start
    }

    /// Capacity granted.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Ends the current record after the last octet written.
    pub fn end_record(&mut self) {
        if self.end > self.start {
            self.records.mark(self.end);
        }
    }

    /// Ends of records.
    #[inline]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Changes the capacity; octets in the buffer stay.
    pub fn set_capacity(&mut self, octets: u64) {
        self.capacity = octets;
    }

    /// Writes as much of `payload` as fits into `room` octets. Returns the number of octets
    /// written.
    pub fn write(&mut self, mut payload: P, room: u64) -> usize {
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let accepted = payload.len().min(room);
        if accepted < payload.len() {
            // The application keeps what does not fit.
            let _rejected = payload.split_off(accepted);
        }
        if accepted == 0 {
            return 0;
        }
        let offset = self.end;
        self.end += accepted as u64;
        match self.pieces.back_mut() {
            Some((_, last)) => {
                if let Err(payload) = last.try_append(payload) {
                    self.pieces.push_back((offset, payload));
                }
            }
            None => self.pieces.push_back((offset, payload)),
        }
        self.assert_invariants();
        accepted
    }

    /// Asserts the invariants: the pieces cover SND.UNA to the end of the written data.
    fn assert_invariants(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let Self { start, end, .. } = *self;
        let piece_end = |(offset, piece): &(u64, P)| offset + piece.len() as u64;
        let first = self.pieces.front().map_or(end, |(offset, _)| *offset);
        let last = self.pieces.back().map_or(start, piece_end);
        debug_assert!(start <= end, "the buffer is {start}..{end}");
        debug_assert!(
            (first, last) == (start, end),
            "the pieces are {first}..{last}, the buffer {start}..{end}"
        );
        debug_assert!(
            self.cursor < self.pieces.len().max(1),
            "the cursor is at piece {} of {}",
            self.cursor,
            self.pieces.len()
        );
    }

    /// Releases everything below `una`.
    pub fn release(&mut self, una: u64) {
        let una = una.min(self.end);
        if una <= self.start {
            return;
        }
        self.start = una;
        self.records.release(una);
        while let Some((offset, piece)) = self.pieces.front_mut() {
            let piece_end = *offset + piece.len() as u64;
            if piece_end <= una {
                self.pieces.pop_front();
                self.cursor = self.cursor.saturating_sub(1);
            } else {
                if *offset < una {
                    piece.advance((una - *offset) as usize);
                    *offset = una;
                }
                break;
            }
        }
        self.assert_invariants();
    }

    /// Octets of a range inside the buffer.
    pub fn slice(&mut self, octets: Range<u64>) -> P {
        let (from, to) = (octets.start, octets.end);
        debug_assert!(
            self.start <= from && from <= to && to <= self.end,
            "{from}..{to} is not in the send buffer {}..{}",
            self.start,
            self.end
        );
        if from == to {
            return P::default();
        }
        if let Some((offset, piece)) = self.pieces.get(self.cursor)
            && *offset <= from
            && to <= offset + piece.len() as u64
        {
            return cut(piece, *offset, from, to);
        }
        self.slice_anywhere(from, to)
    }

    #[cold]
    fn slice_anywhere(&mut self, from: u64, to: u64) -> P {
        let first = self.pieces.partition_point(|(offset, _)| *offset <= from) - 1;
        self.cursor = first;
        let (offset, piece) = &self.pieces[first];
        debug_assert!(
            (*offset..offset + piece.len() as u64).contains(&from),
            "octet {from} is not in the piece at {offset}"
        );
        if to <= offset + piece.len() as u64 {
            return cut(piece, *offset, from, to);
        }
        // A segment that spans several writes.
        let parts: Vec<P> = self
            .pieces
            .range(first..)
            .take_while(|(offset, _)| *offset < to)
            .map(|(offset, piece)| cut(piece, *offset, from, to))
            .collect();
        let whole = P::concat(&parts);
        debug_assert!(
            whole.len() as u64 == to - from,
            "{} octets of {from}..{to}",
            whole.len()
        );
        whole
    }
}

/// The part of `piece` (which starts at `offset`) between `from` and `to`.
#[inline]
fn cut<P: Payload>(piece: &P, offset: u64, from: u64, to: u64) -> P {
    let start = from.saturating_sub(offset) as usize;
    piece.slice(start, piece.len().min((to - offset) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_wire::Phantom;

    fn phantom(offset: u64, len: u32) -> Phantom {
        Phantom { offset, len }
    }

    #[test]
    fn takes_only_what_fits_and_gives_room_back_when_acknowledged() {
        let mut buffer = SendBuffer::new(1000);
        assert_eq!(buffer.write(phantom(0, 700), 1000), 700);
        assert_eq!(buffer.write(phantom(700, 700), buffer.space()), 300);
        assert_eq!(buffer.space(), 0);
        buffer.release(401);
        assert_eq!(buffer.space(), 400);
        assert_eq!(buffer.slice(401..1001), phantom(400, 600));
    }

    #[test]
    fn a_slice_may_cross_pieces() {
        let mut buffer = SendBuffer::new(100);
        // Pieces that are not adjacent are not joined.
        buffer.pieces.push_back((1, phantom(0, 10)));
        buffer.pieces.push_back((11, phantom(10, 10)));
        buffer.end = 21;
        assert_eq!(buffer.slice(5..15), phantom(4, 10));
        assert_eq!(buffer.slice(11..21), phantom(10, 10));
        assert_eq!(buffer.slice(1..11), phantom(0, 10));
        // Wherever the previous slice was, and whatever was released since.
        buffer.release(11);
        assert_eq!(buffer.slice(12..15), phantom(11, 3));
        assert_eq!(buffer.slice(11..21), phantom(10, 10));
    }
}
