//! Reads the top of the plan and `[[series]]`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::assign::Assignment;
use crate::diagnostic::{Diagnostic, Diagnostics, Findings, Place, shown};
use crate::document::{Table, Value, ValueKind};
use crate::keys::lookup::SECTIONS;
use crate::keys::{self, MOST_FLOWS_IN_ALL, MOST_SERIES};
use crate::model::{Plan, Series};
use crate::nearest::nearest;
use crate::reader::Reader;
use crate::template::Variant;
use crate::unset;

use super::{over, sweep};

/// Reads the plan in `document` with the overrides applied. The result must not be used after an
/// error. `texts` receives the warnings.
pub(crate) fn plan(
    document: Table,
    overrides: &[Assignment],
    findings: &Findings,
    texts: Diagnostics,
) -> Plan {
    let mut top = document.clone();
    apply(&mut top, overrides.iter(), findings);
    let place = Place::in_plan(0..0);
    let reader = Reader::new(&keys::PLAN, &top, &place, findings);
    let name = reader.name("name").unwrap_or_default();
    let title = reader.text("title").unwrap_or_else(|| name.clone());
    let series = match reader.tables("series") {
        Some(tables) => {
            let mut common = document;
            common.entries.retain(|entry| entry.key != "series");
            let variations = Variations {
                common,
                overrides,
                findings,
            };
            variations.all(&reader, &over::expanded(tables, findings))
        }
        None => vec![Series {
            name: name.clone(),
            title: title.clone(),
            fitted: vec![],
            fit_of: None,
            scenario: super::scenario(&top, findings),
        }],
    };
    Plan {
        title,
        description: reader.text("description"),
        claims: reader.texts("claims"),
        seed: reader.whole("seed").unwrap_or(1),
        repeat: reader.count("repeat"),
        series,
        sweep: sweep::sweep(&reader),
        warnings: texts,
        name,
    }
}

/// Returns the document of each series that [`plan`] returns, in the same order.
pub(crate) fn variants(
    document: Table,
    overrides: &[Assignment],
    findings: &Findings,
) -> Vec<Variant> {
    let mut top = document.clone();
    apply(&mut top, overrides.iter(), findings);
    let place = Place::in_plan(0..0);
    let reader = Reader::new(&keys::PLAN, &top, &place, findings);
    let Some(tables) = reader.tables("series") else {
        return vec![Variant { document: top }];
    };
    let mut common = document;
    common.entries.retain(|entry| entry.key != "series");
    let variations = Variations {
        common,
        overrides,
        findings,
    };
    let tables = over::expanded(tables, findings);
    let readers = tables
        .iter()
        .filter_map(|value| Reader::of_value(&keys::SERIES, value, findings));
    let documents = readers.map(|reader| Variant {
        document: variations.document(&reader),
    });
    documents.collect()
}

fn apply<'a>(
    document: &mut Table,
    assignments: impl Iterator<Item = &'a Assignment>,
    findings: &Findings,
) {
    assignments.for_each(|assignment| assignment.apply(document, findings));
}

/// The common part of all series, and the overrides applied to each.
struct Variations<'a> {
    common: Table,
    overrides: &'a [Assignment],
    findings: &'a Findings<'a>,
}

impl Variations<'_> {
    fn all(&self, plan: &Reader, tables: &[Value]) -> Vec<Series> {
        if tables.is_empty() || tables.len() > MOST_SERIES {
            let message = format!("the plan has {} series", tables.len());
            self.findings.add(
                Diagnostic::error(plan.place_of("series"), message)
                    .label(format!("1 to {MOST_SERIES} are possible"))
                    .hint("[[series]], or no `series` at all for one"),
            );
            return Vec::new();
        }
        let readers: Vec<Reader> = tables
            .iter()
            .filter_map(|value| Reader::of_value(&keys::SERIES, value, self.findings))
            .collect();
        check_names(&readers);
        readers.iter().for_each(check_fitted);
        readers.iter().for_each(|reader| {
            sweep::order(reader);
        });
        let mut series: Vec<Series> = Vec::new();
        let mut flows = 0;
        for reader in &readers {
            series.extend(self.one(reader));
            flows += series
                .last()
                .map_or(0, |series| series.scenario.flows.len());
            if flows > MOST_FLOWS_IN_ALL {
                let message =
                    format!("all series together have more than {MOST_FLOWS_IN_ALL} flows");
                let finding = Diagnostic::error(plan.place_of("series"), message);
                self.findings
                    .add(finding.label("too many").hint("split the plan"));
                break;
            }
        }
        series
    }

    /// Returns the document that the series is read from.
    fn document(&self, reader: &Reader) -> Table {
        let mut document = self.common.clone();
        self.unset(reader, &mut document);
        let set = self.set(reader);
        apply(&mut document, set.iter(), self.findings);
        // Overrides come last, so they take precedence.
        let overrides = self
            .overrides
            .iter()
            .filter(|change| change.section() != "series");
        apply(&mut document, overrides, self.findings);
        document
    }

    fn one(&self, reader: &Reader) -> Option<Series> {
        let scenario = super::scenario(&self.document(reader), self.findings);
        let name = reader.name("name")?;
        Some(Series {
            title: reader.text("title").unwrap_or_else(|| name.clone()),
            fitted: reader.texts("fitted"),
            fit_of: reader.name("fit_of"),
            scenario,
            name,
        })
    }

    /// Removes the keys that `unset` of the series lists.
    fn unset(&self, reader: &Reader, document: &mut Table) {
        let places: Vec<Place> = match reader.value("unset").map(|value| &value.kind) {
            Some(ValueKind::Array(list)) => list.iter().map(|one| one.place.clone()).collect(),
            _ => Vec::new(),
        };
        for (key, place) in reader.texts("unset").iter().zip(&places) {
            let section = key.split('.').next().unwrap_or_default().trim();
            if !SECTIONS.contains(&section) {
                self.findings.add(cannot_change("unset", section, place));
            } else if !unset::remove(document, key) {
                self.findings.add(not_there(key, place, document));
            }
        }
    }

    fn set(&self, reader: &Reader) -> Vec<Assignment> {
        let Some(value) = reader.value("set") else {
            return Vec::new();
        };
        let ValueKind::Table(table) = &value.kind else {
            reader.report_wrong_type("set");
            return Vec::new();
        };
        let (able, unable): (Vec<_>, Vec<_>) = Assignment::from_set(table, self.findings)
            .into_iter()
            .partition(|change| SECTIONS.contains(&change.section()));
        for change in unable {
            let finding = cannot_change("set", change.section(), change.place());
            self.findings.add(finding);
        }
        able
    }
}

