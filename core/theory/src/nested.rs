//! Variance components of measurements in nested groups, of any sizes.
//!
//! y = mean + a(boot) + b(batch in boot) + c(connection in batch) + e(interval in connection), each
//! term random with its own variance (Searle, Casella, McCulloch, "Variance Components", 1992,
//! chapter 5). With n_g observations in group g and T_l the sum over groups of level l of n_g times
//! the squared mean of g:
//!
//! ```text
//! SS_l = T_l - T_{l-1},  df_l = groups_l - groups_{l-1},  MS_l = SS_l / df_l     (1)
//! E[SS_l] = df_l v_e + sum_m v_m (k(l,m) - k(l-1,m)),
//! k(l,m) = sum_{g of l} (1/n_g) sum_{u of m in g} n_u^2                           (2)
//! ```
//!
//! Starting at the finest level, (2) with the observed sums of squares yields one variance after
//! another (the method of moments, exact for any sizes). A negative estimate is set to zero. The
//! interval of a variance is that of Williams and Tukey, with the mean square expected without it
//! (Satterthwaite's degrees of freedom) in the denominator:
//!
//! ```text
//! df_l (MS_l - F(1-a/2) MS_0) / (c chi2(1-a/2)) .. df_l (MS_l - F(a/2) MS_0) / (c chi2(a/2))   (3)
//! ```
//!
//! Exact for groups of one size, approximate for others. Out of scope: correlation between
//! neighbors of the finest level. Intervals of a TCP connection are correlated, which adds to the
//! variance between connections.

use alloc::vec;
use alloc::vec::Vec;

use crate::distribution::{chi_square_quantile, f_quantile, f_tail};

/// Two-sided probability outside of the intervals.
const ALPHA: f64 = 0.05;

/// Variance at one level.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Component {
    /// Number of groups of the level; for the finest, number of observations.
    pub groups: usize,
    /// Degrees of freedom of (1).
    pub df: usize,
    /// Mean square of (1).
    pub mean_square: f64,
    /// Variance, equation (2).
    pub variance: f64,
    /// 95 % interval of the variance, equation (3). `None` for the upper end: the data does not
    /// bound it.
    pub interval: (f64, Option<f64>),
    /// Probability of a mean square this large if the variance is zero. `None` for the finest
    /// level.
    pub p: Option<f64>,
}

/// Components of nested groups.
#[derive(Clone, PartialEq, Debug)]
pub struct Nested {
    /// Mean of all observations.
    pub mean: f64,
    /// Components from the coarsest level to the finest. `None`: the level has nothing to compare,
    /// so the next coarser one contains its variance.
    pub levels: Vec<Option<Component>>,
}

/// A group of a level: number and sum of its observations.
#[derive(Clone, Default)]
struct Group {
    parent: usize,
    count: f64,
    sum: f64,
}

impl Nested {
    /// Returns the components of observations in nested groups. `paths` has for each observation
    /// its group number at each level except the finest, coarsest first. `None` without
    /// observations, or if paths differ in length.
    pub fn of(paths: &[Vec<usize>], values: &[f64]) -> Option<Self> {
        let depth = paths.first()?.len();
        if paths.len() != values.len() || paths.iter().any(|path| path.len() != depth) {
            return None;
        }
        let levels = groups(paths, values, depth);
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        // Centered on the mean: squares of rates are large, their differences are not.
        let total = |level: &[Group]| {
            let square = |group: &Group| {
                let distance = group.sum / group.count - mean;
                group.count * distance * distance
            };
            level.iter().map(square).sum::<f64>()
        };
        let totals: Vec<f64> = levels.iter().map(|level| total(level)).collect();
        let squares: Vec<f64> = totals.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let weights = weights(&levels);
        let mut found: Vec<Option<Component>> = vec![None; depth + 1];
        for at in (0..=depth).rev() {
            let df = levels[at + 1].len() - levels[at].len();
            if df > 0 {
                let seen = (squares[at].max(0.0), df, levels[at + 1].len());
                found[at] = Some(component(at, seen, &weights, &found));
            }
        }
        Some(Self {
            mean,
            levels: found,
        })
    }

    /// Returns the variance of one observation: the sum over all levels.
    pub fn total(&self) -> f64 {
        let known = self.levels.iter().flatten();
        known.map(|level| level.variance).sum()
    }
}

