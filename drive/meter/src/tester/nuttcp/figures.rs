//! Figures of a test for nuttcp's lines, and a peer's results from its lines.

use std::sync::atomic::Ordering;
use std::time::Duration;

use gigatcp_protocol::iperf3::{Cpu, Results, StreamResults, Transport};
use gigatcp_protocol::nuttcp::output::brief::Brief;
use gigatcp_protocol::nuttcp::output::interval::Interval as Line;
use gigatcp_protocol::nuttcp::output::verbose::{Connected, Totals, Usage, Windows};
use gigatcp_protocol::nuttcp::output::{Amount, CongestionWindow, Loss, Retransmissions};
use gigatcp_units::{self as units, Bytes};

use super::super::counters::Role;
use super::super::outcome::{Interval, Outcome, StreamInterval, StreamOutcome};
use super::super::traffic::Traffic;
use super::transfer::Transfer;

fn amount(bytes: u64, length: Duration) -> Amount {
    Amount::new(Bytes::new(bytes), length.into())
}

/// An interval of one direction for nuttcp's line; `role` is this end's.
pub fn interval(streams: &[StreamOutcome], interval: &Interval, role: Role) -> Line {
    let all = streams.iter().zip(&interval.streams);
    let parts: Vec<&StreamInterval> = all
        .filter(|(stream, _)| stream.role == role)
        .map(|(_, part)| part)
        .collect();
    let length = interval.end.saturating_sub(interval.start);
    let is_udp = parts.iter().all(|part| part.view.is_none());
    let sum = |of: fn(&StreamInterval) -> u64| parts.iter().map(|part| of(part)).sum::<u64>();
    let lost = parts.iter().map(|part| part.lost).sum();
    Line {
        received: amount(sum(|part| part.bytes), length),
        loss: (is_udp && role == Role::Receiver).then(|| Loss {
            lost,
            sent: sum(|part| part.expected),
        }),
        retransmissions: retransmissions(&parts),
        congestion_window: window(&parts, role),
        ..Line::default()
    }
}

/// Sum of a sender's retransmissions, and those per stream if there are several.
fn retransmissions(parts: &[&StreamInterval]) -> Option<Retransmissions> {
    let counts: Option<Vec<u32>> = parts
        .iter()
        .map(|part| part.retransmits.map(|count| count as u32))
        .collect();
    let by_stream = counts.filter(|counts| !counts.is_empty())?;
    Some(Retransmissions {
        count: by_stream.iter().sum(),
        by_stream: unless_single(by_stream),
    })
}

/// Figures per stream if there are several.
fn unless_single(by_stream: Vec<u32>) -> Vec<u32> {
    match by_stream[..] {
        [_] => Vec::new(),
        _ => by_stream,
    }
}

fn window(parts: &[&StreamInterval], role: Role) -> Option<CongestionWindow> {
    let kib = |part: &&StreamInterval| part.view.map(|view| (view.cwnd.as_u64() >> 10) as u32);
    let all: Option<Vec<u32>> = parts.iter().map(kib).collect();
    let by_stream = all.filter(|all| role == Role::Sender && !all.is_empty())?;
    Some(CongestionWindow {
        kib: by_stream.iter().sum(),
        by_stream: unless_single(by_stream),
    })
}

/// One-line summary of one direction; `role` is this end's.
///
/// With nuttcp's protocol it is the one made from both ends' lines.
pub fn brief(outcome: &Outcome, role: Role) -> Brief {
    if let Some(brief) = &outcome.brief {
        return (**brief).clone();
    }
    let streams = || outcome.streams.iter().filter(|stream| stream.role == role);
    let own: Vec<&StreamInterval> = streams().map(|stream| &stream.total).collect();
    let theirs: Option<Vec<&StreamResults>> =
        streams().map(|stream| outcome.peer_of(stream)).collect();
    let their_end = theirs
        .iter()
        .flatten()
        .filter_map(|peer| peer.end_time)
        .fold(0.0, f64::max);
    let length = match role {
        Role::Sender if their_end > 0.0 => Duration::from_secs_f64(their_end),
        _ => outcome.measured,
    };
    let received = outcome.received(role).or(outcome.sent(role));
    let peer_cpu = outcome.peer.as_ref().map_or(0.0, |peer| peer.cpu.total) as u32;
    let own_cpu = outcome.cpu.total as u32;
    let (transmitter_cpu_percent, receiver_cpu_percent) = match role {
        Role::Sender => (own_cpu, peer_cpu),
        Role::Receiver => (peer_cpu, own_cpu),
    };
    let is_udp = outcome.parameters.transport == Transport::Udp;
    let loss = match (role, &theirs) {
        (Role::Receiver, _) => Some(Loss {
            lost: own.iter().map(|part| part.lost).sum(),
            sent: own.iter().map(|part| part.expected).sum(),
        }),
        (Role::Sender, Some(theirs)) => Some(Loss {
            lost: theirs.iter().map(|peer| peer.errors).sum(),
            sent: theirs.iter().map(|peer| peer.packets).sum(),
        }),
        (Role::Sender, None) => None,
    };
    let their_retransmits = || {
        let counts = theirs.iter().flatten().map(|peer| peer.retransmits);
        let sum: Option<u64> = counts.sum();
        sum.map(|sum| Retransmissions::new(sum as u32))
    };
    Brief {
        received: amount(received.unwrap_or(0), length),
        transmitter_cpu_percent,
        receiver_cpu_percent,
        loss: loss.filter(|_| is_udp),
        retransmissions: match role {
            _ if is_udp => None,
            Role::Sender => retransmissions(&own),
            Role::Receiver => their_retransmits(),
        },
        congestion_window: window(&own, role),
        ..Brief::default()
    }
}

