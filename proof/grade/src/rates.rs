//! Whether stated rates agree with counters.

use std::fmt;

use crate::dataset::Observed;

/// Relative deviation from the known rate that still counts as correct.
const TOLERANCE: f64 = 0.1;

/// Counts of stated capacities and costs.
#[derive(Clone, Copy, Default, Debug)]
pub struct RateScore {
    /// Number of capacities stated as known, and of those within a tenth of the bottleneck.
    pub capacities: (u64, u64),
    /// Number of lower bounds stated, and of those at most a tenth above the bottleneck.
    pub bounds: (u64, u64),
    /// Number of capacities below the connection's throughput.
    pub below_own: u64,
    /// Number of costs stated, and of those within the path's unused rate.
    pub costs: (u64, u64),
}

impl RateScore {
    /// Adds an answer, if the rates are known. Returns the error in it, if any.
    pub fn add(&mut self, one: &Observed) -> Option<String> {
        let known = one.rates.filter(|known| known.bottleneck_bps > 0.0)?;
        let (capacity, is_bound) = one.capacity?;
        let most = known.bottleneck_bps * (1.0 + TOLERANCE);
        let least = known.bottleneck_bps * (1.0 - TOLERANCE);
        self.below_own += u64::from(capacity < one.throughput_bps * 0.999);
        let is_right = if is_bound {
            self.bounds.0 += 1;
            self.bounds.1 += u64::from(capacity <= most);
            capacity <= most
        } else {
            self.capacities.0 += 1;
            self.capacities.1 += u64::from((least..most).contains(&capacity));
            (least..most).contains(&capacity)
        };
        if let Some((cost, _)) = one.cost.filter(|(cost, _)| *cost > 0.0) {
            self.costs.0 += 1;
            self.costs.1 += u64::from(cost <= most - known.goodput_bps);
        }
        (!is_right).then(|| {
            let kind = if is_bound { "at least" } else { "capacity" };
            let (said, is) = (capacity / 1e6, known.bottleneck_bps / 1e6);
            format!("{kind} {said:.1} Mbit/s, is {is:.1}")
        })
    }
}

impl fmt::Display for RateScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stated, right) = self.capacities;
        writeln!(f, "capacities stated: {stated}, within 10 %: {right}")?;
        let (stated, right) = self.bounds;
        writeln!(f, "lower bounds stated: {stated}, not above: {right}")?;
        writeln!(
            f,
            "capacities below the connection's own rate: {}",
            self.below_own
        )?;
        let (stated, right) = self.costs;
        writeln!(
            f,
            "costs stated: {stated}, not above what was unused: {right}"
        )
    }
}
