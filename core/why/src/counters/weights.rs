//! The weights of all cards: bias of each wait, and a row for each feature that says something.
//!
//! Written by `counters --fit` (`drive/grade`). A row has a log likelihood ratio in nats for
//! each of [`Feature::knots`](super::features::Feature::knots). Nothing else of this module
//! is fitted.

use super::features::Feature as F;
use super::slice::Wait;

/// The weights of a card.
pub struct Weights {
    /// Its id.
    pub card: &'static str,
    /// The waits in which its cause can hold, and a bias for each.
    pub waits: &'static [(Wait, f64)],
    /// Features, and a score at each of their knots.
    pub rows: &'static [(F, &'static [f64])],
}

/// In the order of [`CARDS`](super::causes::CARDS).
#[rustfmt::skip]
pub const WEIGHTS: &[Weights] = &[
    Weights {
        card: "path-saturated",
        waits: &[(Wait::Window, 0.0), (Wait::Buffer, 0.0), (Wait::Rest, 0.3), (Wait::Stalled, -3.0)],
        rows: &[
            (F::Coarse, &[0.0, 1.0]),
            (F::WindowLow, &[-2.0, -2.0, -0.8, 0.0, 0.0]),
            (F::IdleShare, &[0.0, -2.5, -2.5]),
            (F::AppLimited, &[0.2, -0.8]),
            (F::NothingUnsent, &[0.3, -0.5, -2.64]),
            (F::AppIdle, &[0.0, 0.0, -1.5, -3.0]),
            (F::Queue, &[-2.5, -1.2, 0.5, 1.5, 2.2, 2.2]),
            (F::QueueMs, &[-1.5, -0.5, 0.5, 1.0, 1.0]),
            (F::RateOfPeak, &[-3.0, -1.0, 0.5, 1.0]),
            (F::CwndOfBdp, &[-1.5, -0.3, 0.5, 0.8, 0.8]),
            (F::ModelRate, &[-1.0, 1.5, 3.0]),
            (F::PacingCap, &[0.0, -0.5, -1.5]),
            (F::Local, &[0.3, 0.3, -0.13, -1.0, -1.0]),
            (F::LossHere, &[0.0, 0.0, 0.0, -1.0]),
            (F::RateSteady, &[0.6, 0.2, -0.53]),
            (F::Spurious, &[0.0, -0.3, -1.2, -1.5]),
            (F::ReceiverProcess, &[0.0, 0.0, 0.0, -1.67]),
            (F::ReceiverThrottled, &[0.0, -1.33, -2.0]),
            (F::Unread, &[0.0, 0.0, 0.0, -2.5, -2.5]),
            (F::HostDrops, &[0.0, -0.89, -2.0, -2.0]),
        ],
    },
    Weights {
        card: "local-queue",
        waits: &[(Wait::Rest, 0.0), (Wait::Window, -1.0), (Wait::Buffer, -1.0)],
        rows: &[
            (F::Queue, &[-2.5, -1.2, 0.5, 1.5, 2.2, 2.2]),
            (F::RateOfPeak, &[-2.0, -0.64, 0.5, 1.0]),
            (F::Local, &[-3.0, -3.0, -1.0, 2.5, 3.5]),
        ],
    },
    Weights {
        card: "pacing-limited",
        waits: &[(Wait::Rest, -1.0), (Wait::Window, -2.0), (Wait::Buffer, -2.0)],
        rows: &[
            (F::NothingUnsent, &[0.5, -0.5, -1.5]),
            (F::Queue, &[0.5, 0.5, 0.25, -1.0, -1.5, -1.5]),
            (F::PacingUse, &[-3.0, -0.5, 1.0]),
            (F::PacingCap, &[-4.0, -2.0, 3.5]),
            (F::PacingStill, &[-3.0, -1.0, 2.0]),
        ],
    },
    Weights {
        card: "receive-window-limited",
        waits: &[(Wait::Window, 2.0), (Wait::Rest, -2.0), (Wait::Receiving, 0.0)],
        rows: &[
            (F::WindowShare, &[-1.0, 0.5, 1.0]),
            (F::Coarse, &[0.0, 2.2]),
            (F::WindowFill, &[-3.0, -0.5, 1.5, 2.0]),
            (F::WindowLow, &[-2.5, -2.12, -1.0, 0.2, 1.0]),
            (F::DefaultWindow, &[0.0, 1.2]),
            (F::Unscaled, &[0.0, -0.5]),
            (F::Queue, &[1.0, 1.0, 0.33, -1.0, -2.0, -2.5]),
            (F::ReceiverProcess, &[0.0, 0.0, 0.0, -1.25]),
            (F::ReceiverThrottled, &[0.0, -1.33, -2.0]),
            (F::Unread, &[0.5, 0.5, -0.5, -2.5, -2.5]),
            (F::ReceiveFill, &[-3.0, -0.5, 2.0]),
        ],
    },
    Weights {
        card: "no-window-scaling",
        waits: &[(Wait::Window, 2.0), (Wait::Rest, -2.0), (Wait::Receiving, 0.0)],
        rows: &[
            (F::WindowShare, &[-1.0, 0.5, 1.0]),
            (F::Coarse, &[0.0, 2.2]),
            (F::WindowFill, &[-3.0, -0.5, 1.5, 2.0]),
            (F::WindowLow, &[-2.5, -2.12, -1.0, 0.2, 1.0]),
            (F::Unscaled, &[0.0, 1.5]),
            (F::Queue, &[1.0, 1.0, 0.33, -1.0, -2.0, -2.5]),
            (F::Unread, &[0.5, 0.5, -0.5, -2.5, -2.5]),
            (F::ReceiveFill, &[-3.0, -0.5, 2.0]),
        ],
    },
    Weights {
        card: "slow-reader",
        waits: &[(Wait::Window, 1.0), (Wait::Rest, -1.5), (Wait::Stalled, -0.5), (Wait::Receiving, 0.5)],
        rows: &[
            (F::Coarse, &[0.0, 1.0]),
            (F::WindowFill, &[-2.0, -0.44, 0.5, 1.0]),
            (F::WindowLow, &[2.5, 2.0, 1.0, 0.0, -2.0]),
            (F::Queue, &[0.5, 0.5, 0.39, 0.11, 0.0, 0.0]),
            (F::ReceiverProcess, &[0.5, 0.5, -0.5, -1.5]),
            (F::ReceiverThrottled, &[0.0, -1.33, -2.0]),
            (F::Unread, &[-2.5, -2.5, 0.0, 2.0, 3.0]),
            (F::NotReading, &[-1.0, 2.0]),
        ],
    },
    Weights {
        card: "receiver-cpu-limited",
        waits: &[(Wait::Window, 0.5), (Wait::Rest, -1.5), (Wait::Stalled, -0.5), (Wait::Receiving, 0.0)],
        rows: &[
            (F::WindowFill, &[-2.0, -0.44, 0.5, 1.0]),
            (F::WindowLow, &[2.5, 2.0, 1.0, 0.0, -2.0]),
            (F::Queue, &[0.5, 0.5, 0.39, 0.11, 0.0, 0.0]),
            (F::ReceiverProcess, &[-3.0, -3.0, 0.0, 2.5]),
            (F::ReceiverCore, &[-1.0, 0.5, 2.0]),
            (F::ReceiverThrottled, &[0.0, 2.14, 3.0]),
            (F::Unread, &[-2.5, -2.5, 0.0, 2.0, 3.0]),
            (F::NotReading, &[0.0, -2.0]),
        ],
    },
    Weights {
        card: "send-buffer-limited",
        waits: &[(Wait::Buffer, 3.0), (Wait::Rest, -0.5), (Wait::Window, -2.0)],
        rows: &[
            (F::Coarse, &[0.0, -1.5]),
            (F::BufferShare, &[-1.0, 0.5, 1.0]),
            (F::SendFill, &[-2.5, -2.5, 0.0, 2.0]),
            (F::BufferFill, &[-3.0, -0.5, 1.0, 1.0]),
            (F::AppLimited, &[-0.3, 0.3]),
            (F::NothingUnsent, &[-2.0, -0.5, 0.5]),
            (F::Answers, &[0.1, -3.0]),
            (F::AppIdle, &[1.0, 0.3, -2.5, -2.5]),
            (F::CwndFill, &[1.0, 1.0, 0.5, -1.0]),
            (F::Queue, &[0.8, 0.8, 0.27, -0.75, -1.5, -1.5]),
            (F::Spurious, &[0.0, 0.0, -0.6, -1.0]),
        ],
    },
    Weights {
        card: "application-limited",
        waits: &[(Wait::Idle, 3.0), (Wait::Rest, -0.5), (Wait::Window, -2.0), (Wait::Buffer, -3.0)],
        rows: &[
            (F::SendFill, &[1.0, 0.5, -0.4, -1.0]),
            (F::IdleShare, &[-0.3, 1.2, 1.2]),
            (F::AppLimited, &[-2.0, 1.0]),
            (F::NothingUnsent, &[-3.0, -0.5, 1.0]),
            (F::Answers, &[-0.2, 2.0]),
            (F::AppIdle, &[-2.5, -1.36, 1.5, 2.5]),
            (F::CwndFill, &[1.0, 0.5, -0.56, -1.5]),
            (F::Queue, &[0.3, 0.3, 0.17, -0.48, -1.0, -1.0]),
            (F::SenderProcess, &[0.0, 0.0, 0.0, -1.3]),
            (F::SenderThrottled, &[0.0, -1.33, -2.0]),
        ],
    },
    Weights {
        card: "cwnd-growth-limited",
        waits: &[(Wait::Rest, 0.0), (Wait::Idle, -4.0)],
        rows: &[
            (F::Coarse, &[0.0, -1.0]),
            (F::NothingUnsent, &[0.5, -0.5, -1.5]),
            (F::Answers, &[0.1, -1.0]),
            (F::CwndFill, &[-2.0, -2.0, 0.1, 0.94]),
            (F::Queue, &[1.0, 1.0, 0.0, -1.5, -2.5, -2.5]),
            (F::RateOfPeak, &[0.7, 0.53, 0.09, -0.15]),
            (F::CwndOfBdp, &[0.8, 0.36, -0.3, -1.5, -1.5]),
            (F::Growth, &[-1.0, -0.3, 0.5, 1.5]),
            (F::Early, &[-3.0, 1.0]),
            (F::ModelRate, &[0.5, -0.3, -1.5]),
            (F::LossHere, &[0.0, -1.0, -1.0, -1.0]),
        ],
    },
    Weights {
        card: "sender-cpu-limited",
        waits: &[(Wait::Idle, 0.0), (Wait::Rest, -2.0), (Wait::Buffer, -3.0)],
        rows: &[
            (F::NothingUnsent, &[-1.0, -0.25, 0.5]),
            (F::AppIdle, &[0.0, 0.0, -0.5, -2.0]),
            (F::Queue, &[0.3, 0.3, 0.12, -0.78, -1.5, -1.5]),
            (F::SenderProcess, &[-3.0, -3.0, 0.5, 5.0]),
            (F::SenderCore, &[-1.0, -0.26, 1.5]),
            (F::SenderThrottled, &[0.0, 5.0, 5.0]),
        ],
    },
    Weights {
        card: "random-loss",
        waits: &[(Wait::Rest, 0.7), (Wait::Window, -3.0), (Wait::Stalled, -2.5)],
        rows: &[
            (F::NothingUnsent, &[0.0, -0.33, -1.33]),
            (F::AppIdle, &[0.0, 0.0, 0.0, -1.12]),
            (F::Queue, &[0.8, 0.8, 0.28, -0.71, -2.0, -2.0]),
            (F::Model, &[0.0, -1.5]),
            (F::LossRate, &[-0.5, 0.5, 0.44, 0.3, -0.5]),
            (F::LossHere, &[-0.5, 0.5, 0.56, 0.8]),
            (F::LossLaw, &[-8.0, -5.0, 0.0, 0.0]),
            (F::LossQueue, &[1.2, 0.0, -0.6, -1.2]),
            (F::LossQueueMs, &[1.0, 1.0, 0.0, -1.2]),
            (F::LossFlightSpread, &[-1.5, 0.38, 1.0]),
            (F::RateSteady, &[-1.0, 0.0, 0.5]),
            (F::Spurious, &[0.3, -0.85, -2.0, -2.0]),
            (F::Reordered, &[0.2, -0.9, -2.0]),
            (F::Marked, &[0.0, -0.08, -1.5, -1.5]),
            (F::HostDrops, &[0.0, -1.33, -3.0, -3.0]),
        ],
    },
    Weights {
        card: "queue-overflow",
        waits: &[(Wait::Rest, 0.7), (Wait::Stalled, -4.0)],
        rows: &[
            (F::Queue, &[0.3, 0.3, 0.13, -0.3, -1.0, -1.0]),
            (F::RateOfPeak, &[0.5, 0.5, 0.5, -0.75]),
            (F::Model, &[0.0, -1.5]),
            (F::LossRate, &[0.0, 0.0, 0.0, -0.38, -1.5]),
            (F::LossHere, &[-1.0, 0.3, 0.3, 0.3]),
            (F::LossLaw, &[-8.0, -5.0, 0.0, 0.0]),
            (F::LossQueue, &[-2.0, -0.75, 0.5, 1.5]),
            (F::LossQueueMs, &[-1.0, -0.46, 0.3, 0.3]),
            (F::LossFlightSpread, &[2.0, -0.5, -0.5]),
            (F::Spurious, &[0.3, -0.85, -2.0, -2.0]),
            (F::HostDrops, &[0.0, -1.33, -3.0, -3.0]),
        ],
    },
    Weights {
        card: "policer",
        waits: &[(Wait::Rest, 0.3), (Wait::Stalled, -4.5)],
        rows: &[
            (F::Queue, &[1.0, 1.0, 0.67, -1.0, -1.0, -1.0]),
            (F::LossRate, &[-2.0, -2.0, 0.0, 1.0, 1.5]),
            (F::LossHere, &[-2.5, -1.25, 0.31, 0.7]),
            (F::LossQueue, &[0.5, 0.17, -0.17, -0.5]),
            (F::LossRow, &[-1.0, -1.0, 0.8, 1.5]),
            (F::RateSteady, &[1.0, 0.3, -1.0]),
            (F::Spurious, &[0.3, -0.85, -2.0, -2.0]),
            (F::Reordered, &[0.2, -0.9, -2.0]),
            (F::HostDrops, &[0.0, -1.33, -3.0, -3.0]),
        ],
    },
    Weights {
        card: "ecn-marks",
        waits: &[(Wait::Rest, 1.5)],
        rows: &[
            (F::Queue, &[0.8, 0.8, 0.6, -0.4, -0.8, -0.8]),
            (F::RateOfPeak, &[0.5, 0.5, 0.17, -0.5]),
            (F::LossRate, &[0.5, 0.4, -0.3, -1.5, -1.5]),
            (F::Marked, &[-1.0, -1.0, 1.5, 2.5]),
        ],
    },
    Weights {
        card: "reordering-mistaken-for-loss",
        waits: &[(Wait::Rest, 1.0), (Wait::Window, -2.0), (Wait::Stalled, -1.0)],
        rows: &[
            (F::LossLaw, &[-8.0, -5.0, 0.0, 0.0]),
            (F::Spurious, &[-4.0, -0.5, 2.0, 3.5]),
            (F::Reordered, &[-0.3, 0.8, 1.5]),
        ],
    },
    Weights {
        card: "rto-backoff",
        waits: &[(Wait::Stalled, 2.0), (Wait::Rest, -4.0)],
        rows: &[
            (F::Timeouts, &[-1.0, 0.5, 1.0]),
            (F::StallLong, &[0.3, 0.3, -0.6, -1.5]),
        ],
    },
    Weights {
        card: "outage",
        waits: &[(Wait::Stalled, 1.0)],
        rows: &[
            (F::LossRate, &[1.0, 1.0, 0.78, -0.11, -1.0]),
            (F::StallLong, &[-3.0, -0.5, 3.0, 4.5]),
        ],
    },
    Weights {
        card: "rx-ring-overrun",
        waits: &[(Wait::Rest, 1.0), (Wait::Window, -1.0), (Wait::Stalled, 0.0)],
        rows: &[
            (F::HostDrops, &[-2.0, -1.3, 1.5, 4.0]),
        ],
    },
    Weights {
        card: "ack-path",
        waits: &[(Wait::Rest, -1.0)],
        rows: &[
            (F::Arrived, &[-3.0, -2.0, 0.5, 2.5]),
        ],
    },
];
