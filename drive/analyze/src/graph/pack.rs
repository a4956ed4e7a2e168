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
use gigatcp_record::{PackedPart, TimeSequence};

use super::block::COLUMNS;
use super::builder::Graph;
use super::varint::{put, put_signed};

/// Bytes of a chunk before compression; it may exceed them by one block.
const CHUNK: usize = 1 << 17;

/// Bytes in the head for the position of a block's points.
const PLACE: usize = 3;

/// Packs `graph` into about `budget` bytes before base64; all summaries are included.
#[must_use]
pub fn pack(graph: &Graph, knows_windows: bool, budget: usize) -> TimeSequence {
    let mut kept = vec![false; graph.blocks().len()];
    let bare = deflate(&head(graph, &kept, &[])).len();
    let mut room = budget.saturating_sub(bare);
    let mut order = Vec::new();
    let mut before = 0;
    let mut chunks = Vec::new();
    let mut details = Vec::new();
    let mut open = Vec::with_capacity(CHUNK + CHUNK / 8);
    let mut waiting = graph
        .by_interest()
        .into_iter()
        .filter_map(|block| Some((block, graph.detail(block)?)));
    while room > 0 {
        let next = waiting.next();
        if let Some((block, detail)) = next {
            open.extend_from_slice(detail);
            kept[block] = true;
            room = room.saturating_sub(PLACE);
            put_signed(&mut order, block as i64 - before);
            before = block as i64;
        }
        // The last chunk may be smaller, to use the rest of the budget.
        let limit = CHUNK.min(room.saturating_mul(2));
        if open.len() >= limit || next.is_none() && !open.is_empty() {
            let packed = deflate(&open);
            chunks.push(PackedPart {
                packed: packed.len() as u64,
                plain: open.len() as u64,
            });
            room = room.saturating_sub(packed.len());
            details.extend(packed);
            open.clear();
        }
        if next.is_none() {
            break;
        }
    }
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
    use super::super::GraphBuilder;
    use super::super::point::{Effect, Point};
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
}
