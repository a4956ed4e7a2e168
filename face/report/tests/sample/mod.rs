//! An invented run of eight series, with the size and shape of a real one.
//!
//! A few lines of arithmetic make growth, ceiling and a gap after a loss burst, without TCP. This
//! fills every table and graph of a report. No number here is published or measured.

#![allow(dead_code)] // Each test binary uses a part.

use gigatcp_analyze::graph::{Effect, GraphBuilder, Point, pack};
use gigatcp_flows::Kind;
use gigatcp_plan::record::{
    CauseShare, CauseSpan, FlowRecord, HopRecord, IntervalRecord, Negotiated, RunRecord, SCHEMA,
    Sample, SeriesRecord, TimeSequence,
};

const MS: u64 = 1_000_000;
const RTT_MS: u64 = 82;
const MSS: u64 = 8948;
/// Growth per 10 ms that almost doubles in an RTT. Only additions and multiplications are used, so
/// that results are the same on every machine.
const DOUBLING: f64 = 1.081_4;
const CEILING_BPS: f64 = 7.2e9;

/// Parameters of an invented series.
#[derive(Clone, Copy)]
pub struct Shape {
    /// Name of the series.
    pub name: &'static str,
    /// Congestion control.
    pub control: &'static str,
    /// Growth of cwnd per 10 ms above 100 segments.
    pub growth: f64,
    /// Buffer in octets.
    pub window: u64,
    /// Length in seconds.
    pub seconds: u64,
    /// Whether the window overruns the path, with a stall afterwards.
    pub hole: bool,
}

const MB: u64 = 1 << 20;

/// The eight series.
pub const SHAPES: [Shape; 8] = [
    shape("reno-60MB", "reno", DOUBLING, 60 * MB, 10, false),
    shape("cubic-100-60MB", "cubic", 1.002_18, 60 * MB, 30, false),
    shape("bic-100-60MB", "bic", 1.004_2, 60 * MB, 20, false),
    shape("cubic-0-60MB", "cubic", DOUBLING, 60 * MB, 10, false),
    shape("cubic-0-100MB", "cubic", DOUBLING, 100 * MB, 10, true),
    shape("cubic-100-100MB", "cubic", 1.002_66, 100 * MB, 10, false),
    shape("bic-0-100MB", "bic", DOUBLING, 100 * MB, 10, true),
    shape("bic-100-100MB", "bic", 1.005_38, 100 * MB, 10, false),
];

const fn shape(
    name: &'static str,
    control: &'static str,
    growth: f64,
    window: u64,
    seconds: u64,
    hole: bool,
) -> Shape {
    Shape {
        name,
        control,
        growth,
        window,
        seconds,
        hole,
    }
}

/// A run of all eight series, each `repeat` times.
pub fn run(repeat: u32) -> RunRecord {
    let mut series = Vec::new();
    for shape in SHAPES {
        for index in 0..repeat {
            series.push(one_series(shape, index));
        }
    }
    if let Some(fitted) = series.iter().position(|s| s.name == "cubic-100-60MB") {
        let mut twin = series[fitted].clone();
        twin.name = "cubic-100-60MB-emergent".to_owned();
        twin.title = "CUBIC, initial_ssthresh 100, 60 MB, nothing fitted".to_owned();
        for series in series.iter_mut().filter(|s| s.name == "cubic-100-60MB") {
            series.fitted = vec!["ACK ratio 1, 2, 3 from 0 s, 0.9 s and 12.4 s on".to_owned()];
            series.fit_of = Some(twin.name.clone());
        }
        series.insert(fitted + repeat as usize, twin);
    }
    RunRecord {
        schema: SCHEMA.to_owned(),
        name: "fink-slow-start".to_owned(),
        title: "Slow start of Reno, CUBIC and BIC in Linux 2.6.20.7 over 10 Gbit/s and 82 ms".to_owned(),
        plan: "name = \"fink-slow-start\"\nseed = 2007\n\n[path]\nrate = \"10 Gbit/s\"\nrtt = \"82 ms\"\n".to_owned(),
        overrides: vec!["seed=2007".to_owned()],
        plan_hash: "9f3c2a77d0e41b58".to_owned(),
        version: "0.1.0".to_owned(),
        seed: 2007,
        repeat,
        partial: false,
        series,
    }
}

