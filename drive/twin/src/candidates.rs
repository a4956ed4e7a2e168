//! What a transfer may have been: constants read off its measures, one set per hypothesis.
//!
//! A capture decides little by itself: the same losses may be those of a full queue or
//! random. Each hypothesis becomes a candidate with the constants that the measures give
//! it, and the search (`fit.rs`) keeps those whose run repeats the original.

use crate::constants::{Buffer, Constants, LossProcess, Supply};
use crate::measured::Loss;
use crate::transfer::Transfer;

/// Bytes that a frame adds to a packet (`link_overhead` of a plan).
const FRAME: f64 = 38.0;

/// Controls that are tried.
pub const CONTROLS: [&str; 4] = ["cubic", "reno", "bbr", "bbr3"];

/// Added RTT at a loss, as a share of the largest, from which a full queue explains it.
const QUEUE_EXPLAINS: f64 = 0.7;

/// Rates that differ by this factor are two hypotheses.
const APART: f64 = 1.12;

/// Causes of which a twin has a model.
const MODELED: [&str; 16] = [
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
    "policer",
    "delayed-ack-stall",
    "mss-clamped",
];

/// Share of the time above which a cause without a model forbids a fit.
const MOST_UNMODELED: f64 = 0.25;

/// Share of the time from which a cause makes a hypothesis.
const WORTH_TRYING: f64 = 0.05;

/// Returns what of a transfer no twin has a model of; `None` if nothing.
#[must_use]
pub fn unmodeled(transfer: &Transfer) -> Option<String> {
    let verdicts = &transfer.diagnosis.verdicts;
    let mut others = verdicts
        .iter()
        .filter(|one| !MODELED.contains(&one.cause.id));
    let worst = others.find(|one| one.share > MOST_UNMODELED)?;
    Some(format!(
        "limited by {} for {:.0} % of the time, of which the twin has no model",
        worst.cause.name,
        worst.share * 100.0
    ))
}

/// Returns the candidates of a transfer, with the control still to be chosen.
#[must_use]
pub fn candidates(transfer: &Transfer) -> Vec<Constants> {
    let mut all = Vec::new();
    for line in lines(transfer) {
        let base = base(transfer, line);
        all.extend(ssthresh(transfer, &base));
        for (queue, loss, policer) in losses(transfer, &base) {
            for (supply, reader_bps) in supplies(transfer, &base) {
                for send in sends(transfer) {
                    all.push(Constants {
                        queue,
                        loss,
                        policer,
                        supply,
                        reader_bps,
                        send,
                        ..base.clone()
                    });
                }
            }
        }
    }
    all
}

/// A transfer that left slow start before any loss.
fn ssthresh(transfer: &Transfer, base: &Constants) -> Option<Constants> {
    let segments = transfer.measured.flight_p50 / transfer.measured.full_segment.max(1) as f64;
    let is_slow = share(transfer, &["cwnd-growth-limited"]) > WORTH_TRYING;
    is_slow.then(|| Constants {
        initial_ssthresh: Some((0.8 * segments).max(2.0) as u64),
        ..base.clone()
    })
}

/// The share of the time that was attributed to any of these causes.
fn share(transfer: &Transfer, causes: &[&str]) -> f64 {
    let verdicts = transfer.diagnosis.verdicts.iter();
    let some = verdicts.filter(|one| causes.contains(&one.cause.id));
    some.map(|one| one.share).sum()
}

/// What does not depend on a hypothesis.
fn base(transfer: &Transfer, line: f64) -> Constants {
    let measured = &transfer.measured;
    let payload = measured.full_segment.max(100);
    let header = 40 + if transfer.timestamps { 12 } else { 0 };
    let mtu = (payload + header).max(576);
    let wire = mtu as f64 + FRAME;
    let rate_bps = line * 8.0 * wire / payload as f64;
    let service = wire * 8.0 / rate_bps;
    let grows = measured.window_max > measured.window_first + measured.window_first / 4;
    let is_known = transfer.knows_windows && measured.window_max > 0;
    let receive = if is_known && (measured.window_full > 0.05 || !grows) {
        Buffer::Bytes(measured.window_max)
    } else {
        Buffer::Auto
    };
    let first = measured.first_flight.div_ceil(payload).clamp(1, 1000);
    Constants {
        rate_bps,
        rtt: (measured.rtt.min - service).max(20e-6),
        queue: 100,
        loss: LossProcess::None,
        policer: None,
        mtu,
        timestamps: transfer.timestamps,
        window_scaling: transfer.window_scaling,
        sack: transfer.sack,
        ack_every: ((measured.bytes_per_ack / payload as f64).round() as u64).clamp(1, 64),
        initial_window: first,
        initial_ssthresh: None,
        control: "cubic",
        profile: if measured.window_first < 66_000 && grows {
            "linux-6"
        } else {
            "modern"
        },
        pacing: measured.first_flight_time > 0.1 * measured.rtt.min,
        receive,
        send: Buffer::Auto,
        reader_bps: None,
        supply: Supply::Everything,
        bytes: measured.bytes,
    }
}

