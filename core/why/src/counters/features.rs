//! Named features of a slice: the numbers that distinguish causes.
//!
//! An unknown feature is NaN and adds nothing to any score.

use gigatcp_units::{Bytes, Duration, kernel_control};

use super::account::{CounterAccount, End};
use super::default_windows::known_default;
use super::full_path;
use super::held_window::HeldWindow;
use super::slice::{Slice, Wait};
use crate::measures::quartile;
use Feature as F;

/// Declares features: variant, the values between which weights are interpolated, and meaning with
/// unit.
macro_rules! features {
    ($($variant:ident [$($knot:literal),*] $meaning:literal)*) => {
        /// A feature of a slice.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(usize)]
        pub enum Feature {
            $(#[doc = $meaning] $variant,)*
        }

        impl Feature {
            /// Every feature, in order.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Values between which the weights of this feature are interpolated.
            #[must_use]
            pub const fn knots(self) -> &'static [f64] {
                match self {
                    $(Self::$variant => &[$($knot),*],)*
                }
            }
        }
    };
}

features! {
    WindowShare [0.1, 0.5, 0.9] "Share of the slice limited by the receive window."
    Coarse [0.0, 1.0] "Whether the times limited by window and buffer are unknown."
    Snapshot [0.0, 1.0] "Whether RTT and cwnd are those of one moment of the transfer."
    WindowFill [0.5, 0.75, 0.9, 1.0] "Flight over the advertised window."
    WindowLow [0.1, 0.3, 0.6, 0.8, 1.0] "Advertised window over the largest before."
    DefaultWindow [0.0, 1.0] "Whether the largest window is the default maximum of a system."
    Unscaled [0.0, 1.0] "Whether windows stay below 64 KiB and the connection has no scaling."
    BufferShare [0.1, 0.5, 0.9] "Share of the slice limited by the send buffer."
    SendFill [0.3, 0.5, 0.8, 0.95] "Bytes unacknowledged over the most of the connection."
    BufferFill [0.3, 0.6, 0.9, 1.5] "Memory of unacknowledged data over the send buffer."
    IdleShare [0.05, 0.2, 0.6] "Share of the slice with nothing unsent or in flight."
    AppLimited [0.2, 0.8] "Share of the slice in which the delivery rate was limited by the application."
    NothingUnsent [0.3, 0.6, 0.9] "Share of the slice in which nothing written was unsent."
    RestHeld [0.1, 0.3] "Share of the slice in which less than a segment waited for an ACK, although cwnd and window had room."
    Answers [0.0, 1.0] "Whether the peer sent data as well."
    AppIdle [0.02, 0.1, 0.3, 0.6] "Share of the slice in which the application says that it had nothing to send."
    CwndFill [0.3, 0.5, 0.8, 0.97] "Flight over cwnd."
    Queue [0.0, 0.05, 0.15, 0.4, 1.0, 2.0] "RTT above the minimum, over the minimum or 100 us, whichever is more."
    QueueMs [0.2, 1.0, 3.0, 10.0, 30.0] "RTT above the minimum, ms."
    RateOfPeak [0.3, 0.6, 0.85, 0.95] "Delivery rate over the best of the connection."
    CwndOfBdp [0.5, 0.9, 1.2, 2.0, 4.0] "cwnd over the best delivery rate times minimum RTT."
    Growth [-0.1, 0.0, 0.05, 0.5] "Natural logarithm of the growth of cwnd."
    SlowStart [0.1, 0.5, 0.9] "Share of the slice with cwnd below the slow-start threshold."
    Early [0.0, 1.0] "Whether nothing was lost yet."
    ModelRate [0.5, 0.8, 0.95] "Delivery rate over the best one, of a control that paces by a model (BBR)."
    Model [0.0, 1.0] "Whether the congestion control paces by a model of the path (BBR)."
    PacingUse [0.5, 0.8, 0.93] "Delivery rate over the pacing rate."
    PacingCap [0.5, 0.9, 0.99] "Pacing rate over its upper bound."
    PacingStill [0.3, 0.7, 0.95] "Share of the slice with a pacing rate that does not change."
    Local [0.02, 0.1, 0.3, 0.6, 0.9] "Memory of packets in the local queue over that of all unacknowledged data."
    LossRate [1e-05, 0.001, 0.01, 0.03, 0.1] "Share of the segments of the connection that were retransmitted."
    LossHere [0.0, 0.001, 0.01, 0.05] "Share of the segments around the slice that were retransmitted."
    LossTime [0.3, 1.0] "Share of the time for which losses would keep a sender below a window of 64 KiB, if no slice has an RTT."
    LossLaw [0.05, 0.2, 0.6, 1.5] "Delivery rate over what the square-root law allows at the connection's loss rate."
    LossQueue [0.2, 0.5, 0.7, 0.95] "Median of added RTT before losses, over the largest added RTT."
    LossQueueMs [0.3, 1.0, 5.0, 20.0] "Median of added RTT before losses, ms."
    LossFlightSpread [0.1, 0.4, 0.8] "Spread of the flight before losses: quartile range over median."
    LossRow [1.0, 2.0, 6.0, 20.0] "Segments retransmitted in a loss event, mean."
    RateSteady [0.1, 0.3, 0.8] "Spread of the delivery rate of slices: quartile range over median."
    Timeouts [0.1, 0.6, 1.5] "Timeouts in a loss event, mean."
    Spurious [0.05, 0.3, 0.6, 0.9] "Share of the retransmissions that D-SACK proved spurious."
    Reordered [0.0, 0.05, 0.5] "Times that reordering was seen, for each retransmission."
    Marked [0.0, 0.0001, 0.002, 0.02] "Share of the delivered segments with a congestion mark."
    StallLong [0.5, 1.0, 2.0, 5.0] "Longest stall, s."
    Stalls [1.0, 3.0] "Number of separate stalls."
    StallLast [0.0, 1.0] "Whether nothing passed after the last stall, of several readings."
    StallEarly [0.0, 1.0] "Whether the first stall began before 128 KiB were delivered."
    SmallPass [0.0, 1.0] "Whether small packets passed between the hosts while data did not."
    SenderProcess [0.2, 0.5, 0.8, 0.93] "CPU time of the sender's busiest thread over the time."
    SenderCore [0.7, 0.85, 0.97] "Busy share of the busiest core of the sender's host."
    SenderThrottled [0.05, 0.3, 0.7] "Share of the time in which a CPU quota holds the sender back."
    ReceiverProcess [0.2, 0.5, 0.8, 0.95] "CPU time of the receiver's busiest thread over the time."
    ReceiverCore [0.7, 0.9, 0.98] "Busy share of the busiest core of the receiver's host."
    ReceiverThrottled [0.05, 0.3, 0.7] "Share of the time in which a CPU quota holds the receiver back."
    Unread [0.02, 0.1, 0.3, 0.6, 0.9] "Bytes that the receiver has not read, over the largest window."
    NotReading [0.1, 0.5] "Share of the slice in which the receiving application says that it did not read."
    ReadsAtOnce [0.0, 1.0] "Whether the receiving application is known to do nothing but read."
    HostDrops [0.02, 0.1, 0.3, 0.8] "Packets that the receiving host dropped, for each retransmission."
    Arrived [0.2, 0.45, 0.7, 0.9] "Share of the flight that has arrived at the receiver: its ACKs have not arrived."
    Closed [0.02, 0.3] "Share of the connection's time with an advertised window of zero."
    WindowFell [0.05, 0.25] "Share of the time limited by the receive window in which it was below half of an earlier one, without losses."
    Opposed [0.0, 1.0] "Whether as much is sent the other way: its queue is in the RTT as well."
    ZeroWindow [0.02, 0.3] "Share of the slice in which the advertised window was zero."
    WindowHeld [0.0, 1.0] "Whether rate times RTT was held by a window, if the kernel's counters are unknown."
    BufferHeld [0.0, 1.0] "Whether rate times RTT was held by a send buffer, if the kernel's counters are unknown."
    ReceiveFill [0.3, 0.7, 0.9] "Rate times the receiver's RTT, over the window that it advertises."
}

