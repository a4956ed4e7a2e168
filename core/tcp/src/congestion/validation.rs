//! Congestion window validation (RFC 7661): limits growth and age of an unused window.
//!
//! * `pipeACK` (section 4.2) is the amount acknowledged in a round trip, the largest of the last
//!   max(3·RTT, 1 s); undefined before the first sample.
//! * The window is validated while `pipeACK` is undefined or at least half of cwnd (section 4.3).
//!   Then it may grow even if it was not quite full.
//! * A window that is not validated keeps its size, unless it is full, for five minutes (section
//!   4.4). After each such period, ssthresh = max(ssthresh, ¾·cwnd) and cwnd = max(cwnd/2, IW)
//!   (section 4.4.3).
//! * Congestion in that phase (section 4.4.1) leaves max(`pipeACK`, `LossFlightSize`)/2. After
//!   loss recovery, half of the same minus what was retransmitted is left; then the measurement
//!   of `pipeACK` restarts.
//!
//! It replaces the restart after idle time of RFC 5681 section 4.1: a sender that paused for less
//! than five minutes keeps its window. The whole window may then leave in one burst. Section
//! 4.4.2 recommends to space or limit it; here pacing does. The alternative is that of Linux: a
//! window grows only when it was full, and falls back after idle time.
//!
//! Samples are kept in four measurement periods (section 4.5.1 has an example of five). The
//! largest of a period counts from the period's beginning, so it lasts between three quarters of
//! the sampling period and all of it.

use core::ops::Range;

use gigatcp_units::{Bytes, Duration, Instant};

use super::WindowBounds;

/// Non-validated period (section 5).
const NON_VALIDATED_PERIOD: Duration = Duration::from_secs(300);
/// Number of measurement periods in a sampling period.
const PERIODS: usize = 4;
/// Minimum sampling period.
const LEAST_SAMPLING_PERIOD: Duration = Duration::from_secs(1);

/// Largest sample of one measurement period.
#[derive(Clone, Copy, Debug)]
struct Sample {
    since: Instant,
    octets: u64,
}

/// Congestion in the non-validated phase, until loss recovery ends.
#[derive(Clone, Copy, Debug)]
struct Reduction {
    /// max(`pipeACK`, `LossFlightSize`).
    used: u64,
    /// Octets retransmitted before it.
    retransmitted: u64,
}

/// State of RFC 7661.
#[derive(Clone, Debug)]
pub(crate) struct Validation {
    samples: [Option<Sample>; PERIODS],
    newest: usize,
    /// Data in flight when the current round began, SND.UNA to SND.NXT. Empty if there was none;
    /// `None` before the first round.
    round: Option<Range<u64>>,
    /// Time when the window was last validated, or reduced for not being validated.
    validated_at: Instant,
    reduction: Option<Reduction>,
}

