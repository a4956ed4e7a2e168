//! Address of a cell's results: fingerprint of its plan, seed and program version.
//!
//! A plan is a set of values under dotted keys; its fingerprint is the sum of theirs. A change
//! subtracts the fingerprint of the old value and adds that of the new one. So the result does not
//! depend on whether a value is in the plan or from an axis, on the order of axes, or on the
//! spelling of a quantity. Names, titles and comments do not count.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::template::canonical;
use gigatcp_units::random::mix;

use crate::design::space::{Cell, Space};

/// Fingerprint of a cell and a seed.
pub type Address = u128;

/// Computes the addresses of the cells of a space.
#[derive(Clone, Debug)]
pub struct Addresses {
    version: u128,
    /// For each series of the plan the sum and its parts.
    series: BTreeMap<usize, (u128, BTreeMap<String, u128>)>,
    /// Paths to which a key of a series expands.
    paths: BTreeMap<(usize, String), Vec<String>>,
}

impl Addresses {
    /// Addresses of a space, for a version of the program. `named` are the texts of the files that
    /// the plan names.
    pub fn new(space: &Space, version: &str, named: &[String]) -> Self {
        let template = space.template();
        let of_files = named.iter().fold(0, |sum: u128, text| {
            sum.wrapping_add(digest(text.as_bytes(), 0x6669_6c65))
        });
        let series = space.series().iter().map(|number| {
            let leaves = template.leaves(*number).into_iter();
            let parts = leaves.map(|(path, text)| {
                let part = leaf(&path, &canonical(&text));
                (path, part)
            });
            let parts: BTreeMap<String, u128> = parts.collect();
            let sum = parts
                .values()
                .fold(of_files, |sum, part| sum.wrapping_add(*part));
            (*number, (sum, parts))
        });
        Self {
            version: digest(version.as_bytes(), 0x7665_7273),
            series: series.collect(),
            paths: BTreeMap::new(),
        }
    }

    /// Fingerprint of a cell without a seed.
    pub fn plan(&mut self, space: &Space, cell: &Cell) -> u128 {
        let (mut sum, parts) = match self.series.get(&cell.series) {
            Some((sum, parts)) => (*sum, parts),
            None => return 0,
        };
        for (key, value) in &cell.changes {
            let place = (cell.series, key.clone());
            let paths = self.paths.entry(place).or_insert_with(|| {
                let paths = space.template().paths(cell.series, key);
                // A key without paths still makes a different cell.
                if paths.is_empty() {
                    [key.clone()].into()
                } else {
                    paths
                }
            });
            let text = canonical(value);
            for path in paths {
                let old = parts.get(path).copied().unwrap_or(0);
                sum = sum.wrapping_sub(old).wrapping_add(leaf(path, &text));
            }
        }
        sum
    }

    /// Address of a plan's fingerprint with a seed.
    pub fn with_seed(&self, plan: u128, seed: u64) -> Address {
        let halves = [plan, plan >> 64].map(|half| half as u64);
        let version = [self.version, self.version >> 64].map(|half| half as u64);
        let low = mix(mix(halves[0] ^ version[0]) ^ halves[1].rotate_left(17) ^ seed);
        let high = mix(mix(halves[1] ^ version[1]) ^ halves[0].rotate_left(29) ^ mix(seed));
        u128::from(high) << 64 | u128::from(low)
    }
}

fn leaf(path: &str, text: &str) -> u128 {
    let path = digest(path.as_bytes(), 0x7061_7468);
    let text = digest(text.as_bytes(), 0x7465_7874);
    let (a, b) = (path as u64, (path >> 64) as u64);
    let (c, d) = (text as u64, (text >> 64) as u64);
    u128::from(mix(a ^ mix(d))) << 64 | u128::from(mix(b.rotate_left(7) ^ mix(c)))
}

/// A fingerprint of bytes: two multiplications per eight bytes.
pub fn digest(bytes: &[u8], purpose: u64) -> u128 {
    const FACTORS: [u128; 2] = [0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db];
    let mut state = [mix(purpose), mix(!purpose)];
    let mut absorb = |word: u64| {
        for (half, factor) in state.iter_mut().zip(FACTORS) {
            let product = u128::from(*half ^ word) * factor + (factor >> 1);
            *half = (product as u64) ^ ((product >> 64) as u64);
        }
    };
    absorb(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        absorb(u64::from_le_bytes(word));
    }
    u128::from(mix(state[0])) << 64 | u128::from(mix(state[1]))
}
