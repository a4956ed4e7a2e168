//! XCP: the router assigns each packet a change of its sender's window.
//!
//! Katabi, Handley, Rohrs, "Congestion Control for High Bandwidth-Delay Product Networks",
//! SIGCOMM 2002, sections 3.5 and 4; the residues of its appendix are from memory. Once per
//! interval, which is the mean RTT d of the flows, with packets of s bytes:
//!
//! ```text
//! d     = sum(rtt · rtt·s/cwnd) / sum(rtt·s/cwnd)                       (1)
//! phi   = alpha·d·S - beta·Q                                            (2)
//! h     = max(0, gamma·y·d - |phi|)                                     (3)
//! xi_p  = (h + max(phi, 0)) / (d · sum(rtt·s/cwnd))                     (4)
//! xi_n  = (h + max(-phi, 0)) / (d · sum(s))                             (5)
//! p     = xi_p·rtt²·s/cwnd      n = xi_n·rtt·s                          (6)
//! ```
//!
//! y is the arriving rate, S = C - y the spare bandwidth, Q the minimum queue in the interval. A
//! departing packet is granted p - n, unless it requests less. The packets of an interval are
//! granted at most (h + max(phi, 0))/d and (h + max(-phi, 0))/d in sum(p/rtt) and sum(n/rtt).
//! Stable for alpha below pi/(4·sqrt(2)) and beta = alpha²·sqrt(2), for any delay, capacity and
//! number of flows.
//!
//! Choices:
//!
//! * The first interval is 50 ms. An interval without a request continues until one arrives.
//! * s includes the link overhead of a packet, cwnd counts payload. alpha and beta are in effect
//!   larger by their ratio, 1.07 for full segments.
//! * Fractions of a byte are carried to the next packet.
//! * Packets without request count in y and in the queue: mixed traffic has no separate queue here
//!   (section 7 of the paper).
//! * A link without rate (also one that follows a trace) grants every request in full.
//!
//! The queue is that of `fifo`.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

use super::waiting::Waiting;
use super::{Build, Discipline, Drops, Entry, Limits, Link, Parameter, Ticket, any_settings};
use crate::router::{Request, RequestedValue, Router};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "xcp",
    summary: "first in, first out; tells XCP senders how much to change (Katabi 2002)",
    parameters: &[ALPHA, BETA, GAMMA],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(Xcp::new(&build)),
};

const ALPHA: Parameter = Parameter::number(
    "alpha",
    Some(0.4),
    GAINS,
    "share of the spare rate granted per RTT",
);

const BETA: Parameter = Parameter::number(
    "beta",
    Some(0.226),
    GAINS,
    "share of the standing queue taken back per RTT",
);

const GAMMA: Parameter = Parameter::number(
    "gamma",
    Some(0.1),
    GAINS,
    "share of the traffic moved between flows per RTT",
);

/// Bounds of the gains; above pi/(4·sqrt(2)) = 0.555 alpha is unstable.
const GAINS: (f64, f64) = (0.0, 1.0);

/// Interval before an RTT is known.
const FIRST_INTERVAL: Duration = Duration::from_millis(50);

/// Bounds of later intervals in seconds, because RTTs are reported by senders.
const INTERVALS: (f64, f64) = (100e-6, 10.0);

/// Arrivals of an interval.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    /// Bytes of all packets.
    bytes: f64,
    /// Bytes of packets with a request.
    asking: f64,
    /// Sum of rtt·s/cwnd.
    share: f64,
    /// Sum of rtt·rtt·s/cwnd.
    weighted: f64,
}

/// Grants to the packets of an interval.
#[derive(Clone, Copy, Default, Debug)]
struct Granted {
    /// Results of equations (4) and (5).
    xi: (f64, f64),
    /// Remainders of both, in bytes per second.
    residue: (f64, f64),
}

/// A queue whose router is an XCP controller.
#[derive(Debug)]
struct Xcp {
    limits: Limits,
    gains: (f64, f64, f64),
    waiting: Waiting,
    /// Start of the interval.
    begin: Instant,
    end: Instant,
    seen: Seen,
    min_queue: u64,
    /// Mean RTT in seconds.
    mean_rtt: f64,
    /// Grants of the interval; `None`: every request is granted in full.
    granted: Option<Granted>,
    /// Fractions of a byte carried to the next packet.
    carry: f64,
}

impl Xcp {
    fn new(build: &Build<'_>) -> Self {
        let number = |parameter| build.settings.number(parameter);
        Self {
            limits: build.limits,
            gains: (number(&ALPHA), number(&BETA), number(&GAMMA)),
            waiting: Waiting::default(),
            begin: build.start,
            end: build.start + FIRST_INTERVAL,
            seen: Seen::default(),
            min_queue: 0,
            mean_rtt: FIRST_INTERVAL.as_secs_f64(),
            granted: Some(Granted::default()),
            carry: 0.0,
        }
    }

