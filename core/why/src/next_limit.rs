//! The next limit of a connection, if its primary cause is lifted.
//!
//! It is known only from values that a capture shows even if they do not limit: the bottleneck
//! rate, and the advertised window over the minimum RTT. A limit of a host (a send buffer, pacing,
//! a CPU) leaves no trace while another one is lower.

use gigatcp_units::Rate;

use crate::account::Account;
use crate::causes::{CAUSES, Cause, place};
use crate::measures::{CapacitySource, Measures, rate};

/// The next limit, and its rate.
#[derive(Clone, Copy, Debug)]
pub struct NextLimit {
    /// The cause.
    pub cause: &'static Cause,
    /// Payload rate that it allows.
    pub rate: Rate,
    /// Whether it may allow more: packets never came much closer than the primary cause let them.
    pub is_lower_bound: bool,
}

/// Factor above the primary limit from which distances between packets are those of the path. A
/// sender that paces spaces its packets by its own rate, and a little less.
const CLEAR: f64 = 1.5;

impl NextLimit {
    /// Lowest known limit above the rate that the primary cause allows.
    pub(crate) fn of(m: &Measures<'_>, account: &Account) -> Option<Self> {
        let first = account.most()?;
        let limited = &account.causes[first];
        if limited.time <= account.unknown {
            return None;
        }
        let first = CAUSES[first];
        if first.is_busy_link && !first.is_path {
            // After a shaper of the sender nothing shows the path's rate.
            return None;
        }
        let window = window_rate(m).filter(|_| !first.is_window);
        let path = path_rate(m).filter(|_| !first.is_path);
        let allowed = limited.rate().max(m.mean_rate());
        // Without a known bottleneck rate a window is next only if the path was saturated.
        let known = match (window, path) {
            (Some(window), Some(path)) if window < path => ("receive-window-limited", window),
            (Some(window), None) if first.is_path => ("receive-window-limited", window),
            (_, Some(path)) => ("path-saturated", path),
            _ => return None,
        };
        let (id, most) = known;
        let cause = CAUSES[place(id)?];
        (most > allowed).then_some(Self {
            cause,
            rate: rate(most),
            is_lower_bound: id == "path-saturated" && most < CLEAR * allowed,
        })
    }
}

/// Rate that the largest advertised window allows, in bytes per second. `None` if windows grow with
/// the flight (receive buffer tuning), so that a larger one can be expected.
pub(crate) fn window_rate(m: &Measures<'_>) -> Option<f64> {
    let rounds = m.rounds.len();
    let most = *m.window_max.last().filter(|_| m.knows_windows())? as f64;
    let early = *m.window_max.get(rounds / 4)? as f64;
    let grows = most > 1.25 * early;
    let trip = m.base.as_secs_f64();
    (!grows && trip > 0.0 && rounds >= 8).then(|| most / trip)
}

/// Bottleneck rate, if a saturated link shows it, or half of a flight back to back. A few packets
/// pass at any rate: those of a token bucket's burst, or of a device that hands over several at
/// once.
pub(crate) fn path_rate(m: &Measures<'_>) -> Option<f64> {
    let is_long = |train: u64| train > 0 && train * 2 >= m.sending.flight_max;
    match m.capacity.source {
        CapacitySource::FullLink => Some(m.capacity.bytes_per_second),
        _ => m.line.filter(|_| m.line_train.is_some_and(is_long)),
    }
}
