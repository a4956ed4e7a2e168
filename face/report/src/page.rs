//! The data embedded in `report.html`: exactly what the graphs draw.
//!
//! The page must stay small enough to mail. The limits below bound every kind of point over the
//! whole page, independent of the number of series. The data counts what was thinned or cut, the
//! page reports it, and `run.json` has all of it. Columns of integers, each the difference to the
//! one before ([`crate::thin::deltas`]), take a third of the space of objects.
//!
//! With several repeats the graphs show the middle one ([`crate::group::Group::representative`]).
//! The throughput of the others is shown as minimum and maximum of every interval.

use gigatcp_record::{
    CauseSpan, FlowRecord, IntervalRecord, Sample, SequenceDetail, SequenceStep, TimeSequence,
};
use serde::Serialize;

use crate::Report;
use crate::compare::{Row, causes_met, rows};
use crate::group::Group;
use crate::nuttcp;
use crate::published::PublishedSeries;
use crate::queues::{self, Queue};
use crate::thin::{Point, deltas, thin};

/// Maximum number of flows drawn; the rest is counted.
pub(crate) const MAX_LINES: usize = 64;
/// Maximum number of connections with a time-sequence graph; the rest is counted.
const MAX_SEQUENCES: usize = 12;
/// Maximum number of points of sampled quantities on the page.
const SAMPLE_POINTS: usize = 60_000;
/// Maximum number of points in a line of throughput. More would overlap on most screens, and show
/// only noise in long runs.
const INTERVAL_POINTS: usize = 240;
/// Maximum number of spans of the limited-by timelines on the page.
const LIMIT_SPANS: usize = 12_000;
/// Maximum number of steps of all time-sequence overviews.
const OVERVIEW_STEPS: usize = 8_000;
/// Maximum number of segments, ACKs and SACK blocks in all detailed intervals.
const DETAIL_ENTRIES: usize = 60_000;

/// Data that the page draws.
#[derive(Debug, Serialize)]
pub struct Page {
    /// Clock of the times of samples and limits.
    pub clock: &'static str,
    /// Flows in plan order.
    pub lines: Vec<Line>,
    /// Flows beyond the budget, which are not drawn.
    pub lines_left_out: usize,
    /// Ids of all causes, in order of appearance.
    pub limits: Vec<String>,
    /// Queues of path elements.
    pub queues: Vec<Queue>,
    /// Time-sequence graphs.
    pub sequences: Vec<Sequence>,
    /// Time-sequence graphs beyond the budget.
    pub sequences_left_out: usize,
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
    /// Start (difference to the end before) and length in µs, index into
    /// [`Page::limits`].
    pub timeline: Vec<(i64, u64, usize)>,
    /// Number of spans before they were merged to visible ones.
    pub timeline_spans: usize,
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
    /// Number of the tester's intervals averaged in a point.
    pub joined: usize,
    /// Minimum over all repeats at the same interval; empty with one repeat.
    pub low: Vec<f64>,
    /// Maximum over all repeats at the same interval; empty with one repeat.
    pub high: Vec<f64>,
}

/// Samples of one flow, thinned; times in µs and values as differences.
#[derive(Debug, Serialize)]
pub struct Samples {
    /// Number of recorded samples.
    pub recorded: usize,
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
pub struct Sequence {
    /// Name in the selection.
    pub label: String,
    /// The whole connection.
    pub overview: Overview,
    /// Intervals drawn segment by segment.
    pub details: Vec<Detail>,
}

/// The whole connection in steps. All offsets except `ack` are relative to it.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// Times, µs, as differences.
    pub t: Vec<i64>,
    /// SND.UNA at the end of the step, as differences.
    pub ack: Vec<i64>,
    /// Lowest offset sent.
    pub low: Vec<Option<i64>>,
    /// Offset after the highest byte sent.
    pub high: Vec<Option<i64>>,
    /// Right edge of the window.
    pub edge: Vec<i64>,
    /// Number of segments retransmitted.
    pub again: Vec<u64>,
}

