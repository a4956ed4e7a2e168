//! The data embedded in `report.html`: exactly what the graphs draw.
//!
//! The page must stay small enough to mail. The limits below bound every kind of point over the
//! whole page, independent of the number of series. The data counts what was thinned or cut, the
//! page reports it, and `run.json` has all of it. Columns of integers, each the difference to the
//! one before ([`crate::thin::deltas`]), take a third of the space of objects.
//!
//! With several repeats the graphs show the middle one ([`crate::group::Group::representative`]).
//! The throughput of the others is shown as minimum and maximum of every interval.

use gigatcp_plan::record::{
    CauseSpan, DatagramsRecord, FlowRecord, IntervalRecord, LatencyRecord, Sample, TimeSequence,
};
use serde::Serialize;

use crate::Report;
use crate::compare::{Row, causes_met, rows};
use crate::group::Group;
use crate::nuttcp;
use crate::published::PublishedSeries;
use crate::queues::{self, Queue};
use crate::thin::{Point, deltas, round_step, thin};

/// Maximum number of flows drawn; the rest is counted.
pub(crate) const MAX_LINES: usize = 64;
/// Maximum number of connections with a time-sequence graph; the rest is counted.
const MAX_SEQUENCES: usize = 12;
/// Maximum number of points of sampled quantities on the page.
const SAMPLE_POINTS: usize = 20_000;
/// Maximum number of points in a line of throughput. More would overlap on most screens, and show
/// only noise in long runs.
const INTERVAL_POINTS: usize = 240;
/// Maximum number of points of throughput by samples: of one line, and of all.
const RATE_POINTS: [usize; 2] = [600, 6_000];
/// Least time between two points of throughput by samples.
const RATE_STEP_NS: u64 = 100_000_000;
/// Maximum number of ticks of a line.
const TICKS: usize = 400;
/// Maximum number of points of one-way delay on the page.
const DELAY_POINTS: usize = 4_000;
/// Maximum number of spans of the limited-by timelines on the page.
const LIMIT_SPANS: usize = 12_000;

/// Data that the page draws.
#[derive(Debug, Serialize)]
pub struct Page<'a> {
    /// Clock of the times of samples and limits.
    pub clock: &'static str,
    /// Flows in plan order.
    pub lines: Vec<Line>,
    /// Flows beyond the budget, which are not drawn.
    pub lines_left_out: usize,
    /// Ids of all causes, in order of appearance.
    pub limits: Vec<String>,
    /// Names of these causes.
    pub names: Vec<String>,
    /// Streams of datagrams of a test.
    pub datagrams: Vec<Datagrams>,
    /// Pings of a test, by kind.
    pub pings: Vec<Pings>,
    /// Queues of path elements.
    pub queues: Vec<Queue>,
    /// Time-sequence graphs.
    pub graphs: Vec<Sequence<'a>>,
    /// Time-sequence graphs beyond the budget.
    pub graphs_left_out: usize,
    /// Names of the marks of packets, by bit.
    pub marks: Vec<String>,
}

impl Page<'_> {
    /// Whether there is anything to draw over time.
    pub(crate) const fn has_picture(&self) -> bool {
        !self.lines.is_empty() || !self.queues.is_empty() || !self.datagrams.is_empty()
    }
}

/// A drawn flow.
#[derive(Debug, Serialize)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Longer name.
    pub title: String,
    /// Whether part of it is a fitted input.
    pub fitted: bool,
    /// Throughput of the tester's intervals.
    pub throughput: Throughput,
    /// Published rates, if there are any.
    pub published: Option<Rates>,
    /// Id of the published claim. A series and its fit have the same id, so that a graph of both
    /// marks the claim once.
    pub claim: Option<String>,
    /// Sampled quantities.
    pub samples: Samples,
    /// Times of retransmissions, µs, as differences.
    pub again: Vec<i64>,
    /// Start (difference to the end before) and length in µs, index into
    /// [`Page::limits`].
    pub timeline: Vec<(i64, u64, usize)>,
}

/// Rates over time.
#[derive(Debug, Default, Serialize)]
pub struct Rates {
    /// Middle of the interval, ms.
    pub t: Vec<f64>,
    /// Mbit/s.
    pub v: Vec<f64>,
}

/// Throughput of the drawn repeat, and range over all repeats.
#[derive(Debug, Default, Serialize)]
pub struct Throughput {
    /// The drawn repeat.
    pub drawn: Rates,
    /// Whose bytes they are.
    pub of: &'static str,
    /// Number of the tester's intervals averaged in a point.
    pub joined: usize,
    /// Minimum over all repeats at the same interval; empty with one repeat.
    pub low: Vec<f64>,
    /// Maximum over all repeats at the same interval; empty with one repeat.
    pub high: Vec<f64>,
}