/// One repeat of one series.
pub fn one_series(shape: Shape, repeat: u32) -> SeriesRecord {
    let flow = flow(shape, repeat);
    let packets = flow.segments_sent + flow.acks_sent;
    SeriesRecord {
        name: shape.name.to_owned(),
        title: format!(
            "{}, window {} MB",
            shape.control.to_uppercase(),
            shape.window / MB
        ),
        repeat,
        seed: 2007 + u64::from(repeat),
        fitted: Vec::new(),
        fit_of: None,
        partial: false,
        sampled_every_ns: None,
        duration_ns: (shape.seconds * 1000 + RTT_MS) * MS,
        event_hash: format!("{:016x}", packets.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        packets,
        live: None,
        test: None,
        further: None,
        latency: Vec::new(),
        arrivals: Vec::new(),
        datagrams: Vec::new(),
        hosts: Vec::new(),
        hops: hops(&flow, shape),
        flows: vec![flow],
    }
}

fn hops(flow: &FlowRecord, shape: Shape) -> Vec<HopRecord> {
    let hop = |name: &str, dropped, backlog, busy| HopRecord {
        name: name.to_owned(),
        arrived_packets: flow.segments_sent,
        delivered_packets: flow.segments_sent - dropped,
        drops: [("queue_full".to_owned(), dropped), ("loss".to_owned(), 0)].into(),
        marked_packets: 0,
        corrupted_packets: 0,
        inside_packets: 0,
        max_backlog_packets: backlog,
        queueing_delay_p50_ns: None,
        queueing_delay_p99_ns: None,
        samples: Vec::new(),
        utilization_fraction: busy,
        collisions: 0,
        drop_times_ns: Default::default(),
        drop_times_left_out: 0,
        mark_times_ns: Vec::new(),
        mark_times_left_out: 0,
    };
    let dropped = if shape.hole {
        flow.retransmitted_segments
    } else {
        0
    };
    vec![
        hop("lang2 eth2", 0, 211, flow.goodput_bps / 1e10),
        hop("netem", dropped, 20_000, flow.goodput_bps / 8.56e9),
    ]
}

/// State of the arithmetic at one step of 10 ms.
struct State {
    cwnd: f64,
    delivered: f64,
    hole_until_ms: u64,
    cause: &'static str,
}

impl State {
    fn step(&mut self, shape: Shape, at_ms: u64, speed: f64) {
        let in_hole = at_ms < self.hole_until_ms;
        let segments = self.cwnd / MSS as f64;
        let growth: f64 = if segments < 100.0 {
            DOUBLING
        } else {
            shape.growth
        };
        let rate = (self.cwnd * 8.0 * 1000.0 / RTT_MS as f64).min(CEILING_BPS * speed);
        if in_hole {
            self.cause = "queue-overflow";
            self.delivered += rate * 0.002 / 8.0 * 0.01;
            return;
        }
        self.delivered += rate / 8.0 * 0.01;
        let capped = rate >= CEILING_BPS * speed;
        self.cause = match () {
            () if capped && (at_ms / 40).is_multiple_of(5) => "local-queue",
            () if capped => "sender-cpu-limited",
            () if self.cwnd >= shape.window as f64 => "receive-window-limited",
            () if growth >= DOUBLING => "cwnd-growth-limited",
            () => "random-loss",
        };
        self.cwnd = (self.cwnd * growth).min(shape.window as f64);
        if shape.hole && self.hole_until_ms == 0 && self.cwnd > 88.0 * MB as f64 {
            self.cwnd *= 0.7;
            self.hole_until_ms = at_ms + 2100;
        }
    }
}

fn flow(shape: Shape, repeat: u32) -> FlowRecord {
    let speed = 1.0 - f64::from(repeat) * 0.011;
    let mut state = State {
        cwnd: (3 * MSS) as f64,
        delivered: 0.0,
        hole_until_ms: 0,
        cause: "cwnd-growth-limited",
    };
    let mut samples = Vec::new();
    let mut spans: Vec<CauseSpan> = vec![span(0, RTT_MS, "connection-setup")];
    let mut hole = None;
    for step in 0..shape.seconds * 100 {
        let at_ms = RTT_MS + step * 10;
        let before = state.cwnd;
        state.step(shape, at_ms, speed);
        if state.hole_until_ms > 0 && hole.is_none() {
            hole = Some(at_ms);
        }
        match spans.last_mut() {
            Some(last) if last.cause == state.cause => last.end_ns = (at_ms + 10) * MS,
            _ => spans.push(span(at_ms, at_ms + 10, state.cause)),
        }
        samples.push(Sample {
            at_ns: at_ms * MS,
            cwnd_bytes: before as u64,
            ssthresh_bytes: hole.map(|_| (before * 0.7) as u64),
            rwnd_bytes: shape.window.min(5840 + step * 3 * MB),
            flight_bytes: (before as u64).min((CEILING_BPS / 8.0 * 0.082) as u64),
            srtt_ns: (step > 0).then_some((82_000 + (step * 37) % 900) * 1000),
            delivered_bytes: state.delivered as u64,
            retransmitted_segments: None,
        });
    }
    finish(shape, samples, spans, hole, speed)
}

fn span(start_ms: u64, end_ms: u64, cause: &str) -> CauseSpan {
    CauseSpan {
        start_ns: start_ms * MS,
        end_ns: end_ms * MS,
        cause: cause.to_owned(),
    }
}

fn finish(
    shape: Shape,
    samples: Vec<Sample>,
    spans: Vec<CauseSpan>,
    hole: Option<u64>,
    speed: f64,
) -> FlowRecord {
    let lost = if shape.hole { 523 } else { 0 };
    let delivered = |index: usize| samples.get(index).map_or(0, |s| s.delivered_bytes);
    let last = samples.len() - 1;
    let intervals: Vec<IntervalRecord> = (0..shape.seconds)
        .map(|second| {
            let (from, to) = (second as usize * 100, ((second + 1) * 100) as usize);
            let hit = hole.is_some_and(|ms| (ms - RTT_MS) / 1000 == second);
            IntervalRecord {
                start_ns: second * 1000 * MS,
                end_ns: (second + 1) * 1000 * MS,
                bytes: delivered(to.min(last)) - delivered(from),
                retransmitted_segments: if hit { lost } else { 0 },
            }
        })
        .collect();
    let bytes = delivered(last);
    let elapsed_ns = (shape.seconds * 1000 + 41) * MS;
    let segments = bytes / MSS + lost;
    FlowRecord {
        name: "main".to_owned(),
        congestion_control: shape.control.to_owned(),
        sender_profile: "linux-2.6.20".to_owned(),
        receiver_profile: "linux-2.6.20".to_owned(),
        established_ns: RTT_MS * MS,
        ended_ns: RTT_MS * MS + elapsed_ns,
        clock_start_ns: 2 * RTT_MS * MS,
        bytes,
        elapsed_ns,
        average_ns: elapsed_ns,
        completion_ns: None,
        group: None,
        counted_by: None,
        goodput_bps: bytes as f64 * 8e9 / elapsed_ns as f64,
        plateau_bps: Some(CEILING_BPS * speed),
        time_to_90_ns: intervals
            .iter()
            .find(|line| line.bytes as f64 * 8.0 >= 0.9 * CEILING_BPS * speed)
            .map(|line| line.end_ns),
        segments_sent: segments,
        retransmitted_segments: lost,
        fast_retransmits: lost,
        timeouts: 0,
        loss_events: 1,
        theory: None,
        marked_segments: 0,
        mark_reductions: 0,
        acks_sent: segments / 2,
        failure: None,
        receive_rings: Vec::new(),
        host_drops: Default::default(),
        reduction_times_ns: Vec::new(),
        reduction_times_left_out: 0,
        sender_cpu_fraction: (bytes as f64 / elapsed_ns as f64).min(0.9),
        receiver_cpu_fraction: (bytes as f64 / elapsed_ns as f64 * 0.55).min(0.9),
        sender_link_fraction: None,
        receiver_link_fraction: None,
        limited_by: shares(&spans),
        limits: Vec::new(),
        unavailable: Vec::new(),
        negotiated: negotiated(shape),
        application: None,
        time_sequence: shape.hole.then(|| sequence(hole.unwrap_or(1500))),
        why: None,
        intervals,
        limited_by_timeline: spans,
        samples,
    }
}

fn shares(spans: &[CauseSpan]) -> Vec<CauseShare> {
    const ALL: [&str; 7] = [
        "connection-setup",
        "receive-window-limited",
        "cwnd-growth-limited",
        "random-loss",
        "queue-overflow",
        "sender-cpu-limited",
        "local-queue",
    ];
    let spent = |cause: &str| {
        let of = spans.iter().filter(|span| span.cause == cause);
        of.map(|span| span.end_ns - span.start_ns).sum()
    };
    ALL.iter()
        .map(|&cause| CauseShare {
            cause: cause.to_owned(),
            spent_ns: spent(cause),
        })
        .collect()
}

fn negotiated(shape: Shape) -> Vec<Negotiated> {
    vec![Negotiated {
        what: "receive buffer".to_owned(),
        requested: format!("{} MiB", shape.window / MB),
        granted: format!("{} MiB", shape.window / MB * 2),
        effective: format!("{} MiB window", shape.window / MB * 3 / 2),
        cause: "Linux doubles the buffer for its own overhead and advertises three quarters (tcp_adv_win_scale 2)".to_owned(),
    }]
}

/// A slow start, a fast retransmission at `hole_ms`, and a timeout.
pub fn sequence(hole_ms: u64) -> TimeSequence {
    let mut points: Vec<(u64, u32, Effect)> = Vec::new();
    let mut data = |at_ns, offset, marks| {
        let len = MSS as u32;
        let start = offset;
        points.push((at_ns, marks, Effect::Data { start, len }));
    };
    let mut offset = 0;
    for round in 0..9_u64 {
        for index in 0..(3_u64 << round) {
            data((RTT_MS + round * RTT_MS) * MS + index * 14_000, offset, 0);
            offset += MSS;
        }
    }
    let hole_ns = hole_ms * MS;
    for index in 0..4000_u64 {
        data(
            hole_ns - 2 * RTT_MS * MS + index * 9_500,
            offset + index * MSS,
            0,
        );
    }
    data(
        hole_ns,
        offset,
        Point::of_kinds(&[Kind::FastRetransmission]),
    );
    data(
        hole_ns + 300 * MS,
        offset + 12 * MSS,
        Point::of_kinds(&[Kind::TimeoutRetransmission]),
    );
    let acks: Vec<_> = points
        .iter()
        .filter_map(|(at_ns, _, effect)| match *effect {
            Effect::Data { start, .. } => Some((
                at_ns + RTT_MS * MS,
                0,
                Effect::Ack {
                    ack: start + MSS,
                    window: 6 << 20,
                    sack: Default::default(),
                    sack_len: 0,
                    rtt_ns: Some(RTT_MS * MS),
                },
            )),
            Effect::Ack { .. } => None,
        })
        .collect();
    points.extend(acks);
    points.sort_by_key(|(at_ns, ..)| *at_ns);
    let mut builder = GraphBuilder::growing(1);
    for (frame, (at_ns, marks, effect)) in (1..).zip(points) {
        builder.add(Point {
            frame,
            at_ns,
            marks,
            effect,
        });
    }
    pack(&builder.finish(), true, 100_000)
}
