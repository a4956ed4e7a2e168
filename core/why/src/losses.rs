//! Why segments were lost, episode by episode.
//!
//! A queue that overflows was long just before: the round trip had grown to
//! where it always ends, and the flight to what it always is. Damage on the way
//! asks for neither. A host without buffers loses a row of segments while
//! nobody reads. A packet that was only overtaken turns up.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::View;
use crate::between::Fate;
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
    /// Whether they look like those of a policer.
    policed: Option<f64>,
    /// Whether most began with the slowest link busy and the queue before it at
    /// its longest.
    overflows: bool,
}

/// A queue is long from this part of the longest on.
const LONG: f64 = 0.55;

/// With less than this under way, of what the slowest link carries, its queue is
/// empty.
const NOT_FULL: f64 = 0.92;

impl Summary {
    fn of(case: &Case<'_>, episodes: &[Episode]) -> Self {
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
        let mut summary = Self {
            count: flights.len(),
            quarters: (at(1), at(3)),
            queued: queued as f64 / episodes.len().max(1) as f64,
            policed: None,
            overflows: false,
        };
        let full = later.iter().filter(|one| is_full(case, one)).count();
        summary.overflows = full > 0 && full * 2 >= later.len();
        summary.policed = summary.policed(case, later);
        summary
    }

    /// A policer drops in rows, always from about the same rate on, while the
    /// slowest link carries more: what follows closely on one another shows it.
    fn policed(&self, case: &Case<'_>, later: &[Episode]) -> Option<f64> {
        let counted = |of: &dyn Fn(&Episode) -> bool| {
            later.iter().filter(|one| of(one)).count() as f64 / later.len().max(1) as f64
        };
        let is_needless = counted(&|one| one.spurious * 2 >= one.again || one.timeouts >= 2);
        if later.is_empty() || is_needless > 0.3 {
            return None;
        }
        let rows = counted(&|one| one.again >= 2);
        let (low, high) = self.quarters;
        let near = low as f64 / (high as f64).max(1.0);
        if case.line.is_none() {
            // The same amount in flight each time, and another queue.
            let is_same = later.len() >= 3 && near >= 0.85 && rows >= 0.45;
            return (is_same && self.queued < 0.6).then_some(0.7);
        }
        let below = counted(&|one| case.fill(one).is_some_and(|fill| fill < NOT_FULL));
        if below < 0.6 {
            None
        } else if near >= 0.85 && later.len() >= 5 {
            Some(0.86)
        } else if near >= 0.7 && rows >= 0.45 {
            Some(if later.len() >= 3 { 0.85 } else { 0.75 })
        } else {
            None
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

/// Whether the slowest link was busy and the queue before it about as long as
/// ever.
fn is_full(case: &Case<'_>, episode: &Episode) -> bool {
    let queue = case.queue_before(episode).unwrap_or_default();
    case.fill(episode).is_some_and(|fill| fill >= NOT_FULL)
        && queue.as_secs_f64() >= LONG * case.queue_most.as_secs_f64()
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
    if let Some(fate) = case.fate(episode).filter(|fate| fate.is_lost) {
        return between(case, episode, summary, &fate);
    }
    by_queue(case, episode, summary)
}

/// Lost between two captures: what was before it in the queue is known.
fn between(case: &Case<'_>, episode: &Episode, summary: &Summary, fate: &Fate) -> (Cause, f64) {
    if let Some(sure) = summary.policed {
        return (Cause::Policer, (sure + 0.06).min(0.95));
    }
    let most = case.other.map(|other| other.between.queues().0);
    let most = most.unwrap_or_default().as_secs_f64();
    let is_long = fate.queue.as_secs_f64() >= LONG * most;
    match case.is_tight(episode) {
        Some(true) if is_long => (Cause::Overflow, 0.95),
        Some(false) if !is_long => (Cause::Random, 0.95),
        Some(true) => (Cause::Overflow, 0.85),
        None if is_long && case.fill(episode).is_none_or(|fill| fill >= NOT_FULL) => {
            (Cause::Overflow, 0.88)
        }
        _ => (Cause::Random, 0.85),
    }
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
    if let Some(sure) = summary.policed {
        return (Cause::Policer, sure);
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
    let is_idle = case.fill(episode).is_some_and(|fill| fill < NOT_FULL);
    if is_flood && episode.timeouts == 0 {
        // Without a busy link there is no queue that could be full.
        return if is_idle {
            (Cause::Policer, 0.72)
        } else {
            (Cause::Overflow, 0.8)
        };
    }
    let is_few = episode.again <= 4.max(episode.flight / case.mss() / 16);
    let tight = case.is_tight(episode).filter(|_| !is_near);
    let is_busy = case.fill(episode).map(|fill| fill >= NOT_FULL);
    match (tight, is_busy) {
        (Some(true), _) => return (Cause::Overflow, 0.87),
        (Some(false), _) if is_few => return (Cause::Random, 0.87),
        // What is sent again had passed here.
        (None, Some(false)) if !is_near && is_few && !summary.overflows => {
            return (Cause::Random, 0.82);
        }
        _ => {}
    }
    if is_full(case, episode) {
        return (Cause::Overflow, 0.86);
    }
    if summary.overflows && is_busy == Some(false) && tight.is_none() {
        // A burst fills a short queue while little is under way.
        return (Cause::Overflow, 0.72);
    }
    if is_long && summary.queued >= 0.6 && is_busy != Some(false) {
        return (Cause::Overflow, 0.86);
    }
    match summary.is_steady() {
        Some(true) if (!is_queue_seen || summary.queued >= 0.3) && is_busy != Some(false) => {
            return (Cause::Overflow, 0.75);
        }
        None if (!sees || !is_fine) && is_busy.is_none() => return (Cause::Unclear, 0.0),
        _ => {}
    }
    if is_long && summary.queued >= 0.4 && is_busy != Some(false) {
        return (Cause::Overflow, 0.6);
    }
    let is_short = queue < 0.3 * most || !is_queue_seen || is_busy == Some(false);
    let sure = match (is_few, is_short) {
        (true, true) => 0.85,
        (true, false) | (false, true) => 0.68,
        (false, false) => 0.5,
    };
    (Cause::Random, sure)
}
