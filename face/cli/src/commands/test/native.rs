//! The answer: what was received, what limited it, and the fix.

use std::fmt::Write;
use std::time::Duration;

use gigatcp_meter::tester::{
    self, DatagramLoss, Explanation, Interval, OneWayDelay, Outcome, PathCapacity, Protocol,
    Request, Role, StackKind, StreamInterval, StreamOutcome, TestError, UdpCounts,
};
use gigatcp_protocol::iperf3::{Direction, StreamResults, Transport};
use gigatcp_report::group::by_key;
use gigatcp_report::number;
use gigatcp_report::why::answer;
use gigatcp_report::why::json::diagnosed;
use gigatcp_units::grammar::human_rate;
use serde_json::{Value, json};

use super::ceiling::Ceiling;
use super::{hosts, latency, sums};

/// Schema of the JSON.
const SCHEMA: &str = "gigatcp-test/2";

/// Text of the answer, with the rate of the steady part if requested.
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
        if let Some(shares) = shares(outcome, role) {
            text.push_str(&answer::labeled("Streams", &shares));
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
        if let Some(others) = other_causes(outcome, &explanations, role) {
            text.push_str(&answer::labeled("Streams", &others));
        }
        if needs_server_counters(outcome, &explanations, role) {
            let hint = format!(
                "run `gigatcp server` on {}: its counters of that end decide",
                outcome.host
            );
            text.push_str(&answer::labeled("Hint", &hint));
        }
    }
    for (label, fact) in facts(outcome, &explanations, ceiling) {
        text.push_str(&answer::labeled(label, &fact));
    }
    overrides(&mut text, outcome);
    text + &sums::server_output(outcome)
}

/// Lines on the path, delays and hosts, with their labels: those of the terminal and of the page.
pub(super) fn facts(
    outcome: &Outcome,
    explanations: &[Explanation],
    ceiling: Option<Ceiling>,
) -> Vec<(&'static str, String)> {
    let path = outcome
        .capacity
        .iter()
        .map(|path| ("Path", capacity_text(path)));
    let roles = sums::roles(&outcome.streams).into_iter();
    let losses = roles
        .clone()
        .filter_map(|role| Some(("Loss", loss_fact(outcome, role)?)));
    let delays = roles.filter_map(|role| {
        let delay = outcome.one_way_delay(role)?;
        Some(("Delay", delay_facts(role, &delay)))
    });
    let near = ceiling.and_then(|ceiling| ceiling.text());
    let answers = explanations
        .iter()
        .map(|explanation| explanation.diagnosis.answer());
    let fixes: Vec<String> = answers.filter_map(|answer| answer.fix).collect();
    losses
        .chain(path)
        .chain(delays)
        .chain(latency::lines(outcome))
        .chain([("CPU", cpu(outcome))])
        .chain(hosts::lines(outcome, &fixes))
        .chain(near.map(|near| ("Ceiling", near)))
        .collect()
}

/// Why datagrams of a direction were lost, and what to do; `None` if next to none were.
fn loss_fact(outcome: &Outcome, role: Role) -> Option<String> {
    let loss = outcome.datagram_loss(role)?;
    let arrived = number::rate(sums::rate_of(outcome, role));
    let queue = outcome
        .one_way_delay(role)
        .map_or(0.0, |delay| 1e3 * (delay.median - delay.min));
    Some(match loss {
        DatagramLoss::FullPath => format!(
            "the path was full: it carried {arrived} and no more, and its queue delayed datagrams by \
             {queue:.1} ms (median). Send less (-b)"
        ),
        DatagramLoss::Policer => format!(
            "a policer: {arrived} and no more arrived, and no queue delayed datagrams. Send less \
             (-b)"
        ),
        DatagramLoss::Random => "random loss: the rate had no ceiling, and no queue delayed \
                                 datagrams. Check error counters (ethtool -S) along the path"
            .into(),
        DatagramLoss::Receiver => {
            "the receiving socket's buffer was full: a larger one (-w), or more \
                                   CPU for the receiver"
                .into()
        }
        DatagramLoss::Unsure => {
            "unsure: a full path, a policer or random loss; delays and rates do not decide".into()
        }
    })
}

