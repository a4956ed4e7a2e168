//! CoDel: drops at departure while the sojourn time stays above a target.
//!
//! RFC 8289 section 5 (Nichols, Jacobson, McGregor, Iyengar 2018). A departing packet is late if
//! three conditions hold: it waited `target` or longer, more than one packet's octets remain behind
//! it, and this has been so for `interval`. The first late packet is dropped and the drop state
//! begins. While packets are late, drops follow at
//!
//! ```text
//! next <- next + interval/sqrt(count)                                   (1)
//! ```
//!
//! with `count` the drops of this state. `count` begins at 1. It is larger if a state begins within
//! 16 intervals after the end of the previous one: the number of drops by which the previous state
//! grew, if more than one. Counted from the first drop, drops occur at 0, 100, 170.7, 228.4, 278.4
//! ms for the default interval.
//!
//! Choices where implementations differ:
//!
//! * Linux replaces the square root of (1) by one Newton step per drop from 1, so
//!   that its second gap is 50 ms instead of 70.7 ms: `newton` selects that.
//! * Linux compares times strictly and in units of 1024 ns. This module follows the RFC, in
//!   nanoseconds.
//! * The RFC compares the remaining octets with the interface's MTU. A path has no MTU here, so the
//!   largest packet seen is used, as in ns-2.
//! * With `ecn`, an ECN-capable packet is marked and sent instead of dropped. The state advances by
//!   one drop, at most once per departure (Linux). Off by default, as in `tc`.
//! * `ce_threshold` additionally marks every departing packet that waited longer, in any state
//!   (Linux); it does not require `ecn`.
//!
//! The limit counts waiting packets only, as that of a Linux qdisc, and is 1000 packets by default.
//! Its drops are counted as a full queue.

use alloc::boxed::Box;
use alloc::vec::Vec;

use gigatcp_units::parameters;
use gigatcp_units::{Duration, Instant};

use super::waiting::Waiting;
use super::{
    Build, Discipline, Drops, Entry, Limits, Link, Parameter, Settings, Ticket, any_settings,
};
use crate::{DropCause, Tally};

/// Entry of the registry.
pub(super) const ENTRY: Entry = Entry {
    name: "codel",
    summary: "drops while packets wait longer than a target (RFC 8289)",
    parameters: &[TARGET, INTERVAL, ECN, CE_THRESHOLD, NEWTON],
    class_parameters: &[],
    check: any_settings,
    draws: false,
    build: |build| Box::new(CoDel::new(&build)),
};

/// Default limit in packets, as in Linux.
const LIMIT: u64 = 1000;

parameters! {
    /// Acceptable sojourn time.
    pub(super) TARGET: Time = "target", Some(Duration::from_millis(5)),
        [Duration::from_nanos(1), Duration::from_secs(100)], "acceptable standing waiting time";
    /// Time above the target before the first drop.
    pub(super) INTERVAL: Time = "interval", Some(Duration::from_millis(100)),
        [Duration::from_nanos(1), Duration::from_secs(1000)],
        "time above the target before the first drop, about the largest RTT";
    /// Whether ECN-capable packets are marked instead of dropped.
    ECN: Flag = "ecn", Some(false), [false, true],
        "marks packets that speak ECN instead of dropping them";
    /// Sojourn time above which every packet is marked.
    pub(super) CE_THRESHOLD: Time = "ce_threshold", None,
        [Duration::ZERO, Duration::from_secs(1000)],
        "marks every departing packet that waited longer than this";
    /// Whether drop times follow Linux's approximation.
    pub(super) NEWTON: Flag = "newton", Some(false), [false, true],
        "approximates the square root by one Newton step per drop, as Linux does";
}

/// Settings of the control law.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: Duration,
    interval: Duration,
    ecn: bool,
    ce_threshold: Option<Duration>,
    newton: bool,
}

