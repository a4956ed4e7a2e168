//! Whether what was lost was too much for a meter, and for which: see
//! `trail/meter.rs`.
//!
//! The rate that explains the losses best is looked for. A queue drains as fast as
//! its link, and delays what it takes; a policer is slower than the link, or delays
//! nothing.

use alloc::vec::Vec;

use gigatcp_units::Duration;

use crate::case::Case;
use crate::episode::Episode;
use crate::losses::{Cause, LONG, part_of_longest};
use crate::trail::meter::Fit;

/// Rates that are tried, of the link's.
const STEPS: u32 = 22;
const STEP: f64 = 0.05;

/// A meter that less than this of what arrived had found full, and whose levels at
/// losses differ by less than this, explains them. By chance the losses of four
/// episodes would be among the highest seventh of all once in two thousand times.
const MOST_OVER: f64 = 0.15;
const MOST_SPREAD: f64 = 0.4;

/// A meter slower than this part of the link is no queue before it.
const SLOWER: f64 = 0.87;

/// What the losses met, where that is a meter, and how sure it is.
pub(crate) fn metered(case: &Case<'_>) -> Option<(Cause, f64)> {
    // Elsewhere what passes has been through the meter: a queue has made it even.
    let is_near = case.view.is_near_sender();
    let line = case.line?;
    let rates = (1..=STEPS).map(|step| line * STEP * f64::from(step));
    let fits = rates.filter_map(|rate| Some((rate, case.trail.meter.fit(rate, case.mss())?)));
    let best = |a: &(f64, Fit), b: &(f64, Fit)| {
        (a.1.over + a.1.spread / 8.0).total_cmp(&(b.1.over + b.1.spread / 8.0))
    };
    let (rate, fit) = fits.min_by(best)?;
    if fit.over > MOST_OVER || fit.spread > MOST_SPREAD {
        return None;
    }
    let sure = if fit.over < MOST_OVER / 3.0 {
        0.92
    } else {
        0.88
    };
    let is_slower = rate < SLOWER * line;
    let is_shown = is_near || is_slower && fit.over <= MOST_OVER / 2.0;
    // A policer does not delay what it takes for longer, the nearer a loss is.
    if !is_shown || is_slower && queued(case) >= 0.6 {
        return None;
    }
    if is_slower || !delays(case, fit.depth / rate) {
        Some((Cause::Policer, sure))
    } else {
        Some((Cause::Overflow, sure))
    }
}

/// How many of the episodes began with a queue near its longest.
fn queued(case: &Case<'_>) -> f64 {
    let episodes = &case.trail.episodes.list;
    let is_long = |one: &&Episode| part_of_longest(case, one) >= LONG;
    episodes.iter().filter(is_long).count() as f64 / episodes.len().max(1) as f64
}

/// Whether the round trip before losses had grown by a good part of what such a
/// queue takes when it is full.
fn delays(case: &Case<'_>, full: f64) -> bool {
    let episodes = case.trail.episodes.list.iter();
    let mut queues: Vec<Duration> = episodes.filter_map(|one| case.queue_before(one)).collect();
    queues.sort_unstable();
    let middle = queues.get(queues.len() / 2).copied().unwrap_or_default();
    middle.as_secs_f64() >= full / 3.0
}