/// A stream of datagrams over time.
#[derive(Debug, Serialize)]
pub struct Datagrams {
    /// Name of the stream.
    pub label: String,
    /// Whether this end received it, and counted what is missing.
    pub received: bool,
    /// Starts of the intervals, ms.
    pub t: Vec<f64>,
    /// End of the last one, ms.
    pub end: f64,
    /// Mbit/s of payload.
    pub rate: Vec<f64>,
    /// Datagrams lost, %.
    pub lost: Vec<f64>,
    /// Datagrams reordered.
    pub reordered: Vec<u64>,
    /// Jitter, ms.
    pub jitter: Vec<f64>,
    /// One-way delay: time, smallest, largest, µs, as differences.
    pub delay: [Vec<i64>; 3],
}

/// RTTs of pings, ms: median before the data, median and 99th percentile during it. Null without
/// replies.
#[derive(Debug, Serialize)]
pub struct Pings {
    /// Kind of the pings.
    pub label: &'static str,
    /// Median before data flowed.
    pub idle: Option<f64>,
    /// Median and 99th percentile while data flowed.
    pub loaded: [Option<f64>; 2],
}

/// Samples of one flow, thinned; times in µs and values as differences.
#[derive(Debug, Serialize)]
pub struct Samples {
    /// Congestion window, bytes.
    pub cwnd: Column,
    /// Slow-start threshold in bytes, while it is set.
    pub ssthresh: Column,
    /// Bytes in flight.
    pub flight: Column,
    /// Receive window, bytes.
    pub rwnd: Column,
    /// Smoothed round-trip time, µs.
    pub srtt: Column,
}

/// Points of one quantity.
#[derive(Debug, Default, Serialize)]
pub struct Column {
    /// Times, µs, as differences.
    pub t: Vec<i64>,
    /// Values, as differences.
    pub v: Vec<i64>,
}

/// A time-sequence graph.
#[derive(Debug, Serialize)]
pub struct Sequence<'a> {
    /// Name in the selection.
    pub label: String,
    /// The packets.
    pub packets: &'a TimeSequence,
}

/// Data that the page of `report` draws.
pub fn page<'a>(report: &Report<'a>) -> Page<'a> {
    let rows = rows(report);
    let drawn = &rows[..rows.len().min(MAX_LINES)];
    // In the order of the table; a timeline may add names.
    let mut limits: Vec<String> = causes_met(&rows).into_iter().map(str::to_owned).collect();
    let lines = drawn
        .iter()
        .map(|row| line(row, drawn.len(), &mut limits))
        .collect();
    let mut graphs = sequences(report);
    let graphs_left_out = graphs.len().saturating_sub(MAX_SEQUENCES);
    graphs.truncate(MAX_SEQUENCES);
    let names = limits.iter().map(|id| crate::cause_name(id)).collect();
    let series = || report.run.series.iter();
    let streams = series().flat_map(|series| &series.datagrams);
    let streams: Vec<_> = streams
        .filter(|stream| !stream.intervals.is_empty())
        .collect();
    let is_live = report.run.series.iter().any(|series| series.live.is_some());
    let is_live = is_live || report.run.is_test();
    Page {
        clock: if is_live { "time" } else { "simulated time" },
        lines,
        lines_left_out: rows.len() - drawn.len(),
        limits,
        names,
        datagrams: (streams.iter().take(MAX_LINES))
            .map(|stream| datagrams(stream, streams.len()))
            .collect(),
        pings: series()
            .flat_map(|series| &series.latency)
            .map(pings)
            .collect(),
        queues: queues::queues(report, drawn),
        graphs,
        graphs_left_out,
        marks: crate::graph::Point::mark_names(),
    }
}

fn line(row: &Row<'_>, lines: usize, limits: &mut Vec<String>) -> Line {
    let flow = row.representative();
    let spans = flow.map_or(&[][..], |flow| &flow.limited_by_timeline);
    Line {
        // The only series of a test has no name of its own.
        label: row
            .label
            .strip_prefix("test / ")
            .unwrap_or(&row.label)
            .to_owned(),
        title: row.group.title().to_owned(),
        fitted: row.is_fitted(),
        throughput: throughput(&row.group, row.flow, flow, lines),
        published: row
            .published
            .map(|series| published_rates(series, clock_start_ns(flow))),
        claim: row.published.map(|series| series.id.clone()),
        samples: samples(flow.map_or(&[], sent_samples), lines),
        again: flow.map_or_else(Vec::new, retransmissions),
        timeline: timeline(spans, LIMIT_SPANS / lines, limits),
    }
}

