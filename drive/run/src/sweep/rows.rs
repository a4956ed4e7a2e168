//! Stored results of a cell, and the columns of the tables made of them.

use gigatcp_plan::record::{FlowRecord, HopRecord, SeriesRecord, combined_rate};
use serde::{Deserialize, Serialize};

/// Results of one repetition of a cell.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct CellRow {
    /// Reason for missing results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Fingerprint of all events.
    #[serde(default)]
    pub event_hash: String,
    /// Simulated time.
    #[serde(default)]
    pub duration_ns: u64,
    /// Wire packets.
    #[serde(default)]
    pub packets: u64,
    /// Connections.
    #[serde(default)]
    pub flows: Vec<FlowRow>,
    /// Connections of arrival processes, and how many of them completed.
    #[serde(default)]
    pub arrivals: (u64, u64),
    /// Their mean completion time, if any completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals_completion_ns: Option<f64>,
    /// Path elements.
    #[serde(default)]
    pub hops: Vec<HopRow>,
}

/// Results of a connection.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns of the table say what each is")]
pub struct FlowRow {
    pub name: String,
    pub congestion_control: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    pub bytes: u64,
    /// Start of the tester's clock; 0 in rows of versions that did not store it.
    #[serde(default)]
    pub clock_start_ns: u64,
    pub average_ns: u64,
    pub completion_ns: Option<u64>,
    pub goodput_bps: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub theory_bps: Option<f64>,
    pub segments_sent: u64,
    pub retransmitted_segments: u64,
    pub fast_retransmits: u64,
    pub timeouts: u64,
    pub loss_events: u64,
    pub mark_reductions: u64,
    pub marked_segments: u64,
    pub acks_sent: u64,
    pub time_to_90_ns: Option<u64>,
    pub sender_cpu_fraction: f64,
    pub receiver_cpu_fraction: f64,
    /// Causes, with the time that each limited the flow, longest first.
    pub limited_by: Vec<(String, u64)>,
    /// Intervals: start and end (ns), bytes, retransmitted segments. Empty unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<[u64; 4]>,
    /// Samples: time (ns), cwnd, rwnd, flight, delivered (bytes) and srtt (ns). Empty unless
    /// requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<[u64; 6]>,
}

/// Results of a path element.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the columns of the table say what each is")]
pub struct HopRow {
    pub name: String,
    pub arrived_packets: u64,
    pub delivered_packets: u64,
    pub dropped_packets: u64,
    pub marked_packets: u64,
    pub max_backlog_packets: u64,
    pub queueing_delay_p50_ns: Option<u64>,
    pub queueing_delay_p99_ns: Option<u64>,
    pub utilization_fraction: f64,
}

/// Optional results beyond cells, flows and hops.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Detail {
    /// Intervals of each flow.
    pub intervals: bool,
    /// Samples of each flow.
    pub samples: bool,
}

impl Detail {
    /// Detail as a digit, as in stored rows.
    pub const fn digit(self) -> u8 {
        self.intervals as u8 | (self.samples as u8) << 1
    }

    /// Whether a row with that digit has this detail.
    pub const fn is_in(self, digit: u8) -> bool {
        digit & self.digit() == self.digit()
    }
}

impl CellRow {
    /// Row of a record.
    pub fn of(record: &SeriesRecord, detail: Detail) -> Self {
        let arrivals = record.arrivals.iter();
        let (flows, completed) = arrivals.fold((0, 0), |(flows, completed), arrivals| {
            (flows + arrivals.flows, completed + arrivals.completed)
        });
        let means = record.arrivals.iter().filter_map(|arrivals| {
            let mean = arrivals.completion_mean_ns?;
            Some((
                mean as f64 * arrivals.completed as f64,
                arrivals.completed as f64,
            ))
        });
        let (sum, count) = means.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        Self {
            failure: None,
            event_hash: record.event_hash.clone(),
            duration_ns: record.duration_ns,
            packets: record.packets,
            flows: record
                .flows
                .iter()
                .map(|flow| of_flow(flow, detail))
                .collect(),
            arrivals: (flows, completed),
            arrivals_completion_ns: (count > 0.0).then(|| sum / count),
            hops: record.hops.iter().map(of_hop).collect(),
        }
    }

    /// Row of a cell without results.
    pub fn failed(why: impl Into<String>) -> Self {
        Self {
            failure: Some(why.into()),
            ..Self::default()
        }
    }
}

