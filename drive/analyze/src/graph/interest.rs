//! Selects the blocks that keep their points if not all fit.
//!
//! First blocks with events, then their neighbors, then the rest, evenly: runs of neighboring
//! blocks in bit-reversed order, so that any number of them is spread over the whole. Of blocks with
//! events and their neighbors the shorter go first.

use gigatcp_flows::Kind;

use super::block::Summary;
use super::point::Point;

/// Number of neighboring blocks that are kept or dropped together.
const RUN: u32 = 4;

/// Minimum length of a silence that counts as an event, in durations of the block. It must also
/// exceed a millisecond.
const SILENCE_FACTOR: u64 = 8;

/// Rare kinds with a large effect.
const RARE: [Kind; 9] = [
    Kind::TimeoutRetransmission,
    Kind::TailProbe,
    Kind::ZeroWindow,
    Kind::ZeroWindowProbe,
    Kind::BeyondWindow,
    Kind::AckedUnseen,
    Kind::CapturedTwice,
    Kind::ResetInWindow,
    Kind::ResetOutOfWindow,
];

/// Kinds that occur with loss or reordering.
const LOSS_KINDS: [Kind; 8] = [
    Kind::FastRetransmission,
    Kind::SackRetransmission,
    Kind::SpuriousRetransmission,
    Kind::UnexplainedRetransmission,
    Kind::OutOfOrder,
    Kind::AfterGap,
    Kind::ShowsSpurious,
    Kind::CongestionExperienced,
];

/// An event that a point is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event {
    Rare,
    Loss,
}

/// Event among these marks.
pub(super) const fn event(marks: u32) -> Option<Event> {
    const CONTROL: u32 = Point::SYN | Point::FIN | Point::RST;
    if marks & (CONTROL | Point::of_kinds(&RARE)) != 0 {
        Some(Event::Rare)
    } else if marks & Point::of_kinds(&LOSS_KINDS) != 0 {
        Some(Event::Loss)
    } else {
        None
    }
}

/// Whether the points of a block are kept where `room` bytes are left: one long block takes a
/// quarter at most.
pub(super) const fn fits(octets: usize, room: usize) -> bool {
    octets <= room / 4
}

/// Priority of a block on its own, from 0 (kept first).
fn priority(blocks: &[Summary], index: usize) -> u8 {
    let block = &blocks[index];
    let event = event(block.marks);
    let is_end = index == 0 || index + 1 == blocks.len();
    let silence = block.first_ns.saturating_sub(block.before.at_ns);
    let length = block.after.at_ns - block.first_ns;
    let is_after_silence = silence > 1_000_000 && silence > length.saturating_mul(SILENCE_FACTOR);
    if is_end || event == Some(Event::Rare) {
        0
    } else if event == Some(Event::Loss) || is_after_silence {
        1
    } else if block.marks != 0 {
        3
    } else {
        4
    }
}

/// Indices of all blocks, those first whose points should be kept.
pub(super) fn order(blocks: &[Summary]) -> Vec<usize> {
    let own: Vec<u8> = (0..blocks.len())
        .map(|index| priority(blocks, index))
        .collect();
    let near = |index: usize| {
        let low = index.saturating_sub(1);
        let high = (index + 1).min(own.len() - 1);
        let least = own[low..=high].iter().min().copied().unwrap_or(4);
        // The cause and the end of an event are visible in the blocks next to it.
        own[index].min(if least < 2 { least + 1 } else { 4 })
    };
    let mut order: Vec<(u8, u32, u32, usize)> = (0..blocks.len())
        .map(|index| {
            let near = near(index);
            let length = if near < 4 { blocks[index].points } else { 0 };
            let run = (index as u32 / RUN).reverse_bits();
            (near, length, run, index)
        })
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(.., index)| index).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_comes_first_then_its_neighbours_then_an_even_spread() {
        let mut blocks = vec![Summary::default(); 64];
        blocks[20].marks = Point::of_kinds(&[Kind::FastRetransmission]);
        blocks[40].marks = Point::of_kinds(&[Kind::TimeoutRetransmission]);
        let order = order(&blocks);
        assert_eq!(order.len(), 64);
        let first: Vec<usize> = order[..3].to_vec();
        assert!(first.contains(&0) && first.contains(&63) && first.contains(&40));
        let next = &order[3..8];
        for index in [20, 39, 41] {
            assert!(next.contains(&index), "{next:?}");
        }
        let spread: Vec<usize> = order[10..22].iter().map(|index| index / 16).collect();
        for quarter in 0..4 {
            assert!(spread.contains(&quarter), "{spread:?}");
        }
    }
}
