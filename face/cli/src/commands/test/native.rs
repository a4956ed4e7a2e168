//! The answer: what was received, what limited it, and the fix.

use std::fmt::Write;
use std::time::Duration;

use gigatcp_meter::tester::{
    self, Explanation, Interval, OneWayDelay, Outcome, Protocol, Request, Role, StackKind,
    StreamInterval, StreamOutcome, TestError, UdpCounts,
};
use gigatcp_protocol::iperf3::{Direction, StreamResults, Transport};
use gigatcp_report::group::by_key;
use gigatcp_report::number;
use serde_json::{Value, json};

use super::super::why::{answer, diagnosed};
use super::ceiling::Ceiling;
use super::{hosts, latency, sums};

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-test/2";

/// Returns the text of the answer, with the rate of the steady part if requested.
pub(super) fn text(outcome: &Outcome, is_steady: bool, ceiling: Option<Ceiling>) -> String {
    let explanations = tester::explain(outcome);
    let mut text = String::new();
    if let Some(reason) = &outcome.cut_short {
        let _ = writeln!(text, "Cut short: {reason}");
    }
    for role in sums::roles(&outcome.streams) {
        let _ = writeln!(text, "{}", headline(outcome, role));
        if is_steady {
            let _ = writeln!(text, "{}", steady_line(outcome, role));
        }
        let facts = match outcome.parameters.transport {
            Transport::Udp => udp_facts(outcome, role),
            _ => tcp_facts(outcome, role),
        };
        match explained(outcome, &explanations, role) {
            Some(one) => text.push_str(&answer::lines_with(&facts, &one.diagnosis.answer())),
            None => text.push_str(&answer::labeled("Details", &facts)),
        }
        if has_no_counters(outcome, role) {
            let unknown = "unknown: this system's counters of connections are not read";
            text.push_str(&answer::labeled("Cause", unknown));
        }
        if let Some(note) = spread(outcome, &explanations, role) {
            text.push_str(&answer::labeled("Streams", &note));
        }
    }
    for role in sums::roles(&outcome.streams) {
        if let Some(delay) = outcome.one_way_delay(role) {
            text.push_str(&answer::labeled("Delay", &delay_facts(role, &delay)));
        }
    }
    text.push_str(&latency::lines(outcome));
    text.push_str(&answer::labeled("CPU", &cpu(outcome)));
    let answers = explanations.iter().map(|one| one.diagnosis.answer());
    let fixes: Vec<String> = answers.filter_map(|answer| answer.fix).collect();
    text.push_str(&hosts::lines(outcome, &fixes));
    if let Some(near) = ceiling.and_then(|ceiling| ceiling.text()) {
        text.push_str(&answer::labeled("Ceiling", &near));
    }
    overrides(&mut text, outcome);
    text + &sums::server_output(outcome)
}

/// Whether a direction has TCP streams without counters at this end.
fn has_no_counters(outcome: &Outcome, role: Role) -> bool {
    outcome.parameters.transport == Transport::Tcp
        && sums::streams(outcome, role).all(|stream| stream.total.view.is_none())
}

/// Returns the explanation of the largest stream of a direction.
pub(super) fn explained<'a>(
    outcome: &Outcome,
    explanations: &'a [Explanation],
    role: Role,
) -> Option<&'a Explanation> {
    let largest = sums::streams(outcome, role).max_by_key(|stream| stream.total.bytes)?;
    explanations.iter().find(|one| one.id == largest.id)
}

/// `TCP to host:5201, cubic, 10 s: 3.41 Gbit/s received`.
fn headline(outcome: &Outcome, role: Role) -> String {
    let parameters = &outcome.parameters;
    let is_udp = parameters.transport == Transport::Udp;
    let mut words = vec![format!(
        "{} {} {}:{}",
        if is_udp { "UDP" } else { "TCP" },
        if role == Role::Sender { "to" } else { "from" },
        outcome.host,
        outcome.port
    )];
    let first = sums::streams(outcome, role).next();
    if first.is_some_and(|first| first.options.stack == StackKind::Engine) {
        words.push("engine".to_owned());
    }
    if let Some(name) = congestion(outcome, role) {
        words.push(name);
    }
    if parameters.parallel > 1 {
        words.push(format!("{} streams", parameters.parallel));
    }
    words.push(format!("{:.1} s", outcome.measured.as_secs_f64()));
    let (bytes, end) = match (outcome.received(role), outcome.sent(role)) {
        (Some(bytes), _) => (bytes, "received"),
        (None, sent) => (sent.unwrap_or(0), "sent; the receiver's count is unknown"),
    };
    let rate = number::rate(sums::rate(bytes, sums::receiving_time(outcome, role)));
    format!("{}: {rate} {end}", words.join(", "))
}

