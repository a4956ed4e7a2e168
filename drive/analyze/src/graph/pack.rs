//! Packs a graph into bytes for a page or a record, with as many points as fit.
//!
//! First come the columns of the summaries, each preceded by its length, and the order in which
//! blocks with points follow. Then come those points, in chunks. Head and chunks are compressed
//! separately (RFC 1950), so that a page can draw the whole before it has decompressed the details.

use std::io::Write;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use gigatcp_plan::record::{PackedPart, TimeSequence};

use super::block::COLUMNS;
use super::builder::Graph;
use super::interest;
use super::varint::{put, put_signed};

/// Maximum bytes of a chunk before compression; a longer block has one of its own.
const CHUNK: usize = 1 << 17;

/// Bytes in the head for the position of a block's points.
const PLACE: usize = 3;

/// Packs `graph` into about `budget` bytes before base64. All summaries are included, and as many points
/// as fit.
pub fn pack(graph: &Graph, knows_windows: bool, budget: usize) -> TimeSequence {
    let mut kept = vec![false; graph.blocks().len()];
    let bare = deflate(&head(graph, &kept, &[])).len();
    let mut points = Chunks {
        room: budget.saturating_sub(bare),
        ..Chunks::default()
    };
    let mut order = Vec::new();
    let mut before = 0;
    for block in graph.by_interest() {
        let Some(detail) = graph.detail(block) else {
            continue;
        };
        if points.try_add(detail) {
            kept[block] = true;
            put_signed(&mut order, block as i64 - before);
            before = block as i64;
        }
    }
    points.close();
    let Chunks {
        chunks, details, ..
    } = points;
    let plain = head(graph, &kept, &order);
    let mut octets = deflate(&plain);
    let head = PackedPart {
        packed: octets.len() as u64,
        plain: plain.len() as u64,
    };
    octets.extend(details);
    let kept_points = graph.blocks().iter().zip(&kept);
    let kept_points = kept_points
        .filter(|(_, is_kept)| **is_kept)
        .map(|(block, _)| u64::from(block.points))
        .sum();
    TimeSequence {
        unit_ns: graph.unit_ns,
        points: graph.points(),
        kept_points,
        knows_windows,
        head,
        chunks,
        octets: BASE64_STANDARD.encode(octets),
    }
}

/// The points of blocks, in compressed chunks.
#[derive(Default)]
struct Chunks {
    /// Bytes that are left of the budget.
    room: usize,
    /// Points that are not compressed yet.
    open: Vec<u8>,
    chunks: Vec<PackedPart>,
    details: Vec<u8>,
}

impl Chunks {
    /// Adds the points of a block, if they fit. A chunk is not larger than the room for it, should it
    /// be incompressible; so the last ones are smaller.
    fn try_add(&mut self, detail: &[u8]) -> bool {
        if self.open.len() + detail.len() > CHUNK.min(self.room) {
            self.close();
        }
        if !interest::fits(detail.len(), self.room) {
            return false;
        }
        self.open.extend_from_slice(detail);
        self.room = self.room.saturating_sub(PLACE);
        true
    }

    /// Compresses the open chunk.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let packed = deflate(&self.open);
        self.chunks.push(PackedPart {
            packed: packed.len() as u64,
            plain: self.open.len() as u64,
        });
        self.room = self.room.saturating_sub(packed.len());
        self.details.extend(packed);
        self.open.clear();
    }
}

fn head(graph: &Graph, kept: &[bool], order: &[u8]) -> Vec<u8> {
    let mut columns: [Vec<u8>; COLUMNS] = Default::default();
    for (index, block) in graph.blocks().iter().enumerate() {
        let detail = graph.detail(index).filter(|_| kept[index]);
        let len = detail.map_or(0, <[u8]>::len);
        block.put(&mut columns, graph.unit_ns, len as u64);
    }
    let mut head = Vec::new();
    put(&mut head, graph.blocks().len() as u64);
    for column in columns.iter().map(Vec::as_slice).chain([order]) {
        put(&mut head, column.len() as u64);
        head.extend_from_slice(column);
    }
    head
}