/// An interval drawn segment by segment. Times in ns, as differences.
#[derive(Debug, Serialize)]
pub struct Detail {
    /// Reason why this interval was recorded.
    pub why: String,
    /// First and last time of the interval as shown, ns.
    pub span: (u64, u64),
    /// Ten RTTs around the event, ns; `None` if the event's time is unknown.
    pub view: Option<(u64, u64)>,
    /// Number of entries recorded and shown; fewer are shown if the interval was cut.
    pub entries: (usize, usize),
    /// Segments sent: times.
    pub sent_t: Vec<i64>,
    /// First offsets, as differences.
    pub sent_at: Vec<i64>,
    /// Lengths.
    pub sent_len: Vec<u32>,
    /// Indices of segments that are retransmissions.
    pub sent_again: Vec<usize>,
    /// Acknowledgments: times.
    pub ack_t: Vec<i64>,
    /// Offsets acknowledged, as differences.
    pub ack: Vec<i64>,
    /// Window edges, relative to the offset acknowledged.
    pub edge: Vec<i64>,
    /// SACK blocks: times.
    pub sack_t: Vec<i64>,
    /// First offsets, as differences.
    pub sack_at: Vec<i64>,
    /// Lengths.
    pub sack_len: Vec<u64>,
}

/// Returns the data that the page of `report` draws.
#[must_use]
pub fn page(report: &Report<'_>) -> Page {
    let rows = rows(report);
    let drawn = &rows[..rows.len().min(MAX_LINES)];
    // In the order of the table; a timeline may add names.
    let mut limits: Vec<String> = causes_met(&rows).into_iter().map(str::to_owned).collect();
    let lines = drawn
        .iter()
        .map(|row| line(row, drawn.len(), &mut limits))
        .collect();
    let (sequences, sequences_left_out) = sequences(report);
    let is_live = report.run.series.iter().any(|series| series.live.is_some());
    let is_live = is_live || report.run.is_test();
    Page {
        clock: if is_live { "time" } else { "simulated time" },
        lines,
        lines_left_out: rows.len() - drawn.len(),
        limits,
        queues: queues::queues(report, drawn),
        sequences,
        sequences_left_out,
    }
}

fn line(row: &Row<'_>, lines: usize, limits: &mut Vec<String>) -> Line {
    let flow = row.representative();
    let spans = flow.map_or(&[][..], |flow| &flow.limited_by_timeline);
    Line {
        label: row.label.clone(),
        title: row.group.title().to_owned(),
        fitted: row.is_fitted(),
        throughput: throughput(&row.group, row.flow, flow),
        published: row.published.map(published_rates),
        claim: row.published.map(|series| series.id.clone()),
        samples: samples(flow.map_or(&[], |flow| &flow.samples), lines),
        timeline: timeline(spans, LIMIT_SPANS / lines, limits),
        timeline_spans: spans.len(),
    }
}

/// Returns a point for every `joined` intervals: their middle and their mean rate.
fn rate_points(flow: &FlowRecord, joined: usize) -> Vec<(f64, f64)> {
    let point = |lines: &[IntervalRecord]| {
        let (first, last) = (&lines[0], &lines[lines.len() - 1]);
        let middle_ms = (first.start_ns as f64 + last.end_ns as f64) / 2e6;
        let length_ns = last.end_ns.saturating_sub(first.start_ns);
        let bytes = lines.iter().map(|line| line.bytes).sum();
        (middle_ms, nuttcp::mbps(bytes, length_ns))
    };
    flow.intervals.chunks(joined).map(point).collect()
}