fn cannot_change(verb: &str, section: &str, place: &Place) -> Diagnostic {
    Diagnostic::error(
        place,
        format!("a series cannot {verb} `{}`", shown(section)),
    )
    .label("not part of a run")
    .nearest(nearest(section, SECTIONS))
    .hint(format!(
        "a series can {verb} keys of {}",
        SECTIONS.join(", ")
    ))
}

fn not_there(key: &str, place: &Place, document: &Table) -> Diagnostic {
    let known = unset::keys(document);
    let near = nearest(key, known.iter().map(String::as_str));
    Diagnostic::error(place, format!("the plan does not set `{}`", shown(key)))
        .label("nothing to take away")
        .nearest(near.map(|near| format!("\"{near}\"")))
        .hint("dotted keys that the plan itself sets, as in \"path.loss\"")
}

/// Checks that names of series are unique and that those in `fit_of` exist.
fn check_names(readers: &[Reader]) {
    let mut places: BTreeMap<String, &Place> = BTreeMap::new();
    for reader in readers {
        let Some(Value {
            kind: ValueKind::Text(name),
            place,
        }) = reader.value("name")
        else {
            continue;
        };
        if let Some(first) = places.insert(name.to_owned(), place) {
            reader.findings().add(
                Diagnostic::error(place, format!("two series are called `{name}`"))
                    .label("a second one")
                    .related(first, "the first one")
                    .effect("the results of one would be filed over those of the other"),
            );
        }
    }
    for reader in readers {
        check_fit(reader, &places);
    }
}

/// Checks that fitted keys are inputs of the run. A fit must list at least one.
fn check_fitted(reader: &Reader) {
    let fitted = reader.texts("fitted");
    for key in &fitted {
        let section = key.split('.').next().unwrap_or_default();
        if !SECTIONS.contains(&section) {
            let message = format!("`{}` is no input that could be fitted", shown(key));
            reader.findings().add(
                Diagnostic::error(reader.place_of_value("fitted"), message)
                    .label("dotted keys, as in `set`")
                    .nearest(nearest(section, SECTIONS))
                    .hint(format!("inputs are keys of {}", SECTIONS.join(", "))),
            );
        }
    }
    if fitted.is_empty() && reader.has("fit_of") {
        let message = "a fit that names no fitted input passes for a prediction";
        let finding = Diagnostic::warning(reader.place_of("fit_of"), message);
        reader.findings().add(
            finding
                .label("fitted what?")
                .hint("fitted = [\"receiver.ack_every\"]"),
        );
    }
}

fn check_fit(reader: &Reader, places: &BTreeMap<String, &Place>) {
    let Some(Value {
        kind: ValueKind::Text(target),
        place,
    }) = reader.value("fit_of")
    else {
        return;
    };
    let is_self = matches!(
        reader.value("name"),
        Some(Value { kind: ValueKind::Text(name), .. }) if name == target
    );
    if places.contains_key(target) && !is_self {
        return;
    }
    let (message, label) = if is_self {
        (
            format!("`{target}` cannot be a fit of itself"),
            "the series itself",
        )
    } else {
        (format!("there is no series `{target}`"), "unknown series")
    };
    let others = places
        .keys()
        .map(String::as_str)
        .filter(|name| *name != target);
    reader.findings().add(
        Diagnostic::error(place, message)
            .label(label)
            .nearest(nearest(target, others.clone()).map(|near| format!("\"{near}\"")))
            .hint("fit_of names another series of this plan"),
    );
}
