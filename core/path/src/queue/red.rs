//! RED: drops or marks at random, with a probability that grows with the average queue.
//!
//! Floyd, Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), 1993. At each arrival, with q packets
//! waiting before it,
//!
//! ```text
//! avg <- (1 - w)*avg + w*q                                              (1)
//! avg <- (1 - w)^m * avg,  m = idle time/s        after an idle link    (2)
//! pb  = maxp*(avg - min)/(max - min)              min <= avg < max      (3)
//! pa  = pb/(1 - count*pb)                                               (4)
//! ```
//!
//! with s the transmission time of a mean packet at the link's rate and `count` the packets since
//! the last one that was marked or dropped. Below `min` all packets pass; from `max` on all are
//! dropped. Equation (4) makes the gaps between marks uniform on 1, 2, ..., 1/pb at a constant
//! average.
//!
//! Settings beyond 1993:
//!
//! * `gentle` (Floyd 2000): from `max` to twice `max` the probability rises from
//!   `maxp` to 1, and only then are all dropped. Off by default as in the paper and in
//!   Linux, which has no such mode; ns-2 has it on.
//! * `ecn`: an early mark instead of an early drop for ECN-capable packets; above the upper
//!   threshold packets are dropped anyway (RFC 3168 section 7).
//! * `adaptive` (Floyd, Gummadi, Shenker 2001): every 500 ms, with the average above
//!   min + 0.6*(max - min), maxp grows by min(0.01, maxp/4) unless above 0.5; below
//!   min + 0.4*(max - min) it shrinks to 0.9 times itself unless below 0.01.
//! * `bytes`: the queue length is its octets divided by `mean_packet`, as in Linux; otherwise its
//!   packets, as in the paper and ns-2.
//!
//! Choices where implementations differ:
//!
//! * After a mark `count` begins so that the next packet may be marked with pb, as in
//!   the paper's derivation (method 2). The paper's listing and ns-2 begin with one
//!   more, which makes the gaps uniform on 1 to 1/pb - 1.
//! * The idle time begins when the last packet has been sent, as in ns-2 and Linux.
//!   Linux takes the power of (2) from a table; here it is computed.
//! * Linux draws once per mark and not once per packet: the same distribution.
//! * Only the average decides, as in the paper and Linux. ns-2 drops no packet that finds fewer
//!   than two waiting, nor the first one above `min`.
//! * Intervals of `adaptive` are those of a clock (Linux). Intervals that pass without arrivals are
//!   made up for at the next arrival, before the average changes. So the result is that of a timer.
//!   ns-2 adapts at most once per arrival.
//!
//! Out of scope: the automatic `min`, `max` and `weight` of Adaptive RED, ns-2's
//! `wait` mode and probabilities in proportion to packet size. A user sets the first
//! by hand; without the last a small packet is as likely to be dropped as a large one.
//!
//! The limit counts the packet in service, as that of `fifo` does; none by default.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::random::Stream;
use gigatcp_units::{Bytes, Duration, Instant};

use super::waiting::{Ticks, Waiting, draw};
use super::{Build, Conflict, Discipline, Drops, Entry, Limits, Link, QueueConfig, Ticket};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "red",
    summary: "random early detection by the average queue (Floyd and Jacobson 1993)",
    parameters: &[
        MIN,
        MAX,
        WEIGHT,
        MAX_P,
        ECN,
        GENTLE,
        ADAPTIVE,
        BYTES,
        MEAN_PACKET,
    ],
    class_parameters: &[],
    check,
    draws: true,
    build: |build| Box::new(Red::new(build)),
};

/// Rejects a `max`, from which all packets are dropped, that is not above `min`.
fn check(config: &QueueConfig) -> Result<(), Conflict> {
    let settings = &config.settings;
    if settings.whole(&MAX) > settings.whole(&MIN) {
        return Ok(());
    }
    Err(Conflict {
        names: ["max", "min"],
        why: "`max` of RED is not above `min`",
        section: 0,
    })
}

