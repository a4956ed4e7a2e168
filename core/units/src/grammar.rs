//! Grammar for reading and printing quantities.
//!
//! The plan file, the command line and all output use it:
//!
//! | quantity | units | examples |
//! |---|---|---|
//! | [`Duration`] | `ns us ms s min h` (`µs` is read too) | `80 ms`, `1.5 s` |
//! | [`Bytes`] | `B kB MB GB TB PB`, `KiB MiB GiB TiB PiB` | `60 MB`, `64 KiB` |
//! | [`Rate`] | `bit/s kbit/s Mbit/s Gbit/s Tbit/s` | `8.56 Gbit/s` |
//! | [`Probability`] | none, `%`, `in` | `1e-5`, `0.1 %`, `1 in 10000` |
//!
//! ```text
//! quantity = number [space] unit
//! number   = digits ["." digits] [("e" | "E") ["+" | "-"] digits]
//! ```
//!
//! Reading is exact: decimal digits are scaled in integers, and a value that is not a whole number
//! of the smallest unit is an error, not a rounding. [`Display`] prints the form with the fewest
//! digits that reads back as the same value (and amounts below 10,000 bytes in bytes, as in `1500
//! B`). The [`human`](human_rate) printers round to three digits for tables.
//!
//! ```
//! use gigatcp_units::Rate;
//!
//! let rate: Rate = "8.56 Gbit/s".parse()?;
//! assert_eq!(rate.as_bps(), 8_560_000_000);
//! assert_eq!(rate.to_string(), "8.56 Gbit/s");
//!
//! let error = "10G".parse::<Rate>().unwrap_err();
//! assert_eq!(error.hint(), "did you mean `10 Gbit/s`?");
//! # Ok::<(), gigatcp_units::grammar::ParseError>(())
//! ```
//!
//! Each value has one spelling in plans and output, so that they can be compared by eye. `Mbps`,
//! `10G`, `1,5 s` and `20 sec` are errors, and the [`ParseError`] suggests the valid form. Options
//! of a command also accept units of other tools that have one meaning only ([`typed_rate`],
//! [`typed_bytes`], [`typed_duration`]).

mod error;
mod human;
mod number;
mod print;
mod slips;
mod typed;

use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display};
use core::str::FromStr;

pub use error::{ParseError, ParseErrorKind, shortened};
pub use human::{human_bytes, human_duration, human_probability, human_rate};
pub use typed::{typed_bytes, typed_duration, typed_rate};

use crate::{Bytes, Duration, Probability, Rate};
use error::Failure;
use number::Number;

/// Kind of quantity to read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Quantity {
    /// A [`Duration`].
    Duration,
    /// An amount in [`Bytes`] with its unit.
    Bytes,
    /// An amount in [`Bytes`] that may be written as a bare whole number.
    Octets,
    /// A [`Rate`].
    Rate,
    /// A [`Probability`].
    Probability,
}

/// A unit of the grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Unit {
    /// Its spelling.
    name: &'static str,
    /// Its size in the smallest unit.
    scale: u64,
    /// Upper bound, in this unit, up to which the rounded printers use it.
    human_below: u64,
    /// Whether exact printing uses it for whole numbers only: `1.5 min` is unusual. Parsing accepts
    /// decimals.
    whole_only: bool,
}

const fn unit(name: &'static str, scale: u64) -> Unit {
    Unit {
        name,
        scale,
        human_below: 1000,
        whole_only: false,
    }
}

const DURATION_UNITS: [Unit; 6] = [
    unit("ns", 1),
    unit("us", 1_000),
    unit("ms", 1_000_000),
    unit("s", 1_000_000_000),
    Unit {
        human_below: 120,
        whole_only: true,
        ..unit("min", 60_000_000_000)
    },
    Unit {
        whole_only: true,
        ..unit("h", 3_600_000_000_000)
    },
];

/// Decimal units first: tables print only those.
const BYTE_UNITS: [Unit; 11] = [
    unit("B", 1),
    unit("kB", 1_000),
    unit("MB", 1_000_000),
    unit("GB", 1_000_000_000),
    unit("TB", 1_000_000_000_000),
    unit("PB", 1_000_000_000_000_000),
    unit("KiB", 1 << 10),
    unit("MiB", 1 << 20),
    unit("GiB", 1 << 30),
    unit("TiB", 1 << 40),
    unit("PiB", 1 << 50),
];

