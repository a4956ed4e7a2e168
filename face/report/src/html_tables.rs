//! The tables of `report.html`, as markup that works without scripts.
//!
//! Every string from the record or from published numbers passes [`crate::escape::html`]. Numbers
//! are formatted here and need no escaping.

use std::fmt::Write;

use gigatcp_plan::record::{FlowRecord, HostRecord, SeriesRecord};
use gigatcp_theory::sample::Summary;

use crate::compare::{Comparison, Quantity, Row, causes_met};
use crate::escape::html;
use crate::group::groups;
use crate::number::{ABSENT, fixed, grouped, maybe, ratio, seconds};
use crate::nuttcp::{BYTES_PER_MB, mbps};
use crate::published::{Extremes, PublishedInterval, PublishedSeries};
use crate::table::{Column, shares_of_row};
use crate::{Report, cause_name};
use crate::{applications, hop_columns, hosts, seeds, shares};

/// Maximum number of rows in a table of intervals; `run.json` has the rest.
const MAX_INTERVALS: usize = 1200;

/// Maximum number of intervals on the page, apart from the first few of each flow.
const ALL_INTERVALS: usize = 12_000;

/// Number of intervals of a flow that are always shown.
const FEW_INTERVALS: usize = 60;

/// Table of all series: published and simulated quantities, ratios, and limits.
pub(crate) fn summary(report: &Report<'_>, rows: &[Row<'_>]) -> String {
    let all: Vec<_> = rows.iter().map(Row::comparisons).collect();
    let columns = columns(&all);
    let has_limits = !causes_met(rows).is_empty();
    // Many columns leave less room for the strips.
    let is_narrow = columns
        .iter()
        .filter(|(_, is_compared)| *is_compared)
        .count()
        > 2;
    let narrow = if is_narrow { " narrow" } else { "" };
    let mut out =
        format!("<table class=\"numbers wide{narrow}\"><thead><tr><th rowspan=\"2\">Series</th>");
    for (place, (quantity, is_compared)) in columns.iter().enumerate() {
        let span = if *is_compared { 2 } else { 1 };
        let heading = capital(Quantity::ALL[*quantity].heading());
        let _ = write!(out, "<th colspan=\"{span}\" class=\"group\">{heading}</th>");
        if place == 0 && has_limits {
            out.push_str("<th class=\"group\">Limited by</th>");
        }
    }
    out.push_str("</tr><tr>");
    for (place, (_, is_compared)) in columns.iter().enumerate() {
        out.push_str(match is_compared {
            true => "<th class=\"first\">published</th><th>this run</th>",
            false => "<th class=\"first\">this run</th>",
        });
        if place == 0 && has_limits {
            out.push_str("<th class=\"first limits\">% of the time</th>");
        }
    }
    out.push_str("</tr></thead><tbody>\n");
    for (row, compared) in rows.iter().zip(&all) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", label_cell(row));
        for (place, (quantity, is_compared)) in columns.iter().enumerate() {
            out.push_str(&comparison_cells(&compared[*quantity], row, *is_compared));
            if place == 0 && has_limits {
                out.push_str(&limits_cell(
                    row,
                    if is_narrow { NAMED_NARROW } else { NAMED },
                ));
            }
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table>\n");
    out.push_str(&summary_notes(report, rows, &columns));
    out
}

/// Indices of quantities with values, and whether one was published. The average is always
/// included.
fn columns(rows: &[[Comparison; 5]]) -> Vec<(usize, bool)> {
    let shown = |(place, quantity): (usize, &Quantity)| {
        let mut cells = rows.iter().map(|row| row[place]);
        let is_compared = cells.clone().any(|cell| cell.published.is_some());
        // A host without a CPU model has no CPU use.
        let is_cpu = matches!(quantity, Quantity::SenderCpu | Quantity::ReceiverCpu);
        let is_known = cells.any(|cell| cell.ours.is_some_and(|ours| ours.max > 0.0 || !is_cpu));
        (place == 0 || is_compared || is_known).then_some((place, is_compared))
    };
    Quantity::ALL.iter().enumerate().filter_map(shown).collect()
}

/// Minimum share, in thousandths, of a cause that is named on the strip.
const NAMED: u32 = 350;

/// Least share, in thousandths, that is named on a narrow strip.
const NAMED_NARROW: u32 = 600;

/// Shares of the time as a strip. The script gives it the causes' colors.
fn limits_cell(row: &Row<'_>, named: u32) -> String {
    let shares = shares_of_row(row);
    let texts = shares
        .iter()
        .map(|(cause, share)| format!("{} {} %", cause_name(cause), shares::text(*share)));
    let texts: Vec<String> = texts.collect();
    let mut out = format!(
        "<td class=\"first limits\"><span class=\"divided\" role=\"img\" aria-label=\"{}\">",
        html(&texts.join(", "))
    );
    for ((cause, share), text) in shares.iter().zip(&texts) {
        let (cause, width) = (html(cause), f64::from(*share) / 10.0);
        let name = match *share >= named {
            true => format!("<b>{}</b>", html(&cause_name(&cause))),
            false => String::new(),
        };
        let _ = write!(
            out,
            "<i data-cause=\"{cause}\" title=\"{}\" style=\"width:{width:.1}%\">{name}</i>",
            html(text)
        );
    }
    out + "</span></td>"
}

fn label_cell(row: &Row<'_>) -> String {
    let mut cell = html(&row.label);
    if row.is_fitted() {
        cell.push_str(" <a href=\"#fitted\" title=\"has a fitted input\">*</a>");
    }
    if row.group.is_partial() {
        cell.push_str(" <em>cut short</em>");
    }
    if let Some(published) = row.published {
        let _ = write!(cell, "<small>{}</small>", html(&published.id));
    }
    cell
}

fn comparison_cells(comparison: &Comparison, row: &Row<'_>, compared: bool) -> String {
    let quantity = comparison.quantity;
    let published = comparison
        .published
        .map_or_else(|| ABSENT.to_owned(), |value| quantity.extremes_text(value));
    let mut ours = spread_cell(quantity, comparison.ours, row.group.runs());
    let theory = row.theory().filter(|_| quantity == Quantity::Average);
    if let Some(theory) = theory {
        let value = quantity.text(theory.goodput_bps / 1e6);
        let _ = write!(ours, "<small>theory {value}</small>");
    }
    if compared {
        let ratio = comparison.ratio();
        let ratio = match ratio.as_str() {
            ABSENT | "no ratio" => String::new(),
            "equal" => "<small>equal</small>".to_owned(),
            ratio => format!("<small>ratio {}</small>", html(ratio)),
        };
        return format!("<td class=\"first\">{published}</td><td>{ours}{ratio}</td>");
    }
    format!("<td class=\"first\">{ours}</td>")
}

/// Median; with several repeats also the range and the number of values.
fn spread_cell(quantity: Quantity, ours: Option<Summary>, repeats: usize) -> String {
    let Some(spread) = ours else {
        return ABSENT.to_owned();
    };
    let median = quantity.text(spread.median);
    if repeats == 1 {
        return median;
    }
    let of = if spread.n == repeats {
        String::new()
    } else {
        format!(" ({} of {repeats})", spread.n)
    };
    format!(
        "{median}<small>{}\u{2013}{}{of}</small>",
        quantity.text(spread.min),
        quantity.text(spread.max)
    )
}

fn summary_notes(report: &Report<'_>, rows: &[Row<'_>], columns: &[(usize, bool)]) -> String {
    let mut notes = Vec::new();
    let has_time_to_90 = |(place, _): &(usize, bool)| Quantity::ALL[*place] == Quantity::TimeTo90;
    if columns.iter().any(has_time_to_90) {
        notes.push(
            "To 90 %: end of the first interval at 90 % of the plateau, the median of the \
             intervals from the fastest growth on; \u{201c}-\u{201d} when it was not reached."
                .to_owned(),
        );
    }
    if rows.iter().any(|row| row.published.is_some()) {
        notes.push("Ratio: this run over published.".to_owned());
    }
    let has_range = |row: &Row<'_>| row.published.is_some_and(|series| series.mbps.is_some());
    if rows.iter().any(has_range) {
        notes.push("Where a range was published, the ratio is over its middle.".to_owned());
    }
    if report.run.repeat > 1 {
        notes.push(format!(
            "This run: median of {} repeats with different seeds, lowest\u{2013}highest below.",
            report.run.repeat
        ));
    }
    notes.extend(
        seeds::lines(rows)
            .iter()
            .map(|line| html(&format!("{line}."))),
    );
    if rows.iter().any(Row::is_fitted) {
        notes.push("* has a <a href=\"#fitted\">fitted input</a>.".to_owned());
    }
    format!("<p class=\"note\">{}</p>\n", notes.join(" "))
}

