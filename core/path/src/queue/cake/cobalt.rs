//! COBALT: CoDel that unwinds its count, and BLUE for flows that do not respond.
//!
//! CoDel's schedule is next <- next + interval/sqrt(count). A packet is late if it waited longer
//! than the target and than four times the time of a full packet. While packets are late, a due
//! signal marks or drops one and raises `count`. While they are not, each due time lowers `count`
//! by one, down to zero. So a flow that returns soon meets the drop rate that it left.
//!
//! BLUE drops with probability p, which grows by 1/256 when the whole queue overflows at this flow's
//! cost, and falls by 1/4096 when the flow's queue is found empty, once per target at most. It
//! ignores ECN on purpose: p is for flows that do not react to marks.

use gigatcp_units::random::Stream;
use gigatcp_units::{Duration, Instant};

use super::super::Ticket;
use super::super::waiting::draw;

/// Unit of the drop probability: its smallest step.
const WHOLE: u32 = 4096;
/// Growth of the drop probability on overflow: 1/256.
const GROWTH: u32 = WHOLE / 256;
/// A packet that waited for less than this many full packets is never late.
const FULL_PACKETS: u64 = 4;

/// Settings of a tin's flows.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Law {
    pub(super) target: Duration,
    pub(super) interval: Duration,
    /// Time of a full packet at the tin's rate.
    pub(super) packet_time: Duration,
}

/// Verdict on a departing packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Signal {
    None,
    Mark,
    Drop,
}

/// State of one flow.
#[derive(Clone, Debug)]
pub(super) struct Cobalt {
    count: u32,
    /// Time of the next signal, or of the next step back of `count`.
    next: Instant,
    is_late: bool,
    /// Drop probability of BLUE, in 1/[`WHOLE`].
    p: u32,
    p_changed_at: Instant,
}

impl Default for Cobalt {
    fn default() -> Self {
        Self {
            count: 0,
            next: Instant::ZERO,
            is_late: false,
            p: 0,
            p_changed_at: Instant::ZERO,
        }
    }
}

impl Cobalt {
    /// Notes that the queue overflowed, and one of its packets is dropped for it.
    pub(super) fn on_overflow(&mut self, law: &Law, now: Instant) {
        if now.saturating_since(self.p_changed_at) > law.target {
            self.p = (self.p + GROWTH).min(WHOLE);
            self.p_changed_at = now;
        }
        self.is_late = true;
        self.next = now;
        self.count = self.count.max(1);
        debug_assert!(self.p <= WHOLE, "BLUE drops {} of {WHOLE}", self.p);
    }

    /// Notes that the flow's turn came and nothing waited.
    pub(super) fn on_empty(&mut self, law: &Law, now: Instant) {
        if self.p > 0 && now.saturating_since(self.p_changed_at) > law.target {
            self.p -= 1;
            self.p_changed_at = now;
        }
        self.is_late = false;
        if self.count > 0 && now >= self.next {
            self.count -= 1;
            self.advance(law);
        }
    }

    /// Whether nothing is left of earlier congestion.
    pub(super) fn is_at_rest(&self, now: Instant) -> bool {
        self.p == 0 && self.count == 0 && now >= self.next
    }

    /// Decides about a departing packet.
    pub(super) fn decide(
        &mut self,
        law: &Law,
        now: Instant,
        ticket: &Ticket,
        random: &mut Stream,
    ) -> Signal {
        let sojourn = ticket.sojourn(now);
        let is_late =
            sojourn > law.target && sojourn > law.packet_time.saturating_mul(FULL_PACKETS);
        let mut is_due = self.count > 0 && now >= self.next;
        if is_late {
            if !self.is_late {
                self.next = now + self.gap(law);
            }
            self.count = self.count.max(1);
        }
        self.is_late = is_late;
        let mut signal = Signal::None;
        if is_due && is_late {
            signal = if ticket.is_markable || ticket.is_l4s || ticket.is_marked {
                Signal::Mark
            } else {
                Signal::Drop
            };
            self.count = self.count.saturating_add(1);
            self.advance(law);
        } else {
            while is_due {
                self.count -= 1;
                self.advance(law);
                is_due = self.count > 0 && now >= self.next;
            }
        }
        if self.p > 0 && draw(random, f64::from(self.p) / f64::from(WHOLE)) {
            signal = Signal::Drop;
        }
        debug_assert!(
            self.count > 0 || !is_late,
            "a late packet leaves a count of 0 (its schedule would never begin)"
        );
        if self.count == 0 {
            // From here on a time of rest.
            self.next = now + law.interval;
        } else if now > self.next && signal != Signal::Drop {
            self.next = now;
        }
        signal
    }

