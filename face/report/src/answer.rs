//! The answer at the top of a page and a screen.
//!
//! For a test or a watched connection: its rate, and the answer of its record, as on the terminal.
//! For a run of a plan: the rate of the flow and its largest limit. With several series, or flows of
//! one series, it is that of the fastest and the slowest.

use std::fmt::Write;

use gigatcp_plan::record::{FlowRecord, SeriesRecord, WhyRecord, combined_rate};
use gigatcp_units::grammar::{human_bytes, human_duration};
use gigatcp_units::{Bytes, Duration};

use crate::compare::Row;
use crate::escape::html;
use crate::group::by_key;
use crate::number::{fixed, rate};
use crate::table::shares_of_row;
use crate::{Report, cause_phrase, shares};

/// Maximum number of connections whose sentences are listed.
const MAX_LISTED: usize = 16;

/// Connections with an answer, the largest first; none for a run of a plan.
fn answered<'a>(report: &Report<'a>) -> Vec<(&'a FlowRecord, &'a WhyRecord)> {
    let series = report.run.series.iter().filter(|_| report.run.is_test());
    let flows = series.flat_map(|series| &series.flows);
    let mut answered: Vec<_> = flows
        .filter_map(|flow| Some((flow, flow.why.as_ref()?)))
        .collect();
    answered.sort_by_key(|(flow, _)| std::cmp::Reverse(flow.bytes));
    answered
}

/// Sentence at the top of the page; `None` without an answer. For a test it is that of the
/// connection, or the causes of all of them.
pub(crate) fn headline(report: &Report<'_>, rows: &[Row<'_>]) -> Option<String> {
    let series = report.run.series.first().filter(|_| report.run.is_test());
    let answers = answered(report);
    if let Some((_, why)) = answers.first() {
        let subject = series.map_or_else(String::new, rates);
        if answers.len() > 1 {
            let latency = series.and_then(latency).unwrap_or_default();
            return Some(format!("{subject}: {}{latency}", of_several(&answers)));
        }
        let mut sentence = why.sentence.clone();
        sentence[..1].make_ascii_lowercase();
        return Some(format!("{subject}: {sentence}"));
    }
    if let Some(series) = series.filter(|series| !series.datagrams.is_empty()) {
        return Some(of_datagrams(series));
    }
    let answers = of_flows(rows, |id| format!("limited by {}", cause_phrase(id)));
    (!answers.is_empty()).then(|| answers.join(". "))
}

/// `limited by the path in 5 of 8, unsure in 3`: causes of several connections, the most frequent first.
fn of_several(answers: &[(&FlowRecord, &WhyRecord)]) -> String {
    let named = answers.iter().map(|(_, why)| {
        let is_sure = !why.sentence.starts_with("Unsure");
        let cause = why.primary_cause.as_deref().filter(|_| is_sure);
        let named = cause.map(|id| format!("limited by {}", cause_phrase(id)));
        (named.unwrap_or_else(|| "unsure".to_owned()), ())
    });
    let mut causes = by_key(named);
    causes.sort_by_key(|(_, connections)| std::cmp::Reverse(connections.len()));
    let count = answers.len();
    let lines = causes
        .iter()
        .enumerate()
        .map(|(place, (cause, connections))| {
            let of = if place == 0 {
                format!(" of {count}")
            } else {
                String::new()
            };
            format!("{cause} in {}{of}", connections.len())
        });
    lines.collect::<Vec<_>>().join(", ")
}

/// Median RTTs of the pings of a test, idle and under load; `None` without any.
fn latency(series: &SeriesRecord) -> Option<String> {
    let pings = series.latency.first()?;
    let median = |times: &[u64]| {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let middle = sorted.get(sorted.len() / 2)?;
        Some(human_duration(Duration::from_nanos(*middle)))
    };
    let (idle, loaded) = (median(&pings.idle_ns)?, median(&pings.loaded_ns)?);
    Some(format!("; median RTT {idle} idle, {loaded} under load"))
}

/// Rates of a test, in each direction.
fn rates(series: &SeriesRecord) -> String {
    let sum = |is_received: bool| {
        let flows = series.flows.iter();
        let own = flows.filter(|flow| flow.name.ends_with("from the server") == is_received);
        combined_rate(own.map(FlowRecord::span))
    };
    match (sum(false), sum(true)) {
        (sent, received) if sent > 0.0 && received > 0.0 => {
            format!("{} sent and {} received", rate(sent), rate(received))
        }
        (sent, received) => rate(sent + received),
    }
}

/// Rates, losses and jitter of a test with datagrams.
fn of_datagrams(series: &SeriesRecord) -> String {
    let all = || series.datagrams.iter();
    let (bytes, sent) = (
        all().map(|stream| stream.bytes).sum::<u64>(),
        all().map(|stream| stream.sent).sum::<u64>(),
    );
    let (lost, reordered) = (
        all().map(|stream| stream.lost).sum::<u64>(),
        all().map(|stream| stream.reordered).sum::<u64>(),
    );
    let arrived = all().map(|stream| stream.received).sum::<u64>();
    let received_bps = bytes as f64 * 8e9 / series.duration_ns.max(1) as f64;
    // The datagrams of a test have one size.
    let sent_bps = received_bps * sent as f64 / arrived.max(1) as f64;
    let percent = fixed(100.0 * lost as f64 / sent.max(1) as f64, 2);
    let jitter = all().map(|stream| stream.jitter_ns).max().unwrap_or(0);
    let jitter = human_duration(Duration::from_nanos(jitter));
    format!(
        "{} of {} received: {lost} lost ({percent} %), {reordered} reordered, jitter {jitter}",
        rate(received_bps),
        rate(sent_bps),
    )
}

