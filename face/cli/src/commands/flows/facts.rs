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
    /// Value as text.
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

/// Builds facts from a table: kind of the value, key, label, and value.
macro_rules! facts {
    ($($kind:ident $key:literal $label:literal $value:expr;)*) => {
        vec![$(Fact { key: $key, label: $label, value: Value::$kind($value) }),*]
    };
}

fn kinds(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    let count = |kind| Some(direction.count_of(kind));
    facts! {
        Number "fast_retransmissions" "fast retransmissions" count(Kind::FastRetransmission);
        Number "sack_retransmissions" "SACK retransmissions" count(Kind::SackRetransmission);
        Number "timeout_retransmissions" "timeout retransmissions"
            count(Kind::TimeoutRetransmission);
        Number "tail_probes" "tail loss probes" count(Kind::TailProbe);
        Number "spurious_retransmissions" "spurious retransmissions"
            count(Kind::SpuriousRetransmission);
        Number "unexplained_retransmissions" "unexplained retransmissions"
            count(Kind::UnexplainedRetransmission);
        Number "out_of_order" "out of order" count(Kind::OutOfOrder);
        Number "after_gap" "previous segment not captured" count(Kind::AfterGap);
        Number "captured_twice" "captured twice" count(Kind::CapturedTwice);
        Number "duplicate_acks" "duplicate ACKs" count(Kind::DuplicateAck);
        Number "old_acks" "old ACKs" count(Kind::OldAck);
        Number "window_updates" "window updates" count(Kind::WindowUpdate);
        Number "zero_windows" "zero windows" count(Kind::ZeroWindow);
        Number "window_full" "window full" count(Kind::WindowFull);
        Number "beyond_window" "beyond the window" count(Kind::BeyondWindow);
        Number "keep_alives" "keep-alives" count(Kind::KeepAlive);
        Number "keep_alive_acks" "keep-alive ACKs" count(Kind::KeepAliveAck);
        Number "zero_window_probes" "zero-window probes" count(Kind::ZeroWindowProbe);
        Number "zero_window_probe_acks" "zero-window probe ACKs" count(Kind::ZeroWindowProbeAck);
        Number "acks_of_unseen" "ACKed unseen segments" count(Kind::AckedUnseen);
        Number "duplicate_reports" "D-SACKs" count(Kind::DuplicateReport);
        Number "spurious_proofs" "proofs of spurious recovery" count(Kind::ShowsSpurious);
        Number "resets_exact" "resets, exact" count(Kind::ResetExact);
        Number "resets_in_window" "resets in the window" count(Kind::ResetInWindow);
        Number "resets_out_of_window" "resets outside the window" count(Kind::ResetOutOfWindow);
        Number "ce_marks" "CE marks" count(Kind::CongestionExperienced);
        Number "ecn_echoes" "ECN echoes" count(Kind::EcnEcho);
        Number "cwr" "CWR" count(Kind::CongestionWindowReduced);
    }
}

/// All facts about what a side sent.
pub(in crate::commands) fn of(whose: Whose<'_>) -> Vec<Fact> {
    let Whose {
        connection,
        side,
        detail,
        context,
    } = whose;
    let mut facts = amounts(connection, side);
    if let Some(detail) = detail {
        facts.extend(throughput(connection, side));
        facts.extend(contents(detail, whose));
        facts.extend(purposes(detail));
        facts.extend(opening(detail, whose));
    }
    facts.extend(offers(connection, side));
    if detail.is_some() {
        facts.extend(segments(context));
    }
    facts.extend(times(connection, side));
    if let Some(detail) = detail {
        facts.extend(acknowledgments(detail));
        facts.extend(repeats(detail));
    }
    facts.extend(kinds(connection, side));
    facts
}

