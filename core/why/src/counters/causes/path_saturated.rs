//! A full path: the delivery rate is at its best and the RTT above its minimum.

use alloc::format;
use alloc::vec;

use super::super::explain::Context;
use super::super::features::Feature as F;
use super::super::slice::Wait;
use super::{Card, Words};

pub(super) const CARD: Card = Card {
    id: "path-saturated",
    waits: &[
        (Wait::Window, 0.0),
        (Wait::Buffer, 0.0),
        (Wait::Rest, 0.3),
        (Wait::Stalled, -3.0),
    ],
    needs: None,
    curves: &[
        (F::AppIdle, &[(0.1, 0.0), (0.5, -3.0)]),
        (F::IdleShare, &[(0.05, 0.0), (0.2, -2.5)]),
        (F::Coarse, &[(0.0, 0.0), (1.0, 1.0)]),
        (F::HostDrops, &[(0.02, 0.0), (0.2, -2.0)]),
        (F::Spurious, &[(0.2, 0.0), (0.7, -1.5)]),
        (F::LossHere, &[(0.01, 0.0), (0.05, -1.0)]),
        (F::ReceiverThrottled, &[(0.1, 0.0), (0.4, -2.0)]),
        (F::ReceiverProcess, &[(0.85, 0.0), (0.97, -2.0)]),
        (F::Unread, &[(0.3, 0.0), (0.6, -2.5)]),
        (F::WindowLow, &[(0.3, -2.0), (0.8, 0.0)]),
        (F::AppLimited, &[(0.3, 0.2), (0.9, -1.0)]),
        (F::NothingUnsent, &[(0.3, 0.3), (0.6, -0.5), (0.95, -3.0)]),
        (
            F::Queue,
            &[
                (0.0, -2.5),
                (0.05, -1.2),
                (0.15, 0.5),
                (0.4, 1.5),
                (1.0, 2.2),
            ],
        ),
        (
            F::QueueMs,
            &[(0.2, -1.5), (1.0, -0.5), (3.0, 0.5), (10.0, 1.0)],
        ),
        (
            F::RateOfPeak,
            &[(0.3, -3.0), (0.6, -1.0), (0.85, 0.5), (0.95, 1.0)],
        ),
        (F::ModelRate, &[(0.5, -1.0), (0.8, 1.5), (0.95, 3.0)]),
        (
            F::CwndOfBdp,
            &[(0.5, -1.5), (0.9, -0.3), (1.2, 0.5), (2.0, 0.8)],
        ),
        (F::PacingCap, &[(0.5, 0.0), (0.9, -0.5), (0.99, -1.5)]),
        (F::Local, &[(0.2, 0.3), (0.5, -1.0)]),
        (F::RateSteady, &[(0.1, 0.6), (0.4, 0.0), (1.0, -0.8)]),
    ],
    explain,
};

fn explain(c: &Context<'_>) -> Words {
    Words {
        figure: c.rate(),
        finding: format!("The bottleneck was busy for {}.", c.time()),
        evidence: vec![c.all([c.rate_text("delivered"), c.queue_text(), c.flight_text()])],
        fix: format!(
            "a faster path; an RTT without the queue needs a window of {}",
            c.bdp()
        ),
    }
}
