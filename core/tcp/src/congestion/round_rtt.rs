//! Minimum RTT of each round, as a measure of the queue.
//!
//! Vegas, YeAH and their relatives compare the minimum RTT of a round with the base RTT,
//! the smallest ever seen. Below three samples a delayed ACK could pass for a queue, so the round
//! is ignored (Linux `cntRTT <= 2`).

use gigatcp_units::Duration;

use super::Ack;
use crate::events::Phase;

/// Minimum number of samples of a round.
const MIN_SAMPLES: u32 = 3;

/// Minimum RTT of the round in progress and of the connection.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct RoundRtt {
    base: Option<Duration>,
    least: Option<Duration>,
    samples: u32,
    /// Whether the round in progress began outside phase Open.
    is_partial: bool,
}

/// Base RTT and minimum RTT of a finished round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Measured {
    pub base: Duration,
    pub rtt: Duration,
}

impl RoundRtt {
    /// Processes an ACK, of a round in phase Open throughout. Returns the finished round if the ACK
    /// ends one, and of that `None` with fewer than three samples.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<Option<Measured>> {
        if ack.phase != Phase::Open {
            self.least = None;
            self.samples = 0;
            self.is_partial = true;
            return None;
        }
        // What follows recovery is no whole round (Linux `tcp_vegas_enable`).
        let was_partial = ack.round_end && core::mem::take(&mut self.is_partial);
        if was_partial {
            self.least = None;
            self.samples = 0;
        }
        let ended = (ack.round_end && !was_partial).then(|| self.end());
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        ended
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        // Avoids a division by zero if the clock is too coarse for the path.
        let rtt = rtt.max(Duration::from_nanos(1));
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.samples = self.samples.saturating_add(1);
    }

    /// Ends the round; returns `None` with fewer than three samples.
    pub(super) fn end(&mut self) -> Option<Measured> {
        let rtt = self.least.take();
        let samples = core::mem::take(&mut self.samples);
        let (rtt, base) = (rtt?, self.base?);
        debug_assert!(
            base <= rtt,
            "the round's minimum RTT {rtt:?} is below the base RTT {base:?}"
        );
        (samples >= MIN_SAMPLES).then_some(Measured { base, rtt })
    }

    /// Forgets the base RTT too.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Measured {
    pub(super) fn queueing_delay(self) -> Duration {
        self.rtt.saturating_sub(self.base)
    }

    /// Part of the window that is queued: cwnd·(RTT − base)/RTT.
    pub(super) fn queued(self, cwnd: u64) -> u64 {
        self.of(cwnd, self.queueing_delay(), self.rtt)
    }

    /// Vegas' `diff`, cwnd·(RTT − base)/base: larger by the factor RTT/base.
    pub(super) fn vegas_diff(self, cwnd: u64) -> u64 {
        self.of(cwnd, self.queueing_delay(), self.base)
    }

    /// Window that fills the path without a queue: cwnd·base/RTT.
    pub(super) fn unqueued(self, cwnd: u64) -> u64 {
        self.of(cwnd, self.base, self.rtt)
    }

    fn of(self, cwnd: u64, share: Duration, whole: Duration) -> u64 {
        let product = u128::from(cwnd) * u128::from(share.as_nanos());
        u64::try_from(product / u128::from(whole.as_nanos())).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acknowledge(rtt: &mut RoundRtt, phase: Phase, round_end: bool) -> Option<Option<Measured>> {
        rtt.on_ack(&Ack {
            phase,
            round_end,
            rtt: Some(Duration::from_millis(10)),
            ..Ack::default()
        })
    }

    #[test]
    fn round_that_began_in_recovery_is_not_measured() {
        let mut rtt = RoundRtt::default();
        acknowledge(&mut rtt, Phase::Recovery, false);
        for _ in 0..5 {
            assert_eq!(acknowledge(&mut rtt, Phase::Open, false), None);
        }
        assert_eq!(acknowledge(&mut rtt, Phase::Open, true), None);
        for _ in 0..2 {
            assert_eq!(acknowledge(&mut rtt, Phase::Open, false), None);
        }
        let ended = acknowledge(&mut rtt, Phase::Open, true);
        assert!(ended.is_some_and(|measured| measured.is_some()));
    }
}