/// Seconds that hosts add to an RTT: wakeups, interrupts, other processes. On paths shorter than
/// this an RTT of several minima does not indicate a queue.
const HOST_DELAY: f64 = 100e-6;

/// Number of features.
pub const FEATURES: usize = Feature::ALL.len();

/// The features of a slice.
#[derive(Clone, Copy, Debug)]
pub struct Features(pub(super) [f64; FEATURES]);

impl Features {
    /// A feature; `None` if it is unknown.
    #[must_use]
    pub fn value(&self, feature: Feature) -> Option<f64> {
        Some(self.0[feature as usize]).filter(|value| !value.is_nan())
    }

    fn set(&mut self, feature: Feature, value: Option<f64>) {
        self.0[feature as usize] = value.unwrap_or(f64::NAN);
    }
}

/// Quantities of the whole account, before any cause is considered.
#[derive(Clone, Debug, Default)]
pub(super) struct Measures {
    /// Minimum RTT, seconds.
    pub min_rtt: Option<f64>,
    /// Best delivery rate, bytes per second.
    pub peak: f64,
    pub delivered: u64,
    /// Seconds.
    pub time: f64,
    pub loss_rate: f64,
    /// Whether retransmissions are counted.
    knows_losses: bool,
    pub loss_queue: Option<f64>,
    loss_queue_of_max: Option<f64>,
    loss_flight_spread: Option<f64>,
    loss_row: Option<f64>,
    rate_spread: Option<f64>,
    timeouts: Option<f64>,
    pub spurious: Option<f64>,
    reordered: Option<f64>,
    pub marked: Option<f64>,
    pub longest_stall: f64,
    stalls: usize,
    is_early_stall: bool,
    is_stalled_last: bool,
    pub retransmitted: u64,
    pub events: u64,
    host_drops: Option<f64>,
    pub is_model: Option<bool>,
    /// Window that held rate times RTT, if the kernel's counters are unknown.
    pub held: Option<HeldWindow>,
    /// Whether rate, RTT and cwnd of a report, or of a single reading, show a full path.
    pub is_full_path: bool,
    /// Share of the time with a window of zero.
    closed: Option<f64>,
    window_fell: Option<f64>,
}

