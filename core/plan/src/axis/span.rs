//! A range of values: two ends, its division, and its levels as text.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_units::settings::TextError;

use super::MAX_LEVELS;
use super::amount::{Amount, plain};

/// A range of values with one unit.
#[derive(Clone, PartialEq, Debug)]
pub struct Span {
    from: f64,
    to: f64,
    unit: String,
    division: Division,
    whole: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Division {
    Ends,
    Linear(usize),
    Log(usize),
    Step(f64),
}

const HINT: &str = "FROM..TO linear COUNT, FROM..TO log COUNT or FROM..TO step STEP, \
                    as in `10 ms..160 ms log 5`";

impl Span {
    /// Parses a range. `None` if the text is not a range.
    pub(super) fn read(
        text: &str,
        place: Range<usize>,
        whole: bool,
    ) -> Result<Option<Self>, TextError> {
        let Some((from, rest)) = text.split_once("..") else {
            return Ok(None);
        };
        let Some((from, from_unit)) = number(from) else {
            return Ok(None);
        };
        let wrong = |why: &str| TextError::new(text, place.clone(), why, HINT);
        let words = ["linear", "log", "step"];
        let cut = words.iter().find_map(|word| {
            let (to, amount) = rest.split_once(&format!(" {word} "))?;
            Some((to, *word, amount.trim()))
        });
        let (to, word, amount) = cut.unwrap_or((rest, "", ""));
        let (to, unit) = number(to).ok_or_else(|| wrong("a range ends with a number"))?;
        let from = match from_unit {
            "" => from,
            same if same == unit => from,
            other => in_unit(from, other, unit).ok_or_else(|| wrong("the ends have two units"))?,
        };
        let count = |least| match amount.parse::<usize>() {
            Ok(count) if (least..=MAX_LEVELS).contains(&count) => Ok(count),
            _ => Err(wrong("the count is a whole number from 2 to 1000000")),
        };
        let division = match word {
            "" => Division::Ends,
            "linear" => Division::Linear(count(2)?),
            "log" if from <= 0.0 || to <= 0.0 => {
                return Err(wrong("a logarithmic range has ends above 0"));
            }
            "log" => Division::Log(count(2)?),
            _ => Division::Step(step(amount, unit).ok_or_else(|| wrong("the step is no number"))?),
        };
        if from >= to {
            return Err(wrong("the range ends before it begins"));
        }
        let span = Self {
            from,
            to,
            unit: unit.to_string(),
            division,
            whole,
        };
        match division {
            Division::Step(step) if step <= 0.0 || (to - from) / step >= MAX_LEVELS as f64 => {
                Err(wrong("the step makes no levels, or more than 1000000"))
            }
            _ => Ok(Some(span)),
        }
    }

    /// Texts of its levels.
    pub(super) fn levels(&self) -> Vec<String> {
        let shares = |count: usize| (0..count).map(move |at| at as f64 / (count - 1) as f64);
        match self.division {
            Division::Ends => vec![self.at(0.0), self.at(1.0)],
            Division::Linear(count) | Division::Log(count) => {
                shares(count).map(|share| self.at(share)).collect()
            }
            Division::Step(step) => {
                // Includes a last level that only rounding puts beyond the end.
                let count = libm::floor((self.to - self.from) / step + 1e-9) as usize;
                let values = (0..=count).map(|at| self.from + at as f64 * step);
                values.map(|value| self.text(value)).collect()
            }
        }
    }

    /// Text of the value at a share of the range. Shares are from 0 to 1.
    pub fn at(&self, share: f64) -> String {
        debug_assert!(
            (0.0..=1.0).contains(&share),
            "a value of the range is at a share from 0 to 1: {share}"
        );
        let value = match self.division {
            Division::Log(_) => {
                let (from, to) = (libm::log(self.from), libm::log(self.to));
                libm::exp(from + (to - from) * share)
            }
            _ => self.from + (self.to - self.from) * share,
        };
        self.text(value)
    }

    fn text(&self, value: f64) -> String {
        let value = match self.whole {
            true => libm::round(value),
            false => rounded(value),
        };
        match self.unit.as_str() {
            "" => plain(value),
            unit => format!("{} {unit}", plain(value)),
        }
    }
}

/// Rounds to four significant digits.
fn rounded(value: f64) -> f64 {
    let text = format!("{value:.3e}");
    text.parse().unwrap_or(value)
}

/// A number and the unit behind it.
fn number(text: &str) -> Option<(f64, &str)> {
    let trimmed = text.trim();
    let ends = (1..=trimmed.len())
        .rev()
        .filter(|end| trimmed.is_char_boundary(*end));
    let mut cuts = ends.map(|end| trimmed.split_at(end));
    cuts.find_map(|(number, unit)| {
        let last = number.chars().last()?;
        let value = (last.is_ascii_digit()).then(|| number.parse::<f64>().ok())??;
        value.is_finite().then(|| (value, unit.trim()))
    })
}

fn step(text: &str, unit: &str) -> Option<f64> {
    let (step, own) = number(text)?;
    match own {
        "" => Some(step),
        own if own == unit => Some(step),
        own => in_unit(step, own, unit),
    }
}

/// Converts `value` to another unit of the same dimension.
fn in_unit(value: f64, from: &str, to: &str) -> Option<f64> {
    let one = |unit: &str| Amount::read(&format!("1 {unit}"));
    let (from, to) = (one(from)?, one(to)?);
    (from.dimension == to.dimension).then(|| rounded(value * from.value / to.value))
}
