//! Parts of a record filled from counter readings and their diagnosis, for `test` and `watch`.

use gigatcp_plan::record::{
    CauseShare, CauseSpan, FlowRecord, IntervalRecord, RunRecord, SCHEMA, Sample, SeriesRecord,
    WhyRecord, growth,
};
use gigatcp_run::watch;
use gigatcp_why::counters::Reading;
use gigatcp_why::{CAUSES, Diagnosis};

/// Samples of a connection that a record keeps: 40 s of one every 10 ms.
const MAX_SAMPLES: usize = 4096;

/// The time of each cause.
fn shares(diagnosis: &Diagnosis) -> Vec<CauseShare> {
    let known = diagnosis
        .verdicts
        .iter()
        .map(|verdict| (verdict.cause.id, verdict.time));
    let shares = known
        .chain([("unknown", diagnosis.unknown)])
        .filter(|(_, time)| !time.is_zero());
    shares
        .map(|(cause, time)| CauseShare {
            cause: cause.to_owned(),
            spent_ns: time.as_nanos(),
        })
        .collect()
}

/// The intervals of one cause each, in order of time.
fn spans(diagnosis: &Diagnosis) -> Vec<CauseSpan> {
    let span = |span: &gigatcp_why::Span| CauseSpan {
        start_ns: span.start.as_nanos(),
        end_ns: (span.start + span.length).as_nanos(),
        cause: span
            .cause
            .map_or("unknown", |place| CAUSES[place].id)
            .to_owned(),
    };
    diagnosis.spans.iter().map(span).collect()
}

/// The diagnosis and its verdicts, with their evidence.
fn why(diagnosis: &Diagnosis) -> WhyRecord {
    let mut record = watch::record(diagnosis);
    for (kept, verdict) in record.verdicts.iter_mut().zip(&diagnosis.verdicts) {
        let evidence = verdict.evidence.iter();
        kept.evidence = evidence.map(|piece| piece.text.clone()).collect();
    }
    record
}

/// Some of the readings, evenly spaced.
fn samples(readings: &[Reading]) -> Vec<Sample> {
    let step = readings.len().div_ceil(MAX_SAMPLES).max(1);
    let bytes = |amount: Option<gigatcp_units::Bytes>| amount.map_or(0, |amount| amount.as_u64());
    let sample = |reading: &Reading| Sample {
        at_ns: reading.at.as_nanos(),
        cwnd_bytes: bytes(reading.cwnd()),
        ssthresh_bytes: reading.ssthresh().map(|bytes| bytes.as_u64()),
        rwnd_bytes: bytes(reading.snd_wnd),
        flight_bytes: bytes(reading.flight_size()),
        srtt_ns: reading.rtt.map(|rtt| rtt.as_nanos()),
        delivered_bytes: bytes(reading.bytes_acked).max(bytes(reading.bytes_received)),
        retransmitted_segments: reading.total_retrans,
    };
    readings.iter().step_by(step).map(sample).collect()
}

/// Values that counters do not contain; a record holds zero for them.
const UNAVAILABLE: [&str; 5] = [
    "fast_retransmits",
    "loss_events",
    "mark_reductions",
    "acks_sent",
    "limits",
];

/// The parts of a flow that follow from its readings, its intervals and its diagnosis.
pub(super) fn flow(
    readings: &[Reading],
    intervals: Vec<IntervalRecord>,
    diagnosis: Option<&Diagnosis>,
) -> FlowRecord {
    let rates: Vec<(f64, f64)> = intervals.iter().map(rate_at).collect();
    FlowRecord {
        sender_profile: "kernel".to_owned(),
        receiver_profile: "kernel".to_owned(),
        intervals,
        plateau_bps: growth::plateau(&rates),
        time_to_90_ns: growth::seconds_to_90(&rates).map(|seconds| (seconds * 1e9) as u64),
        limited_by: diagnosis.map(shares).unwrap_or_default(),
        limited_by_timeline: diagnosis.map(spans).unwrap_or_default(),
        samples: samples(readings),
        unavailable: UNAVAILABLE.map(str::to_owned).to_vec(),
        why: diagnosis.map(why),
        ..FlowRecord::default()
    }
}

/// The record of a command without plan and seed.
pub(super) fn run(name: String, title: String, plan: String, series: SeriesRecord) -> RunRecord {
    RunRecord {
        schema: SCHEMA.to_owned(),
        name,
        title,
        plan,
        overrides: Vec::new(),
        plan_hash: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: 0,
        repeat: 1,
        partial: series.partial,
        series: vec![series],
    }
}

/// End of an interval in seconds, and its rate in bit/s.
fn rate_at(interval: &IntervalRecord) -> (f64, f64) {
    let (start, end) = (interval.start_ns as f64 / 1e9, interval.end_ns as f64 / 1e9);
    (end, 8.0 * interval.bytes as f64 / (end - start).max(1e-9))
}
