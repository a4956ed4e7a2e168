//! Finds a window that held rate times RTT, without the kernel's own counters.
//!
//! Little's law: the mean number of bytes in flight is the delivery rate times the RTT. If a window
//! bounds a sender, this product is the window in most intervals, however rate and RTT vary; cwnd
//! is above it, losses are rare, and no queue lengthens the RTT. A window that the receiver
//! advertised is compared in each interval. An older tester does not report it; then the product
//! must be the same in most intervals while cwnd stays above it, and the window is their median.
//!
//! A send buffer holds the product as well, and so do a model-based congestion control (BBR) at a
//! saturated path, and a busy CPU. So a window is certain only if the receiver advertised it, if it
//! is Linux's default, or if the tester requested its size. Another one is named only for a
//! loss-based control with idle CPUs, below the default send buffer, and stays unsure. Below a
//! larger advertised window, a product that Linux's default send buffer allows is that buffer's.
//!
//! A saturated path whose queue was never empty satisfies Little's law too: then the window is full
//! and a larger one only lengthens the queue. An RTT that was much lower before, or the rate of an
//! Ethernet, shows that.

use alloc::vec::Vec;

use gigatcp_units::kernel_control;

use super::account::{CounterAccount, End};
use super::slice::Slice;
use crate::measures::{is_ethernet_rate, quartile};

/// Minimum number of intervals.
const MIN_INTERVALS: usize = 3;

/// Minimum fraction of the intervals that the window must have held.
const MOST: f64 = 0.6;

/// Rate times RTT over an advertised window: of the median interval, and of each.
const OF_ADVERTISED: [core::ops::Range<f64>; 2] = [0.88..1.08, 0.75..1.25];

/// Rate times RTT over that of the median interval, if no window is reported.
const OF_MEDIAN: core::ops::Range<f64> = 0.94..1.06;

/// Maximum fraction of the intervals with retransmissions.
const LOSSY: f64 = 0.25;

/// An RTT below this fraction of the median shows that there was a queue.
const EMPTY_QUEUE: f64 = 0.6;

/// Seconds of difference that hosts add to an RTT, in addition.
const HOST_DELAY: f64 = 1e-3;

/// Largest send buffer of Linux's default settings (`net.ipv4.tcp_wmem`).
const DEFAULT_SEND_BUFFER: f64 = 4.0 * 1_048_576.0;

/// Rate times RTT over that buffer, if it is full: its overhead takes the rest.
const BUFFERED: core::ops::Range<f64> = 0.8..1.0;

/// Largest window of Linux's default settings: half of the 6 MiB of `net.ipv4.tcp_rmem`.
const DEFAULT: f64 = 3.0 * 1_048_576.0;

/// Rate times RTT over that window, if it is full.
const FILLED: core::ops::Range<f64> = 0.94..1.02;

/// Maximum CPU time of a process, over the time, that cannot have limited the rate.
const IDLE_CPU: f64 = 0.6;

/// Holder of rate times RTT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holder {
    /// The window that the receiver advertised.
    Advertised,
    /// A window that is Linux's default, or that the tester requested.
    Inferred,
    /// A window, or something else.
    Uncertain,
    /// Linux's default send buffer.
    SendBuffer,
    /// That buffer, or a model of the path.
    UncertainBuffer,
}

/// A window that held rate times RTT.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct HeldWindow {
    pub holder: Holder,
    /// The window, in bytes.
    pub window: f64,
    /// Rate times RTT, the median of the intervals that it held, in bytes.
    pub in_flight: f64,
    /// Intervals that it held, and all.
    pub intervals: [usize; 2],
}

impl HeldWindow {
    /// The window that held most intervals. `None` if none did, or the kernel's own counters know.
    pub fn of(account: &CounterAccount) -> Option<Self> {
        if !account.is_coarse() {
            return None;
        }
        let slices = account.slices.iter();
        let slices: Vec<&Slice> = slices.filter(|slice| in_flight(slice).is_some()).collect();
        let ratio = median(slices.iter().filter_map(|slice| of_window(slice)).collect());
        let flight = median(slices.iter().filter_map(|slice| in_flight(slice)).collect())?;
        let mut found = match ratio {
            Some(ratio) if OF_ADVERTISED[0].contains(&ratio) => Self::over(&slices, None)?,
            Some(ratio) if ratio >= OF_ADVERTISED[0].end => return None,
            _ => Self::over(&slices, Some(flight))?,
        };
        let is_own = !found.has_queue(account, &slices) && !found.is_line_rate(account, &slices);
        if found.holder == Holder::Uncertain {
            found.identify(account, ratio.is_some())?;
        }
        is_own.then_some(found)
    }

