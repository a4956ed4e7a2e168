//! Delivery rate samples, as draft-cheng-iccrg-delivery-rate-estimation has them.
//!
//! Each transmission notes how much had been delivered when it left; when it is
//! delivered itself, the difference is what the network carried meanwhile. What
//! was sent while the application was the limit is marked.

use gigatcp_units::{Bytes, Duration, Instant};

use super::{Revealed, Scoreboard};
use crate::congestion::RateSample;

impl Scoreboard {
    /// The sender ran out of data: what is in flight now does not show what
    /// the network could carry.
    pub fn note_app_limited(&mut self) {
        self.app_limited_until = (self.delivered + self.pipe()).max(1);
    }

    /// Ends the bookkeeping of one acknowledgment: counts deliveries and
    /// gives the delivery rate over the newest delivered transmission's
    /// flight, as draft-cheng-iccrg-delivery-rate-estimation describes.
    pub fn finish_ack(&mut self, now: Instant, revealed: &Revealed) -> Option<RateSample> {
        self.delivered += revealed.delivered();
        self.delivered_at = now;
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = revealed.newest?;
        self.first_sent_at = newest.sent_at;
        let send_interval = newest.sent_at.saturating_since(newest.first_sent_at);
        let ack_interval = now.saturating_since(newest.delivered_at);
        let interval = send_interval.max(ack_interval);
        (interval > Duration::ZERO).then(|| RateSample {
            delivered: Bytes::new(self.delivered - newest.delivered),
            prior_delivered: Bytes::new(newest.delivered),
            interval,
            app_limited: newest.app_limited,
            ack_delayed: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_sample_counts_what_was_delivered_during_the_newest_flight() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut board = Scoreboard::new();
        board.on_transmit(at(0), 1000);
        board.on_transmit(at(10), 2000);
        let mut revealed = Revealed::default();
        board.on_ack(1000, &mut revealed);
        board.finish_ack(at(100), &revealed);
        let mut revealed = Revealed::default();
        board.on_ack(2000, &mut revealed);
        let rate = board.finish_ack(at(110), &revealed).unwrap();
        assert_eq!(rate.delivered, Bytes::new(2000));
        assert_eq!(rate.interval, Duration::from_millis(110));
    }
}