/// Returns the line for the rate without slow start.
fn steady_line(outcome: &Outcome, role: Role) -> String {
    match tester::steady(outcome, role) {
        Some(steady) => format!(
            "Steady: {} after the first {:.1} s",
            number::rate(steady.rate),
            steady.warm_up.as_secs_f64()
        ),
        None => "Steady: unknown; the rate never settled, or the test is shorter than 2 s".into(),
    }
}

/// Returns the congestion control of the sender of a direction, if known.
fn congestion(outcome: &Outcome, role: Role) -> Option<String> {
    match role {
        Role::Sender => {
            let first = sums::streams(outcome, role).next()?;
            first.options.congestion.clone()
        }
        Role::Receiver => outcome.peer.as_ref()?.congestion_used.clone(),
    }
}

/// Describes the TCP counts of a direction.
fn tcp_facts(outcome: &Outcome, role: Role) -> String {
    let own = sums::of_totals(outcome, role);
    let peer = sums::of_peer(outcome, role);
    let retransmits = match role {
        Role::Sender => own.retransmits,
        Role::Receiver => peer.and_then(|peer| peer.retransmits),
    };
    let mut facts = Vec::new();
    if let Some(count) = retransmits {
        facts.push(number::counted(count, "segment") + " retransmitted");
    }
    let first = sums::streams(outcome, role).next();
    if let Some([min, mean, max]) = first.and_then(|stream| stream.rtt) {
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        facts.push(format!(
            "SRTT min {:.2}, mean {:.2}, max {:.2} ms",
            ms(min),
            ms(mean),
            ms(max)
        ));
    }
    if let Some(stream) = first.filter(|stream| stream.role == Role::Sender) {
        facts.push(format!("max cwnd {}", bytes(stream.max_cwnd)));
    }
    facts.join("; ")
}

/// Describes the UDP counts of a direction.
fn udp_facts(outcome: &Outcome, role: Role) -> String {
    let own = sums::of_totals(outcome, role);
    match (role, sums::of_peer(outcome, role)) {
        (Role::Receiver, _) => received_datagrams(own.expected, &own.udp, "before this host"),
        (Role::Sender, Some(peer)) => match sums::of_peer_datagrams(outcome) {
            Some(theirs) => received_datagrams(own.datagrams, &theirs, "on the path"),
            None => sent_datagrams(&own, &peer),
        },
        (Role::Sender, None) => number::counted(own.datagrams, "datagram") + " sent",
    }
}

/// Describes the counts of the receiver. `place` names where other datagrams were lost than those
/// dropped by its socket.
fn received_datagrams(expected: u64, counts: &UdpCounts, place: &str) -> String {
    let report = &counts.report;
    let path = report.lost.saturating_sub(counts.socket_drops);
    let mut facts = vec![number::counted(expected, "datagram") + " sent"];
    let percent = sums::percent(report.lost.cast_signed(), expected);
    facts.push(match report.lost {
        0 => "none lost".into(),
        lost => format!(
            "{lost} lost ({percent:.2} %: {path} {place}, {} at the receiver's full socket buffer)",
            counts.socket_drops.min(lost)
        ),
    });
    if report.reordered > 0 {
        let (count, extent) = (report.reordered, report.max_extent);
        facts.push(format!("{count} reordered, extent up to {extent}"));
    }
    if report.duplicates > 0 {
        facts.push(format!("{} duplicated", report.duplicates));
    }
    facts.push(format!(
        "jitter {:.3} ms",
        report.jitter.as_secs_f64() * 1000.0
    ));
    facts.join("; ")
}

fn sent_datagrams(own: &StreamInterval, peer: &StreamResults) -> String {
    format!(
        "{} sent, {} lost by the server's count ({:.2} %); jitter {:.3} ms",
        number::counted(own.datagrams, "datagram"),
        peer.errors,
        sums::percent(peer.errors, peer.packets),
        peer.jitter * 1000.0
    )
}

fn bytes(amount: u64) -> String {
    gigatcp_units::grammar::human_bytes(gigatcp_units::Bytes::new(amount))
}