impl Law {
    /// Reads the settings; `ecn` is a parameter because its default differs.
    pub(super) fn new(settings: &Settings, ecn: &Parameter) -> Self {
        let is_threshold_set = settings.get(&CE_THRESHOLD).is_some();
        Self {
            target: settings.time(&TARGET),
            interval: settings.time(&INTERVAL),
            ecn: settings.flag(ecn),
            ce_threshold: is_threshold_set.then(|| settings.time(&CE_THRESHOLD)),
            newton: settings.flag(&NEWTON),
        }
    }
}

/// State of the control law of one queue.
#[derive(Clone, Debug)]
pub(super) struct Control {
    /// Time from which a packet still above the target is late.
    late_from: Option<Instant>,
    is_dropping: bool,
    /// Time of the next drop.
    drop_next: Instant,
    /// Number of drops of this state.
    count: u32,
    /// Initial value of `count` in this state.
    last_count: u32,
    /// Linux's running approximation of 1/sqrt(count).
    inverse_root: f64,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            late_from: None,
            is_dropping: false,
            drop_next: Instant::ZERO,
            count: 0,
            last_count: 0,
            inverse_root: 1.0,
        }
    }
}

impl Control {
    /// Takes the next packet to send from `waiting`, and drops those before it.
    ///
    /// `mtu` is the number of octets that may remain without any packet being late.
    pub(super) fn dequeue(
        &mut self,
        law: &Law,
        now: Instant,
        mtu: u64,
        waiting: &mut Waiting,
        drops: &mut Drops,
    ) -> Option<Ticket> {
        let (mut head, mut is_late) = self.take(law, now, mtu, waiting);
        if !is_late {
            self.is_dropping = false;
        } else if self.is_dropping {
            while is_late && now >= self.drop_next {
                self.raise_count();
                let is_marked = signal(law, &mut head, drops);
                if !is_marked {
                    (head, is_late) = self.take(law, now, mtu, waiting);
                }
                if is_late {
                    self.drop_next += self.gap(law);
                }
                if is_marked {
                    break;
                }
            }
            self.is_dropping = is_late;
        } else {
            if !signal(law, &mut head, drops) {
                (head, _) = self.take(law, now, mtu, waiting);
            }
            self.begin(law, now);
        }
        if let (Some(ticket), Some(threshold)) = (&mut head, law.ce_threshold)
            && ticket.sojourn(now) > threshold
        {
            ticket.mark();
        }
        head
    }

    /// Takes a packet and returns whether it is late (`dodequeue` of the RFC).
    fn take(
        &mut self,
        law: &Law,
        now: Instant,
        mtu: u64,
        waiting: &mut Waiting,
    ) -> (Option<Ticket>, bool) {
        let head = waiting.pop();
        let is_above =
            head.is_some_and(|head| head.sojourn(now) >= law.target && waiting.octets() > mtu);
        if !is_above {
            self.late_from = None;
            return (head, false);
        }
        let late_from = *self.late_from.get_or_insert(now + law.interval);
        // If it was just set it lies in the future: an interval is at least a nanosecond.
        (head, now >= late_from)
    }

    /// Enters the drop state, whose first drop has just happened.
    fn begin(&mut self, law: &Law, now: Instant) {
        self.is_dropping = true;
        let grown = self.count.saturating_sub(self.last_count);
        let since = now.saturating_since(self.drop_next);
        if grown > 1 && since < law.interval.saturating_mul(16) {
            self.count = grown;
            self.improve_root();
        } else {
            self.count = 1;
            self.inverse_root = 1.0;
        }
        self.last_count = self.count;
        self.drop_next = now + self.gap(law);
    }

    fn raise_count(&mut self) {
        self.count = self.count.saturating_add(1);
        self.improve_root();
    }

    /// One step of Newton's method for 1/sqrt(count).
    fn improve_root(&mut self) {
        let root = self.inverse_root;
        self.inverse_root = root * (3.0 - f64::from(self.count) * root * root) / 2.0;
        debug_assert!(
            self.inverse_root > 0.0 && self.inverse_root <= 1.0,
            "1/sqrt({}) is approximated as {}, from {root}",
            self.count,
            self.inverse_root
        );
    }