/// Number of decimal units in [`BYTE_UNITS`].
const DECIMAL_BYTE_UNITS: usize = 6;

const RATE_UNITS: [Unit; 5] = [
    unit("bit/s", 1),
    unit("kbit/s", 1_000),
    unit("Mbit/s", 1_000_000),
    unit("Gbit/s", 1_000_000_000),
    unit("Tbit/s", 1_000_000_000_000),
];

impl Quantity {
    fn units(self) -> &'static [Unit] {
        match self {
            Self::Duration => &DURATION_UNITS,
            Self::Bytes | Self::Octets => &BYTE_UNITS,
            Self::Rate => &RATE_UNITS,
            Self::Probability => &[],
        }
    }

    fn unit(self, name: &str) -> Option<Unit> {
        // Accepts both code points: the micro sign and the Greek mu.
        let name = match name {
            "µs" | "μs" => "us",
            other => other,
        };
        self.units().iter().copied().find(|unit| unit.name == name)
    }

    /// `value` of the smallest unit, in the form that [`Display`] prints.
    fn print(self, value: u64) -> String {
        // Segment sizes and MTUs are written in bytes: `1500 B`.
        let plain = matches!(self, Self::Bytes | Self::Octets) && value < 10_000;
        let shortest = if plain {
            None
        } else {
            print::shortest(value, self.units())
        };
        shortest.unwrap_or_else(|| format!("{value} {}", self.zero_unit()))
    }

    /// Unit for zero: any would be correct, this is the plainest.
    fn zero_unit(self) -> &'static str {
        match self {
            Self::Duration => "s",
            Self::Bytes | Self::Octets => "B",
            Self::Rate => "bit/s",
            Self::Probability => "",
        }
    }
}

/// Parses a duration, for example `80 ms`, `1.5 s`, `250 us`, `2 min`.
///
/// # Errors
/// A [`ParseError`] with the text read and what would be valid.
pub fn parse_duration(text: &str) -> Result<Duration, ParseError> {
    parse_integer(Quantity::Duration, text).map(Duration::from_nanos)
}

/// Parses an amount of data with its unit. Examples: `60 MB` (60·10⁶ bytes), `60 MiB` (60·2²⁰
/// bytes), `9000 B`.
///
/// # Errors
/// A [`ParseError`] with the text read and what would be valid; a bare number is
/// [`ParseErrorKind::MissingUnit`].
pub fn parse_bytes(text: &str) -> Result<Bytes, ParseError> {
    parse_integer(Quantity::Bytes, text).map(Bytes::new)
}

/// Parses a count of bytes that is usually written without a unit. Such are an MTU or a segment
/// size: `1500`, and also `1500 B` and `9 kB`.
///
/// # Errors
/// A [`ParseError`] with the text read and what would be valid.
pub fn parse_octets(text: &str) -> Result<Bytes, ParseError> {
    parse_integer(Quantity::Octets, text).map(Bytes::new)
}

/// Parses a rate, for example `10 Gbit/s`, `8.56 Gbit/s`, `100 kbit/s`.
///
/// # Errors
/// A [`ParseError`] with the text read and what would be valid.
pub fn parse_rate(text: &str) -> Result<Rate, ParseError> {
    parse_integer(Quantity::Rate, text).map(Rate::from_bps)
}

/// Parses a probability, for example `0.001`, `1e-5`, `0.1 %`, `1 in 10000`. The result is the
/// nearest [`f64`].
///
/// # Errors
/// A [`ParseError`] with the text read and what would be valid.
pub fn parse_probability(text: &str) -> Result<Probability, ParseError> {
    let body = Body::of(text);
    body.probability()
        .map_err(|failure| failure.of(Quantity::Probability, text))
}

fn parse_integer(quantity: Quantity, text: &str) -> Result<u64, ParseError> {
    let units = |word: &str| quantity.unit(word).map(|unit| unit.scale);
    Body::of(text)
        .integer(quantity, units)
        .map_err(|failure| failure.of(quantity, text))
}