/// Describes how the streams of a direction shared the rate, and their other causes. `None` if
/// there is one stream.
fn spread(outcome: &Outcome, explanations: &[Explanation], role: Role) -> Option<String> {
    let rate = |stream| {
        let (bytes, time) = sums::received(outcome, stream);
        sums::rate(bytes, time)
    };
    let rates: Vec<f64> = sums::streams(outcome, role).map(rate).collect();
    if rates.len() < 2 {
        return None;
    }
    let min = rates.iter().copied().fold(f64::MAX, f64::min);
    let max = rates.iter().copied().fold(0.0, f64::max);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let [min, mean, max] = [min, mean, max].map(number::rate);
    let mut text = format!("min {min}, mean {mean}, max {max}");
    let first = explained(outcome, explanations, role).and_then(primary);
    let others = explanations
        .iter()
        .filter(|one| one.role == role && primary(one) != first);
    for (id, streams) in by_key(others.filter_map(primary).map(|id| (id, ()))) {
        let _ = write!(text, "; {id} in {} of {}", streams.len(), rates.len());
    }
    Some(text)
}

pub(super) fn primary(explanation: &Explanation) -> Option<&'static str> {
    explanation.diagnosis.answer().cause.map(|cause| cause.id)
}

fn delay_facts(role: Role, delay: &OneWayDelay) -> String {
    let ms = |seconds: f64| seconds * 1000.0;
    let way = match role {
        Role::Sender => "to the server",
        Role::Receiver => "from the server",
    };
    format!(
        "one way {way} min {:.3}, p50 {:.3}, p95 {:.3}, p99 {:.3}, max {:.3} ms; all ± {:.3} ms (half \
         of the minimum RTT of the exchange of clocks; drift {:.1} ppm taken out)",
        ms(delay.min),
        ms(delay.median),
        ms(delay.p95),
        ms(delay.p99),
        ms(delay.max),
        ms(delay.uncertainty),
        delay.drift * 1e6
    )
}

/// CPU time of both ends.
fn cpu(outcome: &Outcome) -> String {
    let own = format!("{:.0} % of one core here", outcome.cpu.total);
    match &outcome.peer {
        Some(peer) => format!("{own}, {:.0} % there", peer.cpu.total),
        None => own,
    }
}

/// Lists the options whose values differ from those requested, each once.
fn overrides(text: &mut String, outcome: &Outcome) {
    let mut seen = Vec::new();
    for one in outcome
        .streams
        .iter()
        .flat_map(|stream| &stream.options.overrides)
    {
        if seen.contains(&one) {
            continue;
        }
        seen.push(one);
        let line = format!(
            "{}: {} requested, {} in effect: {}",
            one.option, one.requested, one.effective, one.cause
        );
        text.push_str(&answer::labeled("Overridden", &line));
    }
}

/// Returns everything as JSON.
pub(super) fn json(outcome: &Outcome, ceiling: Option<Ceiling>) -> Value {
    let parameters = &outcome.parameters;
    let intervals = outcome.intervals.iter();
    let intervals = intervals.map(|one| interval_value(&outcome.streams, one));
    let explanations = tester::explain(outcome);
    let explanations = explanations.iter().map(explanation_value);
    let pings = latency::values(outcome);
    let icmp = pings["icmp"].clone();
    json!({
        "schema": SCHEMA,
        "host": outcome.host,
        "port": outcome.port,
        "protocol": match outcome.protocol {
            Protocol::Iperf3 => "iperf3",
            Protocol::Nuttcp => "nuttcp",
        },
        "transport": parameters.transport.key(),
        "direction": match parameters.direction {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
            Direction::Bidirectional => "bidirectional",
        },
        "requested": parameters.to_json(),
        "measured_s": outcome.measured.as_secs_f64(),
        "received": received_values(outcome),
        "cpu_percent": {"total": outcome.cpu.total, "user": outcome.cpu.user, "system": outcome.cpu.system},
        "one_way_delay": delay_values(outcome),
        "hosts": hosts::values(outcome),
        "ceiling": ceiling.map(|ceiling| ceiling.value()),
        "latency": icmp,
        "pings": pings,
        "streams": outcome.streams.iter().map(|one| stream_value(outcome, one)).collect::<Vec<_>>(),
        "intervals": intervals.collect::<Vec<_>>(),
        "explanations": explanations.collect::<Vec<_>>(),
        "cut_short": outcome.cut_short,
    })
}

/// Returns bytes, time and rate at the receiver of each direction. The bytes are null if it did not
/// report them.
fn received_values(outcome: &Outcome) -> Vec<Value> {
    let value = |role| {
        let (bytes, time) = (outcome.received(role), sums::receiving_time(outcome, role));
        json!({
            "role": sums::role_name(role),
            "bytes": bytes,
            "seconds": time.as_secs_f64(),
            "bps": bytes.map(|bytes| sums::rate(bytes, time)),
        })
    };
    let roles = sums::roles(&outcome.streams).into_iter();
    roles.map(value).collect()
}

