//! The receive buffer: reassembly, and octets waiting for the application.
//!
//! In-order octets queue for reading; octets beyond a gap wait in a map by offset. They are also
//! kept as ranges, which are the SACK blocks (RFC 2018 section 4). The first block holds the
//! newest segment, and the most recently reported blocks follow.

use alloc::collections::{BTreeMap, VecDeque};
use core::ops::Range;

use gigatcp_wire::Payload;

use crate::lazy::Lazy;
use crate::range_set::RangeSet;

/// Result of inserting a segment's octets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// Octets by which the in-order edge advanced.
    pub advanced: u64,
    /// Whether the segment landed beyond a gap.
    pub out_of_order: bool,
    /// Whether the segment filled a gap (or part of one) at the edge.
    pub filled_hole: bool,
    /// First range of octets that had been received before.
    pub duplicate: Option<Range<u64>>,
}

/// Octets received and not yet read.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer<P> {
    /// In order and readable.
    ready: VecDeque<P>,
    ready_len: u64,
    beyond: Lazy<Beyond<P>>,
}

/// Octets beyond a gap.
#[derive(Clone, Default, Debug)]
struct Beyond<P> {
    /// Pieces by offset; they do not overlap.
    pieces: BTreeMap<u64, P>,
    /// Octets in `pieces`, as joined ranges.
    held: RangeSet,
    /// Most recently changed ranges of `held`, newest first. Every segment reports them, so they
    /// are cached.
    recent: [Range<u64>; 4],
    recent_len: usize,
}

