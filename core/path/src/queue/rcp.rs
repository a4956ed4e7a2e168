//! RCP: the router assigns every sender the same rate.
//!
//! Dukkipati, Kobayashi, Zhang-Shen, McKeown, "Processor Sharing Flows in the Internet",
//! IWQoS 2005. The constants are those usual in ns-2 and from memory. Every T = min(10 ms, d0),
//! with capacity C, arriving rate y and q bytes in the queue:
//!
//! ```text
//! R <- R·(1 + (T/d0)·(alpha·(C - y) - beta·q/d0)/C)                     (1)
//! ```
//!
//! d0 is the mean RTT that the requests state, with a gain of 0.02 per packet. R starts at C and
//! stays between a thousandth of a percent of C and C. The request of a departing packet is lowered
//! to R. N flows that always have data settle at R = C/N without a queue.
//!
//! A link without rate (also one that follows a trace) grants every request in full. The queue is
//! that of `fifo`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant, Rate};

use super::waiting::Waiting;
use super::{Build, Discipline, Drops, Entry, Limits, Link, Parameter, Ticket, any_settings};
use crate::router::{Request, RequestedValue, Router};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "rcp",
    summary: "first in, first out; tells RCP senders one rate for all (Dukkipati 2005)",
    parameters: &[ALPHA, BETA],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(Rcp::new(&build)),
};

const ALPHA: Parameter = Parameter::number(
    "alpha",
    Some(0.4),
    (0.0, 2.0),
    "share of the spare rate granted per RTT",
);

const BETA: Parameter = Parameter::number(
    "beta",
    Some(0.226),
    (0.0, 2.0),
    "share of the queue taken back per RTT",
);

/// Maximum time between two updates.
const LONGEST_UPDATE: Duration = Duration::from_millis(10);

/// Weight of a stated RTT in the mean.
const RTT_GAIN: f64 = 0.02;

/// Minimum of R as a share of C.
const LOWEST: f64 = 1e-5;

/// A queue whose router is an RCP controller.
#[derive(Debug)]
struct Rcp {
    limits: Limits,
    alpha: f64,
    beta: f64,
    waiting: Waiting,
    /// R as a share of C.
    share: f64,
    /// d0 in seconds; `None` before the first request.
    mean_rtt: Option<f64>,
    updated: Instant,
    due: Instant,
    /// Bytes that arrived since the last update.
    arrived: u64,
}

impl Rcp {
    fn new(build: &Build<'_>) -> Self {
        Self {
            limits: build.limits,
            alpha: build.settings.number(&ALPHA),
            beta: build.settings.number(&BETA),
            waiting: Waiting::default(),
            share: 1.0,
            mean_rtt: None,
            updated: build.start,
            due: build.start + LONGEST_UPDATE,
            arrived: 0,
        }
    }

    /// Applies equation (1) over the time since the last update.
    fn update(&mut self, now: Instant, link: &Link) {
        let span = now.saturating_since(self.updated).as_secs_f64();
        if let (Some(rate), Some(d0)) = (link.rate, self.mean_rtt)
            && span > 0.0
            && rate.as_bps() > 0
        {
            let capacity = rate.as_bps() as f64 / 8.0;
            let spare = capacity - self.arrived as f64 / span;
            let drained = self.waiting.octets() as f64 / d0;
            let change = (self.alpha * spare - self.beta * drained) / capacity;
            // Late updates of an idle link make one step of at most an RTT.
            let step = (span / d0).min(1.0);
            self.share = (self.share * (1.0 + step * change)).clamp(LOWEST, 1.0);
            debug_assert!(
                (LOWEST..=1.0).contains(&self.share),
                "R is {} of C, after a change of {change}",
                self.share
            );
        }
        self.arrived = 0;
        self.updated = now;
        let longest = LONGEST_UPDATE.as_secs_f64();
        let period = self.mean_rtt.map_or(longest, |d0| d0.min(longest));
        self.due = now + Duration::from_secs_f64(period.max(10e-6));
    }
}