/// Start of the tester's clock on the clock of samples.
fn clock_start_ns(flow: Option<&FlowRecord>) -> u64 {
    flow.map_or(0, |flow| flow.clock_start_ns)
}

/// A point for every `joined` intervals: their middle and their mean rate.
fn rate_points(flow: &FlowRecord, joined: usize) -> Vec<(f64, f64)> {
    let point = |lines: &[IntervalRecord]| {
        let line = IntervalRecord::joined(lines);
        let start_ns = flow.clock_start_ns as f64;
        let middle_ms = start_ns / 1e6 + (line.start_ns as f64 + line.end_ns as f64) / 2e6;
        let length_ns = line.end_ns.saturating_sub(line.start_ns);
        (middle_ms, nuttcp::mbps(line.bytes, length_ns))
    };
    flow.intervals.chunks(joined).map(point).collect()
}

/// Points of the bytes delivered between samples, 100 ms or more apart; few without samples of
/// them.
fn sampled_rates(samples: &[Sample], lines: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let points = RATE_POINTS[0].min(RATE_POINTS[1] / lines.max(1)).max(2);
    let step = RATE_STEP_NS.max(last.at_ns.saturating_sub(first.at_ns) / points as u64);
    let mut from = first;
    let mut rates = Vec::new();
    for sample in samples {
        let length_ns = sample.at_ns.saturating_sub(from.at_ns);
        if length_ns >= step {
            let bytes = sample.delivered_bytes.saturating_sub(from.delivered_bytes);
            let middle_ms = (from.at_ns as f64 + length_ns as f64 / 2.0) / 1e6;
            rates.push((middle_ms, nuttcp::mbps(bytes, length_ns)));
            from = sample;
        }
    }
    rates
}

/// Whose bytes the rates of a flow are.
fn rates_of(flow: &FlowRecord, is_sampled: bool) -> &'static str {
    match (flow.counted_by.as_deref(), is_sampled) {
        (Some("sender"), true) => "acknowledged, by the sender's counters",
        (Some("sender"), false) => "written to its socket by the sender",
        (Some(_), true) => "received, by the receiver's counters",
        _ => "read by the receiving application",
    }
}

/// Times of retransmissions: of the samples that show more, otherwise the middles of intervals with
/// some.
fn retransmissions(flow: &FlowRecord) -> Vec<i64> {
    let mut times = Vec::new();
    let first = flow.samples.first();
    let mut before = first
        .and_then(|sample| sample.retransmitted_segments)
        .unwrap_or(0);
    for sample in &flow.samples {
        let count = sample.retransmitted_segments.unwrap_or(0);
        if count > before {
            times.push(sample.at_ns / 1000);
        }
        before = before.max(count);
    }
    if flow
        .samples
        .iter()
        .all(|sample| sample.retransmitted_segments.is_none())
    {
        let some = flow
            .intervals
            .iter()
            .filter(|line| line.retransmitted_segments > 0);
        times.extend(
            some.map(|line| (flow.clock_start_ns + line.start_ns.midpoint(line.end_ns)) / 1000),
        );
    }
    let step = times.last().map_or(1, |last| last / TICKS as u64 + 1);
    times.dedup_by_key(|time| *time / step);
    deltas(times)
}

fn datagrams(record: &DatagramsRecord, streams: usize) -> Datagrams {
    let lines = || record.intervals.iter();
    let quality = || lines().filter_map(|line| Some((line, line.received.as_ref()?)));
    let lost = quality().map(|(line, found)| {
        let expected = line
            .datagrams
            .cast_signed()
            .saturating_add(found.lost)
            .max(1);
        rounded(100.0 * found.lost.max(0) as f64 / expected as f64)
    });
    let step = record
        .delays
        .len()
        .div_ceil(DELAY_POINTS / streams.max(1))
        .max(1);
    let delays = || record.delays.chunks(step);
    let differences = |values: Vec<i64>| {
        let mut before = 0;
        let one = |value: i64| value - std::mem::replace(&mut before, value);
        values.into_iter().map(one).collect::<Vec<_>>()
    };
    let lowest = delays().map(|seen| seen.iter().map(|delay| delay.min_ns).min());
    let highest = delays().map(|seen| seen.iter().map(|delay| delay.max_ns).max());
    let micros = |nanos: Option<i64>| nanos.unwrap_or(0) / 1000;
    Datagrams {
        label: record.name.clone(),
        received: quality().next().is_some(),
        t: lines()
            .map(|line| (line.start_ns as f64 / 1e5).round() / 10.0)
            .collect(),
        end: lines().last().map_or(0.0, |line| line.end_ns as f64 / 1e6),
        rate: lines()
            .map(|line| {
                rounded(nuttcp::mbps(
                    line.bytes,
                    line.end_ns.saturating_sub(line.start_ns),
                ))
            })
            .collect(),
        lost: lost.collect(),
        reordered: quality().map(|(_, found)| found.reordered).collect(),
        jitter: quality()
            .map(|(_, found)| found.jitter_ns as f64 / 1e6)
            .collect(),
        delay: [
            deltas(delays().map(|seen| seen[0].at_ns / 1000)),
            differences(lowest.map(micros).collect()),
            differences(highest.map(micros).collect()),
        ],
    }
}

