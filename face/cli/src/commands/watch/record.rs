//! The record of a connection watched in depth, for `--report`.

use gigatcp_meter::watch::Connection;
use gigatcp_plan::record::{FlowRecord, IntervalRecord, RunRecord, SeriesRecord};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_why::counters::{End, Reading};

use crate::commands::counters_record;

/// Initial length of an interval of the record.
const INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of intervals; when it is reached, neighbors are merged.
const MAX_INTERVALS: usize = 1200;

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
    /// Number of times that neighbors were merged: each doubles the length.
    merged: u32,
    /// Start of the current interval, with the counts at that time.
    since: Option<(Instant, Bytes, u64)>,
}

impl Kept {
    pub(super) fn add_snapshot(&mut self, connection: &Connection, at: Instant) {
        let start = *self.start.get_or_insert(at);
        let stride = self.stride.max(1);
        if self.seen.is_multiple_of(stride) {
            let at = Instant::ZERO + at.saturating_since(start);
            self.readings.push(Reading {
                at,
                ..connection.reading
            });
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
        let retransmits = connection.reading.total_retrans.unwrap_or(0);
        let now = (at, connection.total(), retransmits);
        let (from, bytes, before) = *self.since.get_or_insert(now);
        if at.saturating_since(from) >= INTERVAL.saturating_mul(1 << self.merged.min(30)) {
            self.intervals.push(IntervalRecord {
                start_ns: from.saturating_since(start).as_nanos(),
                end_ns: at.saturating_since(start).as_nanos(),
                bytes: connection.total().saturating_sub(bytes).as_u64(),
                retransmitted_segments: retransmits.saturating_sub(before),
            });
            self.since = Some(now);
        }
        if self.intervals.len() >= MAX_INTERVALS {
            self.intervals = self.intervals.chunks(2).map(merged).collect();
            self.merged += 1;
        }
    }

    /// Record; `None` before two snapshots.
    pub(super) fn record(self, connection: &Connection) -> Option<RunRecord> {
        let (first, last) = (*self.readings.first()?, *self.readings.last()?);
        let length = last.at.saturating_since(first.at);
        let (from, to, counted_by) = match connection.role() {
            End::Sender => (connection.local, connection.peer, "sender"),
            End::Receiver => (connection.peer, connection.local, "receiver"),
        };
        let grown = |of: fn(&Reading) -> Option<u64>| {
            of(&last)
                .unwrap_or(0)
                .saturating_sub(of(&first).unwrap_or(0))
        };
        let diagnosis = connection.diagnosis();
        let bytes = connection.total().as_u64();
        let title = format!("{from} -> {to}");
        let mut flow = FlowRecord {
            name: title.clone(),
            congestion_control: connection.congestion.clone(),
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
            format!("watch {}", connection.id),
            format!("Connection {title}"),
            format!("# gigatcp watch --connection {}", connection.id),
            series,
        ))
    }
}

fn merged(neighbors: &[IntervalRecord]) -> IntervalRecord {
    let sum = |of: fn(&IntervalRecord) -> u64| neighbors.iter().map(of).sum();
    IntervalRecord {
        start_ns: neighbors.first().map_or(0, |first| first.start_ns),
        end_ns: neighbors.last().map_or(0, |last| last.end_ns),
        bytes: sum(|interval| interval.bytes),
        retransmitted_segments: sum(|interval| interval.retransmitted_segments),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use gigatcp_meter::filter::Filter;
    use gigatcp_meter::watch::Watch;

    use super::*;

    /// The record of a transfer on a host that has been up for `uptime`, read every 10 ms.
    fn watched(uptime: Duration, count: u64) -> FlowRecord {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let filter = Filter::parse(&format!("dport {port}"), &|_| Vec::new()).unwrap();
        let mut watch = Watch::new(filter).unwrap();
        let begin = Instant::ZERO + uptime;
        watch.sample(begin).unwrap();
        let id = watch.connections()[0].id;
        let mut kept = Kept::default();
        for sample in 1..=count {
            stream.write_all(&[1; 5000]).unwrap();
            peer.read_exact(&mut [0; 5000]).unwrap();
            let at = begin + Duration::from_millis(10 * sample);
            assert!(watch.sample_one(id, at).unwrap());
            kept.add_snapshot(watch.connection(id).unwrap(), at);
        }
        let record = kept.record(watch.connection(id).unwrap()).unwrap();
        record.series[0].flows[0].clone()
    }

    #[test]
    fn strip_of_the_page_covers_the_watch_and_not_the_uptime_of_the_host() {
        let flow = watched(Duration::from_secs(1_000_000), 200);
        let length = flow.ended_ns;
        assert_eq!(length, 1_990_000_000);
        let strip = &flow.limited_by_timeline;
        assert!(!strip.is_empty());
        assert_eq!(strip[0].start_ns, 0);
        assert!(strip.iter().all(|span| span.end_ns <= length), "{strip:?}");
    }

    #[test]
    fn readings_every_10_ms_are_all_on_the_page_and_rates_every_100_ms() {
        let flow = watched(Duration::from_secs(100), 500);
        assert_eq!(flow.samples.len(), 500);
        assert_eq!(flow.samples[1].at_ns, 10_000_000);
        assert_eq!(flow.intervals.len(), 49);
        assert_eq!(flow.intervals[1].start_ns, 100_000_000);
    }

    #[test]
    fn long_watch_keeps_all_bytes_in_fewer_intervals() {
        let length = |count| IntervalRecord {
            start_ns: 0,
            end_ns: count,
            bytes: 3,
            retransmitted_segments: 1,
        };
        let pair = merged(&[length(1), length(2)]);
        assert_eq!((pair.end_ns, pair.bytes), (2, 6));
        assert_eq!(pair.retransmitted_segments, 2);
        assert_eq!(merged(&[length(1)]).bytes, 3);
    }
}
