//! DualPI2: a short queue for L4S and a classic queue, with coupled signals.
//!
//! RFC 9332 appendix A (De Schepper, Briscoe, White 2023). Packets with ECT(1) or CE wait in the L
//! queue, all others in the C queue. Every 16 ms, with q the longer of the sojourn times of the
//! oldest packets in the two,
//!
//! ```text
//! p' <- p' + alpha*(q - target) + beta*(q - q_old)                      (1)
//! p_CL = k*p'          marks in L, coupled                              (2)
//! p_C = p'^2           marks or drops in C                              (3)
//! p_L = max(ramp, p_CL)                                                 (4)
//! ```
//!
//! The ramp rises from 0 to 1 between 800 and 1200 us of waiting in L, if more than one packet
//! waits there; equal bounds make it a step. A signal is due when the sum of the packets'
//! probabilities exceeds 1 (`recur` of the RFC). C packets that are ECN-capable are marked, others
//! dropped.
//!
//! Overload (appendix A.2): once p_CL reaches 1, L packets are dropped with p_C and the rest
//! marked. Once p_C reaches 1/k^2, C packets are dropped even if they are ECN-capable. No coupled
//! signals occur while the queues hold less than two packets of octets.
//!
//! Choices where implementations differ:
//!
//! * Scheduler: weighted round robin by credit as in Linux, 10 % for C while both queues hold
//!   packets. The RFC's alternative, a FIFO shifted by 50 ms for C, allows a burst of L to delay C
//!   by 50 ms before C is served. Credit bounds that delay by octets and depends on no time scale.
//! * alpha = 0.16 and beta = 3.2 per update of 16 ms are Linux's, the RFC's formulas
//!   0.1*T/RTT_max^2 and 0.3/RTT_max for an RTT_max of 100 ms, rounded up to its clock.
//! * Linux draws at random where the RFC sums. This module sums, without a random stream.
//! * Linux marks L above a step of 1 ms: set both bounds of the ramp to it.
//! * The limit is 250 ms at the highest rate that the link has had (RFC), at least two packets. On
//!   a link without a rate it is Linux's 10,000 packets. It counts waiting packets only.
//!
//! Updates need no timer: those that are due run before the next packet arrives or departs, with
//! the same result.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::{Bytes, Duration, Instant, Rate};

use super::waiting::{Ticks, Waiting};
use super::{Build, Discipline, Drops, Entry, Limits, Link, Settings, Ticket, any_settings};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "dualpi2",
    summary: "two coupled queues, one of them short for L4S (RFC 9332)",
    parameters: &[
        TARGET,
        T_UPDATE,
        ALPHA,
        BETA,
        COUPLING,
        RAMP_MIN,
        RAMP_MAX,
        CLASSIC_WEIGHT,
    ],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(DualPi2::new(&build)),
};

/// Limit in packets on a link without a rate, as in Linux.
const LIMIT: u64 = 10_000;

/// Limit in time at the link's rate (RFC 9332 appendix A.1).
const LIMIT_TIME: Duration = Duration::from_millis(250);

parameters! {
    TARGET: Time = "target", Some(Duration::from_millis(15)),
        [Duration::from_nanos(1), Duration::from_secs(100)],
        "queueing delay of the classic queue to settle at";
    T_UPDATE: Time = "tupdate", Some(Duration::from_millis(16)),
        [Duration::from_micros(1), Duration::from_secs(100)],
        "time between two updates of the probabilities";
    ALPHA: Number = "alpha", Some(0.16), [0.0, 1e6],
        "weight of the deviation from the target, in 1/s per update";
    BETA: Number = "beta", Some(3.2), [0.0, 1e6],
        "weight of the change of the delay, in 1/s per update";
    COUPLING: Number = "coupling", Some(2.0), [1.0, 1000.0],
        "mark probability in L per base probability (k of the RFC)";
    RAMP_MIN: Time = "ramp_min", Some(Duration::from_micros(800)),
        [Duration::ZERO, Duration::from_secs(100)],
        "waiting time in L from which packets are marked";
    RAMP_MAX: Time = "ramp_max", Some(Duration::from_micros(1200)),
        [Duration::ZERO, Duration::from_secs(100)],
        "waiting time in L from which all packets are marked";
    CLASSIC_WEIGHT: Number = "classic_weight", Some(0.1), [0.0, 1.0],
        "share of the link for the classic queue while both hold packets";
}

