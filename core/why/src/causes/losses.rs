//! Evidence shared by the causes of losses: where the losses were, and their number.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Evidence;
use super::text::{above, clauses, counted, happened, in_flight};
use crate::account::Attributed;
use crate::episode::RecoveryEpisode;
use crate::measures::Measures;

/// Loss events of one cause.
pub(super) struct Losses {
    pub events: u64,
    pub segments: u64,
    /// Segments sent for each one lost, if more than one.
    pub one_in: Option<u64>,
    /// The first ones.
    pub shown: Vec<Evidence>,
}

impl Losses {
    /// Selects the episodes that were attributed to the cause.
    pub fn of(m: &Measures<'_>, attributed: &Attributed) -> Self {
        Self::of_those(m, attributed, |_| true)
    }

    /// Selects those without a preceding queue, or all of them if a queue preceded each.
    pub fn without_queue(m: &Measures<'_>, attributed: &Attributed) -> Self {
        let has_queue = |episode: &RecoveryEpisode| {
            m.queue_before(episode)
                .is_some_and(|queue| queue > m.queue_step)
        };
        let some = Self::of_those(m, attributed, |episode| !has_queue(episode));
        match some.segments {
            0 => Self::of(m, attributed),
            _ => some,
        }
    }

    fn of_those(
        m: &Measures<'_>,
        attributed: &Attributed,
        keep: impl Fn(&RecoveryEpisode) -> bool,
    ) -> Self {
        let list = &m.sender_view.episodes.list;
        let of = || {
            let episodes = attributed.episodes.iter();
            let all = episodes.filter_map(|index| list.get(*index));
            all.filter(|episode| keep(episode))
        };
        let segments: u64 = of().map(|episode| episode.again).sum();
        let sent: u64 = m.rounds.iter().map(|round| round.sent).sum();
        Self {
            events: of().count() as u64,
            segments,
            one_in: (sent / m.mss())
                .checked_div(segments)
                .filter(|segments| *segments > 1),
            shown: of().take(3).map(|episode| shown(m, episode)).collect(),
        }
    }

    /// Describes the number of segments and events; `None` if there are none.
    pub fn summary(&self, what: &str) -> Option<String> {
        self.any(&format!("{} {what}", counted(self.segments, "segment")))
    }

    /// Describes them as the beginning of a sentence.
    pub fn sentence(&self, what: &str) -> Option<String> {
        self.any(&happened(self.segments, "segment", what))
    }

    fn any(&self, segments: &str) -> Option<String> {
        let is_any = self.segments > 0 && self.events > 0;
        is_any.then(|| format!("{segments} in {}", counted(self.events, "event")))
    }

    /// `text`, unless it is empty, then [`Self::or_round`].
    pub fn after(self, text: String, m: &Measures<'_>, attributed: &Attributed) -> Vec<Evidence> {
        let first = (!text.is_empty()).then(|| Evidence::figure(text));
        let others = self.or_round(m, attributed);
        first.into_iter().chain(others).collect()
    }

    /// Loss events, or else evidence of the longest round of the cause.
    pub fn or_round(self, m: &Measures<'_>, attributed: &Attributed) -> Vec<Evidence> {
        if !self.shown.is_empty() {
            return self.shown;
        }
        let index = attributed.round;
        let text = m.rounds.get(index).map_or_else(String::new, |round| {
            let some = |count: u64, noun: &str| (count > 0).then(|| counted(count, noun));
            clauses([
                some(round.again, "retransmission"),
                some(round.gaps, "gap").map(|gaps| gaps + " in the data"),
                some(round.duplicates, "duplicate ACK"),
                some(round.sack_acks, "ACK").map(|acks| acks + " with SACK blocks"),
                in_flight(round.flight),
            ])
        });
        Evidence::if_any(m, index, text).into_iter().collect()
    }
}

fn shown(m: &Measures<'_>, one: &RecoveryEpisode) -> Evidence {
    let again = format!(
        "{} retransmitted from {}",
        counted(one.again, "segment"),
        m.place(one.start)
    );
    let text = clauses([
        Some(again),
        in_flight(one.flight),
        above(m.queue_before(one)),
    ]);
    Evidence::new(one.packet, m.since_start(one.at), text)
}
