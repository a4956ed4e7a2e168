//! Builds blocks from points, in one pass and with bounded memory.

use super::block::{State, Summary};
use super::detail::Expected;
use super::interest;
use super::point::Point;
use super::varint::Reader;

/// Approximate maximum number of blocks in a graph. The block size follows from the expected number
/// of points.
const MAX_BLOCKS: u64 = 1 << 15;

/// Number of blocks after which they become twice as long, if the number of points is not known. All
/// summaries are packed, so that a billion points must not fill the page with them.
const GROWING_BLOCKS: usize = 1 << 8;

/// Maximum number of times in a row that a long block ends early so that an event is in a short one: a
/// long block is too large to keep its points. Each block of full length allows another cut, so that
/// they are spread over the whole.
const CUTS: u32 = 32;

/// Number of these that are reserved for rare events.
const RARE_CUTS: u32 = 16;

/// Minimum number of points in a block.
const MIN_POINTS: u32 = 32;

/// Maximum bytes of packed points held in memory. This is more than twice what fits a page after
/// compression, so that there is a choice of points to keep.
const MAX_DETAIL: usize = 24 << 20;

/// Range of the points of a block in `details`; `None` if they were dropped.
type Place = Option<(usize, usize)>;

/// The graph of one direction of a connection, as drawn on the page.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) unit_ns: u64,
    pub(super) blocks: Vec<Summary>,
    places: Vec<Place>,
    details: Vec<u8>,
    /// Number of times the clock of the capture stepped back.
    steps_back: u64,
}

/// Builds a graph from points.
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    graph: Graph,
    /// Number of points in a block without events.
    block_len: u32,
    grows: bool,
    cuts_left: u32,
    max_detail: usize,
    open: Summary,
    /// Number of points at which the open block ends.
    open_len: u32,
    expected: Expected,
    started: usize,
    /// Whether the points of the open block are held.
    holds_points: bool,
}

impl GraphBuilder {
    /// A builder for about `points` points, with times in whole `unit_ns` nanoseconds. More points
    /// may be added.
    pub fn new(points: u64, unit_ns: u64) -> Self {
        let even = points.div_ceil(MAX_BLOCKS).next_power_of_two();
        let block_len = MIN_POINTS.max(u32::try_from(even).unwrap_or(u32::MAX));
        let state = State::default();
        Self {
            graph: Graph {
                unit_ns: unit_ns.max(1),
                blocks: Vec::new(),
                places: Vec::new(),
                details: Vec::new(),
                steps_back: 0,
            },
            block_len,
            grows: false,
            cuts_left: CUTS,
            max_detail: MAX_DETAIL,
            open: Summary::starting(state),
            open_len: block_len,
            expected: Expected::new(state),
            started: 0,
            holds_points: true,
        }
    }

    /// A builder for an unknown number of points: the longer the graph, the longer its blocks.
    /// Blocks with losses and other events stay short.
    pub fn growing(unit_ns: u64) -> Self {
        Self {
            grows: true,
            ..Self::new(0, unit_ns)
        }
    }

    /// Sets the maximum number of octets of packed points.
    #[must_use]
    pub const fn with_detail_limit(mut self, octets: usize) -> Self {
        self.max_detail = octets;
        self
    }

    /// Adds a point. Time and packet numbers never decrease. If the capture clock steps back, time
    /// stands still until the clock has caught up.
    #[inline]
    pub fn add(&mut self, mut point: Point) {
        let last = self.open.after;
        if point.at_ns < last.at_ns {
            point.at_ns = last.at_ns;
            self.graph.steps_back += 1;
        }
        point.at_ns -= point.at_ns % self.graph.unit_ns;
        point.frame = point.frame.max(last.frame + u64::from(last.frame > 0));
        if self.open_len > MIN_POINTS && self.grows {
            self.cut(&point);
        }
        if self.holds_points {
            let Graph {
                unit_ns, details, ..
            } = &mut self.graph;
            self.expected.put(details, &point, *unit_ns);
            self.holds_points = interest::fits(details.len() - self.started, self.max_detail);
        }
        self.open.add(&point);
        if self.open.points >= self.open_len {
            self.close();
        }
    }

