//! A test as the record of a run: for `--report`, `--save` and `gigatcp diff`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gigatcp_meter::tester::{self, Explanation, Outcome, Role, StreamOutcome};
use gigatcp_protocol::iperf3::Transport;
use gigatcp_record::growth;
use gigatcp_record::{
    DatagramsRecord, FlowRecord, IntervalRecord, Negotiated, RunRecord, SCHEMA, SeriesRecord,
    TestRecord,
};
use gigatcp_why::counters::Reading;

use super::super::counters_record::{rate_at, samples, shares, spans, why};
use super::ceiling::Ceiling;
use super::{hosts, sums};

/// Returns the record: one series, a flow for each TCP stream. `batch` is the start of the first
/// run of the command.
pub(super) fn of(outcome: &Outcome, batch: SystemTime, ceiling: Option<Ceiling>) -> RunRecord {
    let explanations = tester::explain(outcome);
    let is_tcp = outcome.parameters.transport == Transport::Tcp;
    let streams = outcome.streams.iter().enumerate();
    let flows = streams.clone().filter(|_| is_tcp).map(|(index, stream)| {
        let explanation = explanations.iter().find(|one| one.id == stream.id);
        flow(outcome, index, stream, explanation)
    });
    let datagrams = streams
        .filter(|_| !is_tcp)
        .map(|(_, stream)| datagrams(outcome, stream));
    let title = outcome.parameters.title.clone();
    let title = title.unwrap_or_else(|| format!("Test with {}:{}", outcome.host, outcome.port));
    RunRecord {
        schema: SCHEMA.to_owned(),
        name: format!("test {}", outcome.host),
        title: title.clone(),
        plan: format!(
            "# gigatcp test {}, as requested:\n# {}",
            outcome.host,
            outcome.parameters.to_json()
        ),
        overrides: Vec::new(),
        plan_hash: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 0,
        repeat: 1,
        partial: outcome.cut_short.is_some(),
        series: vec![SeriesRecord {
            name: "test".to_owned(),
            title,
            partial: outcome.cut_short.is_some(),
            duration_ns: nanos(outcome.measured),
            flows: flows.collect(),
            datagrams: datagrams.collect(),
            hosts: hosts::records(outcome),
            test: Some(TestRecord {
                ceiling: ceiling.map(|ceiling| ceiling.record()),
                ..times(outcome.started_at, batch)
            }),
            ..SeriesRecord::default()
        }],
    }
}

/// Returns the start times of a run and of its batch.
fn times(started: SystemTime, batch: SystemTime) -> TestRecord {
    let millis = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    };
    TestRecord {
        started_unix_ms: millis(started),
        batch_unix_ms: millis(batch),
        ceiling: None,
    }
}

