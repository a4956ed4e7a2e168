//! PIE: drops arriving packets so that the queueing delay settles at a target.
//!
//! RFC 8033 with its appendices A and B (Pan, Natarajan, Baker, White 2017). Every
//! 15 ms, with d the queueing delay and d_old that of the update before,
//!
//! ```text
//! p <- p + (alpha*(d - target) + beta*(d - d_old))/divisor(p)           (1)
//! ```
//!
//! where the divisor is 2048, 512, 128, 32, 8, 2 for p below 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1,
//! and 1 above. From p = 0.1 on a step is 0.02 at most. While d and d_old are zero, p also shrinks
//! to 0.98 of itself.
//!
//! An arriving packet is dropped with probability p, except
//!
//! * during a burst allowance of 150 ms. It is renewed when p = 0 and both delays are below half
//!   the target, and shrinks by the time between updates;
//! * if d_old is below half the target and p below 0.2, or two packets or fewer wait;
//! * if the sum of p over the packets since the last drop is below 0.85; from 8.5 on it is dropped
//!   without a draw (derandomization).
//!
//! Choices where implementations differ:
//!
//! * d is the sojourn time of the oldest waiting packet at the update, from timestamps. Linux uses
//!   that of the last departed packet, which does not change while the link is stalled. With
//!   `departure_rate` it is backlog over the measured departure rate instead (RFC 8033 section
//!   4.3): samples of 16 KiB, weight 1/4.
//! * p shrinks only if both delays are zero (section 4.2, Linux). Appendix B has it shrink below
//!   half the target. What that takes, (1) has to add again above the target: with 5 to 50 flows
//!   over 10 Mbit/s and 100 ms the mean wait is then 17 to 19 ms instead of 15.5 to 17.
//! * Two packets are two of the largest size seen, in Linux two MTUs.
//! * With `ecn`, ECN-capable packets are marked below p = 0.1 and dropped above (RFC 8033 section
//!   5.1). A mark resets the sum as a drop does. Off by default, as in `tc`.
//! * Linux adds 0.02 to p while d exceeds 250 ms; the RFC and this module do not.
//!
//! The update needs no timer. It depends only on its own time and the waiting packets. So due
//! updates run before the next packet arrives or departs, with the same result.
//!
//! With `auto_active` PIE is off until the queue reaches a third of the limit. It is off again once
//! the queue is empty with p and d zero (appendix A of the RFC, `QUEUE_SMALL`). `auto_active` is
//! off by default, and PIE then always on, as in Linux.
//!
//! Out of scope: probabilities in proportion to packet size.
//!
//! The limit counts waiting packets only, as that of a Linux qdisc; default 1000.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use super::waiting::{Ticks, Waiting, draw};
use super::{
    Build, Discipline, Drops, Entry, Limits, Link, Parameter, Settings, Ticket, any_settings,
};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "pie",
    summary: "drops on arrival to hold the queueing delay at a target (RFC 8033)",
    parameters: &[
        TARGET,
        T_UPDATE,
        ALPHA,
        BETA,
        MAX_BURST,
        ECN,
        DEPARTURE_RATE,
        AUTO_ACTIVE,
    ],
    class_parameters: &[],
    check: any_settings,
    draws: true,
    build: |build| Box::new(Pie::new(build)),
};

/// Default limit in packets, as in Linux.
const LIMIT: u64 = 1000;

parameters! {
    TARGET: Time = "target", Some(Duration::from_millis(15)),
        [Duration::from_nanos(1), Duration::from_secs(100)], "queueing delay to settle at";
    T_UPDATE: Time = "tupdate", Some(Duration::from_millis(15)),
        [Duration::from_micros(1), Duration::from_secs(100)],
        "time between two updates of the drop probability";
    ALPHA: Number = "alpha", Some(0.125), [0.0, 1e6],
        "weight of the deviation from the target, in 1/s per update";
    BETA: Number = "beta", Some(1.25), [0.0, 1e6],
        "weight of the change of the delay, in 1/s per update";
    MAX_BURST: Time = "max_burst", Some(Duration::from_millis(150)),
        [Duration::ZERO, Duration::from_secs(100)],
        "time for which a burst into an idle queue passes without drops";
    ECN: Flag = "ecn", Some(false), [false, true],
        "marks packets that speak ECN while the probability is below 10 %";
    DEPARTURE_RATE: Flag = "departure_rate", Some(false), [false, true],
        "estimates the delay from the departure rate instead of timestamps";
}

