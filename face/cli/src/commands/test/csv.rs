//! CSV: a line for each stream and interval, and for each stream's total.

use gigatcp_meter::tester::{Interval, Outcome, Role, StreamInterval, StreamOutcome};

use super::sums;

/// Column names.
pub(super) const HEAD: &str = "kind,start_s,end_s,omitted,stream,role,bytes,bits_per_second,retransmits,cwnd_bytes,\
     srtt_us,datagrams,lost,jitter_ms";

/// Lines of an interval.
pub(super) fn interval(streams: &[StreamOutcome], interval: &Interval) -> String {
    let lines = streams.iter().zip(&interval.streams).map(|(stream, part)| {
        let times = (interval.start.as_secs_f64(), interval.end.as_secs_f64());
        line("interval", times, interval.omitted, stream, part)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Lines of the totals, counted at this end.
pub(super) fn totals(outcome: &Outcome) -> String {
    let times = (0.0, outcome.measured.as_secs_f64());
    let lines = outcome
        .streams
        .iter()
        .map(|stream| line("total", times, false, stream, &stream.total));
    lines.collect::<Vec<_>>().join("\n")
}

fn line(
    kind: &str,
    (start, end): (f64, f64),
    omitted: bool,
    stream: &StreamOutcome,
    part: &StreamInterval,
) -> String {
    let role = stream.role.name();
    let span = std::time::Duration::from_secs_f64((end - start).max(0.0));
    let rate = sums::rate(part.bytes, span);
    let maybe = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let view = part.view.as_ref();
    let datagrams = part.view.is_none().then_some(part.datagrams);
    let jitter = part.udp.report.jitter.as_secs_f64() * 1000.0;
    let received = match stream.role {
        Role::Receiver if part.view.is_none() => format!("{},{jitter:.3}", part.lost),
        _ => ",".to_owned(),
    };
    format!(
        "{kind},{start:.6},{end:.6},{omitted},{},{role},{},{rate:.0},{},{},{},{},{received}",
        stream.id,
        part.bytes,
        maybe(part.retransmits),
        maybe(view.map(|view| view.cwnd.as_u64())),
        maybe(view.and_then(|view| Some(view.srtt?.as_micros()))),
        maybe(datagrams),
    )
}
