//! Columns of the table of path elements.

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
    let mut causes: Vec<&String> = hops.clone().flat_map(|hop| hop.drops.keys()).collect();
    causes.sort_unstable();
    causes.dedup();
    for cause in causes {
        let id = cause.clone();
        let dropped = move |hop: &HopRecord| hop.drops.get(&id).copied().unwrap_or(0);
        if hops.clone().any(|hop| dropped(hop) > 0) {
            let heading = format!("dropped, {}", cause.replace('_', " "));
            columns.push((heading, Box::new(move |hop| grouped(dropped(hop)))));
        }
    }
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

fn count(heading: &str, value: fn(&HopRecord) -> u64) -> Column<HopRecord> {
    (heading.to_owned(), Box::new(move |hop| grouped(value(hop))))
}