/// Whether a direction is unsure, and the server is a stock one, which keeps its counters.
fn needs_server_counters(outcome: &Outcome, explanations: &[Explanation], role: Role) -> bool {
    let is_stock =
        tester::Readings::of(outcome).peer.is_none() && outcome.protocol != Protocol::Ndt7;
    let explained = explained(outcome, explanations, role);
    is_stock && explained.is_some_and(|explanation| explanation.diagnosis.answer().is_unsure)
}

/// `carries 91.3 Mbit/s of payload (90.9 to 92.0), measured ...`.
fn capacity_text(capacity: &PathCapacity) -> String {
    let trains = number::counted(capacity.trains.into(), "packet train");
    let direction = match capacity.role {
        Role::Sender => "to",
        Role::Receiver => "from",
    };
    let (low, high) = (human_rate(capacity.low), human_rate(capacity.high));
    let range = if low == high {
        String::new()
    } else {
        format!(" ({low} to {high})")
    };
    format!(
        "carries {} of payload {direction} the server{range}, measured before the test with {trains} \
         of {}",
        human_rate(capacity.rate),
        bytes(capacity.bytes)
    )
}

fn capacity_value(capacity: &PathCapacity) -> Value {
    json!({
        "role": capacity.role.name(),
        "bps": capacity.rate.as_bps(),
        "low_bps": capacity.low.as_bps(),
        "high_bps": capacity.high.as_bps(),
        "trains": capacity.trains,
        "bytes": capacity.bytes,
    })
}

/// Whether a direction has TCP streams without counters at this end.
fn has_no_counters(outcome: &Outcome, role: Role) -> bool {
    outcome.parameters.transport == Transport::Tcp
        && sums::streams(outcome, role).all(|stream| stream.total.view.is_none())
}

/// Explanation of the largest stream of a direction.
pub(super) fn explained<'a>(
    outcome: &Outcome,
    explanations: &'a [Explanation],
    role: Role,
) -> Option<&'a Explanation> {
    let largest = sums::streams(outcome, role).max_by_key(|stream| stream.total.bytes)?;
    explanations
        .iter()
        .find(|explanation| explanation.id == largest.id)
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
    if outcome.protocol == Protocol::Ndt7 {
        words.push("ndt7".to_owned());
    }
    let first = sums::streams(outcome, role).next();
    if first.is_some_and(|first| first.options.stack == StackKind::Engine) {
        words.push("engine".to_owned());
    }
    match first.and_then(|first| first.options.mptcp) {
        Some(true) => words.push("MPTCP".to_owned()),
        Some(false) => words.push("not MPTCP".to_owned()),
        None => {}
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

/// Line for the rate without slow start.
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

/// Congestion control of the sender of a direction, if known.
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
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let first = sums::streams(outcome, role).next();
    let sender = first.and_then(|stream| match role {
        Role::Sender => Some((stream.rtt?, stream.max_cwnd)),
        Role::Receiver => sender_extremes(&tester::Readings::of(outcome).peer?, stream.id),
    });
    if let Some(([min, mean, max], cwnd)) = sender {
        let (min, mean, max) = (ms(min), ms(mean), ms(max));
        facts.push(format!(
            "SRTT min {min:.2}, mean {mean:.2}, max {max:.2} ms"
        ));
        facts.push(format!("max cwnd {}", bytes(cwnd)));
    } else if let Some([min, ..]) = first.and_then(|stream| stream.rtt) {
        // A receiver measures the RTT of the handshake only.
        facts.push(format!("handshake RTT {:.2} ms", ms(min)));
    }
    facts.join("; ")
}

/// Minimum, mean and maximum of the smoothed RTT, and the largest cwnd in bytes, of a peer that
/// sends. `None`: it sent no readings of the stream.
fn sender_extremes(peer: &tester::Samples, id: u64) -> Option<([Duration; 3], u64)> {
    let (_, readings) = peer.streams.iter().find(|(of, _)| *of == id)?;
    let rtts = readings.iter().filter_map(|reading| reading.rtt);
    let nanos: Vec<u64> = rtts.map(|rtt| rtt.as_nanos()).collect();
    let (min, max) = (nanos.iter().min()?, nanos.iter().max()?);
    let mean = nanos.iter().sum::<u64>() / nanos.len() as u64;
    let cwnds = readings.iter().filter_map(|reading| reading.cwnd());
    let cwnd = cwnds.map(gigatcp_units::Bytes::as_u64).max()?;
    Some(([*min, mean, *max].map(Duration::from_nanos), cwnd))
}