parameters! {
    MIN: Count = "min", Some(5), [0, 1 << 32],
        "average queue in packets from which packets are dropped";
    MAX: Count = "max", Some(15), [1, 1 << 32],
        "average queue in packets from which all are dropped; above min";
    WEIGHT: Number = "weight", Some(0.002), [1e-9, 1.0],
        "share of the present queue in the average, per packet";
    MAX_P: Number = "maxp", Some(0.02), [0.0, 1.0],
        "probability of a drop as the average reaches max";
    ECN: Flag = "ecn", Some(false), [false, true],
        "marks packets that speak ECN instead of dropping them";
    GENTLE: Flag = "gentle", Some(false), [false, true],
        "raises the probability to 1 between max and twice max";
    ADAPTIVE: Flag = "adaptive", Some(false), [false, true],
        "adapts maxp every 500 ms to keep the average midway (2001)";
    BYTES: Flag = "bytes", Some(false), [false, true],
        "measures the queue in bytes, in units of mean_packet";
    MEAN_PACKET: Octets = "mean_packet", Some(500), [1, 1 << 20],
        "mean packet size, for the time that an idle link could have used";
}

/// Time between two adaptations of maxp.
const ADAPT_EVERY: Duration = Duration::from_millis(500);

/// Bounds within which maxp is adapted.
const ADAPTED_MAX_P: (f64, f64) = (0.01, 0.5);

/// Verdict on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    /// Marked or dropped at random.
    Early,
    /// Dropped because the average is too long.
    Forced,
}

/// A queue with random early detection.
#[derive(Debug)]
struct Red {
    limits: Limits,
    min: f64,
    max: f64,
    weight: f64,
    max_p: f64,
    ecn: bool,
    gentle: bool,
    in_bytes: bool,
    mean_packet: Bytes,
    /// Times at which maxp is adapted, if at all.
    adaptations: Option<Ticks>,
    /// Average of equation (1), in packets.
    average: f64,
    /// Packets since the last one that was marked or dropped.
    count: u64,
    /// Time at which the link had sent the last packet, while none waits.
    idle_since: Instant,
    random: Stream,
    waiting: Waiting,
}

impl Red {
    fn new(build: Build<'_>) -> Self {
        let settings = build.settings;
        let adapts = settings.flag(&ADAPTIVE);
        Self {
            limits: build.limits,
            min: settings.whole(&MIN) as f64,
            max: settings.whole(&MAX) as f64,
            weight: settings.number(&WEIGHT),
            max_p: settings.number(&MAX_P),
            ecn: settings.flag(&ECN),
            gentle: settings.flag(&GENTLE),
            in_bytes: settings.flag(&BYTES),
            mean_packet: Bytes::new(settings.whole(&MEAN_PACKET)),
            adaptations: adapts.then(|| Ticks::every(ADAPT_EVERY, build.start)),
            average: 0.0,
            count: 0,
            idle_since: build.start,
            random: build.random,
            waiting: Waiting::default(),
        }
    }

    /// Length of the queue in packets, without what is in service.
    fn length(&self) -> f64 {
        if self.in_bytes {
            self.waiting.octets() as f64 / self.mean_packet.as_u64() as f64
        } else {
            self.waiting.backlog().packets as f64
        }
    }

    /// Average at `now` if no packet arrives by then: equation (2).
    fn average_at(&self, now: Instant, link: &Link) -> f64 {
        let is_idle = self.waiting.is_empty() && link.in_service.is_zero();
        if !is_idle {
            return self.average;
        }
        let idle = now.saturating_since(self.idle_since).as_nanos() as f64;
        let cell = link.rate.map_or(0, |rate| {
            let time = rate.time_for(self.mean_packet);
            time.as_nanos()
        });
        // A link without a rate could have sent any number of packets.
        let packets = idle / cell.max(1) as f64;
        self.average * libm::pow(1.0 - self.weight, packets)
    }

    /// Applies equations (1) and (2).
    fn update_average(&mut self, now: Instant, link: &Link) {
        let is_idle = self.waiting.is_empty() && link.in_service.is_zero();
        self.average = if is_idle {
            self.average_at(now, link)
        } else {
            (1.0 - self.weight) * self.average + self.weight * self.length()
        };
    }