/// Payload per second that the bottleneck may carry, in bytes: while it was full or by the
/// spacing of packets; else the best that was delivered, and twice that.
fn lines(transfer: &Transfer) -> Vec<f64> {
    let measured = &transfer.measured;
    let diagnosis = &transfer.diagnosis;
    let best = measured.best_rate.max(measured.goodput_bps() / 8.0);
    let spacing = diagnosis.bottleneck.map(|rate| rate.as_bps() as f64 / 8.0);
    let capacity = diagnosis.capacity.rate().as_bps() as f64 / 8.0;
    // Spacing is evidence of the bottleneck itself; the best rate bounds it from below.
    let seen = match spacing {
        Some(spacing) => vec![spacing.max(best)],
        None => vec![capacity, best, 2.0 * best],
    };
    let mut all: Vec<f64> = Vec::new();
    for line in seen {
        let is_new = all
            .iter()
            .all(|other| line > other * APART || line * APART < *other);
        if line >= 0.9 * best && is_new {
            all.push(line.max(1e3));
        }
    }
    all
}

/// Queue limit in packets, loss process, and rate and burst of a policer.
type Losses = (u64, LossProcess, Option<(f64, f64)>);

/// Queue limit in packets, loss process and policer of each hypothesis.
fn losses(transfer: &Transfer, base: &Constants) -> Vec<Losses> {
    let measured = &transfer.measured;
    let service = (base.mtu as f64 + FRAME) * 8.0 / base.rate_bps;
    let packets = |delay: f64| (delay / service).round().max(0.0) as u64;
    let bdp = packets(base.rtt);
    let seen = packets(measured.rtt.p95 - measured.rtt.min);
    let ample = (2 * seen).max(bdp).max(100);
    let lost = &measured.losses;
    if lost.is_empty() {
        return vec![(ample, LossProcess::None, None)];
    }
    let mut all = Vec::new();
    let added = |loss: &Loss| (loss.rtt - measured.rtt.min).max(0.0);
    let mut delays: Vec<f64> = lost.iter().map(added).collect();
    delays.sort_by(f64::total_cmp);
    let middle = crate::measured::quantile(&delays, 0.5);
    all.push((packets(middle).max(3) + 1, LossProcess::None, None));
    let random = process(lost, measured.segments, |_| true);
    all.push((ample.max(packets(delays[delays.len() - 1])), random, None));
    let most = delays[delays.len() - 1].max(measured.rtt.p95 - measured.rtt.min);
    if packets(most) > 4 {
        let is_random = |loss: &Loss| added(loss) < QUEUE_EXPLAINS * most;
        let some = process(lost, measured.segments, is_random);
        if some != LossProcess::None && some != random {
            all.push((packets(most) + 1, some, None));
        }
    }
    if share(transfer, &["policer"]) > WORTH_TRYING {
        let rate = measured.goodput_bps() * base.mtu as f64 / measured.full_segment.max(1) as f64;
        for bdps in [0.1, 0.3, 1.0] {
            let burst = (rate / 8.0 * base.rtt * bdps).max(5.0 * base.mtu as f64);
            all.push((ample, LossProcess::None, Some((rate, burst))));
        }
    }
    all
}

/// The process of the losses that `is_meant` picks.
fn process(lost: &[Loss], segments: u64, is_meant: impl Fn(&Loss) -> bool) -> LossProcess {
    let mut numbers: Vec<u64> = lost
        .iter()
        .filter(|one| is_meant(one))
        .map(|one| one.number)
        .collect();
    numbers.sort_unstable();
    numbers.dedup();
    if numbers.is_empty() {
        return LossProcess::None;
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
        return LossProcess::Periodic(mean.round().max(2.0) as u64);
    }
    let runs = 1 + gaps.iter().filter(|gap| **gap > 1.5).count();
    let length = numbers.len() as f64 / runs as f64;
    if length > 1.8 {
        LossProcess::Bursts(share.min(0.5), length)
    } else {
        LossProcess::Random(share.min(0.5))
    }
}

/// What limits the application or its host, and the rate at which the receiver reads.
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

/// Send buffers worth trying.
fn sends(transfer: &Transfer) -> Vec<Buffer> {
    let measured = &transfer.measured;
    let mut all = vec![Buffer::Auto];
    if share(transfer, &["send-buffer-limited", "receive-window-limited"]) > WORTH_TRYING
        && measured.flight_p95 < 0.95 * measured.window_max as f64
    {
        all.push(Buffer::Bytes(measured.flight_p95 as u64));
    }
    all
}