fn amounts(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    facts! {
        Number "packets" "packets" Some(direction.packets());
        Number "data_packets" "packets with data" Some(direction.data_packets());
        Number "wire_segments" "segments on the wire" Some(direction.wire_segments());
        Octets "bytes" "bytes" Some(direction.bytes());
        Octets "unique_bytes" "unique bytes" Some(direction.unique_bytes());
        Octets "stream_bytes" "length of the stream" Some(direction.stream_length());
        Octets "acked_unseen_bytes" "acknowledged, not captured"
            Some(direction.acked_unseen_bytes());
        Number "retransmitted_segments" "retransmissions" Some(direction.retransmitted_segments());
        Number "retransmitted_packets" "in packets" Some(direction.retransmitted_packets());
        Octets "retransmitted_bytes" "retransmitted bytes" Some(direction.retransmitted_bytes());
        Number "spurious_segments" "of them proven spurious" Some(direction.spurious_segments());
        Number "largest_segment_bytes" "largest segment" Some(direction.largest_segment().into());
    }
}

/// Facts about the content of packets, for the detailed view.
fn contents(detail: &Detail, whose: Whose<'_>) -> Vec<Fact> {
    let direction = whose.connection.direction(whose.side);
    let mean = direction.bytes().checked_div(direction.data_packets());
    facts! {
        Size "min_segment_bytes" "smallest segment" detail.least_segment.map(u64::from);
        Size "mean_segment_bytes" "mean segment" mean;
        Size "outstanding_min_bytes" "minimum in flight after data" detail.least_outstanding();
        Size "outstanding_at_data_mean_bytes" "mean in flight after data"
            detail.mean_outstanding().map(|mean| mean as u64);
        Number "fragmented_packets" "packets in fragments" Some(detail.fragmented_packets);
        Number "lone_first_fragments" "first fragments alone" Some(detail.lone_first_fragments);
    }
}

/// Counts of packets by purpose, and of truncated ones.
fn purposes(detail: &Detail) -> Vec<Fact> {
    facts! {
        Number "ack_packets" "packets with ACK" Some(detail.ack_packets);
        Number "pure_acks" "pure ACKs" Some(detail.pure_acks);
        Number "syn_packets" "packets with SYN" Some(detail.syn_packets);
        Number "fin_packets" "packets with FIN" Some(detail.fin_packets);
        Number "sack_packets" "packets with SACK" Some(detail.sack_packets);
        Number "sack_blocks_max" "max SACK blocks" Some(detail.most_sack_blocks.into());
        Number "pushed_packets" "data packets with PSH" Some(detail.pushed_packets);
        Number "urgent_packets" "data packets with URG" Some(detail.urgent_packets);
        Octets "urgent_bytes" "urgent data" Some(detail.urgent_bytes);
        Octets "zero_window_probe_bytes" "in zero-window probes" Some(detail.probe_bytes);
        Number "truncated_packets" "packets cut in the capture" Some(detail.truncated_packets);
        Octets "truncated_bytes" "bytes cut in the capture" Some(detail.truncated_bytes);
    }
}

/// Facts about connection setup: the handshake and the first data.
fn opening(detail: &Detail, whose: Whose<'_>) -> Vec<Fact> {
    facts! {
        Number "initial_window_packets" "initial window, packets"
            detail.initial_window_packets(whose.connection, whose.side);
        Octets "initial_window_bytes" "initial window"
            detail.initial_window_bytes(whose.connection, whose.side);
        Time "syn_rtt_ns" "RTT of its SYN" detail.handshake_round_trip();
        Time "data_time_ns" "first data to last" detail.data_time();
    }
}

/// Facts about the ACKs received for the data sent.
fn acknowledgments(detail: &Detail) -> Vec<Fact> {
    let full = detail.full_round_trips();
    let last = detail.last_round_trips();
    facts! {
        Number "full_rtt_samples" "RTT samples of full segments" Some(full.count());
        Time "full_rtt_min_ns" "minimum of these" full.min();
        Time "full_rtt_mean_ns" "mean of these" full.mean();
        Time "full_rtt_max_ns" "maximum of these" full.max();
        Time "full_rtt_deviation_ns" "their deviation" full.deviation();
        Number "triple_duplicate_acks" "third duplicate ACKs for it"
            Some(detail.triple_duplicates);
        Number "cumulatively_acked_segments" "segments acknowledged with later ones"
            Some(detail.cumulatively_acked);
        Number "post_loss_acks" "ACKs after a retransmission" Some(detail.post_loss_acks);
        Number "ambiguous_acks" "ambiguous ACKs" Some(last.count());
        Time "last_rtt_min_ns" "RTT since the last sending, min" last.min();
        Time "last_rtt_mean_ns" "RTT since it, mean" last.mean();
        Time "last_rtt_max_ns" "RTT since it, max" last.max();
        Time "last_rtt_deviation_ns" "their deviation" last.deviation();
    }
}

