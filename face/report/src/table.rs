//! Reports for the terminal: plain text, no color, about 100 columns.
//!
//! A series shows nuttcp's lines, published and simulated side by side. The summary shows all
//! series in one table and the limits. Text from the plan is stripped of control sequences. Bad
//! results are never left out.

use std::fmt::Write;
use std::iter::once;

use gigatcp_plan::record::{CauseShare, FlowRecord, Negotiated, SeriesRecord};
use gigatcp_theory::sample::Summary;

use crate::Report;
use crate::brief::{self, Detail};
use crate::compare::{Quantity, Row, causes_met, rows_by_kind};
use crate::escape::terminal;
use crate::grid::named_grid;
use crate::many_flows;
use crate::number::{ABSENT, rate, ratio};
use crate::prose::{TIE, wrap_hanging};
use crate::published::{Extremes, PublishedSeries};
use crate::{applications, hop_columns, hosts, live, nuttcp, seeds, shares};

/// Minimum time without reads before the end of its test after which a flow counts as starved.
const LAST_INTERVAL_NS: u64 = 1_000_000_000;

/// Maximum number of causes in the line of a series; the rest is summed up.
const MOST_CAUSES: usize = 3;

/// One series: heading, interval lines of every flow, totals, limits, path.
pub fn series(
    record: &SeriesRecord,
    published: Option<&PublishedSeries>,
    detail: Detail,
) -> String {
    let mut out = series_without_path(record, published, detail);
    if !record.hops.is_empty() {
        out.push_str("\npath, in order:\n");
        let columns = hop_columns::columns(record.hops.iter());
        let hops = record.hops.iter().map(|hop| (hop.name.as_str(), hop));
        let cells = named_cells("element", &columns, hops);
        out.push_str(&named_grid(1, &cells));
    }
    let at_work = hosts::at_work(&record.hosts);
    if !at_work.is_empty() {
        out.push_str("\nhosts, shares of the time of their processors:\n");
        let shown = &at_work[..at_work.len().min(hosts::MOST_SHOWN)];
        let columns = hosts::columns(shown);
        let rows = shown.iter().map(|host| (host.name.as_str(), *host));
        let cells = named_cells("host", &columns, rows);
        out.push_str(&named_grid(1, &cells));
        let left_out = at_work.len() - shown.len();
        if left_out > 0 {
            let _ = writeln!(out, "{left_out} more hosts are in run.json");
        }
    }
    if let Some(live) = &record.live {
        out.push_str("\nin real time:\n");
        for line in live::lines(record, live) {
            out.push_str(&wrap_hanging(&terminal(&line), 2, 4));
        }
    }
    out
}

/// Heading, interval lines of every flow, totals, limits, and applications of a series.
pub(crate) fn series_without_path(
    record: &SeriesRecord,
    published: Option<&PublishedSeries>,
    detail: Detail,
) -> String {
    let mut out = heading(record);
    let crowded = record.flows.len() > many_flows::MAX_SHOWN;
    if crowded {
        out.push_str(&many_flows::text(&record.flows));
    }
    let shown = if crowded { &[] } else { &record.flows[..] };
    for (index, flow) in shown.iter().enumerate() {
        let counterpart = published.filter(|_| index == 0);
        if record.flows.len() > 1 {
            let _ = writeln!(out, "\nflow {}", terminal(&flow.name));
        }
        flow_text(&mut out, flow, counterpart, detail);
    }
    let applications = applications::lines(record);
    if !applications.is_empty() {
        out.push_str("\napplications:\n");
    }
    let published = applications::published_lines(record, published);
    for line in applications.iter().chain(&published) {
        out.push_str(&said(&terminal(line)));
    }
    out
}

/// Overrides from the command line; empty if there were none.
pub(crate) fn changes(overrides: &[String]) -> String {
    if overrides.is_empty() {
        return String::new();
    }
    let changes = terminal(&overrides.join(", "));
    said(&format!("changed by --set: {changes}")) + "\n"
}

fn heading(record: &SeriesRecord) -> String {
    let mut out = format!("{}: {}\n", terminal(&record.name), terminal(&record.title));
    if record.repeat > 0 {
        let _ = writeln!(out, "repeat {}, seed {}", record.repeat + 1, record.seed);
    }
    if record.partial {
        out.push_str("CUT SHORT: the run was interrupted, the numbers are of a part of it\n");
    }
    for fitted in &record.fitted {
        out.push_str(&said(&format!("fitted input: {}", terminal(fitted))));
    }
    if let Some(twin) = &record.fit_of {
        let _ = writeln!(out, "without the fit: see {}", terminal(twin));
    }
    out
}

