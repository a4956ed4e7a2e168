//! Windows, buffers and pacing.

use super::full::emulate;
use super::{Draft, Family, eager, family};
use crate::kernels::apps::{Socket, Stage};
use crate::kernels::proof::Proof;

const RANGES: [[f64; 2]; 2] = [[20.0, 300.0], [2.0, 100.0]];

pub(super) const FAMILIES: &[Family] = &[
    family("rcvbuf", "receive-window-limited", RANGES, 80.0, |draft| {
        rcvbuf(draft);
    }),
    family(
        "rcvbuf-emulate",
        "receive-window-limited",
        RANGES,
        80.0,
        |draft| {
            rcvbuf(draft);
            emulate(draft, &["--queue=1 BDP".into()]);
        },
    ),
    family(
        "rcvbuf-thinned",
        "receive-window-limited",
        RANGES,
        200.0,
        |draft| {
            // Fewer ACKs than segments, without harm.
            rcvbuf(draft);
            draft.reverse().ack_keep = draft.draw.pick(&[2, 3, 4]);
        },
    ),
    family("rmem", "receive-window-limited", RANGES, 150.0, |draft| {
        let window = draft.bdp() * draft.draw.between(0.3, 0.8);
        let most = (window as u64).max(20_000);
        draft.set("tcp_rmem", &format!("4096 {} {most}", most.min(131_072)));
        draft.proof(Proof::Word("tcpi_rwnd_limited", 0.6));
    }),
    family(
        "no-scaling",
        "no-window-scaling",
        [[30.0, 300.0], [10.0, 120.0]],
        150.0,
        |draft| {
            draft.set("tcp_window_scaling", "0");
            draft.proof(Proof::Word("tcpi_rwnd_limited", 0.6));
        },
    ),
    family(
        "sndbuf-small",
        "send-buffer-limited",
        RANGES,
        30.0,
        |draft| {
            sndbuf(draft, &[8192, 16_384, 32_768]);
        },
    ),
    family(
        "sndbuf-medium",
        "send-buffer-limited",
        RANGES,
        30.0,
        |draft| {
            sndbuf(draft, &[49_152, 65_536, 98_304]);
        },
    ),
    family(
        "sndbuf-large",
        "send-buffer-limited",
        [[80.0, 400.0], [20.0, 100.0]],
        30.0,
        |draft| {
            sndbuf(draft, &[131_072, 262_144, 393_216]);
        },
    ),
    family("wmem", "send-buffer-limited", RANGES, 150.0, |draft| {
        let bytes = (draft.bdp() * draft.draw.between(0.15, 0.4)) as u64;
        draft.queue(4.0);
        let socket = Socket {
            nodelay: true,
            ..Socket::default()
        };
        draft.own_bulk([socket, Socket::default()]);
        draft.set("tcp_wmem", &format!("4096 {0} {0}", bytes.max(16_384)));
        draft.proof(Proof::Blocked);
    }),
    family("paced", "pacing-limited", RANGES, 20.0, |draft| {
        let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.7);
        let socket = Socket {
            pacing: (rate / 8.0) as u64,
            ..Socket::default()
        };
        draft.own_bulk([socket, Socket::default()]);
        draft.proof(Proof::Paced(rate));
    }),
    family("paced-iperf3", "pacing-limited", RANGES, 20.0, |draft| {
        let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.7);
        draft.bulk_by("iperf3");
        draft.client_option(format!("--fq-rate={}", rate as u64));
        draft.proof(Proof::Paced(rate));
    }),
    family(
        "rcvbuf-bbr",
        "receive-window-limited",
        RANGES,
        80.0,
        |draft| {
            draft.control("bbr");
            rcvbuf(draft);
        },
    ),
    family("sndbuf-bbr", "send-buffer-limited", RANGES, 30.0, |draft| {
        draft.control("bbr");
        sndbuf(draft, &[16_384, 65_536, 131_072]);
    }),
];

/// Sets a receive window of a share of the BDP, by `SO_RCVBUF`.
pub(super) fn rcvbuf(draft: &mut Draft) {
    let window = draft.bdp() * draft.draw.between(0.2, 0.7);
    let socket = Socket {
        rcvbuf: (window as u32).max(4096),
        ..Socket::default()
    };
    draft.own_bulk([Socket::default(), socket]);
    draft.proof(Proof::Word("tcpi_rwnd_limited", 0.6));
}

/// Sets one of these `SO_SNDBUF` sizes, on a path with a several times larger BDP.
fn sndbuf(draft: &mut Draft, sizes: &[u32]) {
    let size = draft.draw.pick(sizes);
    let factor = draft.draw.between(4.0, 12.0);
    let rate = f64::from(size) * factor * 8.0 / draft.spec.rtt_s;
    if !(10e6..=400e6).contains(&rate) {
        let bounded = rate.clamp(10e6, 400e6);
        draft.spec.rtt_s = f64::from(size) * factor * 8.0 / bounded;
        let half = draft.spec.rtt_s / 2.0 * 1e6;
        draft.forward().delay_us = half;
        draft.reverse().delay_us = half;
        draft.rate(bounded);
    } else {
        draft.rate(rate);
    }
    let socket = Socket {
        sndbuf: size,
        // The partial segment that Nagle's algorithm holds back would exceed the buffer: the
        // kernel checks the limit only at a new packet.
        nodelay: true,
        ..Socket::default()
    };
    draft.queue(4.0);
    let chunk = draft.draw.pick(&[2896, 8192, 16_384]);
    let stage = Stage {
        seconds: draft.spec.seconds,
        ..eager(chunk)
    };
    draft.transfer(
        vec![stage],
        vec![eager(262_144)],
        [socket, Socket::default()],
    );
    draft.proof(Proof::Blocked);
}
