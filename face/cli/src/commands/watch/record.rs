//! The record of a connection watched in depth, for `--report`.

use gigatcp_meter::watch::Connection;
use gigatcp_record::{FlowRecord, IntervalRecord, RunRecord, SeriesRecord};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::{End, Reading};

use crate::commands::counters_record;

/// Length of an interval of the record.
const INTERVAL: Duration = Duration::from_millis(1000);

/// Maximum number of readings; when it is reached, every second one is dropped.
const MAX_READINGS: usize = 4096;

/// Data of a connection that is kept while it is watched.
#[derive(Debug, Default)]
pub(super) struct Kept {
    start: Option<Instant>,
    readings: Vec<Reading>,
    stride: usize,
    seen: usize,
    intervals: Vec<IntervalRecord>,
    /// Start of the current interval, with the counts at that time.
    since: Option<(Instant, Bytes, u64)>,
}

impl Kept {
    /// Adds a snapshot.
    pub(super) fn add_snapshot(&mut self, one: &Connection, at: Instant) {
        let start = *self.start.get_or_insert(at);
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            let at = Instant::ZERO + at.saturating_since(start);
            self.readings.push(Reading { at, ..one.reading });
        }
        self.seen += 1;
        if self.readings.len() >= MAX_READINGS {
            let mut index = 0;
            self.readings.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride = stride * 2;
        }
        let retransmits = one.reading.total_retrans.unwrap_or(0);
        let now = (at, one.total(), retransmits);
        let (from, bytes, before) = *self.since.get_or_insert(now);
        if at.saturating_since(from) >= INTERVAL {
            self.intervals.push(IntervalRecord {
                start_ns: from.saturating_since(start).as_nanos(),
                end_ns: at.saturating_since(start).as_nanos(),
                bytes: one.total().saturating_sub(bytes).as_u64(),
                retransmitted_segments: retransmits.saturating_sub(before),
            });
            self.since = Some(now);
        }
    }

    /// Returns the record; `None` before two snapshots.
    pub(super) fn record(self, one: &Connection) -> Option<RunRecord> {
        let (first, last) = (*self.readings.first()?, *self.readings.last()?);
        let length = last.at.saturating_since(first.at);
        let (from, to, counted_by) = match one.role() {
            End::Sender => (one.local, one.peer, "sender"),
            End::Receiver => (one.peer, one.local, "receiver"),
        };
        let grown = |of: fn(&Reading) -> Option<u64>| {
            of(&last)
                .unwrap_or(0)
                .saturating_sub(of(&first).unwrap_or(0))
        };
        let diagnosis = one.diagnosis();
        let bytes = one.total().as_u64();
        let title = format!("{from} -> {to}");
        let mut flow = FlowRecord {
            name: title.clone(),
            congestion_control: one.congestion.clone(),
            ended_ns: length.as_nanos(),
            bytes,
            elapsed_ns: length.as_nanos(),
            average_ns: length.as_nanos(),
            goodput_bps: bytes as f64 * 8.0 / length.as_secs_f64().max(1e-9),
            segments_sent: grown(|reading| reading.data_segs_out),
            retransmitted_segments: grown(|reading| reading.total_retrans),
            timeouts: grown(|reading| reading.total_rto),
            marked_segments: grown(|reading| reading.delivered_ce),
            counted_by: Some(counted_by.to_owned()),
            ..counters_record::flow(&self.readings, self.intervals, diagnosis.as_ref())
        };
        // The diagnosis has the times of the host's clock, the record those of the watch.
        let started_ns = self.start.unwrap_or(Instant::ZERO).as_nanos();
        for span in &mut flow.limited_by_timeline {
            span.start_ns = span.start_ns.saturating_sub(started_ns);
            span.end_ns = span.end_ns.saturating_sub(started_ns);
        }
        let series = SeriesRecord {
            name: "watch".to_owned(),
            title: title.clone(),
            duration_ns: length.as_nanos(),
            flows: vec![flow],
            ..SeriesRecord::default()
        };
        Some(counters_record::run(
            format!("watch {}", one.id),
            format!("Connection {title}"),
            format!("# gigatcp watch --connection {}", one.id),
            series,
        ))
    }
}
