//! Factors whose levels are numbers.

use alloc::vec::Vec;

use crate::axis::Amount;

use crate::design::grid::Scale;

/// Minimum ratio of the extremes for a logarithmic axis.
const LOG_RATIO: f64 = 15.0;

/// A factor with numeric levels.
#[derive(Clone, PartialEq, Debug)]
pub struct Numeric {
    /// Numeric value of each level.
    pub places: Vec<f64>,
    /// Whether the levels span decades.
    pub is_log: bool,
}

impl Numeric {
    /// `None` if a level is not a number, or all are the same.
    pub fn of(scale: &Scale) -> Option<Self> {
        let places = scale
            .labels
            .iter()
            .map(|label| Amount::read(label).map(|amount| amount.value))
            .collect::<Option<Vec<f64>>>()?;
        let low = places.iter().copied().fold(f64::INFINITY, f64::min);
        let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (low < high).then_some(Self {
            is_log: low > 0.0 && high / low >= LOG_RATIO,
            places,
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn numeric(labels: &[&str]) -> Option<Numeric> {
        Numeric::of(&Scale {
            name: "a".to_string(),
            labels: labels.iter().map(ToString::to_string).collect(),
        })
    }

    #[test]
    fn levels_that_span_decades_are_logarithmic() {
        assert!(numeric(&["1", "10", "100"]).unwrap().is_log);
        assert!(!numeric(&["10 ms", "20 ms", "30 ms"]).unwrap().is_log);
        assert!(!numeric(&["0", "1000"]).unwrap().is_log);
    }

    #[test]
    fn levels_that_are_words_or_equal_are_not_numeric() {
        assert_eq!(numeric(&["cubic", "reno"]), None);
        assert_eq!(numeric(&["10 ms", "10 ms"]), None);
    }
}