/// Answers for a run of a plan; `named` puts a cause, by its id, in words.
///
/// Several series are compared by the sums of their flows, the flows of one series with each other.
/// The answers are of the fastest and the slowest, or one for all if none is 5 % faster than
/// another.
pub(crate) fn of_flows(rows: &[Row<'_>], named: fn(&str) -> String) -> Vec<String> {
    if let [row] = rows {
        return of_flow(row, named).into_iter().collect();
    }
    let (series, flows): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| row.is_whole_series());
    if let [sum] = series[..] {
        let rate = median(sum).map(|median| format!("{}: {}", sum.label, rate(median * 1e6)));
        return rate.into_iter().chain(extremes(&flows, named)).collect();
    }
    extremes(&series, named)
}

/// Answers of the fastest and the slowest of `rows`, or one for all.
fn extremes(rows: &[&Row<'_>], named: fn(&str) -> String) -> Vec<String> {
    let mut known: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((median(row)?, row)))
        .collect();
    known.sort_by(|left, right| left.0.total_cmp(&right.0));
    let [slowest, .., fastest] = &known[..] else {
        return Vec::new();
    };
    if fastest.0 < 1.05 * slowest.0 {
        return vec![of_alike((slowest.0, fastest.0), rows, named)];
    }
    [("Fastest", fastest), ("Slowest", slowest)]
        .into_iter()
        .filter_map(|(name, (_, row))| {
            Some(format!("{name}: {}, {}", row.label, of_flow(row, named)?))
        })
        .collect()
}

/// One answer for rows of about the same rate, Mbit/s: the largest limits.
fn of_alike(
    (slowest, fastest): (f64, f64),
    rows: &[&Row<'_>],
    named: fn(&str) -> String,
) -> String {
    let mut causes: Vec<&str> = Vec::new();
    for row in rows {
        let cause = shares_of_row(row).first().map(|(cause, _)| *cause);
        causes.extend(cause.filter(|cause| !causes.contains(cause)));
    }
    let limits = match causes.is_empty() {
        true => String::new(),
        false => {
            let causes: Vec<String> = causes.into_iter().map(named).collect();
            format!(", mostly {}", causes.join(" or "))
        }
    };
    let (low, high) = (rate(slowest * 1e6), rate(fastest * 1e6));
    let rates = match low == high {
        true => low,
        false => format!("{low} to {high}"),
    };
    let all = match rows.len() {
        2 => "Both".to_owned(),
        count => format!("All {count}"),
    };
    format!("{all} within 5 %: {rates}{limits}")
}

/// The rate of a flow and its largest limit; `None` where neither is known.
fn of_flow(row: &Row<'_>, named: fn(&str) -> String) -> Option<String> {
    let limits = shares_of_row(row);
    let limit = limits.first().map(|(cause, share)| {
        let share = shares::text(*share);
        format!("{} for {share} % of the time", named(cause))
    });
    let rate = median(row).map(|median| rate(median * 1e6));
    let parts: Vec<String> = rate.into_iter().chain(limit).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Goodput of a flow, Mbit/s: the median of its runs.
fn median(row: &Row<'_>) -> Option<f64> {
    let [average, ..] = row.comparisons();
    average.ours.map(|ours| ours.median)
}

/// Lines below the sentence, and the sentences of several connections. Empty without an answer.
pub(crate) fn section(report: &Report<'_>) -> String {
    let all = answered(report);
    let several = if all.len() > 1 { &all[..] } else { &[] };
    let mut lines = all
        .first()
        .map_or_else(Vec::new, |(flow, why)| lines(flow, why));
    let mut tests = (report.run.series.iter()).filter_map(|series| series.test.as_ref());
    // Of repeated tests each has its own; the page is of the first.
    lines.extend(tests.next().iter().flat_map(|test| test.facts.clone()));
    if lines.is_empty() {
        return String::new();
    }
    let mut out = "<section id=\"answer\">\n<dl class=\"answer\">".to_owned();
    for (label, text) in lines {
        let _ = write!(out, "<dt>{}</dt><dd>{}</dd>", html(&label), html(&text));
    }
    out.push_str("</dl>\n");
    if !several.is_empty() {
        out.push_str("<ul>");
        for (flow, why) in several.iter().take(MAX_LISTED) {
            let _ = write!(
                out,
                "<li>{}: {}</li>",
                html(&flow.name),
                html(&why.sentence)
            );
        }
        out.push_str("</ul>\n");
        if let Some(more) = several
            .len()
            .checked_sub(MAX_LISTED)
            .filter(|more| *more > 0)
        {
            let _ = writeln!(
                out,
                "<p>and {more} more connections, in the table below</p>"
            );
        }
    }
    out.push_str("</section>\n");
    out
}

/// Lines with their labels, as `gigatcp why` prints them, without the shares that the
/// picture has. Records of earlier versions have the sentence only.
fn lines(flow: &FlowRecord, why: &WhyRecord) -> Vec<(String, String)> {
    let mut lines = why.lines.clone();
    lines.retain(|(label, _)| label != "Also");
    let details = format!("{}, {}", flow.name, human_bytes(Bytes::new(flow.bytes)));
    lines.push(("Details".to_owned(), details));
    lines
}
