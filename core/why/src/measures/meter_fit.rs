//! The token bucket or queue that explains the losses best: see `sender_view/meter.rs`.
//!
//! A queue drains as fast as its link, and delays what it takes; a policer is slower than
//! the link, or delays nothing.

use super::{Measures, quartile, ratio};

/// Rates that are tried, in shares of the bottleneck's.
const STEPS: u32 = 22;
const STEP: f64 = 0.05;

/// A meter, and how well it explains the losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeterFit {
    /// Its rate, of the bottleneck's.
    pub rate: f64,
    /// Share of what was delivered although it found a level as high as what was lost.
    pub over: f64,
    /// Variation of the levels at losses.
    pub spread: f64,
    /// Added RTT before losses, of what a queue of that depth adds.
    pub delay: f64,
}

impl MeterFit {
    /// The best one; `None` of few losses, or if the bottleneck rate is not known.
    pub fn of(m: &Measures<'_>) -> Option<Self> {
        let line = m.line?;
        let rates = (1..=STEPS).map(|step| line * STEP * f64::from(step));
        let fits = rates.filter_map(|rate| Some((rate, m.trail.meter.fit(rate, m.mss())?)));
        let (rate, fit) = fits.min_by(|(_, a), (_, b)| {
            (a.over + a.spread / 8.0).total_cmp(&(b.over + b.spread / 8.0))
        })?;
        let episodes = m.trail.episodes.list.iter();
        let queues = episodes.filter_map(|one| m.queue_before(one));
        let median = quartile(queues.map(|queue| queue.as_secs_f64()).collect(), 2);
        Some(Self {
            rate: rate / line,
            over: fit.over,
            spread: fit.spread,
            delay: ratio(median.unwrap_or(0.0) * rate, fit.depth).min(4.0),
        })
    }
}