fn closed(slices: &[Slice]) -> Option<f64> {
    let known = slices.iter().filter_map(|slice| {
        let length = slice.length.as_secs_f64();
        Some([slice.zero_window.value()? * length, length])
    });
    let [zero, all] = known.reduce(|[a, b], [c, d]| [a + c, b + d])?;
    Some(zero / all.max(1e-9))
}

/// A receive buffer grows and does not shrink. So a window below half of an earlier one has unread data
/// in its buffer, or data behind a loss.
fn window_fell(account: &CounterAccount) -> Option<f64> {
    let first = account
        .first(End::Sender)
        .and_then(|reading| reading.snd_wnd);
    let mut most = first.unwrap_or_default().as_u64() as f64;
    let [mut fallen, mut all] = [0.0; 2];
    for slice in &account.slices {
        let Some(window) = slice.window.value() else {
            continue;
        };
        if slice.retransmitted == 0 {
            let limited = slice.waits[Wait::Window as usize].as_secs_f64();
            all += limited;
            fallen += if window < 0.5 * most { limited } else { 0.0 };
        }
        most = most.max(window);
    }
    over(Some(fallen), Some(all))
}

/// Three quartiles of the samples.
fn quartiles(samples: alloc::vec::Vec<f64>) -> Option<[f64; 3]> {
    let [low, middle, high] = [1, 2, 3].map(|quarters| quartile(samples.clone(), quarters));
    debug_assert!(
        !(low > middle || middle > high),
        "quartiles ascend: {low:?} {middle:?} {high:?}"
    );
    Some([low?, middle?, high?])
}

/// Interquartile range over the median.
fn spread([low, middle, high]: [f64; 3]) -> Option<f64> {
    (middle > 0.0).then(|| (high - low) / middle)
}

