//! Data that passed one capture point, by sequence ranges.
//!
//! Two captures of a connection see the same bytes in other packets: a host's tap sees
//! super-segments, receive offload merges. So the data at two capture points is compared by bytes:
//! how often each byte passed here, and how often there.
//!
//! For a long connection a sample of blocks of [`BLOCK`] bytes is kept, the same blocks at every
//! capture point. Out of scope: streams that two captures begin more than 2 GiB apart, whose
//! sequence numbers are ambiguous.

use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use crate::Observed;

/// Bytes of a block.
const BLOCK: u32 = 1 << 16;

/// Maximum number of ranges of a direction.
const MAX_RANGES: usize = 1 << 16;

/// A range within a block. Positions count from the first sequence number here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Passage {
    at: Instant,
    start: i64,
    len: u32,
    /// Whether its packet begins, and ends, with it.
    is_edge: [bool; 2],
}

/// The data of one direction.
#[derive(Clone, Default, Debug)]
pub(crate) struct SequenceRanges {
    list: Vec<Passage>,
    first: Option<u32>,
    next: i64,
    /// Lowest and highest position.
    range: (i64, i64),
    /// Number of trailing zero bits in the hashes of kept blocks.
    zeros: u32,
}

/// Bytes that passed two capture points, here first, while both captured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Bytes {
    /// Passed here, every transmission.
    pub here: u64,
    /// Passed there.
    pub there: u64,
    /// Passed here more often than there: lost between the two.
    pub lost: u64,
    /// Passed there more often than here: not captured here.
    pub missed: u64,
    /// First passage here, after later data, beyond the reordering limit: lost before here.
    pub lost_before: u64,
    /// Passed there again: lost downstream of there, or a spurious retransmission.
    pub lost_behind: u64,
    /// Wire segments that passed here, and those lost between the two.
    pub segments: (u64, u64),
    /// Whether the segments are estimated from a sample of blocks.
    pub is_sampled: bool,
}

/// Counts wire segments: each run of bytes between edges of packets, in parts of their size.
struct SegmentCounter {
    size: u64,
    run: u64,
    copies: i32,
    count: u64,
}

impl SegmentCounter {
    const fn new(size: u64) -> Self {
        Self {
            size: if size == 0 { 1 } else { size },
            run: 0,
            copies: 0,
            count: 0,
        }
    }

    /// Adds bytes with that many copies.
    fn add(&mut self, len: u64, copies: i32) {
        if copies != self.copies {
            self.end_run();
            self.copies = copies;
        }
        self.run += len;
    }

    /// Ends a run at the edge of a packet.
    fn end_run(&mut self) {
        let copies = u64::from(self.copies.max(0).cast_unsigned());
        self.count += self.run.div_ceil(self.size) * copies;
        self.run = 0;
    }
}

/// Limits of a comparison.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overlap {
    /// Times of packets here that the other capture point captured too.
    pub here: (Instant, Instant),
    /// Times of packets there that this capture point captured too.
    pub there: (Instant, Instant),
    /// Maximum time by which reordered data is later than the data that overtook it.
    pub reordering: Duration,
    /// Payload bytes of a full wire segment.
    pub segment_size: u64,
}

fn hash(block: i64) -> u64 {
    let word = (block as u64 ^ 0x9e37_79b9).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (word ^ word >> 29).wrapping_mul(0x94d0_49bb_1331_11eb) >> 20
}

impl SequenceRanges {
    /// Position of a sequence number: the nearest to the latest.
    const fn position(&self, first: u32, seq: u32) -> i64 {
        let by = seq.wrapping_sub(first.wrapping_add(self.next as u32));
        self.next + by.cast_signed() as i64
    }

    /// Whether the block in which a position lies, one of 2^16, is kept.
    fn is_kept(&self, start: i64, zeros: u32) -> bool {
        let seq = self.first.unwrap_or_default().wrapping_add(start as u32);
        hash(i64::from(seq / BLOCK)).trailing_zeros() >= zeros
    }

    /// Records the data of a packet.
    pub fn add(&mut self, packet: &Observed) {
        if packet.payload_len == 0 {
            return;
        }
        let seq = packet.seq.as_u32();
        let first = *self.first.get_or_insert(seq);
        let begin = self.position(first, seq);
        let mut start = begin;
        let end = start + i64::from(packet.payload_len);
        self.next = self.next.max(end);
        let (low, high) = self.range;
        self.range = (low.min(start), high.max(end));
        while start < end {
            let within = first.wrapping_add(start as u32) % BLOCK;
            let len = u32::try_from(end - start)
                .unwrap_or(BLOCK)
                .min(BLOCK - within);
            if self.is_kept(start, self.zeros) {
                let at = packet.at;
                let is_edge = [start == begin, start + i64::from(len) == end];
                self.list.push(Passage {
                    at,
                    start,
                    len,
                    is_edge,
                });
            }
            start += i64::from(len);
        }
        while self.list.len() > MAX_RANGES {
            self.zeros += 1;
            let mut list = core::mem::take(&mut self.list);
            list.retain(|range| self.is_kept(range.start, self.zeros));
            self.list = list;
        }
    }

    /// Amount by which positions there are smaller than here.
    fn shift(&self, there: &Self) -> Option<i64> {
        let by = there.first?.wrapping_sub(self.first?);
        Some(by.cast_signed().into())
    }

