//! The token bucket or queue that best explains the losses: see `sender_view/meter.rs`.
//!
//! A queue drains at the rate of its link, and delays its packets. A policer is slower than the
//! link, or delays nothing.

use super::{Measures, quartile, ratio};

/// Rates that are tried, as fractions of the bottleneck rate.
const STEPS: u32 = 22;
const STEP: f64 = 0.05;

/// A meter, and how well it explains the losses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeterFit {
    /// Its rate over the bottleneck rate.
    pub rate: f64,
    /// Fraction of delivered data that met a level as high as lost data did.
    pub over: f64,
    /// Variation of the levels at losses.
    pub spread: f64,
    /// RTT above minimum before losses, over the delay of a queue of that depth.
    pub delay: f64,
}

impl Measures<'_> {
    /// Whether the losses are those of a queue before the link: see [`MeterFit::is_queue_of_link`].
    pub fn drops_fill_queue(&self) -> bool {
        self.meter.is_some_and(|meter| meter.is_queue_of_link())
    }
}

impl MeterFit {
    /// Whether it is a queue before the link: it drains at the link's rate, every loss met it full, and
    /// what it holds takes the time by which packets were late.
    fn is_queue_of_link(&self) -> bool {
        let is_full = self.over <= 0.05 && self.spread <= 0.1;
        self.rate >= 0.9 && is_full && (0.7..1.4).contains(&self.delay)
    }

    /// Best fit; `None` with few losses, or if the bottleneck rate is unknown.
    pub fn of(m: &Measures<'_>) -> Option<Self> {
        let line = m.line?;
        let rates = (1..=STEPS).map(|step| line * STEP * f64::from(step));
        let fits = rates.filter_map(|rate| Some((rate, m.sender_view.meter.fit(rate, m.mss())?)));
        let (rate, fit) = fits.min_by(|(_, a), (_, b)| {
            (a.over + a.spread / 8.0).total_cmp(&(b.over + b.spread / 8.0))
        })?;
        let episodes = m.sender_view.episodes.list.iter();
        let queues = episodes.filter_map(|episode| m.queue_before(episode));
        let median = quartile(queues.map(|queue| queue.as_secs_f64()).collect(), 2);
        Some(Self {
            rate: rate / line,
            over: fit.over,
            spread: fit.spread,
            delay: ratio(median.unwrap_or(0.0) * rate, fit.depth).min(4.0),
        })
    }
}