impl Measures {
    pub fn of(account: &CounterAccount) -> Self {
        let slices = &account.slices;
        let sum = |of: fn(&Slice) -> u64| slices.iter().map(of).fold(0, u64::saturating_add);
        let time: f64 = slices.iter().map(|slice| slice.length.as_secs_f64()).sum();
        let min_rtt = account.min_rtt.map(|rtt| rtt.as_secs_f64());
        let queues = slices.iter().filter_map(|slice| added(min_rtt, slice));
        let max_queue = queues.reduce(f64::max);
        let events = &account.losses.events;
        let added_before = events
            .iter()
            .filter_map(|slice| Some(slice.rtt? - min_rtt?));
        let loss_queue = quartiles(added_before.map(|queue| queue.max(0.0)).collect());
        let flights = quartiles(events.iter().filter_map(|slice| slice.flight).collect());
        let retransmitted = sum(|slice| slice.retransmitted);
        let sent = sum(|slice| slice.sent);
        let delivered = sum(|slice| slice.delivered);
        let count = account.losses.count as f64;
        let of = |part: u64, whole: f64| (whole > 0.0).then(|| part as f64 / whole);
        let busy = slices.iter().filter(|slice| slice.share(Wait::Idle) < 0.5);
        let rates = quartiles(busy.map(Slice::sound_rate).collect());
        let control = account.congestion.as_deref();
        let is_model = control.map(kernel_control::is_rate_based);
        let loss_rate = of(retransmitted, sent as f64).unwrap_or(0.0);
        Self {
            min_rtt,
            peak: slices.iter().map(Slice::sound_rate).fold(0.0, f64::max),
            delivered: sum(|slice| slice.acked),
            time,
            loss_rate,
            knows_losses: account.knows_losses(),
            loss_queue: loss_queue.map(|[_, middle, _]| middle),
            loss_queue_of_max: loss_queue
                .zip(max_queue)
                .and_then(|([_, middle, _], most)| (most > 0.0).then(|| (middle / most).min(1.0))),
            loss_flight_spread: flights.filter(|_| events.len() >= 3).and_then(spread),
            loss_row: of(account.losses.segments, count),
            rate_spread: rates.and_then(spread),
            timeouts: of(sum(|slice| slice.timeouts), count),
            spurious: of(sum(|slice| slice.spurious), retransmitted as f64),
            reordered: of(sum(|slice| slice.reordered), retransmitted as f64),
            marked: of(sum(|slice| slice.marked), delivered as f64),
            longest_stall: longest_stall(slices),
            stalls: stalls(slices),
            is_early_stall: is_early_stall(account),
            is_stalled_last: !account.is_total && slices.last().is_some_and(is_stalled),
            retransmitted,
            events: account.losses.count,
            host_drops: of(sum(|slice| slice.host_drops), retransmitted as f64),
            is_model,
            held: HeldWindow::of(account),
            is_full_path: account.has_full_path || full_path::is_full(account, is_model, loss_rate),
            closed: closed(slices),
            window_fell: window_fell(account),
        }
    }

    /// Best delivery rate times the minimum RTT, in bytes.
    pub fn bdp(&self) -> Option<f64> {
        self.min_rtt
            .map(|rtt| rtt * self.peak)
            .filter(|bdp| *bdp > 0.0)
    }

    /// Features of a slice, given those before and after it.
    pub fn features(&self, account: &CounterAccount, index: usize) -> Features {
        let slice = &account.slices[index];
        let mut features = Features([f64::NAN; FEATURES]);
        let all = self
            .window(account, slice)
            .into_iter()
            .chain(application(slice))
            .chain(self.path(account, slice))
            .chain(self.losses(account, index))
            .chain(hosts(account, slice));
        for (feature, value) in all {
            features.set(feature, value);
        }
        features
    }

    /// Features of the receive window and the send buffer.
    fn window(&self, account: &CounterAccount, slice: &Slice) -> [Valued; 17] {
        let most = |bytes: Bytes| Some(bytes.as_u64() as f64);
        let counted = |share: f64| Some(share).filter(|_| !account.is_coarse());
        let knows_window = account.max_window > Bytes::ZERO;
        let is_default = truth(known_default(account.max_window).is_some());
        let held = match &self.held {
            _ if !account.is_coarse() => None,
            Some(held) => held.holds(slice),
            None => slice.rtt.value().and(Some([0.0; 2])),
        };
        let max_queue = most(account.max_send_queue);
        [
            (F::Coarse, truth(account.is_coarse())),
            (F::Snapshot, truth(account.is_snapshot)),
            (F::Closed, self.closed),
            (F::WindowFell, self.window_fell),
            (F::Opposed, truth(account.is_opposed)),
            (F::WindowShare, counted(slice.share(Wait::Window))),
            (F::WindowFill, slice.window_fill.value()),
            (
                F::WindowLow,
                over(slice.window.value(), most(account.max_window)),
            ),
            (F::Unscaled, account.is_unscaled.and_then(truth)),
            (F::DefaultWindow, is_default.filter(|_| knows_window)),
            (F::ZeroWindow, slice.zero_window.value()),
            (F::WindowHeld, held.map(|held| held[0])),
            (F::BufferHeld, held.map(|held| held[1])),
            (F::ReceiveFill, slice.receive_fill.value()),
            (F::BufferShare, counted(slice.share(Wait::Buffer))),
            (F::SendFill, over(slice.send_queue.value(), max_queue)),
            (F::BufferFill, slice.buffer_fill.value()),
        ]
    }

