//! Delivery rate samples by draft-ietf-ccwg-bbr, "Delivery Rate Samples".
//!
//! Each transmission, first or not, stores the sender's state when it left ([`SendState`]). When
//! it is delivered, the difference to the current state is what the network delivered, and lost,
//! meanwhile. Of all data an acknowledgment delivers, the latest sent makes the sample. A
//! retransmission makes one like any other: whether the original arrived instead matters to an RTT
//! (Karn), but hardly to the amount delivered since.
//!
//! Cost: 40 octets per transmission in flight next to its position and time. 2^32 or more octets
//! in flight are recorded as 2^32 - 1.

use gigatcp_units::{Bytes, Instant};

use super::{Revealed, Scoreboard};
use crate::congestion::RateSample;

/// State of the sender when a transmission left: the draft's `P.*`.
#[derive(Clone, Copy, Debug)]
pub struct SendState {
    /// Send time: `P.send_time`.
    pub sent_at: Instant,
    /// Octets delivered by then: `P.delivered`.
    pub delivered: u64,
    /// Time of the last delivery by then: `P.delivered_time`.
    pub delivered_at: Instant,
    /// Start of the send interval: `P.first_send_time`.
    pub first_sent_at: Instant,
    /// Octets marked lost by then: `P.lost`.
    pub lost: u64,
    /// Octets in flight, this transmission included: `P.tx_in_flight`.
    pub in_flight: u32,
    /// Whether the application was the limit: `P.is_app_limited`.
    pub app_limited: bool,
}

