//! Axes: the keys of a plan that vary together, and their levels, as one line of text.
//!
//! ```text
//! axis   = key { "+" key } "=" levels [ " when " condition { " and " condition } ]
//! levels = level { "," level } | from ".." to [ ("linear" | "log") count | "step" step ]
//! level  = [ label ": " ] ( value | "(" value { "," value } ")" )
//! ```
//!
//! The same syntax follows `--over` and is an element of `over` in `[sweep]` and `[[series]]`. A
//! value that contains commas is written in quotes. Several keys that vary together take one value
//! per level, or one each in parentheses. A value that names `bdp` or another key of the plan is
//! computed for each cell ([`Expression`]). An axis with `when` varies only in cells of which the
//! condition holds.
//!
//! Levels of a range have four significant digits; those of a whole-number key are whole. A range
//! without a count consists of its two ends.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use gigatcp_units::settings::TextError;

pub use amount::plain;
pub use amount::{Amount, Dimension};
pub use condition::Condition;
pub use expression::Expression;
pub use span::Span;

use crate::keys::lookup::{self, KnownKey};

mod amount;
mod condition;
mod expression;
mod span;

/// Maximum levels of an axis.
pub const MAX_LEVELS: usize = 1_000_000;

/// Keys that vary together, and their levels.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Dotted keys, at least one.
    pub keys: Vec<String>,
    /// The levels, at least one.
    pub levels: Vec<Level>,
    /// Range that the levels were taken from. `None` if they were listed.
    pub span: Option<Span>,
    /// Conditions of the cells where the axis varies. Empty: all cells.
    pub when: Vec<Condition>,
}

/// A level of an axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Level {
    /// Its name in tables.
    pub label: String,
    /// Values, one for each key of the axis.
    pub values: Vec<Setting>,
}

/// The value of a key in a cell.
#[derive(Clone, PartialEq, Debug)]
pub enum Setting {
    /// As written.
    Text(String),
    /// Computed from other keys of the cell.
    Computed(Expression),
}

impl Setting {
    /// Value as written. `None` if it is computed.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Computed(_) => None,
        }
    }
}

impl Axis {
    /// Reads an axis, as in `path.rtt=10 ms,20 ms`.
    ///
    /// # Errors
    /// The text read, why it is wrong, and a correction.
    pub fn read(text: &str) -> Result<Self, TextError> {
        let Some((keys, rest)) = text.split_once('=') else {
            let hint = "KEY=LEVEL,LEVEL,..., as in path.rtt=10ms,20ms";
            return Err(TextError::new(text, 0..text.len(), "there is no `=`", hint));
        };
        let begin = keys.len() + 1;
        let mut kinds = Vec::new();
        let mut names = Vec::new();
        for part in split(keys, '+', 0)? {
            kinds.push(lookup::find(part.0, part.1)?);
            names.push(part.0.to_owned());
        }
        let (levels, when) = match find_word(rest, " when ") {
            Some(at) => {
                let when = Condition::read_all(&rest[at + 6..], begin + at + 6)?;
                (&rest[..at], when)
            }
            None => (rest, vec![]),
        };
        let parts = split(levels, ',', begin)?;
        let span = match parts.as_slice() {
            [(part, place)] => Span::read(part, place.clone(), is_whole(&kinds))?,
            _ => None,
        };
        let levels = match &span {
            Some(span) => listed(span, names.len()),
            None => parts
                .into_iter()
                .map(|(part, place)| level(part, place, names.len()))
                .collect::<Result<_, _>>()?,
        };
        check_labels(&levels, begin..text.len())?;
        Ok(Self {
            keys: names,
            levels,
            span,
            when,
        })
    }

    /// Its name in tables: its keys.
    pub fn name(&self) -> String {
        self.keys.join("+")
    }
}

fn is_whole(kinds: &[KnownKey]) -> bool {
    kinds.iter().all(|found| found.is_whole())
}

fn listed(span: &Span, keys: usize) -> Vec<Level> {
    let texts = span.levels().into_iter();
    let levels = texts.map(|text| Level {
        values: vec![Setting::Text(text.clone()); keys],
        label: text,
    });
    levels.collect()
}

