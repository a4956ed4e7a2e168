//! Cost of a cause: the rate that the connection would have had without it, less the actual rate.

use gigatcp_units::Rate;

use crate::account::Attributed;
use crate::causes::Cause;
use crate::measures::{Measures, rate, ratio};
use crate::next_limit::FULL;

/// Cost of a cause over the whole connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// Payload that would have been delivered in addition, by time.
    pub rate: Rate,
    /// Whether it is a lower bound: the path may carry more than the capture shows.
    pub at_least: bool,
}

impl Cost {
    /// Calculates it from the path's capacity over the time attributed to the cause. Never
    /// negative, and zero for a path that was saturated.
    ///
    /// Only the delivered bytes can be delivered faster. The path needs two RTTs in addition to
    /// transmitting the bytes: the handshake, and the last ACK. If the cause stopped the transfer,
    /// the rest of the time remains, and an RTT for the stopped data.
    pub(crate) fn of(m: &Measures<'_>, cause: &Cause, attributed: &Attributed) -> Self {
        let duration = m.duration.as_secs_f64();
        let is_path = FULL.contains(&cause.id);
        let time = attributed.time.as_secs_f64();
        let missed = m.capacity.bytes_per_second * time - attributed.bytes;
        let mean = m.mean_rate();
        let delivered = mean * duration;
        let base = m.base.as_secs_f64();
        let carried = 2.0 * base + ratio(delivered, m.capacity.bytes_per_second);
        let shortest = match cause.id {
            "connection-setup" | "rto-backoff" | "outage" => carried.max(duration - time + base),
            _ => carried,
        };
        let faster = ratio(delivered, shortest.max(1e-9)) - mean;
        let missed = if is_path || duration <= 0.0 {
            0.0
        } else {
            (missed / duration).min(faster).max(0.0)
        };
        Self {
            rate: rate(missed),
            at_least: m.capacity.is_lower_bound(),
        }
    }
}
