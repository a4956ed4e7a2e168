//! Response surfaces: a quadratic in all numeric factors, fitted by least squares.
//!
//! Box and Wilson, "On the Experimental Attainment of Optimum Conditions", 1951. A factor is coded
//! from -1 to 1 between its extremes, by its logarithm if their ratio is 15 or more. The fit is to
//! the means of cells; failures do not count. Positive means with such a ratio are fitted by their
//! logarithms: a quadratic between 1 and 100 goes below zero.

use alloc::vec::Vec;

use gigatcp_plan::axis::Amount;

use crate::grid::{Grid, Scale};
use crate::statistics::Summary;

/// Maximum number of factors of a surface: 28 coefficients.
const MAX_FACTORS: usize = 6;

/// Minimum ratio of extremes for logarithms, of factors and of means.
const LOG_RATIO: f64 = 15.0;

/// A factor with numeric levels.
#[derive(Clone, PartialEq, Debug)]
pub struct Numeric {
    /// Its number in the grid.
    pub factor: usize,
    /// Numeric value of each level.
    pub places: Vec<f64>,
    /// Whether it is coded by its logarithm.
    pub is_log: bool,
    low: f64,
    high: f64,
}

/// A fitted quadratic.
#[derive(Clone, PartialEq, Debug)]
pub struct Surface {
    /// The factors, in descending order of their influence on the surface.
    pub factors: Vec<Numeric>,
    /// Share of the variance of the cells' means that the surface explains.
    pub r_squared: f64,
    /// Number of cells minus the number of coefficients.
    pub degrees_of_freedom: usize,
    /// Whether the logarithms of the means were fitted; `r_squared` is then of them.
    pub is_log: bool,
    coefficients: Vec<f64>,
}

impl Numeric {
    /// Returns a factor of the grid; `None` if it is not numeric. It is not if a level is not a
    /// number, or all are the same.
    #[must_use]
    pub fn of(factor: usize, scale: &Scale) -> Option<Self> {
        let read = |label: &alloc::string::String| Amount::read(label).map(|one| one.value);
        let places: Option<Vec<f64>> = scale.labels.iter().map(read).collect();
        let places = places?;
        let (low, high) = extremes(places.iter().copied());
        (low < high).then_some(Self {
            factor,
            is_log: spans_decades(low, high),
            places,
            low,
            high,
        })
    }

    /// Returns the coded value: -1 at the minimum, 1 at the maximum.
    fn coded(&self, place: f64) -> f64 {
        debug_assert!(
            (self.low..=self.high).contains(&place),
            "{} <= {place} <= {}: a place of the factor",
            self.low,
            self.high
        );
        let share = match self.is_log {
            true => libm::log(place / self.low) / libm::log(self.high / self.low),
            false => (place - self.low) / (self.high - self.low),
        };
        2.0 * share - 1.0
    }

    /// Returns the value of the factor at a coded value.
    #[must_use]
    pub fn place(&self, coded: f64) -> f64 {
        let share = (coded + 1.0) / 2.0;
        match self.is_log {
            true => self.low * libm::exp(share * libm::log(self.high / self.low)),
            false => self.low + share * (self.high - self.low),
        }
    }
}

impl Surface {
    /// Fits the means of all cells; `None` if that is impossible. It requires two factors with
    /// three numeric levels each, enough cells, and a design that identifies the coefficients.
    #[must_use]
    pub fn fit(grid: &Grid) -> Option<Self> {
        let scales = grid.scales.iter().enumerate();
        let wide = scales.filter(|(_, scale)| scale.labels.len() >= 3);
        let factors: Vec<Numeric> = wide
            .filter_map(|(number, scale)| Numeric::of(number, scale))
            .take(MAX_FACTORS)
            .collect();
        if factors.len() < 2 {
            return None;
        }
        let mut points = Vec::new();
        for arm in grid.arms.iter() {
            let coded = factors.iter().map(|numeric| {
                let level = arm.levels[numeric.factor]?;
                Some(numeric.coded(numeric.places[level as usize]))
            });
            let coded: Option<Vec<f64>> = coded.collect();
            if let (Some(coded), Some(summary)) = (coded, Summary::of(arm.values)) {
                points.push((terms(&coded), summary.mean));
            }
        }
        let (low, high) = extremes(points.iter().map(|point| point.1));
        let is_log = spans_decades(low, high);
        if is_log {
            for (_, value) in &mut points {
                *value = libm::log(*value);
            }
        }
        let count = terms(&alloc::vec![0.0; factors.len()]).len();
        let degrees_of_freedom = points.len().checked_sub(count + 1)? + 1;
        let coefficients = least_squares(&points, count)?;
        let mean = points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
        let (mut total, mut rest) = (0.0, 0.0);
        for (terms, value) in &points {
            total += (value - mean) * (value - mean);
            let error = value - dot(terms, &coefficients);
            rest += error * error;
        }
        let r_squared = if total > 0.0 { 1.0 - rest / total } else { 1.0 };
        let mut surface = Self {
            factors,
            r_squared,
            degrees_of_freedom,
            is_log,
            coefficients,
        };
        surface.sort();
        Some(surface)
    }

