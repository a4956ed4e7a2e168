//! Queues over time, as `report.html` draws them.
//!
//! For each path element a record has the backlog, the queueing delay, and the drops and marks so
//! far. Each row holds until the next. The page draws a step line, and ticks at the rows in which
//! the counts increased. Elements without backlog, drops and marks are left out.

use gigatcp_plan::record::{HopRecord, SeriesRecord};
use serde::Serialize;

use crate::Report;
use crate::compare::Row;
use crate::group::groups;
use crate::page::{Column, MAX_LINES};
use crate::thin::{Point, deltas, thin};

/// Maximum number of points of all lines on the page.
const POINTS: usize = 45_000;

/// Maximum number of ticks of a line for drops, and of one for marks. More would overlap.
const TICKS: u64 = 600;

/// The queue of one element in the drawn repeat of one series.
#[derive(Debug, Serialize)]
pub struct Queue {
    /// The element's name.
    pub element: String,
    /// The series' name.
    pub series: String,
    /// Index of the first line of the series in [`crate::page::Page::lines`], which gives the
    /// color. For a series without lines, its number.
    pub line: usize,
    /// Queueing delay, µs.
    pub delay: Column,
    /// Packets waiting and in service.
    pub packets: Column,
    /// Bytes waiting and in service.
    pub bytes: Column,
    /// Times, in µs as differences, at which packets had been dropped since the previous tick.
    pub drops: Vec<i64>,
    /// Times, in µs as differences, at which packets had been marked since the previous tick.
    pub marks: Vec<i64>,
}

/// A row of the record.
type Sample = (u64, u64, u64, u64, u64, u64);

/// Queues of the series of a run; `rows` are those drawn as lines.
pub(crate) fn queues(report: &Report<'_>, rows: &[Row<'_>]) -> Vec<Queue> {
    let mut found: Vec<(usize, &SeriesRecord, &HopRecord)> = Vec::new();
    for (number, group) in groups(report.run).iter().take(MAX_LINES).enumerate() {
        let line = rows.iter().position(|row| row.group.name == group.name);
        let series = group.representative();
        let hops = series.hops.iter().filter(|hop| is_used(hop));
        found.extend(hops.map(|hop| (line.unwrap_or(number), series, hop)));
    }
    let budget = (POINTS / 3 / found.len().max(1)).max(50);
    let queues = found.into_iter();
    queues
        .map(|(line, series, hop)| queue(line, series, hop, budget))
        .collect()
}

fn is_used(hop: &HopRecord) -> bool {
    // One packet in service is not a queue.
    let row = |sample: &Sample| sample.1 > 1 || sample.4 > 0 || sample.5 > 0;
    hop.samples.iter().any(row)
}

fn queue(line: usize, series: &SeriesRecord, hop: &HopRecord, budget: usize) -> Queue {
    let end = series.duration_ns;
    let drops = hop.drop_times_ns.values().flatten().copied().collect();
    let column = |value: fn(&Sample) -> u64| {
        let mut points: Vec<Point> = Vec::with_capacity(hop.samples.len() + 1);
        points.extend(
            hop.samples
                .iter()
                .map(|sample| (sample.0 / 1000, value(sample))),
        );
        // The last row holds until the end.
        points.extend(hop.samples.last().map(|last| (end / 1000, value(last))));
        let kept = thin(&points, budget);
        Column {
            t: deltas(kept.iter().map(|point| point.0)),
            v: deltas(kept.iter().map(|point| point.1)),
        }
    };
    Queue {
        element: hop.name.clone(),
        series: series.name.clone(),
        line,
        delay: column(|sample| sample.3 / 1000),
        packets: column(|sample| sample.1),
        bytes: column(|sample| sample.2),
        drops: ticks(drops, &hop.samples, end, |sample| sample.4),
        marks: ticks(hop.mark_times_ns.clone(), &hop.samples, end, |sample| {
            sample.5
        }),
    }
}

/// At most [`TICKS`] times of events. First come those of `known`, which has the first events, then
/// those at which `count` had increased.
fn ticks(mut known: Vec<u64>, samples: &[Sample], end: u64, count: fn(&Sample) -> u64) -> Vec<i64> {
    known.sort_unstable();
    let first = known.len() as u64;
    let grown = samples.iter().scan(first, |before, sample| {
        let is_more = count(sample) > *before;
        *before = count(sample).max(first);
        Some((sample.0, is_more))
    });
    let further = grown.filter_map(|(at, is_more)| is_more.then_some(at));
    let step = (end / TICKS).max(1);
    let mut times: Vec<u64> = Vec::new();
    for at in known.iter().copied().chain(further) {
        if times.last().is_none_or(|last| at / step > last / step) {
            times.push(at);
        }
    }
    deltas(times.into_iter().map(|time| time / 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_stands_where_a_count_has_grown_and_close_ones_are_one() {
        let at = |ms: u64, dropped| (ms * 1_000_000, 0, 0, 0, dropped, 0);
        let samples = [at(0, 0), at(10, 1), at(20, 1), at(6_000, 2), at(6_001, 3)];
        let end = 60_000 * 1_000_000;
        let times = ticks(Vec::new(), &samples, end, |sample| sample.4);
        assert_eq!(times, [10_000, 5_990_000]);
        assert!(ticks(Vec::new(), &samples, 1, |sample| sample.5).is_empty());
    }

    #[test]
    fn ticks_of_the_first_events_stand_at_their_own_times() {
        let at = |ms: u64, dropped| (ms * 1_000_000, 0, 0, 0, dropped, 0);
        let samples = [at(0, 0), at(1000, 2), at(2000, 2), at(3000, 3)];
        let known = vec![520_000_000, 250_000_000];
        let times = ticks(known, &samples, 60_000 * 1_000_000, |sample| sample.4);
        assert_eq!(times, [250_000, 270_000, 2_480_000]);
    }
}
