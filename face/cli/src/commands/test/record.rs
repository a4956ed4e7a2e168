//! A test as the record of a run: for `--report`, `--save` and `gigatcp diff`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use gigatcp_meter::tester::{self, Explanation, Latency, Outcome, Role, Samples, StreamOutcome};
use gigatcp_plan::record::{
    DatagramsInterval, DatagramsQuality, DatagramsRecord, DelayRecord, FlowRecord, IntervalRecord,
    LatencyRecord, Negotiated, RunRecord, SeriesRecord, TestRecord,
};
use gigatcp_protocol::iperf3::Transport;
use gigatcp_why::counters::Reading;

use super::ceiling::Ceiling;
use super::{hosts, native, sums};
use crate::commands::counters_record;

/// Record: one series, a flow for each TCP stream. `batch` is the start of the first run of the
/// command.
pub(super) fn of(outcome: &Outcome, batch: SystemTime, ceiling: Option<Ceiling>) -> RunRecord {
    let explanations = tester::explain(outcome);
    let theirs = tester::Readings::of(outcome).peer;
    let is_tcp = outcome.parameters.transport == Transport::Tcp;
    let streams = outcome.streams.iter().enumerate();
    let flows = streams.clone().filter(|_| is_tcp).map(|(index, stream)| {
        let explanation = explanations
            .iter()
            .find(|explanation| explanation.id == stream.id);
        flow(outcome, index, stream, explanation, theirs.as_ref())
    });
    let datagrams = streams
        .filter(|_| !is_tcp)
        .map(|(index, stream)| datagrams(outcome, index, stream));
    let title = outcome
        .parameters
        .title
        .clone()
        .unwrap_or_else(|| format!("Test with {}:{}", outcome.host, outcome.port));
    let series = SeriesRecord {
        name: "test".to_owned(),
        title: title.clone(),
        partial: outcome.cut_short.is_some(),
        duration_ns: nanos(duration(outcome)),
        flows: flows.collect(),
        datagrams: datagrams.collect(),
        hosts: hosts::records(outcome),
        latency: outcome.latency.iter().map(latency).collect(),
        test: Some(TestRecord {
            ceiling: ceiling.map(|ceiling| ceiling.record()),
            facts: native::facts(outcome, &explanations, ceiling)
                .into_iter()
                .map(|(label, text)| (label.to_owned(), text))
                .collect(),
            ..times(outcome.started_at, batch)
        }),
        ..SeriesRecord::default()
    };
    let (host, requested) = (&outcome.host, outcome.parameters.to_json());
    let plan = format!("# gigatcp test {host}, as requested:\n# {requested}");
    counters_record::run(format!("test {host}"), title, plan, series)
}

/// Start times of a run and of its batch.
fn times(started: SystemTime, batch: SystemTime) -> TestRecord {
    let millis = |time: SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    };
    TestRecord {
        started_unix_ms: millis(started),
        batch_unix_ms: millis(batch),
        ..TestRecord::default()
    }
}

/// Record of a run without data. `like` is the record of a run in the same batch that had data.
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

/// Time of a test. That of datagrams, which have none of their own, is their receiver's.
fn duration(outcome: &Outcome) -> Duration {
    let roles = sums::roles(&outcome.streams).into_iter();
    let longest = roles.map(|role| sums::receiving_time(outcome, role)).max();
    match outcome.parameters.transport {
        Transport::Udp => longest.unwrap_or(outcome.measured),
        _ => outcome.measured,
    }
}

/// `stream 1`, by its order in its direction (iperf3's numbers lack a 2), and the direction.
fn name(outcome: &Outcome, stream: &StreamOutcome) -> String {
    let direction = match stream.role {
        Role::Sender => "to the server",
        Role::Receiver => "from the server",
    };
    let mut own = sums::streams(outcome, stream.role);
    let place = own.position(|other| other.id == stream.id).unwrap_or(0);
    format!("stream {} {direction}", place + 1)
}

fn flow(
    outcome: &Outcome,
    index: usize,
    stream: &StreamOutcome,
    explanation: Option<&Explanation>,
    theirs: Option<&Samples>,
) -> FlowRecord {
    // A sender's counters have the state of a connection, on either side. The server's clock is
    // ahead by a one-way delay.
    let theirs = theirs
        .filter(|_| stream.role == Role::Receiver)
        .and_then(|theirs| theirs.streams.iter().find(|(id, _)| *id == stream.id));
    let sampled = theirs.map(|(_, readings)| &readings[..]);
    let counted_by = match (stream.role, sampled) {
        (Role::Receiver, None) => "receiver",
        _ => "sender",
    };
    let (bytes, time) = sums::received(outcome, stream);
    let retransmits = match stream.role {
        Role::Sender => stream.total.retransmits,
        Role::Receiver => outcome.peer_of(stream).and_then(|peer| peer.retransmits),
    };
    let readings = outcome
        .samples
        .streams
        .iter()
        .find(|(id, _)| *id == stream.id)
        .map_or(&[][..], |(_, readings)| readings);
    let samples = sampled.unwrap_or(readings);
    let last = readings.last();
    let count = |of: fn(&Reading) -> Option<u64>| last.and_then(of).unwrap_or(0);
    let diagnosis = explanation.map(|explanation| &explanation.diagnosis);
    let mut flow = FlowRecord {
        name: name(outcome, stream),
        group: (outcome.streams.len() > 1).then(|| "streams".to_owned()),
        congestion_control: stream.options.congestion.clone().unwrap_or_default(),
        ended_ns: nanos(outcome.measured),
        bytes,
        elapsed_ns: nanos(time),
        average_ns: nanos(time),
        goodput_bps: sums::rate(bytes, time),
        segments_sent: count(|reading| reading.data_segs_out),
        retransmitted_segments: retransmits.unwrap_or(0),
        timeouts: count(|reading| reading.total_rto),
        marked_segments: count(|reading| reading.delivered_ce),
        failure: outcome.cut_short.clone(),
        sender_cpu_fraction: cpu(outcome, stream.role == Role::Sender),
        receiver_cpu_fraction: cpu(outcome, stream.role == Role::Receiver),
        negotiated: negotiated(stream),
        counted_by: Some(counted_by.to_owned()),
        ..counters_record::flow(samples, intervals(outcome, index), diagnosis)
    };
    flow.unavailable.extend(unread(retransmits, last));
    flow
}