    /// Returns the value at coded values of the factors, in their order here.
    #[must_use]
    pub fn at(&self, coded: &[f64]) -> f64 {
        let fitted = dot(&terms(coded), &self.coefficients);
        match self.is_log {
            true => libm::exp(fitted),
            false => fitted,
        }
    }

    /// Returns the range of the surface along one factor. The others are at their centers.
    #[must_use]
    pub fn range(&self, number: usize) -> f64 {
        let mut coded = alloc::vec![0.0; self.factors.len()];
        let (low, high) = extremes((0..=20).map(|step| {
            coded[number] = f64::from(step) / 10.0 - 1.0;
            self.at(&coded)
        }));
        high - low
    }

    /// Sorts the factors by descending influence, and the coefficients accordingly.
    fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.factors.len()).collect();
        order.sort_by(|a, b| self.range(*b).total_cmp(&self.range(*a)));
        let count = order.len();
        // Index of the term of a pair.
        let place = |a: usize, b: usize| {
            let (a, b) = (a.min(b), a.max(b));
            1 + count + a * count - a * a.saturating_sub(1) / 2 + (b - a)
        };
        let mut sorted = alloc::vec![self.coefficients[0]];
        sorted.extend(order.iter().map(|one| self.coefficients[1 + one]));
        for first in 0..count {
            for second in first..count {
                sorted.push(self.coefficients[place(order[first], order[second])]);
            }
        }
        self.coefficients = sorted;
        self.factors = order.iter().map(|one| self.factors[*one].clone()).collect();
        debug_assert!(
            (1..count).all(|one| self.range(one) <= self.range(one - 1) * (1.0 + 1e-6) + 1e-9),
            "coefficients stand in the order of the factors"
        );
    }
}

/// Returns the minimum and the maximum.
fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    })
}

/// Returns whether logarithms describe values between these extremes better.
fn spans_decades(low: f64, high: f64) -> bool {
    low > 0.0 && high / low >= LOG_RATIO
}

