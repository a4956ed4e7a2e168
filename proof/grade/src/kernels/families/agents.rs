//! Cases for agents: eight faults and eight healthy transfers, each among smaller flows.
//!
//! They are no part of [`all`](super::all): no weight is fitted to them.

use super::full::{emulate, tbf};
use super::loss::probability;
use super::{App, Draft, Family, Host, Role, Socket, Stage, eager, family, hosts, windows};
use crate::kernels::proof::Proof;
use crate::kernels::spec::Cpu;

const RANGES: [[f64; 2]; 2] = [[20.0, 120.0], [5.0, 40.0]];

/// Begins the names of healthy families.
pub const HEALTHY: &str = "agent-healthy";

/// Families for agents.
pub const FAMILIES: &[Family] = &[
    family(
        "agent-rcvbuf",
        "receive-window-limited",
        RANGES,
        80.0,
        |draft| {
            windows::rcvbuf(draft);
            noise(draft);
        },
    ),
    family("agent-cpu", "sender-cpu-limited", RANGES, 0.0, |draft| {
        let (share, period_us) = (0.02, 100_000);
        hosts::compute(draft, share, true);
        hosts::cpu(draft, Host::Sender, Cpu::Quota { share, period_us });
        draft.spec.seconds = 4.0;
        draft.proof(Proof::Busy("sender"));
        draft.spec.acceptable = vec!["application-limited"];
        noise(draft);
    }),
    family(
        "agent-shallow",
        "queue-overflow",
        [[100.0, 100.0], [15.0, 40.0]],
        0.0,
        |draft| {
            // A token bucket at 100 Mbit/s whose queue has 16 kB.
            draft.forward().queue_packets = 0;
            draft.forward().queue_bytes = 16_000;
            draft.proof(Proof::Lost(&["queue"]));
            draft.bulk();
            noise(draft);
        },
    ),
    family("agent-corrupt", "random-loss", RANGES, 20.0, |draft| {
        emulate(draft, &["corrupt=0.08".into(), "--queue=2 BDP".into()]);
        draft.spec.acceptable = vec!["rto-backoff"];
        draft.proof(Proof::Lost(&["corrupt"]));
        draft.bulk();
        noise(draft);
    }),
    family(
        "agent-mtu",
        "mss-clamped",
        [[5.0, 40.0], [5.0, 30.0]],
        0.0,
        |draft| {
            draft.spec.mtu = 500;
            draft.spec.mss = 448.0;
            draft.queue(4.0);
            draft.proof(Proof::Small(500.0));
            draft.bulk();
            noise(draft);
        },
    ),
    family("agent-loss", "random-loss", RANGES, 60.0, |draft| {
        draft.forward().loss_behind = draft.draw.chance(0.5);
        draft.forward().loss = 0.02;
        draft.spec.acceptable = vec!["rto-backoff"];
        draft.proof(Proof::Lost(&["random"]));
        draft.bulk();
        noise(draft);
    }),
    family("agent-ecn", "ecn-marks", RANGES, 30.0, |draft| {
        // Marks begin where the queue is nearly full: the link is, too.
        draft.set("tcp_ecn", "1");
        draft.queue(2.0);
        let limit = draft.forward().queue_packets;
        draft.forward().mark_above = limit * 9 / 10;
        draft.spec.acceptable = vec!["path-saturated"];
        draft.bulk();
        noise(draft);
    }),
    family(
        "agent-slow",
        "path-saturated",
        [[0.2, 0.2], [20.0, 80.0]],
        0.0,
        |draft| {
            draft.spec.seconds = 12.0;
            draft.forward().queue_packets = draft.draw.pick(&[10, 20, 40]);
            draft.own_bulk(Default::default());
            noise(draft);
        },
    ),
    family(
        "agent-healthy-cubic",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            draft.control("cubic");
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-reno",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            draft.control("reno");
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-bbr",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            draft.control("bbr");
            draft.queue(2.0);
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-deep",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            draft.queue(8.0);
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-shaper",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            let rate = draft.spec.rate_bps;
            let room = (draft.bdp() * draft.draw.between(1.0, 3.0)).max(60_000.0);
            draft.forward().rate_bps = 1.3 * rate;
            draft.roomy();
            draft.spec.middle_behind = false;
            draft.spec.tc = Some(tbf(false, rate, 8000, room));
            draft.proof(Proof::Shaped(rate));
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-emulate",
        "path-saturated",
        RANGES,
        10.0,
        |draft| {
            emulate(draft, &["--queue=1.5 BDP".into()]);
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-acks",
        "path-saturated",
        RANGES,
        30.0,
        |draft| {
            draft.reverse().ack_keep = draft.draw.pick(&[3, 4]);
            healthy(draft);
        },
    ),
    family(
        "agent-healthy-lossy",
        "path-saturated",
        RANGES,
        20.0,
        |draft| {
            // Losses so rare that the link stays full.
            draft.queue(2.0);
            let loss = probability(draft) / 100.0;
            draft.forward().loss = loss;
            healthy(draft);
        },
    ),
];

fn healthy(draft: &mut Draft) {
    draft.bulk();
    noise(draft);
}

/// Adds one to three flows, each of up to 2 % of the rate, that begin before the graded one.
fn noise(draft: &mut Draft) {
    let count = draft.draw.pick(&[1_u16, 2, 3]);
    for port in 5401..5401 + count {
        let read = App::Read {
            port,
            socket: Socket::default(),
            stages: vec![eager(65_536)],
        };
        draft.app(Host::Receiver, Role::Server(port), read);
        let rate = draft.spec.rate_bps * draft.draw.magnitude(0.002, 0.02);
        let chunk = draft.draw.pick(&[200, 1000, 4000]);
        let write = App::Write {
            to: format!("@RECEIVER:{port}"),
            socket: Socket::default(),
            stages: vec![Stage {
                seconds: draft.spec.seconds + 5.0,
                every_us: chunk as f64 * 8e6 / rate,
                ..eager(chunk)
            }],
        };
        draft.app(Host::Sender, Role::Background, write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_families_are_eight_faulty_and_eight_healthy_with_one_graded_program() {
        let healthy = FAMILIES
            .iter()
            .filter(|family| family.name.starts_with(HEALTHY));
        assert_eq!((healthy.count(), FAMILIES.len()), (8, 16));
        for family in FAMILIES {
            for seed in 1..11 {
                let case = family.case(seed);
                let main = case.tasks.iter().filter(|task| task.role == Role::Main);
                assert_eq!(main.count(), 1, "{} {seed}", family.name);
            }
        }
    }
}
