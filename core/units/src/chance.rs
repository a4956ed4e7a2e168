//! Chances.

/// A probability from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Probability(f64);

impl Probability {
    /// Never.
    pub const NEVER: Self = Self(0.0);

    /// The probability `p`, or nothing when `p` is outside 0 to 1 or not a
    /// number.
    #[must_use]
    pub fn try_new(p: f64) -> Option<Self> {
        (0.0..=1.0).contains(&p).then_some(Self(p))
    }

    /// The probability as a number from 0 to 1.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}
