//! Physical conditions of the causes: what must be the case for a cause to be named.
//!
//! A condition holds, is refuted, or is unknown (`None`: the counters do not show it, or the value
//! lies between the two thresholds). A cause with a refuted condition is impossible. A cause of
//! which every condition holds is shown; any other is named at most as unsure. Weights only order
//! the causes that remain.

use super::features::{Feature, Features};
use super::slice::Wait;

/// A condition of a cause.
pub(super) struct Condition {
    /// Its content, in words that follow "not known whether".
    pub name: &'static str,
    /// Whether it is the case in this wait of a slice.
    pub holds: fn(&Features, Wait) -> Option<bool>,
}

/// Support of a cause by the counters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Support {
    /// Every condition holds.
    Shown,
    /// No condition is refuted, but some are unknown.
    Open,
    /// A condition is refuted.
    Refuted,
}

impl Support {
    /// Support of the cause with these conditions in a wait of a slice.
    pub fn of(conditions: &[Condition], features: &Features, wait: Wait) -> Self {
        let held = conditions
            .iter()
            .map(|condition| (condition.holds)(features, wait));
        held.fold(Self::Shown, |support, holds| match (support, holds) {
            (Self::Refuted, _) | (_, Some(false)) => Self::Refuted,
            (Self::Open, _) | (_, None) => Self::Open,
            (Self::Shown, Some(true)) => Self::Shown,
        })
    }
}

/// Names of the conditions that the counters leave open.
pub(super) fn open<'a>(
    conditions: &'a [Condition],
    features: &'a Features,
    wait: Wait,
) -> impl Iterator<Item = &'static str> + 'a {
    let open = conditions
        .iter()
        .filter(move |condition| (condition.holds)(features, wait).is_none());
    open.map(|condition| condition.name)
}

/// A known value against its thresholds: `None` between them.
type Compared = Option<bool>;

/// Whether a value is at least `shown`; refuted below `refuted`; `None` if it is unknown.
fn high(value: Option<f64>, [refuted, shown]: [f64; 2]) -> Option<Compared> {
    let value = value?;
    Some(if value >= shown {
        Some(true)
    } else {
        (value < refuted).then_some(false)
    })
}

/// Whether a value is at most `shown`; refuted above `refuted`.
fn low(value: Option<f64>, [shown, refuted]: [f64; 2]) -> Option<Compared> {
    high(value.map(|value| -value), [-refuted, -shown])
}

/// Whether one of these holds; refuted if all known ones are.
fn any<const N: usize>(facts: [Option<Compared>; N]) -> Option<bool> {
    let known = facts.into_iter().flatten();
    known.reduce(|a, b| match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        _ => Some(false),
    })?
}

impl Features {
    fn high(&self, feature: Feature, thresholds: [f64; 2]) -> Option<Compared> {
        high(self.value(feature), thresholds)
    }

    fn low(&self, feature: Feature, thresholds: [f64; 2]) -> Option<Compared> {
        low(self.value(feature), thresholds)
    }
}

use Feature as F;

/// Little's law (`held_window.rs`) decides where the kernel's own counters are missing. A sender that
/// paces by a model of the path fills a window without waiting for it.
pub(super) const NOT_WINDOW: Condition = Condition {
    name: "rate times RTT was not held by a window",
    holds: |f, wait| {
        let is_full = f.value(F::WindowFill) >= Some(0.9);
        if is_full && wait == Wait::Rest && (NO_QUEUE.holds)(f, wait) == Some(true) {
            return Some(false);
        }
        is_free(f, wait, F::WindowHeld, [0.5, 0.9])
    },
};

pub(super) const NOT_BUFFER: Condition = Condition {
    name: "rate times RTT was not held by a send buffer",
    holds: |f, wait| is_free(f, wait, F::BufferHeld, [0.5, 0.9]),
};

/// A tester that keeps to a rate says so.
pub(super) const NOT_IDLE: Condition = Condition {
    name: "the application had data to send",
    holds: |f, wait| match f.value(F::Coarse) {
        Some(1.0) => is_free(f, wait, F::AppIdle, [0.2, 0.5]),
        _ => Some(true),
    },
};

