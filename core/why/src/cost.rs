//! Cost of a cause: the rate that the connection would have had without it, less the actual rate.

use gigatcp_units::Rate;

use crate::account::Attributed;
use crate::causes::Cause;
use crate::measures::{Measures, rate, ratio};
use crate::next_limit::NextLimit;

/// Cost of a cause over the whole connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Payload that would have been delivered in addition, by time.
    pub rate: Rate,
    /// Whether it is a lower bound: the path may carry more than the capture shows.
    pub at_least: bool,
}

impl Cost {
    /// Calculates it from the next limit, or else from the path's capacity. It is what that delivers
    /// in the time attributed to the cause, less slow start up to it, beyond what was delivered. A
    /// pause costs only its time. Never negative, and zero for a path that was saturated.
    pub(crate) fn of(
        m: &Measures<'_>,
        cause: &Cause,
        attributed: &Attributed,
        next: Option<NextLimit>,
    ) -> Self {
        let capacity = m.capacity.bytes_per_second;
        let limit = next.map_or(capacity, |next| next.rate.as_bps() as f64 / 8.0);
        let time = attributed.time.as_secs_f64();
        let starts = doublings(ratio(limit, attributed.rate())) * m.base.as_secs_f64();
        let (duration, mean) = (m.duration.as_secs_f64(), m.mean_rate());
        let all_missed = if cause.is_pause {
            // The rest takes the time that it took, and an RTT.
            let rest = (duration - time).max(0.0) + m.base.as_secs_f64();
            ratio(mean * duration, rest) - mean
        } else {
            ratio(limit * (time - starts) - attributed.bytes, duration)
        };
        let missed = all_missed.min(limit - mean);
        Self {
            rate: rate(if cause.is_path { 0.0 } else { missed.max(0.0) }),
            at_least: next.map_or_else(|| m.capacity.is_lower_bound(), |next| next.is_lower_bound),
        }
    }
}

/// RTTs in which slow start multiplies a window, less the one that it delivers in them.
fn doublings(factor: f64) -> f64 {
    (libm::log2(factor.max(1.0)) - 1.0).max(0.0)
}