fn delay_values(outcome: &Outcome) -> Vec<Value> {
    let value = |role| {
        let delay = outcome.one_way_delay(role)?;
        let us = |seconds: f64| seconds * 1e6;
        Some(json!({
            "role": sums::role_name(role),
            "datagrams": delay.datagrams,
            "min_us": us(delay.min),
            "p50_us": us(delay.median),
            "p95_us": us(delay.p95),
            "p99_us": us(delay.p99),
            "max_us": us(delay.max),
            "uncertainty_us": us(delay.uncertainty),
            "clock_offset_us": us(delay.offset),
            "clock_drift_ppm": delay.drift * 1e6,
        }))
    };
    let roles = sums::roles(&outcome.streams).into_iter();
    roles.filter_map(value).collect()
}

fn explanation_value(one: &Explanation) -> Value {
    let mut value = diagnosed(&one.diagnosis, false);
    value["stream"] = one.id.into();
    value["has_both_ends"] = one.has_both_ends.into();
    value
}

/// The line of an interval (`--format json-lines`).
pub(super) fn interval_line(streams: &[StreamOutcome], interval: &Interval) -> String {
    let mut value = interval_value(streams, interval);
    value["kind"] = "interval".into();
    value.to_string()
}

/// Returns the last line.
/// Returns the JSON of a test without data.
pub(super) fn error(request: &Request, error: &TestError) -> Value {
    json!({
        "schema": SCHEMA,
        "host": request.host,
        "port": request.port,
        "error": error.to_string(),
    })
}

/// Returns the last line of a test without data.
pub(super) fn error_line(request: &Request, error: &TestError) -> String {
    let mut value = self::error(request, error);
    value["kind"] = "end".into();
    value.to_string()
}

/// The end, without the intervals.
pub(super) fn end_line(outcome: &Outcome) -> String {
    let mut value = json(outcome, None);
    value["kind"] = "end".into();
    if let Some(map) = value.as_object_mut() {
        map.remove("intervals");
    }
    value.to_string()
}

fn part_value(part: &StreamInterval) -> Value {
    let mut value = json!({"bytes": part.bytes});
    if let Some(view) = &part.view {
        value["retransmits"] = part.retransmits.into();
        value["cwnd_bytes"] = view.cwnd.as_u64().into();
        value["snd_wnd_bytes"] = view.snd_wnd.as_u64().into();
        value["srtt_us"] = view.srtt.map(|rtt| rtt.as_micros()).into();
        value["min_rtt_us"] = view.min_rtt.map(|rtt| rtt.as_micros()).into();
    } else {
        let report = &part.udp.report;
        value["datagrams"] = part.datagrams.into();
        value["expected"] = part.expected.into();
        value["lost"] = report.lost.into();
        value["socket_drops"] = part.udp.socket_drops.into();
        value["reordered"] = report.reordered.into();
        value["max_reorder_extent"] = report.max_extent.into();
        value["duplicates"] = report.duplicates.into();
        value["jitter_us"] = (report.jitter.as_secs_f64() * 1e6).into();
    }
    value
}

fn interval_value(streams: &[StreamOutcome], interval: &Interval) -> Value {
    let parts = streams.iter().zip(&interval.streams).map(|(stream, part)| {
        let mut value = part_value(part);
        value["stream"] = stream.id.into();
        value["role"] = sums::role_name(stream.role).into();
        value
    });
    json!({
        "start_s": interval.start.as_secs_f64(),
        "end_s": interval.end.as_secs_f64(),
        "omitted": interval.omitted,
        "streams": parts.collect::<Vec<_>>(),
    })
}

fn stream_value(outcome: &Outcome, stream: &StreamOutcome) -> Value {
    let options = &stream.options;
    let overrides = options.overrides.iter().map(|one| {
        json!({
            "option": one.option,
            "requested": one.requested,
            "effective": one.effective,
            "cause": one.cause,
        })
    });
    json!({
        "stream": stream.id,
        "role": sums::role_name(stream.role),
        "local": stream.local.to_string(),
        "peer": stream.peer.to_string(),
        "total": part_value(&stream.total),
        "peer_bytes": outcome.peer_of(stream).map(|peer| peer.bytes),
        "options": {
            "stack": options.stack.name(),
            "udp_offload": options.udp_offload,
            "send_buffer_bytes": options.send_buffer,
            "receive_buffer_bytes": options.receive_buffer,
            "usable_receive_window_bytes": options.usable_receive_window,
            "congestion_control": options.congestion,
            "mss_bytes": options.mss,
            "overrides": overrides.collect::<Vec<_>>(),
        },
    })
}
