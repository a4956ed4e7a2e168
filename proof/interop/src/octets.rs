//! Random octets of a seed, generated on demand.

use std::io::{self, Read};

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use sha2::{Digest, Sha256};

/// Infinite stream of random octets.
#[derive(Debug)]
pub struct Source {
    random: Pcg64Mcg,
}

impl Source {
    /// Creates the stream of a seed. Its octets do not depend on the sizes of the pieces if those
    /// are multiples of eight.
    pub fn new(seed: u64) -> Self {
        Self {
            random: Pcg64Mcg::seed_from_u64(seed),
        }
    }

    /// Its first `len` octets.
    pub fn first(seed: u64, len: usize) -> Vec<u8> {
        let mut octets = vec![0; len];
        Self::new(seed).random.fill_bytes(&mut octets);
        octets
    }

    /// Fills `piece` with its next octets.
    pub fn fill(&mut self, piece: &mut [u8]) {
        self.random.fill_bytes(piece);
    }
}

/// SHA-256 of `octets`.
pub fn digest(octets: &[u8]) -> [u8; 32] {
    Sha256::digest(octets).into()
}

/// Reads to the end or to an error. Returns the length, the SHA-256, and the error.
pub(crate) fn digest_of(mut from: impl Read) -> (u64, [u8; 32], Option<io::Error>) {
    let mut sum = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut len = 0;
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return (len, sum.finalize().into(), None),
            Ok(read) => {
                sum.update(&buffer[..read]);
                len += read as u64;
            }
            Err(error) => return (len, sum.finalize().into(), Some(error)),
        }
    }
}
