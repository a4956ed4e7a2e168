//! What came out of a world becomes a record.

use gigatcp_events::Limit;
use gigatcp_path::{Hop, ReceiveRings, Ring};
use gigatcp_plan::{Flow, Host, Scenario, Series};
use gigatcp_record::{
    FlowRecord, HopRecord, IntervalRecord, LimitShare, LimitSpan, Negotiated, RingRecord, Sample,
    SequenceDetail, SequenceStep, SeriesRecord, TimeSequence, growth,
};
use gigatcp_sim::meter::Meter;
use gigatcp_sim::observe::{Mark, Samples, Sequence};
use gigatcp_sim::packet::Packet;
use gigatcp_sim::{Ended, FlowOutcome, Outcome};
use gigatcp_tcp::connection::Info;
use gigatcp_tcp::{Connection, Profile};
use gigatcp_units::{Bytes, Duration, Instant};
use gigatcp_wire::Phantom;

/// The record of one run of a series.
#[must_use]
pub fn series(
    series: &Series,
    repeat: u32,
    seed: u64,
    ended: Ended,
    outcome: &Outcome,
) -> SeriesRecord {
    let scenario = &series.scenario;
    let flows = scenario.flows.iter().zip(&outcome.flows);
    let hops = outcome.hops.iter().zip(&outcome.max_backlog);
    SeriesRecord {
        name: series.name.clone(),
        title: series.title.clone(),
        repeat,
        seed,
        fitted: series.fitted.clone(),
        fit_of: series.fit_of.clone(),
        partial: ended == Ended::Interrupted,
        duration_ns: outcome.now.as_nanos(),
        event_hash: format!("{:016x}", outcome.event_hash),
        packets: outcome.packets,
        flows: flows
            .map(|(flow, result)| flow_record(scenario, flow, result, outcome.now))
            .collect(),
        hops: hops
            .map(|(hop, backlog)| hop_record(hop, *backlog, outcome.now))
            .collect(),
    }
}

fn flow_record(scenario: &Scenario, flow: &Flow, result: &FlowOutcome, now: Instant) -> FlowRecord {
    let end = result.finished_at.unwrap_or(now);
    let intervals = intervals(result);
    let rates: Vec<(f64, f64)> = intervals
        .iter()
        .map(|line| {
            let seconds = (line.end_ns - line.start_ns) as f64 / 1e9;
            (line.end_ns as f64 / 1e9, line.bytes as f64 * 8.0 / seconds)
        })
        .collect();
    let (bytes, elapsed) = without_omitted(result, scenario.tester.omit);
    let sender = result.sender.connection();
    let counters = sender.map(|c| *c.counters()).unwrap_or_default();
    let receiver_counters = result.receiver.connection().map(|c| *c.counters());
    FlowRecord {
        name: flow.name.clone(),
        congestion_control: flow.congestion.name.into(),
        sender_profile: scenario.sender.profile.name.into(),
        receiver_profile: scenario.receiver.profile.name.into(),
        established_ns: sender
            .and_then(Connection::established_at)
            .map_or(0, Instant::as_nanos),
        ended_ns: end.as_nanos(),
        clock_start_ns: result
            .receiver
            .meter()
            .and_then(Meter::started_at)
            .map_or(0, Instant::as_nanos),
        intervals,
        bytes: result.bytes().as_u64(),
        elapsed_ns: result.elapsed().as_nanos(),
        goodput_bps: rate(bytes, elapsed),
        plateau_bps: growth::plateau(&rates),
        time_to_90_ns: growth::seconds_to_90(&rates).map(|s| (s * 1e9) as u64),
        segments_sent: counters.data_segments_sent,
        retransmitted_segments: counters.retransmitted_segments,
        fast_retransmits: counters.fast_retransmits,
        timeouts: counters.timeouts,
        marked_segments: sender.map_or(0, |c| c.info().ecn.delivered_ce),
        mark_reductions: counters.ecn_reductions,
        acks_sent: receiver_counters.map_or(0, |c| c.acks_sent),
        failure: sender
            .and_then(Connection::failure)
            .map(|failure| failure.to_string()),
        receive_rings: result
            .receiver
            .rings()
            .map(ring_records)
            .unwrap_or_default(),
        sender_cpu_fraction: share(result.sender.cpu_busy(end), result.elapsed()),
        receiver_cpu_fraction: share(result.receiver.cpu_busy(end), result.elapsed()),
        limits: sender.map(|c| limits(c, end)).unwrap_or_default(),
        limit_timeline: timeline(&result.samples),
        samples: samples(&result.samples),
        negotiated: sender
            .zip(result.receiver.connection())
            .map(|(s, r)| negotiated(scenario, flow, s, r))
            .unwrap_or_default(),
        time_sequence: result.sequence.as_ref().map(time_sequence),
    }
}

