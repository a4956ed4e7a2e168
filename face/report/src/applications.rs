//! What the users of applications noticed: response times, completion times, jitter.

use gigatcp_record::{ApplicationRecord, ArrivalsRecord, DatagramsRecord, SeriesRecord};
use gigatcp_units::Duration;
use gigatcp_units::grammar::human_duration;

use crate::number::{ABSENT, fixed, grouped, rate};
use crate::published::PublishedSeries;

/// Returns a line for each application of a series, in plan order by kind, and one for
/// what was published of its datagrams.
pub(crate) fn lines(series: &SeriesRecord, published: Option<&PublishedSeries>) -> Vec<String> {
    let flows = series.flows.iter();
    let connections = flows.filter_map(|flow| {
        let line = of_connections(flow.application.as_ref()?);
        // Further connections of an application repeat what the first says.
        (!flow.name.contains("-connection-")).then(|| format!("{}, {line}", flow.name))
    });
    let arrivals = series.arrivals.iter();
    let arrivals = arrivals.map(|one| of_arrivals(one, series.duration_ns));
    let datagrams = series.datagrams.iter().map(of_datagrams);
    let published = series.datagrams.first().zip(published);
    let published = published.and_then(|(ours, theirs)| beside_datagrams(ours, theirs));
    let ours = connections.chain(arrivals).chain(datagrams);
    ours.chain(published).collect()
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
            grouped(record.answered),
            grouped(record.requests),
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
        line.push_str(&format!("; {} {what}", grouped(count)));
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
        grouped(record.completed),
        grouped(record.flows),
        rate(goodput),
        time(record.completion_p50_ns),
        time(record.completion_mean_ns),
        time(record.completion_p99_ns),
        grouped(record.retransmitted_segments),
    )
}

fn of_datagrams(record: &DatagramsRecord) -> String {
    let lost = record.lost as f64 / record.sent.max(1) as f64;
    let mut line = format!(
        "{}, {}: {} of {} datagrams received, {} lost ({} %); jitter {}",
        record.name,
        record.application,
        grouped(record.received),
        grouped(record.sent),
        grouped(record.lost),
        fixed(lost * 100.0, 3),
        time(Some(record.jitter_ns)),
    );
    let others = [
        (record.reordered, "reordered"),
        (record.duplicates, "duplicates"),
        (record.buffer_overflows, "dropped by a full receive buffer"),
        (record.checksum_errors, "dropped for a wrong checksum"),
    ];
    for (count, what) in others.into_iter().filter(|(count, _)| *count > 0) {
        line.push_str(&format!("; {} {what}", grouped(count)));
    }
    line
}

/// What was published of datagrams, and the share that did not arrive here.
fn beside_datagrams(ours: &DatagramsRecord, theirs: &PublishedSeries) -> Option<String> {
    let (low, high) = theirs.lost_percent?;
    let missing = 1.0 - ours.received as f64 / ours.sent.max(1) as f64;
    let sent = theirs.mbps.map(|(_, sent)| format!("{sent} Mbit/s sent, "));
    Some(format!(
        "published ({}): {}{low} to {high} % lost; this run: {} % did not arrive",
        theirs.id,
        sent.unwrap_or_default(),
        fixed(missing * 100.0, 1),
    ))
}
