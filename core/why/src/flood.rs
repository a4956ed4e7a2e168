//! A flood of losses, and what went through meanwhile.
//!
//! In slow start an acknowledgment releases twice what it acknowledges at most (RFC
//! 5681 section 3.1, RFC 3465 section 2.3), and acknowledgments come as fast as the
//! slowest link carries data at most: so no more than twice the rate of that link
//! arrives before it. Between two losses a full queue lets through what its link
//! carries, which is half of that or more. Where less went through, what drops is
//! slower than the link behind it: a policer. About half, in a burst that came as fast
//! as that, is what a full queue leaves.
//!
//! Deliberately not here: a queue shorter than what one acknowledgment releases. Its
//! link runs dry in between, and it looks like a policer.

use crate::case::Case;
use crate::episode::Episode;
use crate::round::{Round, State};

/// What was lost closely together, and what between was not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flood {
    lost: u64,
    passed: u64,
    /// Behind the last loss.
    end: u64,
    /// What had been sent when the first was noticed: only that counts.
    until: u64,
}

impl Flood {
    /// Losses with no more segments between them are of one flood.
    const CLOSE: u64 = 64;
    /// So many segments are more than chance.
    const LEAST: u64 = 32;
    /// Half of it went through, and what may be wrong with that.
    const HALF: core::ops::Range<f64> = 0.46..0.54;

    /// From this place on, of what was sent up to `until`.
    pub const fn new(start: u64, until: u64) -> Self {
        Self {
            lost: 0,
            passed: 0,
            end: start,
            until,
        }
    }

    /// The octets from `start` to `end` were lost.
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

    /// The share that went through, of enough.
    fn share_passed(&self, mss: u64) -> Option<f64> {
        let is_flood = self.lost >= Self::LEAST * mss;
        is_flood.then(|| self.passed as f64 / (self.passed + self.lost) as f64)
    }

    /// Whether what dropped it is as fast as the link behind it, if it was sent in
    /// slow start; nothing where that does not show.
    fn fills_link(&self, mss: u64) -> Option<bool> {
        let passed = self.share_passed(mss)?;
        if passed < Self::HALF.start {
            Some(false)
        } else {
            Self::HALF.contains(&passed).then_some(true)
        }
    }
}

/// Whether the flood that ended slow start met a queue before the slowest link, and no
/// policer: nothing where there was none, or it does not show.
pub(crate) fn fills_link(case: &Case<'_>, first: &Episode) -> Option<bool> {
    // A timer sends again what was not lost.
    if first.timeouts > 0 || first.spurious > 0 || first.overtaken > 0 {
        return None;
    }
    let fills = first.flood.fills_link(case.mss())?;
    // What had waited until nothing was under way came without acknowledgments.
    let is_clocked = left_before(case, first)
        .iter()
        .all(|round| round.spent_in(State::Idle).is_zero());
    let is_shown = if fills {
        came_at_line(case, first)
    } else {
        is_clocked
    };
    is_shown.then_some(fills)
}

/// Rounds in which what an episode lost had left, as seen from here.
fn left_before<'a>(case: &'a Case<'_>, episode: &Episode) -> &'a [Round] {
    case.rounds_before(episode, 2)
}

/// Whether that left, or came, as fast as the slowest link carries or faster, be it in
/// bursts.
fn came_at_line(case: &Case<'_>, episode: &Episode) -> bool {
    let Some(line) = case.line else { return false };
    let least = 16 * case.mss();
    left_before(case, episode)
        .iter()
        .filter(|round| round.sent >= least)
        .map(|round| round.train_octets as f64 / round.train_time.as_secs_f64().max(1e-9))
        .any(|rate| rate >= 0.9 * line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1000;

    /// Segments that come `speed` times as fast as a meter takes them, which has room
    /// for so many: what it tells of the losses.
    fn met(speed: f64, room: f64, segments: u64) -> Option<bool> {
        let (mut level, mut flood) = (0.0_f64, None);
        for segment in 0..segments {
            level = (level - 1.0 / speed).max(0.0);
            if level + 1.0 <= room {
                level += 1.0;
                continue;
            }
            let start = segment * MSS;
            let flood = flood.get_or_insert(Flood::new(start, segments * MSS));
            flood.on_lost(start, start + MSS, MSS);
        }
        flood?.fills_link(MSS)
    }

    proptest! {
        #[test]
        fn no_full_queue_is_taken_for_a_policer_however_slow_start_fills_it(
            // Of the link's rate, at most twice.
            speed in 1.0..2.0_f64, room in 2.0..500.0_f64, segments in 0..4000_u64,
        ) {
            prop_assert_ne!(met(speed, room, segments), Some(false));
        }

        #[test]
        fn what_passes_less_than_its_link_carries_is_a_policer(
            // Twice the rate of a link arrives, of which it passes so much.
            share in 0.1..0.88_f64, room in 2.0..500.0_f64,
        ) {
            prop_assert_eq!(met(2.0 / share, room, 4000), Some(false));
        }
    }

    #[test]
    fn a_queue_into_which_twice_its_rate_comes_is_one() {
        assert_eq!(met(2.0, 40.0, 1000), Some(true));
    }

    #[test]
    fn few_losses_tell_nothing_and_distant_ones_neither() {
        assert_eq!(met(4.0, 40.0, 70), None);
        let mut flood = Flood::new(0, 1_000_000 * MSS);
        for loss in 0..1000 {
            flood.on_lost(loss * 100 * MSS, (loss * 100 + 9) * MSS, MSS);
        }
        assert_eq!(flood.fills_link(MSS), None);
    }
}
