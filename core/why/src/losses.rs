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
use crate::crowded::crowded;
use crate::episode::Episode;
use crate::flood::fills_link;
use crate::metered::metered;
use crate::round::{Round, State};

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
    /// Whether losses come again and again at the same pace; nothing of few.
    rhythm: Option<bool>,
    /// Whether they look like those of a policer.
    policed: Option<f64>,
    /// Whether most began with the slowest link busy and the queue before it at
    /// its longest.
    overflows: bool,
    /// The meter that they met, and how sure that is.
    metered: Option<(Cause, f64)>,
    /// Whether the flood that ended slow start met a queue before the slowest link,
    /// and no policer; nothing where it does not show. See `flood.rs`.
    fills_link: Option<bool>,
    /// Whether some of what was lost, away from the sender, left no place in time behind.
    /// Damage always does; a queue does too where others fill the place.
    leaves_none: bool,
    /// How sure it is that losses come when the queue is longer than around them. See
    /// `crowded.rs`.
    crowded: Option<f64>,
}

/// A queue is long from this part of the longest on.
pub(crate) const LONG: f64 = 0.55;

/// With less than this under way, of what the slowest link carries, its queue is
/// empty.
const NOT_FULL: f64 = 0.92;

impl Summary {
    fn of(case: &Case<'_>, episodes: &[Episode]) -> Self {
        // The first loss ends an opening that overshoots: it is no measure for
        // the others.
        let later = episodes.get(1..).unwrap_or_default();
        let windows = windows(case, later);
        let mut flights: Vec<u64> = windows.iter().map(|one| one.first.flight).collect();
        flights.sort_unstable();
        let at = |share: usize| flights.get(flights.len() * share / 4).copied().unwrap_or(0);
        let queued = episodes
            .iter()
            .filter(|one| part_of_longest(case, one) >= LONG);
        let is_seen = case.queue_most >= case.base / 25;
        let queued = if is_seen { queued.count() } else { 0 };
        let mut summary = Self {
            count: flights.len(),
            quarters: (at(1), at(3)),
            queued: queued as f64 / episodes.len().max(1) as f64,
            rhythm: None,
            policed: None,
            overflows: false,
            metered: None,
            fills_link: episodes.first().and_then(|one| fills_link(case, one)),
            leaves_none: leaves_none(case, later),
            crowded: crowded(case),
        };
        let full = later.iter().filter(|one| is_full(case, one)).count();
        summary.overflows = full > 0 && full * 2 >= later.len();
        summary.rhythm = summary.rhythm(&windows);
        summary.policed = summary.flooded(summary.policed(case, episodes, &windows));
        summary.metered = metered(case).filter(|met| summary.agrees(*met));
        summary
    }

    /// Whether nothing that is surer speaks against such a meter: losses in a rhythm
    /// tell a queue from a policer by what was under way.
    fn agrees(&self, (met, sure): (Cause, f64)) -> bool {
        match met {
            Cause::Overflow => self.policed.is_none_or(|other| other <= sure),
            _ => self.policed.is_some() || self.rhythm != Some(true),
        }
    }

    /// How little the flights at losses differ, 1 being not at all.
    fn evenness(&self) -> f64 {
        let (low, high) = self.quarters;
        low as f64 / (high as f64).max(1.0)
    }