fn pings(record: &LatencyRecord) -> Pings {
    let at = |times: &[u64], share: f64| {
        let mut sorted = times.to_vec();
        sorted.sort_unstable();
        let rank = (share * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.max(1) - 1).map(|ns| *ns as f64 / 1e6)
    };
    Pings {
        label: match &*record.kind {
            "icmp" => "ICMP pings",
            "udp" => "UDP pings",
            "request" => "TCP requests",
            _ => "TCP handshakes",
        },
        idle: at(&record.idle_ns, 0.5),
        loaded: [0.5, 0.99].map(|share| at(&record.loaded_ns, share)),
    }
}

/// Converts points to columns, rounded to the resolution of a graph.
fn rates(points: &[(f64, f64)]) -> Rates {
    Rates {
        t: points
            .iter()
            .map(|&(t, _)| (t * 10.0).round() / 10.0)
            .collect(),
        v: points.iter().map(|&(_, v)| rounded(v)).collect(),
    }
}

fn rounded(mbps: f64) -> f64 {
    (mbps * 1e4).round() / 1e4
}

fn throughput(
    group: &Group<'_>,
    index: usize,
    drawn: Option<&FlowRecord>,
    lines: usize,
) -> Throughput {
    let sampled = drawn.map_or_else(Vec::new, |flow| sampled_rates(&flow.samples, lines));
    // Ranges of repeats are those of the same intervals.
    if let Some(flow) = drawn
        && group.repeats.len() == 1
        && sampled.len() >= flow.intervals.len().max(2)
    {
        return Throughput {
            drawn: rates(&sampled),
            of: rates_of(flow, true),
            joined: 1,
            ..Throughput::default()
        };
    }
    let intervals = drawn.map_or(0, |flow| flow.intervals.len());
    let joined = round_step(intervals.div_ceil(INTERVAL_POINTS));
    let points = drawn.map_or_else(Vec::new, |flow| rate_points(flow, joined));
    let all = group.flows(index).map(|flow| rate_points(flow, joined));
    let all: Vec<Vec<(f64, f64)>> = all.collect();
    let mut result = Throughput {
        drawn: rates(&points),
        of: drawn.map_or("", |flow| rates_of(flow, false)),
        joined,
        ..Throughput::default()
    };
    if all.len() > 1 {
        for at in 0..points.len() {
            let values = || all.iter().filter_map(|repeat| repeat.get(at)).map(|p| p.1);
            result
                .low
                .push(rounded(values().fold(f64::INFINITY, f64::min)));
            result.high.push(rounded(values().fold(0.0, f64::max)));
        }
    }
    result
}

fn published_rates(series: &PublishedSeries, clock_start_ns: u64) -> Rates {
    let mut start = clock_start_ns as f64 / 1e9;
    let mut points = Vec::with_capacity(series.intervals.len());
    for line in &series.intervals {
        points.push(((start + line.seconds / 2.0) * 1e3, line.mbps));
        start += line.seconds;
    }
    rates(&points)
}

/// Samples of a sender. A receiver's counters do not have its state.
fn sent_samples(flow: &FlowRecord) -> &[Sample] {
    match flow.counted_by.as_deref() {
        Some("receiver") => &[],
        _ => &flow.samples,
    }
}

fn samples(samples: &[Sample], lines: usize) -> Samples {
    let budget = (SAMPLE_POINTS / 5 / lines.max(1)).max(50);
    let column = |value: fn(&Sample) -> Option<u64>| {
        let points: Vec<Point> = samples
            .iter()
            .filter_map(|sample| Some((sample.at_ns / 1000, value(sample)?)))
            .collect();
        let kept = thin(&points, budget);
        Column {
            t: deltas(kept.iter().map(|point| point.0)),
            v: deltas(kept.iter().map(|point| point.1)),
        }
    };
    Samples {
        cwnd: column(|sample| Some(sample.cwnd_bytes)),
        ssthresh: column(|sample| sample.ssthresh_bytes),
        flight: column(|sample| Some(sample.flight_bytes)),
        rwnd: column(|sample| Some(sample.rwnd_bytes)),
        srtt: column(|sample| sample.srtt_ns.map(|ns| ns / 1000)),
    }
}

