//! Shortened text of a run that would fill a hundred screens.
//!
//! Neighboring intervals are summed up to one line if there are many. Many series are shown as a
//! table only. With very many, the table has the series with published numbers, and the first of
//! the others. What is left out is counted. Below the table are facts that must not be omitted: a
//! failed connection, a value that differs from the requested one. Runs in real time are few,
//! report what disturbed them, and are never shortened.

use std::fmt::Write as _;

use gigatcp_plan::record::{FlowRecord, IntervalRecord, SeriesRecord};

use crate::Report;
use crate::compare::Row;
use crate::escape::terminal;
use crate::group::by_key;
use crate::thin::round_step;
use crate::{nuttcp, table};

/// Maximum number of interval lines of a flow.
pub const MOST_INTERVALS: usize = 30;

/// Maximum number of series that are shown one by one.
pub const MOST_SERIES: usize = 12;

/// Maximum number of rows in the table; rows with published numbers are always kept.
pub const MOST_ROWS: usize = 24;

/// Maximum number of notes below the table.
const MOST_REMARKS: usize = 8;

/// Amount of a run that is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// A few screens.
    Brief,
    /// At most this number of interval lines per flow.
    Lines(usize),
    /// All of it.
    Whole,
}

/// Text of a run, shortened if necessary.
pub(crate) fn text(report: &Report<'_>) -> String {
    let first = || report.run.series.iter().filter(|series| series.repeat == 0);
    let count = first().count();
    if count <= MOST_SERIES || first().any(|series| series.live.is_some()) {
        let mut out = report.text_each(Detail::Brief);
        out.push_str(&table::summary(report, Detail::Brief));
        return out;
    }
    let mut out = table::changes(&report.run.overrides);
    out += &format!(
        "{count} series: --series NAME shows one with its intervals and its path, --all shows \
         all.\n\n"
    );
    out.push_str(&table::summary(report, Detail::Brief));
    out.push_str(&remarks(first()));
    out
}

/// Notes on series that are not shown one by one. A note that applies to several is printed once.
pub(crate) fn remarks<'a>(series: impl Iterator<Item = &'a SeriesRecord>) -> String {
    let said = by_key(series.flat_map(|one| {
        let lines = one.flows.iter().flat_map(remarks_on);
        lines.map(|line| (line, &*one.name))
    }));
    let mut out = String::new();
    if said.is_empty() {
        return out;
    }
    out.push('\n');
    for (line, names) in said.iter().take(MOST_REMARKS) {
        let first = terminal(names.first().unwrap_or(&""));
        out.push_str(&match names.len() {
            1 => table::said(&format!("{first}: {line}")),
            count => table::said(&format!("{first} and {} more: {line}", count - 1)),
        });
    }
    if said.len() > MOST_REMARKS {
        let more = said.len() - MOST_REMARKS;
        let _ = writeln!(out, "{more} more remarks on series: --all shows them");
    }
    out
}

fn remarks_on(flow: &FlowRecord) -> Vec<String> {
    let failure = flow.failure.iter().map(|failure| {
        let failure = terminal(failure);
        format!("the connection failed: {failure}")
    });
    let overridden = flow.negotiated.iter().map(table::negotiated_line);
    let why = table::why(flow).into_iter().map(|line| terminal(&line));
    failure.chain(overridden).chain(why).collect()
}

/// The rows that are kept, in their order; how many are not.
pub(crate) fn kept(rows: &mut Vec<Row<'_>>, most: usize) -> usize {
    let all = rows.len();
    if all <= most {
        return 0;
    }
    let published = rows.iter().filter(|row| row.published.is_some()).count();
    let mut room = most.saturating_sub(published);
    rows.retain(|row| {
        let is_kept = row.published.is_some() || room > 0;
        if row.published.is_none() {
            room = room.saturating_sub(1);
        }
        is_kept
    });
    all - rows.len()
}

/// Lines for the intervals, with neighboring ones summed up if there are too many.
pub(crate) fn intervals(intervals: &[IntervalRecord], detail: Detail) -> String {
    let together = match detail {
        Detail::Brief => round_step(intervals.len().div_ceil(MOST_INTERVALS)),
        Detail::Lines(most) => round_step(intervals.len().div_ceil(most)),
        Detail::Whole => 1,
    };
    let mut out = String::new();
    for sum in intervals.chunks(together).map(IntervalRecord::joined) {
        let retransmissions = nuttcp::retransmissions(sum.retransmitted_segments);
        let _ = writeln!(out, "{}{retransmissions}", nuttcp::interval(&sum));
    }
    if together > 1 {
        let count = intervals.len();
        let _ = writeln!(
            out,
            "{count} intervals, {together} to a line; --all shows each"
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(index: u64) -> IntervalRecord {
        IntervalRecord {
            start_ns: index * 1_000_000_000,
            end_ns: (index + 1) * 1_000_000_000,
            bytes: 1 << 20,
            retransmitted_segments: index % 2,
        }
    }

    #[test]
    fn as_many_intervals_share_a_line_as_leave_thirty_lines() {
        for (count, expected) in [
            (0_usize, 1),
            (30, 1),
            (31, 2),
            (61, 5),
            (3000, 100),
            (3001, 200),
        ] {
            assert_eq!(round_step(count.div_ceil(30)), expected, "{count}");
        }
    }

    #[test]
    fn a_line_of_several_intervals_is_their_sum() {
        let all: Vec<IntervalRecord> = (0..61).map(second).collect();
        let text = intervals(&all, Detail::Brief);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 14);
        assert_eq!(
            lines[0],
            "    5.0000 MiB /   5.00 s =     8.3886 Mbit/s 2 retrans"
        );
        assert_eq!(lines[12], "    1.0000 MiB /   1.00 s =     8.3886 Mbit/s");
        assert_eq!(lines[13], "61 intervals, 5 to a line; --all shows each");
        assert_eq!(intervals(&all, Detail::Whole).lines().count(), 61);
    }
}
