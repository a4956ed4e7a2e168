//! Removes values by dotted keys: the `unset` of a series.
//!
//! A key leads to a value as in `set` ([`crate::assign`]). In a list of tables, the next word picks
//! one by name or index; any other word selects all of them. A removed key is as if it had never
//! been in the plan.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::assign::position;
use crate::document::{Table, Value, ValueKind};

/// Removes the value of a dotted key; returns whether there was one.
pub(crate) fn remove(document: &mut Table, key: &str) -> bool {
    let words: Vec<&str> = key.split('.').map(str::trim).collect();
    remove_from_table(document, &words)
}

fn remove_from_table(table: &mut Table, words: &[&str]) -> bool {
    let Some((word, rest)) = words.split_first() else {
        return false;
    };
    if rest.is_empty() {
        let before = table.entries.len();
        table.entries.retain(|entry| entry.key != *word);
        return table.entries.len() < before;
    }
    match table.value_mut(word).map(|value| &mut value.kind) {
        Some(ValueKind::Table(inner)) => remove_from_table(inner, rest),
        Some(ValueKind::Array(elements)) => remove_from_list(elements, rest),
        _ => false,
    }
}

fn remove_from_list(elements: &mut [Value], words: &[&str]) -> bool {
    let Some((choice, inner)) = words.split_first() else {
        return false;
    };
    if let Some(index) = position(elements, choice).filter(|_| !inner.is_empty()) {
        return remove_from_element(&mut elements[index], inner);
    }
    elements.iter_mut().fold(false, |any, element| {
        remove_from_element(element, words) | any
    })
}

fn remove_from_element(element: &mut Value, words: &[&str]) -> bool {
    match &mut element.kind {
        ValueKind::Table(table) => remove_from_table(table, words),
        _ => false,
    }
}

/// Every dotted key that the document sets, without element indices.
pub(crate) fn keys(document: &Table) -> Vec<String> {
    let mut all = Vec::new();
    collect(document, "", &mut all);
    all
}

fn collect(table: &Table, before: &str, all: &mut Vec<String>) {
    for entry in &table.entries {
        let key = match before {
            "" => entry.key.clone(),
            before => format!("{before}.{}", entry.key),
        };
        match &entry.value.kind {
            ValueKind::Table(inner) => collect(inner, &key, all),
            ValueKind::Array(elements) => {
                for element in elements {
                    if let ValueKind::Table(inner) = &element.kind {
                        collect(inner, &key, all);
                    }
                }
            }
            _ => {}
        }
        all.push(key);
    }
}