fn of_flow(flow: &FlowRecord, detail: Detail) -> FlowRow {
    let mut limited_by: Vec<(String, u64)> = flow
        .limited_by
        .iter()
        .filter(|share| share.spent_ns > 0)
        .map(|share| (share.cause.clone(), share.spent_ns))
        .collect();
    limited_by.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let intervals = flow.intervals.iter().map(|interval| {
        let retransmitted = interval.retransmitted_segments;
        [
            interval.start_ns,
            interval.end_ns,
            interval.bytes,
            retransmitted,
        ]
    });
    let samples = flow.samples.iter().map(|sample| {
        let srtt = sample.srtt_ns.unwrap_or(0);
        let bytes = [
            sample.cwnd_bytes,
            sample.rwnd_bytes,
            sample.flight_bytes,
            sample.delivered_bytes,
        ];
        [sample.at_ns, bytes[0], bytes[1], bytes[2], bytes[3], srtt]
    });
    FlowRow {
        name: flow.name.clone(),
        congestion_control: flow.congestion_control.clone(),
        failure: flow.failure.clone(),
        bytes: flow.bytes,
        clock_start_ns: flow.clock_start_ns,
        average_ns: flow.average_ns,
        completion_ns: flow.completion_ns,
        goodput_bps: flow.goodput_bps,
        theory_bps: flow.theory.as_ref().map(|theory| theory.goodput_bps),
        segments_sent: flow.segments_sent,
        retransmitted_segments: flow.retransmitted_segments,
        fast_retransmits: flow.fast_retransmits,
        timeouts: flow.timeouts,
        loss_events: flow.loss_events,
        mark_reductions: flow.mark_reductions,
        marked_segments: flow.marked_segments,
        acks_sent: flow.acks_sent,
        time_to_90_ns: flow.time_to_90_ns,
        sender_cpu_fraction: flow.sender_cpu_fraction,
        receiver_cpu_fraction: flow.receiver_cpu_fraction,
        limited_by,
        intervals: if detail.intervals {
            intervals.collect()
        } else {
            vec![]
        },
        samples: if detail.samples {
            samples.collect()
        } else {
            vec![]
        },
    }
}

fn of_hop(hop: &HopRecord) -> HopRow {
    HopRow {
        name: hop.name.clone(),
        arrived_packets: hop.arrived_packets,
        delivered_packets: hop.delivered_packets,
        dropped_packets: hop.dropped_packets(),
        marked_packets: hop.marked_packets,
        max_backlog_packets: hop.max_backlog_packets,
        queueing_delay_p50_ns: hop.queueing_delay_p50_ns,
        queueing_delay_p99_ns: hop.queueing_delay_p99_ns,
        utilization_fraction: hop.utilization_fraction,
    }
}

/// A value in a table.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Not measured, or not in this row.
    Missing,
    /// Text.
    Text(String),
    /// A whole number.
    Whole(u64),
    /// A whole number that may be negative.
    Signed(i64),
    /// A number.
    Number(f64),
}

/// Kind of the values of a column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Text.
    Text,
    /// Whole numbers.
    Whole,
    /// Whole numbers that may be negative.
    Signed,
    /// Numbers.
    Number,
}

/// A column of a table: name, unit, meaning, and its value in a row.
pub struct Column<R: 'static> {
    /// Its name, with its unit as suffix, if any.
    pub name: &'static str,
    /// Its unit; empty if it has none.
    pub unit: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Value in a row.
    pub value: fn(&R) -> Value,
}