    /// A sender that meets a limit goes through the same again and again: what
    /// is delivered from loss to loss takes the same time, and loses several
    /// segments at once or is always about as much. Damage comes when it comes,
    /// now at a small window and now at a large one.
    fn rhythm(&self, windows: &[Window<'_>]) -> Option<bool> {
        let between = |pair: &[Window<'_>]| {
            let (a, b) = (pair[0].first, pair[1].first);
            let octets = b.start.saturating_sub(a.start) as f64;
            let time = b.at.saturating_since(a.at).as_secs_f64();
            (octets, octets / time.max(1e-9))
        };
        let (amounts, _) = variation(windows.windows(2).map(|pair| between(pair).0));
        let (rates, count) = variation(windows.windows(2).map(|pair| between(pair).1));
        if count < 2 {
            return None;
        }
        let most = if count >= 4 { 0.1 } else { 0.06 };
        let is_same = rates < most || self.evenness() >= 0.7 && rates < 0.14;
        let alike = if count >= 4 { 0.2 } else { 0.1 };
        if is_same && (rows(windows) >= 0.4 || amounts < alike) {
            Some(true)
        } else {
            (rates > 0.2 || self.evenness() < 0.6).then_some(false)
        }
    }

    /// The same, or where the flood that ended slow start shows a policer.
    fn flooded(&self, policed: Option<f64>) -> Option<f64> {
        let is_shown = self.fills_link == Some(false);
        is_shown
            .then(|| policed.unwrap_or(0.0).max(0.84))
            .or(policed)
    }

    /// A policer drops in rows, always from about the same rate on, while the
    /// slowest link carries more, and no queue grows before: what follows closely
    /// on one another shows the one, the round trip at the loss the other.
    fn policed(&self, case: &Case<'_>, all: &[Episode], windows: &[Window<'_>]) -> Option<f64> {
        let later = all.get(1..).unwrap_or_default();
        let counted = |of: &dyn Fn(&Episode) -> bool| {
            later.iter().filter(|one| of(one)).count() as f64 / later.len().max(1) as f64
        };
        let is_needless = counted(&|one| one.spurious * 2 >= one.again || one.timeouts >= 2);
        if later.is_empty() || is_needless > 0.3 {
            return None;
        }
        let rows = rows(windows);
        let near = self.evenness();
        let below = counted(&|one| case.fill(one).is_some_and(|fill| fill < NOT_FULL));
        let queues = later.iter().map(|one| part_of_longest(case, one));
        let queue = quarter(queues.collect(), 1);
        let fills = windows.iter().filter_map(|one| case.fill(one.first));
        let fill = quarter(fills.collect(), 2);
        // A queue shows in the round trip of the sender's own segments, fine.
        let is_near = case.view.is_near_sender();
        let is_short = is_near && queue < LONG;
        // Elsewhere what is lost in a full queue leaves no place in time behind.
        let told = |is: bool| {
            let same = |one: &&Episode| case.is_loose(one) == Some(is);
            later.iter().filter(same).count()
        };
        let is_loose = !is_near && told(true) > 4 * told(false);
        match (self.rhythm, case.line) {
            (Some(true), Some(_)) if fill < 0.85 => return Some(0.92),
            (Some(true), Some(_)) if fill < NOT_FULL && queue < 0.9 => return Some(0.86),
            (Some(true), Some(_)) if is_short && fill < 1.2 => return Some(0.82),
            (Some(true), Some(_)) if is_loose => return Some(0.85),
            (Some(true), None) if is_short => return Some(0.82),
            (None, Some(_)) if is_loose && near >= 0.95 && rows >= 0.9 && later.len() >= 2 => {
                return Some(0.75);
            }
            (Some(false), _) if near < 0.7 => return None,
            _ => {}
        }
        // An opening that overshoots far, and then losses at a queue that is far
        // from what it was.
        let is_flood = |one: &Episode| one.again >= 16.max(one.flight / case.mss() / 4);
        let is_many = rows >= 0.45 || fill < 0.85;
        let is_low = is_short || !is_near && fill < 0.85;
        if windows.len() <= 2 && is_flood(&all[0]) && is_low && is_many {
            return Some(0.82);
        }
        if case.line.is_none() {
            // The same amount in flight each time, and another queue.
            let is_same = later.len() >= 3 && near >= 0.85 && rows >= 0.45;
            return (is_same && self.queued < 0.6).then_some(0.7);
        }
        if below < 0.6 {
            None
        } else if near >= 0.85 && later.len() >= 5 && queue < 0.9 {
            Some(0.86)
        } else if near >= 0.7 && rows >= 0.45 {
            Some(if later.len() >= 3 { 0.85 } else { 0.75 })
        } else {
            None
        }
    }

