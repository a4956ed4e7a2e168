//! Columns of the table of path elements.

use std::collections::{BTreeMap, BTreeSet};

use gigatcp_plan::record::HopRecord;

use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::number::{ABSENT, fixed, grouped};
use crate::table::Column;

/// Columns after the name that `hops` need. Values that are zero at all of them have no column.
pub(crate) fn columns<'a>(
    hops: impl Iterator<Item = &'a HopRecord> + Clone,
) -> Vec<Column<HopRecord>> {
    let mut columns: Vec<Column<HopRecord>> = vec![
        count("packets in", |hop| hop.arrived_packets),
        count("out", |hop| hop.delivered_packets),
    ];
    columns.extend(dropped(hops.clone(), |hop| &hop.drops));
    let seldom = [
        (
            "marked",
            (|hop| hop.marked_packets) as fn(&HopRecord) -> u64,
        ),
        ("corrupted", |hop| hop.corrupted_packets),
        ("inside at the end", |hop| hop.inside_packets),
        ("collisions", |hop| hop.collisions),
    ];
    for (heading, value) in seldom {
        if hops.clone().any(|hop| value(hop) > 0) {
            columns.push(count(heading, value));
        }
    }
    let delays = [
        (
            "queueing, median",
            (|hop| hop.queueing_delay_p50_ns) as fn(&HopRecord) -> Option<u64>,
        ),
        ("99 %", |hop| hop.queueing_delay_p99_ns),
    ];
    for (heading, delay) in delays {
        if hops.clone().any(|hop| delay(hop).is_some()) {
            let shown = move |hop: &HopRecord| match delay(hop) {
                Some(nanos) => human_duration(Duration::from_nanos(nanos)).to_string(),
                None => ABSENT.to_owned(),
            };
            columns.push((heading.to_owned(), Box::new(shown)));
        }
    }
    columns.push(count("largest backlog", |hop| hop.max_backlog_packets));
    columns.push((
        "busy, %".to_owned(),
        Box::new(|hop| fixed(hop.utilization_fraction * 100.0, 1)),
    ));
    columns
}

/// A column of counts.
pub(crate) fn count<T: 'static>(heading: &str, value: fn(&T) -> u64) -> Column<T> {
    (heading.to_owned(), Box::new(move |row| grouped(value(row))))
}

/// A column for each cause of drops in `rows`.
pub(crate) fn dropped<'a, T: 'static>(
    rows: impl Iterator<Item = &'a T>,
    drops: fn(&T) -> &BTreeMap<String, u64>,
) -> Vec<Column<T>> {
    let causes = rows.flat_map(|row| drops(row).iter());
    let met: BTreeSet<&String> = causes
        .filter_map(|(cause, count)| (*count > 0).then_some(cause))
        .collect();
    let columns = met.into_iter().map(|cause| -> Column<T> {
        let id = cause.clone();
        let heading = format!("dropped, {}", cause.replace('_', " "));
        let dropped = move |row: &T| grouped(drops(row).get(&id).copied().unwrap_or(0));
        (heading, Box::new(dropped))
    });
    columns.collect()
}