/// At most `budget` spans. If there are more, time is cut into `budget` steps, and each is
/// attributed to the cause that took most of it. The record itself does the same with its sampling
/// step.
fn timeline(
    spans: &[CauseSpan],
    budget: usize,
    limits: &mut Vec<String>,
) -> Vec<(i64, u64, usize)> {
    let indexed = spans.iter().map(|span| {
        let known = limits.iter().position(|name| *name == span.cause);
        let index = known.unwrap_or_else(|| {
            limits.push(span.cause.clone());
            limits.len() - 1
        });
        (
            span.start_ns / 1000,
            span.end_ns.max(span.start_ns) / 1000,
            index,
        )
    });
    let mut spans: Vec<(u64, u64, usize)> = indexed.collect();
    spans.sort_unstable();
    if spans.len() > budget.max(1) {
        spans = dominant(&spans, budget.max(1) as u64, limits.len());
    }
    let mut before = 0;
    let mut relative = Vec::with_capacity(spans.len());
    for (start, end, index) in spans {
        relative.push((start.wrapping_sub(before).cast_signed(), end - start, index));
        before = end;
    }
    relative
}

/// Cause that takes most of each of `steps` equal steps. Neighbors of the same cause are joined.
fn dominant(spans: &[(u64, u64, usize)], steps: u64, limits: usize) -> Vec<(u64, u64, usize)> {
    let start = spans[0].0;
    let end = spans.iter().map(|span| span.1).max().unwrap_or(start);
    let step = (end - start).div_ceil(steps).max(1);
    let mut result: Vec<(u64, u64, usize)> = Vec::new();
    let mut next = 0;
    for low in (start..end).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
        let high = low.saturating_add(step).min(end);
        while next < spans.len() && spans[next].1 <= low {
            next += 1;
        }
        let mut held = vec![0; limits];
        for span in spans[next..].iter().take_while(|span| span.0 < high) {
            held[span.2] += span.1.min(high).saturating_sub(span.0.max(low));
        }
        let longest = (0..limits).max_by_key(|&index| (held[index], limits - index));
        let Some(index) = longest.filter(|&index| held[index] > 0) else {
            continue;
        };
        match result.last_mut() {
            Some(last) if last.2 == index && last.1 == low => last.1 = high,
            _ => result.push((low, high, index)),
        }
    }
    result
}

/// Time-sequence graphs of the run.
fn sequences<'a>(report: &Report<'a>) -> Vec<Sequence<'a>> {
    let mut found = Vec::new();
    for series in &report.run.series {
        for flow in &series.flows {
            let Some(packets) = &flow.time_sequence else {
                continue;
            };
            let mut label = series.name.clone();
            if series.flows.len() > 1 {
                label = format!("{label} / {}", flow.name);
            }
            if report.run.repeat > 1 {
                label = format!("{label}, repeat {}", series.repeat + 1);
            }
            found.push(Sequence { label, packets });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start_ms: u64, end_ms: u64, cause: &str) -> CauseSpan {
        CauseSpan {
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            cause: cause.to_owned(),
        }
    }

    #[test]
    fn a_short_timeline_is_kept_span_by_span() {
        let mut limits = Vec::new();
        let spans = [
            span(0, 5, "cwnd-growth-limited"),
            span(5, 9, "sender-cpu-limited"),
        ];
        let kept = timeline(&spans, 10, &mut limits);
        assert_eq!(kept, [(0, 5000, 0), (0, 4000, 1)]);
        assert_eq!(limits, ["cwnd-growth-limited", "sender-cpu-limited"]);
    }

    #[test]
    fn a_flickering_timeline_is_merged_to_what_held_longest_and_keeps_its_ends() {
        let mut limits = Vec::new();
        let spans: Vec<CauseSpan> = (0..1000)
            .flat_map(|i| {
                let start = i * 10;
                [
                    span(start, start + 7, "random-loss"),
                    span(start + 7, start + 10, "sender-cpu-limited"),
                ]
            })
            .collect();
        let kept = timeline(&spans, 100, &mut limits);
        assert_eq!(kept, [(0, 10_000_000, 0)]);
    }
}