const AUTO_ACTIVE: Parameter = Parameter::flag(
    "auto_active",
    "acts only once a third of the limit waits, until the queue is empty again",
);

/// Probability above which ECN-capable packets are dropped too.
const MARK_BELOW: f64 = 0.1;

/// Bounds of the summed probability between which packets are drawn at random.
const DRAWN: (f64, f64) = (0.85, 8.5);

/// Number of octets in one measurement of the departure rate.
const MEASURED_OCTETS: u64 = 1 << 14;

/// Controller of equation (1).
#[derive(Clone, Copy, Debug)]
struct Controller {
    /// Target delay in seconds.
    target: f64,
    alpha: f64,
    beta: f64,
    p: f64,
    /// Delay at the last update, in seconds.
    old: f64,
}

impl Controller {
    fn new(settings: &Settings) -> Self {
        Self {
            target: settings.time(&TARGET).as_secs_f64(),
            alpha: settings.number(&ALPHA),
            beta: settings.number(&BETA),
            p: 0.0,
            old: 0.0,
        }
    }

    /// Divisor of a step at this probability.
    fn divisor(&self) -> f64 {
        const STEPS: [(f64, f64); 6] = [
            (1e-6, 2048.0),
            (1e-5, 512.0),
            (1e-4, 128.0),
            (1e-3, 32.0),
            (1e-2, 8.0),
            (1e-1, 2.0),
        ];
        let step = STEPS.iter().find(|(below, _)| self.p < *below);
        step.map_or(1.0, |(_, divisor)| *divisor)
    }

    /// Applies equation (1) with `delay` in seconds; returns whether both delays are below half the
    /// target.
    fn update(&mut self, delay: f64) -> bool {
        let error = self.alpha * (delay - self.target) + self.beta * (delay - self.old);
        let mut step = error / self.divisor();
        if self.p >= 0.1 {
            step = step.min(0.02);
        }
        self.p += step;
        let is_short = delay < self.target / 2.0 && self.old < self.target / 2.0;
        if delay == 0.0 && self.old == 0.0 {
            self.p *= 0.98;
        }
        self.p = self.p.clamp(0.0, 1.0);
        debug_assert!(
            (0.0..=1.0).contains(&self.p) && delay >= 0.0,
            "a probability of {} at a delay of {delay} s",
            self.p
        );
        self.old = delay;
        is_short
    }
}

/// Departure rate of a backlogged queue, as the duration of one measurement.
#[derive(Clone, Copy, Default, Debug)]
struct DepartureRate {
    /// Start of the measurement, and octets since.
    measurement: Option<(Instant, u64)>,
    /// Smoothed seconds per [`MEASURED_OCTETS`].
    average: Option<f64>,
}

impl DepartureRate {
    /// Counts a departure, with `waiting` octets in the queue before.
    fn on_departure(&mut self, now: Instant, octets: u64, waiting: u64) {
        const WEIGHT: f64 = MEASURED_OCTETS as f64 / (1 << 16) as f64;
        if self.measurement.is_none() && waiting >= MEASURED_OCTETS {
            self.measurement = Some((now, 0));
        }
        let Some((begin, so_far)) = &mut self.measurement else {
            return;
        };
        *so_far += octets;
        if *so_far >= MEASURED_OCTETS {
            let time = now.saturating_since(*begin).as_secs_f64();
            let average = self
                .average
                .map_or(time, |average| time * WEIGHT + average * (1.0 - WEIGHT));
            debug_assert!(
                average >= 0.0 && average.is_finite(),
                "{MEASURED_OCTETS} octets depart in {average} s"
            );
            self.average = Some(average);
            self.measurement = None;
        }
    }

    /// Seconds that `waiting` octets need.
    fn delay(&self, waiting: u64) -> f64 {
        self.average.unwrap_or(0.0) * waiting as f64 / MEASURED_OCTETS as f64
    }
}

/// A queue with a proportional integral controller.
#[derive(Debug)]
struct Pie {
    limits: Limits,
    controller: Controller,
    max_burst: Duration,
    ecn: bool,
    updates: Ticks,
    /// Remaining burst allowance.
    burst_allowance: Duration,
    /// Whether it switches itself on and off.
    is_automatic: bool,
    is_active: bool,
    /// Sum of the probabilities of the packets since the last drop.
    accumulated: f64,
    departure_rate: Option<DepartureRate>,
    /// Octets of the largest packet so far.
    largest: u64,
    random: Stream,
    waiting: Waiting,
}

