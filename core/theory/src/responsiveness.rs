//! Responsiveness under working conditions (draft-ietf-ippm-responsiveness-08).
//!
//! Round trips per minute, from times in seconds. TM is the mean of the times up to the 95th
//! percentile (TMP). Without TLS:
//!
//! ```text
//! foreign = 60 / ((TM(tcp_f) + TM(http_f)) / 2)                         (1)
//! loaded  = 60 / TM(http_l)                                             (2)
//! responsiveness = (foreign + loaded) / 2                               (3)
//! ```
//!
//! `tcp_f` are handshakes and `http_f` requests on connections that carry no load; `http_l` are
//! requests on connections that do, or the RTT that TCP estimates there.
//!
//! Goodput is saturated when the standard deviation of its last MAD = 4 moving averages, each over
//! as many intervals, is below SDT = 5 % of the last one (section "Final Algorithm").

use alloc::vec::Vec;

use crate::sample::Summary;

/// Share of the times that a trimmed mean has (TMP).
const TRIMMED: f64 = 0.95;

/// Number of intervals of a moving average, and of averages that are compared (MAD).
pub const DISTANCE: usize = 4;

/// Largest standard deviation of averages that are stable, as a share of the last one (SDT).
const TOLERANCE: f64 = 0.05;

/// Maximum of connections that carry load, in a direction (MNP).
pub const MAX_CONNECTIONS: usize = 16;

/// Responsiveness in round trips per minute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Responsiveness {
    /// On connections of their own, equation (1).
    pub foreign: f64,
    /// On connections that carry load, equation (2).
    pub loaded: f64,
    /// Their mean, equation (3).
    pub combined: f64,
}

/// Mean of the times up to the 95th percentile (nearest rank); `None` without any.
pub fn trimmed_mean(times: &[f64]) -> Option<f64> {
    let mut sorted: Vec<f64> = times.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let kept = libm::ceil(TRIMMED * sorted.len() as f64) as usize;
    Summary::of(&sorted[..kept]).map(|summary| summary.mean)
}

/// Responsiveness for times in seconds: handshakes, requests on connections of their own, and those
/// on connections with load. `None` without times of each kind.
pub fn responsiveness(
    handshakes: &[f64],
    requests: &[f64],
    loaded: &[f64],
) -> Option<Responsiveness> {
    let per_minute = |time: f64| (time > 0.0).then_some(60.0 / time);
    let foreign = (trimmed_mean(handshakes)? + trimmed_mean(requests)?) / 2.0;
    let (foreign, loaded) = (per_minute(foreign)?, per_minute(trimmed_mean(loaded)?)?);
    Some(Responsiveness {
        foreign,
        loaded,
        combined: (foreign + loaded) / 2.0,
    })
}

/// Whether the amounts of equal intervals are saturated: their last moving averages are stable.
pub fn is_saturated(amounts: &[f64]) -> bool {
    let averages = amounts.windows(DISTANCE);
    let averages: Vec<f64> = averages
        .map(|window| window.iter().sum::<f64>() / DISTANCE as f64)
        .collect();
    let Some(last) = averages.len().checked_sub(DISTANCE) else {
        return false;
    };
    let last = &averages[last..];
    let current = last[DISTANCE - 1];
    current > 0.0
        && Summary::of(last).is_some_and(|summary| summary.deviation < TOLERANCE * current)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_mean_leaves_out_the_slowest_twentieth() {
        let times: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(trimmed_mean(&times), Some(48.0));
        assert_eq!(trimmed_mean(&[3.0]), Some(3.0));
        assert_eq!(trimmed_mean(&[]), None);
    }

    /// 100 ms, 200 ms and 60 ms: 60 / 0.15 = 400 and 60 / 0.06 = 1000.
    #[test]
    fn responsiveness_is_the_mean_of_foreign_and_loaded() {
        let found = responsiveness(&[0.1; 9], &[0.2; 9], &[0.06; 9]).unwrap();
        assert!((found.foreign - 400.0).abs() < 1e-9 && (found.loaded - 1000.0).abs() < 1e-9);
        assert!((found.combined - 700.0).abs() < 1e-9);
        assert_eq!(responsiveness(&[0.1], &[], &[0.1]), None);
    }

    #[test]
    fn saturation_needs_four_stable_averages_of_four_intervals() {
        assert!(!is_saturated(&[9.0; 6]));
        assert!(is_saturated(&[9.0; 7]));
        assert!(!is_saturated(&[0.0; 9]));
        assert!(!is_saturated(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]));
        let settled = [1.0, 9.0, 9.1, 8.9, 9.0, 9.1, 9.0, 8.9];
        assert!(is_saturated(&settled));
    }
}