    /// Computes equations (1) to (5) at the end of an interval.
    fn decide(&mut self, now: Instant, link: &Link) {
        let span = now.saturating_since(self.begin).as_secs_f64();
        let seen = self.seen;
        if seen.share > 0.0 && span > 0.0 {
            let d = (seen.weighted / seen.share).clamp(INTERVALS.0, INTERVALS.1);
            self.mean_rtt = d;
            self.granted = link.rate.map(|rate| {
                let (alpha, beta, gamma) = self.gains;
                let arriving = seen.bytes / span;
                let spare = rate.as_bps() as f64 / 8.0 - arriving;
                let phi = alpha * d * spare - beta * self.min_queue as f64;
                let shuffled = (gamma * arriving * d - phi.max(-phi)).max(0.0);
                let more = (shuffled + phi.max(0.0)) / d;
                let less = (shuffled + (-phi).max(0.0)) / d;
                // The sums are over d, not over the actual duration of the interval.
                let scale = span / d;
                Granted {
                    xi: (more / seen.share * scale, less / seen.asking * scale),
                    residue: (more, less),
                }
            });
            self.seen = Seen::default();
            self.begin = now;
            self.min_queue = self.waiting.octets();
        }
        self.end = now + Duration::from_secs_f64(self.mean_rtt);
    }
}

impl Granted {
    /// Applies equation (6) and the remainders of the interval; returns the change in bytes.
    fn take(&mut self, rtt: f64, bytes: f64, cwnd: f64, wanted: f64) -> f64 {
        let share = self.xi.0 * rtt * rtt * bytes / cwnd;
        let more = share.min(self.residue.0 * rtt);
        let less = (self.xi.1 * rtt * bytes).min(self.residue.1 * rtt);
        let own = more - less;
        let (used_more, used_less) = if own <= wanted {
            (more, less)
        } else {
            // A router before this one, or the sender, limits the flow.
            (wanted.max(0.0), own.max(0.0) - wanted)
        };
        self.residue.0 = (self.residue.0 - used_more / rtt).max(0.0);
        self.residue.1 = (self.residue.1 - used_less / rtt).max(0.0);
        debug_assert!(
            self.residue.0.is_finite() && self.residue.1.is_finite() && own.is_finite(),
            "{own} bytes of change, {:?} are left",
            self.residue
        );
        own.min(wanted)
    }
}

impl Router for Xcp {
    fn on_arrival(&mut self, bytes: u64, request: Option<&Request>) {
        let bytes = bytes as f64;
        self.seen.bytes += bytes;
        if let Some((rtt, cwnd, _)) = request.and_then(window) {
            self.seen.asking += bytes;
            self.seen.share += rtt * bytes / cwnd;
            self.seen.weighted += rtt * rtt * bytes / cwnd;
        }
    }

    fn answer(&mut self, _now: Instant, _link: &Link, bytes: u64, request: &mut Request) -> bool {
        let Some((rtt, cwnd, wanted)) = window(request) else {
            return false;
        };
        let Some(granted) = &mut self.granted else {
            return true;
        };
        let change = granted.take(rtt, bytes as f64, cwnd, wanted) + self.carry;
        // Casts truncate and saturate.
        let whole = change as i64;
        self.carry = change - whole as f64;
        debug_assert!(
            self.carry.abs() < 1.0,
            "{} of {change} bytes are not told",
            self.carry
        );
        if let RequestedValue::Window { feedback, .. } = &mut request.requested {
            *feedback = whole.min(*feedback);
        }
        true
    }
}

/// RTT in seconds, cwnd and requested change of a window request.
fn window(request: &Request) -> Option<(f64, f64, f64)> {
    let RequestedValue::Window { cwnd, feedback } = request.requested else {
        return None;
    };
    let rtt = request.rtt.as_secs_f64();
    (rtt > 0.0 && cwnd > 0).then_some((rtt, cwnd as f64, feedback as f64))
}