    /// Whether losses come at the same amount in flight; nothing of few.
    fn is_steady(&self) -> Option<bool> {
        let ratio = self.evenness();
        match self.count {
            4.. => Some(ratio >= 0.8),
            2..4 if ratio >= 0.93 => Some(true),
            _ => None,
        }
    }
}

/// The queue before a link that others use as well, as long at each loss as at the
/// others although what was under way would not have filled the link: what makes a
/// round trip longer by as much again and again is what is lost in. A policer delays
/// nothing, and damage does not wait for it.
pub(crate) fn shared_queue(case: &Case<'_>) -> Option<Duration> {
    /// So many losses tell.
    const LEAST: usize = 2;
    // The first ends an opening.
    let later = case.trail.episodes.list.get(1..).unwrap_or_default();
    if !case.view.is_near_sender() || later.len() < LEAST {
        return None;
    }
    let is_ours = |one: &&Episode| case.fill(one).is_none_or(|fill| fill >= NOT_FULL);
    let mut queues: Vec<Duration> = later
        .iter()
        .filter_map(|one| case.queue_before(one))
        .collect();
    queues.sort_unstable();
    let at = |quarters: usize| queues.get(queues.len() * quarters / 4).copied();
    let (low, middle, high) = (at(1)?, at(2)?, at(3)?);
    let is_long = middle >= case.base / 4;
    let is_same = low >= high * 3 / 4;
    let is_shared = later.iter().filter(is_ours).count() * 4 <= later.len();
    (is_long && is_same && is_shared).then_some(middle)
}

/// Whether more than one hole, and not few of all, left no place in time behind.
fn leaves_none(case: &Case<'_>, episodes: &[Episode]) -> bool {
    let told = |is: bool| {
        let same = |one: &&Episode| case.is_tight(one) == Some(is);
        episodes.iter().filter(same).count()
    };
    let (none, some) = (told(true), told(false));
    let is_seen = case.other.is_some() || !case.view.is_near_sender();
    is_seen && none >= 2 && none * 6 >= none + some
}

/// Losses of what was under way together: they met the same.
struct Window<'a> {
    first: &'a Episode,
    /// Segments sent again.
    again: u64,
}

fn windows<'a>(case: &Case<'_>, episodes: &'a [Episode]) -> Vec<Window<'a>> {
    let mut windows: Vec<Window<'_>> = Vec::new();
    for one in episodes {
        let is_another = |last: &Episode| {
            one.start >= last.start + last.flight
                && one.at.saturating_since(last.at) >= case.base * 2
        };
        match windows.last_mut() {
            Some(last) if !is_another(last.first) => last.again += one.again,
            _ => windows.push(Window {
                first: one,
                again: one.again,
            }),
        }
    }
    windows
}

