//! A run on one screen: rate and limits of each flow.
//!
//! One connection is shown with its intervals, several as a table with a line each. Facts that must
//! not be missed follow below: a failed connection, a value that is not the requested one. Runs in
//! real time report what disturbed them, and are shown in full.

use std::fmt::Write as _;

use gigatcp_plan::record::SeriesRecord;

use crate::brief::{self, Detail};
use crate::compare::{Quantity, Row, rows_by_kind};
use crate::escape::terminal;
use crate::grid::Align::{Left, Right};
use crate::grid::grid;
use crate::number::ABSENT;
use crate::table::{largest_shares, said, shares_of_row};
use crate::{Report, answer, applications, table};

/// Maximum number of interval lines of a connection.
const MOST_INTERVALS: usize = 12;

/// Maximum number of causes in the line of a flow; the rest is summed up.
const MOST_CAUSES: usize = 2;

/// Maximum number of lines about applications.
const MOST_APPLICATIONS: usize = 8;

/// Lines of the whole, with those of where it is stored.
const MOST_LINES: usize = 40;

/// Lines of the command after this text.
const STORED_LINES: usize = 3;

/// Rows that are shown however long the rest is.
const FEWEST_ROWS: usize = 8;

/// The text of a run, at most some 40 lines.
pub(crate) fn text(report: &Report<'_>) -> String {
    let first = || report.run.series.iter().filter(|series| series.repeat == 0);
    if first().any(|series| series.live.is_some()) {
        return brief::text(report);
    }
    let mut out = table::changes(&report.run.overrides);
    let mut rows = rows_by_kind(report);
    let one = first()
        .next()
        .filter(|series| series.flows.len() == 1 && rows.len() == 1 && rows[0].group.runs() == 1);
    if let Some(one) = one {
        out += &answers(&rows);
        let detail = Detail::Lines(MOST_INTERVALS);
        out += &table::series_without_path(one, report.published_for(one), detail);
        out += &table::notes(report, &rows);
        out += &more(1);
        return out;
    }
    out += &answers(&rows);
    let mut rest = table::notes(report, &rows);
    rest += &applications_of(first());
    rest += &brief::remarks(first());
    rest += &more(first().count());
    // The heading and the count of what is left out take a line each.
    let taken = out.lines().count() + rest.lines().count() + STORED_LINES + 2;
    let not_kept = keep(&mut rows, MOST_LINES.saturating_sub(taken).max(FEWEST_ROWS));
    if !rows.is_empty() {
        out += &flows(&rows);
    }
    if not_kept > 0 {
        let _ = writeln!(out, "{not_kept} more rows: --all shows them");
    }
    out + &rest
}

/// Keeps `most` rows, those with published numbers first; returns how many are left out.
fn keep(rows: &mut Vec<Row<'_>>, most: usize) -> usize {
    let published = brief::kept(rows, most);
    let beyond = rows.len().saturating_sub(most);
    rows.truncate(most);
    published + beyond
}

/// Rate and limit of the fastest and the slowest flow.
fn answers(rows: &[Row<'_>]) -> String {
    let answers = answer::of_flows(rows, str::to_owned);
    let lines = answers.iter().map(|answer| terminal(answer) + "\n");
    let out: String = lines.collect();
    if out.is_empty() { out } else { out + "\n" }
}

/// Options that show more.
fn more(series: usize) -> String {
    match series {
        1 => "\n-v: also the path and the hosts; --all: everything\n".to_owned(),
        _ => "\n-v: each series with its intervals, path and hosts; --series NAME: one; \
              --all: everything\n"
            .to_owned(),
    }
}

/// Results of applications in the series.
fn applications_of<'a>(series: impl Iterator<Item = &'a SeriesRecord>) -> String {
    let several: Vec<(&str, Vec<String>)> = series
        .map(|series| (series.name.as_str(), applications::lines(series)))
        .filter(|(_, lines)| !lines.is_empty())
        .collect();
    let mut out = String::new();
    if several.is_empty() {
        return out;
    }
    out.push_str("\napplications:\n");
    let is_one = several.len() == 1;
    let all = several.iter().flat_map(|(name, lines)| {
        lines.iter().map(move |line| match is_one {
            true => line.clone(),
            false => format!("{name}: {line}"),
        })
    });
    let all: Vec<String> = all.collect();
    let (mut shown, mut lines) = (0, 0);
    for line in &all {
        let text = said(&terminal(line));
        lines += text.lines().count();
        if lines > MOST_APPLICATIONS {
            break;
        }
        out.push_str(&text);
        shown += 1;
    }
    if shown < all.len() {
        let _ = writeln!(out, "{} more applications: -v", all.len() - shown);
    }
    out
}

/// A column: its heading, and the text for a row.
type Column = (String, Box<dyn Fn(&Row<'_>) -> String>);

/// A line for each flow: rate, published rate and ratio, retransmissions, limits.
fn flows(rows: &[Row<'_>]) -> String {
    let columns = columns(rows);
    let headings = columns.iter().map(|(heading, _)| heading.clone());
    let mut cells = vec![headings.collect::<Vec<_>>()];
    for row in rows {
        cells.push(columns.iter().map(|(_, value)| value(row)).collect());
    }
    let numbers = vec![Right; columns.len() - 2];
    grid(&[&[Left], &numbers[..], &[Left]].concat(), &cells)
}

/// Columns for these rows: the label, numbers, and the limits.
fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    let is_published = rows.iter().any(|row| row.published.is_some());
    let has_theory = rows.iter().any(|row| row.theory().is_some());
    let runs = rows.iter().map(|row| row.group.runs()).max().unwrap_or(1);
    let mut columns: Vec<Column> = Vec::new();
    let mut add = |heading: &str, value: fn(&Row<'_>) -> Option<String>| {
        let value = move |row: &Row<'_>| value(row).unwrap_or_else(|| ABSENT.to_owned());
        columns.push((heading.to_owned(), Box::new(value)));
    };
    add("series", |row| {
        let fitted = if row.is_fitted() { " *" } else { "" };
        Some(format!("{}{fitted}", terminal(&row.label)))
    });
    if is_published {
        add("published", |row| {
            let [average, ..] = row.comparisons();
            let published = average.published?;
            Some(Quantity::Average.extremes_text(published))
        });
    }
    let heading = match runs {
        1 => "Mbit/s".to_owned(),
        runs => format!("median of {runs}, Mbit/s"),
    };
    add(&heading, |row| {
        let [average, ..] = row.comparisons();
        Some(Quantity::Average.text(average.ours?.median))
    });
    if runs > 1 {
        add("min to max", |row| {
            let [average, ..] = row.comparisons();
            let [min, max] = [average.ours?.min, average.ours?.max];
            let bound = |value| Quantity::Average.text(value);
            Some(format!("{} to {}", bound(min), bound(max)))
        });
    }
    if is_published {
        add("ratio", |row| {
            let [average, ..] = row.comparisons();
            Some(average.ratio())
        });
    }
    if has_theory {
        add("theory", |row| {
            Some(Quantity::Average.text(row.theory()?.goodput_bps / 1e6))
        });
    }
    add("retrans", |row| {
        let [_, _, retransmitted, ..] = row.comparisons();
        Some(Quantity::Retransmitted.text(retransmitted.ours?.median))
    });
    add("limited by, % of the time", |row| {
        Some(largest_shares(&shares_of_row(row), MOST_CAUSES))
    });
    columns
}
