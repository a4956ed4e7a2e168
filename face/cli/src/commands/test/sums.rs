//! Sums over the streams of one direction.

use std::time::Duration;

use gigatcp_meter::tester::{Interval, Outcome, Role, StreamInterval, StreamOutcome, UdpCounts};
use gigatcp_protocol::iperf3::{ServerOutput, StreamResults};
use gigatcp_report::escape::terminal;

/// Streams of one direction.
pub(super) fn streams(
    outcome: &Outcome,
    role: Role,
) -> impl Iterator<Item = &StreamOutcome> + Clone {
    let streams = outcome.streams.iter();
    streams.filter(move |stream| stream.role == role)
}

/// Sums the streams of one direction in an interval.
pub(super) fn of_interval(
    outcome: &[StreamOutcome],
    interval: &Interval,
    role: Role,
) -> StreamInterval {
    let streams = outcome.iter().zip(&interval.streams);
    let parts = streams.filter(|(stream, _)| stream.role == role);
    add(parts.map(|(_, part)| part))
}

/// Sums the totals of the streams of one direction.
pub(super) fn of_totals(outcome: &Outcome, role: Role) -> StreamInterval {
    add(streams(outcome, role).map(|stream| &stream.total))
}

/// Adds all counters; averages jitter.
fn add<'a>(parts: impl Iterator<Item = &'a StreamInterval>) -> StreamInterval {
    let mut sum = StreamInterval::default();
    let (mut jitter, mut count) = (0.0, 0);
    for part in parts {
        sum.bytes += part.bytes;
        if let Some(retransmits) = part.retransmits {
            sum.retransmits = Some(sum.retransmits.unwrap_or(0) + retransmits);
        }
        sum.datagrams += part.datagrams;
        sum.lost = sum.lost.saturating_add(part.lost);
        sum.expected += part.expected;
        sum.udp.stock.out_of_order += part.udp.stock.out_of_order;
        let (report, more) = (&mut sum.udp.report, &part.udp.report);
        // A peer may send any counts: overflow must not panic.
        let counts = [
            (&mut report.lost, more.lost),
            (&mut report.received, more.received),
            (&mut report.duplicates, more.duplicates),
            (&mut report.reordered, more.reordered),
            (&mut sum.udp.socket_drops, part.udp.socket_drops),
        ];
        for (count, more) in counts {
            *count = count.saturating_add(more);
        }
        report.max_extent = report.max_extent.max(more.max_extent);
        jitter += part.udp.report.jitter.as_secs_f64();
        count += 1;
    }
    if count > 0 {
        let mean = jitter / f64::from(count);
        sum.udp.report.jitter = gigatcp_units::Duration::from_secs_f64(mean);
    }
    sum
}

/// Roles of this end in the test, the sender first.
pub(super) fn roles(streams: &[StreamOutcome]) -> Vec<Role> {
    let has = |role: &Role| streams.iter().any(|stream| stream.role == *role);
    [Role::Sender, Role::Receiver]
        .into_iter()
        .filter(has)
        .collect()
}

/// Sums the peer's counts of a direction: bytes, retransmissions, jitter in seconds, errors,
/// packets. `None` if the peer did not report.
pub(super) fn of_peer(outcome: &Outcome, role: Role) -> Option<StreamResults> {
    let mut sum = StreamResults::default();
    let mut count = 0;
    for stream in streams(outcome, role) {
        let theirs = outcome.peer_of(stream)?;
        sum.bytes = sum.bytes.saturating_add(theirs.bytes);
        if let Some(retransmits) = theirs.retransmits {
            sum.retransmits = Some(sum.retransmits.unwrap_or(0).saturating_add(retransmits));
        }
        sum.jitter += theirs.jitter;
        let errors = theirs
            .errors
            .saturating_sub(theirs.omitted_errors.unwrap_or(0));
        sum.errors = sum.errors.saturating_add(errors);
        let packets = theirs
            .packets
            .saturating_sub(theirs.omitted_packets.unwrap_or(0));
        sum.packets = sum.packets.saturating_add(packets);
        let end = theirs.end_time.unwrap_or(0.0);
        sum.end_time = Some(sum.end_time.unwrap_or(0.0).max(end));
        count += 1;
    }
    sum.jitter /= f64::from(count.max(1));
    Some(sum)
}

/// Sums the exact datagram counts of streams from this end, counted by a gigatcp peer.
pub(super) fn of_peer_datagrams(outcome: &Outcome) -> Option<UdpCounts> {
    let part = |stream| {
        let udp = outcome.peer_datagrams(stream)?;
        Some(StreamInterval {
            udp,
            ..StreamInterval::default()
        })
    };
    let parts: Option<Vec<_>> = streams(outcome, Role::Sender).map(part).collect();
    Some(add(parts?.iter()).udp)
}

/// Bytes that an end counted, over which time, and its retransmissions if known.
pub(super) type Counted = (u64, Duration, Option<u64>);

/// Counts of sender and receiver, for a direction or a stream of it. `None` for a peer that did not
/// report.
pub(super) fn of_ends(
    outcome: &Outcome,
    role: Role,
    own: &StreamInterval,
    peer: Option<&StreamResults>,
) -> [Option<Counted>; 2] {
    let ours = Some((own.bytes, outcome.measured, own.retransmits));
    let theirs = peer.map(|peer| (peer.bytes, outcome.time_of(peer), peer.retransmits));
    match role {
        Role::Sender => [ours, theirs],
        Role::Receiver => [theirs, ours],
    }
}

/// Time over which the receiver of a direction counted. The receiver stops when it learns of the
/// end.
pub(super) fn receiving_time(outcome: &Outcome, role: Role) -> Duration {
    match (role, of_peer(outcome, role)) {
        (Role::Sender, Some(peer)) => outcome.time_of(&peer),
        _ => outcome.measured,
    }
}

/// Bytes that the receiver of a stream counted, and over which time.
pub(super) fn received(outcome: &Outcome, stream: &StreamOutcome) -> (u64, Duration) {
    let (bytes, _) = outcome.received_of(stream);
    (bytes, receiving_time(outcome, stream.role))
}

/// Rate of a direction in bit/s. Without the receiver's count it is the sender's.
pub(super) fn rate_of(outcome: &Outcome, role: Role) -> f64 {
    let bytes = outcome.received(role).or(outcome.sent(role)).unwrap_or(0);
    rate(bytes, receiving_time(outcome, role))
}

/// Server's output as the end of a text; empty without it.
pub(super) fn server_output(outcome: &Outcome) -> String {
    let theirs = outcome.peer.as_ref();
    match theirs.and_then(|peer| peer.server_output.as_ref()) {
        Some(ServerOutput::Text(theirs)) => {
            let lines: Vec<String> = theirs.lines().map(terminal).collect();
            format!("\nServer output:\n{}\n", lines.join("\n"))
        }
        _ => String::new(),
    }
}

/// Bits per second.
pub(super) fn rate(bytes: u64, over: Duration) -> f64 {
    let seconds = over.as_secs_f64();
    if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    }
}

/// A share in percent; 0 if the whole is 0.
pub(super) fn percent(part: i64, of: u64) -> f64 {
    if of == 0 {
        0.0
    } else {
        100.0 * part as f64 / of as f64
    }
}
