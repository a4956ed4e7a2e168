//! Random paths between two kernels and what their applications do, each with
//! one known cause.
//!
//! Slow enough that the machine is not what limits, and short.

use std::time::Duration as StdDuration;

use gigatcp_path::{HopConfig, LossModel, Policer, Reorder};
use gigatcp_units::{Bytes, Duration, Probability, Rate};

use super::ends::{Ends, Reader, Writer};
use crate::draw::Draw;

/// What is injected, and what is to be said of it.
pub const INJECTIONS: [(&str, &str); 19] = [
    ("path-saturated", "path-saturated"),
    ("receive-window-limited", "receive-window-limited"),
    ("window-clamped", "window-clamped"),
    ("send-buffer-limited", "send-buffer-limited"),
    ("small-writes", "application-limited"),
    ("large-writes", "application-limited"),
    ("pauses", "application-limited"),
    ("slow-start-too-slow", "slow-start-too-slow"),
    ("random-loss", "random-loss"),
    ("queue-overflow", "queue-overflow"),
    ("reordering-taken-for-loss", "reordering-taken-for-loss"),
    ("ack-path", "ack-path"),
    ("delayed-ack-stall", "delayed-ack-stall"),
    ("rto-ladder", "rto-ladder"),
    ("mss-clamped", "mss-clamped"),
    ("pmtu-black-hole", "pmtu-black-hole"),
    ("cpu-limited-receiver", "cpu-limited-receiver"),
    ("capture-artefact", "capture-artefact"),
    ("policer", "policer"),
];

/// A connection between two kernels.
pub struct World {
    /// There, and back; the first hop of each is the bottleneck.
    pub ways: [Vec<HopConfig>; 2],
    pub mtu: u16,
    pub offloads: bool,
    pub settings: Vec<(String, String)>,
    /// A first slow-start threshold, in segments.
    pub threshold: Option<u32>,
    pub ends: Ends,
    /// Chance that a capture lacks a packet.
    pub capture_loss: f64,
    /// Octets per second.
    pub rate: f64,
    pub about: String,
}

/// What all of them have.
struct Base {
    /// Bits per second.
    rate: f64,
    rtt: f64,
    mss: f64,
    /// Octets in flight that fill the path.
    bdp: f64,
}

fn probability(p: f64) -> Probability {
    Probability::try_new(p).expect("a probability")
}

fn bits(rate: f64) -> Option<Rate> {
    Some(Rate::from_bps(rate as u64))
}

/// The world of `injection` with this seed.
pub fn world(injection: &str, seed: u64) -> World {
    let place = INJECTIONS.iter().position(|(one, _)| *one == injection);
    let number = place.unwrap_or(0) as u64;
    let mut draw = Draw::new(seed.wrapping_mul(977).wrapping_add(number));
    let mut rtt = draw.magnitude(0.01, 0.08);
    let mut rate = draw.magnitude(8e6, 80e6);
    let mtu = if injection == "mss-clamped" {
        9000
    } else {
        1500
    };
    let mss = f64::from(mtu) - 52.0;
    // Where a part of what fills the path is drawn, it has to be some segments.
    let least = match injection {
        "receive-window-limited" | "send-buffer-limited" => 60.0,
        "window-clamped" => 150.0,
        "slow-start-too-slow" => 200.0,
        "random-loss" | "reordering-taken-for-loss" => 40.0,
        "queue-overflow" | "policer" => 60.0,
        _ => 0.0,
    };
    let factor = (least * mss * 8.0 / (rate * rtt)).max(1.0).sqrt();
    (rate, rtt) = (rate * factor, rtt * factor);
    if injection == "queue-overflow" {
        // It is to overflow again and again.
        (rate, rtt) = (rate * (rtt / 0.02).clamp(1.0, 2.0), rtt.min(0.02));
    }
    let base = Base {
        rate,
        rtt,
        mss,
        bdp: rate * rtt / 8.0,
    };
    let mut world = plain(&mut draw, &base, mtu);
    inject(injection, &mut draw, &base, &mut world);
    world.about = format!(
        "{:.0} Mbit/s, {:.0} ms, {}, offloads {}, {:?} by {}",
        rate / 1e6,
        rtt * 1e3,
        world.ends.congestion,
        world.offloads,
        world.ends.writer,
        world.ends.chunk,
    );
    world
}

