//! iperf3's text of a result.

use std::fmt::Write;
use std::time::Duration;

use gigatcp_meter::tester::{Interval, Outcome, Role, StreamInterval, StreamOutcome};
use gigatcp_protocol::iperf3::{Direction, Parameters, StreamResults, Transport};

use super::sums;

/// Lines before the first interval.
pub(in super::super) fn start(
    (host, port): (&str, u16),
    parameters: &Parameters,
    streams: &[StreamOutcome],
) -> String {
    let mut text = format!("Connecting to host {host}, port {port}\n");
    if parameters.direction == Direction::Reverse {
        let _ = writeln!(text, "Reverse mode, remote host {host} is sending");
    }
    text.push_str(&connections(streams));
    text.push_str(&head(parameters, streams, false));
    text
}

/// A line for each connection.
fn connections(streams: &[StreamOutcome]) -> String {
    let line = |stream: &StreamOutcome| {
        format!(
            "[{:3}] local {} port {} connected to {} port {}\n",
            stream.id,
            stream.local.ip().to_canonical(),
            stream.local.port(),
            stream.peer.ip().to_canonical(),
            stream.peer.port()
        )
    };
    streams.iter().map(line).collect()
}

fn is_udp(parameters: &Parameters) -> bool {
    parameters.transport == Transport::Udp
}

/// Heading of a table, of intervals or at the end.
fn head(parameters: &Parameters, streams: &[StreamOutcome], is_end: bool) -> String {
    let role = if parameters.direction == Direction::Bidirectional {
        "[Role]"
    } else {
        ""
    };
    let sends = streams.iter().any(|stream| stream.role == Role::Sender);
    let rest = match (is_udp(parameters), sends, is_end) {
        (true, true, false) => "  Total Datagrams",
        (true, ..) => "  Jitter    Lost/Total Datagrams",
        (false, true, false) => "  Retr  Cwnd",
        (false, _, true) => "  Retr",
        (false, false, false) => "",
    };
    format!("[ ID]{role} Interval           Transfer     Bitrate       {rest}\n")
}

/// Formats three digits with a prefix, as iperf3 does: 1024 for bytes, 1000 for bits.
fn scaled(value: f64, base: f64, unit: &str) -> String {
    let mut value = value;
    let mut prefix = "";
    for next in ["K", "M", "G", "T"] {
        if value < base {
            break;
        }
        value /= base;
        prefix = next;
    }
    let digits = match value {
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:4.digits$} {prefix}{unit}")
}

fn line(label: &str, (start, end): (Duration, Duration), bytes: u64, rest: &str) -> String {
    let rate = sums::rate(bytes, end.saturating_sub(start));
    format!(
        "{label} {:6.2}-{:<6.2} sec  {}  {}{rest}\n",
        start.as_secs_f64(),
        end.as_secs_f64(),
        scaled(bytes as f64, 1024.0, "Bytes"),
        scaled(rate, 1000.0, "bits/sec"),
    )
}

fn label(id: &str, parameters: &Parameters, role: Role) -> String {
    let role = match (parameters.direction, role) {
        (Direction::Bidirectional, Role::Sender) => "[TX-C]",
        (Direction::Bidirectional, Role::Receiver) => "[RX-C]",
        _ => "",
    };
    format!("[{id:>3}]{role}")
}

fn udp_rest(jitter: f64, lost: i64, packets: u64) -> String {
    let percent = sums::percent(lost, packets);
    let percent = if percent == 0.0 {
        "0".into()
    } else {
        format!("{percent:.2}")
    };
    format!(
        "  {:5.3} ms  {lost}/{packets} ({percent}%)",
        jitter * 1000.0
    )
}

fn interval_rest(parameters: &Parameters, role: Role, part: &StreamInterval) -> String {
    match (is_udp(parameters), role) {
        (true, Role::Sender) => format!("  {}", part.datagrams),
        (true, Role::Receiver) => udp_rest(
            part.udp.report.jitter.as_secs_f64(),
            part.lost,
            part.expected,
        ),
        (false, Role::Sender) => {
            let retransmits = part
                .retransmits
                .map(|count| count.to_string())
                .unwrap_or_default();
            let cwnd = part
                .view
                .map(|view| scaled(view.cwnd.as_u64() as f64, 1024.0, "Bytes"));
            format!("  {retransmits:>3}   {}", cwnd.unwrap_or_default())
        }
        (false, Role::Receiver) => String::new(),
    }
}