impl Pie {
    fn new(build: Build<'_>) -> Self {
        let settings = build.settings;
        let max_burst = settings.time(&MAX_BURST);
        let measures = settings.flag(&DEPARTURE_RATE);
        Self {
            limits: build.limits.or_packets(LIMIT),
            controller: Controller::new(settings),
            max_burst,
            ecn: settings.flag(&ECN),
            updates: Ticks::every(settings.time(&T_UPDATE), build.start),
            burst_allowance: max_burst,
            is_automatic: settings.flag(&AUTO_ACTIVE),
            is_active: !settings.flag(&AUTO_ACTIVE),
            accumulated: 0.0,
            departure_rate: measures.then(DepartureRate::default),
            largest: 0,
            random: build.random,
            waiting: Waiting::default(),
        }
    }

    /// Runs the updates that are due.
    fn catch_up(&mut self, now: Instant) {
        while let Some(due) = self.updates.due(now) {
            let delay = match &self.departure_rate {
                Some(rate) => rate.delay(self.waiting.octets()),
                None => self.waiting.head_sojourn(due).as_secs_f64(),
            };
            let is_short = self.controller.update(delay);
            self.burst_allowance = self.burst_allowance.saturating_sub(self.updates.period());
            if is_short && self.controller.p == 0.0 {
                self.burst_allowance = self.max_burst;
                if self.waiting.is_empty() {
                    // The remaining ones change nothing.
                    self.updates.skip(now);
                }
            }
        }
    }

    /// Switches itself on from a third of the limit, and off on an empty queue.
    fn switch(&mut self) {
        let Tally { packets, bytes } = self.waiting.backlog();
        let thrice = Tally::new(3 * packets, 3 * bytes.as_u64());
        let is_idle = self.controller.p == 0.0 && self.controller.old == 0.0;
        if self.is_active {
            self.is_active = !(is_idle && self.waiting.is_empty());
        } else if !self.limits.is_below(thrice) {
            self.is_active = true;
            (self.controller.p, self.controller.old) = (0.0, 0.0);
            self.burst_allowance = self.max_burst;
            self.accumulated = 0.0;
        }
    }

