//! Figures of a run, their spread over repeats, and the required agreement.

use gigatcp_plan::record::{FlowRecord, SeriesRecord};

/// Figures of one run, of all its flows.
#[derive(Clone, Copy)]
pub(super) struct Figures {
    mbps: f64,
    resent: f64,
    acks: f64,
    jain: Option<f64>,
    /// Part of the goodput that flows of the first control have.
    share: Option<f64>,
    /// Mean time to completion; `None` unless every flow had a fixed amount and delivered it.
    seconds: Option<f64>,
}

impl Figures {
    pub(super) fn of(record: &SeriesRecord) -> Self {
        let flows = &record.flows;
        let sum = |of: fn(&FlowRecord) -> f64| -> f64 { flows.iter().map(of).sum() };
        let total = sum(|flow| flow.goodput_bps).max(1.0);
        let squares = sum(|flow| flow.goodput_bps.powi(2)).max(1.0);
        // Of one flow, or of one control, either is 1 whatever happens.
        let first = flows.first().map(|flow| &flow.congestion_control);
        let of_first = flows
            .iter()
            .filter(|flow| Some(&flow.congestion_control) == first);
        let rate_of_first: f64 = of_first.clone().map(|flow| flow.goodput_bps).sum();
        let has_rivals = of_first.count() < flows.len();
        let times: Option<Vec<u64>> = flows.iter().map(|flow| flow.completion_ns).collect();
        Self {
            mbps: total / 1e6,
            resent: sum(|flow| flow.retransmitted_segments as f64),
            acks: sum(|flow| flow.acks_sent as f64)
                / sum(|flow| flow.segments_sent as f64).max(1.0),
            jain: (flows.len() > 1).then(|| total * total / (flows.len() as f64 * squares)),
            share: has_rivals.then(|| rate_of_first / total),
            seconds: times.map(|times| times.iter().sum::<u64>() as f64 / 1e9 / flows.len() as f64),
        }
    }
}

/// How far virtual time may be from the kernel.
enum Goal {
    /// Range of the ratio.
    Ratio([f64; 2]),
    /// Largest difference.
    Difference(f64),
    /// Reported only.
    None,
}

/// A compared quantity.
pub(super) struct Quantity {
    pub(super) name: &'static str,
    goal: Goal,
    of: fn(&Figures) -> Option<f64>,
}

const WITHIN_5_PERCENT: Goal = Goal::Ratio([0.95, 1.05]);

pub(super) const QUANTITIES: [Quantity; 6] = [
    Quantity {
        name: "Mbit/s",
        goal: WITHIN_5_PERCENT,
        of: |figures| Some(figures.mbps),
    },
    Quantity {
        name: "resent",
        goal: Goal::Ratio([0.8, 1.25]),
        of: |figures| Some(figures.resent),
    },
    Quantity {
        name: "Jain",
        goal: Goal::Difference(0.05),
        of: |figures| figures.jain,
    },
    Quantity {
        name: "share",
        goal: Goal::Difference(0.05),
        of: |figures| figures.share,
    },
    Quantity {
        name: "time",
        goal: WITHIN_5_PERCENT,
        of: |figures| figures.seconds,
    },
    Quantity {
        name: "ACKs/seg",
        goal: Goal::None,
        of: |figures| Some(figures.acks),
    },
];

/// Agreement of virtual time with the kernel in one quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Agreement {
    /// Within the goal.
    Good,
    /// Outside the goal, but between minimum and maximum of the kernel's repeats.
    Spread,
    Outside,
}

/// One quantity of both.
pub(super) struct Compared {
    pub(super) kernel: f64,
    /// Minimum and maximum of the kernel's repeats.
    pub(super) range: [f64; 2],
    pub(super) twin: f64,
    /// `None` if the quantity has no goal.
    pub(super) agreement: Option<Agreement>,
}

impl Compared {
    /// `None` if a run lacks the quantity.
    pub(super) fn new(quantity: &Quantity, kernel: &[Figures], twin: &[Figures]) -> Option<Self> {
        let values =
            |runs: &[Figures]| -> Option<Vec<f64>> { runs.iter().map(quantity.of).collect() };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let kernels = values(kernel)?;
        let (kernel, twin) = (mean(&kernels), mean(&values(twin)?));
        let range = [
            kernels.iter().copied().fold(f64::INFINITY, f64::min),
            kernels.iter().copied().fold(0.0, f64::max),
        ];
        let is_good = match quantity.goal {
            Goal::None => None,
            Goal::Ratio([low, high]) => Some((low * kernel..=high * kernel).contains(&twin)),
            Goal::Difference(most) => Some((twin - kernel).abs() <= most),
        };
        let agreement = is_good.map(|is_good| {
            if is_good {
                Agreement::Good
            } else if (range[0]..=range[1]).contains(&twin) {
                Agreement::Spread
            } else {
                Agreement::Outside
            }
        });
        Some(Self {
            kernel,
            range,
            twin,
            agreement,
        })
    }
}

/// Agreements of several plans, by quantity.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally([[u32; 3]; QUANTITIES.len()]);

impl Tally {
    pub(super) fn count(&mut self, quantity: usize, agreement: Agreement) {
        self.0[quantity][agreement as usize] += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (counts, more) in self.0.iter_mut().zip(other.0) {
            for (count, more) in counts.iter_mut().zip(more) {
                *count += more;
            }
        }
    }

    /// Plans within the goal, and those only within the kernel's own spread, of all plans with the
    /// quantity.
    pub(super) fn cell(&self, quantity: usize) -> String {
        let [good, spread, outside] = self.0[quantity];
        match good + spread + outside {
            0 => "-".to_owned(),
            all => format!("{good}+{spread}/{all}"),
        }
    }
}