/// Equations (1) to (3).
#[derive(Clone, Copy, Debug)]
struct Controller {
    /// Target delay in seconds.
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    /// p' of the RFC.
    base: f64,
    /// Delay at the last update, in seconds.
    old: f64,
}

impl Controller {
    fn new(settings: &Settings) -> Self {
        Self {
            target: settings.time(&TARGET).as_secs_f64(),
            alpha: settings.number(&ALPHA),
            beta: settings.number(&BETA),
            coupling: settings.number(&COUPLING),
            base: 0.0,
            old: 0.0,
        }
    }

    fn update(&mut self, delay: f64) {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - self.old);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.old = delay;
    }

    /// p_CL.
    fn coupled(&self) -> f64 {
        (self.coupling * self.base).min(1.0)
    }

    /// p_C.
    fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// Whether p_C is so large that C packets are dropped even if ECN-capable.
    fn is_classic_overloaded(&self) -> bool {
        self.classic() >= 1.0 / (self.coupling * self.coupling)
    }

    /// Whether an empty queue leaves it unchanged.
    fn is_at_rest(&self) -> bool {
        self.base == 0.0 && self.old == 0.0
    }
}

/// One of the two queues.
#[derive(Clone, Default, Debug)]
struct Class {
    waiting: Waiting,
    /// Sum of its packets' probabilities, minus the signals.
    due: f64,
}

impl Class {
    /// Whether a signal is due with this packet (`recur` of the RFC).
    fn recurs(&mut self, probability: f64) -> bool {
        debug_assert!(
            (0.0..=1.0).contains(&probability) && (0.0..=1.0).contains(&self.due),
            "a probability of {probability}, {} are due",
            self.due
        );
        self.due += probability;
        if self.due > 1.0 {
            self.due -= 1.0;
            return true;
        }
        false
    }
}

/// Two queues with a coupled controller.
#[derive(Debug)]
struct DualPi2 {
    limits: Limits,
    /// Highest rate that the link has had.
    fastest: Rate,
    controller: Controller,
    updates: Ticks,
    ramp_min: Duration,
    ramp_max: Duration,
    low: Class,
    classic: Class,
    /// Octets owed to the C queue, times [`WEIGHTS`].
    credit: i64,
    classic_weight: i64,
    /// Octets of the largest packet so far.
    largest: u64,
}

/// Sum of the weights of both queues.
const WEIGHTS: i64 = 1000;

impl DualPi2 {
    fn new(build: &Build<'_>) -> Self {
        let settings = build.settings;
        let weight = settings.number(&CLASSIC_WEIGHT) * WEIGHTS as f64;
        Self {
            limits: build.limits,
            fastest: Rate::default(),
            controller: Controller::new(settings),
            updates: Ticks::every(settings.time(&T_UPDATE), build.start),
            ramp_min: settings.time(&RAMP_MIN),
            ramp_max: settings.time(&RAMP_MAX),
            low: Class::default(),
            classic: Class::default(),
            credit: 0,
            classic_weight: libm::round(weight) as i64,
            largest: 0,
        }
    }

