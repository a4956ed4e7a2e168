//! Whether losses come when the queue is longer than around them.
//!
//! Each drop of a full queue finds it full, whichever flow fills it and however short it is: the
//! RTT of the segment before a loss is longer than those around it, each time. Random loss comes at
//! any time, half of it when RTTs are shorter than usual. So losses are counted like tosses of a
//! coin.
//!
//! Out of scope: a policer after a queue of bursts, which loses their ends as well.

use gigatcp_units::Duration;

use super::Measures;
use crate::episode::RecoveryEpisode;

/// RTTs before a loss that are considered.
const TRIPS: u64 = 6;

/// Minimum difference between RTTs: a clock may be read late.
const NOISE: Duration = Duration::from_micros(20);

/// Probability that the RTT before a loss exceeds the mean around it. First for a full queue, then
/// for chance. The latter is below a half, since most queues are short most of the time.
const WHEN_FULL: f64 = 0.85;
const BY_CHANCE: f64 = 0.35;

/// Log likelihood ratio of a full queue against losses at any time. `None` if RTTs before losses
/// are not known here.
pub(super) fn crowding(m: &Measures<'_>) -> Option<f64> {
    if !m.view.is_near_sender() {
        return None;
    }
    // The first ends slow start, in which any queue grows.
    let later = m.sender_view.episodes.list.get(1..).unwrap_or_default();
    let mut sum = None;
    for episode in later.iter().filter(|episode| !episode.is_repeated()) {
        let trip = episode.punctual_trip;
        let Some(usual) = around(m, episode).filter(|_| !trip.is_zero()) else {
            continue;
        };
        *sum.get_or_insert(0.0) += if trip > m.base + usual + NOISE {
            libm::log(WHEN_FULL / BY_CHANCE)
        } else {
            libm::log((1.0 - WHEN_FULL) / (1.0 - BY_CHANCE))
        };
    }
    sum
}

/// Mean queue of the RTTs before an episode.
fn around(m: &Measures<'_>, episode: &RecoveryEpisode) -> Option<Duration> {
    let near = m.rounds_before(episode, TRIPS);
    // Between losses a flow's own queue only grows: with a permanent queue, any loss finds it
    // longer than before.
    let some = Duration::from_secs_f64(2.0 * m.mss() as f64 / m.line?.max(1.0));
    let min = near.iter().filter_map(|round| round.trip.least).min()?;
    if min > m.base + some + NOISE {
        return None;
    }
    let sum = near
        .iter()
        .fold(Duration::ZERO, |sum, round| sum + round.trip.sum);
    let count: u64 = near.iter().map(|round| round.trip.count).sum();
    (count >= 8).then(|| (sum / count).saturating_sub(m.base))
}