    /// Whether an arriving packet is selected (`drop_early` of the RFC).
    fn chooses(&mut self) -> bool {
        let p = self.controller.p;
        let is_short = self.controller.old < self.controller.target / 2.0;
        if !self.burst_allowance.is_zero()
            || !self.is_active
            || is_short && p < 0.2
            || self.waiting.octets() <= 2 * self.largest
        {
            return false;
        }
        if p == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += p;
        let (drawn_from, certain_from) = DRAWN;
        let is_chosen = self.accumulated >= certain_from
            || self.accumulated >= drawn_from && draw(&mut self.random, p);
        if is_chosen {
            self.accumulated = 0.0;
        }
        is_chosen
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, now: Instant, _link: &Link, mut ticket: Ticket, drops: &mut Drops) {
        self.catch_up(now);
        if self.is_automatic {
            self.switch();
        }
        self.largest = self.largest.max(u64::from(ticket.octets));
        let inside = self.waiting.backlog().plus(ticket.tally());
        if !self.limits.admit(inside) {
            self.accumulated = 0.0;
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        if self.chooses() {
            let may_mark = self.ecn && self.controller.p < MARK_BELOW;
            if !(may_mark && ticket.mark()) {
                drops.push(ticket, DropCause::Aqm);
                return;
            }
        }
        self.waiting.push(ticket);
        if self.is_automatic {
            self.switch();
        }
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        self.catch_up(now);
        let waiting = self.waiting.octets();
        let ticket = self.waiting.pop()?;
        if let Some(rate) = &mut self.departure_rate {
            rate.on_departure(now, u64::from(ticket.octets), waiting);
        }
        Some(ticket)
    }

    drain_and_backlog!();

    fn handle_timeout(&mut self, now: Instant, _link: &Link) {
        self.catch_up(now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Value;
    use super::super::tests::{Trial, at, unlimited};
    use super::*;

    fn pie(set: &[(&str, Value)]) -> Pie {
        let mut settings = Settings::new();
        for (name, value) in set {
            settings.set(ENTRY.parameters, name, *value).unwrap();
        }
        Pie::new(Build {
            settings: &settings,
            classes: &[],
            limits: Limits::default(),
            random: Stream::new(3, "queue", 5),
            start: Instant::ZERO,
        })
    }

    /// Limit of 300 packets: the hundredth switches it on, and not the one before.
    #[test]
    fn it_switches_itself_on_at_a_third_of_the_limit_and_off_when_empty() {
        let set = [("auto_active", Value::Flag(true))];
        let limits = Limits {
            packets: Some(300),
            bytes: None,
        };
        let mut trial = Trial::new("pie", &set, limits);
        trial.arrive_many(0.0, 99);
        // A delay of 10 s would drop nearly all packets if it were on.
        for _ in 0..50 {
            trial.arrive(10.0, 0);
            assert!(trial.depart(10.0).is_some());
        }
        assert_eq!(trial.dropped_parcels(), []);
        trial.arrive_many(10.0, 2);
        trial.arrive_many(20.0, 100);
        assert!(trial.dropped_parcels().len() > 50);
        while trial.depart(20.0).is_some() {}
        // By then p is zero.
        let before = trial.dropped_parcels().len();
        trial.arrive_many(100.0, 99);
        trial.arrive_many(110.0, 1);
        assert_eq!(trial.dropped_parcels().len(), before);
    }

    /// Numbers of updates after which p is given below.
    const UPDATES: [usize; 6] = [1, 10, 50, 100, 200, 400];

    /// Columns: delay in ms, p after each of [`UPDATES`], first update with 1 %. RFC 8033 section
    /// 4.2 and appendix A evaluated by hand for a constant delay; 1 % means p >= 1 %.
    const CONSTANT_DELAY: [(f64, [f64; 6], usize); 4] = [
        (
            20.0,
            [1.251e-5, 5.646e-5, 7.059e-4, 3.675e-3, 1.594e-2, 7.844e-2],
            181,
        ),
        (
            30.0,
            [1.923e-5, 2.829e-4, 7.373e-3, 4.581e-2, 0.1789, 0.5539],
            62,
        ),
        (
            50.0,
            [3.265e-5, 1.058e-3, 6.067e-2, 0.2400, 0.6775, 1.0],
            27,
        ),
        (100.0, [6.622e-5, 7.786e-3, 0.3239, 0.8551, 1.0, 1.0], 12),
    ];

    #[test]
    fn the_probability_at_a_constant_delay_is_that_of_rfc_8033() {
        for (delay, expected, first) in CONSTANT_DELAY {
            let mut controller = pie(&[]).controller;
            let mut reached = None;
            for update in 1..=400 {
                controller.update(delay / 1e3);
                if controller.p >= 0.01 {
                    reached.get_or_insert(update);
                }
                if let Some(i) = UPDATES.iter().position(|at| *at == update) {
                    let error = (controller.p / expected[i] - 1.0).abs();
                    assert!(error < 1e-3, "{delay} ms, {update}: {}", controller.p);
                }
            }
            assert_eq!(reached, Some(first), "{delay} ms");
        }
    }

    #[test]
    fn probability_shrinks_to_98_percent_only_while_both_delays_are_zero() {
        for (old, delay, share) in [(0.0, 0.0, 0.98), (0.001, 0.001, 1.0)] {
            let mut controller = pie(&[]).controller;
            (controller.p, controller.old) = (0.05, old);
            let step = 0.125 * (delay - 0.015) / 2.0;
            controller.update(delay);
            assert!((controller.p - (0.05 + step) * share).abs() < 1e-12);
        }
    }

    #[test]
    fn updates_that_were_missed_are_made_up_for() {
        let mut late = pie(&[]);
        let ticket = Trial::new("pie", &[], unlimited()).next;
        let link = Link::default();
        let mut drops = Drops::default();
        late.enqueue(at(0.0), &link, ticket, &mut drops);
        late.catch_up(at(0.1));
        // The delays 15, 30, ... 90 ms at six updates.
        let mut controller = pie(&[]).controller;
        for update in 1..=6 {
            controller.update(0.015 * f64::from(update));
        }
        assert_eq!(late.controller.p, controller.p);
        assert_eq!(late.burst_allowance, Duration::from_millis(60));
    }

    #[test]
    fn an_idle_queue_costs_nothing_and_comes_to_rest() {
        let mut idle = pie(&[]);
        idle.controller.p = 0.5;
        idle.controller.old = 0.1;
        idle.burst_allowance = Duration::ZERO;
        idle.catch_up(at(1e9));
        assert_eq!(idle.controller.p, 0.0);
        assert_eq!(idle.burst_allowance, Duration::from_millis(150));
        assert!(idle.updates.due(at(1e9)).is_none());
        assert!(idle.updates.due(at(1e9 + 0.016)).is_some());
    }

    #[test]
    fn the_allowance_is_renewed_one_update_after_the_delay_has_gone() {
        let mut idle = pie(&[]);
        idle.controller.old = 0.1;
        idle.burst_allowance = Duration::from_millis(15);
        // The first update still sees the old delay; both are due in one call.
        idle.catch_up(at(0.03));
        assert_eq!(idle.burst_allowance, Duration::from_millis(150));
    }

    /// A queue of ten packets that drops with probability `p`.
    fn burdened(p: f64, set: &[(&str, Value)]) -> Pie {
        let mut pie = pie(set);
        let ticket = Trial::new("pie", &[], unlimited()).next;
        for _ in 0..10 {
            pie.waiting.push(ticket);
        }
        pie.largest = 1000;
        pie.controller.p = p;
        pie.controller.old = 0.02;
        pie.burst_allowance = Duration::ZERO;
        pie
    }

    /// Numbers of packets until a drop: minimum, mean, maximum of 2000.
    fn gaps(p: f64) -> (usize, f64, usize) {
        let mut pie = burdened(p, &[]);
        let (mut least, mut sum, mut most) = (usize::MAX, 0, 0);
        for _ in 0..2000 {
            let gap = (1..).find(|_| pie.chooses()).unwrap();
            (least, sum, most) = (least.min(gap), sum + gap, most.max(gap));
        }
        (least, sum as f64 / 2000.0, most)
    }

    /// With p = 0.05 the sum reaches 0.85 at packet 17 and 8.5 at 170. In between gaps are
    /// geometric, so their mean is 16 + 20.
    #[test]
    fn gaps_between_drops_are_neither_short_nor_long() {
        let (least, mean, most) = gaps(0.05);
        assert!(least == 17 || least == 18, "{least}");
        assert!((mean - 36.0).abs() < 1.5, "{mean}");
        assert!(most <= 171, "{most}");
    }

    #[test]
    fn short_delays_bursts_and_two_packets_are_spared() {
        let is_chosen = |pie: &mut Pie| (0..1000).any(|_| pie.chooses());
        assert!(is_chosen(&mut burdened(0.1, &[])));
        let mut spared = burdened(0.1, &[]);
        spared.burst_allowance = Duration::from_nanos(1);
        assert!(!is_chosen(&mut spared));
        let mut spared = burdened(0.19, &[]);
        spared.controller.old = 0.0074;
        assert!(!is_chosen(&mut spared));
        spared.controller.p = 0.2;
        assert!(is_chosen(&mut spared));
        let mut spared = burdened(0.1, &[]);
        spared.largest = 5000;
        assert!(!is_chosen(&mut spared));
    }

    /// Returns the marks and drops among 1000 packets at a probability.
    fn signals(p: f64, speaks_ecn: bool) -> (u64, usize) {
        let mut pie = burdened(p, &[("ecn", Value::Flag(true))]);
        let mut ticket = Trial::new("pie", &[], unlimited()).next;
        ticket.is_markable = speaks_ecn;
        let (mut marked, mut drops) = (0, Drops::default());
        for _ in 0..900 {
            pie.enqueue(at(0.0), &Link::default(), ticket, &mut drops);
        }
        while let Some(ticket) = pie.waiting.pop() {
            marked += u64::from(ticket.is_marked);
        }
        (marked, drops.0.len())
    }

    #[test]
    fn marks_replace_drops_below_ten_percent_only() {
        let (marked, dropped) = signals(0.09, true);
        assert!(marked > 20 && dropped == 0, "{marked} {dropped}");
        let (marked, dropped) = signals(0.11, true);
        assert!(marked == 0 && dropped > 20, "{marked} {dropped}");
        let (marked, dropped) = signals(0.09, false);
        assert!(marked == 0 && dropped > 20, "{marked} {dropped}");
    }

    #[test]
    fn the_departure_rate_of_a_steady_link_gives_the_delay_of_its_backlog() {
        let set = [("departure_rate", Value::Flag(true))];
        let mut pie = pie(&set);
        let ticket = Trial::new("pie", &[], unlimited()).next;
        for _ in 0..200 {
            pie.waiting.push(ticket);
        }
        // A packet of 1000 octets per millisecond: 8 Mbit/s.
        for i in 0..100 {
            pie.dequeue(
                at(f64::from(i) * 0.001),
                &Link::default(),
                &mut Drops::default(),
            );
        }
        // 17 packets are 16 intervals long, which the RFC divides by 16384 octets.
        let delay = pie.departure_rate.unwrap().delay(pie.waiting.octets());
        let expected = 0.1 * 16_000.0 / 16_384.0;
        assert!((delay - expected).abs() < 1e-9, "{delay}");
    }
}