impl Scoreboard {
    /// Octets in flight, those in the network twice counted twice.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        self.pipe() + self.twice()
    }

    /// Sender's state for a transmission at `now`. With it `in_flight` octets are in flight. If it
    /// `is_first`, with nothing else in flight, the clocks restart: in idle time nothing could have
    /// been sent or delivered.
    #[inline]
    pub(super) fn send_state(&mut self, now: Instant, in_flight: u64, is_first: bool) -> SendState {
        debug_assert!(
            in_flight > 0,
            "what leaves at {now:?} is in flight itself: SND.UNA {}, SND.NXT {}",
            self.una,
            self.nxt
        );
        if is_first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        SendState {
            sent_at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost_so_far,
            in_flight: in_flight.min(u64::from(u32::MAX)) as u32,
            app_limited: self.is_app_limited(),
        }
    }

    /// Whether a transmission now cannot show the network's capacity.
    #[inline]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Notes that the sender ran out of data. Data now in flight does not show the network's
    /// capacity.
    #[inline]
    pub fn note_app_limited(&mut self) {
        self.app_limited_until = (self.delivered + self.pipe()).max(1);
    }

    /// Ends the bookkeeping of one acknowledgment. Counts deliveries and samples the rate over the
    /// flight of the latest transmission delivered.
    pub fn finish_ack(&mut self, now: Instant, revealed: &Revealed) -> Option<RateSample> {
        let delivered = revealed.delivered();
        if delivered > 0 {
            self.delivered += delivered;
            self.delivered_at = now;
        }
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let (state, is_retransmission) = revealed.newest()?;
        debug_assert!(
            state.delivered <= self.delivered && state.lost <= self.lost_so_far,
            "counts fall from {} and {} octets to {} and {} during a flight",
            state.delivered,
            state.lost,
            self.delivered,
            self.lost_so_far
        );
        debug_assert!(
            state.first_sent_at <= state.sent_at && state.sent_at <= now,
            "an interval from {:?} to {:?} ends after {now:?}",
            state.first_sent_at,
            state.sent_at
        );
        self.first_sent_at = state.sent_at;
        Some(RateSample {
            delivered: Bytes::new(self.delivered - state.delivered),
            lost: Bytes::new(self.lost_so_far - state.lost),
            prior_delivered: Bytes::new(state.delivered),
            tx_in_flight: Bytes::new(u64::from(state.in_flight)),
            send_interval: state.sent_at.saturating_since(state.first_sent_at),
            ack_interval: now.saturating_since(state.delivered_at),
            app_limited: state.app_limited,
            is_retransmission,
            ack_delayed: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gigatcp_units::{Duration, Rate};

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn acked(board: &mut Scoreboard, ms: u64, una: u64) -> RateSample {
        let mut revealed = board.begin_ack();
        board.on_ack(una, &mut revealed);
        board.finish_ack(at(ms), &revealed).unwrap()
    }

    #[test]
    fn the_rate_sample_counts_what_was_delivered_during_the_newest_flight() {
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 1000);
        board.on_transmit(at(10), 2000);
        acked(&mut board, 100, 1000);
        let sample = acked(&mut board, 110, 2000);
        assert_eq!(sample.delivered, Bytes::new(2000));
        assert_eq!(sample.send_interval, Duration::from_millis(10));
        assert_eq!(sample.ack_interval, Duration::from_millis(110));
        assert_eq!(sample.tx_in_flight, Bytes::new(2000));
        assert_eq!(
            sample.rate(None),
            Rate::from_amount(Bytes::new(2000), sample.interval()).into()
        );
    }

    #[test]
    fn what_is_sent_again_is_in_flight_whatever_duplicates_stand_for() {
        let mut board = Scoreboard::new();
        for end in [1000, 2000, 3000] {
            board.on_transmit(at(0), end);
        }
        board.on_duplicate_ack(1000);
        board.on_duplicate_ack(1000);
        acked(&mut board, 100, 2000);
        assert_eq!(board.in_flight(), 0);
        board.on_retransmit(at(100), 2000..3000);
        let sample = acked(&mut board, 200, 3000);
        assert_eq!(sample.tx_in_flight, Bytes::new(1000));
    }

    #[test]
    fn a_retransmission_is_sampled_with_what_was_lost_and_in_flight_when_it_left() {
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 5000);
        let mut revealed = board.begin_ack();
        board.on_sack(1000..5000, &mut revealed);
        board.finish_ack(at(100), &revealed);
        board.mark_lost_by_sack(3, 1000);
        board.on_transmit(at(101), 6000);
        board.on_retransmit(at(102), 0..1000);
        let mut revealed = board.begin_ack();
        board.on_sack(5000..6000, &mut revealed);
        let first = board.finish_ack(at(201), &revealed).unwrap();
        assert!(!first.is_retransmission);
        assert_eq!(
            (first.tx_in_flight, first.lost),
            (Bytes::new(1000), Bytes::ZERO)
        );
        let sample = acked(&mut board, 202, 6000);
        assert!(sample.is_retransmission);
        assert_eq!(sample.tx_in_flight, Bytes::new(2000));
        assert_eq!(sample.prior_delivered, Bytes::new(4000));
        assert_eq!(sample.delivered, Bytes::new(2000));
        // It left after its original was marked lost.
        assert_eq!(sample.lost, Bytes::ZERO);
        assert_eq!(sample.interval(), Duration::from_millis(101));
        assert_eq!(sample.rate(Some(Duration::from_millis(102))), None);
    }

    #[test]
    fn a_sample_counts_what_was_marked_lost_in_its_interval() {
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 1000);
        board.on_transmit(at(0), 5000);
        let mut revealed = board.begin_ack();
        board.on_sack(1000..4000, &mut revealed);
        board.finish_ack(at(100), &revealed);
        board.mark_lost_by_sack(3, 1000);
        let mut revealed = board.begin_ack();
        board.on_sack(4000..5000, &mut revealed);
        let sample = board.finish_ack(at(100), &revealed).unwrap();
        assert_eq!(sample.lost, Bytes::new(1000));
    }

    #[test]
    fn an_acknowledgment_of_nothing_leaves_the_delivery_clock() {
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 3000);
        acked(&mut board, 100, 1000);
        let nothing = board.begin_ack();
        assert!(board.finish_ack(at(150), &nothing).is_none());
        board.on_transmit(at(160), 4000);
        let sample = acked(&mut board, 260, 4000);
        assert_eq!(sample.ack_interval, Duration::from_millis(160));
    }
}