impl Router for Rcp {
    fn on_arrival(&mut self, bytes: u64, request: Option<&Request>) {
        self.arrived += bytes;
        if let Some(request) = request
            && matches!(request.requested, RequestedValue::Rate(_))
            && !request.rtt.is_zero()
        {
            let rtt = request.rtt.as_secs_f64();
            let mean = self.mean_rtt.unwrap_or(rtt);
            self.mean_rtt = Some(mean + RTT_GAIN * (rtt - mean));
        }
    }

    fn answer(&mut self, _now: Instant, link: &Link, _bytes: u64, request: &mut Request) -> bool {
        let RequestedValue::Rate(asked) = &mut request.requested else {
            return false;
        };
        if let Some(capacity) = link.rate {
            // The cast truncates.
            let own = Rate::from_bps((capacity.as_bps() as f64 * self.share) as u64);
            *asked = own.min(*asked);
        }
        true
    }
}

impl Discipline for Rcp {
    fn enqueue(&mut self, _now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        let inside = self.waiting.with(link, &ticket);
        if !self.limits.admit(inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        self.waiting.push(ticket);
    }

    fn dequeue(&mut self, _now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        self.waiting.pop()
    }

    drain_and_backlog!();

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.due)
    }

    fn handle_timeout(&mut self, now: Instant, link: &Link) {
        self.update(now, link);
    }

    fn router(&mut self) -> Option<&mut dyn Router> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Trial, at, unlimited};
    use super::*;

    fn told(trial: &mut Trial, asked: u64) -> u64 {
        let mut request = Request {
            rtt: Duration::from_millis(100),
            requested: RequestedValue::Rate(Rate::from_bps(asked)),
        };
        let link = trial.link;
        let router = trial.queue.router().unwrap();
        assert!(router.answer(at(0.0), &link, 1000, &mut request));
        let RequestedValue::Rate(rate) = request.requested else {
            panic!("another request");
        };
        rate.as_bps()
    }

    fn arrive(trial: &mut Trial, packets: u64) {
        let request = Request {
            rtt: Duration::from_millis(100),
            requested: RequestedValue::Rate(Rate::MAX),
        };
        for _ in 0..packets {
            let router = trial.queue.router().unwrap();
            router.on_arrival(1000, Some(&request));
        }
    }

    /// By hand, C = 1 MB/s, d0 = 100 ms, T = 10 ms. 20 kB in T are y = 2 C, so R falls by 0.1 ·
    /// 0.4; with 10 kB in the queue by 0.1 · 0.226 · 0.1 more.
    #[test]
    fn the_rate_follows_spare_bandwidth_and_queue() {
        let mut trial = Trial::new("rcp", &[], unlimited());
        trial.rate(8_000_000);
        assert_eq!(told(&mut trial, u64::MAX), 8_000_000, "it begins at C");
        arrive(&mut trial, 20);
        trial.queue.handle_timeout(at(0.010), &trial.link);
        assert_eq!(told(&mut trial, u64::MAX), 7_680_000);
        trial.arrive_many(0.010, 10);
        arrive(&mut trial, 10);
        trial.queue.handle_timeout(at(0.020), &trial.link);
        let expected = 7_680_000.0 * (1.0 - 0.1 * 0.226 * 0.1);
        assert_eq!(told(&mut trial, u64::MAX), expected as u64);
    }

    #[test]
    fn a_sender_that_wants_less_keeps_what_it_wants_and_c_is_never_exceeded() {
        let mut trial = Trial::new("rcp", &[], unlimited());
        trial.rate(8_000_000);
        arrive(&mut trial, 1);
        for step in 1..50 {
            trial
                .queue
                .handle_timeout(at(0.01 * f64::from(step)), &trial.link);
        }
        assert_eq!(told(&mut trial, 1_000), 1_000);
        assert_eq!(told(&mut trial, u64::MAX), 8_000_000);
    }
}