/// Returns how many of `intervals` make a point. It is the first of 1, 2, 5, 10, 20 … that
/// suffices.
fn joined(intervals: usize) -> usize {
    let enough = intervals.div_ceil(INTERVAL_POINTS);
    let mut tens = 1;
    loop {
        for factor in [1, 2, 5] {
            if factor * tens >= enough {
                return factor * tens;
            }
        }
        tens *= 10;
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

fn throughput(group: &Group<'_>, index: usize, drawn: Option<&FlowRecord>) -> Throughput {
    let joined = joined(drawn.map_or(0, |flow| flow.intervals.len()));
    let points = drawn.map_or_else(Vec::new, |flow| rate_points(flow, joined));
    let all = group.flows(index).map(|flow| rate_points(flow, joined));
    let all: Vec<Vec<(f64, f64)>> = all.collect();
    let mut result = Throughput {
        drawn: rates(&points),
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

fn published_rates(series: &PublishedSeries) -> Rates {
    let mut start = 0.0;
    let mut points = Vec::with_capacity(series.intervals.len());
    for line in &series.intervals {
        points.push(((start + line.seconds / 2.0) * 1e3, line.mbps));
        start += line.seconds;
    }
    rates(&points)
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
        recorded: samples.len(),
        cwnd: column(|sample| Some(sample.cwnd_bytes)),
        ssthresh: column(|sample| sample.ssthresh_bytes),
        flight: column(|sample| Some(sample.flight_bytes)),
        rwnd: column(|sample| Some(sample.rwnd_bytes)),
        srtt: column(|sample| sample.srtt_ns.map(|ns| ns / 1000)),
    }
}

/// Returns at most `budget` spans. If there are more, time is cut into `budget` steps, and each is
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

/// Returns the cause that takes most of each of `steps` equal steps. Neighbors of the same cause
/// are joined.
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

/// Returns the time-sequence graphs of the run, and the number of those left out.
fn sequences(report: &Report<'_>) -> (Vec<Sequence>, usize) {
    let mut found: Vec<(String, &TimeSequence)> = Vec::new();
    for series in &report.run.series {
        for flow in &series.flows {
            let Some(sequence) = &flow.time_sequence else {
                continue;
            };
            let mut label = series.name.clone();
            if series.flows.len() > 1 {
                label = format!("{label} / {}", flow.name);
            }
            if report.run.repeat > 1 {
                label = format!("{label}, repeat {}", series.repeat + 1);
            }
            found.push((label, sequence));
        }
    }
    let left_out = found.len().saturating_sub(MAX_SEQUENCES);
    found.truncate(MAX_SEQUENCES);
    let steps = OVERVIEW_STEPS / found.len().max(1);
    let stretches: usize = found
        .iter()
        .map(|(_, sequence)| sequence.details.len())
        .sum();
    let entries = DETAIL_ENTRIES / stretches.max(1);
    let sequences = found
        .into_iter()
        .map(|(label, sequence)| Sequence {
            label,
            overview: overview(&sequence.overview, steps),
            details: sequence
                .details
                .iter()
                .map(|d| detail(d, entries))
                .collect(),
        })
        .collect();
    (sequences, left_out)
}

/// Returns at most `budget` steps, with neighboring ones joined.
fn overview(steps: &[SequenceStep], budget: usize) -> Overview {
    let join = steps.len().div_ceil(budget).max(1);
    let joined: Vec<SequenceStep> = steps.chunks(join).map(join_steps).collect();
    let relative = |offset: u64, ack: u64| offset.wrapping_sub(ack).cast_signed();
    Overview {
        t: deltas(joined.iter().map(|step| step.at_ns / 1000)),
        ack: deltas(joined.iter().map(|step| step.ack)),
        low: joined
            .iter()
            .map(|s| s.sent_low.map(|low| relative(low, s.ack)))
            .collect(),
        high: joined
            .iter()
            .map(|s| s.sent_high.map(|high| relative(high, s.ack)))
            .collect(),
        edge: joined
            .iter()
            .map(|s| relative(s.window_edge, s.ack))
            .collect(),
        again: joined.iter().map(|s| u64::from(s.retransmitted)).collect(),
    }
}

fn join_steps(steps: &[SequenceStep]) -> SequenceStep {
    let last = &steps[steps.len() - 1];
    let retransmitted = steps.iter().map(|step| step.retransmitted);
    SequenceStep {
        at_ns: steps[0].at_ns,
        sent_low: steps.iter().filter_map(|step| step.sent_low).min(),
        sent_high: steps.iter().filter_map(|step| step.sent_high).max(),
        ack: last.ack,
        window_edge: last.window_edge,
        retransmitted: retransmitted.fold(0, u32::saturating_add),
    }
}

/// Number of RTTs in the view of an event.
const VIEW_ROUND_TRIPS: u64 = 10;

/// Returns the view of an interval, with its event in the middle. The view of the start does not
/// include time before the run.
fn view(stretch: &SequenceDetail) -> Option<(u64, u64)> {
    let (at, rtt) = (stretch.at_ns?, stretch.srtt_ns?);
    let before = match stretch.why.as_str() {
        "start" => rtt / 2,
        _ => rtt.saturating_mul(VIEW_ROUND_TRIPS / 2),
    };
    let all = rtt.saturating_mul(VIEW_ROUND_TRIPS);
    let until = at.saturating_add(all - before);
    (rtt > 0).then_some((at.saturating_sub(before), until))
}

/// Cuts the interval at the time at which `budget` entries are reached. Cutting by time keeps
/// related entries together.
fn detail(stretch: &SequenceDetail, budget: usize) -> Detail {
    let mut times: Vec<u64> = stretch.sent.iter().map(|segment| segment.0).collect();
    times.extend(stretch.acks.iter().map(|ack| ack.0));
    times.extend(stretch.sacks.iter().map(|sack| sack.0));
    times.sort_unstable();
    let recorded = times.len();
    times.truncate(budget.max(1));
    let until = times.last().copied().unwrap_or(0);
    let sent: Vec<_> = stretch.sent.iter().filter(|s| s.0 <= until).collect();
    let acks: Vec<_> = stretch.acks.iter().filter(|a| a.0 <= until).collect();
    let sacks: Vec<_> = stretch.sacks.iter().filter(|s| s.0 <= until).collect();
    let again = sent.iter().enumerate().filter(|(_, segment)| segment.3);
    Detail {
        why: match stretch.why.as_str() {
            "start" => "slow start".to_owned(),
            other => other.to_owned(),
        },
        view: view(stretch),
        span: (times.first().copied().unwrap_or(0), until),
        entries: (recorded, sent.len() + acks.len() + sacks.len()),
        sent_t: deltas(sent.iter().map(|s| s.0)),
        sent_at: deltas(sent.iter().map(|s| s.1)),
        sent_len: sent.iter().map(|s| s.2).collect(),
        sent_again: again.map(|(index, _)| index).collect(),
        ack_t: deltas(acks.iter().map(|a| a.0)),
        ack: deltas(acks.iter().map(|a| a.1)),
        edge: acks
            .iter()
            .map(|a| a.2.wrapping_sub(a.1).cast_signed())
            .collect(),
        sack_t: deltas(sacks.iter().map(|s| s.0)),
        sack_at: deltas(sacks.iter().map(|s| s.1)),
        sack_len: sacks.iter().map(|s| s.2.saturating_sub(s.1)).collect(),
    }
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

    #[test]
    fn a_stretch_is_cut_by_time_and_says_so() {
        let stretch = SequenceDetail {
            why: "start".to_owned(),
            sent: (0..100)
                .map(|i| (i * 10, 1 + i * 1000, 1000, i == 3))
                .collect(),
            acks: (0..100)
                .map(|i| (i * 10 + 5, 1 + i * 1000, 1 << 20))
                .collect(),
            ..SequenceDetail::default()
        };
        let cut = detail(&stretch, 50);
        assert_eq!(cut.entries, (200, 50));
        assert_eq!(cut.span, (0, 245));
        assert_eq!(cut.sent_again, [3]);
        assert_eq!(cut.sent_t.len(), 25);
    }

    #[test]
    fn a_view_has_its_event_in_the_middle_of_ten_round_trips_and_a_start_at_its_begin() {
        let about = |why: &str, at_ns| SequenceDetail {
            why: why.to_owned(),
            at_ns: Some(at_ns),
            srtt_ns: Some(80),
            ..SequenceDetail::default()
        };
        assert_eq!(view(&about("first loss", 1_000)), Some((600, 1_400)));
        assert_eq!(view(&about("timeout", 100)), Some((0, 500)));
        assert_eq!(view(&about("start", 100)), Some((60, 860)));
        assert_eq!(view(&SequenceDetail::default()), None);
    }

    #[test]
    fn joined_steps_keep_extremes_and_add_up_retransmissions() {
        let step = |at_ns, low, high, retransmitted| SequenceStep {
            at_ns,
            sent_low: low,
            sent_high: high,
            ack: at_ns,
            window_edge: at_ns + 100,
            retransmitted,
        };
        let joined = join_steps(&[
            step(10, Some(50), Some(80), 1),
            step(20, None, None, u32::MAX),
            step(30, Some(20), Some(60), 2),
        ]);
        assert_eq!((joined.sent_low, joined.sent_high), (Some(20), Some(80)));
        assert_eq!((joined.at_ns, joined.ack), (10, 30));
        assert_eq!(joined.retransmitted, u32::MAX);
    }
}