/// Lines of an interval.
pub(in super::super) fn interval(
    parameters: &Parameters,
    streams: &[StreamOutcome],
    interval: &Interval,
) -> String {
    let times = (interval.start, interval.end);
    let omitted = if interval.omitted {
        "       (omitted)"
    } else {
        ""
    };
    let mut text = String::new();
    for role in sums::roles(streams) {
        let mut count = 0;
        for (stream, part) in streams.iter().zip(&interval.streams) {
            if stream.role == role {
                let rest = interval_rest(parameters, role, part) + omitted;
                let label = label(&stream.id.to_string(), parameters, role);
                text.push_str(&line(&label, times, part.bytes, &rest));
                count += 1;
            }
        }
        if count > 1 {
            let sum = sums::of_interval(streams, interval, role);
            let rest = interval_rest(parameters, role, &sum) + omitted;
            let label = label("SUM", parameters, role);
            text.push_str(&line(&label, times, sum.bytes, &rest));
        }
    }
    text
}

/// Whole text of a completed test, at the server.
pub(in super::super) fn whole(outcome: &Outcome) -> String {
    let (parameters, streams) = (&outcome.parameters, &outcome.streams);
    let mut text = format!("Accepted connection from {}\n", outcome.host);
    text.push_str(&connections(streams));
    text.push_str(&head(parameters, streams, false));
    for one in &outcome.intervals {
        text.push_str(&interval(parameters, streams, one));
    }
    text + &end(outcome)
}

const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// Lines after the last interval.
pub(in super::super) fn end(outcome: &Outcome) -> String {
    let parameters = &outcome.parameters;
    let mut text = RULE.to_owned();
    text.push_str(&head(parameters, &outcome.streams, true));
    for role in sums::roles(&outcome.streams) {
        let streams = sums::streams(outcome, role);
        let count = streams.clone().count();
        for stream in streams {
            let label = label(&stream.id.to_string(), parameters, role);
            let peer = outcome.peer_of(stream);
            text.push_str(&end_lines(outcome, &label, role, &stream.total, peer));
        }
        if count > 1 {
            let own = sums::of_totals(outcome, role);
            let peer = sums::of_peer(outcome, role);
            let label = label("SUM", parameters, role);
            text.push_str(&end_lines(outcome, &label, role, &own, peer.as_ref()));
        }
    }
    text.push_str(&sums::server_output(outcome));
    match &outcome.cut_short {
        Some(reason) => {
            let _ = writeln!(text, "iperf3: error - {reason}");
        }
        None => text.push_str("\niperf Done.\n"),
    }
    text
}

fn end_lines(
    outcome: &Outcome,
    label: &str,
    role: Role,
    own: &StreamInterval,
    peer: Option<&StreamResults>,
) -> String {
    let [sent, received] = sums::of_ends(outcome, role, own, peer);
    let mut text = String::new();
    for (end, name) in [(sent, "sender"), (received, "receiver")] {
        let Some((bytes, time, retransmits)) = end else {
            continue;
        };
        let rest = if is_udp(&outcome.parameters) {
            match (name, role, peer) {
                ("sender", Role::Sender, _) => udp_rest(0.0, 0, own.datagrams),
                ("sender", ..) => udp_rest(0.0, 0, peer.map_or(0, |peer| peer.packets)),
                (_, Role::Receiver, _) => {
                    udp_rest(own.udp.report.jitter.as_secs_f64(), own.lost, own.expected)
                }
                (_, Role::Sender, Some(peer)) => udp_rest(peer.jitter, peer.errors, peer.packets),
                (_, Role::Sender, None) => String::new(),
            }
        } else if name == "sender" {
            format!(
                "  {:3}",
                retransmits.map_or_else(String::new, |count| count.to_string())
            )
        } else {
            "     ".into()
        };
        let rest = format!("{rest}             {name}");
        text.push_str(&line(label, (Duration::ZERO, time), bytes, &rest));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_iperf3s_digits_and_prefixes() {
        assert_eq!(scaled(377_487_360.0, 1024.0, "Bytes"), " 360 MBytes");
        assert_eq!(
            scaled(3_003_921_543.0, 1000.0, "bits/sec"),
            "3.00 Gbits/sec"
        );
        assert_eq!(scaled(163_840.0, 1024.0, "Bytes"), " 160 KBytes");
        assert_eq!(scaled(0.0, 1000.0, "bits/sec"), "0.00 bits/sec");
        assert_eq!(scaled(23_400_000.0, 1000.0, "bits/sec"), "23.4 Mbits/sec");
    }
}