/// Whether a feature that only other causes have is low. It is if unknown, and where the kernel
/// measured the wait.
fn is_free(f: &Features, wait: Wait, feature: Feature, thresholds: [f64; 2]) -> Option<bool> {
    match wait {
        Wait::Rest => f.low(feature, thresholds).unwrap_or(Some(true)),
        _ => Some(true),
    }
}

pub(super) const WINDOW_FULL: Condition = Condition {
    name: "data in flight filled the receive window",
    holds: |f, wait| match wait {
        Wait::Window => Some(true),
        Wait::Receiving => f.high(F::ReceiveFill, [0.3, 0.7]).flatten(),
        _ if f.value(F::Coarse) == Some(1.0) => f.high(F::WindowHeld, [0.5, 0.9]).flatten(),
        _ => f.high(F::WindowFill, [0.6, 0.9]).flatten(),
    },
};

/// A window of unknown size was open: a closed one is reported as zero.
pub(super) const WINDOW_OPEN: Condition = Condition {
    name: "the receive window stayed open",
    holds: |f, _| {
        if has_fallen(f) {
            return Some(false);
        }
        let is_open = f.low(F::ZeroWindow, [0.2, 0.5]).unwrap_or(Some(true));
        let is_wide = f.high(F::WindowLow, [0.1, 0.3]).unwrap_or(Some(true));
        match (is_open, is_wide) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(open), Some(wide)) => Some(open && wide),
            _ => None,
        }
    },
};

/// Without an RTT, the kernel's counter of the full window stands alone.
pub(super) const NO_QUEUE: Condition = Condition {
    name: "no queue lengthened the RTT",
    holds: |f, wait| match f.value(F::Queue) {
        None => Some(true),
        // Of a single reading, it is the RTT of that moment, which a closed window lengthens. Where
        // as much is sent the other way, the queue may be there.
        _ if wait == Wait::Window && (f.value(F::RateOfPeak).is_none() || is_opposed(f)) => {
            Some(true)
        }
        Some(_) => any([f.low(F::Queue, [0.5, 1.2]), f.low(F::QueueMs, [2.0, 5.0])]),
    },
};

fn is_opposed(f: &Features) -> bool {
    f.value(F::Opposed) == Some(1.0)
}

/// A path neither closes a window nor lowers it.
pub(super) const NOT_CLOSED: Condition = Condition {
    name: "the receive window did not close",
    holds: |f, wait| match wait {
        Wait::Window if has_fallen(f) => Some(false),
        Wait::Window => f.low(F::Closed, [0.02, 0.3]).unwrap_or(Some(true)),
        _ => Some(true),
    },
};

pub(super) const NOT_SCALED: Condition = Condition {
    name: "the connection has no window scaling",
    holds: |f, _| f.value(F::Unscaled).map(|is| is > 0.0),
};

/// Thresholds of [`F::WindowFell`] for a reader that is behind.
const FELL: [f64; 2] = [0.05, 0.25];

fn has_fallen(f: &Features) -> bool {
    f.value(F::WindowFell) >= Some(FELL[1])
}

pub(super) const READER_BEHIND: Condition = Condition {
    name: "the window closed, or data waited to be read",
    holds: |f, wait| {
        // What is retransmitted fits the window, however much larger it grows later.
        let is_low = f.low(F::WindowLow, [0.8, 0.95]);
        any([
            f.high(F::ZeroWindow, [0.02, 0.3]),
            f.high(F::Closed, [0.02, 0.3]),
            f.high(F::WindowFell, FELL),
            if wait == Wait::Stalled { None } else { is_low },
            f.high(F::Unread, [0.05, 0.3]),
            f.high(F::NotReading, [0.02, 0.3]),
            (f.value(F::ReadsAtOnce) == Some(1.0)).then_some(Some(false)),
        ])
    },
};