    /// Runs the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        while let Some(due) = self.updates.due(now) {
            let classic = self.classic.waiting.head_sojourn(due);
            let low = self.low.waiting.head_sojourn(due);
            self.controller.update(classic.max(low).as_secs_f64());
            if self.backlog().is_zero() && self.controller.is_at_rest() {
                // The remaining ones change nothing.
                self.updates.skip(now);
            }
        }
    }

    /// Whether the limit allows this backlog.
    fn admits(&mut self, link: &Link, inside: Tally) -> bool {
        if self.limits != Limits::default() {
            return self.limits.admit(inside);
        }
        let Some(rate) = link.rate else {
            return inside.packets <= LIMIT;
        };
        self.fastest = self.fastest.max(rate);
        let limit = self.fastest.amount_in(LIMIT_TIME);
        inside.bytes <= limit.max(Bytes::new(2 * self.largest))
    }

    /// Takes the next packet; returns whether it is from the L queue.
    fn schedule(&mut self) -> Option<(Ticket, bool)> {
        let are_both_waiting = !self.low.waiting.is_empty() && !self.classic.waiting.is_empty();
        let is_low = if are_both_waiting {
            self.credit <= 0
        } else {
            !self.low.waiting.is_empty()
        };
        let class = if is_low {
            &mut self.low
        } else {
            &mut self.classic
        };
        let ticket = class.waiting.pop()?;
        debug_assert!(
            ticket.is_l4s == is_low,
            "a packet of the other queue (RFC 9332 section 2.5.1): {ticket:?}"
        );
        if are_both_waiting {
            let octets = i64::from(ticket.octets);
            self.credit += if is_low {
                octets * self.classic_weight
            } else {
                -octets * (WEIGHTS - self.classic_weight)
            };
        }
        Some((ticket, is_low))
    }

    /// L queue's own probability for a packet with this sojourn time.
    fn ramp(&self, sojourn: Duration) -> f64 {
        if self.low.waiting.is_empty() || sojourn < self.ramp_min {
            return 0.0;
        }
        let above = (sojourn - self.ramp_min).as_nanos() as f64;
        let range = self.ramp_max.saturating_sub(self.ramp_min).as_nanos() as f64;
        if above >= range { 1.0 } else { above / range }
    }

    /// Marks a packet of the L queue if a signal is due. Returns whether it is dropped.
    fn signal_low(&mut self, ticket: &mut Ticket, now: Instant, is_spared: bool) -> bool {
        let coupled = if is_spared {
            0.0
        } else {
            self.controller.coupled()
        };
        let probability = if coupled < 1.0 {
            coupled.max(self.ramp(ticket.sojourn(now)))
        } else {
            if self.low.recurs(self.controller.classic()) {
                return true;
            }
            coupled
        };
        if self.low.recurs(probability) {
            ticket.mark();
        }
        false
    }

    /// Marks a packet of the C queue if a signal is due. Returns whether it is dropped.
    fn signal_classic(&mut self, ticket: &mut Ticket, is_spared: bool) -> bool {
        if is_spared || !self.classic.recurs(self.controller.classic()) {
            return false;
        }
        self.controller.is_classic_overloaded() || !ticket.mark()
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, now: Instant, link: &Link, ticket: Ticket, drops: &mut Drops) {
        self.catch_up(now);
        self.largest = self.largest.max(u64::from(ticket.octets));
        let inside = self.backlog().plus(ticket.tally());
        if !self.admits(link, inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        let class = if ticket.is_l4s {
            &mut self.low
        } else {
            &mut self.classic
        };
        class.waiting.push(ticket);
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, drops: &mut Drops) -> Option<Ticket> {
        self.catch_up(now);
        loop {
            let (mut ticket, is_low) = self.schedule()?;
            let rest = self.low.waiting.octets() + self.classic.waiting.octets();
            let is_spared = rest < 2 * self.largest;
            let is_dropped = if is_low {
                self.signal_low(&mut ticket, now, is_spared)
            } else {
                self.signal_classic(&mut ticket, is_spared)
            };
            if !is_dropped {
                return Some(ticket);
            }
            drops.push(ticket, DropCause::Aqm);
        }
    }

    fn drain(&mut self, out: &mut Vec<Ticket>) {
        self.low.waiting.drain(out);
        self.classic.waiting.drain(out);
    }

    fn backlog(&self) -> Tally {
        self.low
            .waiting
            .backlog()
            .plus(self.classic.waiting.backlog())
    }

    fn handle_timeout(&mut self, now: Instant, _link: &Link) {
        self.catch_up(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Trial, at, unlimited};
    use gigatcp_units::random::Stream;

    use super::super::Value;
    use super::*;

    fn dualpi2(set: &[(&str, Value)]) -> DualPi2 {
        let mut settings = Settings::new();
        for (name, value) in set {
            settings.set(ENTRY.parameters, name, *value).unwrap();
        }
        DualPi2::new(&Build {
            settings: &settings,
            classes: &[],
            limits: Limits::default(),
            random: Stream::new(3, "queue", 5),
            start: Instant::ZERO,
        })
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 5e-5, "{value} not {expected}");
    }

    /// Equation (1) evaluated by hand for constant delays, starting from an empty queue. Columns:
    /// updates and p'.
    #[test]
    fn the_probabilities_at_a_constant_delay_are_those_of_rfc_9332() {
        const TWENTY_MS: [(i32, f64); 5] = [
            (1, 0.0648),
            (2, 0.0656),
            (10, 0.0720),
            (50, 0.1040),
            (100, 0.1440),
        ];
        let mut controller = dualpi2(&[]).controller;
        for update in 1..=100 {
            controller.update(0.020);
            if let Some((_, expected)) = TWENTY_MS.iter().find(|(at, _)| *at == update) {
                close(controller.base, *expected);
            }
        }
        close(controller.classic(), 0.0207);
        close(controller.coupled(), 0.288);
        let mut controller = dualpi2(&[]).controller;
        controller.update(0.030);
        close(controller.base, 0.0984);
        (2..=100).for_each(|_| controller.update(0.030));
        close(controller.base, 0.3360);
    }

    #[test]
    fn updates_that_were_missed_are_made_up_for() {
        let mut late = dualpi2(&[]);
        let ticket = Trial::new("dualpi2", &[], unlimited()).next;
        late.enqueue(at(0.0), &Link::default(), ticket, &mut Drops::default());
        late.catch_up(at(0.1));
        let mut controller = dualpi2(&[]).controller;
        for update in 1..=6 {
            controller.update(0.016 * f64::from(update));
        }
        assert_eq!(late.controller.base, controller.base);
    }

    #[test]
    fn the_longer_delay_of_the_two_queues_counts() {
        for (low, classic) in [(0.012, 0.014), (0.014, 0.012)] {
            let mut queue = dualpi2(&[]);
            let waited = |seconds: f64| Ticket {
                arrived: at(0.016 - seconds),
                ..Trial::new("dualpi2", &[], unlimited()).next
            };
            queue.low.waiting.push(waited(low));
            queue.classic.waiting.push(waited(classic));
            queue.catch_up(at(0.016));
            assert!((queue.controller.old - 0.014).abs() < 1e-9);
        }
    }

    #[test]
    fn an_idle_queue_comes_to_rest() {
        let mut idle = dualpi2(&[]);
        idle.controller.base = 0.5;
        idle.controller.old = 0.1;
        idle.catch_up(at(1e9));
        assert!(idle.controller.is_at_rest());
        assert!(idle.updates.due(at(1e9)).is_none());
        assert!(idle.updates.due(at(1e9 + 0.017)).is_some());
    }

    /// Returns the marks and drops among 1000 packets of one class, for the given p'.
    fn signals(base: f64, is_l4s: bool, speaks_ecn: bool) -> (u64, usize) {
        // Delays have no effect.
        let never = ("ramp_min", Value::Time(Duration::from_secs(100)));
        let mut queue = dualpi2(&[never]);
        let ticket = Ticket {
            is_l4s,
            is_markable: speaks_ecn,
            ..Trial::new("dualpi2", &[], unlimited()).next
        };
        let mut drops = Drops::default();
        for _ in 0..1002 {
            queue.enqueue(at(0.0), &Link::default(), ticket, &mut drops);
        }
        queue.controller.base = base;
        let mut marked = 0;
        while queue.backlog().packets > 2 {
            let ticket = queue.dequeue(at(0.0), &Link::default(), &mut drops);
            marked += u64::from(ticket.unwrap().is_marked);
        }
        (marked, drops.0.len())
    }

    #[test]
    fn both_queues_are_signaled_with_coupled_probabilities() {
        // p' = 0.144: 288 per thousand in L, 20.7 in C.
        assert_eq!(signals(0.144, true, true), (287, 0));
        assert_eq!(signals(0.144, false, true), (20, 0));
        assert_eq!(signals(0.144, false, false), (0, 20));
    }

    #[test]
    fn overload_drops_packets_whatever_they_speak() {
        // p' = 0.5: p_CL = 1, p_C = 0.25 = 1/k^2.
        let (marked, dropped) = signals(0.5, true, true);
        assert!((249..=250).contains(&dropped), "{dropped}");
        assert!((749..=751).contains(&marked), "{marked}");
        let (marked, dropped) = signals(0.5, false, true);
        assert_eq!(marked, 0);
        assert!((249..=250).contains(&dropped), "{dropped}");
        assert_eq!(signals(0.499, false, true).1, 0);
    }

    #[test]
    fn the_low_queue_marks_by_its_own_ramp() {
        let mut queue = dualpi2(&[]);
        let ticket = Ticket {
            is_l4s: true,
            ..Trial::new("dualpi2", &[], unlimited()).next
        };
        assert_eq!(queue.ramp(Duration::from_millis(2)), 0.0);
        queue.low.waiting.push(ticket);
        assert_eq!(queue.ramp(Duration::from_micros(799)), 0.0);
        assert_eq!(queue.ramp(Duration::from_micros(900)), 0.25);
        assert_eq!(queue.ramp(Duration::from_micros(1200)), 1.0);
        queue.ramp_max = queue.ramp_min;
        assert_eq!(queue.ramp(Duration::from_micros(799)), 0.0);
        assert_eq!(queue.ramp(Duration::from_micros(800)), 1.0);
    }

    #[test]
    fn the_classic_queue_gets_a_tenth_while_both_are_backlogged() {
        let mut trial = Trial::new("dualpi2", &[], unlimited());
        for is_l4s in [true, false] {
            trial.next.is_l4s = is_l4s;
            trial.next.octets = if is_l4s { 500 } else { 1500 };
            trial.arrive_many(0.0, 4000);
        }
        let (mut low, mut classic) = (0, 0);
        for _ in 0..3000 {
            let ticket = trial.depart(0.0).unwrap();
            let class = if ticket.is_l4s {
                &mut low
            } else {
                &mut classic
            };
            *class += ticket.octets;
        }
        let share = f64::from(classic) / f64::from(low + classic);
        assert!((share - 0.1).abs() < 0.002, "{share}");
    }

    #[test]
    fn the_limit_is_250_ms_of_the_largest_rate() {
        let mut trial = Trial::new("dualpi2", &[], unlimited());
        // 250 ms at 8 Mbit/s are 250 packets of 1000 octets.
        trial.rate(8_000_000);
        trial.arrive_many(0.0, 251);
        assert_eq!(trial.dropped_parcels(), [250]);
        trial.rate(0);
        trial.depart(0.0);
        trial.arrive_many(0.0, 2);
        assert_eq!(trial.dropped_parcels(), [250, 252]);
        let mut trial = Trial::new("dualpi2", &[], unlimited());
        trial.arrive_many(0.0, 10_001);
        assert_eq!(trial.dropped_parcels(), [10_000]);
    }
}
