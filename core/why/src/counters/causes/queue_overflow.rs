//! Losses when the queue is longest: the queue is too short for the path.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "queue-overflow",
    waits: &[(Wait::Rest, 0.7), (Wait::Stalled, -4.0)],
    needs: Some(F::LossRate),
    curves: &[
        (F::LossLaw, &[(0.05, -8.0), (0.2, -5.0), (0.6, 0.0)]),
        (F::LossHere, &[(0.0, -1.0), (0.001, 0.3)]),
        (F::LossRate, &[(0.02, 0.0), (0.06, -1.5)]),
        (F::HostDrops, &[(0.02, 0.0), (0.2, -3.0)]),
        (F::LossQueue, &[(0.3, -2.0), (0.7, 0.5), (0.95, 1.5)]),
        (F::LossQueueMs, &[(0.3, -1.0), (2.0, 0.3)]),
        (F::LossFlightSpread, &[(0.1, 2.0), (0.4, -0.5)]),
        (F::RateOfPeak, &[(0.5, 0.5), (0.85, 0.5), (0.97, -1.0)]),
        (F::Queue, &[(0.05, 0.3), (0.4, -0.3), (1.0, -1.0)]),
        (F::Model, &[(0.0, 0.0), (1.0, -1.5)]),
        (F::Spurious, &[(0.1, 0.3), (0.5, -2.0)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.losses(),
        finding: format!(
            "{} with the RTT near its largest; recovery and the smaller cwnd after it took {}.",
            c.losses_text(),
            c.time()
        ),
        evidence: vec![c.all([c.loss_queue_text(), c.queue_text()])],
        fix: format!(
            "a queue of about {} (one bandwidth-delay product) at the bottleneck, or AQM with ECN there; at the sender pacing or BBR (Linux: fq, tcp_bbr)",
            c.bdp()
        ),
    }
}
