//! Whether losses come when the queue is longer than around them.
//!
//! What finds no room in a queue finds it full, whoever fills it, and however short it
//! is: the round trip of the segment before a loss is longer than those around it, each
//! time. Damage comes when it comes, half of it when round trips are shorter than usual.
//! So losses
//! are counted like throws of a coin.
//!
//! Deliberately not here: a policer behind which bursts queue, which loses their ends as
//! well. What tells one is looked at before.

use gigatcp_units::Duration;

use crate::case::Case;
use crate::episode::Episode;

/// So many round trips are looked at before a loss.
const TRIPS: u64 = 6;

/// By less than this a round trip is no longer than another: a clock that was read late.
const NOISE: Duration = Duration::from_micros(20);

/// How often the round trip before a loss is longer than the mean around it: where a
/// full queue loses, and by chance. The latter is below a half, since most queues are
/// short for most of the time, and long for little of it.
const WHEN_FULL: f64 = 0.85;
const BY_CHANCE: f64 = 0.35;

/// So much more likely, as a logarithm, the losses are with a full queue: 13 and 90
/// times.
const MORE: f64 = 2.6;
const MUCH_MORE: f64 = 4.5;

/// How sure it is that losses come when the queue is longer than around them; nothing
/// where chance would do the same.
pub(crate) fn crowded(case: &Case<'_>) -> Option<f64> {
    if !case.view.is_near_sender() {
        return None;
    }
    // The first ends an opening, in which any queue grows.
    let later = case.trail.episodes.list.get(1..).unwrap_or_default();
    let mut more = 0.0;
    for episode in later.iter().filter(|one| !one.is_repeated()) {
        let trip = episode.punctual_trip;
        let Some(usual) = around(case, episode).filter(|_| !trip.is_zero()) else {
            continue;
        };
        more += if trip > case.base + usual + NOISE {
            libm::log(WHEN_FULL / BY_CHANCE)
        } else {
            libm::log((1.0 - WHEN_FULL) / (1.0 - BY_CHANCE))
        };
    }
    (more >= MORE).then_some(if more >= MUCH_MORE { 0.86 } else { 0.76 })
}

/// The queue of the round trips before an episode, on average.
fn around(case: &Case<'_>, episode: &Episode) -> Option<Duration> {
    let near = case.rounds_before(episode, TRIPS);
    // Between losses a flow's own queue only grows: where one stands all the time, any
    // loss finds it longer than before.
    let some = Duration::from_secs_f64(2.0 * case.mss() as f64 / case.line?.max(1.0));
    let least = near.iter().filter_map(|one| one.trip.least).min()?;
    if least > case.base + some + NOISE {
        return None;
    }
    let sum = near
        .iter()
        .fold(Duration::ZERO, |sum, one| sum + one.trip.sum);
    let count: u64 = near.iter().map(|one| one.trip.count).sum();
    (count >= 8).then(|| (sum / count).saturating_sub(case.base))
}
