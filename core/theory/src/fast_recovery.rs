//! Fast recovery of one loss in a window: numbers of ACKs and segments.
//!
//! Jacobson's mail of April 1990 on fast recovery; RFC 5681 section 3.2 has the same algebra. Of
//! `W` segments in flight, only the first (at SND.UNA = U) is lost:
//!
//! ```text
//! duplicate ACKs      W - 1
//! silent              the first W - W/2 of them open nothing
//! new segments        W/2 - 1, one for each of the others
//! recovery ACK        U + W, and half a window in flight: no burst
//! pipe at detection   W - 1 - dup_thresh
//! ```
//!
//! Out of scope: limited transmit (RFC 3042), which sends on the first two duplicates, and a sender
//! limited by the receive window. The algebra needs a receive window of two windows.

/// Duplicate acknowledgments that indicate a loss (RFC 5681).
pub const DUP_THRESH: u32 = 3;

/// Fast recovery of one loss, in segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastRecovery {
    /// Segments in flight when the first of them was lost.
    pub flight_size: u32,
    /// Duplicate acknowledgments that follow.
    pub duplicate_acks: u32,
    /// Slow-start threshold after the halving.
    pub ssthresh: u32,
    /// Duplicate acknowledgments, from the first, that release no new segment.
    pub silent_acks: u32,
    /// New segments sent before the recovery acknowledgment.
    pub new_segments: u32,
    /// Segments still in the path when the loss is detected.
    pub pipe_at_detection: u32,
}

impl FastRecovery {
    /// Returns the recovery with `flight_size` segments in flight. `None` if they are too few for
    /// [`DUP_THRESH`] duplicates: then a timeout recovers.
    #[must_use]
    pub fn new(flight_size: u32) -> Option<Self> {
        let duplicate_acks = flight_size.checked_sub(1)?;
        let pipe_at_detection = duplicate_acks.checked_sub(DUP_THRESH)?;
        // RFC 5681 equation 4.
        let ssthresh = (flight_size / 2).max(2);
        let silent_acks = flight_size - ssthresh;
        Some(Self {
            flight_size,
            duplicate_acks,
            ssthresh,
            silent_acks,
            new_segments: duplicate_acks - silent_acks,
            pipe_at_detection,
        })
    }

    /// Returns the segments that the recovery acknowledgment releases in one burst.
    #[must_use]
    pub const fn burst_after(&self) -> u32 {
        self.ssthresh - self.new_segments
    }
}

/// Returns the RTTs to repair `losses` losses of one window without SACK. NewReno repairs one per
/// RTT (RFC 6582 section 3.2, partial acknowledgments).
#[must_use]
pub const fn newreno_rounds(losses: u32) -> u32 {
    losses
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps through the rules of RFC 5681 section 3.2 per duplicate, and counts segments sent.
    fn stepped(flight_size: u32) -> (u32, u32) {
        let ssthresh = (flight_size / 2).max(2);
        let (mut cwnd, mut outstanding, mut new_segments) = (flight_size, flight_size, 0);
        for duplicate in 1..flight_size {
            match duplicate {
                1 | 2 => continue,
                3 => cwnd = ssthresh + 3,
                _ => cwnd += 1,
            }
            if outstanding < cwnd {
                outstanding += 1;
                new_segments += 1;
            }
        }
        (new_segments, ssthresh - new_segments)
    }

    #[test]
    fn jacobson_1990_algebra_equals_the_stepped_rules_at_every_window() {
        for flight_size in 4..=10_000 {
            let recovery = FastRecovery::new(flight_size).expect("enough in flight");
            let (new_segments, burst) = stepped(flight_size);
            assert_eq!(recovery.new_segments, new_segments, "W = {flight_size}");
            assert_eq!(recovery.burst_after(), burst, "W = {flight_size}");
        }
    }

    #[test]
    fn jacobson_1990_half_a_window_is_silent_and_half_less_one_is_sent() {
        for half in 2..=5_000 {
            let recovery = FastRecovery::new(2 * half).expect("enough in flight");
            assert_eq!(recovery.duplicate_acks, 2 * half - 1);
            assert_eq!(recovery.silent_acks, half);
            assert_eq!(recovery.new_segments, half - 1);
            assert_eq!(recovery.burst_after(), 1, "no burst");
        }
    }

    #[test]
    fn jacobson_1990_pipe_is_three_quarters_full_at_detection_with_16_in_flight() {
        let recovery = FastRecovery::new(16).expect("enough in flight");
        assert_eq!(recovery.pipe_at_detection, 12);
    }

    #[test]
    fn fewer_than_four_in_flight_end_in_a_timeout() {
        for flight_size in 0..4 {
            assert_eq!(FastRecovery::new(flight_size), None);
        }
    }

    #[test]
    fn rfc_6582_k_losses_in_one_window_take_k_rounds() {
        assert_eq!(newreno_rounds(5), 5);
    }
}
