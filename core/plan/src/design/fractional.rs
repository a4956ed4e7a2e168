//! Fractions of two-level designs: Box, Hunter, "The 2^(k-p) Fractional Factorial Designs",
//! Technometrics 3, 1961.
//!
//! The first factors vary freely; each further one is the product of some of them, its generator.
//! Effects whose product is a word of the defining relation are indistinguishable (aliased). The
//! length of the shortest word is the resolution.

use alloc::vec;
use alloc::vec::Vec;

/// Maximum number of factors. A word is a mask of 32 bits, and 2^20 runs are enough.
pub const MAX_FACTORS: usize = 20;

/// A fraction of a two-level design.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fraction {
    factors: usize,
    /// Generators: per factor beyond the free ones, a mask of free factors. The factor is the
    /// product of these.
    generators: Vec<u32>,
}

impl Fraction {
    /// Fraction with given generators, one for each of the last factors.
    pub fn new(factors: usize, generators: Vec<u32>) -> Option<Self> {
        let free = factors.checked_sub(generators.len())?;
        let is_word = |word: &u32| *word != 0 && *word < 1 << free;
        let fits = (1..=MAX_FACTORS).contains(&factors) && free > 0;
        (fits && generators.iter().all(is_word)).then_some(Self {
            factors,
            generators,
        })
    }

    /// Smallest fraction of at least this resolution.
    pub fn smallest(factors: usize, resolution: u32) -> Option<Self> {
        if !(1..=MAX_FACTORS).contains(&factors) || resolution < 3 {
            return None;
        }
        (1..=factors).find_map(|free| {
            let words = 1..1_u32 << free;
            let long = |word: &u32| word.count_ones() + 1 >= resolution;
            let mut words: Vec<u32> = words.filter(long).collect();
            words.sort_by_key(|word| (core::cmp::Reverse(word.count_ones()), *word));
            let mut chosen = Vec::new();
            let mut relation = vec![0];
            let mut budget = 200_000;
            let wanted = (free, factors - free, resolution);
            let found = search(wanted, &words, &mut chosen, &mut relation, &mut budget)
                .then(|| Self::new(factors, chosen))?;
            debug_assert!(
                found.as_ref().is_some_and(|fraction| fraction
                    .resolution()
                    .is_none_or(|own| own >= resolution)),
                "a fraction of {factors} factors has resolution {resolution}: {found:?}"
            );
            found
        })
    }

    /// Number of runs.
    pub fn runs(&self) -> u64 {
        1 << (self.factors - self.generators.len())
    }

    /// Generators: masks of free factors.
    pub fn generators(&self) -> &[u32] {
        &self.generators
    }

    /// Resolution: the length of the defining relation's shortest word. `None` if the design is
    /// full.
    pub fn resolution(&self) -> Option<u32> {
        let words = self.relation();
        words.iter().skip(1).map(|word| word.count_ones()).min()
    }

    /// Defining relation: masks of factors whose product is constant. The empty one is first.
    pub fn relation(&self) -> Vec<u32> {
        let free = self.factors - self.generators.len();
        let mut words = vec![0];
        for (number, generator) in self.generators.iter().enumerate() {
            let own = generator | 1 << (free + number);
            let products: Vec<u32> = words.iter().map(|word| word ^ own).collect();
            words.extend(products);
        }
        debug_assert!(
            words.iter().skip(1).all(|word| *word != 0),
            "generators are independent: {:?}",
            self.generators
        );
        words
    }

    /// Level of each factor in a run: 0 low, 1 high.
    pub fn levels(&self, run: u64) -> Vec<u32> {
        debug_assert!(run < self.runs(), "run {run} of {}", self.runs());
        let free = self.factors - self.generators.len();
        // The first factor varies slowest, as in a full design.
        let level = |factor: usize| (run >> (free - 1 - factor)) as u32 & 1;
        let mut levels: Vec<u32> = (0..free).map(level).collect();
        for generator in &self.generators {
            let lows = (0..free)
                .filter(|factor| generator >> factor & 1 == 1)
                .filter(|factor| levels[*factor] == 0)
                .count();
            levels.push(u32::from(lows % 2 == 0));
        }
        levels
    }
}

/// Adds generators until there are enough; returns whether the search was completed.
fn search(
    wanted: (usize, usize, u32),
    words: &[u32],
    chosen: &mut Vec<u32>,
    relation: &mut Vec<u32>,
    budget: &mut u32,
) -> bool {
    let (free, count, resolution) = wanted;
    debug_assert_eq!(
        relation.len(),
        1 << chosen.len(),
        "the defining relation is all products of the generators {chosen:?}"
    );
    if chosen.len() == count {
        return true;
    }
    for (number, word) in words.iter().enumerate() {
        *budget = budget.saturating_sub(1);
        if *budget == 0 {
            return false;
        }
        let own = word | 1 << (free + chosen.len());
        if relation
            .iter()
            .any(|chosen| (chosen ^ own).count_ones() < resolution)
        {
            continue;
        }
        let before = relation.len();
        let products: Vec<u32> = relation.iter().map(|chosen| chosen ^ own).collect();
        relation.extend(products);
        chosen.push(*word);
        if search(wanted, &words[number + 1..], chosen, relation, budget) {
            return true;
        }
        chosen.pop();
        relation.truncate(before);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of runs of the smallest designs. Source: Box, Hunter, Hunter, "Statistics for
    /// Experimenters", table 12.15.
    #[test]
    fn the_smallest_designs_are_those_of_the_textbook() {
        let runs = |factors, resolution| Fraction::smallest(factors, resolution).unwrap().runs();
        let resolution_3 = [(3, 4), (5, 8), (6, 8), (7, 8), (9, 16), (11, 16), (15, 16)];
        for (factors, expected) in resolution_3 {
            assert_eq!(runs(factors, 3), expected, "{factors} factors, III");
        }
        for (factors, expected) in [(4, 8), (6, 16), (8, 16), (9, 32), (11, 32)] {
            assert_eq!(runs(factors, 4), expected, "{factors} factors, IV");
        }
        for (factors, expected) in [(5, 16), (6, 32), (8, 64), (11, 128)] {
            assert_eq!(runs(factors, 5), expected, "{factors} factors, V");
        }
    }

    #[test]
    fn half_of_a_design_of_five_has_e_as_the_product_of_the_others() {
        let half = Fraction::new(5, vec![0b1111]).unwrap();
        assert_eq!((half.runs(), half.resolution()), (16, Some(5)));
        for run in 0..16 {
            let levels = half.levels(run);
            let sign = |level: u32| if level == 1 { 1 } else { -1 };
            let product: i32 = levels[..4].iter().map(|level| sign(*level)).product();
            assert_eq!(sign(levels[4]), product);
        }
    }

    #[test]
    fn every_column_is_balanced_and_orthogonal_to_every_other() {
        let fraction = Fraction::smallest(7, 4).unwrap();
        assert_eq!(fraction.resolution(), Some(4));
        let runs: Vec<Vec<u32>> = (0..fraction.runs())
            .map(|run| fraction.levels(run))
            .collect();
        for a in 0..7 {
            for b in 0..a {
                let same = runs.iter().filter(|levels| levels[a] == levels[b]).count();
                assert_eq!(same * 2, runs.len(), "{a} and {b}");
            }
        }
    }
}