/// Describes the UDP counts of a direction.
fn udp_facts(outcome: &Outcome, role: Role) -> String {
    let counts = udp_counts(outcome, role);
    slow_sender(outcome, role).map_or(counts.clone(), |slow| format!("{slow}; {counts}"))
}

/// `sent at 18.40 of the requested 60.00 Mbit/s`, of a sender that did not keep to its rate.
fn slow_sender(outcome: &Outcome, role: Role) -> Option<String> {
    let requested =
        outcome.parameters.bandwidth? as f64 * f64::from(outcome.parameters.parallel.max(1));
    let sent = sums::rate(outcome.sent(role)?, outcome.measured);
    // The last datagrams of a test need not be due.
    let is_slow = outcome.cut_short.is_none() && sent < 0.95 * requested;
    let [sent, requested] = [sent, requested].map(number::rate);
    is_slow.then(|| format!("sent at {sent} of the requested {requested}: the sender was too slow"))
}

fn udp_counts(outcome: &Outcome, role: Role) -> String {
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
            "{} lost ({percent:.2} %: {} {place}, {} at the receiver's full socket buffer)",
            number::grouped(lost),
            number::grouped(path),
            number::grouped(counts.socket_drops.min(lost))
        ),
    });
    if report.reordered > 0 {
        let (count, extent) = (number::grouped(report.reordered), report.max_extent);
        facts.push(format!("{count} reordered, extent up to {extent}"));
    }
    if report.duplicates > 0 {
        facts.push(number::grouped(report.duplicates) + " duplicated");
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

/// Number of streams whose shares are listed one by one.
const MAX_SHARES: usize = 8;

/// Describes how the streams of a direction shared the rate, and which of them the answer is about.
/// `None` if there is one stream.
fn shares(outcome: &Outcome, role: Role) -> Option<String> {
    let rate = |stream| {
        let (bytes, time) = sums::received(outcome, stream);
        sums::rate(bytes, time)
    };
    let rates: Vec<f64> = sums::streams(outcome, role).map(rate).collect();
    if rates.len() < 2 {
        return None;
    }
    let sum: f64 = rates.iter().sum();
    let percent = |rate: f64| format!("{:.0} %", 100.0 * rate / sum.max(1e-9));
    let min = rates.iter().copied().fold(f64::MAX, f64::min);
    let max = rates.iter().copied().fold(0.0, f64::max);
    let shares = if rates.len() <= MAX_SHARES {
        let shares: Vec<String> = rates.iter().map(|rate| percent(*rate)).collect();
        shares.join(", ")
    } else {
        format!("{} to {} each", percent(min), percent(max))
    };
    let tcp = outcome.parameters.transport == Transport::Tcp;
    let answer = if tcp { "; the largest in detail:" } else { "" };
    Some(format!(
        "sum {}: {shares}; min {}, mean {}, max {}{answer}",
        number::rate(sum),
        number::rate(min),
        number::rate(sum / rates.len() as f64),
        number::rate(max)
    ))
}

/// Lists the causes of streams of a direction that differ from that of the largest. `None` without
/// any.
fn other_causes(outcome: &Outcome, explanations: &[Explanation], role: Role) -> Option<String> {
    let count = sums::streams(outcome, role).count();
    let first = explained(outcome, explanations, role).and_then(primary);
    let others = explanations
        .iter()
        .filter(|stream| stream.role == role && primary(stream) != first);
    let others = by_key(others.filter_map(primary).map(|id| (id, ())));
    let others: Vec<String> = others
        .into_iter()
        .map(|(id, streams)| format!("{id} in {} of {count}", streams.len()))
        .collect();
    (!others.is_empty()).then(|| others.join("; "))
}

pub(super) fn primary(explanation: &Explanation) -> Option<&'static str> {
    explanation.diagnosis.answer().cause.map(|cause| cause.id)
}