    /// Adapts maxp for every interval that has passed.
    fn adapt(&mut self, now: Instant, link: &Link) {
        let Some(mut adaptations) = self.adaptations else {
            return;
        };
        let (least, most) = ADAPTED_MAX_P;
        let span = self.max - self.min;
        while let Some(due) = adaptations.due(now) {
            let average = self.average_at(due, link);
            if average > self.min + 0.6 * span && self.max_p <= most {
                self.max_p += (self.max_p / 4.0).min(0.01);
            } else if average < self.min + 0.4 * span && self.max_p >= least {
                self.max_p *= 0.9;
            }
        }
        self.adaptations = Some(adaptations);
    }

    /// Pb of equation (3); `None` if all packets are dropped.
    fn probability(&self) -> Option<f64> {
        let average = self.average;
        if average < self.max {
            let above = (average - self.min).max(0.0);
            Some(self.max_p * above / (self.max - self.min))
        } else if self.gentle && average < 2.0 * self.max {
            let above = (average - self.max) / self.max;
            Some(self.max_p + (1.0 - self.max_p) * above)
        } else {
            None
        }
    }

    fn verdict(&mut self) -> Verdict {
        debug_assert!(
            self.average >= 0.0 && self.average.is_finite(),
            "the average queue is {}",
            self.average
        );
        debug_assert!(
            (0.0..=1.0).contains(&self.max_p) && self.min < self.max,
            "maxp is {}, between {} and {} packets",
            self.max_p,
            self.min,
            self.max
        );
        if self.average < self.min {
            self.count = 0;
            return Verdict::Pass;
        }
        let Some(pb) = self.probability() else {
            self.count = 0;
            return Verdict::Forced;
        };
        let rest = 1.0 - self.count as f64 * pb;
        let pa = if rest > pb { pb / rest } else { 1.0 };
        if pb > 0.0 && draw(&mut self.random, pa) {
            self.count = 0;
            return Verdict::Early;
        }
        self.count += 1;
        Verdict::Pass
    }
}

impl Discipline for Red {
    fn enqueue(&mut self, now: Instant, link: &Link, mut ticket: Ticket, drops: &mut Drops) {
        self.adapt(now, link);
        self.update_average(now, link);
        let verdict = self.verdict();
        // A packet that finds the link idle ends the idle time even if it is dropped.
        self.idle_since = self.idle_since.max(now);
        let inside = self.waiting.backlog().plus(link.in_service);
        if !self.limits.admit(inside.plus(ticket.tally())) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        let passes = match verdict {
            Verdict::Pass => true,
            Verdict::Early => self.ecn && ticket.mark(),
            Verdict::Forced => false,
        };
        if passes {
            self.waiting.push(ticket);
        } else {
            drops.push(ticket, DropCause::Aqm);
        }
    }

    fn dequeue(&mut self, now: Instant, link: &Link, _drops: &mut Drops) -> Option<Ticket> {
        let ticket = self.waiting.pop()?;
        if self.waiting.is_empty() {
            let octets = Bytes::new(u64::from(ticket.octets));
            let service = link
                .rate
                .map_or(Duration::ZERO, |rate| rate.time_for(octets));
            self.idle_since = now + service;
        }
        Some(ticket)
    }

    drain_and_backlog!();
}

#[cfg(test)]
mod tests {
    use gigatcp_units::Rate;

    use super::super::tests::{Trial, at, packets, unlimited};
    use super::super::{Settings, Value};
    use super::*;

    fn red(set: &[(&str, Value)]) -> Red {
        let mut settings = Settings::new();
        for (name, value) in set {
            settings.set(ENTRY.parameters, name, *value).unwrap();
        }
        Red::new(Build {
            settings: &settings,
            classes: &[],
            limits: Limits::default(),
            random: Stream::new(3, "queue", 5),
            start: Instant::ZERO,
        })
    }

    fn close(value: f64, expected: f64) {
        let error = (value - expected).abs();
        assert!(error <= 1e-9 * expected.abs(), "{value} not {expected}");
    }

    #[test]
    fn thresholds_that_cross_are_refused_defaults_included() {
        let checked = |set: &[(&str, u64)]| {
            let mut settings = Settings::new();
            for (name, value) in set {
                let value = Value::Count(*value);
                settings.set(ENTRY.parameters, name, value).unwrap();
            }
            let config = QueueConfig {
                settings,
                ..QueueConfig::default()
            };
            check(&config).is_ok()
        };
        assert!(checked(&[]) && checked(&[("min", 14)]) && checked(&[("min", 0), ("max", 1)]));
        assert!(!checked(&[("min", 15)]) && !checked(&[("max", 5)]));
        assert!(!checked(&[("min", 30), ("max", 20)]));
    }

