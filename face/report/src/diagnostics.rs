//! Errors in a plan, formatted like a compiler's: the line, carets under the place, and a hint.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use gigatcp_plan::{Diagnostic, Diagnostics, Place, Severity, Source};
use serde::Serialize;

use crate::escape::terminal;
use crate::number::counted;

/// Maximum number of findings shown at a time.
const SHOWN: usize = 20;

/// All findings and their number, in color for a writer that can remove it.
pub fn text(findings: &Diagnostics) -> String {
    drawn(findings, &Renderer::styled())
}

/// All findings and their number without color.
pub fn plain_text(findings: &Diagnostics) -> String {
    drawn(findings, &Renderer::plain())
}

fn drawn(findings: &Diagnostics, renderer: &Renderer) -> String {
    let shown = findings.list.iter().take(SHOWN);
    let mut parts: Vec<String> = shown
        .map(|finding| renderer.render(&report(findings, finding)))
        .collect();
    parts.extend(closing_line(findings));
    parts.join("\n\n")
}

/// Number of errors, if it is not obvious.
fn closing_line(findings: &Diagnostics) -> Option<String> {
    let total = findings.list.len();
    let errors = findings
        .list
        .iter()
        .filter(|finding| is_error(finding))
        .count();
    if errors == 0 {
        return None;
    }
    let errors = counted(errors as u64, "error");
    let hidden = match total.saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(", {more} not shown"),
    };
    Some(format!(
        "{}: {errors}{hidden}; this plan cannot run",
        terminal(&findings.source_name)
    ))
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity == Severity::Error
}

fn report<'a>(findings: &'a Diagnostics, finding: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    // The renderer prints titles unchanged, so control characters are removed here.
    let title = level.primary_title(terminal(&finding.message));
    let mut group = Group::with_title(title);
    for snippet in snippets(findings, finding) {
        group = group.element(snippet);
    }
    if let Some(effect) = &finding.effect {
        group = group.element(Level::NOTE.message(terminal(effect)));
    }
    for text in help(finding) {
        group = group.element(Level::HELP.message(text));
    }
    vec![group]
}

fn help(finding: &Diagnostic) -> Vec<String> {
    const QUESTION: &str = "did you mean";
    let hint = finding.hint.as_deref().map(terminal);
    let is_answered = hint.as_ref().is_some_and(|hint| hint.starts_with(QUESTION));
    finding
        .nearest
        .as_deref()
        .filter(|_| !is_answered)
        .map(|text| {
            // After `--set KEY=` a shell would remove the quotes of TOML.
            let text = match finding.place.source {
                Source::Plan => text,
                Source::Override(_) => text.trim_matches('"'),
            };
            format!("{QUESTION} `{}`?", terminal(text))
        })
        .into_iter()
        .chain(hint)
        .collect()
}

/// Text around the place, and around related places.
fn snippets<'a>(
    findings: &'a Diagnostics,
    finding: &'a Diagnostic,
) -> Vec<Snippet<'a, Annotation<'a>>> {
    let primary = annotation(
        findings,
        AnnotationKind::Primary,
        &finding.place,
        &finding.label,
    );
    let mut first = snippet(findings, finding.place.source).annotation(primary);
    let Some((place, what)) = &finding.related else {
        return vec![first];
    };
    let context = annotation(findings, AnnotationKind::Context, place, what);
    if place.source == finding.place.source {
        first = first.annotation(context);
        return vec![first];
    }
    vec![first, snippet(findings, place.source).annotation(context)]
}

fn snippet(findings: &Diagnostics, source: Source) -> Snippet<'_, Annotation<'_>> {
    // The renderer removes control characters from the text, but not from the name.
    Snippet::source(findings.text_of(source)).path(terminal(&findings.name_of(source)))
}

fn annotation<'a>(
    findings: &Diagnostics,
    kind: AnnotationKind,
    place: &Place,
    label: &'a str,
) -> Annotation<'a> {
    let span = fitting(findings.text_of(place.source), &place.span);
    let label = (!label.is_empty()).then_some(label);
    kind.span(span).label(label)
}

/// Limits `span` to `text` and moves it to character boundaries. The renderer requires these, and
/// the input is not trusted.
fn fitting(text: &str, span: &Range<usize>) -> Range<usize> {
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let (start, end) = (span.start.min(text.len()), span.end.min(text.len()));
    // 0 and the length are boundaries.
    let start = (0..=start).rev().find(is_boundary).unwrap_or(0);
    let end = (end.max(start)..=text.len()).find(is_boundary);
    start..end.unwrap_or(text.len())
}

/// A finding as JSON. Lines and columns count from 1, columns in characters.
#[derive(Clone, Serialize, Debug)]
#[allow(
    missing_docs,
    reason = "fields of JSON, as `gigatcp check --json` has them"
)]
pub struct Finding {
    pub severity: String,
    pub message: String,
    pub source: String,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    pub label: String,
    pub effect: Option<String>,
    pub nearest: Option<String>,
    pub hint: Option<String>,
}

/// All findings for JSON.
pub fn list(findings: &Diagnostics) -> Vec<Finding> {
    let convert = |finding: &Diagnostic| {
        let place = &finding.place;
        let (line, column) = findings.line_column_of(place);
        let text = findings.text_of(place.source);
        let (end_line, end_column) = gigatcp_plan::line_column(text, place.span.end);
        Finding {
            severity: finding.severity.to_string(),
            message: finding.message.clone(),
            source: findings.name_of(place.source),
            line,
            column,
            end_line,
            end_column,
            label: finding.label.clone(),
            effect: finding.effect.clone(),
            nearest: finding.nearest.clone(),
            hint: finding.hint.clone(),
        }
    };
    findings.list.iter().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_does_not_fit_is_made_to_fit() {
        let text = "aé";
        assert_eq!(fitting(text, &(0..1)), 0..1);
        assert_eq!(fitting(text, &(1..1)), 1..1);
        assert_eq!(fitting(text, &(2..2)), 1..3);
        assert_eq!(fitting(text, &(1..2)), 1..3);
        assert_eq!(fitting(text, &(7..9)), 3..3);
        #[expect(clippy::reversed_empty_ranges, reason = "what a fault would give")]
        let reversed = 3..1;
        assert_eq!(fitting(text, &reversed), 3..3);
    }

    #[test]
    fn a_hostile_plan_cannot_steer_the_terminal() {
        let plan =
            b"name = \"\x1b[2J\"\npath = { rate = \"\x1b[31m\", rtt = \"1 ms\" }\n\x1b[2J = 1";
        let findings = gigatcp_plan::parse("\x1b[2J.toml", plan, &["\x1b[2J".into()]);
        let text = text(&findings.expect_err("this is no plan"));
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert!(!plain.contains('\x1b'), "{plain:?}");
        // Only the renderer's own colors are left.
        assert!(!text.contains("\x1b[2J"), "{text:?}");
    }
}
