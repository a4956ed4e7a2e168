//! Rate-limited increase (draft-ietf-ccwg-ratelimited-increase-08 section 3): the window of a sender
//! that does not fill it grows, up to what its largest flight could justify.
//!
//! * maxFS is the largest `FlightSize` since cwnd was last reduced, at first the initial window. A
//!   flight is largest when an ACK arrives: it is measured there.
//! * In slow start cwnd grows to 2·maxFS, in congestion avoidance to maxFS + SMSS. A law that grows
//!   by more in a round trip may do so only as far as its window is in use.
//!
//! Only growth is bounded. The draft caps cwnd itself, so that the first small flight after an idle
//! restart would take the restart window away. That of RFC 5681 section 4.1 stands here.
//!
//! Out of scope: controls that follow no window, as BBR. They have rules of their own for samples
//! of a sender that its application limits.

/// State of one connection.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RateLimit {
    /// maxFS, in octets.
    max_flight: u64,
    /// cwnd after the last ACK, in octets; 0 before the first.
    cwnd: u64,
}

impl RateLimit {
    /// Notes the flight before an ACK, in octets, and cwnd then.
    pub(crate) fn on_flight(&mut self, flight_size: u64, cwnd: u64) {
        let known = match self.cwnd {
            0 => cwnd,
            last if cwnd < last => 0,
            _ => self.max_flight,
        };
        self.max_flight = known.max(flight_size);
        self.cwnd = cwnd;
    }

    /// cwnd after the ACK, which the control has set to `grown`.
    pub(crate) fn bound(&mut self, grown: u64, is_slow_start: bool, smss: u64) -> u64 {
        let growth = if is_slow_start { self.max_flight } else { smss };
        let limit = self.max_flight.saturating_add(growth);
        self.cwnd = grown.min(limit.max(self.cwnd));
        self.cwnd
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    /// cwnd after an ACK of each segment of a flight, in slow start.
    fn send(limit: &mut RateLimit, cwnd: &mut u64, segments: u64) -> u64 {
        for left in (1..=segments).rev() {
            limit.on_flight(left * SMSS, *cwnd);
            *cwnd = limit.bound(*cwnd + SMSS, true, SMSS);
        }
        *cwnd
    }

    #[test]
    fn example_of_section_3_1_2_stops_at_20_segments() {
        let (mut limit, mut cwnd) = (RateLimit::default(), 10 * SMSS);
        let windows = [10, 4].map(|segments| send(&mut limit, &mut cwnd, segments));
        assert_eq!(windows, [20_000, 20_000]);
    }

    #[test]
    fn example_of_appendix_a_grows_with_the_flight() {
        let (mut limit, mut cwnd) = (RateLimit::default(), 10 * SMSS);
        let windows = [4, 8, 4, 20].map(|segments| send(&mut limit, &mut cwnd, segments));
        assert_eq!(windows, [14_000, 20_000, 20_000, 40_000]);
    }

    #[test]
    fn reduction_begins_a_new_measurement_and_is_not_followed_by_another() {
        let (mut limit, mut cwnd) = (RateLimit::default(), 10 * SMSS);
        send(&mut limit, &mut cwnd, 10);
        // Half of 20 segments, of which two are in use: growth waits for a larger flight.
        cwnd = 10 * SMSS;
        limit.on_flight(2 * SMSS, cwnd);
        assert_eq!(limit.bound(cwnd + 100, false, SMSS), cwnd);
        limit.on_flight(10 * SMSS, cwnd);
        assert_eq!(limit.bound(cwnd + 100, false, SMSS), cwnd + 100);
        limit.on_flight(10 * SMSS, cwnd + 100);
        assert_eq!(limit.bound(cwnd + 9 * SMSS, false, SMSS), cwnd + SMSS);
    }
}