impl<P: Payload> ReceiveBuffer<P> {
    /// An empty buffer.
    pub fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            ready_len: 0,
            beyond: Lazy::default(),
        }
    }

    /// Octets that can be read.
    #[inline]
    pub fn readable(&self) -> u64 {
        self.ready_len
    }

    /// Whether nothing is held beyond a gap.
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.held() == 0
    }

    /// Octets held beyond gaps.
    #[inline]
    pub fn held(&self) -> u64 {
        self.beyond
            .touched()
            .map_or(0, |beyond| beyond.held.total())
    }

    /// Number of reported SACK blocks that changed later than the one that `range` touches. All
    /// count if it touches none.
    pub fn ranges_before(&self, range: &Range<u64>) -> usize {
        let mut blocks = self.sack_blocks();
        let count = self.sack_blocks().count();
        let touched = blocks.position(|block| block.start <= range.end && range.start <= block.end);
        touched.unwrap_or(count)
    }

    /// End of the data held beyond gaps; `None` if nothing is.
    pub fn held_end(&self) -> Option<u64> {
        let beyond = self.beyond.touched()?;
        beyond.held.last().map(|range| range.end)
    }

    /// Appends in-order data on the fast path. `payload` starts at the edge and nothing is held
    /// beyond it.
    #[inline]
    pub fn append(&mut self, payload: P) {
        debug_assert!(
            self.is_contiguous(),
            "octets are appended at the edge of a buffer with {} beyond a gap",
            self.held()
        );
        self.push_ready(payload);
    }

    /// Asserts the invariants in O(log n); RCV.NXT is at `nxt`.
    fn assert_invariants(&self, nxt: u64) {
        debug_assert!(
            self.ready.is_empty() == (self.ready_len == 0),
            "{} octets ready in {} pieces",
            self.ready_len,
            self.ready.len()
        );
        debug_assert!(
            self.ready.back().is_none_or(|last| !last.is_empty()),
            "an empty piece waits to be read"
        );
        if let Some(beyond) = self.beyond.touched() {
            beyond.assert_invariants(nxt);
        }
    }

    /// Inserts `payload`, whose first octet is at `offset`. The edge (RCV.NXT) is at `nxt`; no
    /// octet may lie beyond the window.
    ///
    /// Each piece beyond a gap costs more than its octets. A peer that sends every second octet of
    /// the window could make us hold many times the buffer. So a piece beyond `most_pieces` is
    /// dropped for the peer to retransmit: it was neither acknowledged nor reported.
    pub fn insert(&mut self, nxt: u64, offset: u64, payload: P, most_pieces: u64) -> Arrival {
        let mut arrival = Arrival::default();
        let end = offset + payload.len() as u64;
        arrival.duplicate = self.first_duplicate(nxt, offset..end);
        if end <= nxt || payload.is_empty() {
            return arrival;
        }
        if offset > nxt {
            arrival.out_of_order = true;
            let beyond = self.beyond.make();
            if (beyond.pieces.len() as u64) < most_pieces {
                beyond.hold(offset, payload);
            }
            self.assert_invariants(nxt);
            return arrival;
        }
        arrival.filled_hole = !self.is_contiguous();
        let mut payload = payload;
        let fresh = if offset < nxt {
            payload.split_off((nxt - offset) as usize)
        } else {
            payload
        };
        arrival.advanced = self.advance(nxt, end, fresh) - nxt;
        self.assert_invariants(nxt + arrival.advanced);
        arrival
    }

    /// Up to `max` octets for the application, in one piece.
    pub fn read(&mut self, max: usize) -> Option<P> {
        let first = self.ready.front_mut()?;
        if first.len() > max {
            let rest = first.split_off(max);
            self.ready_len -= max as u64;
            return Some(core::mem::replace(first, rest));
        }
        self.ready_len -= first.len() as u64;
        self.ready.pop_front()
    }

    /// Readable pieces in order.
    pub fn ready(&self) -> impl Iterator<Item = &P> {
        self.ready.iter()
    }

    /// Discards everything beyond gaps. Returns the number of octets discarded.
    pub fn drop_held(&mut self) -> u64 {
        let octets = self.held();
        self.beyond.reset();
        octets
    }

    /// Removes the octet that `before` other readable octets precede. It iterates over the pieces:
    /// for urgent octets, which are rare.
    pub fn take_out(&mut self, before: u64) -> Option<P> {
        let mut at = before;
        let index = self.ready.iter().position(|piece| {
            let len = piece.len() as u64;
            let is_inside = at < len;
            at -= if is_inside { 0 } else { len };
            is_inside
        })?;
        let piece = &mut self.ready[index];
        let mut octet = piece.split_off(at as usize);
        let rest = octet.split_off(1);
        if self.ready[index].is_empty() {
            self.ready.remove(index);
            self.insert_ready(index, rest);
        } else {
            self.insert_ready(index + 1, rest);
        }
        self.ready_len -= 1;
        Some(octet)
    }

    /// Inserts an already counted piece into the readable ones.
    fn insert_ready(&mut self, index: usize, piece: P) {
        if !piece.is_empty() {
            self.ready.insert(index, piece);
        }
    }

    /// SACK blocks to report, most recently changed first.
    pub fn sack_blocks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let beyond = self.beyond.touched();
        let recent = beyond.map_or(&[][..], |beyond| &beyond.recent[..beyond.recent_len]);
        recent.iter().cloned()
    }

    fn push_ready(&mut self, payload: P) {
        self.ready_len += payload.len() as u64;
        match self.ready.back_mut() {
            Some(last) => {
                if let Err(payload) = last.try_append(payload) {
                    self.ready.push_back(payload);
                }
            }
            None => self.ready.push_back(payload),
        }
    }

    /// First part of `range` that was received before.
    fn first_duplicate(&self, nxt: u64, range: Range<u64>) -> Option<Range<u64>> {
        if range.start < nxt {
            return Some(range.start..range.end.min(nxt));
        }
        let held = &self.beyond.touched()?.held;
        if held.is_empty() {
            return None;
        }
        // The first held octet: either the range starts inside a held range, or it follows the
        // first gap.
        let start = match held.first_gap(range.clone()) {
            None => range.start,
            Some(gap) if gap.start > range.start => range.start,
            Some(gap) => gap.end,
        };
        if start >= range.end {
            return None;
        }
        let around = held.range_around(start)?;
        Some(start..around.end.min(range.end))
    }

    /// Appends `fresh` (from `nxt` to `end`) and adjoining held data. Returns the new edge.
    fn advance(&mut self, nxt: u64, end: u64, fresh: P) -> u64 {
        self.push_ready(fresh);
        let mut edge = end;
        debug_assert!(edge > nxt, "RCV.NXT moves from {nxt} back to {edge}");
        while let Some((offset, mut piece)) =
            self.beyond.touched_mut().and_then(|b| b.take_up_to(edge))
        {
            let piece_end = offset + piece.len() as u64;
            if piece_end > edge {
                let new = piece.split_off((edge - offset) as usize);
                self.push_ready(new);
                edge = piece_end;
            }
        }
        if let Some(beyond) = self.beyond.touched_mut() {
            beyond.held.remove_below(edge);
            beyond.retain_recent(|block| block.start > edge);
        }
        edge
    }
}

