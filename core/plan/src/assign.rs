//! Changing a document by dotted keys: overrides and the `set` of a series.
//!
//! `flow.congestion_control = cubic` names a value by the keys that lead to
//! it. Where the way leads through a list of tables (`[[flow]]`), the next
//! word picks one by its `name` or by its number counted from 0; any other
//! word means all of them. Keys that are not there yet are made, and what
//! they are worth is found by the checks that follow. A table stands for its
//! keys one by one, so `a = { b = 1 }` and `a.b = 1` do the same.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use toml::de::DeValue;

use crate::diagnostic::{Diagnostic, Place, Source};
use crate::document::{Builder, Entry, Table, Value, ValueKind};

/// A dotted key and what it is set to.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    words: Vec<String>,
    place: Place,
    value: Value,
}

impl Assignment {
    /// Reads an override `KEY=VALUE`, the one of that index. A value that is
    /// not TOML is text, so that a shell needs no second pair of quotes.
    pub(crate) fn from_override(text: &str, index: usize) -> Result<Vec<Self>, Diagnostic> {
        let source = Source::Override(index);
        let Some((key, rest)) = text.split_once('=') else {
            let whole = Place {
                source,
                span: 0..text.len(),
            };
            return Err(Diagnostic::error(&whole, format!("`{text}` sets nothing"))
                .label("no `=` here")
                .hint("KEY=VALUE, as in flow.congestion_control=cubic"));
        };
        let place = Place {
            source,
            span: 0..key.len(),
        };
        let value_text = rest.trim();
        let builder = Builder {
            source,
            offset: text.len() - rest.trim_start().len(),
        };
        let value = match DeValue::parse(value_text) {
            Ok(value) => builder.value(&value),
            Err(_) => Value {
                place: builder.place(0..value_text.len()),
                kind: ValueKind::Text(value_text.to_owned()),
            },
        };
        Self::list(&[], key, &place, &value)
    }

    /// The assignments that the table `set` of a series stands for.
    pub(crate) fn from_set(set: &Table) -> Result<Vec<Self>, Diagnostic> {
        let lists = set
            .entries
            .iter()
            .map(|entry| Self::list(&[], &entry.key, &entry.key_place, &entry.value));
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The assignments that `key = value` stands for behind the words before.
    fn list(
        before: &[String],
        key: &str,
        place: &Place,
        value: &Value,
    ) -> Result<Vec<Self>, Diagnostic> {
        let mut words = before.to_vec();
        words.extend(key.split('.').map(|word| word.trim().to_owned()));
        if words.iter().any(String::is_empty) {
            return Err(
                Diagnostic::error(place, format!("`{key}` is not a dotted key"))
                    .label("a word is missing")
                    .hint("words with dots between them, as in flow.congestion_control"),
            );
        }
        let ValueKind::Table(table) = &value.kind else {
            let (place, value) = (place.clone(), value.clone());
            return Ok(vec![Self {
                words,
                place,
                value,
            }]);
        };
        let lists = table
            .entries
            .iter()
            .map(|entry| Self::list(&words, &entry.key, &entry.key_place, &entry.value));
        Ok(lists.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// The first word of the key.
    pub(crate) fn section(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Where the key stands.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// Changes the document.
    pub(crate) fn apply(&self, document: &mut Table) -> Result<(), Diagnostic> {
        self.descend(document, &self.words)
    }

    fn descend(&self, table: &mut Table, words: &[String]) -> Result<(), Diagnostic> {
        let Some((word, rest)) = words.split_first() else {
            return Ok(());
        };
        if rest.is_empty() {
            table.put(self.entry(word, self.value.clone()));
            return Ok(());
        }
        if table.entry(word).is_none() {
            table.put(self.entry(word, self.empty_table()));
        }
        match table.value_mut(word) {
            Some(value) => self.enter(value, word, rest),
            None => Ok(()),
        }
    }

    fn enter(&self, value: &mut Value, word: &str, rest: &[String]) -> Result<(), Diagnostic> {
        match &mut value.kind {
            ValueKind::Table(table) => self.descend(table, rest),
            ValueKind::Array(elements) => self.enter_list(elements, word, rest),
            _ => Err(Diagnostic::error(
                &self.place,
                format!("`{word}` is {} and has no keys", value.describe()),
            )
            .label(format!("`{}` cannot be inside it", rest.join(".")))
            .related(&value.place, format!("`{word}` is set here"))),
        }
    }

    fn enter_list(
        &self,
        elements: &mut [Value],
        word: &str,
        rest: &[String],
    ) -> Result<(), Diagnostic> {
        let Some((choice, inner)) = rest.split_first() else {
            return Ok(());
        };
        let chosen = match position(elements, choice) {
            Some(index) if !inner.is_empty() => index,
            _ if choice.bytes().all(|b| b.is_ascii_digit()) => {
                return Err(self.no_such_element(elements.len(), word, choice));
            }
            _ => {
                return elements
                    .iter_mut()
                    .try_for_each(|element| self.enter_element(element, word, rest));
            }
        };
        self.enter_element(&mut elements[chosen], word, inner)
    }

    fn enter_element(
        &self,
        element: &mut Value,
        word: &str,
        rest: &[String],
    ) -> Result<(), Diagnostic> {
        match &mut element.kind {
            ValueKind::Table(table) => self.descend(table, rest),
            _ => Err(Diagnostic::error(
                &self.place,
                format!("`{word}` is a list of values, not of tables"),
            )
            .label(format!("`{}` cannot be inside it", rest.join(".")))),
        }
    }

    fn no_such_element(&self, len: usize, word: &str, choice: &str) -> Diagnostic {
        let hint = match len.checked_sub(1) {
            None => format!("`{word}` is empty"),
            Some(last) => format!("{word}.0 to {word}.{last}, each followed by .KEY"),
        };
        Diagnostic::error(
            &self.place,
            format!("`{word}.{choice}` names no table of `{word}`"),
        )
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

/// The element that goes by that name, or has that number.
fn position(elements: &[Value], choice: &str) -> Option<usize> {
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