/// How many of the windows lost several segments.
fn rows(windows: &[Window<'_>]) -> f64 {
    let rows = windows.iter().filter(|one| one.again >= 2).count();
    rows as f64 / windows.len().max(1) as f64
}

/// Standard deviation over mean, and of how many.
fn variation(samples: impl Iterator<Item = f64>) -> (f64, usize) {
    let (mut count, mut sum, mut squares) = (0, 0.0, 0.0);
    for sample in samples {
        count += 1;
        sum += sample;
        squares += sample * sample;
    }
    let mean = sum / f64::max(count as f64, 1.0);
    let variance = squares / f64::max(count as f64, 1.0) - mean * mean;
    (libm::sqrt(variance.max(0.0)) / mean.max(1e-9), count)
}

/// What that many quarters of the samples are below.
fn quarter(mut samples: Vec<f64>, quarters: usize) -> f64 {
    samples.sort_by(f64::total_cmp);
    let place = samples.len() * quarters / 4;
    samples.get(place).copied().unwrap_or(1.0)
}

/// The queue before the episode, of the longest.
pub(crate) fn part_of_longest(case: &Case<'_>, episode: &Episode) -> f64 {
    let queue = case.queue_before(episode).unwrap_or_default();
    queue.as_secs_f64() / case.queue_most.as_secs_f64().max(1e-9)
}

/// Whether the slowest link was busy and the queue before it about as long as
/// ever.
fn is_full(case: &Case<'_>, episode: &Episode) -> bool {
    case.fill(episode).is_some_and(|fill| fill >= NOT_FULL)
        && part_of_longest(case, episode) >= LONG
}

fn cause(case: &Case<'_>, episode: &Episode, summary: &Summary) -> (Cause, f64) {
    let needless = needless(case, episode);
    // One of two may be a rescue of the last segment (RFC 6675 section 4).
    if needless * 2 > episode.again || episode.late > 2 * episode.again {
        return (Cause::Reordering, 0.9);
    }
    if let Some(sure) = black_hole(case, episode) {
        return (Cause::BlackHole, sure);
    }
    if let Some(sure) = overrun(case, episode) {
        return (Cause::Overrun, sure);
    }
    if let (Some(usual), Some(queue)) = (case.shared, case.queue_before(episode))
        && queue >= usual / 2
        && !episode.is_repeated()
    {
        return (Cause::Overflow, 0.85);
    }
    if let Some(metered) = summary.metered.filter(|_| !episode.is_repeated()) {
        return metered;
    }
    if let Some(fate) = case.fate(episode).filter(|fate| fate.is_lost) {
        return between(case, episode, summary, &fate);
    }
    by_queue(case, episode, summary)
}

/// Segments of an episode that had not been lost, as the sender was told or as
/// what passes near the receiver shows.
fn needless(case: &Case<'_>, episode: &Episode) -> u64 {
    let proven = episode.spurious.max(episode.overtaken);
    // Acknowledgments that are lost, and timers, make needless copies as well.
    let is_reordered = case.trail.episodes.list.iter().any(|one| one.overtaken > 0);
    if case.view == View::Receiver && is_reordered && episode.timeouts == 0 {
        proven.max(episode.needless)
    } else {
        proven
    }
}

/// Lost between two captures: what was before it in the queue is known.
fn between(case: &Case<'_>, episode: &Episode, summary: &Summary, fate: &Fate) -> (Cause, f64) {
    if let Some(sure) = summary.policed {
        return (Cause::Policer, (sure + 0.06).min(0.95));
    }
    let most = case.other.map(|other| other.between.queues().0);
    let most = most.unwrap_or_default().as_secs_f64();
    if fate
        .flood
        .is_some_and(|queue| queue.as_secs_f64() < 0.7 * most)
    {
        return (Cause::Policer, 0.88);
    }
    let is_long = fate.queue.as_secs_f64() >= LONG * most;
    let tight = case.is_tight(episode);
    if let Some(sure) = summary.crowded.filter(|_| !is_long && tight != Some(false)) {
        return (Cause::Overflow, sure);
    }
    match tight {
        Some(true) if is_long => (Cause::Overflow, 0.95),
        Some(false) if !is_long && summary.leaves_none => (Cause::Overflow, 0.78),
        Some(false) if !is_long => (Cause::Random, 0.95),
        _ if is_flood(case, episode) && !is_long && !more_passed(case, episode) => {
            (Cause::Policer, 0.72)
        }
        Some(true) => (Cause::Overflow, 0.85),
        _ if is_long && case.fill(episode).is_none_or(|fill| fill >= NOT_FULL) => {
            (Cause::Overflow, 0.88)
        }
        None if fate.queue.as_secs_f64() >= 0.93 * most && more_passed(case, episode) => {
            (Cause::Overflow, 0.88)
        }
        _ => (Cause::Random, 0.85),
    }
}

/// An opening that overshoots loses a good part of what is in flight.
fn is_flood(case: &Case<'_>, episode: &Episode) -> bool {
    episode.again >= 16.max(episode.flight / case.mss() / 10)
}

/// Whether clearly more was under way at another time: what was lost was too
/// much at once, not too much.
fn more_passed(case: &Case<'_>, episode: &Episode) -> bool {
    // While a loss is repaired, what was lost counts as under way.
    let is_whole = |round: &&Round| round.spent_in(State::Recovery).is_zero();
    let whole = case.rounds.iter().filter(is_whole);
    let most = whole.map(|round| round.flight).max();
    most.unwrap_or(0) >= episode.flight + episode.flight / 2
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
    let is_sure = episode.row >= 4 * BURST * case.mss() && stood >= case.base;
    let sure = if is_row && is_sure { 0.93 } else { 0.85 };
    (is_near && (is_row && stood >= least || is_stuck && is_long)).then_some(sure)
}

/// Without a busy link there is no queue that could be full, but for bursts.
fn by_flood(is_idle: bool, summary: &Summary) -> (Cause, f64) {
    if is_idle && summary.fills_link != Some(true) {
        (Cause::Policer, 0.72)
    } else {
        (Cause::Overflow, 0.8)
    }
}

fn by_queue(case: &Case<'_>, episode: &Episode, summary: &Summary) -> (Cause, f64) {
    let Some(queue) = case.queue_before(episode) else {
        return (Cause::Unclear, 0.0);
    };
    if episode.is_repeated() {
        return (Cause::Unclear, 0.0);
    }
    if let Some(sure) = summary.policed {
        return (Cause::Policer, sure);
    }
    if summary.rhythm == Some(true) {
        return (Cause::Overflow, 0.84);
    }
    let (queue, most) = (queue.as_secs_f64(), case.queue_most.as_secs_f64());
    let sees = case.sees_queues();
    let is_near = case.view.is_near_sender();
    // Elsewhere queues are seen by timestamps, in ticks.
    let is_fine = is_near || case.queue_most >= Duration::from_millis(3);
    let is_queue_seen = sees && is_fine && case.queue_most >= case.base / 25;
    let is_long = is_queue_seen && queue >= LONG * most;
    let is_flood = is_flood(case, episode);
    let is_idle = case.fill(episode).is_some_and(|fill| fill < NOT_FULL);
    // The opening burst meets a queue that never gets longer, whatever is under
    // way later; elsewhere its end is seen to be missing.
    let is_first = summary.count == 0 && is_near && case.queue_most >= case.base / 60;
    let is_first = is_first && queue >= 0.93 * most
        || summary.count == 0 && !is_near && case.ends_burst(episode);
    let is_burst = summary.count == 0 && episode.timeouts == 0 && more_passed(case, episode);
    if is_burst && (is_first || is_flood) {
        return (Cause::Overflow, if episode.again >= 2 { 0.8 } else { 0.72 });
    }
    if is_flood && episode.timeouts == 0 {
        return by_flood(is_idle, summary);
    }
    let is_few = episode.again <= 4.max(episode.flight / case.mss() / 16);
    let tight = case.is_tight(episode).filter(|_| !is_near);
    let is_busy = case.fill(episode).map(|fill| fill >= NOT_FULL);
    match (tight, is_busy) {
        (Some(true), _) => return (Cause::Overflow, 0.87),
        (Some(false), _) if is_few && summary.leaves_none => return (Cause::Overflow, 0.78),
        // Where others fill the place behind it, what a queue or a policer dropped looks
        // alike: sure of this is who knows that nobody else uses the path.
        (Some(false), _) if is_few => return (Cause::Random, 0.78),
        // What is sent again had passed here.
        (None, Some(false)) if !is_near && is_few && !summary.overflows => {
            return (Cause::Random, 0.76);
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
    if let Some(sure) = summary.crowded {
        return (Cause::Overflow, sure);
    }
    let is_short = queue < 0.3 * most || !is_queue_seen || is_busy == Some(false);
    let sure = match (is_few, is_short) {
        (true, true) => 0.85,
        (true, false) | (false, true) => 0.68,
        (false, false) => 0.5,
    };
    (Cause::Random, sure)
}
