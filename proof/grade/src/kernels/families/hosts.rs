//! Slow hosts: readers, writers, CPU quotas, competing programs.

use super::{Draft, Family, eager, family};
use crate::kernels::apps::{App, Socket, Stage};
use crate::kernels::proof::Proof;
use crate::kernels::spec::{Cpu, Host, Program, Role};

const RANGES: [[f64; 2]; 2] = [[40.0, 300.0], [0.5, 40.0]];

/// Time of one iteration of an application's work.
const ITERATION_NS: f64 = 1.6;

pub(super) const FAMILIES: &[Family] = &[
    family("slow-reader", "slow-reader", RANGES, 0.0, |draft| {
        let rate = draft.spec.rate_bps * draft.draw.between(0.1, 0.6);
        let chunk = draft.draw.pick(&[2048, 8192, 32_768]);
        let reader = Stage {
            every_us: chunk as f64 * 8e6 / rate,
            ..eager(chunk)
        };
        read_slowly(draft, reader);
    }),
    family("slow-reader-bursts", "slow-reader", RANGES, 0.0, |draft| {
        let period = draft.draw.magnitude(0.05, 0.6);
        let share = draft.draw.between(0.1, 0.4);
        let reader = Stage {
            on_off_s: [period * share, period * (1.0 - share)],
            ..eager(65_536)
        };
        read_slowly(draft, reader);
        for task in &mut draft.spec.tasks {
            if let Program::App(App::Read { socket, .. }) = &mut task.program {
                // A buffer that holds all data of a pause would hide it.
                let paused = draft.spec.rate_bps / 8.0 * period * (1.0 - share);
                socket.rcvbuf = (paused * 0.3).clamp(16_384.0, 1e6) as u32;
            }
        }
    }),
    family(
        "receiver-quota",
        "receiver-cpu-limited",
        RANGES,
        0.0,
        |draft| {
            let share = draft.draw.between(0.1, 0.5);
            let period_us = draft.draw.pick(&[10_000, 20_000, 50_000, 100_000]);
            compute(draft, share, false);
            cpu(draft, Host::Receiver, Cpu::Quota { share, period_us });
            draft.proof(Proof::Busy("receiver"));
            draft.spec.acceptable = vec!["slow-reader"];
        },
    ),
    family(
        "receiver-hog",
        "receiver-cpu-limited",
        RANGES,
        0.0,
        |draft| {
            compute(draft, 0.25, false);
            let nice = draft.draw.pick(&[3, 5, 8]);
            cpu(draft, Host::Receiver, Cpu::Shared { nice });
            hog(draft, Host::Receiver);
            draft.proof(Proof::Unread);
            draft.spec.acceptable = vec!["slow-reader"];
        },
    ),
    family(
        "receiver-compute",
        "receiver-cpu-limited",
        RANGES,
        0.0,
        |draft| {
            compute(draft, 1.0, false);
            draft.proof(Proof::Busy("receiver"));
            draft.spec.acceptable = vec!["slow-reader"];
        },
    ),
    family(
        "rx-ring",
        "rx-ring-overrun",
        [[200.0, 400.0], [15.0, 50.0]],
        0.0,
        |draft| {
            draft.spec.offloads.gro = true;
            draft.spec.offloads.gro_flush_us = 0;
            let period_us = draft.draw.pick(&[80_000, 100_000, 150_000]);
            // The kernel's minimum quota is one millisecond.
            let share = 1000.0 / f64::from(period_us);
            draft.spec.napi_quota = Some((share, period_us));
            draft.spec.seconds = 3.5;
            draft.control("reno");
            draft.queue(1.0);
            draft.proof(Proof::Softirq(true));
            draft.spec.acceptable = vec!["receiver-cpu-limited"];
        },
    ),
    family("sender-quota", "sender-cpu-limited", RANGES, 0.0, |draft| {
        let share = draft.draw.between(0.1, 0.5);
        let period_us = draft.draw.pick(&[10_000, 20_000, 50_000, 100_000]);
        compute(draft, share, true);
        cpu(draft, Host::Sender, Cpu::Quota { share, period_us });
        draft.proof(Proof::Busy("sender"));
        draft.spec.acceptable = vec!["application-limited"];
    }),
    family(
        "sender-compute",
        "sender-cpu-limited",
        RANGES,
        0.0,
        |draft| {
            compute(draft, 1.0, true);
            draft.proof(Proof::Busy("sender"));
            draft.spec.acceptable = vec!["application-limited"];
        },
    ),
];

fn read_slowly(draft: &mut Draft, reader: Stage) {
    let socket = Socket {
        rcvbuf: draft.draw.pick(&[0, 65_536, 131_072, 262_144]),
        ..Socket::default()
    };
    let writer = Stage {
        seconds: draft.spec.seconds,
        ..eager(65_536)
    };
    draft.roomy();
    draft.transfer(vec![writer], vec![reader], [Socket::default(), socket]);
    draft.proof(Proof::Unread);
}

/// Makes one end compute, which limits its rate. At that rate it uses `share` of a CPU.
pub(super) fn compute(draft: &mut Draft, share: f64, is_sender: bool) {
    let rate = draft.spec.rate_bps * draft.draw.between(0.15, 0.5);
    let chunk = draft.draw.pick(&[4096, 16_384, 65_536]);
    let time_ns = share * 1024.0 * 8e9 / rate;
    let busy = Stage {
        work: (time_ns / ITERATION_NS) as u64,
        ..eager(chunk)
    };
    let lasting = |stage: Stage| Stage {
        seconds: draft.spec.seconds,
        ..stage
    };
    let (writer, reader) = if is_sender {
        (lasting(busy), eager(262_144))
    } else {
        (lasting(eager(65_536)), busy)
    };
    let socket = Socket {
        rcvbuf: if is_sender {
            0
        } else {
            draft.draw.pick(&[0, 131_072, 262_144])
        },
        ..Socket::default()
    };
    draft.roomy();
    draft.transfer(vec![writer], vec![reader], [Socket::default(), socket]);
}

pub(super) fn cpu(draft: &mut Draft, host: Host, cpu: Cpu) {
    for task in &mut draft.spec.tasks {
        if task.host == host {
            task.cpu = cpu;
        }
    }
}

fn hog(draft: &mut Draft, host: Host) {
    draft.app(host, Role::Background, App::Hog).cpu = Cpu::Hog;
}