    /// Time to the next drop, equation (1).
    fn gap(&self, law: &Law) -> Duration {
        debug_assert!(
            self.count > 0 && self.count >= self.last_count,
            "drop {} of a state that began with {} (RFC 8289 section 5.5)",
            self.count,
            self.last_count
        );
        let inverse_root = if law.newton {
            self.inverse_root
        } else {
            1.0 / libm::sqrt(f64::from(self.count))
        };
        Duration::from_nanos((law.interval.as_nanos() as f64 * inverse_root) as u64)
    }
}

/// Signals congestion by a mark, or else by a drop. Returns whether it is a mark.
fn signal(law: &Law, head: &mut Option<Ticket>, drops: &mut Drops) -> bool {
    if law.ecn && head.as_mut().is_some_and(Ticket::mark) {
        return true;
    }
    if let Some(ticket) = head.take() {
        drops.push(ticket, DropCause::Aqm);
    }
    false
}

/// One queue with the control law.
#[derive(Debug)]
struct CoDel {
    law: Law,
    control: Control,
    limits: Limits,
    /// Octets of the largest packet so far.
    largest: u64,
    waiting: Waiting,
}

impl CoDel {
    fn new(build: &Build<'_>) -> Self {
        Self {
            law: Law::new(build.settings, &ECN),
            control: Control::default(),
            limits: build.limits.or_packets(LIMIT),
            largest: 0,
            waiting: Waiting::default(),
        }
    }
}

impl Discipline for CoDel {
    fn enqueue(&mut self, _now: Instant, _link: &Link, ticket: Ticket, drops: &mut Drops) {
        let inside = self.waiting.backlog().plus(ticket.tally());
        if !self.limits.admit(inside) {
            drops.push(ticket, DropCause::QueueFull);
            return;
        }
        self.largest = self.largest.max(u64::from(ticket.octets));
        self.waiting.push(ticket);
    }

    fn dequeue(&mut self, now: Instant, _link: &Link, drops: &mut Drops) -> Option<Ticket> {
        self.control
            .dequeue(&self.law, now, self.largest, &mut self.waiting, drops)
    }

    drain_and_backlog!();
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::Value;
    use super::super::tests::{Trial, packets, unlimited};
    use super::*;

    /// RFC 8289 section 5, evaluated: milliseconds after the first drop.
    const RFC_DROPS: [f64; 7] = [0.0, 100.0, 170.71, 228.45, 278.45, 323.17, 363.99];
    /// `codel_impl.h` of Linux, evaluated.
    const LINUX_DROPS: [f64; 12] = [
        0.0, 100.0, 150.0, 206.25, 255.03, 299.18, 339.58, 377.10, 412.25, 445.43, 476.94, 506.99,
    ];

    /// Time between departures of a standing queue.
    const STEP: f64 = 20e-6;

    /// Returns the times of drops or marks in milliseconds after the first.
    fn signals(set: &[(&str, Value)], seconds: f64) -> Vec<f64> {
        let departures = (seconds / STEP) as usize;
        let mut trial = Trial::new("codel", set, packets(u64::MAX));
        trial.arrive_many(0.0, departures + 1000);
        let mut marked = Vec::new();
        for i in 0..departures {
            let now = i as f64 * STEP;
            if trial.depart(now).unwrap().is_marked {
                marked.push(now);
            }
        }
        let dropped = trial
            .dropped
            .iter()
            .map(|(at, _, cause)| {
                assert_eq!(*cause, DropCause::Aqm);
                at.as_secs_f64()
            })
            .chain(marked);
        let times: Vec<f64> = dropped.collect();
        times.iter().map(|at| (at - times[0]) * 1e3).collect()
    }

    fn agree(drops: &[f64], expected: &[f64]) {
        for (drop, expected) in drops.iter().zip(expected) {
            let error = (drop - expected).abs();
            assert!(error <= 0.001 * expected, "{drop} instead of {expected}");
        }
        assert!(drops.len() >= expected.len());
    }