/// Times from a segment to its retransmission.
fn repeats(detail: &Detail) -> Vec<Fact> {
    let intervals: Spread = detail.repeat_intervals();
    facts! {
        Number "max_repeats" "max retransmissions" Some(detail.most_repeats().into());
        Number "repeat_intervals" "intervals of retransmissions" Some(intervals.count());
        Time "repeat_interval_min_ns" "minimum of these" intervals.min();
        Time "repeat_interval_mean_ns" "mean of these" intervals.mean();
        Time "repeat_interval_max_ns" "maximum of these" intervals.max();
        Time "repeat_interval_deviation_ns" "their deviation" intervals.deviation();
    }
}

fn offers(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    let options = direction.options();
    let windows = direction.windows();
    let scale = options.map(|options| options.window_scale);
    facts! {
        Number "mss" "MSS option" options.and_then(|options| options.mss).map(u64::from);
        Scale "window_scale" "window scale" scale;
        Flag "sack_permitted" "SACK" options.map(|options| options.sack_permitted);
        Flag "timestamps" "timestamps" options.map(|options| options.timestamps);
        Octets "window_min_bytes" "minimum window" windows.map(|w| w.least);
        Octets "window_max_bytes" "maximum window" windows.map(|w| w.most);
        Octets "window_mean_bytes" "mean window" windows.map(|w| w.mean as u64);
    }
}

/// Full segment size and its reason.
fn segments(context: Option<CaptureContext>) -> Vec<Fact> {
    let size = context.map(|about| about.segments);
    facts! {
        Size "mss_allowed" "effective send MSS" size.and_then(|size| size.allowed);
        Size "mss_used" "full segment size" size.map(|size| size.octets);
        Choice "mss_cause" "reason for its size"
            size.map(|size| [size.cause.name(), size.cause.words()]);
        Size "mss_packet_bytes" "its packet size" size.map(|size| size.packet);
    }
}

/// Tcptrace's throughput: unique bytes divided by the connection's duration.
fn throughput(connection: &Connection, side: Side) -> Vec<Fact> {
    let time = connection.elapsed().as_secs_f64();
    let octets = connection.direction(side).unique_bytes();
    let rate = (time > 0.0).then(|| Rate::from_bps((octets as f64 * 8.0 / time) as u64));
    facts! {
        Rate "throughput_bps" "throughput" rate;
    }
}

fn times(connection: &Connection, side: Side) -> Vec<Fact> {
    let direction = connection.direction(side);
    let trips = direction.round_trips();
    // Without its ACKs, all data would be in flight.
    let answered = Some(connection).filter(|connection| !connection.is_one_sided());
    let mean_owin = answered.and_then(|answered| answered.mean_outstanding(side));
    facts! {
        Octets "outstanding_max_bytes" "maximum in flight" answered.map(|answered| answered.most_outstanding(side));
        Octets "outstanding_mean_bytes" "mean in flight over time"
            mean_owin.map(|mean| mean as u64);
        Number "rtt_samples" "RTT samples" Some(trips.count());
        Time "rtt_min_ns" "minimum RTT" trips.min();
        Time "rtt_mean_ns" "mean RTT" trips.mean();
        Time "rtt_max_ns" "maximum RTT" trips.max();
        Time "rtt_deviation_ns" "their deviation" trips.deviation();
        Time "idle_max_ns" "longest idle" Some(direction.longest_idle());
    }
}
