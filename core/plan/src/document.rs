//! The plan as a tree of values with their places in the text.
//!
//! The TOML parser's own tree borrows the text and sorts its keys. This tree owns its values and
//! keeps their order. It mixes values from the file with values from overrides, each with its
//! [`Place`]. A series or an override is therefore an ordinary change of the document before it is
//! checked.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use crate::diagnostic::{Place, Source};

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    pub(crate) place: Place,
    pub(crate) kind: ValueKind,
}

/// Kinds of TOML values.
#[derive(Clone, Debug)]
pub(crate) enum ValueKind {
    Text(String),
    /// A whole number. `None` if it does not fit 128 bits.
    Integer(Option<i128>),
    Float(f64),
    Flag(bool),
    /// A date or time of day, which no key of a plan accepts.
    Date,
    Array(Vec<Value>),
    Table(Table),
}

impl Value {
    /// Name of its kind, for messages: "a text".
    pub(crate) const fn describe(&self) -> &'static str {
        match self.kind {
            ValueKind::Text(_) => "text",
            ValueKind::Integer(_) => "a whole number",
            ValueKind::Float(_) => "a number",
            ValueKind::Flag(_) => "true or false",
            ValueKind::Date => "a date",
            ValueKind::Array(_) => "a list",
            ValueKind::Table(_) => "a table",
        }
    }

    /// Place of the bytes `span` of this value, whose text is `text`. Escapes make a text longer in
    /// the file; then the place is the whole value.
    pub(crate) fn place_within(&self, text: &str, span: Range<usize>) -> Place {
        let written = &self.place.span;
        let start = match written.len().checked_sub(text.len()) {
            Some(0) => written.start,
            Some(2) => written.start + 1,
            _ => return self.place.clone(),
        };
        let end = text.len().min(span.end);
        Place {
            source: self.place.source,
            span: start + span.start.min(end)..start + end,
        }
    }
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_place: Place,
    pub(crate) value: Value,
}

/// Keys and values in the order of writing.
#[derive(Clone, Default, Debug)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|entry| &entry.value)
    }

    pub(crate) fn value_mut(&mut self, key: &str) -> Option<&mut Value> {
        let entry = self.entries.iter_mut().find(|entry| entry.key == key);
        entry.map(|entry| &mut entry.value)
    }

    /// Inserts `entry`, or replaces the one with the same key.
    pub(crate) fn put(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|old| old.key == entry.key) {
            Some(old) => *old = entry,
            None => self.entries.push(entry),
        }
    }
}

/// Builds the tree of one text whose parsed part begins at byte `offset`.
pub(crate) struct Builder {
    pub(crate) source: Source,
    pub(crate) offset: usize,
}

impl Builder {
    pub(crate) fn table(&self, table: &DeTable<'_>) -> Table {
        let mut entries: Vec<Entry> = table
            .iter()
            .map(|(key, value)| Entry {
                key: (**key.get_ref()).to_owned(),
                key_place: self.place(key.span()),
                value: self.value(value),
            })
            .collect();
        entries.sort_by_key(|entry| entry.key_place.span.start);
        Table { entries }
    }

    pub(crate) fn value(&self, value: &Spanned<DeValue<'_>>) -> Value {
        let kind = match value.get_ref() {
            DeValue::String(text) => ValueKind::Text((**text).to_owned()),
            DeValue::Integer(number) => ValueKind::Integer(integer(number)),
            // The parser has checked the spelling; every bound rejects NaN.
            DeValue::Float(number) => ValueKind::Float(number.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(flag) => ValueKind::Flag(*flag),
            DeValue::Datetime(_) => ValueKind::Date,
            DeValue::Array(array) => ValueKind::Array(self.array(array)),
            DeValue::Table(table) => ValueKind::Table(self.table(table)),
        };
        Value {
            place: self.place(value.span()),
            kind,
        }
    }

    fn array(&self, array: &DeArray<'_>) -> Vec<Value> {
        array.iter().map(|value| self.value(value)).collect()
    }

    pub(crate) fn place(&self, span: Range<usize>) -> Place {
        Place {
            source: self.source,
            span: span.start + self.offset..span.end + self.offset,
        }
    }
}

fn integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}