/// A window is as large as the receive buffer less what waits there.
pub(super) const READ: Condition = Condition {
    name: "the receiving application read at once",
    holds: |f, _| f.low(F::Unread, [0.15, 0.4]).unwrap_or(Some(true)),
};

/// A full window does not lose segments again and again: each loss makes cwnd smaller than it.
pub(super) const FEW_LOSSES: Condition = Condition {
    name: "losses were too rare to keep cwnd below a window or a buffer",
    holds: |f, wait| match wait {
        Wait::Rest => f.low(F::LossTime, [0.3, 1.0]).unwrap_or(Some(true)),
        _ => Some(true),
    },
};

/// A process that uses no CPU time does not wait for more: it is stopped, or waits for something
/// else.
pub(super) const RECEIVER_BUSY: Condition = Condition {
    name: "a CPU of the receiver was busy, or its quota used up",
    holds: |f, _| {
        let is_still = f
            .value(F::ReceiverProcess)
            .is_some_and(|process| process < 0.01);
        if is_still
            && f.value(F::ReceiverThrottled)
                .is_none_or(|throttled| throttled < 0.02)
        {
            return Some(false);
        }
        any([
            f.high(F::ReceiverProcess, [0.4, 0.6]),
            f.high(F::ReceiverCore, [0.7, 0.9]),
            f.high(F::ReceiverThrottled, [0.02, 0.1]),
        ])
    },
};

pub(super) const SENDER_BUSY: Condition = Condition {
    name: "a CPU of the sender was busy, or its quota used up",
    holds: |f, _| {
        any([
            f.high(F::SenderProcess, [0.4, 0.6]),
            f.high(F::SenderCore, [0.7, 0.9]),
            f.high(F::SenderThrottled, [0.02, 0.1]),
        ])
    },
};

pub(super) const BUFFER_FULL: Condition = Condition {
    name: "the send buffer was full",
    holds: |f, wait| match wait {
        Wait::Buffer => Some(true),
        _ if f.value(F::Coarse) == Some(1.0) => f.high(F::BufferHeld, [0.5, 0.9]).flatten(),
        _ => any([
            f.high(F::BufferFill, [0.4, 0.8]),
            f.high(F::SendFill, [0.4, 0.8]),
        ]),
    },
};

pub(super) const NOTHING_TO_SEND: Condition = Condition {
    name: "the application had nothing to send",
    holds: |f, wait| match wait {
        Wait::Idle => Some(true),
        _ => any([
            f.high(F::AppLimited, [0.1, 0.5]),
            f.high(F::NothingUnsent, [0.2, 0.6]),
            f.high(F::AppIdle, [0.01, 0.1]),
        ]),
    },
};

/// What an application writes at a rate of its own waits as well, and loses nothing: it does so where the
/// peer answers each message.
pub(super) const REST_HELD: Condition = Condition {
    name: "less than a segment waited for an ACK, in an exchange of messages",
    holds: |f, _| match f.value(F::Answers) {
        Some(0.0) => Some(false),
        _ => f.high(F::RestHeld, [0.1, 0.3]).flatten(),
    },
};

pub(super) const REST_NOT_HELD: Condition = Condition {
    name: "no rest of a message waited for an ACK",
    holds: |f, wait| Some(wait != Wait::Rest || (REST_HELD.holds)(f, wait) != Some(true)),
};

pub(super) const CWND_USED: Condition = Condition {
    name: "data in flight filled cwnd",
    holds: |f, _| f.high(F::CwndFill, [0.25, 0.6]).flatten(),
};

/// A full path holds what cwnd allows, or half of it with a control that paces by a model (cwnd is
/// twice the path's content there). Less is in flight where a buffer or the application limits.
pub(super) const CWND_NEEDED: Condition = Condition {
    name: "cwnd was in use",
    holds: |f, wait| {
        // With many readings, the rate over the best one shows more.
        let is_rough = f.value(F::Coarse) == Some(1.0) || f.value(F::RateOfPeak).is_none();
        match wait {
            Wait::Rest if !is_rough => Some(true),
            Wait::Rest if f.value(F::Model) == Some(1.0) => {
                f.high(F::CwndFill, [0.3, 0.45]).flatten()
            }
            Wait::Rest => f.high(F::CwndFill, [0.55, 0.7]).flatten(),
            _ => Some(true),
        }
    },
};