fn ring_records(rings: &ReceiveRings) -> Vec<RingRecord> {
    let named = [("large", Ring::Large), ("small", Ring::Small)];
    let present = named.iter().filter(|(_, ring)| rings.has(*ring));
    present
        .map(|(name, ring)| {
            let counters = rings.counters(*ring);
            RingRecord {
                name: (*name).to_owned(),
                arrived_packets: counters.arrived,
                accepted_packets: counters.accepted,
                dropped_no_descriptor_packets: counters.no_descriptor,
                dropped_no_buffer_packets: counters.no_buffer,
                most_held_packets: counters.most_held,
                held_packets: rings.held(*ring),
            }
        })
        .collect()
}

fn rate(bytes: Bytes, span: Duration) -> f64 {
    if span.is_zero() {
        0.0
    } else {
        bytes.as_bits_f64() / span.as_secs_f64()
    }
}

fn share(busy: Duration, of: Duration) -> f64 {
    if of.is_zero() {
        0.0
    } else {
        (busy.as_secs_f64() / of.as_secs_f64()).min(1.0)
    }
}

/// Octets and time that count for the average: without whole intervals that
/// begin before `omit`.
fn without_omitted(result: &FlowOutcome, omit: Duration) -> (Bytes, Duration) {
    let Some(meter) = result.receiver.meter() else {
        return (Bytes::ZERO, Duration::ZERO);
    };
    let step = meter.interval();
    let skip = omit.as_nanos().div_ceil(step.as_nanos().max(1)) as usize;
    let skip = skip.min(meter.finished().len());
    let skipped = meter.finished()[..skip]
        .iter()
        .fold(Bytes::ZERO, |sum, b| sum + *b);
    let elapsed = meter.elapsed().saturating_sub(step * skip as u64);
    (meter.total() - skipped, elapsed)
}

/// The tester's lines: whole intervals only, as nuttcp prints them.
fn intervals(result: &FlowOutcome) -> Vec<IntervalRecord> {
    let Some(meter) = result.receiver.meter() else {
        return Vec::new();
    };
    let Some(started_at) = meter.started_at() else {
        return Vec::new();
    };
    let step = meter.interval();
    let mut retransmitted_before = 0;
    let lines = meter.finished().iter().enumerate();
    lines
        .map(|(number, bytes)| {
            let start = step * number as u64;
            let end = start + step;
            let so_far = retransmitted_by(&result.samples, started_at + end);
            let in_interval = so_far.saturating_sub(retransmitted_before);
            retransmitted_before = so_far;
            IntervalRecord {
                start_ns: start.as_nanos(),
                end_ns: end.as_nanos(),
                bytes: bytes.as_u64(),
                retransmitted_segments: in_interval,
            }
        })
        .collect()
}

/// Segments retransmitted by `at`, from the last sample before it.
fn retransmitted_by(samples: &Samples, at: Instant) -> u64 {
    let samples = samples.as_slice();
    let after = samples.partition_point(|sample| sample.at <= at);
    after
        .checked_sub(1)
        .map_or(0, |last| samples[last].retransmitted)
}

