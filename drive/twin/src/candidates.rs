//! Candidates for a transfer: constants derived from its measures, one set per hypothesis.
//!
//! A capture leaves much open: the same losses may be those of a full queue or random. Each
//! hypothesis becomes a candidate with constants from the measures, and the search (`fit.rs`) keeps
//! those whose run repeats the original.

use std::sync::Arc;

use gigatcp_units::Rate;

use crate::constants::{Buffer, Constants, LINUX, LossProcess, MODERN, Supply};
use crate::measured::Loss;
use crate::transfer::Transfer;

/// Bytes that a frame adds to a packet (`link_overhead` of a plan).
const FRAME: f64 = 38.0;

/// Congestion controls that are tried.
pub const CONTROLS: [&str; 5] = ["cubic", "cubic-linux", "reno", "bbr", "bbr3"];

/// Share of the maximum added RTT from which a full queue explains a loss.
const QUEUE_EXPLAINS: f64 = 0.7;

/// Share of losses at a full queue below which all may be random.
const MIXED: f64 = 0.25;

/// Number of the first data packet: SYN and ACK precede it.
const BEFORE_DATA: u64 = 3;

/// Two estimates of a rate agree if they differ by less than this factor.
const SAME: f64 = 1.15;

/// Minimum rate of a bottleneck as a multiple of the goodput.
///
/// Below it ACKs were delayed.
const CARRIES: f64 = 0.95;

/// Maximum ratio of the best rate to that of the bottleneck.
const BURST: f64 = 1.3;

/// Minimum ratio of two rates that are separate hypotheses.
const APART: f64 = 1.12;

/// Causes that a twin models.
const MODELED: [&str; 15] = [
    "path-saturated",
    "local-queue",
    "pacing-limited",
    "receive-window-limited",
    "no-window-scaling",
    "slow-reader",
    "receiver-cpu-limited",
    "send-buffer-limited",
    "application-limited",
    "cwnd-growth-limited",
    "sender-cpu-limited",
    "random-loss",
    "queue-overflow",
    "delayed-ack-stall",
    "mss-clamped",
];

/// Maximum share of the time limited by a cause without a model. Above it there is no fit.
const MOST_UNMODELED: f64 = 0.25;

/// Maximum echoes of congestion marks; above it there is no fit.
const MOST_ECHOES: u64 = 4;

/// Minimum share of the time for a cause to become a hypothesis.
const WORTH_TRYING: f64 = 0.05;

/// Returns what limits the transfer without a model in twins; `None` if nothing.
#[must_use]
pub fn unmodeled(transfer: &Transfer) -> Option<String> {
    let verdicts = &transfer.diagnosis.verdicts;
    let mut others = verdicts
        .iter()
        .filter(|one| !MODELED.contains(&one.cause.id));
    let worst = others.find(|one| one.share > MOST_UNMODELED);
    let Some(worst) = worst else {
        let count = transfer.measured.echoes;
        return (count > MOST_ECHOES)
            .then(|| format!("{count} congestion marks, of which the twin has no model"));
    };
    Some(format!(
        "limited by {} for {:.0} % of the time, of which the twin has no model",
        worst.cause.name,
        worst.share * 100.0
    ))
}

/// Returns the candidates of a transfer; their control is still to be chosen.
#[must_use]
pub fn candidates(transfer: &Transfer) -> Vec<Constants> {
    let mut all = Vec::new();
    for line in lines(transfer) {
        let base = base(transfer, line);
        all.extend(ssthresh(transfer, &base));
        for (queue, (loss, lost)) in losses(transfer, &base) {
            for (supply, reader_bps) in supplies(transfer, &base) {
                for (receive, send) in buffers(transfer) {
                    all.push(Constants {
                        queue,
                        loss,
                        lost: lost.clone(),
                        supply,
                        reader_bps,
                        receive,
                        send,
                        ..base.clone()
                    });
                }
            }
        }
    }
    all
}

/// Returns candidates for a transfer that left slow start before any loss. Their ssthresh are parts
/// of its median flight.
fn ssthresh(transfer: &Transfer, base: &Constants) -> Vec<Constants> {
    let segments = transfer.measured.flight_p50 / transfer.measured.full_segment.max(1) as f64;
    let is_slow = share(transfer, &["cwnd-growth-limited"]) > WORTH_TRYING;
    let parts: &[f64] = if is_slow { &[0.2, 0.4, 0.8] } else { &[] };
    let with = |part: &f64| Constants {
        initial_ssthresh: Some((part * segments).max(2.0) as u64),
        ..base.clone()
    };
    parts.iter().map(with).collect()
}

/// Returns the share of the time attributed to any of these causes.
pub(crate) fn share(transfer: &Transfer, causes: &[&str]) -> f64 {
    let verdicts = transfer.diagnosis.verdicts.iter();
    let some = verdicts.filter(|one| causes.contains(&one.cause.id));
    some.map(|one| one.share).sum()
}