/// Returns the terms: 1, all factors, then all products of two, including squares.
fn terms(coded: &[f64]) -> Vec<f64> {
    let mut terms = alloc::vec![1.0];
    terms.extend(coded);
    for (number, one) in coded.iter().enumerate() {
        terms.extend(coded[number..].iter().map(|other| one * other));
    }
    terms
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns least-squares coefficients, by the normal equations and Cholesky factors. Coded
/// factors are of similar size, so this is accurate. `None` if the points do not determine them.
fn least_squares(points: &[(Vec<f64>, f64)], count: usize) -> Option<Vec<f64>> {
    debug_assert!(
        points.len() >= count && points.iter().all(|(terms, _)| terms.len() == count),
        "{} points of {count} terms each determine {count} coefficients",
        points.len()
    );
    let mut matrix = alloc::vec![alloc::vec![0.0; count]; count];
    let mut right = alloc::vec![0.0; count];
    for (terms, value) in points {
        for (row, a) in terms.iter().enumerate() {
            right[row] += a * value;
            for (column, b) in terms.iter().enumerate() {
                matrix[row][column] += a * b;
            }
        }
    }
    for column in 0..count {
        let above: f64 = (0..column)
            .map(|k| matrix[column][k] * matrix[column][k])
            .sum();
        let pivot = matrix[column][column] - above;
        if pivot <= 1e-9 * points.len() as f64 {
            return None;
        }
        matrix[column][column] = libm::sqrt(pivot);
        for row in column + 1..count {
            let above: f64 = (0..column)
                .map(|k| matrix[row][k] * matrix[column][k])
                .sum();
            matrix[row][column] = (matrix[row][column] - above) / matrix[column][column];
        }
    }
    for row in 0..count {
        let before: f64 = (0..row).map(|k| matrix[row][k] * right[k]).sum();
        right[row] = (right[row] - before) / matrix[row][row];
    }
    for row in (0..count).rev() {
        let after: f64 = (row + 1..count).map(|k| matrix[k][row] * right[k]).sum();
        right[row] = (right[row] - after) / matrix[row][row];
    }
    Some(right)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::grid::Arm;

    fn scale(name: &str, labels: &[&str]) -> Scale {
        Scale {
            name: name.to_string(),
            labels: labels.iter().map(|label| label.to_string()).collect(),
        }
    }

    fn grid(value: impl Fn(f64, f64) -> f64) -> Grid {
        let mut arms = Vec::new();
        for a in 0..3_u32 {
            for b in 0..4_u32 {
                arms.push(Arm {
                    cell: arms.len() as u64,
                    levels: vec![Some(a), Some(b)],
                    values: vec![value(f64::from(a) - 1.0, f64::from(b) * 2.0 / 3.0 - 1.0)],
                    failures: 0,
                });
            }
        }
        Grid {
            metric: "m".to_string(),
            scales: vec![
                scale("a", &["10 ms", "20 ms", "30 ms"]),
                scale("b", &["1", "10", "100", "1000"]),
            ],
            arms: arms.into_iter().collect(),
        }
    }

    /// Returns the grid with the cells for which `passes` holds.
    fn with(grid: Grid, passes: impl Fn(&Arm) -> bool) -> Grid {
        let arms = grid.arms.iter().map(Arm::from).filter(passes).collect();
        Grid { arms, ..grid }
    }

    #[test]
    fn a_quadratic_is_found_again_whichever_factor_moves_it_most() {
        let value = |a: f64, b: f64| 5.0 + a - 7.0 * b + 2.0 * a * a + 0.5 * a * b - b * b;
        let surface = Surface::fit(&grid(value)).unwrap();
        assert_eq!(surface.factors[0].factor, 1);
        assert!(surface.factors[0].is_log && !surface.factors[1].is_log);
        assert!((surface.r_squared - 1.0).abs() < 1e-12);
        assert_eq!(surface.degrees_of_freedom, 6);
        for (a, b) in [(0.3, -0.8), (-1.0, 1.0), (0.9, 0.1)] {
            assert!((surface.at(&[b, a]) - value(a, b)).abs() < 1e-9);
        }
        assert!((surface.factors[0].place(0.0) - 31.622_776_6).abs() < 1e-6);
    }

    #[test]
    fn means_that_span_decades_are_fitted_by_their_logarithms_and_stay_above_zero() {
        let value = |a: f64, b: f64| libm::exp(3.0 * a + 2.0 * b);
        let surface = Surface::fit(&grid(value)).unwrap();
        assert!(surface.is_log && (surface.r_squared - 1.0).abs() < 1e-12);
        assert!((surface.at(&[-0.5, 0.25]) / value(-0.5, 0.25) - 1.0).abs() < 1e-9);
    }

    /// numpy's `lstsq` on the same points leaves 0.675 of 2.6667.
    #[test]
    fn a_step_is_explained_as_far_as_numpy_does() {
        let step = |a: f64, b: f64| if a + b > 0.5 { 1.0 } else { 0.0 };
        let surface = Surface::fit(&grid(step)).unwrap();
        assert!((surface.r_squared - 0.746_875).abs() < 1e-9);
    }

    #[test]
    fn designs_that_do_not_tell_the_coefficients_apart_have_no_surface() {
        let few = with(grid(|a, _| a), |arm| arm.levels[0] == arm.levels[1]);
        assert!(Surface::fit(&few).is_none());
        let line = with(grid(|a, _| a), |arm| arm.levels[1] < Some(2));
        assert!(Surface::fit(&line).is_none());
    }
}