fn limits(connection: &Connection<Phantom>, end: Instant) -> Vec<LimitShare> {
    let spent = connection.limits().all(end);
    let pairs = Limit::ALL.into_iter().zip(spent);
    pairs
        .map(|(limit, spent)| LimitShare {
            limit: limit.name().into(),
            spent_ns: spent.as_nanos(),
        })
        .collect()
}

/// Neighbouring samples under one limit become one span.
fn timeline(samples: &Samples) -> Vec<LimitSpan> {
    let mut spans: Vec<LimitSpan> = Vec::new();
    let mut start = None;
    for sample in samples.as_slice() {
        let at = sample.at.as_nanos();
        let from = start.replace(at).unwrap_or(at);
        match spans.last_mut() {
            Some(last) if last.limit == sample.limit.name() => last.end_ns = at,
            _ => spans.push(LimitSpan {
                start_ns: from,
                end_ns: at,
                limit: sample.limit.name().into(),
            }),
        }
    }
    spans.retain(|span| span.end_ns > span.start_ns);
    spans
}

fn samples(samples: &Samples) -> Vec<Sample> {
    let convert = |sample: &gigatcp_sim::observe::Sample| {
        let info = &sample.info;
        Sample {
            at_ns: sample.at.as_nanos(),
            cwnd_bytes: info.cwnd.as_u64(),
            ssthresh_bytes: (info.ssthresh != Bytes::MAX).then_some(info.ssthresh.as_u64()),
            rwnd_bytes: info.snd_wnd.as_u64(),
            flight_bytes: info.flight_size.as_u64(),
            srtt_ns: info.srtt.map(Duration::as_nanos),
            delivered_bytes: sample.delivered,
        }
    };
    samples.as_slice().iter().map(convert).collect()
}

/// Requested, granted and effective where they differ (nothing is overridden
/// in silence). A buffer that fits itself to the path is told of where it could
/// not: its window is bounded, or it has none of its own.
fn negotiated(
    scenario: &Scenario,
    flow: &Flow,
    sender: &Connection<Phantom>,
    receiver: &Connection<Phantom>,
) -> Vec<Negotiated> {
    let mut list = Vec::new();
    let (sent, received) = (sender.info(), receiver.info());
    let text = |requested: Option<Bytes>| {
        requested.map_or_else(|| "auto".to_owned(), |octets| octets.to_string())
    };
    let differs = |requested: Option<Bytes>, granted: Bytes, tuned: bool| {
        requested.map_or(!tuned, |octets| octets != granted)
    };
    let (tunes_send, tunes_receive) = (sent.autotuning.0, received.autotuning.1);
    if received.window_clamp < received.receive_buffer
        || differs(flow.receive_buffer, received.receive_buffer, tunes_receive)
    {
        let (_, shift) = received.window_scale;
        list.push(Negotiated {
            what: "receive buffer".into(),
            requested: text(flow.receive_buffer),
            granted: received.receive_buffer.to_string(),
            effective: format!("a window of at most {}", received.window_clamp),
            cause: of_route(&scenario.receiver, |profile| profile.route_receive_buffer)
                .map(|cause| format!("{cause}; {}", cost(flow, &sent, received.window_clamp)))
                .unwrap_or_else(|| {
                    format!(
                        "what the host grants, less what it keeps for its own bookkeeping, as far \
                         as 16 bits shifted by {shift} can say it"
                    )
                }),
        });
    }
    if differs(flow.send_buffer, sent.send_buffer, tunes_send) {
        list.push(Negotiated {
            what: "send buffer".into(),
            requested: text(flow.send_buffer),
            granted: sent.send_buffer.to_string(),
            effective: sent.send_buffer.to_string(),
            cause: match of_route(&scenario.sender, |profile| profile.route_send_buffer) {
                Some(cause) => cause,
                None if flow.send_buffer.is_some() => {
                    "what the host grants for what is asked".into()
                }
                None => "what the host has where none is asked for".into(),
            },
        });
    }
    list.extend(segment_size(scenario, &sent));
    list
}