/// Returns the constants that no hypothesis changes.
fn base(transfer: &Transfer, line: f64) -> Constants {
    let measured = &transfer.measured;
    let payload = measured.full_segment.max(100);
    let header = 40 + if transfer.timestamps { 12 } else { 0 };
    let mtu = (payload + header).max(576);
    let wire = mtu as f64 + FRAME;
    let rate_bps = line * 8.0 * wire / payload as f64;
    let service = wire * 8.0 / rate_bps;
    let first = measured.first_flight.div_ceil(payload).clamp(1, 1000);
    Constants {
        rate_bps,
        rtt: (measured.rtt.min - service).max(20e-6),
        queue: 100,
        loss: LossProcess::None,
        lost: Arc::default(),
        replays: true,
        mtu,
        timestamps: transfer.timestamps,
        window_scaling: transfer.window_scaling,
        sack: transfer.sack,
        ack_every: ((measured.bytes_per_ack / payload as f64).round() as u64).clamp(1, 64),
        initial_window: first,
        initial_ssthresh: None,
        control: "cubic",
        profile: if measured.window_first < 66_000 && grows(transfer) {
            LINUX
        } else {
            MODERN
        },
        pacing: measured.first_flight_time > 0.1 * measured.rtt.min,
        receive: buffers(transfer)[0].0,
        send: Buffer::Auto,
        reader_bps: None,
        supply: Supply::Everything,
        bytes: measured.bytes,
    }
}

/// Returns the best delivery rate in bytes per second. It is a lower bound of the bottleneck rate.
fn best(transfer: &Transfer) -> f64 {
    let measured = &transfer.measured;
    measured.best_rate.max(measured.goodput_bps() / 8.0)
}

/// Returns the bottleneck rate as payload bytes per second, if packets show it.
///
/// Long trains show it, a saturated bottleneck, or short trains together with packet spacing.
fn shown(transfer: &Transfer) -> Option<f64> {
    let (trains, diagnosis) = (transfer.measured.trains, &transfer.diagnosis);
    let full = (!diagnosis.capacity.is_lower_bound()).then(|| bytes(diagnosis.capacity.rate()));
    let spacing = diagnosis.bottleneck.map(bytes);
    let agrees = |short: &f64| spacing.is_some_and(|one| one < short * SAME && *short < one * SAME);
    let carries = |one: &f64| *one >= CARRIES * transfer.measured.goodput_bps() / 8.0;
    let long = trains.long.filter(carries).or(full);
    long.or(trains.short.filter(carries).filter(agrees))
}

/// Converts a rate to bytes per second.
fn bytes(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 8.0
}

/// Returns the bottleneck rate in bits per second, headers included, if packets show it.
pub(crate) fn shown_bps(transfer: &Transfer) -> Option<f64> {
    shown(transfer).map(|shown| base(transfer, shown).rate_bps)
}

/// Returns the possible bottleneck rates, in payload bytes per second.
///
/// A saturated bottleneck or packet spacing shows one; otherwise there are several.
fn lines(transfer: &Transfer) -> Vec<f64> {
    let diagnosis = &transfer.diagnosis;
    let best = best(transfer);
    let capacity = bytes(diagnosis.capacity.rate());
    let spacing = diagnosis.bottleneck.map(bytes);
    let short = transfer.measured.trains.short;
    if let Some(shown) = shown(transfer) {
        return vec![shown];
    }
    let seen = [capacity, best, 2.0 * best, 4.0 * best]
        .into_iter()
        .chain(spacing)
        .chain(short);
    let mut all: Vec<f64> = Vec::new();
    for line in seen {
        let is_new = all
            .iter()
            .all(|other| line > other * APART || line * APART < *other);
        if BURST * line >= best && is_new {
            all.push(line.max(1e3));
        }
    }
    all
}

/// Queue limit in packets, and loss process with the packets lost by it.
type Losses = (u64, (LossProcess, Arc<[u64]>));

/// Returns queue limit and loss process of each hypothesis. Losses at a full queue are those with
/// an RTT near its maximum before them.
fn losses(transfer: &Transfer, base: &Constants) -> Vec<Losses> {
    let measured = &transfer.measured;
    let service = (base.mtu as f64 + FRAME) * 8.0 / base.rate_bps;
    let packets = |delay: f64| (delay / service).round().max(0.0) as u64;
    let bdp = packets(base.rtt);
    let seen = packets(measured.rtt.p95 - measured.rtt.min);
    let ample = (2 * seen).max(bdp).max(100);
    let lost = &measured.losses;
    let none = || (LossProcess::None, Arc::default());
    if lost.is_empty() {
        return vec![(ample, none())];
    }
    let mut all = Vec::new();
    let added = |loss: &Loss| (loss.rtt - measured.rtt.min).max(0.0);
    let mut delays: Vec<f64> = lost.iter().map(added).collect();
    delays.sort_by(f64::total_cmp);
    let middle = crate::measured::quantile(&delays, 0.5);
    let last = delays[delays.len() - 1];
    let most = last.max(measured.rtt.p95 - measured.rtt.min);
    let fills = |delay: f64| packets(most) > 4 && delay >= QUEUE_EXPLAINS * most;
    let filled = delays.iter().filter(|delay| fills(**delay)).count() as f64 / lost.len() as f64;
    let is_queue = share(transfer, &["queue-overflow", "path-saturated"]) > WORTH_TRYING;
    if filled > MIXED || is_queue {
        all.push((packets(middle).max(3) + 1, none()));
    }
    if filled < 1.0 - MIXED || all.is_empty() {
        let random = process(lost, measured.segments, |_| true);
        all.push((ample.max(packets(last)), random));
    }
    if filled > 0.0 && filled < 1.0 {
        let some = process(lost, measured.segments, |loss| !fills(added(loss)));
        all.push((packets(most) + 1, some));
    }
    all
}