    /// Ten packets wait and the average is the current queue. So pb is 0.04*(10 - 5)/(15 - 5) =
    /// 0.02.
    #[test]
    fn gaps_between_marks_are_uniform() {
        const GAPS: usize = 20_000;
        let set = [
            ("weight", Value::Number(1.0)),
            ("maxp", Value::Number(0.04)),
            ("ecn", Value::Flag(true)),
        ];
        let mut trial = Trial::new("red", &set, unlimited());
        trial.serve(1, 1000);
        while trial.queue.backlog().packets < 10 {
            trial.arrive_many(0.0, 1);
        }
        let (mut gap, mut seen, mut frequency) = (0, 0, [0_u32; 51]);
        // Marked packets leave ten departures later; gaps are unchanged. The first began before ten
        // were waiting.
        while seen <= GAPS {
            trial.arrive_many(0.0, 1);
            let is_marked = trial.depart(0.0).unwrap().is_marked;
            gap += 1;
            if is_marked {
                assert!(gap <= 50 || seen == 0, "a gap of {gap}");
                if seen > 0 {
                    frequency[gap] += 1;
                }
                (gap, seen) = (0, seen + 1);
            }
        }
        let expected = GAPS as f64 / 50.0;
        let square = |seen: &u32| (f64::from(*seen) - expected) * (f64::from(*seen) - expected);
        let chi: f64 = frequency[1..].iter().map(square).sum::<f64>() / expected;
        // 99.9 % of chi-square with 49 degrees of freedom.
        assert!(chi < 85.35, "chi-square {chi}: {frequency:?}");
    }

    #[test]
    fn an_idle_link_lets_the_average_decay_as_if_packets_had_passed() {
        let mut red = red(&[("mean_packet", Value::Octets(1000))]);
        let link = Link {
            rate: Some(Rate::from_bps(8_000_000)),
            ..Link::default()
        };
        red.average = 10.0;
        red.idle_since = at(1.0);
        // A thousand packets of 1 ms each.
        red.update_average(at(2.0), &link);
        close(red.average, 10.0 * 0.135_064_522_446_823_3);
    }

    #[test]
    fn the_link_is_idle_once_it_has_sent_the_last_packet() {
        let mut red = red(&[("mean_packet", Value::Octets(1000))]);
        let link = Link {
            rate: Some(Rate::from_bps(8_000_000)),
            ..Link::default()
        };
        let mut drops = Drops::default();
        let ticket = Trial::new("red", &[], unlimited()).next;
        red.enqueue(at(1.0), &link, ticket, &mut drops);
        assert!(red.dequeue(at(1.0), &link, &mut drops).is_some());
        red.average = 8.0;
        close(
            red.average_at(at(1.101), &link),
            8.0 * libm::pow(0.998, 100.0),
        );
        let busy = Link {
            in_service: ticket.tally(),
            ..link
        };
        red.update_average(at(1.0005), &busy);
        close(red.average, 8.0 * 0.998);
    }

    #[test]
    fn a_drop_while_the_last_packet_is_sent_does_not_begin_the_idle_time() {
        let mut red = red(&[("weight", Value::Number(1.0))]);
        let link = Link {
            rate: Some(Rate::from_bps(8_000_000)),
            ..Link::default()
        };
        let ticket = Trial::new("red", &[], unlimited()).next;
        let mut drops = Drops::default();
        red.enqueue(at(1.0), &link, ticket, &mut drops);
        red.dequeue(at(1.0), &link, &mut drops).unwrap();
        let busy = Link {
            in_service: ticket.tally(),
            ..link
        };
        red.limits = packets(1);
        red.enqueue(at(1.0005), &busy, ticket, &mut drops);
        assert_eq!(drops.0.len(), 1);
        assert_eq!(red.idle_since, at(1.001));
    }

