//! Probabilities.

/// A probability from 0 to 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0.0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(1.0);

    /// Probability `p`; `None` if `p` is outside 0 to 1 or NaN.
    pub fn try_new(p: f64) -> Option<Self> {
        // Adding zero turns negative zero into zero.
        (0.0..=1.0).contains(&p).then_some(Self(p + 0.0))
    }

    /// Probability as a number from 0 to 1.
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_from_zero_to_one_are_probabilities() {
        assert_eq!(Probability::try_new(0.0), Some(Probability::NEVER));
        assert_eq!(Probability::try_new(1.0), Some(Probability::ALWAYS));
        assert_eq!(Probability::try_new(1.0 + f64::EPSILON), None);
        assert_eq!(Probability::try_new(-1e-300), None);
        assert_eq!(Probability::try_new(f64::NAN), None);
        assert_eq!(Probability::try_new(f64::INFINITY), None);
    }

    #[test]
    fn zero_has_no_sign() {
        let zero = Probability::try_new(-0.0).expect("zero is a probability");
        assert!(zero.as_f64().is_sign_positive());
    }
}
