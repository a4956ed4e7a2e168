//! Errors of parsing a quantity.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Display, Write};
use core::ops::Range;

use super::Quantity;

/// Error of parsing a quantity.
///
/// [`Display`] is one sentence: the text read, the fault and what would be valid.
/// [`ParseError::hint`] suggests a valid text, and [`ParseError::span`] is the location of the
/// fault.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    quantity: Quantity,
    kind: ParseErrorKind,
    read: String,
    span: Range<usize>,
    suggestion: Option<String>,
}

/// Kind of fault.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// The text is empty or space only.
    Empty,
    /// The text is not a plain decimal number.
    NotANumber,
    /// There is a number but no unit.
    MissingUnit,
    /// The word after the number is not a unit of the quantity.
    UnknownUnit {
        /// The word, shortened if it is long.
        found: String,
        /// The unit that was most likely meant.
        nearest: Option<&'static str>,
    },
    /// The number is below zero (or negative zero).
    Negative,
    /// The value exceeds the range of the type.
    TooLarge,
    /// The probability is above zero but below the smallest distinguishable one. It would silently
    /// mean "never".
    TooSmall,
    /// The value is not a whole number of the smallest unit.
    Fraction,
    /// The probability is above one, or a share of zero.
    OutOfRange,
}

impl ParseError {
    /// Kind of quantity that was expected.
    pub const fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Kind of fault.
    pub const fn kind(&self) -> &ParseErrorKind {
        &self.kind
    }

    /// Byte range of the fault in the input; empty where something is missing. Both ends are
    /// character boundaries within the input.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// A suggested text.
    pub fn hint(&self) -> String {
        let example = self.quantity.example();
        match (&self.suggestion, &self.kind) {
            (Some(value), ParseErrorKind::TooLarge) => format!("the most is {value}"),
            (Some(value), ParseErrorKind::Fraction) => {
                format!(
                    "write {value}, a whole number of {}",
                    self.quantity.smallest()
                )
            }
            (Some(value), _) => format!("did you mean {value}?"),
            (None, ParseErrorKind::MissingUnit) => {
                format!("write the unit behind the number, as in `{example}`")
            }
            (None, ParseErrorKind::NotANumber) => format!(
                "write digits, with a point for decimals and nothing between them, as in `{example}`"
            ),
            (None, ParseErrorKind::OutOfRange) => {
                "write a number from 0 to 1, a percentage up to `100 %`, or `1 in 10000`".to_owned()
            }
            (None, _) => format!("write for example `{example}`"),
        }
    }
}

impl Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.quantity.name();
        match &self.kind {
            ParseErrorKind::Empty => write!(f, "nothing is given where {name} should be")?,
            kind => {
                write!(f, "`{}` is not {name}: ", self.read)?;
                self.write_cause(kind, f)?;
            }
        }
        write!(f, "; valid is {}", self.quantity.form())
    }
}

impl ParseError {
    fn write_cause(&self, kind: &ParseErrorKind, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind {
            ParseErrorKind::Empty => Ok(()),
            ParseErrorKind::NotANumber => f.write_str("it is not written as a plain number"),
            ParseErrorKind::MissingUnit => f.write_str("the unit is missing"),
            ParseErrorKind::UnknownUnit { found, .. } => {
                write!(f, "`{found}` is not one of its units")
            }
            ParseErrorKind::Negative => f.write_str("it is negative"),
            ParseErrorKind::TooLarge => f.write_str("it is too large"),
            ParseErrorKind::TooSmall => f.write_str("it is too small to tell from zero"),
            ParseErrorKind::Fraction => {
                write!(
                    f,
                    "it is not a whole number of {}",
                    self.quantity.smallest()
                )
            }
            ParseErrorKind::OutOfRange => f.write_str("it is not from 0 to 1"),
        }
    }
}

impl core::error::Error for ParseError {}

impl Quantity {
    /// Its name with the article.
    const fn name(self) -> &'static str {
        match self {
            Self::Duration => "a duration",
            Self::Bytes => "an amount of data",
            Self::Octets => "a number of bytes",
            Self::Rate => "a rate",
            Self::Probability => "a probability",
        }
    }

    const fn example(self) -> &'static str {
        match self {
            Self::Duration => "80 ms",
            Self::Bytes => "60 MB",
            Self::Octets => "1500",
            Self::Rate => "10 Gbit/s",
            Self::Probability => "1e-5",
        }
    }

    const fn smallest(self) -> &'static str {
        match self {
            Self::Duration => "nanoseconds",
            Self::Bytes | Self::Octets => "bytes",
            Self::Rate => "bits per second",
            Self::Probability => "events",
        }
    }

    fn form(self) -> String {
        if self == Self::Probability {
            return "a number from 0 to 1, a percentage as in `0.1 %`, or a share as in \
                    `1 in 10000`"
                .to_owned();
        }
        let mut units = String::new();
        let all = self.units();
        for (index, unit) in all.iter().enumerate() {
            let joint = match all.len() - index {
                1 => " or ",
                _ if index == 0 => "",
                _ => ", ",
            };
            units.push_str(joint);
            units.push_str(unit.name);
        }
        let number = match self {
            Self::Octets => "a whole number, alone or with",
            _ => "a number with",
        };
        format!("{number} {units}, as in `{}`", self.example())
    }
}

/// A fault before the position in the whole input is known.
pub(super) struct Failure {
    kind: ParseErrorKind,
    span: Range<usize>,
    suggestion: Option<String>,
}

impl Failure {
    pub(super) fn new(kind: ParseErrorKind, span: Range<usize>) -> Self {
        Self {
            kind,
            span,
            suggestion: None,
        }
    }

    pub(super) fn suggest(self, suggestion: Option<String>) -> Self {
        Self { suggestion, ..self }
    }

    /// Fault shifted by `by` bytes.
    pub(super) fn moved(self, by: usize) -> Self {
        let span = self.span.start + by..self.span.end + by;
        Self { span, ..self }
    }

    pub(super) fn of(self, quantity: Quantity, input: &str) -> ParseError {
        ParseError {
            quantity,
            kind: self.kind,
            read: shortened(input.trim()),
            span: self.span,
            suggestion: self.suggestion,
        }
    }
}

/// Why a number does not fit an unsigned 64-bit integer.
pub(super) enum Unfit {
    /// It is more than the integer holds.
    TooLarge,
    /// It has a part below one; the whole number below it is given.
    Fraction(u64),
}

impl Unfit {
    pub(super) fn failure(self, quantity: Quantity, span: Range<usize>) -> Failure {
        let (kind, value) = match self {
            Self::TooLarge => (ParseErrorKind::TooLarge, u64::MAX),
            // Zero is seldom the intended small number.
            Self::Fraction(below) => (ParseErrorKind::Fraction, below.max(1)),
        };
        let suggestion = match quantity {
            Quantity::Probability => None,
            _ => Some(format!("`{}`", quantity.print(value))),
        };
        Failure::new(kind, span).suggest(suggestion)
    }
}

/// Untrusted text in a form suitable for a line of a message. It has at most 40 characters, with
/// control characters escaped.
pub fn shortened(text: &str) -> String {
    const LETTERS: usize = 40;
    let mut short = String::new();
    for letter in text.chars().take(LETTERS) {
        if letter.is_control() {
            // Writing to a string does not fail.
            let _ = write!(short, "{}", letter.escape_default());
        } else {
            short.push(letter);
        }
    }
    if text.chars().nth(LETTERS).is_some() {
        short.push('…');
    }
    short
}