    /// Longest burst L with L + 1 - min < (1 - (1 - w)^L)/w. min is 32, weights are 2^-2 to 2^-9
    /// (the rule of Linux's `red.h`, evaluated). The rule counts the queue from one and with the
    /// power L; the average is of the packets before each arrival. So one to three packets more
    /// pass.
    #[test]
    fn the_longest_burst_that_passes_is_that_of_the_rule() {
        const BURSTS: [u64; 8] = [34, 38, 46, 57, 75, 101, 137, 189];
        for (log, burst) in (2_u32..).zip(BURSTS) {
            let weight = 1.0 / f64::from(1_u32 << log);
            let mut red = red(&[
                ("min", Value::Count(32)),
                ("max", Value::Count(1000)),
                ("weight", Value::Number(weight)),
            ]);
            let busy = Link {
                in_service: Tally::new(1, 1000),
                rate: None,
            };
            let ticket = Trial::new("red", &[], unlimited()).next;
            let mut passed = 0;
            while red.average < red.min {
                passed += 1;
                red.enqueue(at(0.0), &busy, ticket, &mut Drops::default());
            }
            let more = passed - 1 - burst;
            assert!((1..=3).contains(&more), "weight 2^-{log}: {more} more");
        }
    }

    #[test]
    fn the_probability_rises_from_min_to_max_and_gently_to_twice_max() {
        let mut red = red(&[("maxp", Value::Number(0.1))]);
        let mut at = |average, gentle| {
            (red.average, red.gentle) = (average, gentle);
            red.probability()
        };
        assert_eq!(at(5.0, false), Some(0.0));
        close(at(10.0, false).unwrap(), 0.05);
        assert_eq!(at(15.0, false), None);
        close(at(15.0, true).unwrap(), 0.1);
        close(at(22.5, true).unwrap(), 0.55);
        assert_eq!(at(30.0, true), None);
    }

    /// Drives the queue above max; returns marks and drops from then on.
    fn overload(set: &[(&str, Value)], speaks_ecn: bool) -> (usize, usize) {
        let weight = ("weight", Value::Number(1.0));
        let mut all = alloc::vec![weight, ("maxp", Value::Number(0.5))];
        all.extend_from_slice(set);
        let mut trial = Trial::new("red", &all, packets(100));
        trial.speaks_ecn(speaks_ecn);
        trial.serve(1, 1000);
        trial.arrive_many(0.0, 1000);
        let mut marked = 0;
        while let Some(ticket) = trial.depart(0.0) {
            marked += usize::from(ticket.is_marked);
        }
        (marked, trial.dropped.len())
    }

    #[test]
    fn early_signals_are_marks_with_ecn_and_forced_ones_are_drops() {
        let ecn = ("ecn", Value::Flag(true));
        let (marked, dropped) = overload(&[ecn], true);
        assert!(marked > 0);
        // At most 15 ever wait.
        assert_eq!(dropped, 1000 - 15);
        assert_eq!(overload(&[ecn], false).0, 0);
        assert_eq!(overload(&[], true).0, 0);
    }

    #[test]
    fn maxp_follows_the_average_every_500_ms() {
        let mut red = red(&[("adaptive", Value::Flag(true))]);
        let busy = Link {
            in_service: Tally::new(1, 1000),
            rate: None,
        };
        red.average = 12.0;
        // 0.02*1.25^3, then + 0.01*0.976..., then 0.01 each.
        for (half_seconds, expected) in [(1, 0.025), (2, 0.031_25), (3, 0.039_062_5)] {
            red.adapt(at(0.5 * f64::from(half_seconds)), &busy);
            close(red.max_p, expected);
        }
        red.adapt(at(2.5), &busy);
        close(red.max_p, 0.048_828_125 + 0.01);
        red.average = 10.0;
        red.adapt(at(10.0), &busy);
        close(red.max_p, 0.058_828_125);
        red.average = 8.0;
        red.adapt(at(11.0), &busy);
        close(red.max_p, 0.058_828_125 * 0.81);
        red.adapt(at(1000.0), &busy);
        assert!(red.max_p < 0.01 && red.max_p >= 0.009);
    }

    #[test]
    fn a_queue_in_bytes_counts_mean_packets() {
        let mut red = red(&[("bytes", Value::Flag(true))]);
        let ticket = Trial::new("red", &[], unlimited()).next;
        red.waiting.push(ticket);
        close(red.length(), 2.0);
    }
}