/// Returns the variance of a level, given those of the finer ones.
fn component(
    at: usize,
    (squares, df, groups): (f64, usize, usize),
    weights: &[Vec<f64>],
    found: &[Option<Component>],
) -> Component {
    let degrees = df as f64;
    let mean_square = squares / degrees;
    let own = weights[at][at] / degrees;
    debug_assert!(
        own > 0.0,
        "a level's variance is in its own sum of squares: {own} at level {at}"
    );
    // Mean square expected without the level's own variance, and its degrees of freedom: a sum of
    // mean squares of finer levels, each with its factor.
    let mut factors: Vec<f64> = weights[at].iter().map(|weight| weight / degrees).collect();
    let (mut expected, mut spread) = (0.0, 0.0);
    for level in at + 1..found.len() {
        let Some(one) = &found[level] else { continue };
        let part = factors[level] / (weights[level][level] / one.df as f64);
        expected += part * one.mean_square;
        spread += (part * one.mean_square) * (part * one.mean_square) / one.df as f64;
        for next in level + 1..factors.len() {
            factors[next] -= part * weights[level][next] / one.df as f64;
        }
    }
    let variance = ((mean_square - expected) / own).max(0.0);
    let is_finest = expected == 0.0;
    let error = if spread > 0.0 {
        (expected * expected / spread).max(1.0)
    } else {
        f64::INFINITY
    };
    let bound = |p: f64| {
        let without = if is_finest {
            0.0
        } else {
            f_quantile(p, degrees, error) * expected
        };
        (degrees * (mean_square - without) / (own * chi_square_quantile(p, degrees))).max(0.0)
    };
    let upper = Some(bound(ALPHA / 2.0)).filter(|upper| upper.is_finite());
    Component {
        groups,
        df,
        mean_square,
        variance,
        interval: (bound(1.0 - ALPHA / 2.0), upper),
        p: (!is_finest).then(|| f_tail(mean_square / expected, degrees, error)),
    }
}

/// Returns the groups of each level: first all observations together, last each one alone.
fn groups(paths: &[Vec<usize>], values: &[f64], depth: usize) -> Vec<Vec<Group>> {
    let count = values.len() as f64;
    let all = Group {
        parent: 0,
        count,
        sum: values.iter().sum(),
    };
    let mut levels = vec![vec![all]];
    let mut parents = vec![0; values.len()];
    for level in 0..depth {
        let mut keys: Vec<(usize, usize)> = Vec::new();
        let mut groups: Vec<Group> = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            let key = (parents[index], path[level]);
            let place = keys
                .iter()
                .position(|known| *known == key)
                .unwrap_or_else(|| {
                    keys.push(key);
                    groups.push(Group {
                        parent: key.0,
                        ..Group::default()
                    });
                    groups.len() - 1
                });
            groups[place].count += 1.0;
            groups[place].sum += values[index];
            parents[index] = place;
        }
        levels.push(groups);
    }
    let single = values.iter().zip(&parents).map(|(value, parent)| Group {
        parent: *parent,
        count: 1.0,
        sum: *value,
    });
    levels.push(single.collect());
    levels
}