/// Shares of the time by cause; every line adds up to 100.0.
pub(crate) fn where_the_time_went(rows: &[Row<'_>]) -> String {
    let causes = causes_met(rows);
    if causes.is_empty() {
        return String::new();
    }
    let mut out = String::from("<table class=\"numbers wide shares\"><thead><tr><th>Series</th>");
    for cause in &causes {
        let _ = write!(
            out,
            "<th title=\"{}\">{}</th>",
            html(cause),
            html(&cause_name(cause))
        );
    }
    out.push_str("<th>sum</th></tr></thead><tbody>\n");
    for row in rows {
        let spent: Vec<u64> = causes.iter().map(|cause| row.spent_ns(cause)).collect();
        let shares = shares::permille(&spent);
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", html(&row.label));
        for &share in &shares {
            out.push_str(&share_cell(share));
        }
        let sum = shares::text(shares.iter().sum());
        let _ = writeln!(out, "<td>{sum}</td></tr>");
    }
    out.push_str("</tbody></table>\n");
    out
}

/// A share with a bar of its length below. The bar has no further information.
fn share_cell(permille: u32) -> String {
    let text = shares::text(permille);
    if permille == 0 {
        return format!("<td class=\"none\">{text}</td>");
    }
    // Columns differ in width, so lengths are in pixels: 50 for 100 %.
    let width = f64::from(permille) / 20.0;
    format!("<td>{text}<i class=\"bar\" style=\"width:{width:.1}px\"></i></td>")
}

/// Intervals of every flow of every series, folded.
pub(crate) fn intervals(report: &Report<'_>) -> String {
    let mut out = String::new();
    let flows: usize = report
        .run
        .series
        .iter()
        .map(|series| series.flows.len())
        .sum();
    let most = (ALL_INTERVALS / flows.max(1)).clamp(FEW_INTERVALS, MAX_INTERVALS);
    for series in &report.run.series {
        for (index, flow) in series.flows.iter().enumerate() {
            let published = report
                .published_for(series)
                .filter(|published| index == 0 && published.has_rates());
            let _ = write!(
                out,
                "<details><summary>{}</summary>\n{}</details>\n",
                html(&interval_title(series, flow)),
                interval_table(flow, published, most)
            );
        }
    }
    out
}

fn interval_title(series: &SeriesRecord, flow: &FlowRecord) -> String {
    let mut title = series.name.clone();
    if series.flows.len() > 1 {
        title = format!("{title} / {}", flow.name);
    }
    if series.repeat > 0 {
        title = format!(
            "{title}, repeat {} (seed {})",
            series.repeat + 1,
            series.seed
        );
    }
    format!(
        "{title}: {} Mbit/s over {} s",
        fixed(flow.goodput_bps / 1e6, 1),
        fixed(seconds(flow.average_ns), 2)
    )
}

fn interval_table(flow: &FlowRecord, published: Option<&PublishedSeries>, most: usize) -> String {
    let mut out =
        String::from("<div class=\"scroll\"><table class=\"numbers\"><thead><tr><th>#</th>");
    if let Some(published) = published {
        let _ = write!(
            out,
            "<th class=\"first\">published ({}), MiB</th><th>s</th><th>Mbit/s</th>",
            html(&published.id)
        );
    }
    out.push_str(
        "<th class=\"first\">this run, MiB</th><th>s</th><th>Mbit/s</th><th>retransmitted</th>",
    );
    if published.is_some() {
        out.push_str("<th class=\"first\">ratio of rates</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let lines = published.map_or(0, |published| published.intervals.len());
    let count = flow.intervals.len().max(lines);
    for index in 0..count.min(most) {
        out.push_str(&interval_row(index, flow, published));
    }
    out.push_str(&total_row(flow, published));
    out.push_str("</tbody></table></div>\n");
    if count > most {
        let _ = writeln!(
            out,
            "<p class=\"note\">The first {most} of {count} intervals; run.json has all.</p>"
        );
    }
    out
}

fn interval_row(index: usize, flow: &FlowRecord, published: Option<&PublishedSeries>) -> String {
    let ours = flow.intervals.get(index);
    let length_ns = ours.map(|line| line.end_ns.saturating_sub(line.start_ns));
    let rate = ours.map(|line| mbps(line.bytes, length_ns.unwrap_or(0)));
    let theirs = published.and_then(|published| published.intervals.get(index));
    let mut out = format!("<tr><th scope=\"row\">{}</th>", index + 1);
    if published.is_some() {
        out.push_str(&published_cells(theirs));
    }
    let _ = write!(
        out,
        "<td class=\"first\">{}</td><td>{}</td><td>{}</td><td>{}</td>",
        maybe(ours.map(|line| line.bytes as f64 / BYTES_PER_MB), 4),
        maybe(length_ns.map(seconds), 2),
        maybe(rate, 4),
        ours.map_or_else(
            || ABSENT.to_owned(),
            |line| grouped(line.retransmitted_segments)
        ),
    );
    if published.is_some() {
        let ratio = ratio(theirs.map(|line| line.mbps), rate);
        let _ = write!(out, "<td class=\"first\">{}</td>", html(&ratio));
    }
    out.push_str("</tr>\n");
    out
}

fn published_cells(line: Option<&PublishedInterval>) -> String {
    format!(
        "<td class=\"first\">{}</td><td>{}</td><td>{}</td>",
        maybe(line.map(|line| line.mb), 4),
        maybe(line.map(|line| line.seconds), 2),
        maybe(line.map(|line| line.mbps), 4),
    )
}

fn total_row(flow: &FlowRecord, published: Option<&PublishedSeries>) -> String {
    let mut out = String::from("<tr class=\"total\"><th scope=\"row\">total</th>");
    if let Some(published) = published {
        let total = published.total.as_ref();
        let average = published.average().map(|average| {
            if published.mbps.is_some() {
                Quantity::Average.extremes_text(average)
            } else {
                fixed(average.low, 4)
            }
        });
        let _ = write!(
            out,
            "<td class=\"first\">{}</td><td>{}</td><td>{}</td>",
            maybe(total.map(|total| total.mb), 4),
            maybe(total.map(|total| total.seconds), 2),
            average.unwrap_or_else(|| ABSENT.to_owned()),
        );
    }
    let _ = write!(
        out,
        "<td class=\"first\">{:.4}</td><td>{:.2}</td><td>{}</td><td>{}</td>",
        flow.bytes as f64 / BYTES_PER_MB,
        seconds(flow.average_ns),
        fixed(flow.goodput_bps / 1e6, 4),
        grouped(flow.retransmitted_segments),
    );
    if let Some(published) = published {
        let theirs = published.average().map(Extremes::middle);
        let ratio = ratio(theirs, Some(flow.goodput_bps / 1e6));
        let _ = write!(out, "<td class=\"first\">{}</td>", html(&ratio));
    }
    out.push_str("</tr>\n");
    out
}

/// Lines of each row as a list; empty if there are none.
pub(crate) fn listed(rows: &[Row<'_>], lines: fn(&FlowRecord) -> Vec<String>) -> String {
    let mut out = String::new();
    for row in rows {
        for line in row.representative().map(lines).unwrap_or_default() {
            let _ = writeln!(out, "<li><b>{}</b>: {}</li>", html(&row.label), html(&line));
        }
    }
    if out.is_empty() {
        out
    } else {
        format!("<ul>\n{out}</ul>")
    }
}

/// Requested values that differ from the granted ones; empty if there are none.
pub(crate) fn negotiated(rows: &[Row<'_>]) -> String {
    let mut body = String::new();
    for row in rows {
        let values = row
            .representative()
            .map_or(&[][..], |flow| &flow.negotiated);
        for value in values {
            body.push_str("<tr>");
            let cells = [
                &row.label,
                &value.what,
                &value.requested,
                &value.granted,
                &value.effective,
                &value.cause,
            ];
            for cell in cells {
                let _ = write!(body, "<td>{}</td>", html(cell));
            }
            body.push_str("</tr>\n");
        }
    }
    if body.is_empty() {
        return String::new();
    }
    format!(
        "<table class=\"words\"><thead><tr><th>Series</th><th>What</th><th>Requested</th>\
         <th>Granted</th><th>In effect</th><th>Because</th></tr></thead><tbody>\n{body}</tbody></table>"
    )
}

/// Declared, fitted inputs, with the series that shows the run without them. Empty if there are
/// none.
pub(crate) fn fitted(rows: &[Row<'_>]) -> String {
    let fitted = rows.iter().filter(|row| row.is_fitted() && row.flow == 0);
    definitions(fitted.map(|row| {
        let series = row.group.repeats[0];
        let mut lines: Vec<String> = series.fitted.iter().map(|line| html(line)).collect();
        let twin = series.fit_of.iter();
        lines.extend(twin.map(|twin| format!("Without the fit: <b>{}</b>.", html(twin))));
        (&*series.name, lines)
    }))
}

/// A table of named rows of series; empty without any.
fn named_table<'a, T: 'a>(
    what: &str,
    columns: &[Column<T>],
    rows: impl Iterator<Item = (&'a str, &'a str, &'a T)>,
) -> String {
    let mut body = String::new();
    for (series, name, row) in rows {
        let cell = |(_, value): &Column<T>| format!("<td>{}</td>", html(&value(row)));
        let cells: String = columns.iter().map(cell).collect();
        let (series, name) = (html(series), html(name));
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{series}</th><td class=\"text\">{name}</td>{cells}</tr>"
        );
    }
    if body.is_empty() {
        return body;
    }
    let heading = |(heading, _): &Column<T>| format!("<th>{}</th>", html(heading));
    let headings: String = columns.iter().map(heading).collect();
    format!(
        "<table class=\"numbers wide\"><thead><tr><th>Series</th><th class=\"text\">{what}</th>\
         {headings}</tr></thead><tbody>\n{body}</tbody></table>"
    )
}

/// Path elements of the drawn repeat of every series; empty without any.
pub(crate) fn path(report: &Report<'_>) -> String {
    let shown: Vec<&SeriesRecord> = drawn(report).collect();
    let columns = hop_columns::columns(shown.iter().flat_map(|series| &series.hops));
    let rows = shown.iter().flat_map(|series| {
        let hops = series.hops.iter();
        hops.map(|hop| (series.name.as_str(), hop.name.as_str(), hop))
    });
    named_table("Element", &columns, rows)
}

fn hosts_of(series: &SeriesRecord) -> Vec<&HostRecord> {
    let mut shown = hosts::at_work(&series.hosts);
    shown.truncate(hosts::MOST_SHOWN);
    shown
}

/// Hosts of the drawn repeat of every series. Empty if there is nothing to show.
pub(crate) fn hosts(report: &Report<'_>) -> String {
    let shown: Vec<&SeriesRecord> = drawn(report).collect();
    let rows: Vec<_> = shown
        .iter()
        .flat_map(|series| {
            hosts_of(series)
                .into_iter()
                .map(|host| (&*series.name, host))
        })
        .collect();
    let all: Vec<&HostRecord> = rows.iter().map(|(_, host)| *host).collect();
    let mut notes = String::new();
    for host in &all {
        if let Some(core) = &host.saturated {
            let _ = write!(notes, "<li>{}: {}</li>", html(&host.name), html(core));
        }
    }
    let rows = rows
        .iter()
        .map(|(series, host)| (*series, &*host.name, *host));
    let table = named_table("Host", &hosts::columns(&all), rows);
    match notes.is_empty() {
        true => table,
        false => format!("{table}<ul>{notes}</ul>"),
    }
}

/// Drawn repeat of every series.
fn drawn<'a>(report: &Report<'a>) -> impl Iterator<Item = &'a SeriesRecord> {
    let groups = groups(report.run).into_iter();
    groups.map(|group| group.representative())
}

/// Results of applications; empty if no plan has one.
pub(crate) fn applications(report: &Report<'_>) -> String {
    definitions(drawn(report).map(|series| {
        let published = report.published_for(series);
        let published = applications::published_lines(series, published);
        let lines = applications::lines(series).into_iter().chain(published);
        (&*series.name, lines.map(|line| html(&line)).collect())
    }))
}

/// Lists of lines, already escaped, with their names; empty without any line.
fn definitions<'a>(items: impl Iterator<Item = (&'a str, Vec<String>)>) -> String {
    let mut out = String::new();
    for (name, lines) in items.filter(|(_, lines)| !lines.is_empty()) {
        let texts = lines.join("</dd><dd>");
        let _ = writeln!(out, "<dt>{}</dt><dd>{texts}</dd>", html(name));
    }
    match out.is_empty() {
        true => out,
        false => format!("<dl>{out}</dl>"),
    }
}

/// Notes on runs in real time; empty if there are none.
pub(crate) fn in_real_time(report: &Report<'_>) -> String {
    let live = drawn(report).filter_map(|series| Some((series, series.live.as_ref()?)));
    definitions(live.map(|(series, live)| {
        let lines = crate::live::lines(series, live);
        (&*series.name, lines.iter().map(|line| html(line)).collect())
    }))
}

/// Identification of each recorded series: seed, size and fingerprint.
pub(crate) fn provenance(report: &Report<'_>) -> String {
    let mut body = String::new();
    // A test of hosts has no seed, packet count or hash.
    let of_run = |cells: String| {
        if report.run.is_test() {
            String::new()
        } else {
            cells
        }
    };
    for series in &report.run.series {
        let flow = series.flows.first();
        let control = flow.map_or(ABSENT, |flow| &flow.congestion_control);
        let profiles = flow.map_or_else(
            || ABSENT.to_owned(),
            |flow| format!("{} \u{2192} {}", flow.sender_profile, flow.receiver_profile),
        );
        let _ = writeln!(
            body,
            "<tr><th scope=\"row\">{}</th><td class=\"text\">{}</td><td class=\"text\">{}</td>\
             <td>{}</td>{}</tr>",
            html(&series.name),
            html(control),
            html(&profiles),
            fixed(seconds(series.duration_ns), 3),
            of_run(format!(
                "<td>{}</td><td>{}</td><td class=\"text\"><code>{}</code></td>",
                series.seed,
                grouped(series.packets),
                html(if series.live.is_some() {
                    "none: in real time"
                } else {
                    &series.event_hash
                }),
            )),
        );
        for run in series.further.iter().flat_map(|further| &further.runs) {
            let _ = writeln!(
                body,
                "<tr><th scope=\"row\">{}</th><td class=\"text\" colspan=\"2\">further seed</td>\
                 <td>{ABSENT}</td><td>{}</td><td>{ABSENT}</td>\
                 <td class=\"text\"><code>{}</code></td></tr>",
                html(&series.name),
                run.seed,
                html(&run.event_hash),
            );
        }
    }
    format!(
        "<table class=\"numbers wide\"><thead><tr><th>Series</th><th class=\"text\">Control</th>\
         <th class=\"text\">Profiles</th><th>time, s</th>{}</tr></thead><tbody>\n{body}</tbody></table>",
        of_run("<th>seed</th><th>packets</th><th class=\"text\">event hash</th>".into())
    )
}

fn capital(heading: &str) -> String {
    let mut chars = heading.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