impl<P: Payload> Beyond<P> {
    /// Asserts the invariants. Held data lies beyond RCV.NXT, the pieces equal it, and each SACK
    /// block is a whole range of it (RFC 2018 section 4).
    fn assert_invariants(&self, nxt: u64) {
        if !cfg!(debug_assertions) {
            return;
        }
        let held = self.held.first().zip(self.held.last());
        let held = held.map(|(first, last)| (first.start, last.end));
        let first = self.pieces.first_key_value().map(|(start, _)| *start);
        let last = self.pieces.last_key_value();
        let last = last.map(|(start, piece)| start + piece.len() as u64);
        debug_assert!(
            first.zip(last) == held,
            "the pieces are {first:?}..{last:?}, held is {held:?}"
        );
        debug_assert!(
            first.is_none_or(|first| first > nxt),
            "octets from {first:?} are held beyond a gap, RCV.NXT is {nxt}"
        );
        debug_assert!(
            self.held.len() <= self.pieces.len(),
            "{} ranges of {} pieces",
            self.held.len(),
            self.pieces.len()
        );
        let blocks = &self.recent[..self.recent_len];
        debug_assert!(
            blocks
                .iter()
                .all(|block| self.held.range_around(block.start).as_ref() == Some(block)),
            "SACK blocks {blocks:?} are not ranges that are held"
        );
    }

    /// Holds the parts of `payload` that are not yet held.
    fn hold(&mut self, offset: u64, payload: P) {
        let end = offset + payload.len() as u64;
        let mut rest = payload;
        let mut at = offset;
        // The gaps that this one segment spans bound the collection.
        let gaps: alloc::vec::Vec<Range<u64>> = self.held.gaps(offset..end).collect();
        for gap in gaps {
            let mut part = rest.split_off((gap.start - at) as usize);
            at = gap.end;
            rest = part.split_off((gap.end - gap.start) as usize);
            self.keep(gap.start, part);
        }
        self.held.insert(offset..end);
        self.remember(offset);
    }

    /// Stores one piece that overlaps nothing, joined to its predecessor if that is free.
    fn keep(&mut self, offset: u64, part: P) {
        let before = self.pieces.range_mut(..offset).next_back();
        let part = match before {
            Some((start, piece)) if *start + piece.len() as u64 == offset => {
                match piece.try_append(part) {
                    Ok(()) => return,
                    Err(part) => part,
                }
            }
            _ => part,
        };
        self.pieces.insert(offset, part);
    }

    /// Removes and returns the first piece if it begins at or before `edge`.
    fn take_up_to(&mut self, edge: u64) -> Option<(u64, P)> {
        let first = self.pieces.first_entry()?;
        (*first.key() <= edge).then(|| first.remove_entry())
    }

    /// Moves the block around `offset` to the front of the reporting order.
    fn remember(&mut self, offset: u64) {
        let Some(block) = self.held.range_around(offset) else {
            return;
        };
        self.retain_recent(|old| !block.contains(&old.start));
        self.recent_len = (self.recent_len + 1).min(self.recent.len());
        self.recent[..self.recent_len].rotate_right(1);
        self.recent[0] = block;
    }