    /// Compares the data that passed here and there.
    pub fn compare(&self, there: &Self, overlap: &Overlap) -> Option<Bytes> {
        let shift = self.shift(there)?;
        let zeros = self.zeros.max(there.zeros);
        let low = self.range.0.max(there.range.0 + shift);
        let high = self.range.1.min(there.range.1 + shift);
        // At each edge: the change in the number of ranges here and there, and of those that the
        // other capture point must have captured.
        let mut edges: Vec<(i64, [i32; 4], bool)> = Vec::new();
        let mut collect = |all: &Self, by: i64, (from, until): (Instant, Instant), which: usize| {
            for range in all
                .list
                .iter()
                .filter(|range| all.is_kept(range.start, zeros))
            {
                let (start, end) = (range.start + by, range.start + by + i64::from(range.len));
                let (start, end) = (start.max(low), end.min(high));
                if start < end {
                    let mut change = [0; 4];
                    change[which] = 1;
                    change[which + 1] = i32::from((from..=until).contains(&range.at));
                    let [is_first, is_last] = range.is_edge.map(|is_edge| is_edge && which == 0);
                    edges.push((start, change, is_first));
                    edges.push((end, change.map(|count| -count), is_last));
                }
            }
        };
        collect(self, 0, overlap.here, 0);
        collect(there, shift, overlap.there, 2);
        edges.sort_unstable_by_key(|edge| edge.0);
        let mut bytes = Bytes::default();
        let mut passed = SegmentCounter::new(overlap.segment_size);
        let mut lost = SegmentCounter::new(overlap.segment_size);
        let (mut place, mut counts) = (low, [0_i32; 4]);
        for (at, change, is_edge) in edges {
            let len = (at - place).max(0).cast_unsigned();
            let times = |count: i32| len * u64::from(count.max(0).cast_unsigned());
            let [here, here_within, there, there_within] = counts;
            bytes.here += times(here_within);
            bytes.there += times(there_within);
            bytes.lost += times(here_within - there);
            bytes.missed += times(there_within - here);
            bytes.lost_behind += times(there_within - 1);
            if len > 0 {
                passed.add(len, here_within);
                lost.add(len, here_within - there);
            }
            if is_edge {
                passed.end_run();
                lost.end_run();
            }
            place = at;
            for (count, change) in counts.iter_mut().zip(change) {
                *count += change;
            }
        }
        debug_assert!(
            counts == [0; 4],
            "ranges begin that do not end: {counts:?} are left"
        );
        debug_assert!(
            bytes.lost <= bytes.here && bytes.missed <= bytes.there,
            "more was lost or missed than passed: {bytes:?}"
        );
        passed.end_run();
        lost.end_run();
        bytes.segments = (passed.count << zeros, lost.count << zeros);
        bytes.is_sampled = zeros > 0;
        bytes.lost_before = self.filled_later(overlap);
        Some(bytes)
    }

    /// Counts bytes that first passed after later ones, beyond the reordering limit.
    fn filled_later(&self, overlap: &Overlap) -> u64 {
        // Gaps below the highest position, and when they showed.
        let mut holes: Vec<(i64, i64, Instant)> = Vec::new();
        let mut highest: Option<i64> = None;
        let mut filled = 0;
        for one in &self.list {
            let (start, end) = (one.start, one.start + i64::from(one.len));
            let top = *highest.get_or_insert(start);
            // Blocks that are not kept are no gaps.
            if start > top && self.zeros == 0 && holes.len() < 1024 {
                holes.push((top, start, one.at));
            }
            highest = Some(top.max(end));
            if start >= top {
                continue;
            }
            let is_late = |since: Instant| {
                one.at.saturating_since(since) > overlap.reordering && one.at <= overlap.here.1
            };
            let mut left = Vec::with_capacity(holes.len());
            for (from, until, since) in holes.drain(..) {
                let (a, b) = (from.max(start), until.min(end));
                if a >= b {
                    left.push((from, until, since));
                    continue;
                }
                if is_late(since) {
                    filled += (b - a).cast_unsigned();
                }
                left.extend(
                    [(from, a, since), (b, until, since)]
                        .into_iter()
                        .filter(|hole| hole.0 < hole.1),
                );
            }
            holes = left;
        }
        filled
    }

    /// Ranges in order of sequence numbers.
    pub fn sorted(&self) -> Sorted<'_> {
        let mut list = self.list.clone();
        list.sort_unstable_by_key(|range| (range.start, range.at));
        Sorted { all: self, list }
    }
}

/// Ranges in order of sequence numbers.
pub(crate) struct Sorted<'a> {
    all: &'a SequenceRanges,
    list: Vec<Passage>,
}

impl Sorted<'_> {
    /// Times at which the byte with this sequence number passed, in order. `None` if its block was
    /// not kept.
    pub fn times(&self, seq: u32) -> Option<Vec<Instant>> {
        let first = self.all.first?;
        let place = self.all.position(first, seq);
        if !self.all.is_kept(place, self.all.zeros) {
            return None;
        }
        let behind = self.list.partition_point(|range| range.start <= place);
        let before = self.list[..behind].iter().rev();
        let mut times: Vec<Instant> = before
            .take_while(|range| range.start > place - i64::from(BLOCK))
            .filter(|range| place < range.start + i64::from(range.len))
            .map(|range| range.at)
            .collect();
        times.sort_unstable();
        Some(times)
    }
}