/// One-way delays as text.
pub(super) fn delay_facts(role: Role, delay: &OneWayDelay) -> String {
    let ms = |seconds: f64| seconds * 1000.0;
    let way = match role {
        Role::Sender => "to the server",
        Role::Receiver => "from the server",
    };
    format!(
        "one way {way} min {:.3}, p50 {:.3}, p95 {:.3}, p99 {:.3}, max {:.3} ms; all ± {:.3} ms (half \
         of the minimum RTT; drift {:.1} ppm taken out)",
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
        Some(peer) if outcome.protocol != Protocol::Ndt7 => {
            format!("{own}, {:.0} % there", peer.cpu.total)
        }
        _ => own,
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

/// Everything as JSON.
pub(super) fn json(outcome: &Outcome, ceiling: Option<Ceiling>) -> Value {
    let parameters = &outcome.parameters;
    let intervals = outcome
        .intervals
        .iter()
        .map(|interval| interval_value(&outcome.streams, interval));
    let explanations: Vec<Value> = tester::explain(outcome)
        .iter()
        .map(explanation_value)
        .collect();
    let pings = latency::values(outcome);
    let icmp = pings["icmp"].clone();
    json!({
        "schema": SCHEMA,
        "host": outcome.host,
        "port": outcome.port,
        "protocol": match outcome.protocol {
            Protocol::Iperf3 => "iperf3",
            Protocol::Nuttcp => "nuttcp",
            Protocol::Ndt7 => "ndt7",
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
        "datagram_loss": loss_values(outcome),
        "hosts": hosts::values(outcome),
        "path_capacity": outcome.capacity.as_ref().map(capacity_value),
        "ceiling": ceiling.map(|ceiling| ceiling.value()),
        "latency": icmp,
        "pings": pings,
        "responsiveness": latency::responsiveness_value(outcome),
        "streams": outcome.streams.iter().map(|stream| stream_value(outcome, stream)).collect::<Vec<_>>(),
        "intervals": intervals.collect::<Vec<_>>(),
        "explanations": explanations,
        "cut_short": outcome.cut_short,
    })
}

/// Bytes, time and rate at the receiver of each direction. The bytes are null if it did not report
/// them.
fn received_values(outcome: &Outcome) -> Vec<Value> {
    let value = |role| {
        let (bytes, time) = (outcome.received(role), sums::receiving_time(outcome, role));
        json!({
            "role": role.name(),
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
        let mut value = delay_value(&outcome.one_way_delay(role)?);
        value["role"] = role.name().into();
        Some(value)
    };
    let roles = sums::roles(&outcome.streams).into_iter();
    roles.filter_map(value).collect()
}

fn loss_values(outcome: &Outcome) -> Vec<Value> {
    let value = |role: Role| {
        let loss = outcome.datagram_loss(role)?;
        Some(json!({"role": role.name(), "cause": loss.id()}))
    };
    let roles = sums::roles(&outcome.streams).into_iter();
    roles.filter_map(value).collect()
}

/// One-way delays as JSON.
pub(super) fn delay_value(delay: &OneWayDelay) -> Value {
    let us = |seconds: f64| seconds * 1e6;
    json!({
        "datagrams": delay.datagrams,
        "min_us": us(delay.min),
        "p50_us": us(delay.median),
        "p95_us": us(delay.p95),
        "p99_us": us(delay.p99),
        "max_us": us(delay.max),
        "uncertainty_us": us(delay.uncertainty),
        "clock_offset_us": us(delay.offset),
        "clock_drift_ppm": delay.drift * 1e6,
    })
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

/// Lines of the readings of both ends' sockets, each 10 ms, by the clock of each end's test.
pub(super) fn reading_lines(outcome: &Outcome) -> String {
    let readings = tester::Readings::of(outcome);
    let ends = [
        ("here", Some(&readings.own)),
        ("there", readings.peer.as_ref()),
    ];
    let mut text = String::new();
    for (end, samples) in ends {
        for (stream, readings) in samples.map_or(&[][..], |samples| &samples.streams) {
            for reading in readings {
                let mut value: Value = reading
                    .words()
                    .map(|(name, number)| (name.to_owned(), Value::from(number)))
                    .collect();
                value["kind"] = "reading".into();
                value["end"] = end.into();
                value["stream"] = (*stream).into();
                value["at_s"] = reading.at.as_secs_f64().into();
                let _ = writeln!(text, "{value}");
            }
        }
    }
    text
}

/// JSON of a test without data.
pub(super) fn error(request: &Request, error: &TestError) -> Value {
    json!({
        "schema": SCHEMA,
        "host": request.host,
        "port": request.port,
        "error": error.to_string(),
    })
}

/// Last line of a test without data.
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
        value["role"] = stream.role.name().into();
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
        "role": stream.role.name(),
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
            "mptcp": options.mptcp,
            "overrides": overrides.collect::<Vec<_>>(),
        },
    })
}