macro_rules! columns {
    ($row:ident: $type:ty; $($name:ident $unit:literal $kind:ident $meaning:literal = $value:expr;)*) => {
        &[$(Column {
            name: stringify!($name),
            unit: $unit,
            meaning: $meaning,
            kind: Kind::$kind,
            value: |$row: &$type| ($value).into(),
        }),*]
    };
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Signed(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl<R> std::fmt::Debug for Column<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Columns of `cells` after those that identify the cell.
pub const CELL: &[Column<CellRow>] = columns! { row: CellRow;
    failure "" Text "why there are no results" = row.failure.clone();
    event_hash "" Text "fingerprint of all events: the same in a run of this cell alone" = row.event_hash.clone();
    duration_ns "ns" Whole "simulated time" = row.duration_ns;
    packets "packets" Whole "wire packets" = row.packets;
    flows "" Whole "connections" = row.flows.len() as u64;
    bytes "bytes" Whole "application data delivered, all flows" = sum(row, |flow| flow.bytes);
    goodput_bps "bit/s" Number "goodput of all flows together, from the start of the first to the end of the last" = goodput(row);
    theory_bps "bit/s" Number "sum of the goodput that equations predict for all flows" = theory(row);
    fairness "" Number "Jain's index of the goodput of all flows" = fairness(row);
    completion_ns "ns" Whole "time until the last flow had delivered everything" = row.flows.iter().map(|flow| flow.completion_ns).max().flatten();
    segments_sent "segments" Whole "segments of data sent" = sum(row, |flow| flow.segments_sent);
    retransmitted_segments "segments" Whole "segments retransmitted" = sum(row, |flow| flow.retransmitted_segments);
    timeouts "" Whole "retransmission timeouts" = sum(row, |flow| flow.timeouts);
    loss_events "" Whole "window reductions for loss" = sum(row, |flow| flow.loss_events);
    mark_reductions "" Whole "window reductions for ECN marks" = sum(row, |flow| flow.mark_reductions);
    time_to_90_ns "ns" Whole "time to 90 % of the final rate, the slowest flow" = row.flows.iter().filter_map(|flow| flow.time_to_90_ns).max();
    sender_cpu_fraction "" Number "share of the time in which the busiest sender's CPU worked" = largest(row, |flow| flow.sender_cpu_fraction);
    receiver_cpu_fraction "" Number "share of the time in which the busiest receiver's CPU worked" = largest(row, |flow| flow.receiver_cpu_fraction);
    limited_by "" Text "cause that limited the flows longest" = limit(row).map(|limit| limit.0);
    limited_fraction "" Number "its share of the time" = limit(row).map(|limit| limit.1);
    arrivals "" Whole "connections that came and went" = row.arrivals.0;
    arrivals_completed "" Whole "how many of them completed" = row.arrivals.1;
    arrivals_completion_ns "ns" Number "their mean completion time" = row.arrivals_completion_ns;
    dropped_packets "packets" Whole "wire packets dropped by the path" = row.hops.iter().map(|hop| hop.dropped_packets).sum::<u64>();
    max_backlog_packets "packets" Whole "largest backlog of a path element" = row.hops.iter().map(|hop| hop.max_backlog_packets).max();
    queueing_delay_p50_ns "ns" Whole "median queueing delay, the largest of the path" = row.hops.iter().filter_map(|hop| hop.queueing_delay_p50_ns).max();
    queueing_delay_p99_ns "ns" Whole "99 % of queueing delays, the largest of the path" = row.hops.iter().filter_map(|hop| hop.queueing_delay_p99_ns).max();
    utilization_fraction "" Number "share of the time in which the busiest path element worked" = row.hops.iter().map(|hop| hop.utilization_fraction).reduce(f64::max);
};

/// Columns of `flows`.
pub const FLOW: &[Column<FlowRow>] = columns! { row: FlowRow;
    flow "" Text "name of the flow" = row.name.clone();
    congestion_control "" Text "its congestion control" = row.congestion_control.clone();
    failure "" Text "why the connection ended before its end" = row.failure.clone();
    bytes "bytes" Whole "application data delivered" = row.bytes;
    average_ns "ns" Whole "time over which goodput is averaged" = row.average_ns;
    completion_ns "ns" Whole "time until everything was delivered" = row.completion_ns;
    goodput_bps "bit/s" Number "application data per time" = row.goodput_bps;
    segments_sent "segments" Whole "segments of data sent" = row.segments_sent;
    retransmitted_segments "segments" Whole "segments retransmitted" = row.retransmitted_segments;
    fast_retransmits "" Whole "fast retransmits" = row.fast_retransmits;
    timeouts "" Whole "retransmission timeouts" = row.timeouts;
    loss_events "" Whole "window reductions for loss" = row.loss_events;
    mark_reductions "" Whole "window reductions for ECN marks" = row.mark_reductions;
    marked_segments "segments" Whole "segments whose marks the sender learned of" = row.marked_segments;
    acks_sent "" Whole "ACKs without data that the receiver sent" = row.acks_sent;
    time_to_90_ns "ns" Whole "time to 90 % of the final rate" = row.time_to_90_ns;
    sender_cpu_fraction "" Number "share of the time in which the sender's CPU worked" = row.sender_cpu_fraction;
    receiver_cpu_fraction "" Number "share of the time in which the receiver's CPU worked" = row.receiver_cpu_fraction;
    limited_by "" Text "cause that limited it longest" = row.limited_by.first().map(|limit| limit.0.clone());
    limited_ns "ns" Whole "how long" = row.limited_by.first().map(|limit| limit.1);
};

/// Columns of `hops`.
pub const HOP: &[Column<HopRow>] = columns! { row: HopRow;
    hop "" Text "name of the path element" = row.name.clone();
    arrived_packets "packets" Whole "wire packets that arrived" = row.arrived_packets;
    delivered_packets "packets" Whole "wire packets delivered" = row.delivered_packets;
    dropped_packets "packets" Whole "wire packets dropped" = row.dropped_packets;
    marked_packets "packets" Whole "wire packets marked" = row.marked_packets;
    max_backlog_packets "packets" Whole "largest backlog" = row.max_backlog_packets;
    queueing_delay_p50_ns "ns" Whole "median queueing delay" = row.queueing_delay_p50_ns;
    queueing_delay_p99_ns "ns" Whole "99 % of queueing delays" = row.queueing_delay_p99_ns;
    utilization_fraction "" Number "share of the time in which it worked" = row.utilization_fraction;
};

/// Columns of `intervals`.
pub const INTERVAL: &[Column<(String, [u64; 4])>] = columns! { row: (String, [u64; 4]);
    flow "" Text "name of the flow" = row.0.clone();
    start_ns "ns" Whole "start of the interval" = row.1[0];
    end_ns "ns" Whole "its end" = row.1[1];
    bytes "bytes" Whole "application data delivered in it" = row.1[2];
    retransmitted_segments "segments" Whole "segments retransmitted in it" = row.1[3];
};

/// Columns of `samples`.
pub const SAMPLE: &[Column<(String, [u64; 6])>] = columns! { row: (String, [u64; 6]);
    flow "" Text "name of the flow" = row.0.clone();
    at_ns "ns" Whole "time of the sample" = row.1[0];
    cwnd_bytes "bytes" Whole "congestion window" = row.1[1];
    rwnd_bytes "bytes" Whole "receive window" = row.1[2];
    flight_bytes "bytes" Whole "data in flight" = row.1[3];
    delivered_bytes "bytes" Whole "data delivered so far" = row.1[4];
    srtt_ns "ns" Whole "smoothed RTT; 0 before the first" = row.1[5];
};

fn sum(row: &CellRow, value: fn(&FlowRow) -> u64) -> u64 {
    row.flows.iter().map(value).sum()
}

fn largest(row: &CellRow, value: fn(&FlowRow) -> f64) -> Option<f64> {
    row.flows.iter().map(value).reduce(f64::max)
}

fn theory(row: &CellRow) -> Option<f64> {
    let rates: Option<Vec<f64>> = row.flows.iter().map(|flow| flow.theory_bps).collect();
    rates
        .filter(|rates| !rates.is_empty())
        .map(|rates| rates.iter().sum())
}

fn goodput(row: &CellRow) -> Option<f64> {
    let flows = row.flows.iter();
    let rates = flows.map(|flow| (flow.clock_start_ns, flow.average_ns, flow.goodput_bps));
    (!row.flows.is_empty()).then(|| combined_rate(rates))
}

/// Jain's fairness index (Jain, Chiu, Hawe 1984). It is the square of the sum over n times the sum
/// of squares.
fn fairness(row: &CellRow) -> Option<f64> {
    let sum: f64 = row.flows.iter().map(|flow| flow.goodput_bps).sum();
    let squares: f64 = row
        .flows
        .iter()
        .map(|flow| flow.goodput_bps * flow.goodput_bps)
        .sum();
    (squares > 0.0).then(|| sum * sum / (squares * row.flows.len() as f64))
}

/// Cause that limited all flows together longest, and its share.
fn limit(row: &CellRow) -> Option<(String, f64)> {
    let mut times: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for (cause, time) in row.flows.iter().flat_map(|flow| &flow.limited_by) {
        *times.entry(cause).or_default() += time;
    }
    let total: u64 = times.values().sum();
    let (cause, time) = times.into_iter().max_by_key(|(_, time)| *time)?;
    Some((cause.to_owned(), time as f64 / total as f64))
}

/// Value of a column of `cells` as a number, if it is one.
pub fn metric(row: &CellRow, column: &Column<CellRow>) -> Option<f64> {
    if row.failure.is_some() {
        return None;
    }
    match (column.value)(row) {
        Value::Whole(number) => Some(number as f64),
        Value::Signed(number) => Some(number as f64),
        Value::Number(number) => Some(number),
        Value::Missing | Value::Text(_) => None,
    }
}

/// Numeric column of `cells` with this name.
pub fn find_metric(name: &str) -> Option<&'static Column<CellRow>> {
    metrics().find(|column| column.name == name)
}

/// Numeric columns of `cells`.
pub fn metrics() -> impl Iterator<Item = &'static Column<CellRow>> {
    CELL.iter().filter(|column| column.kind != Kind::Text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_of_flows_one_after_the_other_is_that_of_the_link() {
        let flow = |place: u64| FlowRow {
            clock_start_ns: place * 1_000_000_000,
            average_ns: 1_000_000_000,
            goodput_bps: 8e6,
            ..FlowRow::default()
        };
        let row = CellRow {
            flows: (0..3).map(flow).collect(),
            ..CellRow::default()
        };
        let column = find_metric("goodput_bps").unwrap();
        assert_eq!(metric(&row, column), Some(8e6));
    }
}