impl Discipline for Xcp {
    fn enqueue(&mut self, _now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        let inside = self.waiting.with(link, &ticket);
        if !self.limits.admit(inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        self.waiting.push(ticket);
    }

    fn dequeue(&mut self, _now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        let ticket = self.waiting.pop();
        self.min_queue = self.min_queue.min(self.waiting.octets());
        ticket
    }

    drain_and_backlog!();

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.end)
    }

    fn handle_timeout(&mut self, now: Instant, link: &Link) {
        self.decide(now, link);
    }

    fn router(&mut self) -> Option<&mut dyn Router> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Trial, at, unlimited};
    use super::*;

    fn asks(rtt: f64, cwnd: u64, feedback: i64) -> Request {
        Request {
            rtt: Duration::from_secs_f64(rtt),
            requested: RequestedValue::Window { cwnd, feedback },
        }
    }

    /// A queue at 1 MB/s after the first interval. Each of these requests came in a packet of 1000
    /// bytes.
    fn after(requests: &[Request]) -> Trial {
        let mut trial = Trial::new("xcp", &[], unlimited());
        trial.rate(8_000_000);
        for request in requests {
            let router = trial.queue.router().unwrap();
            router.on_arrival(1000, Some(request));
        }
        trial.queue.handle_timeout(at(0.050), &trial.link);
        trial
    }

    fn told(trial: &mut Trial, mut request: Request) -> i64 {
        let link = trial.link;
        let router = trial.queue.router().unwrap();
        assert!(router.answer(at(0.050), &link, 1000, &mut request));
        let RequestedValue::Window { feedback, .. } = request.requested else {
            panic!("another request");
        };
        feedback
    }

    /// By hand: 10 kB in 50 ms are 200 kB/s, so S = 800 kB/s. d = 50 ms; phi = 0.4 · 0.05 · 800 kB
    /// = 16 kB; h = 0.1 · 10 kB - 16 kB < 0. So ten packets of one flow with a window of ten share
    /// 16 kB.
    #[test]
    fn spare_bandwidth_is_shared_by_the_packets_of_an_interval() {
        let one = asks(0.050, 10_000, i64::MAX);
        let mut trial = after(&[one; 10]);
        let told: Vec<i64> = (0..12).map(|_| told(&mut trial, one)).collect();
        assert_eq!(told[..10], [1600; 10]);
        assert_eq!(told[10..], [0, 0], "the interval has no more");
    }

    /// At y = C, phi = 0 and h = 0.1 · 50 kB. A flow with a tenth of the window has a tenth of the
    /// packets. It gets half of the increase and a tenth of the decrease.
    #[test]
    fn a_tenth_of_the_traffic_is_dealt_out_anew() {
        let (large, small) = (asks(0.050, 45_000, i64::MAX), asks(0.050, 5_000, i64::MAX));
        let all: Vec<Request> = [&[large; 45][..], &[small; 5][..]].concat();
        let mut trial = after(&all);
        let mut sum = |request, count| (0..count).map(|_| told(&mut trial, request)).sum::<i64>();
        // A fraction of a byte may be carried into and out of each sum.
        assert!((sum(large, 45) - (2500 - 4500)).abs() <= 2);
        assert!((sum(small, 5) - (2500 - 500)).abs() <= 2);
    }

    #[test]
    fn a_sender_that_wants_less_than_its_part_leaves_the_rest_to_others() {
        let (modest, greedy) = (asks(0.050, 10_000, 100), asks(0.050, 10_000, i64::MAX));
        let mut trial = after(&[modest, greedy, greedy, greedy, greedy]);
        assert_eq!(told(&mut trial, modest), 100);
        let sum: i64 = (0..6).map(|_| told(&mut trial, greedy)).sum();
        // phi = 0.4 · 0.05 · 900 kB.
        assert!((sum - (18_000 - 100)).abs() <= 1, "{sum}");
    }

    #[test]
    fn a_standing_queue_is_taken_back_by_beta() {
        let mut trial = Trial::new("xcp", &[], unlimited());
        trial.rate(8_000_000);
        trial.arrive_many(0.0, 10);
        trial.queue.handle_timeout(at(0.050), &trial.link);
        assert_eq!(
            told(&mut trial, asks(0.050, 50_000, i64::MAX)),
            0,
            "no request, no answer"
        );
        let one = asks(0.050, 50_000, i64::MAX);
        for _ in 0..50 {
            trial.queue.router().unwrap().on_arrival(1000, Some(&one));
        }
        // The interval was 50 ms without arrivals, and then 50 ms at C: S = C/2.
        trial.queue.handle_timeout(at(0.100), &trial.link);
        for _ in 0..50 {
            trial.queue.router().unwrap().on_arrival(1000, Some(&one));
        }
        trial.queue.handle_timeout(at(0.150), &trial.link);
        let sum: i64 = (0..50).map(|_| told(&mut trial, one)).sum();
        assert_eq!(sum, -2260, "0.226 of ten packets");
    }

    #[test]
    fn without_rtt_or_window_there_is_no_answer() {
        let mut trial = after(&[]);
        let link = trial.link;
        for mut request in [asks(0.0, 10_000, 5), asks(0.050, 0, 5)] {
            let router = trial.queue.router().unwrap();
            assert!(!router.answer(at(0.1), &link, 1000, &mut request));
        }
    }

    #[test]
    fn a_link_without_rate_grants_what_is_asked() {
        let one = asks(0.050, 10_000, 77_777);
        let mut trial = after(&[]);
        trial.link.rate = None;
        trial.queue.router().unwrap().on_arrival(1000, Some(&one));
        trial.queue.handle_timeout(at(0.100), &trial.link);
        assert_eq!(told(&mut trial, one), 77_777);
    }
}
