//! Arithmetic and bookkeeping that the models of rate and round trip share.

use super::RateSample;

/// Returns `value · numerator / denominator`, rounded down, at most 2^64 − 1.
#[inline]
pub(super) fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Octets that left while the control itself kept the flight small.
///
/// Linux and the draft mark them as limited by the application (`C.app_limited`), so
/// that their low rates do not count. The engine's mark is the application's alone:
/// here it is known by `RS.prior_delivered` which samples are of that time.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct OwnLimit {
    /// Octets delivered in all when it began, and up to which it holds.
    range: Option<(u64, u64)>,
}

impl OwnLimit {
    /// What leaves from now on is limited, up to what is in flight now.
    pub(super) fn extend(&mut self, delivered: u64, in_flight: u64) {
        let until = delivered.saturating_add(in_flight);
        let from = match self.range {
            Some((from, end)) if end >= delivered => from,
            _ => delivered,
        };
        self.range = Some((from, until));
    }

    /// Returns whether the sample is limited, by the application or by the control.
    pub(super) fn covers(&self, sample: &RateSample) -> bool {
        let prior = sample.prior_delivered.as_u64();
        let own = self
            .range
            .is_some_and(|(from, to)| from <= prior && prior <= to);
        sample.app_limited || own
    }
}