pub(super) const CWND_GROWS: Condition = Condition {
    name: "cwnd grew",
    holds: |f, _| {
        any([
            f.high(F::Growth, [0.0, 0.01]),
            f.high(F::SlowStart, [0.1, 0.5]),
        ])
    },
};

pub(super) const RATE_AT_BEST: Condition = Condition {
    name: "the rate was at the best of the connection",
    holds: |f, _| f.high(F::RateOfPeak, [0.3, 0.6]).flatten(),
};

/// A sender that paces by a model keeps the queue empty.
pub(super) const PATH_FULL: Condition = Condition {
    name: "a queue lengthened the RTT, or segments were lost",
    holds: |f, wait| {
        let queue_of_rtt = f.high(F::Queue, [0.03, 0.15]);
        let queue_ms = f.high(F::QueueMs, [0.1, 0.5]);
        let queue = queue_of_rtt.zip(queue_ms).map(|both| match both {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        });
        let loss = f.high(F::LossRate, [1e-9, 1e-5]);
        match wait {
            Wait::Window if is_opposed(f) => None,
            Wait::Window => queue.flatten(),
            // Without an RTT, losses may have any cause. A report shows them for whole seconds, so
            // a queue has to show.
            _ if queue.is_none() => None,
            _ if [F::Coarse, F::Snapshot]
                .map(|of| f.value(of))
                .contains(&Some(1.0)) =>
            {
                queue.flatten()
            }
            _ if f.value(F::Model) == Some(1.0) => any([queue, loss]).filter(|is| *is),
            _ => any([queue, loss]),
        }
    },
};

pub(super) const IN_LOCAL_QUEUE: Condition = Condition {
    name: "much of the data in flight was in the sender's own queue",
    holds: |f, _| f.high(F::Local, [0.1, 0.3]).flatten(),
};

pub(super) const RATE_PACED: Condition = Condition {
    name: "the rate was the pacing rate",
    holds: |f, _| f.high(F::PacingUse, [0.5, 0.8]).flatten(),
};

pub(super) const NOT_PACED: Condition = Condition {
    name: "the rate was not the upper bound of the pacing rate, without a queue and losses",
    holds: |f, wait| {
        let at_least = |feature, least| f.value(feature).is_some_and(|value| value >= least);
        let is_at_bound = at_least(F::PacingCap, 0.97) && at_least(F::PacingUse, 0.93);
        let is_free = (NO_QUEUE.holds)(f, wait) == Some(true) && f.value(F::LossRate) <= Some(0.0);
        Some(!(is_at_bound && is_free))
    },
};

pub(super) const PACING_FIXED: Condition = Condition {
    name: "the pacing rate was at its upper bound, or constant",
    holds: |f, _| {
        any([
            f.high(F::PacingCap, [0.5, 0.9]),
            f.high(F::PacingStill, [0.3, 0.7]),
        ])
    },
};

pub(super) const LOSSES: Condition = Condition {
    name: "segments were retransmitted",
    holds: |f, _| f.value(F::LossRate).map(|rate| rate > 0.0),
};

pub(super) const QUEUE_BEFORE_LOSSES: Condition = Condition {
    name: "the RTT was high before losses",
    holds: |f, _| {
        any([
            f.high(F::LossQueue, [0.05, 0.5]),
            f.high(F::LossQueueMs, [0.1, 1.0]),
        ])
    },
};

pub(super) const NO_QUEUE_BEFORE_LOSSES: Condition = Condition {
    name: "the RTT was low before losses",
    holds: |f, _| {
        any([
            f.low(F::LossQueue, [0.5, 0.98]),
            f.low(F::LossQueueMs, [1.0, 30.0]),
        ])
    },
};

pub(super) const NEEDED_RETRANSMISSIONS: Condition = Condition {
    name: "most retransmissions were needed",
    holds: |f, _| match f.value(F::Spurious) {
        None => Some(true),
        spurious => low(spurious, [0.5, 0.9]).flatten(),
    },
};

