//! Facts about one direction of a connection, each defined once for text and JSON.

use gigatcp_flows::{Connection, Detail, Kind, Side, Spread};
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration, Rate};
use gigatcp_why::CaptureContext;
use serde::{Serialize, Serializer};

/// A direction of a connection, and the data about it.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Whose<'a> {
    pub connection: &'a Connection,
    pub side: Side,
    /// Counts for the detailed view, if requested.
    pub detail: Option<&'a Detail>,
    /// Its capture context, likewise.
    pub context: Option<CaptureContext>,
}

/// A fact.
pub(in crate::commands) struct Fact {
    /// Its name in JSON, with the unit.
    pub key: &'static str,
    /// Its name in a table.
    pub label: &'static str,
    pub value: Value,
}

/// Value of a fact, if known: a number in JSON, formatted in text.
#[derive(Clone, Copy)]
pub(in crate::commands) enum Value {
    Number(Option<u64>),
    Octets(Option<u64>),
    /// Bytes, exact; `None` if there are none.
    Size(Option<u64>),
    Time(Option<Duration>),
    Flag(Option<bool>),
    Rate(Option<Rate>),
    /// One of several names: its name in JSON and its text.
    Choice(Option<[&'static str; 2]>),
    /// Window scale of a SYN. Outer `None`: no SYN was seen; inner `None`: the SYN has no scale.
    Scale(Option<Option<u8>>),
}

impl Value {
    /// Returns the value as text.
    pub(in crate::commands) fn text(self) -> String {
        let known = match self {
            Self::Number(number) => number.map(|number| number.to_string()),
            Self::Octets(octets) => octets.map(|octets| human_bytes(Bytes::new(octets))),
            Self::Size(size) => Some(size.map_or_else(|| "-".into(), |size| size.to_string())),
            Self::Time(time) => Some(time.map_or_else(|| "-".into(), human_duration)),
            Self::Flag(flag) => flag.map(|flag| if flag { "yes" } else { "no" }.into()),
            Self::Rate(rate) => Some(rate.map_or_else(|| "-".into(), human_rate)),
            Self::Choice(choice) => Some(choice.map_or("-", |[_, words]| words).into()),
            Self::Scale(seen) => {
                seen.map(|scale| scale.map_or_else(|| "none".into(), |scale| scale.to_string()))
            }
        };
        known.unwrap_or_else(|| "?".into())
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Number(number) | Self::Octets(number) | Self::Size(number) => {
                number.serialize(to)
            }
            Self::Time(time) => time.map(Duration::as_nanos).serialize(to),
            Self::Flag(flag) => flag.serialize(to),
            Self::Rate(rate) => rate.map(Rate::as_bps).serialize(to),
            Self::Choice(choice) => choice.map(|[name, _]| name).serialize(to),
            Self::Scale(scale) => scale.flatten().serialize(to),
        }
    }
}

/// Facts that are counts of a packet kind.
const COUNTS: [(Kind, &str, &str); 28] = [
    (
        Kind::FastRetransmission,
        "fast_retransmissions",
        "fast retransmissions",
    ),
    (
        Kind::SackRetransmission,
        "sack_retransmissions",
        "SACK retransmissions",
    ),
    (
        Kind::TimeoutRetransmission,
        "timeout_retransmissions",
        "timeout retransmissions",
    ),
    (Kind::TailProbe, "tail_probes", "tail loss probes"),
    (
        Kind::SpuriousRetransmission,
        "spurious_retransmissions",
        "spurious retransmissions",
    ),
    (
        Kind::UnexplainedRetransmission,
        "unexplained_retransmissions",
        "unexplained retransmissions",
    ),
    (Kind::OutOfOrder, "out_of_order", "out of order"),
    (Kind::AfterGap, "after_gap", "previous segment not captured"),
    (Kind::CapturedTwice, "captured_twice", "captured twice"),
    (Kind::DuplicateAck, "duplicate_acks", "duplicate ACKs"),
    (Kind::OldAck, "old_acks", "old ACKs"),
    (Kind::WindowUpdate, "window_updates", "window updates"),
    (Kind::ZeroWindow, "zero_windows", "zero windows"),
    (Kind::WindowFull, "window_full", "window full"),
    (Kind::BeyondWindow, "beyond_window", "beyond the window"),
    (Kind::KeepAlive, "keep_alives", "keep-alives"),
    (Kind::KeepAliveAck, "keep_alive_acks", "keep-alive ACKs"),
    (
        Kind::ZeroWindowProbe,
        "zero_window_probes",
        "zero-window probes",
    ),
    (
        Kind::ZeroWindowProbeAck,
        "zero_window_probe_acks",
        "zero-window probe ACKs",
    ),
    (Kind::AckedUnseen, "acks_of_unseen", "ACKed unseen segments"),
    (Kind::DuplicateReport, "duplicate_reports", "D-SACKs"),
    (
        Kind::ShowsSpurious,
        "spurious_proofs",
        "proofs of spurious recovery",
    ),
    (Kind::ResetExact, "resets_exact", "resets, exact"),
    (
        Kind::ResetInWindow,
        "resets_in_window",
        "resets in the window",
    ),
    (
        Kind::ResetOutOfWindow,
        "resets_out_of_window",
        "resets outside the window",
    ),
    (Kind::CongestionExperienced, "ce_marks", "CE marks"),
    (Kind::EcnEcho, "ecn_echoes", "ECN echoes"),
    (Kind::CongestionWindowReduced, "cwr", "CWR"),
];

/// Returns all facts about what a side sent.
pub(in crate::commands) fn of(whose: Whose<'_>) -> Vec<Fact> {
    let Whose {
        connection,
        side,
        detail,
        context,
    } = whose;
    let mut facts = amounts(connection, side);
    facts.extend(detail.map(|_| throughput(connection, side)));
    facts.extend(detail.into_iter().flat_map(|it| contents(it, whose)));
    facts.extend(detail.into_iter().flat_map(purposes));
    facts.extend(detail.into_iter().flat_map(|it| opening(it, whose)));
    facts.extend(offers(connection, side));
    if detail.is_some() {
        facts.extend(segments(context));
    }
    facts.extend(times(connection, side));
    facts.extend(detail.into_iter().flat_map(acknowledgments));
    facts.extend(detail.into_iter().flat_map(repeats));
    let direction = connection.direction(side);
    for (kind, key, label) in COUNTS {
        facts.push(count(key, label, direction.count_of(kind)));
    }
    facts
}

fn amounts(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    vec![
        count("packets", "packets", direction.packets()),
        count(
            "data_packets",
            "packets with data",
            direction.data_packets(),
        ),
        count(
            "wire_segments",
            "segments on the wire",
            direction.wire_segments(),
        ),
        octets("bytes", "bytes", Some(direction.bytes())),
        octets(
            "unique_bytes",
            "unique bytes",
            Some(direction.unique_bytes()),
        ),
        octets(
            "stream_bytes",
            "length of the stream",
            Some(direction.stream_length()),
        ),
        octets(
            "acked_unseen_bytes",
            "acknowledged, not captured",
            Some(direction.acked_unseen_bytes()),
        ),
        count(
            "retransmitted_segments",
            "retransmissions",
            direction.retransmitted_segments(),
        ),
        count(
            "retransmitted_packets",
            "in packets",
            direction.retransmitted_packets(),
        ),
        octets(
            "retransmitted_bytes",
            "retransmitted bytes",
            Some(direction.retransmitted_bytes()),
        ),
        count(
            "spurious_segments",
            "of them proven spurious",
            direction.spurious_segments(),
        ),
        count(
            "largest_segment_bytes",
            "largest segment",
            direction.largest_segment().into(),
        ),
    ]
}

/// Returns facts about the content of packets, for the detailed view.
fn contents(detail: &Detail, whose: Whose<'_>) -> Vec<Fact> {
    let direction = whose.connection.direction(whose.side);
    let mean = direction.bytes().checked_div(direction.data_packets());
    let size = |key, label, value| Fact {
        key,
        label,
        value: Value::Size(value),
    };
    vec![
        size(
            "min_segment_bytes",
            "smallest segment",
            detail.least_segment.map(u64::from),
        ),
        size("mean_segment_bytes", "mean segment", mean),
        size(
            "outstanding_min_bytes",
            "minimum in flight after data",
            detail.least_outstanding(),
        ),
        size(
            "outstanding_at_data_mean_bytes",
            "mean in flight after data",
            detail.mean_outstanding().map(|mean| mean as u64),
        ),
        count(
            "fragmented_packets",
            "packets in fragments",
            detail.fragmented_packets,
        ),
        count(
            "lone_first_fragments",
            "first fragments alone",
            detail.lone_first_fragments,
        ),
    ]
}

/// Returns counts of packets by purpose, and of truncated ones.
fn purposes(detail: &Detail) -> Vec<Fact> {
    vec![
        count("ack_packets", "packets with ACK", detail.ack_packets),
        count("pure_acks", "pure ACKs", detail.pure_acks),
        count("syn_packets", "packets with SYN", detail.syn_packets),
        count("fin_packets", "packets with FIN", detail.fin_packets),
        count("sack_packets", "packets with SACK", detail.sack_packets),
        count(
            "sack_blocks_max",
            "max SACK blocks",
            detail.most_sack_blocks.into(),
        ),
        count(
            "pushed_packets",
            "data packets with PSH",
            detail.pushed_packets,
        ),
        count(
            "urgent_packets",
            "data packets with URG",
            detail.urgent_packets,
        ),
        octets("urgent_bytes", "urgent data", Some(detail.urgent_bytes)),
        octets(
            "zero_window_probe_bytes",
            "in zero-window probes",
            Some(detail.probe_bytes),
        ),
        count(
            "truncated_packets",
            "packets cut in the capture",
            detail.truncated_packets,
        ),
        octets(
            "truncated_bytes",
            "bytes cut in the capture",
            Some(detail.truncated_bytes),
        ),
    ]
}

/// Returns facts about connection setup: the handshake and the first data.
fn opening(detail: &Detail, whose: Whose<'_>) -> Vec<Fact> {
    vec![
        Fact {
            key: "initial_window_packets",
            label: "initial window, packets",
            value: Value::Number(detail.initial_window_packets(whose.connection, whose.side)),
        },
        octets(
            "initial_window_bytes",
            "initial window",
            detail.initial_window_bytes(whose.connection, whose.side),
        ),
        time(
            "syn_rtt_ns",
            "RTT of its SYN",
            detail.handshake_round_trip(),
        ),
        time("data_time_ns", "first data to last", detail.data_time()),
    ]
}

/// Returns facts about the ACKs received for the data sent.
fn acknowledgments(detail: &Detail) -> Vec<Fact> {
    let full = detail.full_round_trips();
    let last = detail.last_round_trips();
    vec![
        count(
            "full_rtt_samples",
            "RTT samples of full segments",
            full.count(),
        ),
        time("full_rtt_min_ns", "minimum of these", full.min()),
        time("full_rtt_mean_ns", "mean of these", full.mean()),
        time("full_rtt_max_ns", "maximum of these", full.max()),
        time("full_rtt_deviation_ns", "their deviation", full.deviation()),
        count(
            "triple_duplicate_acks",
            "third duplicate ACKs for it",
            detail.triple_duplicates,
        ),
        count(
            "cumulatively_acked_segments",
            "segments acknowledged with later ones",
            detail.cumulatively_acked,
        ),
        count(
            "post_loss_acks",
            "ACKs after a retransmission",
            detail.post_loss_acks,
        ),
        count("ambiguous_acks", "ambiguous ACKs", last.count()),
        time(
            "last_rtt_min_ns",
            "RTT since the last sending, min",
            last.min(),
        ),
        time("last_rtt_mean_ns", "RTT since it, mean", last.mean()),
        time("last_rtt_max_ns", "RTT since it, max", last.max()),
        time("last_rtt_deviation_ns", "their deviation", last.deviation()),
    ]
}

/// Returns times from a segment to its retransmission.
fn repeats(detail: &Detail) -> Vec<Fact> {
    let intervals: Spread = detail.repeat_intervals();
    vec![
        count(
            "max_repeats",
            "max retransmissions",
            detail.most_repeats().into(),
        ),
        count(
            "repeat_intervals",
            "intervals of retransmissions",
            intervals.count(),
        ),
        time(
            "repeat_interval_min_ns",
            "minimum of these",
            intervals.min(),
        ),
        time("repeat_interval_mean_ns", "mean of these", intervals.mean()),
        time(
            "repeat_interval_max_ns",
            "maximum of these",
            intervals.max(),
        ),
        time(
            "repeat_interval_deviation_ns",
            "their deviation",
            intervals.deviation(),
        ),
    ]
}

fn offers(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    let options = direction.options();
    let windows = direction.windows();
    let number = |key, label, value| Fact {
        key,
        label,
        value: Value::Number(value),
    };
    let flag = |key, label, value| Fact {
        key,
        label,
        value: Value::Flag(value),
    };
    let scale = options.map(|options| options.window_scale);
    vec![
        number(
            "mss",
            "MSS option",
            options.and_then(|options| options.mss).map(u64::from),
        ),
        Fact {
            key: "window_scale",
            label: "window scale",
            value: Value::Scale(scale),
        },
        flag(
            "sack_permitted",
            "SACK",
            options.map(|options| options.sack_permitted),
        ),
        flag(
            "timestamps",
            "timestamps",
            options.map(|options| options.timestamps),
        ),
        octets(
            "window_min_bytes",
            "minimum window",
            windows.map(|w| w.least),
        ),
        octets(
            "window_max_bytes",
            "maximum window",
            windows.map(|w| w.most),
        ),
        octets(
            "window_mean_bytes",
            "mean window",
            windows.map(|w| w.mean as u64),
        ),
    ]
}

/// Returns the full segment size and its reason.
fn segments(context: Option<CaptureContext>) -> [Fact; 4] {
    let size = context.map(|about| about.segments);
    let number = |key, label, value| Fact {
        key,
        label,
        value: Value::Size(value),
    };
    [
        number(
            "mss_allowed",
            "effective send MSS",
            size.and_then(|size| size.allowed),
        ),
        number(
            "mss_used",
            "full segment size",
            size.map(|size| size.octets),
        ),
        Fact {
            key: "mss_cause",
            label: "reason for its size",
            value: Value::Choice(size.map(|size| [size.cause.name(), size.cause.words()])),
        },
        number(
            "mss_packet_bytes",
            "its packet size",
            size.map(|size| size.packet),
        ),
    ]
}

/// Returns tcptrace's throughput: unique bytes divided by the connection's duration.
fn throughput(connection: &Connection, side: Side) -> Fact {
    let time = connection.elapsed().as_secs_f64();
    let octets = connection.direction(side).unique_bytes();
    let rate = (time > 0.0).then(|| Rate::from_bps((octets as f64 * 8.0 / time) as u64));
    Fact {
        key: "throughput_bps",
        label: "throughput",
        value: Value::Rate(rate),
    }
}

fn times(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    let trips = direction.round_trips();
    let mean_owin = connection.mean_outstanding(side);
    vec![
        octets(
            "outstanding_max_bytes",
            "maximum in flight",
            Some(connection.most_outstanding(side)),
        ),
        octets(
            "outstanding_mean_bytes",
            "mean in flight over time",
            mean_owin.map(|mean| mean as u64),
        ),
        count("rtt_samples", "RTT samples", trips.count()),
        time("rtt_min_ns", "minimum RTT", trips.min()),
        time("rtt_mean_ns", "mean RTT", trips.mean()),
        time("rtt_max_ns", "maximum RTT", trips.max()),
        time("rtt_deviation_ns", "their deviation", trips.deviation()),
        time(
            "idle_max_ns",
            "longest idle",
            Some(direction.longest_idle()),
        ),
    ]
}

const fn count(key: &'static str, label: &'static str, value: u64) -> Fact {
    Fact {
        key,
        label,
        value: Value::Number(Some(value)),
    }
}

const fn octets(key: &'static str, label: &'static str, value: Option<u64>) -> Fact {
    Fact {
        key,
        label,
        value: Value::Octets(value),
    }
}

const fn time(key: &'static str, label: &'static str, value: Option<Duration>) -> Fact {
    Fact {
        key,
        label,
        value: Value::Time(value),
    }
}