/// Returns the loss process for the losses that `is_meant` selects.
fn process(
    lost: &[Loss],
    segments: u64,
    is_meant: impl Fn(&Loss) -> bool,
) -> (LossProcess, Arc<[u64]>) {
    let mut numbers: Vec<u64> = lost
        .iter()
        .filter(|one| is_meant(one))
        .map(|one| one.number)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    let packets: Arc<[u64]> = numbers.iter().map(|number| number + BEFORE_DATA).collect();
    if numbers.is_empty() {
        return (LossProcess::None, packets);
    }
    let share = numbers.len() as f64 / segments.max(1) as f64;
    let gaps: Vec<f64> = numbers
        .windows(2)
        .map(|pair| (pair[1] - pair[0]) as f64)
        .collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len().max(1) as f64;
    let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
    let deviation = (square / gaps.len().max(1) as f64).sqrt();
    if gaps.len() >= 4 && deviation < 0.1 * mean {
        let every = mean.round().max(2.0) as u64;
        return (LossProcess::Periodic(every), packets);
    }
    let runs = 1 + gaps.iter().filter(|gap| **gap > 1.5).count();
    let length = numbers.len() as f64 / runs as f64;
    let process = if length > 1.8 {
        LossProcess::Bursts(share.min(0.5), length)
    } else {
        LossProcess::Random(share.min(0.5))
    };
    (process, packets)
}

/// Returns limits of the application or its host, and the read rate of the receiver.
fn supplies(transfer: &Transfer, base: &Constants) -> Vec<(Supply, Option<f64>)> {
    let measured = &transfer.measured;
    let goodput = measured.goodput_bps();
    let sending = measured.bytes as f64 / (measured.elapsed - measured.began).max(1e-6);
    let wire = base.mtu as f64 / measured.full_segment.max(1) as f64;
    let mut all = vec![(Supply::Everything, None)];
    if share(transfer, &["application-limited"]) > WORTH_TRYING {
        let pieces = measured.pieces;
        if pieces.count >= 5 && pieces.every > 0.0 {
            let every = pieces.bytes / sending;
            all.push((Supply::Pieces(pieces.bytes, every), None));
        }
        all.push((Supply::Pieces(sending * 0.01, 0.01), None));
    }
    if share(transfer, &["pacing-limited"]) > WORTH_TRYING {
        all.push((Supply::Paced(sending * 8.0 * wire), None));
    }
    if share(transfer, &["sender-cpu-limited"]) > WORTH_TRYING {
        let each = measured.full_segment as f64 / sending;
        all.push((Supply::Cpu(each), None));
    }
    if share(transfer, &["local-queue", "path-saturated"]) > WORTH_TRYING {
        let frame = (base.mtu as f64 + FRAME) / measured.full_segment.max(1) as f64;
        all.push((Supply::Link(sending * 8.0 * frame), None));
    }
    if share(transfer, &["slow-reader", "receiver-cpu-limited"]) > WORTH_TRYING {
        all.push((Supply::Everything, Some(goodput)));
    }
    all
}

/// Returns the receive and send buffers to try.
///
/// A window that grows and is full may be autotuned or requested.
fn buffers(transfer: &Transfer) -> Vec<(Buffer, Buffer)> {
    let measured = &transfer.measured;
    let is_known = transfer.knows_windows && measured.window_max > 0;
    let is_full = measured.window_full > WORTH_TRYING;
    let fixed = Buffer::Bytes(measured.window_max);
    let receives = match (is_known, grows(transfer), is_full) {
        (false, ..) | (true, true, false) => vec![Buffer::Auto],
        (true, true, true) => vec![fixed, Buffer::Auto],
        (true, false, _) => vec![fixed],
    };
    let mut sends = vec![Buffer::Auto];
    if share(transfer, &["send-buffer-limited"]) > WORTH_TRYING
        && measured.flight_p95 < 0.95 * measured.window_max as f64
    {
        sends.push(Buffer::Bytes(measured.flight_p95 as u64));
    }
    let both = |receive| sends.iter().map(move |send| (receive, *send));
    receives.into_iter().flat_map(both).collect()
}

/// Returns true if the advertised window grew while data was sent.
fn grows(transfer: &Transfer) -> bool {
    let measured = &transfer.measured;
    measured.window_max > measured.window_first + measured.window_first / 4
}