fn plain(draw: &mut Draw, base: &Base, mtu: u16) -> World {
    let hop = |name: &str, share: f64| HopConfig {
        name: name.into(),
        one_way_delay: Duration::from_secs_f64(base.rtt / 2.0 * share),
        ..HopConfig::default()
    };
    let near = draw.between(0.2, 0.8);
    let queue = (base.bdp * draw.between(0.5, 1.5) / base.mss).max(20.0);
    let there = vec![
        HopConfig {
            rate: bits(base.rate),
            limit_packets: Some(queue as u64),
            ..hop("bottleneck", near)
        },
        hop("far", 1.0 - near),
    ];
    let back = vec![HopConfig {
        rate: bits(base.rate),
        ..hop("back", 1.0)
    }];
    let setting = |(name, value): (&str, &str)| (format!("net.ipv4.{name}"), value.to_owned());
    World {
        ways: [there, back],
        mtu,
        offloads: draw.chance(0.7),
        settings: vec![setting(("tcp_no_metrics_save", "1"))],
        threshold: None,
        ends: Ends {
            writer: Writer::Bulk,
            chunk: 65_536,
            reader: Reader::Eager,
            send_buffer: None,
            receive_buffer: None,
            congestion: draw.pick(&["cubic", "cubic", "reno"]),
            lasts: StdDuration::from_secs_f64((80.0 * base.rtt).clamp(3.0, 4.0)),
            grace: StdDuration::from_secs_f64(4.0 * base.rtt + 0.2),
        },
        capture_loss: 0.0,
        rate: base.rate / 8.0,
        about: String::new(),
    }
}

