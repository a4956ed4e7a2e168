//! Changes a document by dotted keys: overrides and the `set` of a series.
//!
//! `flow.congestion_control = cubic` names a value by the keys that lead to it. In a list of tables
//! (`[[flow]]`), the next word picks one by its `name` or by its index from 0. Any other word
//! selects all of them. Missing keys are created; the checks that follow validate them. A table is
//! its keys one by one, so `a = { b = 1 }` and `a.b = 1` are equivalent.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, Findings, Place, Source};
use crate::document::{Builder, Entry, Table, Value, ValueKind};
use gigatcp_units::grammar::shortened;

/// A dotted key and its new value.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    words: Vec<String>,
    place: Place,
    value: Value,
}

impl Assignment {
    /// Reads the override `KEY=VALUE` with that index. A value that is not TOML is text, so that a
    /// shell needs no second pair of quotes.
    pub(crate) fn from_override(text: &str, index: usize, findings: &Findings) -> Vec<Self> {
        let source = Source::Override(index);
        let place = |span| Place { source, span };
        let Some((key, rest)) = text.split_once('=') else {
            let message = format!("`{}` is not KEY=VALUE", shortened(text));
            Diagnostic::error(&place(0..text.len()), message)
                .label("no `=` here")
                .hint("as in flow.congestion_control=cubic")
                .report(findings);
            return Vec::new();
        };
        let value_text = rest.trim();
        let offset = text.len() - rest.trim_start().len();
        let value = typed_at(value_text, source, offset);
        Self::list(&[], key, &place(0..key.len()), &value, findings)
    }

    /// Assignments that the table `set` of a series contains.
    pub(crate) fn from_set(set: &Table, findings: &Findings) -> Vec<Self> {
        Self::of_entries(&[], set, findings)
    }

    fn of_entries(before: &[String], table: &Table, findings: &Findings) -> Vec<Self> {
        let lists = table.entries.iter().map(|entry| {
            let Entry {
                key,
                key_place,
                value,
            } = entry;
            Self::list(before, key, key_place, value, findings)
        });
        lists.flatten().collect()
    }

    /// Assignments of `key = value`, with the words before as prefix.
    fn list(
        before: &[String],
        key: &str,
        place: &Place,
        value: &Value,
        findings: &Findings,
    ) -> Vec<Self> {
        let mut words = before.to_vec();
        words.extend(key.split('.').map(|word| word.trim().to_owned()));
        if words.iter().any(String::is_empty) {
            Diagnostic::error(place, format!("`{}` is not a dotted key", shortened(key)))
                .label("a word is missing")
                .hint("words with dots between them, as in flow.congestion_control")
                .report(findings);
            return Vec::new();
        }
        if words.len() > MAX_WORDS {
            let message = format!("`{}` is too deep", shortened(key));
            Diagnostic::error(place, message)
                .label("more words than any key has")
                .report(findings);
            return Vec::new();
        }
        if let ValueKind::Table(table) = &value.kind {
            return Self::of_entries(&words, table, findings);
        }
        vec![Self {
            words,
            place: place.clone(),
            value: value.clone(),
        }]
    }

    /// First word of the key.
    pub(crate) fn section(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Place of the key.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Changes the document, as far as the key leads to a value in it.
    pub(crate) fn apply(&self, document: &mut Table, findings: &Findings) {
        self.descend(document, &self.words, findings);
    }

    fn descend(&self, table: &mut Table, words: &[String], findings: &Findings) {
        let Some((word, rest)) = words.split_first() else {
            return;
        };
        if rest.is_empty() {
            table.put(self.entry(word, self.value.clone()));
            return;
        }
        if table.entry(word).is_none() {
            table.put(self.entry(word, self.empty_table()));
        }
        if let Some(value) = table.value_mut(word) {
            self.enter(value, word, rest, findings);
        }
    }

    fn enter(&self, value: &mut Value, word: &str, rest: &[String], findings: &Findings) {
        match &mut value.kind {
            ValueKind::Table(table) => self.descend(table, rest, findings),
            ValueKind::Array(elements) => self.enter_list(elements, word, rest, findings),
            _ => {
                let message = format!("`{word}` is {} and has no keys", value.describe());
                Diagnostic::error(&self.place, message)
                    .label(format!(
                        "`{}` cannot be inside it",
                        shortened(&rest.join("."))
                    ))
                    .related(&value.place, format!("`{word}` is set here"))
                    .report(findings);
            }
        }
    }

    fn enter_list(&self, elements: &mut [Value], word: &str, rest: &[String], findings: &Findings) {
        let Some((choice, inner)) = rest.split_first() else {
            return;
        };
        let is_number = choice.bytes().all(|byte| byte.is_ascii_digit());
        match position(elements, choice) {
            Some(index) if !inner.is_empty() => {
                self.enter_element(&mut elements[index], word, inner, findings);
            }
            _ if is_number => self
                .no_such_element(elements.len(), word, choice)
                .report(findings),
            _ => {
                for element in elements {
                    self.enter_element(element, word, rest, findings);
                }
            }
        }
    }

    fn enter_element(&self, element: &mut Value, word: &str, rest: &[String], findings: &Findings) {
        match &mut element.kind {
            ValueKind::Table(table) => self.descend(table, rest, findings),
            _ => Diagnostic::error(
                &self.place,
                format!("`{word}` is a list of values, not of tables"),
            )
            .label(format!(
                "`{}` cannot be inside it",
                shortened(&rest.join("."))
            ))
            .report(findings),
        }
    }

    fn no_such_element(&self, len: usize, word: &str, choice: &str) -> Diagnostic {
        let hint = match len.checked_sub(1) {
            None => format!("`{word}` is empty"),
            Some(last) => format!("{word}.0 to {word}.{last}, each followed by .KEY"),
        };
        let message = format!("`{word}.{}` is not a key of a table", shortened(choice));
        Diagnostic::error(&self.place, message)
            .label(format!("`{word}` has {len}"))
            .hint(hint)
    }

    fn entry(&self, word: &str, value: Value) -> Entry {
        Entry {
            key: word.to_owned(),
            key_place: self.place.clone(),
            value,
        }
    }

    fn empty_table(&self) -> Value {
        Value {
            place: self.place.clone(),
            kind: ValueKind::Table(Table::default()),
        }
    }
}

/// Parses a text as a TOML value, or else as text.
fn typed_at(text: &str, source: Source, offset: usize) -> Value {
    let builder = Builder { source, offset };
    match DeValue::parse(text) {
        Ok(value) => builder.value(&value),
        Err(_) => Value {
            place: builder.place(0..text.len()),
            kind: ValueKind::Text(text.to_owned()),
        },
    }
}

/// Parses a text within `place`.
pub(crate) fn typed(text: &str, place: &Place) -> Value {
    Value {
        place: place.clone(),
        ..typed_at(text, place.source, place.span.start)
    }
}

/// Maximum words of a key: no key of a plan is deeper. The tree of a hostile text could overflow
/// the stack when dropped.
const MAX_WORDS: usize = 16;

/// Index of the element with that name or index.
pub(crate) fn position(elements: &[Value], choice: &str) -> Option<usize> {
    let is_named = |element: &Value| match &element.kind {
        ValueKind::Table(table) => matches!(
            table.value("name"),
            Some(Value { kind: ValueKind::Text(name), .. }) if name == choice
        ),
        _ => false,
    };
    let by_number = || choice.parse().ok().filter(|&index| index < elements.len());
    elements.iter().position(is_named).or_else(by_number)
}