    /// Begins a short block with an event, while there are cuts.
    fn cut(&mut self, point: &Point) {
        let reserved = match interest::event(point.marks) {
            Some(interest::Event::Rare) => 0,
            Some(interest::Event::Loss) => RARE_CUTS,
            None => return,
        };
        if self.cuts_left <= reserved {
            return;
        }
        self.cuts_left -= 1;
        if self.open.points >= MIN_POINTS {
            self.close();
        }
        self.open_len = MIN_POINTS;
    }

    fn close(&mut self) {
        let graph = &mut self.graph;
        let after = self.open.after;
        let done = core::mem::replace(&mut self.open, Summary::starting(after));
        if done.points >= self.block_len {
            self.cuts_left = CUTS.min(self.cuts_left + 1);
        }
        graph.blocks.push(done);
        if !self.holds_points {
            graph.details.truncate(self.started);
        }
        let place = (self.started, graph.details.len());
        graph.places.push(self.holds_points.then_some(place));
        if self.grows && graph.blocks.len().is_multiple_of(GROWING_BLOCKS) {
            self.block_len = self.block_len.saturating_mul(2);
        }
        self.open_len = self.block_len;
        self.holds_points = true;
        if graph.details.len() > self.max_detail {
            graph.drop_points(self.max_detail / 2);
        }
        self.started = self.graph.details.len();
        self.expected = Expected::new(after);
    }

    /// Graph of all points added.
    pub fn finish(mut self) -> Graph {
        if self.open.points > 0 {
            self.close();
        }
        self.graph
    }
}

impl Graph {
    /// Drops points of the lowest-priority blocks until `limit` bytes of packed points are left.
    /// A point takes three or four bytes.
    pub fn drop_points(&mut self, limit: usize) {
        let mut room = limit;
        let mut kept = vec![false; self.blocks.len()];
        for index in interest::order(&self.blocks) {
            let Some((from, to)) = self.places[index] else {
                continue;
            };
            if !interest::fits(to - from, room) {
                continue;
            }
            room -= to - from;
            kept[index] = true;
        }
        let old = core::mem::take(&mut self.details);
        for (place, is_kept) in self.places.iter_mut().zip(kept) {
            *place = place.filter(|_| is_kept).map(|(from, to)| {
                let start = self.details.len();
                self.details.extend_from_slice(&old[from..to]);
                (start, self.details.len())
            });
        }
    }

    /// The summaries, in order.
    pub fn blocks(&self) -> &[Summary] {
        &self.blocks
    }

    /// Number of points.
    pub fn points(&self) -> u64 {
        self.blocks
            .iter()
            .map(|block| u64::from(block.points))
            .sum()
    }

    /// Number of times the clock of the capture stepped back.
    pub const fn steps_back(&self) -> u64 {
        self.steps_back
    }

    /// Packed points of a block; `None` if they were dropped.
    pub(super) fn detail(&self, block: usize) -> Option<&[u8]> {
        self.places[block].map(|(from, to)| &self.details[from..to])
    }

    /// Points of a block; none if they were dropped.
    pub fn points_of(&self, block: usize) -> impl Iterator<Item = Point> {
        let summary = self.blocks[block];
        let detail = self.detail(block);
        let count = if detail.is_some() { summary.points } else { 0 };
        let mut reader = Reader(detail.unwrap_or_default());
        let mut expected = Expected::new(summary.before);
        (0..count).map(move |_| expected.read(&mut reader, self.unit_ns))
    }