impl Validation {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            samples: [None; PERIODS],
            newest: 0,
            round: None,
            validated_at: now,
            reduction: None,
        }
    }

    /// `pipeACK` in octets; `None` while it is undefined. 0 if it has expired: nothing was
    /// acknowledged for a sampling period.
    pub(crate) fn pipe_ack(&self, now: Instant, srtt: Duration) -> Option<u64> {
        self.samples[self.newest]?;
        let period = sampling_period(srtt);
        let fresh = |sample: &&Sample| now.saturating_since(sample.since) < period;
        let samples = self.samples.iter().flatten().filter(fresh);
        Some(samples.map(|sample| sample.octets).max().unwrap_or(0))
    }

    /// Handles an ACK that leaves `flight` unacknowledged, SND.UNA to SND.NXT. A round ends once
    /// the data in flight at its start is acknowledged, and gives a sample. None is taken in
    /// recovery (section 4.2), when ACKs are irregular.
    pub(crate) fn on_ack(
        &mut self,
        now: Instant,
        srtt: Duration,
        flight: Range<u64>,
        repairing: bool,
    ) {
        if repairing {
            self.round = None;
            return;
        }
        let Some(round) = &mut self.round else {
            self.round = Some(flight);
            return;
        };
        if round.is_empty() {
            // The round began with nothing in flight: this is its first ACK.
            round.end = flight.end;
        }
        if flight.start < round.end {
            return;
        }
        debug_assert!(
            round.start <= flight.start && flight.start <= flight.end,
            "SND.UNA moves from {round:?} to {flight:?}"
        );
        let octets = flight.start - round.start;
        *round = flight;
        let measurement = sampling_period(srtt) / PERIODS as u64;
        match &mut self.samples[self.newest] {
            Some(newest) if now.saturating_since(newest.since) < measurement => {
                newest.octets = newest.octets.max(octets);
            }
            Some(_) => {
                self.newest = (self.newest + 1) % PERIODS;
                self.samples[self.newest] = Some(Sample { since: now, octets });
            }
            slot => *slot = Some(Sample { since: now, octets }),
        }
    }

    /// Whether a window of `cwnd` is validated now (section 4.3).
    pub(crate) fn check(&mut self, now: Instant, srtt: Duration, cwnd: Bytes) -> bool {
        let valid_until = self.valid_until(srtt, cwnd);
        self.validated_at = self.validated_at.max(valid_until.min(now));
        valid_until > now
    }

    /// When a window of `cwnd` ceases to be validated if nothing more is acknowledged. That is when
    /// the last sample of at least half of it expires. Without such a sample it never was
    /// validated.
    fn valid_until(&self, srtt: Duration, cwnd: Bytes) -> Instant {
        if self.samples[self.newest].is_none() {
            return Instant::FAR_FUTURE;
        }
        let period = sampling_period(srtt);
        let is_half = |sample: &&Sample| sample.octets.saturating_mul(2) >= cwnd.as_u64();
        let samples = self.samples.iter().flatten().filter(is_half);
        samples
            .map(|sample| sample.since + period)
            .max()
            .unwrap_or(Instant::ZERO)
    }

    /// Reduced window after a non-validated period (section 4.4.3).
    pub(crate) fn expire(
        &mut self,
        now: Instant,
        cwnd: Bytes,
        initial_window: Bytes,
    ) -> Option<WindowBounds> {
        if now.saturating_since(self.validated_at) < NON_VALIDATED_PERIOD {
            return None;
        }
        self.validated_at += NON_VALIDATED_PERIOD;
        debug_assert!(
            self.validated_at <= now,
            "a non-validated period ends at {:?}, after {now:?}",
            self.validated_at
        );
        let cwnd = cwnd.as_u64();
        Some(WindowBounds {
            cwnd_at_most: initial_window.max(Bytes::new(cwnd / 2)),
            ssthresh_at_least: Bytes::new(cwnd - cwnd / 4),
            ssthresh_at_most: Bytes::MAX,
        })
    }

    /// Handles congestion of a window that is not validated (section 4.4.1). `flight_size` octets
    /// are in flight, `retransmitted` were retransmitted so far. Returns the part of the window
    /// that was in use, and its reduction.
    pub(crate) fn on_congestion(
        &mut self,
        now: Instant,
        srtt: Duration,
        cwnd: Bytes,
        flight_size: u64,
        retransmitted: u64,
    ) -> Option<(u64, WindowBounds)> {
        if self.check(now, srtt, cwnd) {
            return None;
        }
        let used = self.pipe_ack(now, srtt).unwrap_or(0).max(flight_size);
        self.reduction = Some(Reduction {
            used,
            retransmitted,
        });
        Some((used, half_of(used)))
    }

    /// Handles the end of loss recovery. `pipeACK` is undefined again.
    pub(crate) fn on_recovery_end(
        &mut self,
        now: Instant,
        retransmitted: u64,
    ) -> Option<WindowBounds> {
        let reduction = self.reduction.take()?;
        self.forget(now);
        let again = retransmitted.saturating_sub(reduction.retransmitted);
        Some(half_of(reduction.used.saturating_sub(again)))
    }

    /// Forgets all measurements after a timeout, for which the standard reduction suffices.
    pub(crate) fn forget(&mut self, now: Instant) {
        self.samples = [None; PERIODS];
        self.newest = 0;
        self.round = None;
        self.validated_at = now;
        self.reduction = None;
    }

    /// Notes that the reduction was undone: no recovery will end it.
    pub(crate) fn on_undo(&mut self) {
        self.reduction = None;
    }
}

fn sampling_period(srtt: Duration) -> Duration {
    srtt.saturating_mul(3).max(LEAST_SAMPLING_PERIOD)
}

