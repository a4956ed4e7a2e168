//! Segments at a rate instead of in bursts.

use gigatcp_units::Rate;

/// Segments at a rate instead of in bursts.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct Pacing {
    /// Segments leave at a rate instead of in bursts, where there is one: the
    /// congestion control's, that of `pacing_by_window`, or `max_pacing_rate`.
    pub enabled: bool,
    /// A control that has no rate is paced by its window (needs `pacing`).
    pub pacing_by_window: bool,
    /// Rate by the window, while cwnd is below half of
    /// ssthresh: percent of cwnd / SRTT (Linux `tcp_pacing_ss_ratio`).
    pub pacing_ss_ratio: u32,
    /// The same above (Linux `tcp_pacing_ca_ratio`).
    pub pacing_ca_ratio: u32,
    /// Most that pacing releases, whatever the control says (Linux
    /// `SO_MAX_PACING_RATE`); absent: no bound.
    pub max_pacing_rate: Option<Rate>,
}
