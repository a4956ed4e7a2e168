//! Pacing: segments leave at a rate instead of in bursts.

use gigatcp_units::Rate;

/// Pacing: segments leave at a rate instead of in bursts.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Pacing {
    /// Segments leave at a rate instead of in bursts, if a rate is known. It is that of the
    /// congestion control, of `pacing_by_window`, or `max_pacing_rate`.
    pub enabled: bool,
    /// A control without a rate is paced by its window (needs `pacing`).
    pub pacing_by_window: bool,
    /// The first window leaves in one burst even if the control has a rate (Linux: the first ten
    /// segments).
    pub first_window_unpaced: bool,
    /// Pacing rate while cwnd is below half of ssthresh, in percent of cwnd / SRTT. For
    /// `pacing_by_window` (Linux `tcp_pacing_ss_ratio`).
    pub pacing_ss_ratio: u32,
    /// Pacing rate once cwnd is above that, in percent of cwnd / SRTT. For `pacing_by_window`
    /// (Linux `tcp_pacing_ca_ratio`).
    pub pacing_ca_ratio: u32,
    /// Maximum pacing rate, whatever the control requests (Linux `SO_MAX_PACING_RATE`); `None`:
    /// no limit.
    pub max_pacing_rate: Option<Rate>,
}