/// Returns the factors of equation (2). `weights[l][m]` is the factor of the variance of level m in
/// the sum of squares of level l.
fn weights(levels: &[Vec<Group>]) -> Vec<Vec<f64>> {
    // k[l][m]; level 0 is all observations together.
    let count = levels.len();
    let mut k = vec![vec![levels[0][0].count; count]; count];
    for (coarse, row) in k.iter_mut().enumerate() {
        for fine in coarse + 1..count {
            let mut squares = vec![0.0; levels[coarse].len()];
            for group in &levels[fine] {
                let mut at = group.parent;
                for level in (coarse + 1..fine).rev() {
                    at = levels[level][at].parent;
                }
                squares[at] += group.count * group.count;
            }
            let groups = squares.iter().zip(&levels[coarse]);
            row[fine] = groups.map(|(square, group)| square / group.count).sum();
        }
    }
    let row = |level: usize| {
        let columns = 1..count;
        columns
            .map(|column| k[level][column] - k[level - 1][column])
            .collect()
    };
    (1..count).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::close::assert_close;

    /// Returns paths and values of groups that are written with their path.
    fn observations(groups: &[(&[usize], &[f64])]) -> (Vec<Vec<usize>>, Vec<f64>) {
        let mut all = (Vec::new(), Vec::new());
        for (path, values) in groups {
            for value in *values {
                all.0.push(path.to_vec());
                all.1.push(*value);
            }
        }
        all
    }

    /// By hand: the means are 93.05, 94.95 and 91.45. So MS between is 4 x 3.07 = 12.28 and within
    /// 3.35 / 9; (12.28 - 0.37222) / 4 = 2.97694. scipy 1.17 `f_oneway`: F = 32.991045, p =
    /// 7.190885e-5; the intervals are (3) with `scipy.stats.f.ppf` and `chi2.ppf`.
    #[test]
    fn one_level_is_the_analysis_of_variance_of_scipy() {
        let (paths, values) = observations(&[
            (&[0], &[93.1, 92.4, 93.8, 92.9]),
            (&[1], &[95.2, 94.1, 94.9, 95.6]),
            (&[2], &[91.0, 92.2, 91.7, 90.9]),
        ]);
        let found = Nested::of(&paths, &values).unwrap();
        let [between, within] = [0, 1].map(|level: usize| found.levels[level].unwrap());
        assert_eq!((between.df, within.df), (2, 9));
        assert_close(
            between.mean_square / within.mean_square,
            32.991_044_776,
            1e-9,
        );
        assert_close(between.p.unwrap(), 7.190_885_399e-5, 1e-6);
        assert_close(between.variance, 2.976_944_444, 1e-9);
        assert_close(within.variance, 0.372_222_222, 1e-9);
        assert_close(within.interval.0, 0.176_104_762, 1e-8);
        assert_close(within.interval.1.unwrap(), 1.240_561_778, 1e-8);
        assert_close(between.interval.0, 0.688_072_068, 1e-8);
        assert_close(between.interval.1.unwrap(), 121.165_205_109, 1e-8);
    }

    /// Computed independently with numpy, by the traces of projections. E[y'Ay] = sum v_m tr(A Z_m
    /// Z_m').
    #[test]
    fn groups_of_unequal_sizes_have_the_components_of_the_matrix_form() {
        let (paths, values) = observations(&[
            (&[0, 0, 0], &[57.7, 58.4]),
            (&[0, 0, 1], &[58.0]),
            (&[0, 1, 0], &[59.6, 59.9, 60.1]),
            (&[1, 0, 0], &[62.0, 61.1]),
            (&[1, 0, 1], &[61.9, 62.4]),
            (&[1, 1, 0], &[63.5]),
            (&[2, 0, 0], &[55.2, 55.9, 55.0]),
            (&[2, 0, 1], &[54.1]),
            (&[2, 1, 0], &[56.6, 56.2]),
            (&[2, 1, 1], &[57.3, 56.9]),
        ]);
        let found = Nested::of(&paths, &values).unwrap();
        assert_close(found.mean, 58.515_789_473_7, 1e-11);
        let expected = [
            (2, 61.501_131_58, 9.078_069_92),
            (3, 4.333_222_22, 1.316_862_72),
            (4, 0.513_75, 0.202_628_73),
            (9, 0.167_592_59, 0.167_592_59),
        ];
        for (level, (df, mean_square, variance)) in found.levels.iter().zip(expected) {
            let component = level.unwrap();
            assert_eq!(component.df, df);
            assert_close(component.mean_square, mean_square, 1e-7);
            assert_close(component.variance, variance, 1e-7);
        }
    }

    /// Approximately normal values: the sum of 12 uniform ones.
    struct Normal(u64);

    impl Normal {
        fn next(&mut self, deviation: f64) -> f64 {
            let mut uniform = || {
                self.0 = self
                    .0
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (self.0 >> 11) as f64 / (1_u64 << 53) as f64
            };
            deviation * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)
        }
    }

    /// Returns synthetic data: numbers of groups under each group, and standard deviations.
    fn synthetic(normal: &mut Normal, sizes: [usize; 4], deviations: [f64; 4]) -> Nested {
        let (mut paths, mut values) = (Vec::new(), Vec::new());
        for boot in 0..sizes[0] {
            let of_boot = 900.0 + normal.next(deviations[0]);
            for batch in 0..sizes[1] {
                let of_batch = of_boot + normal.next(deviations[1]);
                for connection in 0..sizes[2] {
                    let of_connection = of_batch + normal.next(deviations[2]);
                    for _ in 0..sizes[3] {
                        paths.push(vec![boot, batch, connection]);
                        values.push(of_connection + normal.next(deviations[3]));
                    }
                }
            }
        }
        Nested::of(&paths, &values).unwrap()
    }

    #[test]
    fn known_components_are_found_again() {
        // 400 boots: the relative standard error of a variance is sqrt(2 / 399), 7 %; three of
        // them.
        let deviations = [40.0, 20.0, 10.0, 5.0];
        let found = synthetic(&mut Normal(1), [400, 2, 2, 2], deviations);
        for (level, deviation) in found.levels.iter().zip(deviations) {
            assert_close(level.unwrap().variance, deviation * deviation, 0.21);
        }
    }

    #[test]
    fn intervals_of_95_percent_hold_the_known_components_that_often() {
        let deviations = [40.0, 20.0, 10.0, 5.0];
        let mut normal = Normal(2);
        let mut held = [0; 4];
        for _ in 0..400 {
            let found = synthetic(&mut normal, [5, 3, 3, 4], deviations);
            for (place, level) in found.levels.iter().enumerate() {
                let (low, high) = level.unwrap().interval;
                let truth = deviations[place] * deviations[place];
                held[place] += u32::from(low <= truth && high.is_none_or(|high| truth <= high));
            }
        }
        // 380 of 400 expected, three standard errors of 4.4 below; more is permitted, (3) is
        // conservative.
        assert!(held.iter().all(|held| *held >= 367), "{held:?}");
    }

    #[test]
    fn a_level_with_one_group_each_is_contained_in_the_next_coarser_one() {
        let (paths, values) = observations(&[
            (&[0, 0], &[1.0, 2.0]),
            (&[1, 0], &[4.0, 5.0]),
            (&[2, 0], &[9.0, 8.0]),
        ]);
        let found = Nested::of(&paths, &values).unwrap();
        assert_eq!(found.levels[1], None);
        // Means 1.5, 4.5 and 8.5: (2 x 12.3333 - 0.5) / 2.
        assert_close(found.levels[0].unwrap().variance, 12.083_333_333, 1e-9);
        assert_eq!(Nested::of(&[], &[]), None);
    }
}