pub(super) const SPURIOUS_RETRANSMISSIONS: Condition = Condition {
    name: "retransmissions were spurious, or reordering was seen",
    holds: |f, _| {
        any([
            f.high(F::Spurious, [0.02, 0.2]),
            f.high(F::Reordered, [1e-9, 0.05]),
        ])
    },
};

/// Spurious retransmissions cost what they take off cwnd, if it is in use. A control that paces by a
/// model keeps its own (BBRv1), unless a fiftieth is retransmitted (BBRv3).
pub(super) const REORDERING_COSTS: Condition = Condition {
    name: "spurious retransmissions reduced a cwnd that was in use",
    holds: |f, _| {
        if f.value(F::Model) == Some(1.0) {
            let is_rare = f.value(F::LossRate).is_some_and(|rate| rate < 0.02);
            return is_rare.then_some(false);
        }
        f.high(F::CwndFill, [0.4, 0.7]).unwrap_or(Some(true))
    },
};

pub(super) const MARKS: Condition = Condition {
    name: "segments were marked",
    holds: |f, _| f.value(F::Marked).map(|marked| marked > 0.0),
};

pub(super) const TIMER: Condition = Condition {
    name: "the sender waited for its retransmission timer",
    holds: |f, wait| match wait {
        Wait::Stalled => Some(true),
        _ => f.high(F::Timeouts, [0.01, 0.3]).flatten(),
    },
};

pub(super) const LONG_STALL: Condition = Condition {
    name: "nothing was acknowledged for a second or longer",
    holds: |f, wait| match wait {
        Wait::Stalled => f.high(F::StallLong, [0.3, 0.9]).flatten(),
        _ => Some(false),
    },
};

/// The path fails once. Where it stalls again and again, single losses are what the timer waits for.
pub(super) const ONE_STALL: Condition = Condition {
    name: "it stalled once",
    holds: |f, _| f.low(F::Stalls, [1.0, 3.0]).unwrap_or(Some(true)),
};

/// A timer that one outage makes wait is its effect.
pub(super) const NO_OUTAGE: Condition = Condition {
    name: "no outage made the timer wait",
    holds: |f, wait| {
        let is_outage =
            (LONG_STALL.holds)(f, wait) == Some(true) && (ONE_STALL.holds)(f, wait) == Some(true);
        Some(!is_outage)
    },
};

/// Segments of full size that never arrived, from the first one on, are more than an outage: unless the
/// path failed just then.
pub(super) const FULL_SIZE_PASSED: Condition = Condition {
    name: "segments of full size passed before",
    holds: |f, _| match (f.value(F::StallEarly), f.value(F::SmallPass)) {
        (Some(1.0), Some(1.0)) => Some(false),
        (Some(1.0), _) => None,
        _ => Some(true),
    },
};

/// Of a transfer that ends in a stall, it is not known whether the path or the other host went away.
pub(super) const PASSED_AGAIN: Condition = Condition {
    name: "data passed again after it",
    holds: |f, _| (f.value(F::StallLast) != Some(1.0)).then_some(true),
};

pub(super) const SMALL_PASSED: Condition = Condition {
    name: "small packets passed at that time",
    holds: |f, _| (f.value(F::SmallPass) == Some(1.0)).then_some(true),
};

/// cwnd that grows after losses shows what they did.
pub(super) const NOTHING_LOST: Condition = Condition {
    name: "cwnd was small without losses",
    holds: |f, _| (f.value(F::Early) != Some(0.0)).then_some(true),
};

pub(super) const HOST_DROPPED: Condition = Condition {
    name: "the receiving host counted drops",
    holds: |f, _| f.high(F::HostDrops, [1e-9, 0.1]).flatten(),
};

pub(super) const ACKS_BEHIND: Condition = Condition {
    name: "most data in flight had arrived",
    holds: |f, _| f.high(F::Arrived, [0.2, 0.6]).flatten(),
};
