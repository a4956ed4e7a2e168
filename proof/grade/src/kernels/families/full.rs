//! Saturated links, with every program and congestion control, and local shapers.

use super::{Draft, Family, family};
use crate::kernels::forward::config::Cross;
use crate::kernels::proof::Proof;
use crate::kernels::spec::{Net, Tc};

const RANGES: [[f64; 2]; 2] = [[10.0, 300.0], [1.0, 45.0]];

pub(super) const FAMILIES: &[Family] = &[
    family("full-cubic", "path-saturated", RANGES, 10.0, |draft| {
        draft.control("cubic");
    }),
    family("full-reno", "path-saturated", RANGES, 10.0, |draft| {
        draft.control("reno");
        let share = draft.draw.between(0.9, 2.0);
        draft.queue(share);
    }),
    family("full-bbr", "path-saturated", RANGES, 10.0, |draft| {
        draft.control("bbr");
        let share = draft.draw.between(1.0, 3.0);
        draft.queue(share);
    }),
    family("full-deep", "path-saturated", RANGES, 10.0, |draft| {
        // The queue never fills: the window stops growing first, or the transfer ends.
        let share = draft.draw.between(4.0, 12.0);
        draft.queue(share);
    }),
    family(
        "full-gigabit",
        "path-saturated",
        [[350.0, 900.0], [1.0, 8.0]],
        20.0,
        |draft| {
            draft.spec.offloads.tso = true;
            draft.spec.seconds = 2.0;
            draft.queue(2.5);
        },
    ),
    family("full-emulate", "path-saturated", RANGES, 10.0, |draft| {
        let queue = draft.draw.between(0.9, 2.5);
        emulate(draft, &[format!("--queue={queue:.2} BDP")]);
    }),
    family(
        "full-shaper",
        "path-saturated",
        [[10.0, 120.0], [1.0, 40.0]],
        10.0,
        |draft| {
            let rate = draft.spec.rate_bps;
            let room = (draft.bdp() * draft.draw.between(1.0, 3.0)).max(60_000.0);
            let burst = draft.draw.pick(&[3200, 8000, 32_000]);
            // Only slightly more, so that bursts do not keep the forwarder busy.
            draft.forward().rate_bps = 1.3 * rate;
            draft.roomy();
            draft.spec.middle_behind = false;
            draft.spec.tc = Some(tbf(false, rate, burst, room));
            draft.proof(Proof::Shaped(rate));
        },
    ),
    family(
        "full-plain",
        "path-saturated",
        [[100.0, 5000.0], [0.1, 0.2]],
        0.0,
        |draft| {
            let rate = draft.spec.rate_bps;
            draft.spec.net = Net::Plain;
            draft.spec.offloads.tso = true;
            draft.spec.offloads.gro = false;
            draft.spec.seconds = if rate > 1e9 { 1.0 } else { 2.0 };
            let room = (rate / 8.0 * draft.draw.between(0.002, 0.02)).max(300_000.0);
            draft.spec.tc = Some(tbf(false, rate, 131_072, room));
            draft.proof(Proof::Shaped(rate));
            let tool = draft.draw.pick(&["iperf3", "own", "nuttcp"]);
            draft.bulk_by(tool);
        },
    ),
    family("thinned-acks", "path-saturated", RANGES, 30.0, |draft| {
        if draft.draw.chance(0.5) {
            draft.reverse().ack_keep = draft.draw.pick(&[3, 4, 8]);
        } else {
            // Slow enough that ACKs meet in the queue, which removes all but the last.
            let needed = draft.spec.rate_bps / (2.0 * 1448.0 * 8.0) * 66.0 * 8.0;
            let share = draft.draw.between(0.25, 0.6);
            let reverse = draft.reverse();
            reverse.rate_bps = needed * share;
            reverse.queue_packets = 100;
            reverse.ack_filter = true;
        }
    }),
    family("stretch-acks", "path-saturated", RANGES, 30.0, |draft| {
        draft.spec.offloads.tso = true;
        draft.spec.offloads.gro = true;
        draft.spec.offloads.gro_flush_us = draft.draw.pick(&[200, 500, 1000]);
    }),
    family(
        "cross-steady",
        "cross-traffic",
        [[20.0, 300.0], [2.0, 40.0]],
        30.0,
        |draft| {
            let cross = Cross {
                rate_bps: draft.spec.rate_bps * draft.draw.between(0.55, 0.85),
                bytes: draft.draw.pick(&[600, 1514]),
                on_off_s: [0.0, 0.0],
            };
            draft.forward().cross = Some(cross);
            draft.proof(Proof::Crossed);
        },
    ),
    family(
        "cross-bursts",
        "cross-traffic",
        [[20.0, 300.0], [2.0, 40.0]],
        30.0,
        |draft| {
            let off = draft.draw.between(0.01, 0.1);
            let on = off * draft.draw.between(3.0, 8.0);
            let cross = Cross {
                rate_bps: draft.spec.rate_bps * draft.draw.between(0.8, 0.98),
                bytes: 1514,
                on_off_s: [on, off],
            };
            draft.forward().cross = Some(cross);
            draft.proof(Proof::Crossed);
        },
    ),
    family(
        "cross-flows",
        "cross-traffic",
        [[20.0, 200.0], [2.0, 40.0]],
        40.0,
        |draft| {
            let count = draft.draw.pick(&[2_u16, 3, 4]);
            super::two::others(draft, count);
            draft.proof(Proof::Crossed);
        },
    ),
    family(
        "local-tbf",
        "local-queue",
        [[10.0, 250.0], [1.0, 50.0]],
        10.0,
        |draft| {
            let rate = draft.spec.rate_bps;
            let spare = rate * draft.draw.between(2.0, 6.0);
            draft.forward().rate_bps = spare;
            draft.spec.spare_bps = spare;
            draft.queue(6.0);
            let burst = draft.draw.pick(&[3200, 16_000, 65_536]);
            let room = (rate / 8.0 * draft.draw.between(0.05, 0.4)).max(100_000.0);
            draft.spec.tc = Some(tbf(true, rate, burst, room));
            draft.proof(Proof::Shaped(rate));
        },
    ),
    family(
        "local-htb",
        "local-queue",
        [[10.0, 250.0], [1.0, 50.0]],
        10.0,
        |draft| {
            let rate = draft.spec.rate_bps;
            let spare = rate * draft.draw.between(2.0, 6.0);
            draft.forward().rate_bps = spare;
            draft.spec.spare_bps = spare;
            draft.queue(6.0);
            let rate_bits = rate as u64;
            draft.spec.tc = Some(Tc {
                on_sender: true,
                commands: vec![
                    "qdisc add dev DEV root handle 1: htb default 10".into(),
                    format!(
                        "class add dev DEV parent 1: classid 1:10 htb rate {rate_bits}bit ceil \
                         {rate_bits}bit burst 16000 cburst 16000"
                    ),
                ],
            });
            draft.proof(Proof::Shaped(rate));
        },
    ),
    family(
        "busy-reverse",
        "path-saturated",
        [[20.0, 200.0], [5.0, 40.0]],
        60.0,
        |draft| {
            // Cross traffic fills the queue of the ACKs: they wait and are dropped, without harm.
            let rate = draft.draw.between(2e6, 8e6);
            let packets = draft.draw.between(8.0, 20.0) as usize;
            draft.queue(2.0);
            let reverse = draft.reverse();
            reverse.rate_bps = rate;
            reverse.queue_packets = packets;
            reverse.cross = Some(Cross {
                rate_bps: rate,
                bytes: 1514,
                on_off_s: [0.0, 0.0],
            });
        },
    ),
    family(
        "capture-artifact",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            draft.spec.capture_loss = draft.draw.magnitude(0.003, 0.03);
            draft.spec.notes = vec!["capture-artifact"];
        },
    ),
];

/// A token bucket filter in `tc` syntax.
pub(super) fn tbf(on_sender: bool, rate: f64, burst: u32, room: f64) -> Tc {
    let (rate, room) = (rate as u64, room as u64);
    let line = format!("qdisc add dev DEV root tbf rate {rate}bit burst {burst} limit {room}");
    Tc {
        on_sender,
        commands: vec![line],
    }
}

/// Replaces the path by `gigatcp emulate` with the same rate and RTT.
pub(super) fn emulate(draft: &mut Draft, more: &[String]) {
    let rate = draft.spec.rate_bps / 1e6;
    let rtt = draft.spec.rtt_s * 1e3;
    let mut arguments = vec![
        format!("--rate={rate:.3} Mbit/s"),
        format!("--rtt={rtt:.3} ms"),
        format!("--seed={}", draft.spec.seed),
    ];
    arguments.extend_from_slice(more);
    if !draft.spec.offloads.tso {
        arguments.push("--no-offloads".into());
    }
    draft.spec.offloads.gro = false;
    draft.spec.offloads.gro_flush_us = 0;
    draft.spec.offloads.tso = !arguments.contains(&"--no-offloads".to_owned());
    draft.spec.net = Net::Emulate(arguments);
}