    /// Blocks, those first whose points should be kept.
    pub(super) fn by_interest(&self) -> Vec<usize> {
        interest::order(&self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use gigatcp_flows::Kind;
    use proptest::prelude::*;

    use super::super::block::COLUMNS;
    use super::super::point::{Effect, SackRange};
    use super::*;

    fn point() -> impl Strategy<Value = (u64, u64, u32, Effect)> {
        let data =
            (0_u64..1 << 40, 0_u32..100_000).prop_map(|(start, len)| Effect::Data { start, len });
        let sack = prop::collection::vec((0_u64..1 << 40, 0_u64..9_000), 0..=4);
        let rtt = prop::option::of(0_u64..1 << 40);
        let answer =
            (0_u64..1 << 40, any::<u32>(), sack, rtt).prop_map(|(ack, window, list, rtt_ns)| {
                let mut sack = [SackRange::default(); 4];
                for (range, (left, len)) in sack.iter_mut().zip(&list) {
                    *range = SackRange {
                        left: *left,
                        right: left + len,
                    };
                }
                Effect::Ack {
                    ack,
                    window,
                    sack,
                    sack_len: list.len() as u8,
                    rtt_ns,
                }
            });
        let marks = 0_u32..1 << 31;
        (1_u64..9, 0_u64..1 << 40, marks, prop_oneof![data, answer])
    }

    fn made(list: &[(u64, u64, u32, Effect)]) -> Vec<Point> {
        let (mut frame, mut at_ns) = (0, 0);
        let point = |(frames, passed, marks, effect): &(u64, u64, u32, Effect)| {
            frame += frames;
            at_ns += passed;
            Point {
                frame,
                at_ns,
                marks: *marks,
                effect: *effect,
            }
        };
        list.iter().map(point).collect()
    }

    proptest! {
        #[test]
        fn points_come_out_as_they_went_in(list in prop::collection::vec(point(), 0..200)) {
            let points = made(&list);
            let mut builder = GraphBuilder::new(points.len() as u64, 1);
            points.iter().for_each(|point| builder.add(*point));
            let graph = builder.finish();
            let back: Vec<Point> = (0..graph.blocks().len())
                .flat_map(|block| graph.points_of(block))
                .collect();
            prop_assert_eq!(back, points);
        }

        #[test]
        fn summaries_come_out_of_their_columns_as_they_went_in(
            list in prop::collection::vec(point(), 1..200),
        ) {
            let mut builder = GraphBuilder::new(0, 1);
            made(&list).into_iter().for_each(|point| builder.add(point));
            let graph = builder.finish();
            let mut columns: [Vec<u8>; COLUMNS] = Default::default();
            for (index, block) in graph.blocks().iter().enumerate() {
                block.put(&mut columns, 1, index as u64);
            }
            let mut readers: [Reader<'_>; COLUMNS] =
                core::array::from_fn(|column| Reader(&columns[column]));
            let mut before = State::default();
            for (index, block) in graph.blocks().iter().enumerate() {
                let (read, len) = Summary::read(&mut readers, 1, before);
                prop_assert_eq!(read, *block);
                prop_assert_eq!(len, index as u64);
                before = read.after;
            }
        }
    }

    fn steady(index: u64, marks: u32) -> Point {
        Point {
            frame: index + 1,
            at_ns: index * 1000,
            marks,
            effect: Effect::Data {
                start: index * 1448,
                len: 1448,
            },
        }
    }

    #[test]
    fn memory_is_bounded_and_what_happens_keeps_its_points() {
        let again = Point::of_kinds(&[Kind::SackRetransmission]);
        let count = 200_000;
        let mut builder = GraphBuilder::new(count, 1).with_detail_limit(100_000);
        for index in 0..count {
            builder.add(steady(index, if index == 77_777 { again } else { 0 }));
        }
        let graph = builder.finish();
        assert!(graph.details.len() <= 110_000, "{}", graph.details.len());
        assert_eq!(graph.points(), count);
        assert!(graph.blocks().len() as u64 <= 2 * MAX_BLOCKS);
        let block = graph
            .blocks()
            .iter()
            .position(|block| block.retransmitted > 0)
            .unwrap();
        assert!(
            graph
                .points_of(block)
                .any(|point| point.is_retransmission())
        );
    }

    #[test]
    fn a_clock_that_steps_back_stands_still_and_is_counted() {
        let mut builder = GraphBuilder::new(3, 1);
        let mut points = [steady(5, 0), steady(6, 0), steady(7, 0)];
        points[1].at_ns = 0;
        points.into_iter().for_each(|point| builder.add(point));
        let graph = builder.finish();
        let times: Vec<u64> = graph.points_of(0).map(|point| point.at_ns).collect();
        assert_eq!(times, [5000, 5000, 7000]);
        assert_eq!(graph.steps_back(), 1);
    }
}
