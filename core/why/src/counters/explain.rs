//! Text shared by the explanations of causes: figures of the time that a cause took.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use gigatcp_theory::send_buffer::buffer_for_window;
use gigatcp_units::grammar::{human_bytes, human_duration, human_rate};
use gigatcp_units::{Bytes, Duration};

use super::account::{CounterAccount, End};
use super::default_windows::known_default;
use super::features::{Feature, Features, Measures};
use super::held_window::Holder;
use super::slice::Slice;
use crate::causes::{clauses, counted, flowing};
use crate::verdict::percent;

/// A cause and its attributed time, ready to be explained.
pub(super) struct Context<'a> {
    pub account: &'a CounterAccount,
    pub m: &'a Measures,
    /// Rate that a fix aims at, bytes per second: up to the next limit.
    pub target: f64,
    /// All slices with time of the cause, merged.
    pub slice: Slice,
    /// Features of the slice with most of it.
    pub features: Features,
    pub spent: Duration,
}

fn bytes(amount: f64) -> String {
    human_bytes(Bytes::new(amount.max(0.0) as u64))
}

fn seconds(time: f64) -> String {
    human_duration(Duration::from_secs_f64(time))
}

impl Context<'_> {
    /// Formats the attributed time.
    pub fn time(&self) -> String {
        human_duration(self.spent)
    }

    /// Formats the delivery rate in that time.
    pub fn rate(&self) -> Option<String> {
        let time = self.slice.length.as_secs_f64().max(1e-9);
        flowing(self.slice.acked as f64 / time)
    }

    pub fn rate_text(&self, what: &str) -> Option<String> {
        Some(format!("{} {what}", self.rate()?))
    }

    /// Formats a fraction as percent.
    pub fn percent(&self, feature: Feature, what: &str) -> Option<String> {
        let value = self.features.value(feature)?;
        Some(format!("{} {what}", percent(value)))
    }

    /// The rate that the user set, if the application waited for it.
    pub fn requested_rate(&self) -> Option<String> {
        let waited = self.slice.app_idle.value() > Some(0.0);
        let requested = self.account.limits.requested_rate.filter(|_| waited);
        requested.map(human_rate)
    }

    pub fn queue_text(&self) -> Option<String> {
        let (rtt, min) = (self.slice.rtt.value()?, self.m.min_rtt?);
        let queue = (rtt - min).max(0.0);
        Some(if queue < 0.1 * min {
            format!("RTT at its minimum of {}", seconds(min))
        } else {
            format!(
                "RTT {} above its minimum of {}",
                seconds(queue),
                seconds(min)
            )
        })
    }

    pub fn flight_text(&self) -> Option<String> {
        let flight = self.slice.flight.value().filter(|flight| *flight >= 1.0)?;
        Some(format!("{} in flight", bytes(flight)))
    }

    /// Formats one bandwidth-delay product.
    pub fn bdp(&self) -> String {
        self.m
            .bdp()
            .map_or_else(|| "one bandwidth-delay product".into(), bytes)
    }

    /// Describes the fix for a full path. A BDP of less than two segments is no window.
    pub fn path_fix(&self) -> String {
        let segment = self.account.last(End::Sender).and_then(|last| last.smss);
        let least = 2.0 * segment.unwrap_or(Bytes::new(1460)).as_u64() as f64;
        let window = self.m.bdp().filter(|bdp| *bdp >= least);
        window.map_or_else(
            || "a faster path".into(),
            |bdp| {
                let window = bytes(bdp);
                format!("a faster path; an RTT without the queue needs a window of {window}")
            },
        )
    }

    pub fn cwnd(&self) -> Option<String> {
        self.slice.cwnd.value().map(bytes)
    }

    pub fn cwnd_text(&self) -> Option<String> {
        let (from, to) = self.slice.cwnd_ends?;
        Some(format!("cwnd from {from} to {to} segments"))
    }

    /// Describes the fix for a cwnd that grows. Cached metrics never enlarge the initial window of
    /// Linux; a cached ssthresh ends slow start early.
    pub fn growth_fix(&self) -> String {
        if self.slice.slow_start.value() >= Some(0.5) {
            return "keep connections open and reuse them; Linux: a larger initial window (ip route \
                    change ... initcwnd 30), net.ipv4.tcp_slow_start_after_idle=0"
                .into();
        }
        let faster = match self.account.congestion.as_deref() {
            Some(bbr) if bbr.starts_with("bbr") => "",
            Some("cubic") => ", or BBR",
            _ => ", or CUBIC or BBR",
        };
        format!(
            "no cached ssthresh, which ends slow start early (Linux: ip tcp_metrics flush, then \
             net.ipv4.tcp_no_metrics_save=1){faster}"
        )
    }

    pub fn pacing(&self) -> Option<String> {
        self.slice.pacing.value().and_then(flowing)
    }

    pub fn pacing_text(&self) -> Option<String> {
        let pacing = self.pacing()?;
        let of_cap = self.features.value(Feature::PacingCap);
        let at_cap = of_cap.is_some_and(|of| of > 0.98);
        let cap = if at_cap { ", its upper bound" } else { "" };
        Some(format!("pacing rate {pacing}{cap}"))
    }

    pub fn send_buffer(&self) -> Option<String> {
        let reading = self.account.last(End::Sender)?;
        let kept = self.slice.flight.value().map(bytes);
        reading
            .sndbuf
            .map(human_bytes)
            .or_else(|| kept.map(|kept| format!("{kept} in flight")))
    }

    /// Bytes in flight that the rate of the answer needs, as a multiple of 64 KiB. They exceed the
    /// window that was full. `None` if the counters show no RTT of the time.
    fn needed(&self) -> Option<u64> {
        let window = self.window_bytes().unwrap_or(0.0);
        let rtt = self.m.min_rtt.filter(|_| !self.account.is_total)?;
        let bdp = (self.target * rtt).max(window);
        Some((bdp as u64).max(1).div_ceil(65_536).saturating_mul(65_536))
    }

    pub fn send_buffer_fix(&self) -> String {
        let limits = &self.account.limits;
        let Some(needed) = self.needed() else {
            return "raise the third value of net.ipv4.tcp_wmem; set no SO_SNDBUF in the \
                    application"
                .into();
        };
        if let Some(most) = limits.engine_send_max {
            engine_fix(limits.send_buffer_is_set, needed, most)
        } else if limits.send_buffer_is_set == Some(true) {
            format!(
                "set no SO_SNDBUF in the application, or more than {needed} there; \
                 net.core.wmem_max{} bounds it",
                now(limits.wmem_max)
            )
        } else {
            format!(
                "raise the third value of net.ipv4.tcp_wmem{} to more than {} (two thirds of it \
                 are always in flight); set no SO_SNDBUF in the application",
                now(limits.tcp_wmem_max),
                buffer_for_window(needed)
            )
        }
    }

    pub fn window(&self) -> Option<String> {
        self.window_bytes().map(bytes)
    }

    /// The window that was full, in bytes. It is the one that held rate times RTT, or the mean of the
    /// readings.
    fn window_bytes(&self) -> Option<f64> {
        let held = self.m.held.map(|held| held.window);
        held.or_else(|| self.slice.window.value())
    }

    /// Describes the intervals that a window held.
    pub fn held_text(&self) -> Option<String> {
        let held = self.m.held?;
        let [intervals, all] = held.intervals;
        let of = if held.holder == Holder::Advertised {
            format!(
                ", {} of the advertised window",
                percent(held.in_flight / held.window)
            )
        } else {
            ", although cwnd was larger".into()
        };
        Some(format!(
            "rate times RTT was {} (median){of}, the same in {intervals} of {all} intervals",
            bytes(held.in_flight)
        ))
    }

    pub fn window_range(&self) -> Option<String> {
        let window = self.window()?;
        let most = human_bytes(self.account.max_window);
        Some(format!("window {window} on average, at most {most}"))
    }

    pub fn window_evidence(&self) -> Vec<String> {
        let rtt = match self.m.held {
            Some(_) => self.slice.rtt.value(),
            None => self.m.min_rtt,
        };
        let allowed = self.window_bytes().zip(rtt).and_then(|(window, rtt)| {
            Some(format!(
                "{} per RTT of {} allows {}",
                bytes(window),
                seconds(rtt),
                flowing(window / rtt)?
            ))
        });
        vec![
            clauses([
                self.percent(Feature::WindowShare, "of the time rwnd-limited"),
                self.held_text(),
                allowed,
                self.queue_text(),
            ]),
            clauses([self.default_window(), self.granted_window()]),
            self.of_reader(),
        ]
    }

    /// Says what the sender's totals leave open; empty for other counters.
    fn of_reader(&self) -> String {
        if !self.account.is_total {
            return String::new();
        }
        "not known whether the receiver's buffer is small or its application reads slowly".into()
    }

    /// Describes the receiver's buffer, by its settings.
    fn granted_window(&self) -> Option<String> {
        let reading = self.account.last(End::Receiver)?;
        let buffer = reading.rcvbuf.map(human_bytes)?;
        Some(format!("receive buffer {buffer}"))
    }

    fn default_window(&self) -> Option<String> {
        let held = self.m.held.map(|held| Bytes::new(held.window as u64));
        known_default(held.unwrap_or(self.account.max_window)).map(String::from)
    }

    pub fn window_fix(&self) -> String {
        let limits = &self.account.limits;
        let Some(needed) = self.needed() else {
            return "at the receiver look whether data waits to be read (Recv-Q of ss). If not, raise \
                    the third value of net.ipv4.tcp_rmem, and set no SO_RCVBUF there"
                .into();
        };
        if let Some(most) = limits.engine_receive_max {
            engine_fix(limits.receive_buffer_is_set, needed, most)
        } else if limits.receive_buffer_is_set == Some(true) {
            format!(
                "set no SO_RCVBUF in the receiving application, or more than {needed} there; \
                 net.core.rmem_max{} bounds it",
                now(limits.rmem_max)
            )
        } else {
            format!(
                "at the receiver raise the third value of net.ipv4.tcp_rmem{} to more than {} \
                 (half of it becomes window), and set no SO_RCVBUF there",
                now(limits.tcp_rmem_max),
                needed.saturating_mul(2)
            )
        }
    }

    pub fn unread(&self) -> Option<String> {
        let amount = self.slice.unread.value()?;
        (amount >= 1.0).then(|| format!("{} unread", bytes(amount)))
    }

    pub fn unread_text(&self) -> Option<String> {
        Some(format!("{} at the receiver", self.unread()?))
    }

    pub fn losses(&self) -> Option<String> {
        let count = self.m.retransmitted;
        (count > 0).then(|| counted(count, "retransmission"))
    }

    pub fn losses_text(&self) -> String {
        format!(
            "{} in {}",
            counted(self.m.retransmitted, "retransmission"),
            counted(self.m.events, "loss event")
        )
    }

    pub fn loss_queue_text(&self) -> Option<String> {
        let queue = self.m.loss_queue?;
        Some(format!(
            "RTT {} above minimum before losses (median)",
            seconds(queue)
        ))
    }

    pub fn reordered_text(&self) -> Option<String> {
        (self.slice.reordered > 0)
            .then(|| format!("reordering seen {}", counted(self.slice.reordered, "time")))
    }

    pub fn timeouts_text(&self) -> Option<String> {
        let count = self.slice.timeouts;
        (count > 0).then(|| counted(count, "timeout"))
    }

    pub fn longest_stall(&self) -> Option<String> {
        Some(seconds(self.m.longest_stall))
    }

    pub fn host_drops_text(&self) -> Option<String> {
        let count = self.slice.host_drops;
        (count > 0).then(|| format!("{} dropped by the receiving host", counted(count, "packet")))
    }

    /// Describes the saturated core of an end's host; empty without one.
    pub fn core_text(&self, end: End) -> String {
        let host = self.account.host_summary(end);
        host.and_then(|host| host.saturated_text())
            .unwrap_or_default()
    }

    /// Describes the drops that an end's host counted; empty without any.
    pub fn drops_text(&self, end: End) -> String {
        let host = self.account.host_summary(end);
        host.and_then(|host| host.drops_text()).unwrap_or_default()
    }

    /// Describes the fix for more CPU: first for the saturated core.
    pub fn cpu_fix(&self, end: End, general: &str) -> String {
        let host = self.account.host_summary(end);
        match host.and_then(|host| host.core_advice()) {
            Some(advice) => format!("{advice}; {general}"),
            None => general.into(),
        }
    }
}

/// Describes the current value of a setting; empty if it is unknown.
fn now(bytes: Option<Bytes>) -> String {
    bytes.map_or_else(String::new, |bytes| format!(" (now {})", bytes.as_u64()))
}

/// Describes the fix for the engine's buffer: it was requested, or grows.
fn engine_fix(is_set: Option<bool>, needed: u64, most: Bytes) -> String {
    match is_set {
        Some(true) => format!(
            "request no buffer (-w): the engine's grows to {}; or request more than {needed}",
            most.as_u64()
        ),
        _ => format!(
            "request a buffer (-w) of more than {needed}: without it the engine's grows to {} \
             only",
            most.as_u64()
        ),
    }
}

/// A cause in words.
pub struct Explanation {
    /// The decisive figure; it follows the name in parentheses.
    pub figure: Option<String>,
    pub finding: String,
    pub evidence: Vec<String>,
    pub fix: String,
}