fn flow_text(
    out: &mut String,
    flow: &FlowRecord,
    published: Option<&PublishedSeries>,
    detail: Detail,
) {
    let _ = writeln!(
        out,
        "{}; sender {}, receiver {}\n",
        terminal(&flow.congestion_control),
        terminal(&flow.sender_profile),
        terminal(&flow.receiver_profile),
    );
    match published.filter(|published| published.has_rates()) {
        Some(published) => side_by_side(out, flow, published, detail),
        None => ours_alone(out, flow, detail),
    }
    limited_by(out, flow);
    for value in &flow.negotiated {
        out.push_str(&said(&negotiated_line(value)));
    }
    if !flow.unavailable.is_empty() {
        let unavailable = terminal(&flow.unavailable.join(", "));
        out.push_str(&said(&format!("this sender does not tell: {unavailable}")));
    }
    for line in end_and_card(flow).into_iter().chain(why(flow)) {
        out.push_str(&said(&terminal(&line)));
    }
}

/// Wraps a note.
pub(crate) fn said(remark: &str) -> String {
    wrap_hanging(remark, 0, 2)
}

/// A line for a value that is not the requested one.
pub(crate) fn negotiated_line(value: &Negotiated) -> String {
    format!(
        "{}: requested {}, granted {}, in effect {}: {}",
        terminal(&value.what),
        terminal(&value.requested),
        terminal(&value.granted),
        terminal(&value.effective),
        terminal(&value.cause),
    )
}

/// Lines for an abnormal end, and for drops of the receiver's network card.
pub fn end_and_card(flow: &FlowRecord) -> Vec<String> {
    let failure = flow.failure.iter().map(|failure| {
        let after = flow.ended_ns as f64 / 1e9;
        let mut line = format!("the connection failed at {after:.3} s: {failure}");
        line.push_str(&last_byte(flow));
        line
    });
    let starved = last_byte(flow);
    let starved = (flow.failure.is_none() && !starved.is_empty())
        .then(|| format!("the flow did not deliver everything{starved}"));
    let rings = flow.receive_rings.iter().map(|ring| {
        format!(
            "receiver's {} ring: {} {} in, {} taken, dropped {}; at most {} held, {} at the end",
            ring.name,
            ring.arrived_packets,
            if ring.arrived_packets == 1 {
                "packet"
            } else {
                "packets"
            },
            ring.accepted_packets,
            hosts::drops_text(&ring.drops),
            ring.max_held_packets,
            ring.held_packets,
        )
    });
    let hosts = (!flow.host_drops.is_empty()).then(|| {
        let dropped = hosts::drops_text(&flow.host_drops);
        format!("packets dropped by the hosts: {dropped}")
    });
    failure.chain(starved).chain(rings).chain(hosts).collect()
}

/// Time of the last byte of a flow that starved or failed. Empty for others.
fn last_byte(flow: &FlowRecord) -> String {
    // At the end of a test, the last interval may be in progress.
    let is_over = flow.average_ns > flow.elapsed_ns + LAST_INTERVAL_NS;
    if flow.elapsed_ns == 0 || !is_over {
        return String::new();
    }
    let until_then = flow.bytes as f64 * 8e9 / flow.elapsed_ns as f64;
    format!(
        "; the last byte arrived after {:.2} s, until when it had {}; the average is over {:.2} s",
        flow.elapsed_ns as f64 / 1e9,
        rate(until_then),
        flow.average_ns as f64 / 1e9,
    )
}

/// A line with the answer from packets only.
pub fn why(flow: &FlowRecord) -> Vec<String> {
    let why = flow.why.iter();
    why.map(|why| format!("from packets only: {}", why.sentence))
        .collect()
}

fn ours_alone(out: &mut String, flow: &FlowRecord, detail: Detail) {
    out.push_str(&brief::intervals(&flow.intervals, detail));
    let _ = writeln!(out, "{}\n", nuttcp::total(flow));
}

fn side_by_side(out: &mut String, flow: &FlowRecord, published: &PublishedSeries, detail: Detail) {
    if published.intervals.is_empty() {
        out.push_str(&brief::intervals(&flow.intervals, detail));
    } else {
        intervals_side_by_side(out, flow, published);
    }
    averages(out, flow, published);
}

