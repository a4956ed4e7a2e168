//! Points of a unit cube: Latin hypercubes and Sobol sequences.
//!
//! McKay, Beckman, Conover, "A Comparison of Three Methods for Selecting Values of Input
//! Variables", Technometrics 21, 1979. Sobol 1967, with the direction numbers of Joe, Kuo,
//! "Constructing Sobol sequences with better two-dimensional projections", SIAM J. Sci.
//! Comput. 30, 2008; not scrambled.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_units::random::Stream;

/// Maximum number of dimensions of a Sobol sequence here.
pub const MAX_SOBOL: usize = 21;

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

/// Returns the first `count` points of the Sobol sequence, the origin first.
pub fn sobol(count: usize, dimensions: usize) -> Vec<Vec<f64>> {
    let directions: Vec<[u32; 32]> = (0..dimensions.min(MAX_SOBOL)).map(direction).collect();
    let mut state = vec![0_u32; directions.len()];
    let mut points = Vec::with_capacity(count);
    for point in 0..count {
        let scaled = |bits: &u32| f64::from(*bits) / 4_294_967_296.0;
        points.push(state.iter().map(scaled).collect());
        // Gray code: one direction changes from one point to the next.
        let bit = (!point).trailing_zeros() as usize;
        for (bits, direction) in state.iter_mut().zip(&directions) {
            *bits ^= direction[bit.min(31)];
        }
    }
    points
}

/// Degree, coefficients and initial numbers of each dimension after the first.
const JOE_KUO: [(usize, u32, [u32; 7]); MAX_SOBOL - 1] = [
    (1, 0, [1, 0, 0, 0, 0, 0, 0]),
    (2, 1, [1, 3, 0, 0, 0, 0, 0]),
    (3, 1, [1, 3, 1, 0, 0, 0, 0]),
    (3, 2, [1, 1, 1, 0, 0, 0, 0]),
    (4, 1, [1, 1, 3, 3, 0, 0, 0]),
    (4, 4, [1, 3, 5, 13, 0, 0, 0]),
    (5, 2, [1, 1, 5, 5, 17, 0, 0]),
    (5, 4, [1, 1, 5, 5, 5, 0, 0]),
    (5, 7, [1, 1, 7, 11, 19, 0, 0]),
    (5, 11, [1, 1, 5, 1, 1, 0, 0]),
    (5, 13, [1, 1, 1, 3, 11, 0, 0]),
    (5, 14, [1, 3, 5, 5, 31, 0, 0]),
    (6, 1, [1, 3, 3, 9, 7, 49, 0]),
    (6, 13, [1, 1, 1, 15, 21, 21, 0]),
    (6, 16, [1, 3, 1, 13, 27, 49, 0]),
    (6, 19, [1, 1, 1, 15, 7, 5, 0]),
    (6, 22, [1, 3, 1, 15, 13, 25, 0]),
    (6, 25, [1, 1, 5, 5, 19, 61, 0]),
    (7, 1, [1, 3, 7, 11, 23, 15, 103]),
    (7, 4, [1, 3, 7, 13, 13, 15, 69]),
];

/// Returns the direction numbers of a dimension, as fractions of 2^32.
fn direction(dimension: usize) -> [u32; 32] {
    let mut v = [0_u32; 32];
    let Some((degree, coefficients, initial)) = dimension.checked_sub(1).map(|at| JOE_KUO[at])
    else {
        for (bit, number) in v.iter_mut().enumerate() {
            *number = 1 << (31 - bit);
        }
        return v;
    };
    for bit in 0..degree {
        v[bit] = initial[bit] << (31 - bit);
    }
    for bit in degree..32 {
        let mut number = v[bit - degree] ^ (v[bit - degree] >> degree);
        for back in 1..degree {
            if coefficients >> (degree - 1 - back) & 1 == 1 {
                number ^= v[bit - back];
            }
        }
        v[bit] = number;
    }
    debug_assert!(
        (0..32).all(|bit| v[bit].trailing_zeros() == 31 - bit as u32),
        "direction number k is odd in units of 2^-k: dimension {dimension}, {v:x?}"
    );
    v
}
