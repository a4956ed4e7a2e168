//! The send buffer: octets the application wrote and the peer has not yet
//! acknowledged.
//!
//! Pieces lie in order as written; neighbors that can be joined for free are
//! joined, so a phantom stream is a single piece. Finding an offset is a
//! binary search over pieces.

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
    /// The piece in which the last slice began: the next one mostly begins there too.
    cursor: usize,
    /// Most octets kept.
    capacity: u64,
    records: Records,
}

impl<P: Payload> SendBuffer<P> {
    /// An empty buffer whose first octet will stand at offset 1 (after SYN).
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

    /// Octets kept.
    #[inline]
    pub fn queued(&self) -> u64 {
        self.end - self.start
    }

    /// Octets this buffer was granted.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// What is written next begins a record.
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

    /// Changes how much is kept; what is in the buffer stays.
    pub fn set_capacity(&mut self, octets: u64) {
        self.capacity = octets;
    }

    /// Takes as much of `payload` as fits into `room` octets; returns how many
    /// that is.
    pub fn write(&mut self, mut payload: P, room: u64) -> usize {
        let room = usize::try_from(room).unwrap_or(usize::MAX);
        let accepted = payload.len().min(room);
        if accepted < payload.len() {
            // What does not fit stays with the application.
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

    /// Asserts what holds after every change. The pieces are what lies between SND.UNA and the
    /// end of what was written.
    fn assert_invariants(&self) {
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

    /// Forgets everything below `una`.
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

    /// The octets of a range inside the buffer.
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
        // A segment over several writes.
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
        // Pieces that do not follow each other are kept apart.
        buffer.pieces.push_back((1, phantom(0, 10)));
        buffer.pieces.push_back((11, phantom(10, 10)));
        buffer.end = 21;
        assert_eq!(buffer.slice(5..15), phantom(4, 10));
        assert_eq!(buffer.slice(11..21), phantom(10, 10));
        assert_eq!(buffer.slice(1..11), phantom(0, 10));
        // Wherever the slice before it was, and what was released since.
        buffer.release(11);
        assert_eq!(buffer.slice(12..15), phantom(11, 3));
        assert_eq!(buffer.slice(11..21), phantom(10, 10));
    }
}
