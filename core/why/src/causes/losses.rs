//! What the causes of losses explain alike: where the losses were, and how many.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Evidence;
use super::text::{bytes, counted, time};
use crate::account::Attributed;
use crate::episode::Episode;
use crate::measures::Measures;

/// Loss events of one cause.
pub(super) struct Losses {
    pub events: u64,
    pub segments: u64,
    /// Segments sent for each one lost.
    pub one_in: u64,
    /// The first ones.
    pub shown: Vec<Evidence>,
}

impl Losses {
    /// Those of the episodes that were attributed to the cause.
    pub fn of(m: &Measures<'_>, attributed: &Attributed) -> Self {
        let list = &m.trail.episodes.list;
        let of = || {
            let episodes = attributed.episodes.iter();
            episodes.filter_map(|index| list.get(*index))
        };
        let segments: u64 = of().map(|one| one.again).sum();
        let sent: u64 = m.rounds.iter().map(|round| round.sent).sum();
        Self {
            events: of().count() as u64,
            segments,
            one_in: sent / m.mss() / segments.max(1),
            shown: of().take(3).map(|one| shown(m, one)).collect(),
        }
    }
}

fn shown(m: &Measures<'_>, one: &Episode) -> Evidence {
    let queue = m.queue_before(one);
    let queue = queue.map_or_else(String::new, |queue| {
        format!(", RTT {} above minimum", time(queue))
    });
    let text = format!(
        "{} retransmitted from {}, {} in flight{queue}",
        counted(one.again, "segment"),
        m.place(one.start),
        bytes(one.flight),
    );
    Evidence::new(one.packet, m.since_start(one.at), text)
}