    fn retain_recent(&mut self, stays: impl Fn(&Range<u64>) -> bool) {
        let mut len = 0;
        for at in 0..self.recent_len {
            if stays(&self.recent[at]) {
                self.recent.swap(len, at);
                len += 1;
            }
        }
        self.recent_len = len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use gigatcp_wire::Phantom;
    use proptest::prelude::*;

    fn phantom(offset: u64, len: u32) -> Phantom {
        Phantom { offset, len }
    }

    #[test]
    fn the_block_of_the_newest_segment_is_reported_first_as_rfc_2018_asks() {
        let mut buffer = ReceiveBuffer::new();
        for offset in [500, 1500, 2500] {
            buffer.insert(0, offset, phantom(offset, 500), u64::MAX);
        }
        let blocks: Vec<_> = buffer.sack_blocks().collect();
        assert_eq!(blocks, [2500..3000, 1500..2000, 500..1000]);
        buffer.insert(0, 1000, phantom(1000, 500), u64::MAX);
        let blocks: Vec<_> = buffer.sack_blocks().collect();
        assert_eq!(blocks, [500..2000, 2500..3000]);
    }

    #[test]
    fn duplicates_are_found_below_the_edge_and_beyond_holes() {
        let mut buffer = ReceiveBuffer::new();
        assert_eq!(buffer.insert(0, 0, phantom(0, 100), u64::MAX).advanced, 100);
        let again = buffer.insert(100, 0, phantom(0, 100), u64::MAX);
        assert_eq!(again.duplicate, Some(0..100));
        buffer.insert(100, 200, phantom(200, 100), u64::MAX);
        let overlapping = buffer.insert(100, 150, phantom(150, 100), u64::MAX);
        assert_eq!(overlapping.duplicate, Some(200..250));
    }

    #[test]
    fn an_octet_is_taken_out_wherever_it_stands_and_the_rest_comes_in_order() {
        for place in 0..30_u64 {
            let mut buffer = ReceiveBuffer::new();
            for offset in [0, 10, 20] {
                // Pieces that cannot be joined.
                buffer.push_ready(phantom(2 * offset, 10));
            }
            let stands = |place: u64| place / 10 * 20 + place % 10;
            let taken = buffer.take_out(place).unwrap();
            assert_eq!(taken, phantom(stands(place), 1));
            assert_eq!(buffer.readable(), 29);
            let mut read = Vec::new();
            while let Some(piece) = buffer.read(7) {
                assert!(piece.len > 0);
                read.extend(piece.offset..piece.offset + u64::from(piece.len));
            }
            let others = (0..30).filter(|other| *other != place);
            assert!(read.into_iter().eq(others.map(stands)));
            assert_eq!(buffer.take_out(0), None);
        }
    }

    #[test]
    fn a_peer_that_scatters_octets_makes_no_more_pieces_than_allowed() {
        let mut buffer = ReceiveBuffer::new();
        for offset in (2..1000).step_by(2) {
            buffer.insert(0, offset, phantom(offset, 1), 64);
        }
        assert_eq!((buffer.held(), buffer.beyond.make().pieces.len()), (64, 64));
        // In-order data is accepted anyway, and connects.
        let arrival = buffer.insert(0, 0, phantom(0, 1000), 64);
        assert_eq!((arrival.advanced, buffer.held()), (1000, 0));
    }

    proptest! {
        #[test]
        fn every_octet_comes_out_once_and_in_order(
            arrivals in prop::collection::vec((0..400_u64, 1..60_u32), 1..200)
        ) {
            let mut buffer = ReceiveBuffer::new();
            let mut nxt = 0;
            let mut got = alloc::vec![false; 512];
            let mut read = 0;
            for (offset, len) in arrivals {
                for octet in offset..offset + u64::from(len) {
                    got[octet as usize] = true;
                }
                nxt += buffer.insert(nxt, offset, phantom(offset, len), u64::MAX).advanced;
                let edge = got.iter().position(|there| !there).unwrap() as u64;
                prop_assert_eq!(nxt, edge);
                let beyond = got[edge as usize..].iter().filter(|there| **there).count();
                prop_assert_eq!(buffer.held(), beyond as u64);
                for block in buffer.sack_blocks() {
                    prop_assert!(block.clone().all(|octet| got[octet as usize]));
                }
                while let Some(piece) = buffer.read(37) {
                    prop_assert_eq!(piece.offset, read);
                    read += u64::from(piece.len);
                }
                prop_assert_eq!(read, nxt);
            }
        }
    }
}