    /// Features of cwnd, pacing and the path.
    fn path(&self, account: &CounterAccount, slice: &Slice) -> [Valued; 14] {
        let queue = added(self.min_rtt, slice);
        let rate = Some(slice.sound_rate());
        // The only slice is at the best rate whatever limits it.
        let has_others = account.slices.len() > 1;
        let of_peak = over(rate, Some(self.peak)).filter(|_| has_others);
        let growth = slice
            .cwnd_ends
            .filter(|ends| ends.0 > 0 && ends.1 > 0)
            .map(|(from, to)| libm::log(to as f64 / from as f64));
        let bbr = self.is_model == Some(true);
        [
            (F::CwndFill, slice.cwnd_fill.value()),
            (
                F::Queue,
                over(queue, self.min_rtt.map(|rtt| rtt.max(HOST_DELAY))),
            ),
            (F::QueueMs, queue.map(|queue| queue * 1e3)),
            (F::RateOfPeak, of_peak),
            (F::CwndOfBdp, over(slice.cwnd.value(), self.bdp())),
            (F::Growth, growth),
            (F::Early, truth(account.is_early(slice))),
            (F::ModelRate, of_peak.filter(|_| bbr)),
            (F::Model, self.is_model.and_then(truth)),
            (F::PacingUse, over(rate, slice.pacing.value())),
            (F::PacingCap, slice.pacing_of_cap.value()),
            (F::PacingStill, slice.pacing_still.value()),
            (F::Local, slice.local.value()),
            (F::Arrived, slice.arrived.value()),
        ]
    }

    /// Delivery rate of a slice over the rate of the square-root law. Mathis, Semke, Mahdavi, Ott
    /// 1997, with sqrt(3/2), at the connection's fraction of retransmissions. Far below it, losses
    /// are too rare to limit the sender.
    fn loss_law(&self, account: &CounterAccount, index: usize) -> Option<f64> {
        let slice = &account.slices[index];
        let smss = account.last(End::Sender)?.smss?.as_u64() as f64;
        let rtt = self.min_rtt? + added(self.min_rtt, slice).unwrap_or(0.0);
        let law = smss / rtt * libm::sqrt(1.5 / self.loss_rate);
        over(Some(slice.sound_rate()), Some(law))
    }

    /// Share of the time for which losses would keep a sender below a window of 64 KiB: half of it is won
    /// back at a segment in an RTT. If no RTT is known, it is that of a sender to which nothing but that
    /// window gives its rate. Only without the RTTs of the slices, which tell more. Losses in an interval
    /// are one event.
    fn loss_time(&self, account: &CounterAccount) -> Option<f64> {
        const WINDOW: f64 = 65_536.0;
        let smss = account.last(End::Sender)?.smss?.as_u64() as f64;
        let slices = || account.slices.iter();
        let events = slices().filter(|slice| slice.retransmitted > 0).count() as f64;
        let is_unknown = slices().all(|slice| slice.rtt.value().is_none());
        let window_rtt = WINDOW * self.time / (self.delivered as f64).max(1.0);
        let rtt = self.min_rtt.unwrap_or(window_rtt);
        let is_counted = is_unknown && self.knows_losses && self.delivered > 0;
        is_counted.then(|| events * WINDOW / (2.0 * smss) * rtt / self.time)
    }

    /// Features of losses and marks of the connection, and of the slices around this one.
    fn losses(&self, account: &CounterAccount, index: usize) -> [Valued; 20] {
        // Short slices may lie between two losses.
        let is_short = account.slices[index].length < Duration::from_millis(300);
        let near = if is_short { 2 } else { 0 };
        let until = (index + near + 1).min(account.slices.len());
        let around = &account.slices[index.saturating_sub(near)..until];
        let sum = |of: fn(&Slice) -> u64| Some(around.iter().map(of).sum::<u64>() as f64);
        let here = over(sum(|slice| slice.retransmitted), sum(|slice| slice.sent));
        let has_loss = |value: Option<f64>| value.filter(|_| self.retransmitted > 0);
        let queue_ms = self.loss_queue.map(|queue| queue * 1e3);
        [
            (
                F::LossRate,
                Some(self.loss_rate).filter(|_| self.knows_losses),
            ),
            (F::LossTime, self.loss_time(account)),
            (F::LossHere, here),
            (F::LossLaw, has_loss(self.loss_law(account, index))),
            (F::LossQueue, has_loss(self.loss_queue_of_max)),
            (F::LossQueueMs, has_loss(queue_ms)),
            (F::LossFlightSpread, has_loss(self.loss_flight_spread)),
            (F::LossRow, has_loss(self.loss_row)),
            (F::RateSteady, self.rate_spread),
            (F::Timeouts, has_loss(self.timeouts)),
            (F::Spurious, has_loss(self.spurious)),
            (F::Reordered, has_loss(self.reordered)),
            (F::Marked, self.marked),
            (F::StallLong, Some(self.longest_stall)),
            (F::Stalls, Some(self.stalls as f64)),
            (F::StallLast, truth(self.is_stalled_last)),
            (F::StallEarly, truth(self.is_early_stall)),
            (F::SmallPass, truth(account.has_small_passed)),
            (F::HostDrops, has_loss(self.host_drops)),
            (F::SlowStart, account.slices[index].slow_start.value()),
        ]
    }
}

