//! Shared arithmetic and state of the models of rate and RTT.

use super::RateSample;

/// `value · numerator / denominator`, rounded down, at most 2^64 − 1.
#[inline]
pub(super) fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(numerator) / u128::from(denominator);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Interval in which the control itself kept the flight small.
///
/// Linux and the draft mark such data as application-limited (`C.app_limited`), so that its low
/// rates do not count. The engine's mark covers only the application, so `RS.prior_delivered`
/// identifies the samples of that interval.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ControlLimited {
    /// Total octets delivered at the start and at the end of the interval.
    range: Option<(u64, u64)>,
}

impl ControlLimited {
    /// Extends the limited interval over the data in flight now.
    pub(super) fn extend(&mut self, delivered: u64, in_flight: u64) {
        let until = delivered.saturating_add(in_flight);
        let from = match self.range {
            Some((from, end)) if end >= delivered => from,
            _ => delivered,
        };
        self.range = Some((from, until));
    }

    /// Whether the application or the control limited the sample.
    pub(super) fn covers(&self, sample: &RateSample) -> bool {
        let prior = sample.prior_delivered.as_u64();
        let own = self
            .range
            .is_some_and(|(from, to)| from <= prior && prior <= to);
        sample.app_limited || own
    }
}
