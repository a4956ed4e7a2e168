//! Two successive causes, and other connections on the same link.

use super::{Draft, Family, eager, family};
use crate::kernels::apps::{App, Socket, Stage};
use crate::kernels::forward::config::{Bucket, Phase};
use crate::kernels::proof::Proof;
use crate::kernels::spec::{Host, Role};

const RANGES: [[f64; 2]; 2] = [[20.0, 120.0], [4.0, 50.0]];

const SHORT: [[f64; 2]; 2] = [[20.0, 120.0], [4.0, 15.0]];

pub(super) const FAMILIES: &[Family] = &[
    family(
        "two-app-full",
        "application-limited",
        RANGES,
        20.0,
        |draft| {
            let at = halves(draft, "path-saturated");
            let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.4);
            let every = draft.draw.magnitude(0.003, 0.04);
            let chunk = (rate * every / 8.0).max(1000.0);
            let slow = Stage {
                seconds: at,
                every_us: chunk * 8e6 / rate,
                ..eager(chunk as usize)
            };
            let fast = Stage {
                seconds: draft.spec.seconds - at,
                ..eager(65_536)
            };
            plain(draft, vec![slow, fast], vec![eager(262_144)]);
            split(draft, at, Proof::Offered(rate), Proof::Full);
        },
    ),
    family(
        "two-window-loss",
        "receive-window-limited",
        RANGES,
        100.0,
        |draft| {
            let at = halves(draft, "random-loss");
            let window = draft.bdp() * draft.draw.between(0.3, 0.6);
            let socket = Socket {
                rcvbuf: window as u32,
                ..Socket::default()
            };
            lose(draft, at);
            draft.own_bulk([Socket::default(), socket]);
            split(
                draft,
                at,
                Proof::Word("tcpi_rwnd_limited", 0.6),
                Proof::Lost(&["random"]),
            );
        },
    ),
    family("two-full-loss", "path-saturated", RANGES, 60.0, |draft| {
        let at = halves(draft, "random-loss");
        draft.queue(4.0);
        lose(draft, at);
        draft.own_bulk(Default::default());
        split(draft, at, Proof::Full, Proof::Lost(&["random"]));
    }),
    family("two-reader-full", "slow-reader", RANGES, 20.0, |draft| {
        let at = halves(draft, "path-saturated");
        let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.4);
        let slow = Stage {
            seconds: at,
            every_us: 8192.0 * 8e6 / rate,
            ..eager(8192)
        };
        draft.roomy();
        let writer = Stage {
            seconds: draft.spec.seconds,
            ..eager(65_536)
        };
        plain(draft, vec![writer], vec![slow, eager(262_144)]);
        split(draft, at, Proof::Unread, Proof::Full);
    }),
    family("two-paced-full", "pacing-limited", RANGES, 20.0, |draft| {
        let at = halves(draft, "path-saturated");
        let rate = draft.spec.rate_bps * draft.draw.between(0.15, 0.5);
        let slow = Stage {
            seconds: at,
            pacing: (rate / 8.0) as u64,
            ..eager(16_384)
        };
        let fast = Stage {
            seconds: draft.spec.seconds - at,
            pacing: (draft.spec.rate_bps * 4.0) as u64,
            ..eager(65_536)
        };
        let socket = Socket {
            // Data written before the change leaves soon after it.
            sndbuf: (rate / 8.0 * 0.2).max(200_000.0) as u32,
            ..Socket::default()
        };
        draft.transfer(
            vec![slow, fast],
            vec![eager(262_144)],
            [socket, Socket::default()],
        );
        split(draft, at, Proof::Paced(rate), Proof::Full);
    }),
    family("two-policer-full", "policer", SHORT, 60.0, |draft| {
        let at = halves(draft, "path-saturated");
        let mut forward = draft.forward().clone();
        forward.policer = None;
        let reverse = draft.reverse().clone();
        let rate = draft.spec.rate_bps * draft.draw.between(0.25, 0.6);
        draft.forward().policer = Some(Bucket {
            rate_bps: rate,
            bytes: (rate / 8.0 * 0.02).max(9000.0),
        });
        draft.spec.path().phases = vec![Phase {
            at_s: at,
            forward,
            reverse,
        }];
        draft.own_bulk(Default::default());
        split(draft, at, Proof::Policed(rate * 0.95), Proof::Full);
    }),
    family(
        "two-buffer-app",
        "send-buffer-limited",
        RANGES,
        60.0,
        |draft| {
            let at = halves(draft, "application-limited");
            let size = draft.bdp() * draft.draw.between(0.1, 0.2);
            draft.roomy();
            let rate = draft.spec.rate_bps * draft.draw.between(0.02, 0.08);
            let chunk = 4000;
            let fast = Stage {
                seconds: at,
                ..eager(65_536)
            };
            let slow = Stage {
                seconds: draft.spec.seconds - at,
                every_us: f64::from(chunk) * 8e6 / rate,
                ..eager(chunk as usize)
            };
            let socket = Socket {
                sndbuf: size.max(8192.0) as u32,
                nodelay: true,
                ..Socket::default()
            };
            draft.transfer(
                vec![fast, slow],
                vec![eager(262_144)],
                [socket, Socket::default()],
            );
            split(draft, at, Proof::Blocked, Proof::Offered(rate));
        },
    ),
    family(
        "two-app-loss",
        "application-limited",
        RANGES,
        100.0,
        |draft| {
            let at = halves(draft, "random-loss");
            let rate = draft.spec.rate_bps * draft.draw.between(0.05, 0.2);
            let slow = Stage {
                seconds: at,
                every_us: 8000.0 * 8e6 / rate,
                ..eager(8000)
            };
            let fast = Stage {
                seconds: draft.spec.seconds - at,
                ..eager(65_536)
            };
            lose(draft, at);
            plain(draft, vec![slow, fast], vec![eager(262_144)]);
            split(draft, at, Proof::Offered(rate), Proof::Lost(&["random"]));
        },
    ),
];