fn intervals_side_by_side(out: &mut String, flow: &FlowRecord, published: &PublishedSeries) {
    let width = nuttcp::LINE_WIDTH;
    let theirs_heading = format!("   published ({})", terminal(&published.id));
    let _ = writeln!(
        out,
        "{theirs_heading:<width$} {:<width$}  ratio",
        "   this run"
    );
    let count = flow.intervals.len().max(published.intervals.len());
    for index in 0..count {
        let ours = flow.intervals.get(index);
        let theirs = published.intervals.get(index);
        let (left, right, ratio) = interval_cells(ours, theirs);
        let retransmissions =
            nuttcp::retransmissions(ours.map_or(0, |line| line.retransmitted_segments));
        let _ = writeln!(
            out,
            "{left:<width$} {right:<width$}  {ratio:>5}{retransmissions}"
        );
    }
}

fn averages(out: &mut String, flow: &FlowRecord, published: &PublishedSeries) {
    let theirs = published.average();
    let average = ratio(theirs.map(Extremes::middle), Some(flow.goodput_bps / 1e6));
    let published = match (&published.total, theirs) {
        (Some(total), _) => nuttcp::published_total(total),
        (None, Some(average)) => format!("{} Mbit/s", Quantity::Average.extremes_text(average)),
        (None, None) => ABSENT.to_owned(),
    };
    let _ = writeln!(
        out,
        "\npublished {published}\nthis run  {}\nratio of the averages {average}\n",
        nuttcp::total(flow),
    );
}

/// Published line, our line and their ratio; a missing line is [`ABSENT`].
pub fn interval_cells(
    ours: Option<&gigatcp_plan::record::IntervalRecord>,
    theirs: Option<&crate::published::PublishedInterval>,
) -> (String, String, String) {
    let absent = |line: Option<String>| line.unwrap_or_else(|| format!("{ABSENT:>10}"));
    let our_rate =
        ours.map(|line| nuttcp::mbps(line.bytes, line.end_ns.saturating_sub(line.start_ns)));
    (
        absent(theirs.map(nuttcp::published_interval)),
        absent(ours.map(nuttcp::interval)),
        ratio(theirs.map(|line| line.mbps), our_rate),
    )
}

fn limited_by(out: &mut String, flow: &FlowRecord) {
    let parts: Vec<String> = shares_of(&flow.limited_by)
        .into_iter()
        .map(|(cause, share)| format!("{} {} %", terminal(cause), shares::text(share)))
        .map(|part| part.replace(' ', &TIE.to_string()))
        .collect();
    if !parts.is_empty() {
        out.push_str(&said(&format!("limited by: {}", parts.join(", "))));
    }
}

/// Causes with shares in tenths of a percent, the largest first. Shares that round to zero are left
/// out.
fn shares_of(causes: &[CauseShare]) -> Vec<(&str, u32)> {
    let spent: Vec<u64> = causes.iter().map(|share| share.spent_ns).collect();
    let names = causes.iter().map(|share| share.cause.as_str());
    sorted(names.zip(shares::permille(&spent)))
}

fn sorted<'a>(shares: impl Iterator<Item = (&'a str, u32)>) -> Vec<(&'a str, u32)> {
    let mut shares: Vec<_> = shares.filter(|(_, share)| *share > 0).collect();
    shares.sort_by_key(|(_, share)| std::cmp::Reverse(*share));
    shares
}

/// A column of a table: its heading, and the text for a row.
pub(crate) type Column<T> = (String, Box<dyn Fn(&T) -> String>);

/// Cells of named rows, below the headings.
fn named_cells<'a, T: 'a>(
    what: &str,
    columns: &[Column<T>],
    rows: impl Iterator<Item = (&'a str, &'a T)>,
) -> Vec<Vec<String>> {
    let headings = columns.iter().map(|(heading, _)| terminal(heading));
    let heading = once(what.to_owned()).chain(headings).collect();
    let lines = rows.map(|(name, row)| {
        let values = columns.iter().map(|(_, value)| terminal(&value(row)));
        once(terminal(name)).chain(values).collect()
    });
    once(heading).chain(lines).collect()
}

/// All series: published and simulated quantities, then the limits.
pub fn summary(report: &Report<'_>, detail: Detail) -> String {
    let mut rows = rows_by_kind(report);
    if report.run.series.is_empty() {
        return "no series were run\n".to_owned();
    }
    if rows.is_empty() {
        // All flows come and go, or are datagrams.
        return notes(report, &rows);
    }
    let not_kept = match detail {
        Detail::Brief | Detail::Lines(_) => brief::kept(&mut rows, brief::MOST_ROWS),
        Detail::Whole => 0,
    };
    let mut cells = vec![summary_heading()];
    for row in &rows {
        summary_rows(row, &mut cells);
    }
    let mut out = named_grid(2, &cells);
    if not_kept > 0 {
        let _ = writeln!(
            out,
            "{not_kept} more rows are not shown: --all shows them; run.json and report.html have them"
        );
    }
    out.push_str(&notes(report, &rows));
    out.push_str(&where_the_time_went(&rows));
    out
}

