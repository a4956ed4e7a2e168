//! Application performance: response times, completion times, jitter.

use gigatcp_plan::record::{ApplicationRecord, ArrivalsRecord, DatagramsRecord, SeriesRecord};
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::hosts::drops_text;
use crate::number::{ABSENT, fixed, grouped, rate};
use crate::prose::TIE;
use crate::published::PublishedSeries;

/// A line for each application of a series, in plan order by kind.
pub(crate) fn lines(series: &SeriesRecord) -> Vec<String> {
    let flows = series.flows.iter();
    let connections = flows.filter_map(|flow| {
        let line = of_connections(flow.application.as_ref()?);
        // Further connections of an application repeat the line of the first.
        (!flow.name.contains("-connection-")).then(|| format!("{}, {line}", flow.name))
    });
    let arrivals = series
        .arrivals
        .iter()
        .map(|arrivals| of_arrivals(arrivals, series.duration_ns));
    let datagrams = series.datagrams.iter().map(of_datagrams);
    connections.chain(arrivals).chain(datagrams).collect()
}

/// A count whose groups of digits stay on one line.
fn tied(count: u64) -> String {
    grouped(count).replace(' ', &TIE.to_string())
}

fn time(nanos: Option<u64>) -> String {
    nanos.map_or_else(
        || ABSENT.to_owned(),
        |nanos| human_duration(Duration::from_nanos(nanos)).to_string(),
    )
}

fn of_connections(record: &ApplicationRecord) -> String {
    let mut line = record.application.clone();
    if record.requests > 0 {
        line.push_str(&format!(
            ": {} of {} answered; response time {} (median), {} (mean), {} (99 %)",
            tied(record.answered),
            tied(record.requests),
            time(record.response_p50_ns),
            time(record.response_mean_ns),
            time(record.response_p99_ns),
        ));
    }
    let others = [
        (record.repeated, "repeated"),
        (record.max_waiting, "waited for a connection at most"),
        (record.pauses, "pauses"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!("; {} {what}", tied(count)));
    }
    if record.paused_ns > 0 {
        line.push_str(&format!(" of {} in all", time(Some(record.paused_ns))));
    }
    line
}

fn of_arrivals(record: &ArrivalsRecord, duration_ns: u64) -> String {
    let goodput = record.bytes as f64 * 8e9 / duration_ns.max(1) as f64;
    format!(
        "{}, {}: {} of {} flows completed, {} together; completion time {} (median), {} (mean), {} (99 %); \
         {} segments retransmitted",
        record.name,
        record.application,
        tied(record.completed),
        tied(record.flows),
        rate(goodput),
        time(record.completion_p50_ns),
        time(record.completion_mean_ns),
        time(record.completion_p99_ns),
        tied(record.retransmitted_segments),
    )
}

fn of_datagrams(record: &DatagramsRecord) -> String {
    let lost = record.lost as f64 / record.sent.max(1) as f64;
    let mut line = format!(
        "{}, {}: {} of {} datagrams received, {} lost ({} %); jitter {}",
        record.name,
        record.application,
        tied(record.received),
        tied(record.sent),
        tied(record.lost),
        fixed(lost * 100.0, 3),
        time(Some(record.jitter_ns)),
    );
    let others = [
        (record.reordered, "reordered"),
        (record.duplicates, "duplicates"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!("; {} {what}", tied(count)));
    }
    if !record.host_drops.is_empty() {
        let dropped = drops_text(&record.host_drops);
        line.push_str(&format!("; dropped by the receiver: {dropped}"));
    }
    line
}

/// A line for each published loss or queueing delay, next to the result.
pub(crate) fn published_lines(
    ours: &SeriesRecord,
    theirs: Option<&PublishedSeries>,
) -> Vec<String> {
    let lost = theirs.and_then(|theirs| beside_loss(ours, theirs));
    let delay = theirs.and_then(|theirs| beside_delay(ours, theirs));
    lost.into_iter().chain(delay).collect()
}

/// Share of datagrams that did not arrive, or of segments that were retransmitted.
fn beside_loss(ours: &SeriesRecord, theirs: &PublishedSeries) -> Option<String> {
    let (low, high) = theirs.lost_percent?;
    let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let (missing, what) = match (ours.datagrams.first(), ours.flows.first()) {
        (Some(one), _) => (share(one.sent - one.received, one.sent), "did not arrive"),
        (None, Some(flow)) => (
            share(flow.retransmitted_segments, flow.segments_sent),
            "of the segments were retransmissions",
        ),
        (None, None) => return None,
    };
    let sent = theirs.mbps.map(|(_, sent)| format!("{sent} Mbit/s sent, "));
    Some(format!(
        "published ({}): {}{low} to {high} % lost; this run: {} % {what}",
        theirs.id,
        sent.unwrap_or_default(),
        fixed(missing * 100.0, 1),
    ))
}

/// Median of the path element with the longest queueing delay.
fn beside_delay(ours: &SeriesRecord, theirs: &PublishedSeries) -> Option<String> {
    let published = theirs.queueing_delay_ms?;
    let medians = ours.hops.iter().filter_map(|hop| hop.queueing_delay_p50_ns);
    Some(format!(
        "published ({}): a median queueing delay of {published} ms; this run: {}",
        theirs.id,
        time(medians.max()),
    ))
}