fn deflate(octets: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(5));
    let done = encoder.write_all(octets).and_then(|()| encoder.finish());
    done.expect("memory takes every octet")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;
    use gigatcp_flows::Kind;

    use super::super::GraphBuilder;
    use super::super::point::{Effect, Point};
    use super::super::varint::Reader;
    use super::*;

    /// A graph whose times are unpredictable.
    fn jittery(points: u64) -> Graph {
        let mut builder = GraphBuilder::new(points, 1);
        let mut random = 1_u64;
        let mut at_ns = 0;
        for index in 0..points {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            at_ns += 1_000 + (random >> 54);
            builder.add(Point {
                frame: index + 1,
                at_ns,
                marks: 0,
                effect: Effect::Data {
                    start: index * 1448,
                    len: 1448,
                },
            });
        }
        builder.finish()
    }

    #[test]
    fn a_small_graph_is_there_to_the_last_point() {
        let packed = pack(&jittery(5_000), true, 1 << 20);
        assert_eq!(packed.kept_points, 5_000);
        let parts = packed.chunks.iter().map(|part| part.packed).sum::<u64>();
        let octets = BASE64_STANDARD.decode(&packed.octets).unwrap();
        assert_eq!(octets.len() as u64, packed.head.packed + parts);
    }

    #[test]
    fn a_large_graph_keeps_to_its_budget_and_uses_it() {
        let budget = 300_000;
        let packed = pack(&jittery(400_000), true, budget);
        let octets = packed.octets.len() / 4 * 3;
        assert!(octets < budget * 11 / 10, "{octets}");
        assert!(octets > budget * 7 / 10, "{octets}");
        assert!(packed.kept_points > 30_000, "{}", packed.kept_points);
    }

    const BUDGET: usize = 150_000;
    const LOSS: u32 = Point::of_kinds(&[Kind::SackRetransmission]);

    /// The graph of five million segments, drawn as their number is not known yet, and its bytes when
    /// packed.
    fn growing(marks: impl Fn(u64) -> u32) -> (Graph, TimeSequence, usize) {
        let mut builder = GraphBuilder::growing(1).with_detail_limit(1 << 20);
        let mut random = 1_u64;
        let mut at_ns = 0;
        for index in 0..COUNT {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            at_ns += 1_000 + (random >> 54);
            builder.add(Point {
                frame: index + 1,
                at_ns,
                marks: marks(index),
                effect: Effect::Data {
                    start: index * 1448,
                    len: 1448,
                },
            });
        }
        let graph = builder.finish();
        assert_eq!(graph.points(), COUNT);
        let packed = pack(&graph, true, BUDGET);
        let octets = packed.octets.len() / 4 * 3;
        (graph, packed, octets)
    }

    /// Number of points of [`growing`].
    const COUNT: u64 = 5_000_000;

    #[test]
    fn a_long_growing_graph_keeps_its_losses_its_ends_and_its_budget() {
        let (graph, packed, octets) = growing(|index| match index {
            0 => Point::SYN,
            4_321_000 => Point::of_kinds(&[Kind::TimeoutRetransmission]),
            _ if index % 200_000 == 77_777 => LOSS,
            _ if index + 1 == COUNT => Point::FIN,
            _ => 0,
        });
        assert!(octets <= BUDGET, "{octets}");
        assert!(octets > BUDGET * 8 / 10, "{octets}");
        let kept = kept_blocks(&packed);
        let kept_points = kept.iter().flat_map(|block| graph.points_of(*block));
        let events = kept_points.filter(|point| point.marks != 0).count();
        assert_eq!(events, 25 + 1 + 2);
    }

    /// One loss in a hundred segments: more than fit.
    #[test]
    fn a_long_growing_graph_full_of_losses_keeps_some_of_each_part_and_its_budget() {
        let (graph, packed, octets) = growing(|index| if index % 100 == 77 { LOSS } else { 0 });
        assert!(octets <= BUDGET, "{octets}");
        let kept = kept_blocks(&packed);
        for quarter in 0..4 {
            let part = quarter * COUNT / 4..(quarter + 1) * COUNT / 4;
            let points = kept.iter().flat_map(|block| graph.points_of(*block));
            let losses = points
                .filter(|point| part.contains(&point.frame) && point.marks != 0)
                .count();
            assert!(
                losses >= 20,
                "{losses} in {part:?}, {} blocks",
                graph.blocks().len()
            );
        }
    }

    /// Blocks with points, as the page reads them.
    fn kept_blocks(packed: &TimeSequence) -> Vec<usize> {
        let octets = BASE64_STANDARD.decode(&packed.octets).unwrap();
        let mut head = Vec::new();
        ZlibDecoder::new(&octets[..packed.head.packed as usize])
            .read_to_end(&mut head)
            .unwrap();
        let mut reader = Reader(&head);
        let blocks = reader.number();
        let mut lengths = Vec::new();
        for column in 0..COLUMNS {
            let (column_octets, rest) = {
                let length = reader.number() as usize;
                reader.0.split_at(length)
            };
            reader = Reader(rest);
            if column + 1 == COLUMNS {
                let mut lengths_reader = Reader(column_octets);
                lengths.extend((0..blocks).map(|_| lengths_reader.number()));
            }
        }
        let with_points = lengths
            .iter()
            .enumerate()
            .filter(|(_, length)| **length > 0);
        with_points.map(|(block, _)| block).collect()
    }
}