/// Figures of this end's lines, or of its half of the summary.
pub(super) fn totals(transfer: &Transfer) -> Totals {
    let traffic = &transfer.traffic;
    let streams = traffic.outcomes();
    let parts: Vec<&StreamInterval> = streams.iter().map(|stream| &stream.total).collect();
    let duration = transfer.duration();
    let cpu = traffic.cpu;
    let share =
        |percent: f64| units::Duration::from_secs_f64(duration.as_secs_f64() * percent / 100.0);
    let mut totals = Totals {
        amount: Amount::new(
            Bytes::new(parts.iter().map(|part| part.bytes).sum()),
            duration,
        ),
        usage: Usage {
            user: share(cpu.user),
            system: share(cpu.system),
            elapsed: duration,
        },
        calls: transfer.link.calls.load(Ordering::Acquire),
        ..Totals::default()
    };
    if transfer.link.parameters.udp {
        totals.jitter = transfer.link.datagrams().total().jitter;
    } else {
        totals.retransmissions = retransmissions(&parts);
        totals.congestion_window = window(&parts, transfer.role);
    }
    totals
}

/// Facts of the setup: peer, MSS and buffers.
pub(super) fn connected(traffic: &Traffic) -> Connected {
    let Some(first) = traffic.streams.first() else {
        return Connected::default();
    };
    let options = &first.options;
    Connected {
        peer: first.peer.ip().to_canonical().to_string(),
        mss: options.mss,
        rtt: None,
        granted: Windows {
            send_bytes: options.send_buffer,
            receive_bytes: options.receive_buffer,
        },
        available: Windows {
            send_bytes: options.usable_send_buffer,
            receive_bytes: options.usable_receive_window,
        },
    }
}

/// A peer's counts, from its summary and its amount.
///
/// The amount is the sum over its streams: a difference to this end's goes to the last streams.
pub(super) fn results(
    transfer: &Transfer,
    brief: &Brief,
    reported: Amount,
    server_output: Option<String>,
    private: &str,
) -> Results {
    let streams = transfer.traffic.outcomes();
    let own: Vec<u64> = streams.iter().map(|stream| stream.total.bytes).collect();
    let is_sender = transfer.role == Role::Sender;
    let reported = reported.refined(Bytes::new(own.iter().sum()));
    let end = seconds(reported);
    let (lost, sent) = brief.loss.map_or((0, 0), |loss| (loss.lost, loss.sent));
    let retransmits = brief.retransmissions.as_ref().filter(|_| !is_sender);
    let bytes = match transfer.link.parameters.udp {
        true => whole(
            reported.bytes.as_u64(),
            transfer.link.parameters.buffer_bytes.into(),
        ),
        false => reported.bytes.as_u64(),
    };
    let split = split(bytes, &own);
    let of = |(index, bytes): (usize, u64)| StreamResults {
        id: streams[index].id,
        bytes,
        retransmits: retransmits.map(|of| match of.by_stream.get(index) {
            Some(count) => u64::from(*count),
            None if index == 0 => u64::from(of.count),
            None => 0,
        }),
        jitter: brief.jitter.map_or(0.0, |jitter| jitter.mean.as_secs_f64()),
        errors: if is_sender { lost } else { 0 },
        packets: sent,
        omitted_errors: Some(0),
        omitted_packets: Some(0),
        start_time: Some(0.0),
        end_time: Some(end),
    };
    let percent = match is_sender {
        true => brief.receiver_cpu_percent,
        false => brief.transmitter_cpu_percent,
    };
    Results {
        cpu: Cpu {
            total: percent.into(),
            ..Cpu::default()
        },
        sender_has_retransmits: (!is_sender).then_some(retransmits.is_some()),
        congestion_used: None,
        server_output: server_output.map(gigatcp_protocol::iperf3::ServerOutput::Text),
        streams: split.into_iter().enumerate().map(of).collect(),
        private: serde_json::from_str(private).ok(),
    }
}

/// An amount rounded in a line as a whole number of datagrams.
fn whole(bytes: u64, datagram: u64) -> u64 {
    match datagram {
        0 => bytes,
        _ => (bytes + datagram / 2) / datagram * datagram,
    }
}

/// Time of an amount. In a line, rate and data are more exact than the time.
fn seconds(amount: Amount) -> f64 {
    match amount.rate.as_bps() {
        0 => amount.duration.as_secs_f64(),
        rate => amount.bytes.as_u64() as f64 * 8.0 / rate as f64,
    }
}

/// Splits a peer's sum by this end's counts; an excess goes to the last stream.
fn split(sum: u64, own: &[u64]) -> Vec<u64> {
    let mut left = sum;
    let mut parts: Vec<u64> = own
        .iter()
        .map(|bytes| {
            let part = left.min(*bytes);
            left -= part;
            part
        })
        .collect();
    if let Some(last) = parts.last_mut() {
        *last += left;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_of_a_line_is_whole_datagrams() {
        assert_eq!(whole(1_013_029, 1000), 1_013_000);
        assert_eq!(whole(1_012_971, 1000), 1_013_000);
    }

    #[test]
    fn the_parts_of_a_peers_sum_are_ours_where_it_is_ours_and_add_up_to_it_anyway() {
        assert_eq!(split(30, &[10, 20]), [10, 20]);
        assert_eq!(split(25, &[10, 20]), [10, 15]);
        assert_eq!(split(5, &[10, 20]), [5, 0]);
        assert_eq!(split(33, &[10, 20]), [10, 23]);
    }
}
