//! Reads `[sweep]`. The sweep itself parses its texts; here its axes are checked.

use crate::axis::{Axis, Condition};
use crate::diagnostic::{Diagnostic, Place};
use crate::document::ValueKind;
use crate::keys;
use crate::model::Sweep;
use crate::reader::Reader;
use alloc::format;
use gigatcp_units::settings::TextError;

/// Reads the section, if there is one.
pub(super) fn sweep(plan: &Reader) -> Option<Sweep> {
    let value = plan.value("sweep")?;
    let reader = Reader::of_value(&keys::SWEEP, value, plan.findings())?;
    check(&reader, "over", |text| Axis::read(text).map(|_| ()));
    check(&reader, "draw", |text| Axis::read(text).map(|_| ()));
    check(&reader, "exclude", |text| {
        Condition::read_all(text, 0).map(|_| ())
    });
    Some(Sweep {
        over: reader.texts("over"),
        exclude: reader.texts("exclude"),
        design: reader.text("design"),
        order: order(&reader).map(Into::into),
        repeat: reader.count("repeat"),
        batches: reader.count("batches"),
        draw: reader.texts("draw"),
        metric: reader.text("metric"),
        until: reader.probability("until").map(|share| share.as_f64()),
        most: reader.count("most"),
    })
}

/// Reads the order of cells or series.
pub(super) fn order(reader: &Reader) -> Option<&'static str> {
    let orders = ["random", "written"];
    let find = |name: &str| orders.into_iter().find(|order| *order == name);
    reader.choice("order", "order", orders.into_iter(), find)
}

/// Checks each text of a list, at its place in the plan.
fn check(reader: &Reader, key: &str, read: impl Fn(&str) -> Result<(), TextError>) {
    let Some(ValueKind::Array(elements)) = reader.value(key).map(|value| &value.kind) else {
        return;
    };
    for element in elements {
        let ValueKind::Text(text) = &element.kind else {
            continue;
        };
        if let Err(error) = read(text) {
            let place: Place = element.place_within(text, error.span);
            Diagnostic::error(&place, format!("`{key}`: {}", error.why))
                .nearest(error.nearest)
                .hint(error.hint)
                .report(reader.findings());
        }
    }
}