fn latency(latency: &Latency) -> LatencyRecord {
    let nanos = |times: &[Duration]| times.iter().map(|time| nanos(*time)).collect();
    LatencyRecord {
        kind: latency.kind.name().to_owned(),
        idle_ns: nanos(&latency.idle),
        loaded_ns: nanos(&latency.loaded),
        lost: latency.lost,
    }
}

/// Lists counters that were not read at this end; the record holds zero for them.
fn unread(retransmits: Option<u64>, last: Option<&Reading>) -> impl Iterator<Item = String> {
    let counters = [
        (retransmits.is_none(), "retransmitted_segments"),
        (last.is_none(), "segments_sent"),
        (last.is_none(), "timeouts"),
        (last.is_none(), "marked_segments"),
    ];
    let unread = counters.into_iter().filter(|(is_unread, _)| *is_unread);
    unread.map(|(_, name)| name.to_owned())
}

/// Intervals of a stream, except omitted ones.
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

/// CPU time of an end as a share of one core.
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

fn datagrams(outcome: &Outcome, index: usize, stream: &StreamOutcome) -> DatagramsRecord {
    let own = &stream.total;
    let counts = match stream.role {
        Role::Receiver => own.udp,
        Role::Sender => outcome.peer_datagrams(stream).unwrap_or_default(),
    };
    let sent = match stream.role {
        Role::Sender => own.datagrams,
        Role::Receiver => own.expected,
    };
    let drops = [("socket_buffer", counts.socket_drops)]
        .into_iter()
        .filter(|(_, count)| *count > 0);
    DatagramsRecord {
        name: name(outcome, stream),
        application: "datagrams".to_owned(),
        sent,
        received: counts.report.received,
        bytes: match stream.role {
            Role::Receiver => counts.report.octets,
            Role::Sender => outcome.peer_of(stream).map_or(0, |peer| peer.bytes),
        },
        lost: counts.report.lost,
        duplicates: counts.report.duplicates,
        reordered: counts.report.reordered,
        max_reordering_extent: counts.report.max_extent,
        host_drops: drops
            .map(|(cause, count)| (cause.to_owned(), count))
            .collect(),
        jitter_ns: counts.report.jitter.as_nanos(),
        max_jitter_ns: counts.report.max_jitter.as_nanos(),
        intervals: datagram_intervals(outcome, index, stream.role),
        delays: delays(outcome, stream),
    }
}

/// Intervals of a stream of datagrams, except omitted ones.
fn datagram_intervals(outcome: &Outcome, index: usize, role: Role) -> Vec<DatagramsInterval> {
    let mut reordered_before = 0;
    let mut intervals = Vec::new();
    for interval in &outcome.intervals {
        let stream = &interval.streams[index];
        let reordered = stream.udp.report.reordered;
        let quality = DatagramsQuality {
            lost: stream.lost,
            reordered: reordered.saturating_sub(reordered_before),
            jitter_ns: stream.udp.report.jitter.as_nanos(),
        };
        reordered_before = reordered;
        if !interval.omitted {
            intervals.push(DatagramsInterval {
                start_ns: nanos(interval.start),
                end_ns: nanos(interval.end),
                bytes: stream.bytes,
                datagrams: stream.datagrams,
                received: (role == Role::Receiver).then_some(quality),
            });
        }
    }
    intervals
}

/// One-way delays of a stream, from the arrival of its first datagram on.
fn delays(outcome: &Outcome, stream: &StreamOutcome) -> Vec<DelayRecord> {
    let readings = outcome.delay_over_time(stream);
    let first = readings.iter().map(|(at, ..)| *at).min();
    let delays = readings.iter().map(|(at, min_ns, max_ns)| DelayRecord {
        at_ns: first.map_or(0, |first| at.saturating_since(first).as_nanos()),
        min_ns: *min_ns,
        max_ns: *max_ns,
    });
    delays.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_no_end_tells_are_named_and_not_zero() {
        let names: Vec<String> = unread(None, None).collect();
        for name in ["retransmitted_segments", "segments_sent", "timeouts"] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
        let names: Vec<String> = unread(Some(0), Some(&Reading::default())).collect();
        assert!(!names.iter().any(|known| known == "timeouts"));
    }
}