fn half_of(used: u64) -> WindowBounds {
    let half = Bytes::new(used / 2);
    WindowBounds {
        cwnd_at_most: half,
        ssthresh_at_least: Bytes::ZERO,
        ssthresh_at_most: half,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// State after rounds of these octets, one every 100 ms. The first is at 100 ms.
    fn after(rounds: &[u64]) -> Validation {
        let mut validation = Validation::new(at(0));
        let mut una = 1;
        let mut ack = |ms, acked: u64| {
            una += acked;
            // Nothing else is in flight.
            validation.on_ack(at(ms), RTT, una..una, false);
        };
        ack(0, 0);
        for (n, octets) in rounds.iter().enumerate() {
            ack(100 * (n as u64 + 1), *octets);
        }
        validation
    }

    #[test]
    fn without_a_sample_pipe_ack_is_undefined_and_the_window_validated() {
        let mut validation = after(&[]);
        assert_eq!(validation.pipe_ack(at(50), RTT), None);
        assert!(validation.check(at(50), RTT, Bytes::MAX));
    }

    #[test]
    fn pipe_ack_is_the_largest_round_of_the_last_second_or_three_round_trips() {
        let mut rounds = [5_000; 30];
        rounds[0] = 50_000;
        let early = after(&rounds[..7]);
        assert_eq!(early.pipe_ack(at(700), RTT), Some(50_000));
        let late = after(&rounds);
        assert_eq!(late.pipe_ack(at(3000), RTT), Some(5_000));
        // With an RTT of 1 s the sampling period is three RTTs.
        assert_eq!(
            early.pipe_ack(at(3000), Duration::from_secs(1)),
            Some(50_000)
        );
        // Nothing was acknowledged for a sampling period.
        assert_eq!(late.pipe_ack(at(4001), RTT), Some(0));
    }

    #[test]
    fn half_a_window_in_use_validates_it_and_less_does_not() {
        let mut validation = after(&[50_000]);
        assert!(validation.check(at(200), RTT, Bytes::new(100_000)));
        assert!(!validation.check(at(200), RTT, Bytes::new(100_001)));
    }

    #[test]
    fn every_five_minutes_of_not_being_validated_halve_the_window_down_to_the_initial_one() {
        let mut validation = after(&[10_000]);
        assert!(!validation.check(at(10_000), RTT, Bytes::new(100_000)));
        let initial = Bytes::new(14_600);
        let mut cwnd = Bytes::new(100_000);
        let mut expire = |ms, cwnd| validation.expire(at(ms), cwnd, initial);
        assert_eq!(expire(299_999, cwnd), None);
        for (ms, expected, threshold) in [
            (300_000, 50_000, 75_000),
            (600_000, 25_000, 37_500),
            (900_000, 14_600, 18_750),
            (1_200_000, 14_600, 10_950),
        ] {
            let bounds = expire(ms, cwnd).expect("a period is over");
            assert_eq!(expire(ms, cwnd), None);
            assert_eq!(bounds.cwnd_at_most.as_u64(), expected);
            assert_eq!(bounds.ssthresh_at_least.as_u64(), threshold);
            cwnd = bounds.cwnd_at_most;
        }
    }

    #[test]
    fn the_five_minutes_begin_when_the_last_sample_that_validates_the_window_expires() {
        let mut validation = after(&[50_000]);
        let (cwnd, initial) = (Bytes::new(100_000), Bytes::new(14_600));
        assert!(validation.check(at(200), RTT, cwnd));
        // Sampled at 100 ms, valid for one second.
        for (ms, is_over) in [(301_099, false), (301_100, true)] {
            assert!(!validation.check(at(ms), RTT, cwnd));
            assert_eq!(validation.expire(at(ms), cwnd, initial).is_some(), is_over);
        }
    }

    #[test]
    fn after_a_pause_a_round_counts_its_first_acknowledgment() {
        let mut validation = after(&[10_000]);
        let una = 10_001;
        // Twenty thousand octets leave in one burst; four acknowledgments cover them.
        for n in 1..=4 {
            let flight = una + n * 5_000..una + 20_000;
            validation.on_ack(at(200), RTT, flight, false);
            let sampled = if n < 4 { 10_000 } else { 20_000 };
            assert_eq!(validation.pipe_ack(at(200), RTT), Some(sampled));
        }
    }

    #[test]
    fn congestion_leaves_half_of_what_was_in_use_and_less_what_was_sent_again_when_repaired() {
        let cwnd = Bytes::new(100_000);
        for (flight_size, used) in [(5_000, 20_000), (40_000, 40_000)] {
            let mut validation = after(&[20_000]);
            let (in_use, bounds) = validation
                .on_congestion(at(200), RTT, cwnd, flight_size, 3_000)
                .expect("not validated");
            assert_eq!(in_use, used);
            assert_eq!(bounds.cwnd_at_most.as_u64(), used / 2);
            assert_eq!(bounds.ssthresh_at_most.as_u64(), used / 2);
            let repaired = validation
                .on_recovery_end(at(300), 7_000)
                .expect("repaired");
            assert_eq!(repaired.cwnd_at_most.as_u64(), (used - 4_000) / 2);
            assert_eq!(validation.pipe_ack(at(300), RTT), None);
            assert_eq!(validation.on_recovery_end(at(400), 7_000), None);
        }
    }

    #[test]
    fn congestion_of_a_validated_window_is_the_controls_own() {
        let mut validation = after(&[50_000]);
        let cwnd = Bytes::new(100_000);
        assert_eq!(
            validation.on_congestion(at(200), RTT, cwnd, 50_000, 0),
            None
        );
        assert_eq!(validation.on_recovery_end(at(300), 9_000), None);
    }
}