/// Rejects two levels with the same name, which a table could not distinguish.
fn check_labels(levels: &[Level], place: Range<usize>) -> Result<(), TextError> {
    let mut labels: Vec<&str> = levels.iter().map(|level| level.label.as_str()).collect();
    labels.sort_unstable();
    let twice = labels.windows(2).find(|pair| pair[0] == pair[1]);
    let Some(twice) = twice else { return Ok(()) };
    let why = "two levels have this name";
    let hint = "each level once, or names of their own, as in `small: 64 KiB`; a value with commas \
                stands in quotes";
    Err(TextError::new(twice[0], place, why, hint))
}

fn level(text: &str, place: Range<usize>, keys: usize) -> Result<Level, TextError> {
    let (label, value, begin) = match label(text) {
        Some((label, value)) => (Some(label), value, place.end - value.len()),
        None => (None, text, place.start),
    };
    let inner = value
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'));
    let values = match inner {
        Some(inner) if keys > 1 => {
            let parts = split(inner, ',', begin + 1)?;
            if parts.len() != keys {
                let why = format!("{} values for {keys} keys", parts.len());
                let hint = "one value for each key, as in `(1 Gbit/s, 10 ms)`";
                return Err(TextError::new(value, place, &why, hint));
            }
            let values = parts.into_iter().map(|(part, place)| setting(part, place));
            values.collect::<Result<Vec<_>, _>>()?
        }
        _ => vec![setting(value, begin..place.end)?; keys],
    };
    let own = || match inner {
        Some(inner) if keys > 1 => inner.to_owned(),
        _ => unquoted(value).to_owned(),
    };
    Ok(Level {
        label: label.map_or_else(own, ToOwned::to_owned),
        values,
    })
}

/// Splits a level into its name and its value. `None` if it has no name.
fn label(text: &str) -> Option<(&str, &str)> {
    let (label, value) = text.split_once(": ")?;
    let is_plain = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    (!label.is_empty() && label.chars().all(is_plain)).then(|| (label, value.trim_start()))
}

fn setting(text: &str, place: Range<usize>) -> Result<Setting, TextError> {
    if text.is_empty() {
        let why = "a level is missing";
        return Err(TextError::new(
            text,
            place,
            why,
            "a value between two commas",
        ));
    }
    let inner = unquoted(text);
    if inner.len() == text.len() && text.starts_with(['"', '\'']) {
        let why = "the quote does not end";
        return Err(TextError::new(
            text,
            place,
            why,
            "a quote at the end as well",
        ));
    }
    if inner.len() == text.len() && expression::is_computed(text) {
        return Expression::read(text, place.start).map(Setting::Computed);
    }
    Ok(Setting::Text(inner.to_owned()))
}

fn unquoted(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

/// Position of `word` outside of quotes and brackets.
fn find_word(text: &str, word: &str) -> Option<usize> {
    outside(text).find(|at| text[*at..].starts_with(word))
}

/// Positions of all characters outside of quotes and brackets.
fn outside(text: &str) -> impl Iterator<Item = usize> {
    let mut quote = None;
    let mut depth = 0_usize;
    text.char_indices().filter_map(move |(at, c)| {
        match (quote, c) {
            (Some(open), _) => {
                if open == c {
                    quote = None;
                }
                return None;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => return (depth == 0).then_some(at),
        }
        None
    })
}

/// Splits a text at separators into trimmed parts with their places; the text begins at `begin`.
pub(crate) fn split(
    text: &str,
    separator: char,
    begin: usize,
) -> Result<Vec<(&str, Range<usize>)>, TextError> {
    let cuts = outside(text).filter(|at| text[*at..].starts_with(separator));
    let mut parts = Vec::new();
    let mut from = 0;
    for to in cuts.chain([text.len()]) {
        let part = &text[from..to];
        let trimmed = part.trim();
        let start = begin + from + (part.len() - part.trim_start().len());
        if trimmed.is_empty() {
            let place = begin + from..begin + to;
            let why = format!("between two `{separator}` there is nothing");
            let shown = text.trim().to_string();
            return Err(TextError::new(&shown, place, &why, "remove one of them"));
        }
        parts.push((trimmed, start..start + trimmed.len()));
        from = to + separator.len_utf8();
    }
    if parts.len() > MAX_LEVELS {
        let why = format!("more than {MAX_LEVELS} levels");
        return Err(TextError::new(
            "",
            begin..begin + text.len(),
            &why,
            "fewer levels",
        ));
    }
    Ok(parts)
}