    #[test]
    fn drops_fall_at_the_times_of_rfc_8289() {
        let drops = signals(&[], 2.1);
        agree(&drops, &RFC_DROPS);
        // The 100 drops after the first take the sum of 100/sqrt(i), i = 1 to 100.
        agree(&drops[100..], &[1859.0]);
    }

    #[test]
    fn drops_fall_at_the_times_of_linux_if_asked_to() {
        agree(
            &signals(&[("newton", Value::Flag(true))], 0.7),
            &LINUX_DROPS,
        );
    }

    #[test]
    fn marks_fall_when_drops_would() {
        let set = [("ecn", Value::Flag(true))];
        agree(&signals(&set, 0.6), &RFC_DROPS);
    }

    #[test]
    fn the_first_drop_is_an_interval_after_the_target_was_passed() {
        let mut trial = Trial::new("codel", &[], unlimited());
        trial.arrive_many(0.0, 200);
        for i in 0..110 {
            trial.depart(f64::from(i) * 0.001);
            let is_due = i >= 105;
            assert_eq!(trial.dropped.len(), usize::from(is_due), "at {i} ms");
        }
    }

    #[test]
    fn a_wait_below_the_target_is_never_too_long() {
        let mut trial = Trial::new("codel", &[], unlimited());
        for i in 0..5000 {
            let now = f64::from(i) * 0.001;
            trial.arrive(now, 0);
            if i >= 4 {
                // A service takes four milliseconds.
                trial.depart(now);
            }
        }
        assert_eq!(trial.dropped_parcels(), []);
    }

    #[test]
    fn a_queue_of_one_packet_is_never_too_long() {
        let mut trial = Trial::new("codel", &[], unlimited());
        trial.arrive_many(0.0, 1);
        for i in 1..500 {
            let now = f64::from(i) * 0.02;
            trial.arrive(now, 0);
            assert!(trial.depart(now).is_some());
        }
        assert_eq!(trial.dropped_parcels(), []);
    }

    /// Second gap between drops of the second state. The first state has 600 packets with drops at
    /// 105, 205, 275.7, 333.4, ... ms. After an empty queue for `pause`, another standing queue
    /// follows.
    fn second_gap_after(pause: f64) -> f64 {
        let mut trial = Trial::new("codel", &[], packets(u64::MAX));
        trial.arrive_many(0.0, 600);
        let mut now = 0.0;
        while trial.depart(now).is_some() {
            now += 0.001;
        }
        let before = trial.dropped.len();
        now += pause;
        trial.arrive_many(now, 600);
        for i in 0..500 {
            trial.depart(now + f64::from(i) * 0.001);
        }
        let again = &trial.dropped[before..];
        (again[1].0.as_secs_f64() - again[0].0.as_secs_f64()) * 1e3
    }

    #[test]
    fn a_new_state_soon_after_the_last_continues_its_rate() {
        // Drops of the first state: 1 + 10 within 485 ms of 590 (0, 100, ... 470.5
        // after the first at 105 ms), so count grew from 1 to 10.
        let gap = second_gap_after(0.1);
        assert!((gap - 100.0 / 3.0).abs() <= 1.0, "{gap} ms");
        let gap = second_gap_after(2.0);
        assert!((gap - 100.0).abs() <= 1.0, "{gap} ms");
    }

    #[test]
    fn the_ce_threshold_marks_whatever_the_state() {
        let set = [("ce_threshold", Value::Time(Duration::from_millis(1)))];
        let mut trial = Trial::new("codel", &set, unlimited());
        trial.arrive_many(0.0, 2);
        assert!(!trial.depart(0.001).unwrap().is_marked);
        assert!(trial.depart(0.001_001).unwrap().is_marked);
    }

    #[test]
    fn the_limit_is_1000_packets_unless_another_is_set() {
        let mut trial = Trial::new("codel", &[], unlimited());
        trial.arrive_many(0.0, 1001);
        assert_eq!(trial.dropped_parcels(), [1000]);
        assert_eq!(trial.dropped[0].2, DropCause::QueueFull);
    }
}
