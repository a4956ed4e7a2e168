//! Choices drawn from octets.
//!
//! Any octets give valid choices. When they are used up, every choice is zero.

use gigatcp_units::random::mix;

/// Source of choices.
#[derive(Debug)]
pub struct Octets<'a> {
    rest: &'a [u8],
}

impl<'a> Octets<'a> {
    /// A source that draws from `octets`.
    pub fn new(octets: &'a [u8]) -> Self {
        Self { rest: octets }
    }

    /// Whether no octets are left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Next octet; zero when none is left.
    pub fn octet(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// Two octets as a number.
    pub fn word(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    /// Four octets as a number.
    pub fn long(&mut self) -> u32 {
        u32::from(self.word()) << 16 | u32::from(self.word())
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u32) -> u32 {
        if end <= 256 {
            u32::from(self.octet()) % end.max(1)
        } else {
            self.long() % end
        }
    }

    /// One of several values.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }
}

/// Random generator: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Fills `out` with random octets.
    pub fn fill(&mut self, out: &mut [u8]) {
        for chunk in out.chunks_mut(8) {
            let bits = self.draw().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    }
}
