//! Locations in a script, and syntax errors.
//!
//! A [`Mistake`] is data with a byte range; [`Mistake::in_text`] is its form for people and for
//! tools that jump to locations:
//!
//! ```text
//! open.pkt:7:12: read `1:9(0)`, expected 1:1(0): the end is the start plus the length
//!   hint: write 1:9(8) for eight octets
//! ```

use alloc::format;
use alloc::string::String;
use core::fmt::Write;
use core::ops::Range;

/// A byte range of a script.
pub type Span = Range<usize>;

/// A syntax error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Location of the error.
    pub span: Span,
    /// Expected text.
    pub expected: String,
    /// Suggested text, if it can be guessed.
    pub hint: Option<String>,
}

impl Mistake {
    /// An error without a hint.
    pub fn new(span: Span, expected: impl Into<String>) -> Self {
        Self {
            span,
            expected: expected.into(),
            hint: None,
        }
    }

    /// Adds a suggestion.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// `file:line:column: read ..., expected ...`, with the hint on a second line. `name` is the
    /// file, `text` all of it.
    pub fn in_text(&self, name: &str, text: &str) -> String {
        let (line, column) = line_column(text, self.span.start);
        let mut said = format!("{name}:{line}:{column}: read ");
        match excerpt(text, &self.span) {
            "" if self.span.start >= text.len() => said.push_str("the end of the script"),
            "" => said.push_str("the end of the line"),
            read => {
                let _ = write!(said, "`{read}`");
            }
        }
        let _ = write!(said, ", expected {}", self.expected);
        if let Some(hint) = &self.hint {
            let _ = write!(said, "\n  hint: {hint}");
        }
        said
    }
}

/// Line and column of the byte `at`, both counted from 1; columns are characters.
pub fn line_column(text: &str, at: usize) -> (usize, usize) {
    let at = floor(text, at);
    let before = &text[..at];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.bytes().filter(|byte| *byte == b'\n').count();
    (line, 1 + before[start..].chars().count())
}

/// Whole line containing the byte `at`, trimmed.
pub fn line_of(text: &str, at: usize) -> &str {
    let at = floor(text, at);
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    text[start..end].trim()
}

/// At most 40 characters of one line of `span`.
fn excerpt<'a>(text: &'a str, span: &Span) -> &'a str {
    let (start, end) = (floor(text, span.start), floor(text, span.end));
    let part = &text[start..end.max(start)];
    let line = part.lines().next().unwrap_or_default();
    match line.char_indices().nth(40) {
        Some((cut, _)) => &line[..cut],
        None => line,
    }
}

/// Nearest position at or before `at` where a character begins.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters_from_one() {
        assert_eq!(line_column("ab\ncäd", 0), (1, 1));
        assert_eq!(line_column("ab\ncäd", 6), (2, 3));
        assert_eq!(
            line_column("ab\ncäd", 5),
            (2, 2),
            "inside ä is where ä begins"
        );
        assert_eq!(line_column("ab", 99), (1, 3));
    }

    #[test]
    fn a_mistake_says_place_reading_expectation_and_hint() {
        let mistake = Mistake::new(3..5, "a word").hint("try one");
        assert_eq!(
            mistake.in_text("x.pkt", "ab\n12 34"),
            "x.pkt:2:1: read `12`, expected a word\n  hint: try one"
        );
        let end = Mistake::new(2..2, "an event");
        assert_eq!(
            end.in_text("x.pkt", "ab"),
            "x.pkt:1:3: read the end of the script, expected an event"
        );
    }
}
