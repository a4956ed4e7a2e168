//! Points of a unit cube: Latin hypercubes.
//!
//! McKay, Beckman, Conover, "A Comparison of Three Methods for Selecting Values of Input
//! Variables", Technometrics 21, 1979.

use alloc::format;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;

/// Purpose of the random streams of hypercubes.
const HYPERCUBE: u64 = 0x006c_6873;

/// Returns `count` points. In each dimension, each of `count` equal parts contains one.
pub fn latin_hypercube(count: usize, dimensions: usize, seed: u64) -> Vec<Vec<f64>> {
    let columns = (0..dimensions).map(|dimension| {
        let mut stream = Stream::new(seed, &format!("dimension-{dimension}"), HYPERCUBE);
        let mut parts: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            let other = (stream.uniform() * (last + 1) as f64) as usize;
            parts.swap(last, other.min(last));
        }
        let at = |part: usize, share: f64| (part as f64 + share) / count as f64;
        let values = parts
            .into_iter()
            .map(|part| at(part, stream.uniform()))
            .collect::<Vec<f64>>();
        debug_assert!(
            values.iter().all(|value| (0.0..1.0).contains(value)),
            "points of a hypercube are in the unit cube"
        );
        values
    });
    let columns: Vec<Vec<f64>> = columns.collect();
    let points = (0..count).map(|point| columns.iter().map(|column| column[point]).collect());
    points.collect()
}
