//! The answer: what was received, what limited it, what to change.

use std::fmt::Write;

use gigatcp_meter::tester::{Interval, Outcome, Role, StreamInterval, StreamOutcome};
use gigatcp_protocol::iperf3::{Direction, StreamResults, Transport};
use gigatcp_report::number;
use serde_json::{Value, json};

use super::sums;

/// Schema of [`json`].
const SCHEMA: &str = "gigatcp-test/1";

/// The text of the answer.
pub(super) fn text(outcome: &Outcome) -> String {
    let mut text = String::new();
    for role in sums::roles(&outcome.streams) {
        let _ = writeln!(text, "{}", headline(outcome, role));
        match outcome.parameters.transport {
            Transport::Udp => udp_lines(&mut text, outcome, role),
            _ => tcp_lines(&mut text, outcome, role),
        }
    }
    if outcome.streams.len() > 1 {
        streams(&mut text, outcome);
    }
    cpu(&mut text, outcome);
    overrides(&mut text, outcome);
    if let Some(reason) = &outcome.cut_short {
        let _ = writeln!(text, "  Cut short   {reason}");
    }
    text
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
    let rate = number::rate(sums::rate(bytes, outcome.measured));
    format!("{}: {rate} {end}", words.join(", "))
}

/// Congestion control of the sender of a direction, if it is known.
fn congestion(outcome: &Outcome, role: Role) -> Option<String> {
    match role {
        Role::Sender => {
            let mut streams = outcome.streams.iter().filter(|stream| stream.role == role);
            streams.next()?.options.congestion.clone()
        }
        Role::Receiver => outcome.peer.as_ref()?.congestion_used.clone(),
    }
}

fn tcp_lines(text: &mut String, outcome: &Outcome, role: Role) {
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
    let first = outcome.streams.iter().find(|stream| stream.role == role);
    if let Some([min, mean, max]) = first.and_then(|stream| stream.rtt) {
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1000.0;
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
    let _ = writeln!(text, "  Evidence    {}", facts.join("; "));
}

fn udp_lines(text: &mut String, outcome: &Outcome, role: Role) {
    let own = sums::of_totals(outcome, role);
    let facts = match (role, sums::of_peer(outcome, role)) {
        (Role::Receiver, _) => received_datagrams(&own),
        (Role::Sender, Some(peer)) => sent_datagrams(&own, &peer),
        (Role::Sender, None) => number::counted(own.datagrams, "datagram") + " sent",
    };
    let _ = writeln!(text, "  Evidence    {facts}");
}

fn received_datagrams(own: &StreamInterval) -> String {
    let report = &own.udp.report;
    let path = report.lost.saturating_sub(own.udp.socket_drops);
    let mut facts = vec![number::counted(own.expected, "datagram") + " expected"];
    let percent = sums::percent(report.lost.cast_signed(), own.expected);
    facts.push(match report.lost {
        0 => "none lost".into(),
        lost => format!(
            "{lost} lost ({percent:.2} %: {path} before this host, {} at a full socket buffer)",
            own.udp.socket_drops.min(lost)
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

/// How the streams shared the rate.
fn streams(text: &mut String, outcome: &Outcome) {
    for role in sums::roles(&outcome.streams) {
        let of_role = outcome.streams.iter().filter(|stream| stream.role == role);
        let rates: Vec<f64> = of_role
            .map(|stream| received_rate(outcome, stream))
            .collect();
        if rates.len() < 2 {
            continue;
        }
        let (min, max) = rates.iter().fold((f64::MAX, 0.0_f64), |(min, max), rate| {
            (min.min(*rate), max.max(*rate))
        });
        let mean = rates.iter().sum::<f64>() / rates.len() as f64;
        let _ = writeln!(
            text,
            "  Streams     min {}, mean {}, max {}",
            number::rate(min),
            number::rate(mean),
            number::rate(max)
        );
    }
}

fn received_rate(outcome: &Outcome, stream: &StreamOutcome) -> f64 {
    let theirs = outcome.peer_of(stream).map(|peer| peer.bytes);
    let bytes = match stream.role {
        Role::Sender => theirs.unwrap_or(stream.total.bytes),
        Role::Receiver => stream.total.bytes,
    };
    sums::rate(bytes, outcome.measured)
}

fn cpu(text: &mut String, outcome: &Outcome) {
    let _ = write!(
        text,
        "  CPU         {:.0} % of one core here",
        outcome.cpu.total
    );
    match &outcome.peer {
        Some(peer) => {
            let _ = writeln!(text, ", {:.0} % there", peer.cpu.total);
        }
        None => text.push('\n'),
    }
}

/// Options that are not as requested, each once.
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
        let _ = writeln!(
            text,
            "  Overridden  {}: {} requested, {} in effect: {}",
            one.option, one.requested, one.effective, one.cause
        );
    }
}

/// Everything, as JSON.
pub(super) fn json(outcome: &Outcome) -> Value {
    let parameters = &outcome.parameters;
    let intervals = outcome.intervals.iter();
    let intervals = intervals.map(|one| interval_value(&outcome.streams, one));
    json!({
        "schema": SCHEMA,
        "host": outcome.host,
        "port": outcome.port,
        "transport": parameters.transport.key(),
        "direction": match parameters.direction {
            Direction::Forward => "forward",
            Direction::Reverse => "reverse",
            Direction::Bidirectional => "bidirectional",
        },
        "requested": parameters.to_json(),
        "measured_s": outcome.measured.as_secs_f64(),
        "cpu_percent": {"total": outcome.cpu.total, "user": outcome.cpu.user, "system": outcome.cpu.system},
        "streams": outcome.streams.iter().map(|one| stream_value(outcome, one)).collect::<Vec<_>>(),
        "intervals": intervals.collect::<Vec<_>>(),
        "peer": outcome.peer.as_ref().map(|peer| peer.to_json()),
        "cut_short": outcome.cut_short,
    })
}

/// The line of an interval (`--format json-lines`).
pub(super) fn interval_line(streams: &[StreamOutcome], interval: &Interval) -> String {
    let mut value = interval_value(streams, interval);
    value["kind"] = "interval".into();
    value.to_string()
}

/// The last line.
pub(super) fn end_line(outcome: &Outcome) -> String {
    let mut value = json(outcome);
    value["kind"] = "end".into();
    if let Some(map) = value.as_object_mut() {
        map.remove("intervals");
    }
    value.to_string()
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Sender => "sender",
        Role::Receiver => "receiver",
    }
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
        value["role"] = role_name(stream.role).into();
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
        "role": role_name(stream.role),
        "local": stream.local.to_string(),
        "peer": stream.peer.to_string(),
        "total": part_value(&stream.total),
        "peer_bytes": outcome.peer_of(stream).map(|peer| peer.bytes),
        "options": {
            "send_buffer_bytes": options.send_buffer,
            "receive_buffer_bytes": options.receive_buffer,
            "usable_receive_window_bytes": options.usable_receive_window(),
            "congestion_control": options.congestion,
            "mss_bytes": options.mss,
            "overrides": overrides.collect::<Vec<_>>(),
        },
    })
}
