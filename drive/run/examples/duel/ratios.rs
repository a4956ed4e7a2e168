//! Ratios between pairings of stacks, and the range required of each.
//!
//! A ratio of a series is that of the means over its repeats. Repeats of two pairings have common
//! seeds, hence the same packets lost by number. The standard error counts the remaining
//! differences (that of a ratio of means, Cochran, Sampling Techniques, 1977, section 6.4). With
//! one repeat there is none, and random variation is indistinguishable from a difference.

use crate::{ENGINES, Figures, KERNELS, Rows, VIRTUAL};

/// A required ratio: its name, numerator and denominator, quantity, and range.
struct Ratio {
    name: &'static str,
    above: usize,
    below: usize,
    of: fn(&Figures) -> f64,
    between: [f64; 2],
}

const GOODPUT: fn(&Figures) -> f64 = |figures| figures.mbps;
const RESENT: fn(&Figures) -> f64 = |figures| figures.resent;

const RATIOS: [Ratio; 7] = [
    ratio(
        "goodput, both engines / both kernels",
        ENGINES,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "goodput, engine to kernel / both kernels",
        2,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "goodput, kernel to engine / both kernels",
        3,
        KERNELS,
        GOODPUT,
        [0.95, 1.05],
    ),
    ratio(
        "resent, both engines / both kernels",
        ENGINES,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "resent, engine to kernel / both kernels",
        2,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "resent, kernel to engine / both kernels",
        3,
        KERNELS,
        RESENT,
        [0.8, 1.25],
    ),
    ratio(
        "goodput, virtual time / both engines",
        VIRTUAL,
        ENGINES,
        GOODPUT,
        [0.97, 1.03],
    ),
];

const fn ratio(
    name: &'static str,
    above: usize,
    below: usize,
    of: fn(&Figures) -> f64,
    between: [f64; 2],
) -> Ratio {
    Ratio {
        name,
        above,
        below,
        of,
        between,
    }
}

/// The ratio of a series.
#[derive(Clone, Copy)]
struct Estimate {
    value: f64,
    /// Standard error; `None` with one repeat.
    error: Option<f64>,
}

impl Estimate {
    /// Ratio of `above` over `below`, with one value of each per repeat.
    fn of(above: &[f64], below: &[f64]) -> Self {
        let repeats = above.len().min(below.len()) as f64;
        let mean = |values: &[f64]| values.iter().sum::<f64>() / repeats;
        let (top, bottom) = (mean(above), mean(below));
        if top == bottom {
            // No pairing retransmits anything: the ratio is 1.
            return Self {
                value: 1.0,
                error: None,
            };
        }
        let value = top / bottom;
        let left = above
            .iter()
            .zip(below)
            .map(|(a, b)| (a - value * b).powi(2));
        let variance = left.sum::<f64>() / (repeats - 1.0);
        Self {
            value,
            error: (repeats > 1.0).then(|| (variance / repeats).sqrt() / bottom),
        }
    }

    /// Whether it is outside `range` by more than two standard errors.
    fn is_surely_outside(self, [low, high]: [f64; 2]) -> bool {
        let Some(error) = self.error else {
            return false;
        };
        self.value + 2.0 * error < low || self.value - 2.0 * error > high
    }
}

/// Prints each ratio of each series with its standard error.
///
/// One star marks a ratio outside the required range, two stars one outside by more than two
/// standard errors. Then minimum, median and maximum of each follow, and the number inside.
pub(crate) fn print(found: &[(String, Rows)]) {
    println!("\neach in the order of the table below");
    let mut all: Vec<Vec<Estimate>> = vec![Vec::new(); RATIOS.len()];
    for (series, rows) in found {
        print!("{series:<10}");
        for (ratio, all) in RATIOS.iter().zip(&mut all) {
            let of = |place: usize| -> Vec<f64> { rows[place].iter().map(ratio.of).collect() };
            let estimate = Estimate::of(&of(ratio.above), &of(ratio.below));
            let [low, high] = ratio.between;
            let stars = if estimate.is_surely_outside(ratio.between) {
                "**"
            } else if (low..=high).contains(&estimate.value) {
                ""
            } else {
                "*"
            };
            let error = estimate
                .error
                .map_or(String::new(), |error| format!("±{error:.3}"));
            print!(" {:7.3}{error:<6}{stars:<2}", estimate.value);
            all.push(estimate);
        }
        println!();
    }
    println!(
        "\n{:<44} {:>7} {:>7} {:>7}   inside",
        "ratio", "least", "middle", "most"
    );
    for (ratio, mut each) in RATIOS.iter().zip(all) {
        let [low, high] = ratio.between;
        each.sort_by(|a, b| a.value.total_cmp(&b.value));
        let inside = each
            .iter()
            .filter(|measured| (low..=high).contains(&measured.value));
        let surely_not = each
            .iter()
            .filter(|measured| measured.is_surely_outside(ratio.between));
        println!(
            "{:<44} {:7.3} {:7.3} {:7.3}   {} of {} in {low} to {high}; {} outside by more than \
             two standard errors",
            ratio.name,
            each[0].value,
            each[each.len() / 2].value,
            each[each.len() - 1].value,
            inside.count(),
            each.len(),
            surely_not.count(),
        );
    }
}