    fn advance(&mut self, law: &Law) {
        self.next += self.gap(law);
    }

    /// Returns interval/sqrt(count); of a count of 0, the interval.
    fn gap(&self, law: &Law) -> Duration {
        let root = libm::sqrt(f64::from(self.count.max(1)));
        Duration::from_nanos((law.interval.as_nanos() as f64 / root) as u64)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::super::super::tests::{Trial, at, unlimited};
    use super::*;

    const LAW: Law = Law {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        packet_time: Duration::from_millis(1),
    };

    fn random() -> Stream {
        Stream::new(1, "cobalt", 0)
    }

    /// A packet that arrived `sojourn_ms` before.
    fn ticket(now_ms: u64, sojourn_ms: u64) -> Ticket {
        let mut ticket = Trial::new("cake", &[], unlimited()).next;
        ticket.is_markable = false;
        ticket.arrived = at((now_ms - sojourn_ms) as f64 / 1e3);
        ticket
    }

    fn decide(cobalt: &mut Cobalt, now_ms: u64, sojourn_ms: u64) -> Signal {
        let ticket = ticket(now_ms, sojourn_ms);
        cobalt.decide(&LAW, at(now_ms as f64 / 1e3), &ticket, &mut random())
    }

    /// First signal an interval after packets became late, then 100/sqrt(2), 100/sqrt(3), … ms.
    #[test]
    fn standing_queue_is_signaled_as_by_codel() {
        let mut cobalt = Cobalt::default();
        let drops: Vec<u64> = (1000..1600)
            .filter(|now| decide(&mut cobalt, *now, 50) == Signal::Drop)
            .collect();
        // 1100, then + 70.7, + 57.7, + 50, + 44.7, …
        assert_eq!(drops[..5], [1100, 1171, 1229, 1279, 1324]);
    }

    #[test]
    fn waits_of_four_full_packets_are_never_late() {
        let mut cobalt = Cobalt::default();
        let slow = Law {
            packet_time: Duration::from_millis(20),
            ..LAW
        };
        for now in 1000..3000 {
            let ticket = ticket(now, 80);
            let now = at(now as f64 / 1e3);
            assert_eq!(
                cobalt.decide(&slow, now, &ticket, &mut random()),
                Signal::None
            );
        }
    }

    /// After 10 signals and as long a rest the count has gone back to where it was.
    #[test]
    fn count_falls_as_it_rose_while_packets_are_not_late() {
        let mut cobalt = Cobalt::default();
        let mut now = 1000;
        while cobalt.count < 10 {
            decide(&mut cobalt, now, 50);
            now += 1;
        }
        let until = now + 300;
        while now < until {
            assert_eq!(decide(&mut cobalt, now, 1), Signal::None);
            now += 1;
        }
        // interval·(1/sqrt(9) + 1/sqrt(8) + …) down to 3 is 325 ms.
        assert!((2..=4).contains(&cobalt.count), "{}", cobalt.count);
        for now in until..until + 1000 {
            decide(&mut cobalt, now, 1);
        }
        assert_eq!(cobalt.count, 0);
    }

    /// 1/256 per overflow, once per target; 1/4096 less per empty queue.
    #[test]
    fn blue_grows_by_a_256th_per_target_of_overflow_and_falls_by_a_4096th() {
        let mut cobalt = Cobalt::default();
        for ms in 1000..1060 {
            cobalt.on_overflow(&LAW, at(f64::from(ms) / 1e3));
        }
        assert_eq!(cobalt.p, 10 * GROWTH);
        for ms in 2000..2060 {
            cobalt.on_empty(&LAW, at(f64::from(ms) / 1e3));
        }
        assert_eq!(cobalt.p, 10 * GROWTH - 10);
        assert!(!cobalt.is_at_rest(at(1e3)));
    }

    #[test]
    fn blue_drops_at_its_probability_whatever_packets_waited_or_speak() {
        let mut cobalt = Cobalt {
            p: WHOLE / 8,
            ..Cobalt::default()
        };
        let mut random = random();
        let mut ticket = ticket(1000, 0);
        ticket.is_markable = true;
        let dropped = (0..8000)
            .filter(|_| cobalt.decide(&LAW, at(1.0), &ticket, &mut random) == Signal::Drop)
            .count();
        assert!((900..1100).contains(&dropped), "{dropped}");
    }
}