/// What the route asks for in place of the application, if it does.
fn of_route(host: &Host, metric: fn(&Profile) -> Option<Bytes>) -> Option<String> {
    let asked = metric(&host.profile)?;
    let rule = if host.profile.route_buffers_override {
        "in place of what the application asked for"
    } else {
        "where the application asked for less"
    };
    Some(format!(
        "the route asks for {asked}, {rule}, in whole segments"
    ))
}

/// What a window of `effective` can carry, beside one of what was asked for.
fn cost(flow: &Flow, sender: &Info, effective: Bytes) -> String {
    let Some((rtt, requested)) = sender.min_rtt.zip(flow.receive_buffer) else {
        return "no round trip was measured".to_owned();
    };
    let most = |window: Bytes| rate(window, rtt) / 1e6;
    format!(
        "at a round trip of {rtt} that is {:.1} Mbit/s at most instead of {:.1}",
        most(effective),
        most(requested),
    )
}

/// Segments smaller than both SYNs allow, because of what the host remembers.
fn segment_size(scenario: &Scenario, sender: &Info) -> Option<Negotiated> {
    let remembered = scenario.sender.profile.route_mtu;
    (remembered > 0 && sender.path_mtu == remembered).then(|| Negotiated {
        what: "segment size".into(),
        requested: format!("a packet of {} B", scenario.sender.mtu),
        granted: format!("a packet of {remembered} B"),
        effective: format!("segments of {} B", sender.smss),
        cause: "the host remembers that MTU of the route, whatever both SYNs say".into(),
    })
}

fn time_sequence(sequence: &Sequence) -> TimeSequence {
    let steps = sequence.steps().iter();
    let mut details = vec![detail("start", sequence.start())];
    if !sequence.around_loss().is_empty() {
        details.push(detail("first loss", sequence.around_loss()));
    }
    TimeSequence {
        overview: steps
            .map(|step| SequenceStep {
                at_ns: step.at.as_nanos(),
                sent_low: step.sent.map(|(low, _)| low),
                sent_high: step.sent.map(|(_, high)| high),
                ack: step.ack,
                window_edge: step.window_edge,
                retransmitted: step.retransmitted,
            })
            .collect(),
        details,
    }
}

fn detail(why: &str, marks: &[Mark]) -> SequenceDetail {
    let mut detail = SequenceDetail {
        why: why.into(),
        ..SequenceDetail::default()
    };
    for mark in marks {
        match *mark {
            Mark::Sent {
                at,
                seq,
                len,
                again,
            } => detail.sent.push((at.as_nanos(), seq, len, again)),
            Mark::Ack { at, ack, edge } => detail.acks.push((at.as_nanos(), ack, edge)),
            Mark::Sack { at, left, right } => detail.sacks.push((at.as_nanos(), left, right)),
        }
    }
    detail
}

fn hop_record(hop: &Hop<Packet>, max_backlog: u64, now: Instant) -> HopRecord {
    let counters = hop.counters();
    let queue = counters.queue_full.packets + counters.hold_limit.packets;
    HopRecord {
        name: hop.config().name.clone(),
        arrived_packets: counters.arrived.packets,
        delivered_packets: counters.delivered.packets,
        dropped_queue_packets: queue,
        dropped_loss_packets: counters.lost.packets,
        dropped_too_big_packets: counters.too_big.packets,
        dropped_policed_packets: counters.policed.packets,
        marked_packets: counters.marked.packets,
        max_backlog_packets: max_backlog,
        utilisation_fraction: hop.utilisation(now),
    }
}
