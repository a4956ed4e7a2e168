//! Quick-Start router: approves initial rates that connections request.
//!
//! RFC 4782 sections 3.3 and 4; appendix D leaves the algorithm to the router. A request for 40
//! kbit/s · 2^N is approved up to the spare rate:
//!
//! ```text
//! spare = threshold·C - max(y of this slot, y of the last) - approved   (1)
//! ```
//!
//! y is the arriving rate in slots of 150 ms; `approved` sums the rates approved in this slot and
//! the one before, whose data may not have arrived yet. The threshold is 0.95. If less than 80
//! kbit/s is spare, the request is not approved. It is forwarded unchanged, and its sender detects
//! that a router has not processed it. A link without rate (also one that follows a trace) approves
//! every request in full.
//!
//! The slot constants are this file's choice. Reports of approved rates (section 3.3) are not sent.
//! So a rate that a later router reduced stays counted here in full for up to 300 ms.

use gigatcp_units::{Duration, Instant, Rate};

/// Length of a slot.
const SLOT: Duration = Duration::from_millis(150);

/// Share of the link up to which requests are approved, in percent.
const THRESHOLD: u64 = 95;

/// Largest N of a request (section 3.1).
const MAX_CODE: u8 = 15;

/// Rate of a request in bit/s (section 3.1): 40 kbit/s · 2^N.
const fn rate_of(code: u8) -> u64 {
    40_000 << code
}

/// State of a link in the last two slots.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct QuickStart {
    begin: Instant,
    /// Bytes that arrived in this slot and in the one before.
    arrived: [u64; 2],
    /// Bit/s approved in this slot and in the one before.
    approved: [u64; 2],
}

impl QuickStart {
    /// Processes the arrival of a wire packet of `bytes`.
    pub(crate) fn on_arrival(&mut self, now: Instant, bytes: u64) {
        self.advance(now);
        self.arrived[0] += bytes;
    }

    fn advance(&mut self, now: Instant) {
        let slots = now.saturating_since(self.begin).as_nanos() / SLOT.as_nanos();
        for _ in 0..slots.min(2) {
            self.arrived = [0, self.arrived[0]];
            self.approved = [0, self.approved[0]];
        }
        self.begin += SLOT.saturating_mul(slots);
    }

    /// Code approved for a request of `asked`; `None` if none is.
    pub(crate) fn approve(&mut self, now: Instant, link: Option<Rate>, asked: u8) -> Option<u8> {
        self.advance(now);
        let asked = asked.min(MAX_CODE);
        let Some(link) = link else {
            return Some(asked);
        };
        // Equation (1).
        let busiest = self.arrived[0].max(self.arrived[1]);
        let arriving = busiest.saturating_mul(8000) / SLOT.as_millis();
        let approved = self.approved[0].saturating_add(self.approved[1]);
        let limit = link.as_bps() / 100 * THRESHOLD;
        let spare = limit.saturating_sub(arriving.saturating_add(approved));
        let code = (1..=asked).rev().find(|code| rate_of(*code) <= spare)?;
        self.approved[0] += rate_of(code);
        Some(code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Option<Rate> = Some(Rate::from_bps(100_000_000));

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    /// Expected: 81.92 of 95 Mbit/s; then 13 are left, rounded down to 10.24. Then 2.56.
    #[test]
    fn what_was_approved_is_not_approved_again_for_two_slots() {
        let mut router = QuickStart::default();
        let mut ask = |millis| router.approve(at(millis), LINK, 15);
        assert_eq!([ask(0), ask(1), ask(2)], [Some(11), Some(8), Some(6)]);
        assert_eq!(ask(200), Some(2), "of 0.28 Mbit/s");
        assert_eq!(ask(450), Some(11));
    }

    #[test]
    fn a_busy_link_approves_nothing() {
        let mut router = QuickStart::default();
        router.on_arrival(at(10), 100_000_000 / 8 * 15 / 100);
        assert_eq!(router.approve(at(20), LINK, 15), None);
        assert_eq!(
            router.approve(at(160), LINK, 15),
            None,
            "the last slot counts"
        );
        assert_eq!(router.approve(at(310), LINK, 15), Some(11));
    }

    #[test]
    fn nothing_above_what_is_asked_is_approved() {
        let mut router = QuickStart::default();
        assert_eq!(router.approve(at(0), LINK, 3), Some(3));
        assert_eq!(router.approve(at(0), LINK, 0), None, "no request");
        assert_eq!(router.approve(at(0), None, 200), Some(15));
    }
}