/// Text to parse: the input without surrounding space, and its start position.
struct Body<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> Body<'a> {
    fn of(input: &'a str) -> Self {
        let start = input.len() - input.trim_start().len();
        Self {
            text: input.trim(),
            start,
        }
    }

    /// Splits off the number at the front; returns it and the word after it.
    fn split(&self) -> Result<(Number<'a>, Word<'a>), Failure> {
        let (number, len) = Number::scan(self.text).map_err(|bad| bad.moved(self.start))?;
        let behind = &self.text[len..];
        let text = behind.trim_start();
        let start = self.start + self.text.len() - text.len();
        Ok((number, Word { text, start }))
    }

    /// Value in the smallest unit. `scale_of` returns the size of a unit in it.
    fn integer(
        &self,
        quantity: Quantity,
        scale_of: impl Fn(&str) -> Option<u64>,
    ) -> Result<u64, Failure> {
        let (number, word) = self.split()?;
        let scale = if word.text.is_empty() {
            if quantity != Quantity::Octets {
                return Err(Failure::new(ParseErrorKind::MissingUnit, word.span()));
            }
            1
        } else {
            match scale_of(word.text) {
                Some(scale) => scale,
                None => return Err(slips::unknown_unit(quantity, &number, word)),
            }
        };
        number.scaled(scale).map_err(|unfit| {
            let span = self.start..self.start + number.text.len();
            unfit.failure(quantity, span)
        })
    }

    fn probability(&self) -> Result<Probability, Failure> {
        let (number, word) = self.split()?;
        let value = match word.text {
            "" => number.as_f64(0),
            "%" => number.as_f64(-2),
            text => match text.strip_prefix("in") {
                Some(of) if of.starts_with(char::is_whitespace) => {
                    let start = word.start + text.len() - of.len();
                    self.share(&number, Body::of(of).moved(start))?
                }
                _ => return Err(slips::unknown_unit(Quantity::Probability, &number, word)),
            },
        };
        let span = self.start..self.start + self.text.len();
        if value == 0.0 && !number.is_zero() {
            return Err(Failure::new(ParseErrorKind::TooSmall, span));
        }
        Probability::try_new(value).ok_or(Failure::new(ParseErrorKind::OutOfRange, span))
    }

    fn moved(self, by: usize) -> Self {
        Self {
            start: self.start + by,
            ..self
        }
    }

    /// `count` as a share of the number in `total`.
    fn share(&self, count: &Number<'a>, total: Body<'a>) -> Result<f64, Failure> {
        let (of, behind) = total.split()?;
        if !behind.text.is_empty() {
            return Err(Failure::new(ParseErrorKind::NotANumber, total.span()));
        }
        let exact = |number: &Number, start: usize| {
            let span = start..start + number.text.len();
            let value = number
                .scaled(1)
                .map_err(|unfit| unfit.failure(Quantity::Probability, span.clone()))?;
            // Above 2^53 a double cannot hold every integer.
            if value > 1 << f64::MANTISSA_DIGITS {
                return Err(Failure::new(ParseErrorKind::TooLarge, span));
            }
            Ok(value as f64)
        };
        // Both are exact, so the quotient is rounded once. Zero in zero is NaN and fails the range
        // check.
        Ok(exact(count, self.start)? / exact(&of, total.start)?)
    }

    fn span(&self) -> core::ops::Range<usize> {
        self.start..self.start + self.text.len()
    }
}

/// The word after a number, and its start position in the input.
type Word<'a> = Body<'a>;

/// Implements [`FromStr`] and [`Display`] of a type by the grammar.
macro_rules! grammar_of {
    ($type:ident, $parse:ident, |$value:ident| $print:expr) => {
        impl FromStr for $type {
            type Err = ParseError;
            fn from_str(text: &str) -> Result<Self, ParseError> {
                $parse(text)
            }
        }

        impl Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let $value = *self;
                // `pad` applies the requested width and alignment.
                f.pad(&$print)
            }
        }
    };
}

grammar_of!(Duration, parse_duration, |span| Quantity::Duration
    .print(span.as_nanos()));
grammar_of!(Bytes, parse_bytes, |amount| Quantity::Bytes
    .print(amount.as_u64()));
grammar_of!(Rate, parse_rate, |rate| Quantity::Rate.print(rate.as_bps()));
grammar_of!(Probability, parse_probability, |p| print::shortest_real(
    p.as_f64()
));
