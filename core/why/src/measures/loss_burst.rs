//! A loss burst, and the data that passed during it.
//!
//! In slow start an acknowledgment releases at most twice the bytes that it acknowledges (RFC 5681
//! section 3.1, RFC 3465 section 2.3), and acknowledgments arrive at most at the bottleneck rate.
//! So at most twice the bottleneck rate arrives before the bottleneck. Between two losses a full
//! queue passes what its link carries, which is half of that or more. If less passed, the dropping
//! element is slower than the link after it: a policer. About half, in a burst that arrived that
//! fast, is the result of a full queue.
//!
//! Out of scope: a queue shorter than the data that one acknowledgment releases. Its link idles in
//! between, and it looks like a policer.

use super::Measures;
use crate::episode::RecoveryEpisode;
use crate::round::{Round, State};

/// Bytes lost close together, and bytes between them that passed.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct LossBurst {
    lost: u64,
    passed: u64,
    /// Position after the last loss.
    end: u64,
    /// End of the data sent when the first loss was detected; only that data counts.
    until: u64,
}

impl LossBurst {
    /// Maximum number of segments between two losses of one burst.
    const CLOSE: u64 = 64;
    /// Minimum number of segments that random loss does not explain.
    const LEAST: u64 = 32;

    /// Begins at `start`, with the data sent up to `until`.
    pub const fn new(start: u64, until: u64) -> Self {
        Self {
            lost: 0,
            passed: 0,
            end: start,
            until,
        }
    }

    /// Records the loss of the bytes from `start` to `end`.
    pub const fn on_lost(&mut self, start: u64, end: u64, mss: u64) {
        if start < self.end || start >= self.until || end <= start {
            return;
        }
        if start - self.end <= Self::CLOSE * mss {
            self.passed += start - self.end;
            self.lost += end - start;
        }
        self.end = end;
    }

    /// Whether random loss does not explain it.
    pub const fn is_flood(&self, mss: u64) -> bool {
        self.lost >= Self::LEAST * mss
    }

    /// Fraction that passed, if enough was lost.
    fn share_passed(&self, mss: u64) -> Option<f64> {
        self.is_flood(mss)
            .then(|| self.passed as f64 / (self.passed + self.lost) as f64)
    }
}

/// Delivered fraction of the loss burst at the end of slow start. A full queue passes half of it or
/// more, a policer less. `None` if there was no burst, or the delivery is unknown.
pub(super) fn passed(m: &Measures<'_>, first: &RecoveryEpisode) -> Option<f64> {
    // A timer retransmits data that was not lost.
    if first.timeouts > 0 || first.spurious > 0 || first.overtaken > 0 {
        return None;
    }
    let passed = first.loss_burst.share_passed(m.mss())?;
    let before = m.rounds_before(first, 2);
    // After an idle time the burst is not clocked by ACKs.
    let is_clocked = before
        .iter()
        .all(|round| round.spent_in(State::Idle).is_zero());
    let is_shown = is_clocked || passed >= HALF && came_at_line(m, before);
    is_shown.then_some(passed)
}

/// Minimum fraction for which the arrival rate of a burst matters. Such a burst shows a full queue
/// only if it arrived at the bottleneck rate or faster.
const HALF: f64 = 0.46;

/// Whether a burst arrived at the bottleneck rate or faster.
fn came_at_line(m: &Measures<'_>, before: &[Round]) -> bool {
    let Some(line) = m.line else { return false };
    let enough = 16 * m.mss();
    before
        .iter()
        .filter(|round| round.sent >= enough)
        .map(|round| super::per_second(round.train_octets, round.train_time))
        .any(|rate| rate >= 0.9 * line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    /// Fraction passed by a meter whose input is `speed` times its rate. `room` is the meter's
    /// depth.
    fn met(speed: f64, room: f64, segments: u64) -> Option<f64> {
        let (mut level, mut loss_burst) = (0.0_f64, None);
        for segment in 0..segments {
            level = (level - 1.0 / speed).max(0.0);
            if level + 1.0 <= room {
                level += 1.0;
                continue;
            }
            let start = segment * MSS;
            loss_burst
                .get_or_insert(LossBurst::new(start, segments * MSS))
                .on_lost(start, start + MSS, MSS);
        }
        loss_burst?.share_passed(MSS)
    }

    proptest! {
        #[test]
        fn no_full_queue_is_taken_for_a_policer_however_slow_start_fills_it(
            // At most twice the link's rate.
            speed in 1.0..2.0_f64, room in 2.0..500.0_f64, segments in 0..4000_u64,
        ) {
            prop_assert!(met(speed, room, segments).is_none_or(|passed| passed >= 0.46));
        }

        #[test]
        fn what_passes_less_than_its_link_carries_is_a_policer(
            // Twice the rate of a link arrives, and it passes `share` of its rate.
            share in 0.1..0.88_f64, room in 2.0..500.0_f64,
        ) {
            prop_assert!(met(2.0 / share, room, 4000).is_some_and(|passed| passed < 0.46));
        }
    }

    #[test]
    fn a_queue_into_which_twice_its_rate_comes_is_one() {
        assert!(met(2.0, 40.0, 1000).is_some_and(|passed| (0.46..0.54).contains(&passed)));
    }

    #[test]
    fn few_losses_tell_nothing_and_distant_ones_neither() {
        assert_eq!(met(4.0, 40.0, 70), None);
        let mut loss_burst = LossBurst::new(0, 1_000_000 * MSS);
        for loss in 0..1000 {
            loss_burst.on_lost(loss * 100 * MSS, (loss * 100 + 9) * MSS, MSS);
        }
        assert_eq!(loss_burst.share_passed(MSS), None);
    }
}