fn summary_heading() -> Vec<String> {
    let mut heading = vec!["series".to_owned(), String::new()];
    heading.extend(Quantity::ALL.map(|quantity| quantity.heading().to_owned()));
    heading
}

fn summary_rows(row: &Row<'_>, cells: &mut Vec<Vec<String>>) {
    let comparisons = row.comparisons();
    let repeats = row.group.runs();
    let fitted = if row.is_fitted() { " *" } else { "" };
    let mut label = format!("{}{fitted}", terminal(&row.label));
    let mut push = |what: String, values: [String; 5]| {
        let mut line = vec![std::mem::take(&mut label), what];
        line.extend(values);
        cells.push(line);
    };
    let ours = |pick: fn(&Summary) -> f64| {
        comparisons.map(|c| {
            c.ours
                .as_ref()
                .map_or_else(|| ABSENT.to_owned(), |s| c.quantity.text(pick(s)))
        })
    };
    if row.published.is_some() {
        let text = comparisons.map(|c| {
            c.published.map_or_else(
                || ABSENT.to_owned(),
                |value| c.quantity.extremes_text(value),
            )
        });
        push("published".to_owned(), text);
    }
    if repeats == 1 {
        push("this run".to_owned(), ours(|spread| spread.median));
    } else {
        push(format!("median of {repeats}"), ours(|spread| spread.median));
        push("lowest".to_owned(), ours(|spread| spread.min));
        push("highest".to_owned(), ours(|spread| spread.max));
        let counts = comparisons.map(|c| c.ours.map_or(0, |spread| spread.n));
        if counts.iter().any(|&n| n != repeats) {
            push("runs with it".to_owned(), counts.map(|n| n.to_string()));
        }
    }
    if let Some(theory) = row.theory() {
        let value = Quantity::Average.text(theory.goodput_bps / 1e6);
        let mut values = Quantity::ALL.map(|_| ABSENT.to_owned());
        values[0] = value;
        push("theory".to_owned(), values);
    }
    if row.published.is_some() {
        push("ratio".to_owned(), comparisons.map(|c| c.ratio()));
    }
}

pub(crate) fn notes(report: &Report<'_>, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    if rows.iter().any(Row::is_fitted) {
        out.push_str("* has a fitted input, named with the series\n");
    }
    let failed: Vec<String> = rows
        .iter()
        .filter(|row| row.has_failed())
        .map(|row| terminal(&row.label))
        .collect();
    if !failed.is_empty() {
        let _ = writeln!(out, "connections that failed: {}", failed.join(", "));
    }
    for row in rows.iter().filter(|row| row.group.is_partial()) {
        let _ = writeln!(out, "{} was cut short", terminal(&row.label));
    }
    for line in seeds::lines(rows) {
        out.push_str(&said(&terminal(&line)));
    }
    if report.run.partial {
        out.push_str("PARTIAL: the run was interrupted; series may be missing\n");
    }
    out
}

fn where_the_time_went(rows: &[Row<'_>]) -> String {
    if causes_met(rows).is_empty() {
        return String::new();
    }
    let mut cells = vec![vec![
        "series".to_owned(),
        "limited by, % of the time".to_owned(),
    ]];
    for row in rows {
        let shares = largest_shares(&shares_of_row(row), MOST_CAUSES);
        cells.push(vec![terminal(&row.label), shares]);
    }
    format!("\nwhere the time went:\n{}", named_grid(2, &cells))
}

/// Causes of a row with shares in tenths of a percent, the largest first.
pub(crate) fn shares_of_row<'a>(row: &Row<'a>) -> Vec<(&'a str, u32)> {
    let causes = causes_met(std::slice::from_ref(row));
    let spent: Vec<u64> = causes.iter().map(|cause| row.spent_ns(cause)).collect();
    sorted(causes.into_iter().zip(shares::permille(&spent)))
}

/// `most` largest shares in a line, and the sum of the rest.
pub(crate) fn largest_shares(shares: &[(&str, u32)], most: usize) -> String {
    let (shown, rest) = shares.split_at(shares.len().min(most));
    let other = rest.iter().map(|(_, share)| share).sum();
    let parts: Vec<String> = shown
        .iter()
        .copied()
        .chain([("other", other)])
        .filter(|(_, share)| *share > 0)
        .map(|(cause, share)| format!("{} {}", terminal(cause), shares::text(share)))
        .collect();
    parts.join(", ")
}