fn inject(injection: &str, draw: &mut Draw, base: &Base, world: &mut World) {
    let ends = &mut world.ends;
    let [there, back] = &mut world.ways;
    let mut set = |name: &str, value: &str| {
        let named = (format!("net.ipv4.{name}"), value.to_owned());
        world.settings.push(named);
    };
    match injection {
        "receive-window-limited" => {
            ends.receive_buffer = Some((base.bdp * draw.between(0.15, 0.5)) as u64);
        }
        "window-clamped" => set("tcp_window_scaling", "0"),
        "send-buffer-limited" => {
            // The kernel grants twice as much, and one write more. What it releases at
            // once, a third and more, is not to meet a full queue.
            ends.chunk = draw.pick(&[4096, 16_384, 65_536]);
            ends.send_buffer = Some((base.bdp * draw.between(0.05, 0.2)) as u64);
            there[0].limit_packets = Some((2.0 * base.bdp / base.mss) as u64);
        }
        "small-writes" => {
            // Less than a segment each, with Nagle's algorithm or not.
            let amount = draw.between(100.0, 1400.0);
            let share = draw.between(0.02, 0.1);
            let every = amount / (base.rate / 8.0 * share);
            ends.writer = pieces(amount, every.max(0.002));
        }
        "large-writes" => {
            let every = draw.magnitude(0.01, 0.1);
            let amount = base.rate / 8.0 * every * draw.between(0.1, 0.5);
            ends.writer = pieces(amount.max(3000.0), every);
        }
        "pauses" => {
            let every = draw.magnitude(0.3, 1.0);
            let amount = base.rate / 8.0 * every * draw.between(0.1, 0.4);
            ends.writer = pieces(amount, every);
        }
        "slow-start-too-slow" => {
            set("tcp_rmem", "4096 4194304 8388608");
            set("tcp_wmem", "4096 4194304 8388608");
            if draw.chance(0.5) {
                ends.writer = Writer::Amount((base.bdp * draw.between(0.4, 1.0)) as u64);
            } else {
                world.threshold = Some(draw.pick(&[4, 8, 16]));
                ends.congestion = "reno";
            }
        }
        "random-loss" => {
            let w = draw.between(0.15, 0.4) * base.bdp / base.mss;
            let segments = base.rate * 4.0 / 8.0 / base.mss;
            let p = (1.5 / (w * w)).max(20.0 / segments).clamp(1e-4, 0.03);
            there[1].loss = vec![LossModel::Bernoulli(probability(p))];
        }
        "queue-overflow" => {
            let limit = (base.bdp / base.mss * draw.between(0.05, 0.12)).max(4.0);
            there[0].limit_packets = Some(limit as u64);
            ends.congestion = "reno";
        }
        "policer" => {
            let rate = base.rate * draw.between(0.25, 0.8);
            let burst = rate / 8.0 * base.rtt * draw.magnitude(0.1, 1.0);
            there[0].policer = Some(Policer {
                rate: Rate::from_bps(rate as u64),
                burst: Bytes::new(burst.max(7500.0) as u64),
            });
        }
        "reordering-taken-for-loss" => {
            // A kernel takes back what it did for nothing, so it has to happen often.
            let w = draw.between(0.15, 0.4) * base.bdp / base.mss;
            there[1].reorder = Some(Reorder {
                probability: probability((6.0 / (w * w)).clamp(0.005, 0.05)),
                extra_delay: Duration::from_secs_f64(base.rtt * draw.between(0.3, 0.9)),
            });
            // Nothing else is to be lost.
            there[0].limit_packets = Some((4.0 * base.bdp / base.mss) as u64 + 100);
            // Three duplicates are a loss, whatever was learnt before.
            set("tcp_recovery", "0");
            set("tcp_max_reordering", "3");
            set("tcp_early_retrans", "0");
            if draw.chance(0.5) {
                set("tcp_timestamps", "0");
            } else {
                set("tcp_sack", "0");
            }
        }
        "ack-path" => {
            // One acknowledgment for two segments, and a share of those.
            let needed = base.rate / (2.0 * base.mss) * 52.0;
            back[0].rate = bits(needed * draw.between(0.03, 0.08));
            back[0].limit_packets = Some(draw.between(4.0, 16.0) as u64);
        }
        "delayed-ack-stall" => {
            let first = draw.between(100.0, 1400.0) as usize;
            let second = draw.between(100.0, 1400.0) as usize;
            ends.writer = Writer::Asks(first, second);
            ends.reader = Reader::Answers(first + second);
            let [there, back] = &mut world.ways;
            for hop in there.iter_mut().chain(back) {
                hop.one_way_delay = hop.one_way_delay / 2;
            }
        }
        "rto-ladder" => {
            // A small window and then nothing for some time, repairs included.
            let first = draw.between(50.0, 300.0) as u64;
            let lost = first..first + 11 + draw.between(0.0, 2.0) as u64;
            there[0].loss = vec![LossModel::Listed(lost.collect())];
            ends.send_buffer = Some(8192);
            ends.chunk = 2896;
            ends.writer = Writer::Amount(first * base.mss as u64 + 40_000);
            ends.lasts = StdDuration::from_secs(6);
        }
        "mss-clamped" => {
            there[0].mtu = Some(Bytes::new(draw.pick(&[1492_u64, 1500, 1006, 4352])));
            there[0].tells_too_big = true;
        }
        "pmtu-black-hole" => {
            there[0].mtu = Some(Bytes::new(draw.pick(&[1280_u64, 1400, 1460])));
            set("tcp_mtu_probing", "0");
        }
        "cpu-limited-receiver" => {
            let every = draw.magnitude(0.001, 0.02);
            let amount = base.rate / 8.0 * every * draw.between(0.15, 0.6);
            let every = every * (4096.0 / amount).max(1.0);
            ends.reader = Reader::Slow(
                amount.max(4096.0) as usize,
                StdDuration::from_secs_f64(every),
            );
            ends.receive_buffer = Some((base.bdp * draw.between(1.0, 3.0) + 64e3) as u64);
        }
        "capture-artefact" => world.capture_loss = draw.magnitude(0.003, 0.03),
        _ => {}
    }
}

fn pieces(octets: f64, every: f64) -> Writer {
    Writer::Pieces(octets as u64, StdDuration::from_secs_f64(every))
}