    /// Names the holder, if it is not an advertised window. `None` if it may be anything.
    fn identify(&mut self, account: &CounterAccount, is_window_larger: bool) -> Option<()> {
        let slices = || account.slices.iter();
        let is_idle = slices().any(|slice| slice.app_idle.value() > Some(0.05));
        let control = account.congestion.as_deref();
        let is_rate_based = control.map(kernel_control::is_rate_based);
        let has_time = |load: Option<f64>| load.is_some_and(|load| load < IDLE_CPU);
        let have_time = slices().all(|slice| {
            has_time(slice.sender_process.value()) && has_time(slice.receiver_process.value())
        });
        let is_requested = account.limits.receive_buffer_is_set == Some(true);
        let is_default =
            is_rate_based != Some(true) && FILLED.contains(&(self.in_flight / DEFAULT));
        self.holder = if is_idle {
            return None;
        } else if is_window_larger {
            let is_buffer = BUFFERED.contains(&(self.in_flight / DEFAULT_SEND_BUFFER));
            (have_time && is_buffer && !is_requested).then_some(match is_rate_based {
                Some(false) => Holder::SendBuffer,
                _ => Holder::UncertainBuffer,
            })?
        } else if is_default {
            self.window = DEFAULT;
            Holder::Inferred
        } else if is_requested {
            Holder::Inferred
        } else {
            let is_small = self.window < BUFFERED.start * DEFAULT_SEND_BUFFER;
            let is_possible = have_time && is_small && is_rate_based == Some(false);
            is_possible.then_some(Holder::Uncertain)?
        };
        Some(())
    }

    /// Values of `WindowHeld` and `BufferHeld` for an interval. They are 1, 0, or 0.7 if something
    /// else may have held it. `None` if the interval shows nothing.
    pub fn holds(&self, slice: &Slice) -> Option<[f64; 2]> {
        let reference = (self.holder != Holder::Advertised).then_some(self.in_flight);
        in_flight(slice)?;
        if !is_held(slice, reference) {
            return Some([0.0; 2]);
        }
        Some(match self.holder {
            Holder::Advertised | Holder::Inferred => [1.0, 0.0],
            Holder::Uncertain => [0.7, 0.0],
            Holder::SendBuffer => [0.0, 1.0],
            Holder::UncertainBuffer => [0.0, 0.7],
        })
    }

    /// The window over these intervals; `reference` if none is advertised.
    fn over(slices: &[&Slice], reference: Option<f64>) -> Option<Self> {
        let held: Vec<&&Slice> = slices
            .iter()
            .filter(|slice| is_held(slice, reference))
            .collect();
        let is_most =
            held.len() >= MIN_INTERVALS && held.len() as f64 >= MOST * slices.len() as f64;
        let lossy = held.iter().filter(|slice| slice.retransmitted > 0).count() as f64;
        (is_most && lossy <= LOSSY * held.len() as f64).then_some(())?;
        let flights = held.iter().filter_map(|slice| in_flight(slice));
        let in_flight = median(flights.collect())?;
        let windows = held.iter().filter_map(|slice| slice.window.value());
        let window = match reference {
            Some(_) => in_flight,
            None => median(windows.collect())?,
        };
        // cwnd of a sender that does not fill it stands still, above the window or at it.
        let cwnds: Vec<f64> = held.iter().filter_map(|slice| slice.cwnd.value()).collect();
        let least = quartile(cwnds.clone(), 1);
        let [above, flat] = if reference.is_some() {
            [1.1, 1.02]
        } else {
            [1.02, 0.97]
        };
        let is_flat = quartile(cwnds, 3)
            .zip(least)
            .is_some_and(|(most, least)| most <= 1.02 * least);
        let has_room =
            least.is_none_or(|cwnd| cwnd >= above * window || is_flat && cwnd >= flat * window);
        has_room.then_some(Self {
            holder: if reference.is_none() {
                Holder::Advertised
            } else {
                Holder::Uncertain
            },
            window,
            in_flight,
            intervals: [held.len(), slices.len()],
        })
    }

    /// Whether an RTT was so low that a queue must have held the rest.
    fn has_queue(&self, account: &CounterAccount, slices: &[&Slice]) -> bool {
        let rtts = slices.iter().filter_map(|slice| slice.rtt.value());
        let min_rtt = account.min_rtt.map(|rtt| rtt.as_secs_f64());
        median(rtts.collect())
            .zip(min_rtt)
            .is_some_and(|(rtt, min)| min < EMPTY_QUEUE * rtt && min + HOST_DELAY < rtt)
    }

    /// Whether the rate is that of an Ethernet, which saturates it.
    fn is_line_rate(&self, account: &CounterAccount, slices: &[&Slice]) -> bool {
        let reading = account.last(End::Sender);
        let Some(smss) = reading.and_then(|reading| reading.smss) else {
            return false;
        };
        let rates = slices.iter().map(|slice| slice.rate());
        median(rates.collect()).is_some_and(|rate| is_ethernet_rate(rate, smss.as_u64()))
    }
}

/// Rate times RTT of an interval, in bytes.
fn in_flight(slice: &Slice) -> Option<f64> {
    Some(slice.rate() * slice.rtt.value()?).filter(|bytes| *bytes > 0.0)
}

/// That product over the advertised window.
fn of_window(slice: &Slice) -> Option<f64> {
    let window = slice.window.value().filter(|window| *window > 0.0)?;
    Some(in_flight(slice)? / window)
}

fn is_held(slice: &Slice, reference: Option<f64>) -> bool {
    match reference {
        Some(window) => {
            in_flight(slice).is_some_and(|flight| OF_MEDIAN.contains(&(flight / window)))
        }
        None => of_window(slice).is_some_and(|ratio| OF_ADVERTISED[1].contains(&ratio)),
    }
}

fn median(samples: Vec<f64>) -> Option<f64> {
    quartile(samples, 2)
}
