//! Effects and interactions: share of the variance that each factor explains.
//!
//! Analysis of variance of a balanced design (Fisher): sums of squares of each factor, of each pair
//! of factors, of higher interactions, and of repetitions within cells. The F test of a source
//! divides its mean square by that of repetitions. With the same seeds in all cells repetitions are
//! blocks. The interval of an effect is therefore Student's over the effects of single repetitions:
//! an influence of the seed common to all cells does not widen it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use gigatcp_theory::distribution::f_tail;
use gigatcp_theory::sample::{Summary, mean};

use crate::design::grid::Grid;

/// Variance explained by the factors of a grid.
#[derive(Clone, PartialEq, Debug)]
pub struct Effects {
    /// Factors and pairs of factors, in the order of the grid.
    pub sources: Vec<Source>,
    /// Share of variance of interactions of more than two factors.
    pub beyond: f64,
    /// Share of variance of repetitions within cells.
    pub within: f64,
    /// Mean of all values.
    pub mean: f64,
}

/// A factor, or two in interaction.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// Numbers of the factors: one or two.
    pub factors: Vec<usize>,
    /// Share of the variance of all values.
    pub share: f64,
    /// Probability of a mean square this large by repetitions alone; `None` without repetitions.
    pub p: Option<f64>,
    /// Effect of a factor of two levels: mean at high minus mean at low. For two factors: half the
    /// difference of two such effects.
    pub effect: Option<Summary>,
}

/// Reason why there are no effects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unbalanced {
    /// A combination of levels, or a repetition, is missing or failed.
    Missing,
    /// Fewer than two levels vary.
    Constant,
}

impl Effects {
    /// Effects in a grid.
    ///
    /// # Errors
    /// If combinations of levels do not occur equally often.
    pub fn of(grid: &Grid) -> Result<Self, Unbalanced> {
        let factors: Vec<usize> = (0..grid.scales.len())
            .filter(|factor| levels_of(grid, *factor) > 1)
            .collect();
        let repetitions = grid.arms.iter().next().map_or(0, |arm| arm.values.len());
        if factors.is_empty() || repetitions == 0 {
            return Err(Unbalanced::Constant);
        }
        let is_whole = |values: &[f64]| {
            values.len() == repetitions && values.iter().all(|value| value.is_finite())
        };
        if !grid.arms.iter().all(|arm| is_whole(arm.values)) {
            return Err(Unbalanced::Missing);
        }
        let all = || grid.arms.iter().flat_map(|arm| arm.values);
        let grand = all().sum::<f64>() / all().count() as f64;
        let squares = |values: &[f64], center: f64| -> f64 {
            let differences = values.iter().map(|value| value - center);
            differences.map(|difference| difference * difference).sum()
        };
        let total = all().map(|value| (value - grand) * (value - grand)).sum();
        let within = grid.arms.iter().map(|arm| {
            let center = mean(arm.values).unwrap_or(f64::NAN);
            squares(arm.values, center)
        });
        let within: f64 = within.sum();
        debug_assert!(
            within <= total * (1.0 + 1e-9),
            "squares within cells are part of all: {within} of {total}"
        );
        let freedom = (grid.arms.len() * (repetitions - 1)) as f64;
        let mut sources = Vec::new();
        let mut single: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
        let mut explained = 0.0;
        for group in groups(&factors) {
            let (between, cells) = between(grid, &group, grand)?;
            let (sum, free) = match group.as_slice() {
                [one] => {
                    single.insert(*one, (between, cells - 1.0));
                    (between, cells - 1.0)
                }
                pair => {
                    let [a, b] = [single[&pair[0]], single[&pair[1]]];
                    (between - a.0 - b.0, a.1 * b.1)
                }
            };
            explained += sum;
            let p =
                (freedom > 0.0).then(|| f_tail((sum / free) / (within / freedom), free, freedom));
            sources.push(Source {
                share: share(sum, total),
                p,
                effect: effect(grid, &group, repetitions),
                factors: group,
            });
        }
        Ok(Self {
            sources,
            // In a fraction, sources that are aliased explain the same squares twice.
            beyond: share((total - within - explained).max(0.0), total),
            within: share(within, total),
            mean: grand,
        })
    }
}

fn share(part: f64, total: f64) -> f64 {
    if total > 0.0 {
        part.max(0.0) / total
    } else {
        0.0
    }
}

/// Single factors, then pairs.
fn groups(factors: &[usize]) -> Vec<Vec<usize>> {
    let single = factors.iter().map(|factor| alloc::vec![*factor]);
    let pairs = factors.iter().enumerate().flat_map(|(at, a)| {
        let others = factors[at + 1..].iter();
        others.map(move |b| alloc::vec![*a, *b])
    });
    single.chain(pairs).collect()
}

fn levels_of(grid: &Grid, factor: usize) -> usize {
    let levels = grid.arms.iter().map(|arm| arm.levels[factor]);
    levels.collect::<BTreeSet<_>>().len()
}

/// Sum of squares between combinations of these factors, and their number.
fn between(grid: &Grid, group: &[usize], grand: f64) -> Result<(f64, f64), Unbalanced> {
    let combinations: usize = group
        .iter()
        .map(|factor| levels_of(grid, *factor))
        .product();
    let order = grid.order(group);
    let (mut squares, mut places, mut first) = (0.0, 0, None);
    for place in order.chunk_by(|a, b| grid.is_same(group, *a, *b)) {
        let values = || {
            let arms = place.iter().map(|arm| grid.arm(*arm));
            arms.flat_map(|arm| arm.values)
        };
        let count = values().count();
        if *first.get_or_insert(count) != count {
            return Err(Unbalanced::Missing);
        }
        let difference = values().sum::<f64>() / count as f64 - grand;
        squares += difference * difference * count as f64;
        places += 1;
    }
    match places == combinations {
        true => Ok((squares, places as f64)),
        false => Err(Unbalanced::Missing),
    }
}

/// Summary of the effect over repetitions; only for factors with two levels.
fn effect(grid: &Grid, group: &[usize], repetitions: usize) -> Option<Summary> {
    let two = |factor: &usize| {
        let mut levels = grid.arms.iter().map(|arm| arm.levels[*factor]);
        levels_of(grid, *factor) == 2 && levels.all(|level| level.is_some())
    };
    if !group.iter().all(two) {
        return None;
    }
    let lowest = |factor: usize| grid.arms.iter().filter_map(|arm| arm.levels[factor]).min();
    let lows: Vec<Option<u32>> = group.iter().map(|factor| lowest(*factor)).collect();
    let sign = |levels: &[Option<u32>]| -> f64 {
        let signs = group.iter().zip(&lows).map(
            |(factor, low)| {
                if levels[*factor] == *low { -1.0 } else { 1.0 }
            },
        );
        signs.product()
    };
    let effects = (0..repetitions).map(|repetition| {
        let signed = grid
            .arms
            .iter()
            .map(|arm| sign(arm.levels) * arm.values[repetition]);
        signed.sum::<f64>() * 2.0 / grid.arms.len() as f64
    });
    Summary::of(effects)
}