/// Sets the duration and the second cause. Returns the start of the second one in seconds.
fn halves(draft: &mut Draft, second: &'static str) -> f64 {
    draft.spec.seconds = (super::PACKETS * 12_000.0 / draft.spec.rate_bps).clamp(4.0, 5.0);
    draft.spec.second = Some(second);
    draft.spec.seconds * draft.draw.pick(&[0.35, 0.4, 0.6, 0.65])
}

fn split(draft: &mut Draft, at: f64, first: Proof, second: Proof) {
    draft.proof(Proof::Split(at, Box::new(first), Box::new(second)));
}

fn plain(draft: &mut Draft, stages: Vec<Stage>, readers: Vec<Stage>) {
    draft.transfer(stages, readers, [Socket::default(), Socket::default()]);
}

/// Adds random loss from second `at` on.
fn lose(draft: &mut Draft, at: f64) {
    let loss = super::loss::probability(draft) * 3.0;
    let mut forward = draft.forward().clone();
    forward.loss = loss;
    let reverse = draft.reverse().clone();
    draft.spec.path().phases = vec![Phase {
        at_s: at,
        forward,
        reverse,
    }];
}

/// Adds other connections between the same hosts, which begin earlier.
pub(super) fn others(draft: &mut Draft, count: u16) {
    for number in 0..count {
        let port = 5301 + number;
        let read = App::Read {
            port,
            socket: Socket::default(),
            stages: vec![eager(262_144)],
        };
        draft.app(Host::Receiver, Role::Server(port), read);
        let write = App::Write {
            to: format!("@RECEIVER:{port}"),
            socket: Socket::default(),
            stages: vec![Stage {
                seconds: draft.spec.seconds + 5.0,
                ..eager(65_536)
            }],
        };
        draft.app(Host::Sender, Role::Background, write);
    }
    draft.own_bulk(Default::default());
}
