//! A series with `over`: one series for each combination of the levels of its axes.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_units::order::Order;

use crate::assign;
use crate::axis::{Axis, Level, Setting};
use crate::diagnostic::{Diagnostic, Findings, Place};
use crate::document::{Entry, Table, Value, ValueKind};
use crate::keys::MAX_SERIES;

/// Tables of all series. One with `over` becomes a table for each combination.
pub(super) fn expanded(tables: &[Value], findings: &Findings) -> Vec<Value> {
    let mut all = Vec::new();
    for value in tables {
        match &value.kind {
            ValueKind::Table(table) if table.entry("over").is_some() => {
                all.extend(combinations(table, &value.place, findings));
            }
            _ => all.push(value.clone()),
        }
        // An excess is reported where all are counted.
        if all.len() > MAX_SERIES {
            break;
        }
    }
    all
}

fn combinations(table: &Table, place: &Place, findings: &Findings) -> Vec<Value> {
    let axes = axes(table, findings);
    let mut rest = table.clone();
    rest.entries.retain(|entry| entry.key != "over");
    let mut done: Vec<(Table, Vec<Names>)> = vec![(rest, vec![])];
    for (axis, place) in &axes {
        let levels = axis.levels.iter().enumerate().take(MAX_SERIES + 1);
        let next = done.iter().flat_map(|(table, names)| {
            levels.clone().map(move |(number, level)| {
                let mut longer = names.clone();
                longer.push(Names {
                    label: level.label.clone(),
                    value: match level.values.first() {
                        Some(Setting::Text(text)) => text.clone(),
                        _ => String::new(),
                    },
                    number: number + 1,
                });
                (with_level(table, axis, level, place), longer)
            })
        });
        done = next.take(MAX_SERIES + 1).collect();
    }
    let values = done.into_iter().map(|(mut table, names)| {
        fill_in(&mut table, &names);
        Value {
            place: place.clone(),
            kind: ValueKind::Table(table),
        }
    });
    let mut values: Vec<Value> = values.collect();
    let is_random = matches!(
        table.value("order").map(|value| &value.kind),
        Some(ValueKind::Text(order)) if order == "random"
    );
    if is_random {
        let order = Order::random(values.len() as u64, 1);
        let places = 0..values.len() as u64;
        values = places
            .map(|place| values[order.at(place) as usize].clone())
            .collect();
    }
    values
}

fn axes(table: &Table, findings: &Findings) -> Vec<(Axis, Place)> {
    let elements = match table.value("over").map(|value| &value.kind) {
        Some(ValueKind::Array(elements)) => elements.as_slice(),
        _ => table.value("over").map_or(&[][..], core::slice::from_ref),
    };
    let axes = elements.iter().filter_map(|element| {
        let ValueKind::Text(text) = &element.kind else {
            let message = format!("an axis cannot be {}", element.describe());
            Diagnostic::error(&element.place, message)
                .hint("over = [\"flow.window = 1 MB, 2 MB\"]")
                .report(findings);
            return None;
        };
        let axis = match Axis::read(text) {
            Ok(axis) => axis,
            Err(error) => {
                let place = element.place_within(text, error.span);
                Diagnostic::error(&place, format!("`over`: {}", error.why))
                    .nearest(error.nearest)
                    .hint(error.hint)
                    .report(findings);
                return None;
            }
        };
        let mut settings = axis.levels.iter().flat_map(|level| &level.values);
        let is_computed = settings.any(|setting| matches!(setting, Setting::Computed(_)));
        if is_computed || !axis.when.is_empty() {
            let message = "a series has neither computed levels nor `when`";
            Diagnostic::error(&element.place, message)
                .hint("over = [...] in [sweep], for `gigatcp sweep`")
                .report(findings);
            return None;
        }
        Some((axis, element.place.clone()))
    });
    axes.collect()
}

/// Table with the values of a level added to its `set`.
fn with_level(table: &Table, axis: &Axis, level: &Level, place: &Place) -> Table {
    let mut changed = table.clone();
    let mut set = match changed.value("set").map(|value| &value.kind) {
        Some(ValueKind::Table(set)) => set.clone(),
        _ => Table::default(),
    };
    for (key, setting) in axis.keys.iter().zip(&level.values) {
        let Setting::Text(text) = setting else {
            continue;
        };
        set.put(Entry {
            key: key.clone(),
            key_place: place.clone(),
            value: assign::typed(text, place),
        });
    }
    changed.put(Entry {
        key: "set".to_owned(),
        key_place: place.clone(),
        value: Value {
            place: place.clone(),
            kind: ValueKind::Table(set),
        },
    });
    changed
}

/// Texts of a level for the placeholders of a series.
#[derive(Clone)]
struct Names {
    label: String,
    value: String,
    number: usize,
}

/// Replaces `{1}`, `{=1}` and `{#1}` in a series by texts of levels.
fn fill_in(table: &mut Table, names: &[Names]) {
    for key in ["name", "title", "fit_of"] {
        let Some(ValueKind::Text(text)) = table.value_mut(key).map(|value| &mut value.kind) else {
            continue;
        };
        for (axis, names) in (1..).zip(names) {
            *text = text.replace(&format!("{{{axis}}}"), &names.label);
            *text = text.replace(&format!("{{={axis}}}"), &names.value);
            *text = text.replace(&format!("{{#{axis}}}"), &format!("{}", names.number));
        }
    }
}