/// Returns the record of a run without data. `like` is the record of a run in the same batch that
/// had data.
pub(super) fn without_data(like: &RunRecord, reason: &str, batch: SystemTime) -> RunRecord {
    let mut record = like.clone();
    record.partial = true;
    for series in &mut record.series {
        let flow = FlowRecord {
            name: "no data".to_owned(),
            failure: Some(reason.to_owned()),
            ..FlowRecord::default()
        };
        *series = SeriesRecord {
            name: series.name.clone(),
            title: series.title.clone(),
            partial: true,
            flows: vec![flow],
            test: Some(times(SystemTime::now(), batch)),
            ..SeriesRecord::default()
        };
    }
    record
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `stream 1`, and its direction.
fn name(stream: &StreamOutcome) -> String {
    let direction = match stream.role {
        Role::Sender => "to the server",
        Role::Receiver => "from the server",
    };
    format!("stream {} {direction}", stream.id)
}

fn flow(
    outcome: &Outcome,
    index: usize,
    stream: &StreamOutcome,
    explanation: Option<&Explanation>,
) -> FlowRecord {
    let (bytes, time) = sums::received(outcome, stream);
    let retransmits = match stream.role {
        Role::Sender => stream.total.retransmits,
        Role::Receiver => outcome.peer_of(stream).and_then(|peer| peer.retransmits),
    };
    let intervals = intervals(outcome, index);
    let readings = outcome
        .samples
        .streams
        .iter()
        .find(|(id, _)| *id == stream.id);
    let readings = readings.map_or(&[][..], |(_, readings)| readings);
    let last = readings.last();
    let count = |of: fn(&Reading) -> Option<u64>| last.and_then(of).unwrap_or(0);
    let rates: Vec<(f64, f64)> = intervals.iter().map(rate_at).collect();
    let diagnosis = explanation.map(|one| &one.diagnosis);
    FlowRecord {
        name: name(stream),
        group: (outcome.streams.len() > 1).then(|| "streams".to_owned()),
        congestion_control: stream.options.congestion.clone().unwrap_or_default(),
        sender_profile: "kernel".to_owned(),
        receiver_profile: "kernel".to_owned(),
        ended_ns: nanos(outcome.measured),
        intervals,
        bytes,
        elapsed_ns: nanos(time),
        average_ns: nanos(time),
        goodput_bps: sums::rate(bytes, time),
        plateau_bps: growth::plateau(&rates),
        time_to_90_ns: growth::seconds_to_90(&rates).map(|seconds| (seconds * 1e9) as u64),
        segments_sent: count(|reading| reading.data_segs_out),
        retransmitted_segments: retransmits.unwrap_or(0),
        timeouts: count(|reading| reading.total_rto),
        marked_segments: count(|reading| reading.delivered_ce),
        failure: outcome.cut_short.clone(),
        sender_cpu_fraction: cpu(outcome, stream.role == Role::Sender),
        receiver_cpu_fraction: cpu(outcome, stream.role == Role::Receiver),
        limited_by: diagnosis.map(shares).unwrap_or_default(),
        limited_by_timeline: diagnosis.map(spans).unwrap_or_default(),
        samples: samples(readings),
        negotiated: negotiated(stream),
        unavailable: unavailable(retransmits, last),
        why: diagnosis.map(why),
        ..FlowRecord::default()
    }
}

/// Lists counters that are unknown at this end; the record holds zero for them.
fn unavailable(retransmits: Option<u64>, last: Option<&Reading>) -> Vec<String> {
    let always = [
        "fast_retransmits",
        "loss_events",
        "mark_reductions",
        "acks_sent",
        "limits",
    ];
    let unread = [
        (retransmits.is_none(), "retransmitted_segments"),
        (last.is_none(), "segments_sent"),
        (last.is_none(), "timeouts"),
        (last.is_none(), "marked_segments"),
    ];
    let unread = unread.into_iter().filter(|(is_unread, _)| *is_unread);
    let all = always.into_iter().chain(unread.map(|(_, name)| name));
    all.map(str::to_owned).collect()
}

/// Returns the intervals of a stream, except omitted ones.
fn intervals(outcome: &Outcome, index: usize) -> Vec<IntervalRecord> {
    let measured = outcome
        .intervals
        .iter()
        .filter(|interval| !interval.omitted);
    measured
        .map(|interval| IntervalRecord {
            start_ns: nanos(interval.start),
            end_ns: nanos(interval.end),
            bytes: interval.streams[index].bytes,
            retransmitted_segments: interval.streams[index].retransmits.unwrap_or(0),
        })
        .collect()
}

/// Returns the CPU time of an end as a share of one core.
fn cpu(outcome: &Outcome, is_ours: bool) -> f64 {
    let percent = match is_ours {
        true => outcome.cpu.total,
        false => outcome.peer.as_ref().map_or(0.0, |peer| peer.cpu.total),
    };
    percent / 100.0
}

fn negotiated(stream: &StreamOutcome) -> Vec<Negotiated> {
    let overrides = stream.options.overrides.iter();
    overrides
        .map(|one| Negotiated {
            what: one.option.to_owned(),
            requested: one.requested.clone(),
            granted: one.effective.clone(),
            effective: one.effective.clone(),
            cause: one.cause.clone(),
        })
        .collect()
}

fn datagrams(outcome: &Outcome, stream: &StreamOutcome) -> DatagramsRecord {
    let own = &stream.total;
    let counts = match stream.role {
        Role::Receiver => Some(own.udp),
        Role::Sender => outcome.peer_datagrams(stream),
    };
    let counts = counts.unwrap_or_default();
    let sent = match stream.role {
        Role::Sender => own.datagrams,
        Role::Receiver => own.expected,
    };
    let drops = [("socket_buffer", counts.socket_drops)];
    let drops = drops.into_iter().filter(|(_, count)| *count > 0);
    DatagramsRecord {
        name: name(stream),
        application: "datagrams".to_owned(),
        sent,
        received: counts.report.received,
        bytes: counts.report.octets,
        lost: counts.report.lost,
        duplicates: counts.report.duplicates,
        reordered: counts.report.reordered,
        max_reordering_extent: counts.report.max_extent,
        host_drops: drops
            .map(|(cause, count)| (cause.to_owned(), count))
            .collect(),
        jitter_ns: counts.report.jitter.as_nanos(),
        max_jitter_ns: counts.report.max_jitter.as_nanos(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_end_tells_are_named_and_not_zero() {
        let names = unavailable(None, None);
        for name in ["retransmitted_segments", "segments_sent", "timeouts"] {
            assert!(names.iter().any(|one| one == name), "{name}");
        }
        let names = unavailable(Some(0), Some(&Reading::default()));
        assert!(!names.iter().any(|one| one == "timeouts"));
    }
}