/// A feature and its value, if known.
type Valued = (Feature, Option<f64>);

fn truth(is: bool) -> Option<f64> {
    Some(f64::from(u8::from(is)))
}

fn over(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    Some(part? / whole.filter(|whole| *whole > 0.0)?)
}

/// Features of the data that the application provides.
fn application(slice: &Slice) -> [Valued; 6] {
    [
        (F::RestHeld, slice.rest_held.value()),
        (F::IdleShare, Some(slice.share(Wait::Idle))),
        (F::AppLimited, slice.app_limited.value()),
        (F::NothingUnsent, slice.nothing_unsent.value()),
        (F::Answers, truth(slice.received > 0)),
        (F::AppIdle, slice.app_idle.value()),
    ]
}

/// Features of the CPUs of both hosts, and of the reading application.
fn hosts(account: &CounterAccount, slice: &Slice) -> [Valued; 9] {
    [
        (F::SenderProcess, slice.sender_process.value()),
        (F::SenderCore, slice.sender_core.value()),
        (F::SenderThrottled, slice.sender_throttled.value()),
        (F::ReceiverProcess, slice.receiver_process.value()),
        (F::ReceiverCore, slice.receiver_core.value()),
        (F::ReceiverThrottled, slice.receiver_throttled.value()),
        (F::Unread, account.unread(slice)),
        (F::NotReading, slice.app_not_reading.value()),
        (F::ReadsAtOnce, truth(account.reads_at_once)),
    ]
}

/// RTT of a slice above the minimum, in seconds.
fn added(min_rtt: Option<f64>, slice: &Slice) -> Option<f64> {
    Some((slice.rtt.value()? - min_rtt?).max(0.0))
}

/// Seconds of each slice that wait for a timer.
fn stalled(slices: &[Slice]) -> impl Iterator<Item = f64> + '_ {
    slices
        .iter()
        .map(|slice| slice.waits[Wait::Stalled as usize].as_secs_f64())
}

/// Longest contiguous wait for a timer, in seconds. Less than three RTTs is none.
fn longest_stall(slices: &[Slice]) -> f64 {
    let (mut longest, mut row) = (0.0_f64, 0.0);
    for (slice, stalled) in slices.iter().zip(stalled(slices)) {
        row = if slice.share(Wait::Stalled) > 0.9 {
            row + stalled
        } else {
            stalled
        };
        longest = longest.max(row);
    }
    let rtts = slices.iter().filter_map(|slice| slice.rtt.value());
    if longest < 3.0 * rtts.fold(0.0, f64::max) {
        return 0.0;
    }
    longest
}

/// Number of separate stalls: those of neighboring slices are one.
fn stalls(slices: &[Slice]) -> usize {
    let begins = slices.iter().enumerate().filter(|(index, slice)| {
        let before = index.checked_sub(1).map(|before| &slices[before]);
        is_stalled(slice) && !before.is_some_and(is_stalled)
    });
    begins.count()
}

fn is_stalled(slice: &Slice) -> bool {
    slice.share(Wait::Stalled) > 0.5
}

/// Whether the first stall began before full-sized segments had passed for long.
fn is_early_stall(account: &CounterAccount) -> bool {
    /// A tester counts what it wrote: a send buffer and what is in flight.
    const EARLY: u64 = 128 << 10;
    let slices = &account.slices;
    let first = slices.iter().position(is_stalled);
    let begin = account
        .first(End::Sender)
        .and_then(|begin| begin.bytes_acked);
    let earlier = begin.unwrap_or_default().as_u64();
    let before = first.map(|first| slices[..first].iter().map(|slice| slice.acked));
    before.is_some_and(|before| before.fold(earlier, u64::saturating_add) <= EARLY)
}
