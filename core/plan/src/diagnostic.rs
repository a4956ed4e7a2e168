//! Findings in a plan: what is wrong, where, and the correction.
//!
//! A [`Diagnostic`] is data: places are byte ranges, so that any renderer can draw carets under
//! them. The [`Display`](fmt::Display) here is the one-line form `plan.toml:3:8: error: ...` for
//! logs and for tools that jump to it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::fmt;
use core::ops::Range;

use crate::{Files, NoFiles};

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The plan runs, but probably not as intended.
    Warning,
    /// The plan is rejected.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// Text that contains a [`Place`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The plan file.
    Plan,
    /// The override with that index, counted from 0.
    Override(usize),
}

/// A range of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The text.
    pub source: Source,
    /// The bytes in that text.
    pub span: Range<usize>,
}

impl Place {
    /// Place of the range `span` in the plan file.
    pub const fn in_plan(span: Range<usize>) -> Self {
        Self {
            source: Source::Plan,
            span,
        }
    }
}

/// A finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// The text read and why it is wrong, one sentence without a full stop.
    pub message: String,
    /// Its place.
    pub place: Place,
    /// A few words to print at the place.
    pub label: String,
    /// A second place that it refers to, and what stands there.
    pub related: Option<(Place, String)>,
    /// Its effect on the run, in the user's terms.
    pub effect: Option<String>,
    /// The nearest valid text, to replace the wrong one.
    pub nearest: Option<String>,
    /// The correction, or the valid values.
    pub hint: Option<String>,
}

impl Diagnostic {
    pub(crate) fn error(place: &Place, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            place: place.clone(),
            label: String::new(),
            related: None,
            effect: None,
            nearest: None,
            hint: None,
        }
    }

    pub(crate) fn warning(place: &Place, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(place, message)
        }
    }

    fn order(&self) -> (Source, usize, usize, &str) {
        let span = &self.place.span;
        (self.place.source, span.start, span.end, &self.message)
    }

    pub(crate) fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    pub(crate) fn related(mut self, place: &Place, what: impl Into<String>) -> Self {
        self.related = Some((place.clone(), what.into()));
        self
    }

    pub(crate) fn effect(mut self, effect: impl Into<String>) -> Self {
        self.effect = Some(effect.into());
        self
    }

    pub(crate) fn nearest(mut self, nearest: Option<impl ToString>) -> Self {
        self.nearest = nearest.map(|text| text.to_string());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds it to the findings.
    pub(crate) fn report(self, findings: &Findings) {
        findings.list.borrow_mut().push(self);
    }
}

/// All findings in a plan, with the texts it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    /// Name of the plan file.
    pub source_name: String,
    /// Text of the plan file. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// The overrides as given.
    pub overrides: Vec<String>,
    /// The findings, in the order of their places; at least one is an error.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Text that contains the place.
    pub fn text_of(&self, source: Source) -> &str {
        match source {
            Source::Plan => &self.text,
            Source::Override(index) => self.overrides.get(index).map_or("", String::as_str),
        }
    }

    /// Name of that text: the file's name, or `--set 1`.
    pub fn name_of(&self, source: Source) -> String {
        match source {
            Source::Plan => self.source_name.clone(),
            Source::Override(index) => format!("--set {}", index + 1),
        }
    }

    /// Line and column of a place, see [`line_column`].
    pub fn line_column_of(&self, place: &Place) -> (usize, usize) {
        line_column(self.text_of(place.source), place.span.start)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.list {
            let name = self.name_of(finding.place.source);
            let (line, column) = self.line_column_of(&finding.place);
            let Diagnostic {
                severity, message, ..
            } = finding;
            writeln!(f, "{name}:{line}:{column}: {severity}: {message}")?;
            let notes = [
                ("effect", &finding.effect),
                ("nearest", &finding.nearest),
                ("hint", &finding.hint),
            ];
            for (what, note) in notes {
                if let Some(note) = note {
                    writeln!(f, "  {what}: {note}")?;
                }
            }
        }
        Ok(())
    }
}

impl core::error::Error for Diagnostics {}

/// Line and column, both counted from 1, of the byte `offset`. Columns count characters. An offset
/// beyond the end is taken as the end.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let line_start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    // A character begins at every byte that does not continue one.
    let is_begin = |byte: &&u8| **byte & 0xC0 != 0x80;
    let column = before[line_start..].iter().filter(is_begin).count() + 1;
    (line, column)
}

/// Collects findings while a plan is read.
///
/// A plan is checked once per series. A finding in the common part occurs each time and is kept
/// once.
#[derive(Default)]
pub(crate) struct Findings<'a> {
    list: RefCell<Vec<Diagnostic>>,
    /// Reader of the files that a plan names.
    files: Option<&'a dyn Files>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(files: &'a dyn Files) -> Self {
        Self {
            files: Some(files),
            ..Self::default()
        }
    }

    /// Text of a file that the plan names.
    pub(crate) fn read(&self, name: &str) -> Result<String, String> {
        self.files()?.read(name)
    }

    /// Path of a file that the plan names.
    pub(crate) fn locate(&self, name: &str) -> Result<String, String> {
        self.files()?.locate(name)
    }

    /// See [`Files::directory`].
    pub(crate) fn directory(&self) -> &str {
        self.files.unwrap_or(&NoFiles).directory()
    }

    fn files(&self) -> Result<&'a dyn Files, String> {
        self.files
            .ok_or_else(|| "this caller reads no files".to_owned())
    }

    /// All distinct findings, in the order of their places.
    pub(crate) fn into_sorted(self) -> Vec<Diagnostic> {
        let mut list = self.list.into_inner();
        list.sort_by(|a, b| a.order().cmp(&b.order()));
        list.dedup();
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_and_in_characters() {
        let text = "a = 1\nµs = \"é\"\n";
        assert_eq!(line_column(text, 0), (1, 1));
        assert_eq!(line_column(text, 4), (1, 5));
        assert_eq!(line_column(text, 6), (2, 1));
        assert_eq!(line_column(text, text.find('=').unwrap()), (1, 3));
        assert_eq!(line_column(text, text.rfind('=').unwrap()), (2, 4));
        assert_eq!(line_column(text, text.len()), (3, 1));
        assert_eq!(line_column(text, usize::MAX), (3, 1));
        assert_eq!(line_column("", 7), (1, 1));
    }

    #[test]
    fn the_same_finding_is_kept_once() {
        let findings = Findings::default();
        Diagnostic::error(&Place::in_plan(5..6), "second").report(&findings);
        Diagnostic::error(&Place::in_plan(1..2), "first").report(&findings);
        Diagnostic::error(&Place::in_plan(5..6), "second").report(&findings);
        let messages: Vec<_> = findings
            .into_sorted()
            .into_iter()
            .map(|f| f.message)
            .collect();
        assert_eq!(messages, ["first", "second"]);
    }
}
