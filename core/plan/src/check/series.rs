//! Reads the top of the plan and `[[series]]`.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::assign::Assignment;
use crate::diagnostic::{Diagnostic, Diagnostics, Findings, Place};
use crate::document::{Table, Value, ValueKind};
use crate::keys::lookup::SECTIONS;
use crate::keys::{self, MAX_FLOWS_IN_ALL, MAX_SERIES};
use crate::model::{Plan, Series};
use crate::nearest::nearest;
use crate::reader::Reader;
use crate::unset;
use gigatcp_units::grammar::shortened;

use super::{over, sweep};

/// Reads the plan in `document` with the overrides applied. Returns it with the document of each
/// series, in the same order. The result must not be used after an error. `texts` receives the
/// warnings.
pub(crate) fn plan(
    document: Table,
    overrides: &[Assignment],
    findings: &Findings,
    texts: Diagnostics,
) -> (Plan, Vec<Table>) {
    let mut top = document.clone();
    apply(&mut top, overrides.iter(), findings);
    let place = Place::in_plan(0..0);
    let reader = Reader::new(&keys::PLAN, &top, &place, findings);
    let name = reader.name("name").unwrap_or_default();
    let title = reader.text("title").unwrap_or_else(|| name.clone());
    check_fitted(&reader);
    check_declared(&reader);
    let (series, documents) = match reader.tables("series") {
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
        None => {
            let series = Series {
                name: name.clone(),
                title: title.clone(),
                fitted: reader.texts("fitted"),
                fit_of: None,
                scenario: super::scenario(&top, findings),
            };
            (vec![series], vec![top.clone()])
        }
    };
    let plan = Plan {
        title,
        description: reader.text("description"),
        claims: reader.texts("claims"),
        seed: reader.whole("seed").unwrap_or(1),
        repeat: reader.count("repeat"),
        series,
        sweep: sweep::sweep(&reader),
        warnings: texts,
        name,
    };
    (plan, documents)
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
    fn all(&self, plan: &Reader, tables: &[Value]) -> (Vec<Series>, Vec<Table>) {
        if tables.is_empty() || tables.len() > MAX_SERIES {
            let message = format!("the plan has {} series", tables.len());
            Diagnostic::error(plan.place_of("series"), message)
                .label(format!("1 to {MAX_SERIES} are possible"))
                .hint("[[series]], or no `series` at all for one")
                .report(self.findings);
            return Default::default();
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
        let mut all = (Vec::new(), Vec::new());
        let mut flows = 0;
        for reader in &readers {
            let document = self.document(reader);
            let scenario = super::scenario(&document, self.findings);
            let Some(name) = reader.name("name") else {
                continue;
            };
            flows += scenario.flows.len();
            all.0.push(Series {
                title: reader.text("title").unwrap_or_else(|| name.clone()),
                fitted: [plan.texts("fitted"), reader.texts("fitted")].concat(),
                fit_of: reader.name("fit_of"),
                scenario,
                name,
            });
            all.1.push(document);
            if flows > MAX_FLOWS_IN_ALL {
                let message =
                    format!("all series together have more than {MAX_FLOWS_IN_ALL} flows");
                Diagnostic::error(plan.place_of("series"), message)
                    .label("too many")
                    .hint("split the plan")
                    .report(self.findings);
                break;
            }
        }
        all
    }

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

    /// Removes the keys that `unset` of the series lists.
    fn unset(&self, reader: &Reader, document: &mut Table) {
        let places: Vec<Place> = match reader.value("unset").map(|value| &value.kind) {
            Some(ValueKind::Array(list)) => list.iter().map(|key| key.place.clone()).collect(),
            _ => Vec::new(),
        };
        for (key, place) in reader.texts("unset").iter().zip(&places) {
            let section = key.split('.').next().unwrap_or_default().trim();
            if !SECTIONS.contains(&section) {
                cannot_change("unset", section, place).report(self.findings);
            } else if !unset::remove(document, key) {
                not_there(key, place, document).report(self.findings);
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
            cannot_change("set", change.section(), change.place()).report(self.findings);
        }
        able
    }
}

fn cannot_change(verb: &str, section: &str, place: &Place) -> Diagnostic {
    Diagnostic::error(
        place,
        format!("a series cannot {verb} `{}`", shortened(section)),
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
    Diagnostic::error(place, format!("the plan does not set `{}`", shortened(key)))
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
            Diagnostic::error(place, format!("two series are called `{name}`"))
                .label("a second one")
                .related(first, "the first one")
                .effect("the results of one would be filed over those of the other")
                .report(reader.findings());
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
            let message = format!("`{}` is no input that could be fitted", shortened(key));
            Diagnostic::error(reader.place_of_value("fitted"), message)
                .label("dotted keys, as in `set`")
                .nearest(nearest(section, SECTIONS))
                .hint(format!("inputs are keys of {}", SECTIONS.join(", ")))
                .report(reader.findings());
        }
    }
    if fitted.is_empty() && reader.has("fit_of") {
        let message = "a fit that names no fitted input passes for a prediction";
        Diagnostic::warning(reader.place_of("fit_of"), message)
            .label("fitted what?")
            .hint("fitted = [\"receiver.ack_every\"]")
            .report(reader.findings());
    }
}

/// Checks that a plan that tests claims declares which inputs were fitted to them. A comment that
/// says so is not in the report.
fn check_declared(plan: &Reader) {
    if plan.has("claims") && !plan.has("fitted") {
        let message = "the plan tests claims and does not declare its fitted inputs";
        Diagnostic::error(plan.place_of("claims"), message)
            .label("were inputs chosen to match what was published?")
            .effect("a reader could take a fit for a prediction")
            .hint("fitted = [], or the keys of these inputs")
            .report(plan.findings());
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
    Diagnostic::error(place, message)
        .label(label)
        .nearest(nearest(target, others.clone()).map(|near| format!("\"{near}\"")))
        .hint("fit_of names another series of this plan")
        .report(reader.findings());
}
