//! A plan that is read many times with further changes, as a sweep does.
//!
//! The text is parsed once. For each cell the document of one series is changed and checked again.
//! A cell therefore equals a run with the same `--set`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::Files;
use crate::assign::Assignment;
use crate::axis::Amount;
use crate::check;
use crate::diagnostic::{Diagnostics, Findings, Severity};
use crate::document::{Table, Value, ValueKind};
use crate::model::{Plan, Series};

/// A checked plan that can be read again with changes.
#[derive(Clone, Debug)]
pub struct Template {
    plan: Plan,
    /// Document of each series, with `unset`, `set` and overrides applied.
    documents: Vec<Table>,
}

/// Top-level keys of a plan that do not change a simulation.
const DESCRIPTIVE_KEYS: [&str; 9] = [
    "name",
    "title",
    "description",
    "claims",
    "fitted",
    "seed",
    "repeat",
    "series",
    "sweep",
];

impl Template {
    /// Reads and checks a plan, as [`parse_with`](crate::parse_with) does.
    ///
    /// # Errors
    /// As [`parse_with`](crate::parse_with).
    pub fn read(
        source_name: &str,
        bytes: &[u8],
        overrides: &[String],
        files: &dyn Files,
    ) -> Result<Self, Diagnostics> {
        let (plan, documents) = crate::read(source_name, bytes, overrides, files)?;
        Ok(Self { plan, documents })
    }

    /// Plan without changes.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Series with that index, with changes `KEY=VALUE`.
    ///
    /// # Errors
    /// All findings in the changed series.
    pub fn cell(
        &self,
        series: usize,
        changes: &[String],
        files: &dyn Files,
    ) -> Result<Series, Diagnostics> {
        let findings = Findings::new(files);
        let base = self.plan.warnings.overrides.len();
        let mut document = self.documents[series].clone();
        for (number, change) in changes.iter().enumerate() {
            for assignment in Assignment::from_override(change, base + number, &findings) {
                assignment.apply(&mut document, &findings);
            }
        }
        let scenario = check::scenario(&document, &findings);
        let list = findings.into_sorted();
        if list
            .iter()
            .any(|finding| finding.severity == Severity::Error)
        {
            let mut texts = self.plan.warnings.clone();
            texts.overrides.extend_from_slice(changes);
            return Err(Diagnostics { list, ..texts });
        }
        Ok(Series {
            scenario,
            ..self.plan.series[series].clone()
        })
    }

    /// Every value that the series sets, by dotted key with element indices.
    pub fn leaves(&self, series: usize) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let document = &self.documents[series];
        for entry in &document.entries {
            if !DESCRIPTIVE_KEYS.contains(&entry.key.as_str()) {
                collect(&entry.value, &entry.key, &mut all);
            }
        }
        all
    }

    /// Dotted keys, with element indices, that a key of an axis sets.
    pub fn paths(&self, series: usize, key: &str) -> Vec<String> {
        const MARK: &str = "\u{1}";
        let findings = Findings::default();
        let mut document = self.documents[series].clone();
        for assignment in Assignment::from_override(&format!("{key}={MARK}"), 0, &findings) {
            assignment.apply(&mut document, &findings);
        }
        let mut all = BTreeMap::new();
        for entry in &document.entries {
            collect(&entry.value, &entry.key, &mut all);
        }
        let marked = all.into_iter().filter(|(_, text)| text == MARK);
        marked.map(|(path, _)| path).collect()
    }
}

fn collect(value: &Value, path: &str, all: &mut BTreeMap<String, String>) {
    let text = match &value.kind {
        ValueKind::Table(table) => {
            for entry in &table.entries {
                collect(&entry.value, &format!("{path}.{}", entry.key), all);
            }
            return;
        }
        ValueKind::Array(elements) => {
            for (number, element) in elements.iter().enumerate() {
                collect(element, &format!("{path}.{number}"), all);
            }
            return;
        }
        ValueKind::Text(text) => text.clone(),
        ValueKind::Integer(number) => format!("{}", number.unwrap_or_default()),
        ValueKind::Float(number) => format!("{number:?}"),
        ValueKind::Flag(flag) => format!("{flag}"),
        ValueKind::Date => String::new(),
    };
    all.insert(path.to_owned(), text);
}

/// A value in a canonical form. `10ms`, `10 ms` and `0.01 s` give the same text.
pub fn canonical(text: &str) -> String {
    let trimmed = text.trim();
    match Amount::read(trimmed) {
        Some(amount) => {
            let (data, time) = (amount.dimension.data, amount.dimension.time);
            format!("{:e} {data} {time}", amount.value)
        }
        None => trimmed.to_owned(),
    }
}
