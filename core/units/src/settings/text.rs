//! Text form of settings: parts separated by commas, each a name and its value.
//!
//! ```text
//! text  = part *("," part)
//! part  = name [(" " | "=") value]
//! ```
//!
//! A flag may be without value. A number may be written as a percentage.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Parameter, Settings, SettingsError, Value};
use crate::grammar::{self, ParseError, ParseErrorKind};
use crate::nearest::nearest;

/// Error of parsing settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TextError {
    /// The part that is wrong, and the reason.
    pub why: String,
    /// Location in the text.
    pub span: Range<usize>,
    /// Nearest known word.
    pub nearest: Option<String>,
    /// Suggested text.
    pub hint: String,
}

impl TextError {
    /// An error about `part`, which is at `span`.
    pub fn new(part: &str, span: Range<usize>, why: &str, hint: impl Into<String>) -> Self {
        Self {
            why: format!("`{}`: {why}", grammar::shortened(part)),
            span,
            nearest: None,
            hint: hint.into(),
        }
    }

    /// Error with the known word nearest to `word`.
    #[must_use]
    pub fn suggest<'a>(self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        Self {
            nearest: nearest(word, known).map(str::to_owned),
            ..self
        }
    }
}

impl From<ParseError> for TextError {
    fn from(error: ParseError) -> Self {
        let nearest = match error.kind() {
            ParseErrorKind::UnknownUnit { nearest, .. } => nearest.map(str::to_owned),
            _ => None,
        };
        Self {
            why: format!("{error}"),
            span: error.span(),
            nearest,
            hint: error.hint(),
        }
    }
}

/// Parts of a text between commas, with their locations.
pub fn parts(text: &str) -> impl Iterator<Item = (&str, Range<usize>)> {
    text.split(',').scan(0, |at, part| {
        let begin = *at + (part.len() - part.trim_start().len());
        *at += part.len() + 1;
        let trimmed = part.trim();
        Some((trimmed, begin..begin + trimmed.len()))
    })
}

impl Settings {
    /// Parses one part, for example `every 4 s`, and sets its value. `owner` is the name of the
    /// object with these `parameters`, for errors.
    ///
    /// # Errors
    /// [`TextError`]: no such parameter, another kind of value, or one out of bounds.
    pub fn read(
        &mut self,
        owner: &str,
        parameters: &'static [Parameter],
        part: &str,
        span: Range<usize>,
    ) -> Result<(), TextError> {
        let (name, text) = part.split_once([' ', '=']).unwrap_or((part, ""));
        let given = text.trim().trim_start_matches('=').trim();
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            return Err(unknown(owner, parameters, part, name, span));
        };
        let kind = parameter.least.kind();
        let Some(value) = value(parameter, given) else {
            let hint = match parameter.default {
                Some(default) => format!("{kind}, as in \"{name} {default}\""),
                None => format!("{kind}; {}", parameter.summary),
            };
            return Err(TextError::new(
                part,
                span,
                &format!("`{name}` takes {kind}"),
                hint,
            ));
        };
        self.set(parameters, name, value).map_err(|error| {
            let why = match error {
                SettingsError::Bounds(one) => {
                    format!("`{name}` is from {} to {}", one.least, one.most)
                }
                SettingsError::Kind(_) | SettingsError::Unknown => {
                    format!("`{name}` takes {kind}")
                }
            };
            TextError::new(part, span, &why, parameter.summary)
        })
    }
}

fn unknown(
    owner: &str,
    parameters: &'static [Parameter],
    part: &str,
    name: &str,
    span: Range<usize>,
) -> TextError {
    let names = parameters.iter().map(|parameter| parameter.name);
    let listed: Vec<&str> = names.clone().collect();
    let hint = match &listed[..] {
        [] => format!("`{owner}` has no settings"),
        listed => format!("one of {}", listed.join(", ")),
    };
    let why = format!("`{owner}` has no such setting");
    TextError::new(part, span, &why, hint).suggest(name, names)
}

/// Parses a value of the kind that a parameter has.
fn value(parameter: &Parameter, text: &str) -> Option<Value> {
    Some(match parameter.least {
        Value::Time(_) => Value::Time(text.parse().ok()?),
        Value::Octets(_) => Value::Octets(grammar::parse_octets(text).ok()?.as_u64()),
        Value::Count(_) => {
            let number = text.split_once(' ').map_or(text, |(number, _)| number);
            Value::Count(number.parse().ok()?)
        }
        Value::Number(_) => match text.strip_suffix('%') {
            Some(share) => Value::Number(share.trim().parse::<f64>().ok()? / 100.0),
            None => Value::Number(text.parse().ok()?),
        },
        Value::Rate(_) => Value::Rate(text.parse().ok()?),
        Value::Flag(_) => Value::Flag(match text {
            "" | "true" | "yes" | "on" => true,
            "false" | "no" | "off" => false,
            _ => return None,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Duration, Rate};

    static PARAMETERS: [Parameter; 5] = [
        Parameter::time("every", Some(Duration::from_secs(4)), "time between bursts"),
        Parameter::octets("burst", None, "size of a burst"),
        Parameter::rate("rate", None, "rate"),
        Parameter::number("load", None, (0.0, 1.0), "share of the rate"),
        Parameter::flag("poisson", "exponential times"),
    ];

    fn read(text: &str) -> Result<Settings, TextError> {
        let mut settings = Settings::new();
        for (part, span) in parts(text) {
            settings.read("on-off", &PARAMETERS, part, span)?;
        }
        Ok(settings)
    }

    #[test]
    fn parts_are_names_and_values_of_each_kind() {
        let text = "every 2 s, burst=4 MB , rate 1 Mbit/s, load 60 %, poisson";
        let settings = read(text).unwrap();
        assert_eq!(settings.time(&PARAMETERS[0]), Duration::from_secs(2));
        assert_eq!(settings.whole(&PARAMETERS[1]), 4_000_000);
        assert_eq!(
            settings.rate(&PARAMETERS[2]),
            Some(Rate::from_bps(1_000_000))
        );
        assert_eq!(settings.number(&PARAMETERS[3]), 0.6);
        assert!(settings.flag(&PARAMETERS[4]));
    }

    #[test]
    fn errors_have_their_place_and_a_suggestion() {
        let typo = read("every 2 s, busrt 4 MB").unwrap_err();
        assert_eq!(typo.nearest.as_deref(), Some("burst"));
        assert_eq!(typo.span, 11..21);
        let kind = read("every 2").unwrap_err();
        assert!(kind.why.contains("takes a time") && kind.hint.contains("every 4 s"));
        assert!(read("load 2").unwrap_err().why.contains("from 0 to 1"));
        assert!(read("").unwrap_err().hint.contains("one of every"));
    }
}
