//! Parses bytes to a document: UTF-8 and TOML.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use toml::de::{DeTable, Error};

use crate::diagnostic::{Diagnostic, Findings, Place, Source, line_column};
use crate::document::{Builder, Table};

/// Document, or `None` if the text is not TOML.
pub(crate) fn document(bytes: &[u8], findings: &Findings) -> Option<Table> {
    let text = match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            not_utf8(bytes, error.valid_up_to()).report(findings);
            return None;
        }
    };
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        report(text, &errors, findings);
        return None;
    }
    let builder = Builder {
        source: Source::Plan,
        offset: 0,
    };
    Some(builder.table(table.get_ref()))
}

fn not_utf8(bytes: &[u8], at: usize) -> Diagnostic {
    let valid = core::str::from_utf8(&bytes[..at]).unwrap_or_default();
    let (line, column) = line_column(valid, at);
    let byte = bytes.get(at).copied().unwrap_or_default();
    // The text shown has U+FFFD in place of invalid bytes.
    let place = Place::in_plan(at..at + char::REPLACEMENT_CHARACTER.len_utf8());
    let message = format!("byte 0x{byte:02x} at line {line}, column {column} is not UTF-8");
    Diagnostic::error(&place, message)
        .label("cannot be read")
        .hint("save the plan as UTF-8")
}

/// Reports the first mistake of each line, since the rest mostly follows from it.
fn report(text: &str, errors: &[Error], findings: &Findings) {
    let mut last_line = None;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        let line = line_at(text, span.start);
        if last_line.replace(line) == Some(line) {
            continue;
        }
        let place = Place::in_plan(span);
        let message = format!("this is not TOML: {}", error.message());
        let finding = Diagnostic::error(&place, message).label("here");
        match quoted(line.1) {
            Some(hint) => finding.hint(hint),
            None => finding,
        }
        .report(findings);
    }
}

/// Line around a byte: its start and its text.
fn line_at(text: &str, offset: usize) -> (usize, &str) {
    let before = text.get(..offset).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    (start, line)
}

/// Correction of the commonest typo: a quantity without quotes.
fn quoted(line: &str) -> Option<String> {
    let (key, rest) = line.split_once('=')?;
    let value = rest.split('#').next()?.trim();
    let is_bare = !value.contains(['"', '\'', '[', '{']);
    let has_letters = value.contains(|c: char| c.is_alphabetic());
    let is_short = value.len() <= 40 && key.len() <= 40;
    let line =
        (is_bare && has_letters && is_short).then(|| format!("{} = \"{value}\"", key.trim()));
    line.map(|line| line.trim_start().to_owned())
}
