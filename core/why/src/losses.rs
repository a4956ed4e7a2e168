//! Why segments were lost, episode by episode.
//!
//! A queue that overflows was long just before: the round trip had grown to
//! where it always ends, and the flight to what it always is. Damage on the way
//! asks for neither. A host without buffers loses a row of segments while
//! nobody reads. A packet that was only overtaken turns up.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::View;
use crate::case::Case;
use crate::episode::Episode;

/// What a loss came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cause {
    /// Lost one by one, whatever was in flight.
    Random,
    /// A queue was full.
    Overflow,
    /// What comes above a rate is dropped, without a queue.
    Policer,
    /// Not lost at all.
    Reordering,
    /// The receiving host had no buffer.
    Overrun,
    /// Too large for the path.
    BlackHole,
    /// The capture does not show it.
    Unclear,
}

/// Rows of fewer segments than this are no burst.
const BURST: u64 = 8;

/// The cause of each episode, and how sure that is.
pub(crate) fn causes(case: &Case<'_>) -> Vec<(Cause, f64)> {
    let episodes = &case.trail.episodes.list;
    let summary = Summary::of(case, episodes);
    episodes
        .iter()
        .map(|episode| cause(case, episode, &summary))
        .collect()
}

/// What all episodes together show.
struct Summary {
    count: usize,
    /// A quarter of the flights at losses is below the first, a quarter above
    /// the second.
    quarters: (u64, u64),
    /// How many episodes began with a long queue, of all.
    queued: f64,
    /// Segments sent again, of all that were sent.
    share: f64,
}

/// A queue is long from this part of the longest on.
const LONG: f64 = 0.55;

impl Summary {
    fn of(case: &Case<'_>, episodes: &[Episode]) -> Self {
        let again: u64 = episodes.iter().map(|one| one.again).sum();
        let sent: u64 = case.rounds.iter().map(|round| round.sent).sum();
        let segments = (sent / case.mss()).max(1);
        // The first loss ends an opening that overshoots: it is no measure for
        // the others.
        let later = episodes.get(1..).unwrap_or_default();
        let mut flights: Vec<u64> = later.iter().map(|one| one.flight).collect();
        flights.sort_unstable();
        let at = |share: usize| flights.get(flights.len() * share / 4).copied().unwrap_or(0);
        let is_long = |one: &&Episode| {
            let queue = case.queue_before(one).unwrap_or_default();
            queue >= case.base / 25 && queue.as_secs_f64() >= LONG * case.queue_most.as_secs_f64()
        };
        let queued = episodes.iter().filter(is_long).count();
        Self {
            count: flights.len(),
            quarters: (at(1), at(3)),
            queued: queued as f64 / episodes.len().max(1) as f64,
            share: again as f64 / segments as f64,
        }
    }

    /// Whether losses come at the same amount in flight; nothing of few.
    fn is_steady(&self) -> Option<bool> {
        let (low, high) = self.quarters;
        let ratio = low as f64 / (high as f64).max(1.0);
        match self.count {
            4.. => Some(ratio >= 0.8),
            2..4 if ratio >= 0.93 => Some(true),
            _ => None,
        }
    }
}

fn cause(case: &Case<'_>, episode: &Episode, summary: &Summary) -> (Cause, f64) {
    if episode.spurious * 2 >= episode.again.max(1) || episode.late > 2 * episode.again {
        return (Cause::Reordering, 0.9);
    }
    if let Some(sure) = black_hole(case, episode) {
        return (Cause::BlackHole, sure);
    }
    if let Some(sure) = overrun(case, episode) {
        return (Cause::Overrun, sure);
    }
    by_queue(case, episode, summary)
}

/// Only full segments get lost, and all of them; a smaller size gets through.
fn black_hole(case: &Case<'_>, episode: &Episode) -> Option<f64> {
    let is_stuck = episode.timeouts >= 2 && episode.again <= episode.timeouts * 4;
    let never_full = case.trail.largest_acked < case.mss();
    (is_stuck && never_full && episode.full_sized_only()).then_some(0.9)
}

/// A row of segments while the right edge stood still.
fn overrun(case: &Case<'_>, episode: &Episode) -> Option<f64> {
    let frozen = episode.frozen?;
    let least = BURST * case.mss();
    let is_row = episode.row >= least
        || case.trail.episodes.hole.is_some_and(|hole| {
            hole.end - hole.start >= least
                && hole.start <= episode.start
                && episode.start < hole.end
        });
    // Repairs never get in although large segments did before, and the receiver
    // is alive.
    let is_stuck = episode.timeouts >= 2 && case.trail.largest_acked >= case.mss();
    let stood = frozen.until.saturating_since(frozen.since);
    let is_near = episode.start <= frozen.edge;
    let least = case.base.min(Duration::from_millis(5)) / 2;
    let is_long = stood >= case.base * 3 / 2;
    (is_near && (is_row && stood >= least || is_stuck && is_long)).then_some(0.85)
}

fn by_queue(case: &Case<'_>, episode: &Episode, summary: &Summary) -> (Cause, f64) {
    let Some(queue) = case.queue_before(episode) else {
        return (Cause::Unclear, 0.0);
    };
    // What is lost again and again met something else than a full queue.
    if episode.timeouts >= 3 && episode.again <= episode.timeouts + 2 {
        return (Cause::Unclear, 0.0);
    }
    let (queue, most) = (queue.as_secs_f64(), case.queue_most.as_secs_f64());
    let sees = case.sees_queues();
    let is_near = matches!(case.view, View::Sender | View::Unknown);
    // Elsewhere queues are seen by timestamps, in ticks.
    let is_fine = is_near || case.queue_most >= Duration::from_millis(3);
    let is_queue_seen = sees && is_fine && case.queue_most >= case.base / 25;
    let is_long = is_queue_seen && queue >= LONG * most;
    // An opening that overshoots loses a good part of what is in flight.
    let is_flood = episode.again >= 16.max(episode.flight / case.mss() / 10);
    if is_flood && episode.timeouts == 0 {
        return (Cause::Overflow, 0.8);
    }
    if is_long && summary.queued >= 0.6 {
        return (Cause::Overflow, 0.86);
    }
    match summary.is_steady() {
        Some(true) if !is_queue_seen || summary.queued >= 0.3 => {
            return (Cause::Overflow, 0.75);
        }
        None if !sees || !is_fine => return (Cause::Unclear, 0.0),
        _ => {}
    }
    if is_long && summary.queued >= 0.4 {
        return (Cause::Overflow, 0.6);
    }
    let is_policed = !is_queue_seen && summary.share > 0.03 && summary.count >= 4;
    if is_policed && sees {
        return (Cause::Policer, 0.6);
    }
    let few = episode.again <= 4.max(episode.flight / case.mss() / 16);
    let sure = match (few, queue < 0.3 * most || !is_queue_seen) {
        (true, true) => 0.85,
        (true, false) | (false, true) => 0.68,
        (false, false) => 0.5,
    };
    (Cause::Random, sure)
}
