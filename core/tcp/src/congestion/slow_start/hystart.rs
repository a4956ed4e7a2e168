//! `HyStart`, as in the CUBIC of Linux 6.
//!
//! Ha, Rhee, "Taming the elephants: new TCP slow start", Computer Networks 55, 2011; constants of
//! that kernel. Two signals end slow start, in windows of 16 segments and more:
//!
//! * ACK train: ACKs at most 2 ms apart form a train. Data and ACKs fill the pipe once a train
//!   lasts longer than half of minimum RTT plus burst time. With pacing, the sender's own spacing
//!   stretches the train, and the limit is the whole of it. The burst time is that of four
//!   super-segments of 64 KiB at twice cwnd per SRTT, at most 1 ms.
//! * Delay: after eight samples, the minimum RTT of this round exceeds the minimum of all by an
//!   eighth of that. The excess must be at least 4 ms, and 16 ms always suffices.
//!
//! A round begins with the first ACK of data sent in the round before it. After a timeout the
//! search restarts; once it has found an end, it is over. Within 1 s after congestion avoidance
//! began nothing is sampled.
//!
//! Difference: the kernel measures its minimum RTT within CUBIC and forgets it at a timeout. Here
//! the search measures it and forgets it with itself, so any control can use `HyStart`.

use gigatcp_units::{Duration, Instant};

use super::super::Ack;

/// Window in segments at which the search begins: `hystart_low_window`.
const LOW_WINDOW: u64 = 16;
/// Maximum gap between two ACKs of a train: `hystart_ack_delta_us`.
const TRAIN_GAP: Duration = Duration::from_millis(2);
/// Maximum allowance for the sender's bursts.
const MOST_BURST: Duration = Duration::from_millis(1);
/// Octets of the sender's largest burst: four super-segments.
const BURST: u64 = 4 * 65_536;
/// Minimum number of samples of a round.
const MIN_SAMPLES: u32 = 8;
/// Minimum increase of delay that counts.
const MIN_INCREASE: Duration = Duration::from_millis(4);
/// Increase of delay that always counts.
const MAX_INCREASE: Duration = Duration::from_millis(16);
/// Time after the start of congestion avoidance in which nothing is sampled.
const QUIET: Duration = Duration::from_secs(1);

/// Increase of delay that ends slow start over a path of `delay_min`.
fn threshold(delay_min: Duration) -> Duration {
    (delay_min / 8).clamp(MIN_INCREASE, MAX_INCREASE)
}

/// Search for the end of slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// Whether the sender paces.
    paced: bool,
    /// Start of the round, and last ACK of the train that began with it. `None` before the first.
    train: Option<(Instant, Instant)>,
    /// Minimum RTT of this search.
    delay_min: Option<Duration>,
    /// Minimum RTT of this round.
    round_min: Duration,
    /// RTT samples of this round.
    samples: u32,
    /// Whether an end was found.
    found: bool,
    /// Start of congestion avoidance.
    epoch_start: Option<Instant>,
}

impl HyStart {
    pub(super) fn new(paced: bool) -> Self {
        Self {
            paced,
            train: None,
            delay_min: None,
            round_min: Duration::MAX,
            samples: 0,
            found: false,
            epoch_start: None,
        }
    }

    /// State after a timeout: everything is forgotten.
    pub(super) fn after_timeout(&self) -> Self {
        Self::new(self.paced)
    }

    /// State after congestion without a timeout, which ends congestion avoidance.
    pub(super) fn after_reduction(mut self) -> Self {
        self.epoch_start = None;
        self
    }

    /// Handles an ACK in congestion avoidance.
    pub(super) fn on_avoidance(&mut self, now: Instant) {
        if self.epoch_start.is_none() {
            self.epoch_start = Some(now);
        }
    }

    /// Whether this ACK ends slow start at a window of `cwnd` octets. Segments have `smss` octets.
    pub(super) fn ends(&mut self, ack: &Ack, cwnd: u64, smss: u64) -> bool {
        let Some(rtt) = ack.rtt else {
            return false;
        };
        let quiet = |start| ack.now.saturating_since(start) < QUIET;
        if self.epoch_start.is_some_and(quiet) {
            return false;
        }
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if self.found {
            return false;
        }
        if ack.round_end || self.train.is_none() {
            self.train = Some((ack.now, ack.now));
            self.round_min = Duration::MAX;
            self.samples = 0;
        }
        if cwnd < LOW_WINDOW * smss {
            return false;
        }
        self.found = self.is_train_long(ack, cwnd, delay_min) | self.is_delayed(rtt, delay_min);
        self.found
    }

    fn is_train_long(&mut self, ack: &Ack, cwnd: u64, delay_min: Duration) -> bool {
        let Some((began, last)) = &mut self.train else {
            return false;
        };
        if ack.now.saturating_since(*last) > TRAIN_GAP {
            return false;
        }
        *last = ack.now;
        let longest = delay_min + burst_time(ack.srtt, cwnd);
        let longest = if self.paced { longest } else { longest / 2 };
        ack.now.saturating_since(*began) > longest
    }

    /// The first eight samples are only counted; the test begins with the ninth.
    fn is_delayed(&mut self, rtt: Duration, delay_min: Duration) -> bool {
        self.round_min = self.round_min.min(rtt);
        debug_assert!(
            delay_min <= self.round_min,
            "the smallest RTT of the round, {:?}, is below the smallest of the search, {delay_min:?}",
            self.round_min
        );
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        self.round_min > delay_min + threshold(delay_min)
    }
}

/// Time of four super-segments at twice `cwnd` per SRTT.
fn burst_time(srtt: Option<Duration>, cwnd: u64) -> Duration {
    let Some(srtt) = srtt else {
        return Duration::ZERO;
    };
    let nanos = u128::from(srtt.as_nanos()) * u128::from(BURST) / (2 * u128::from(cwnd.max(1)));
    let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
    Duration::from_nanos(nanos).min(MOST_BURST)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ack_at, us};
    use super::*;

    const SMSS: u64 = 1000;
    const WINDOW: u64 = 1000 * SMSS;
    const RTT: u64 = 80_000;

    fn feed(hystart: &mut HyStart, at: u64, rtt: u64, round_end: bool) -> bool {
        let ack = Ack {
            round_end,
            ..ack_at(at, rtt)
        };
        hystart.ends(&ack, WINDOW, SMSS)
    }

    #[test]
    fn an_eighth_more_delay_counts_within_4_and_16_milliseconds() {
        let cases = [
            (5, 4_000),
            (32, 4_000),
            (64, 8_000),
            (100, 12_500),
            (128, 16_000),
            (200, 16_000),
        ];
        for (delay_ms, expected) in cases {
            assert_eq!(threshold(Duration::from_millis(delay_ms)), us(expected));
        }
    }

    #[test]
    fn a_train_longer_than_half_the_round_trip_ends_slow_start_and_pacing_asks_for_all_of_it() {
        for (paced, expected) in [(false, 41_000), (true, 82_000)] {
            let mut hystart = HyStart::new(paced);
            let mut at = 1_000_000;
            assert!(!feed(&mut hystart, at, RTT, true));
            while !feed(&mut hystart, at, RTT, false) {
                at += 1_000;
                assert!(at < 2_000_000, "no end is found");
            }
            // 80 ms and the burst of 1 ms at most, halved without pacing.
            assert_eq!(at - 1_000_000, expected);
        }
    }

    #[test]
    fn a_gap_of_more_than_2_milliseconds_breaks_the_train_for_the_rest_of_the_round() {
        let mut hystart = HyStart::new(false);
        feed(&mut hystart, 1_000_000, RTT, true);
        feed(&mut hystart, 1_002_001, RTT, false);
        for at in 1_002..1_200 {
            assert!(!feed(&mut hystart, at * 1_000 + 100, RTT, false));
        }
    }

    #[test]
    fn the_ninth_sample_of_a_round_is_the_first_that_can_end_it() {
        let mut hystart = HyStart::new(true);
        // No train forms: an ACK every 3 ms.
        feed(&mut hystart, 0, RTT, true);
        assert!(!feed(&mut hystart, 100_000, RTT + 10_001, true));
        for n in 1..8 {
            assert!(!feed(
                &mut hystart,
                100_000 + 3_000 * n,
                RTT + 10_001,
                false
            ));
        }
        assert!(feed(&mut hystart, 124_000, RTT + 10_001, false));
        assert!(!feed(&mut hystart, 127_000, RTT + 10_001, false), "once");
    }

    #[test]
    fn one_sample_without_delay_saves_the_round() {
        let mut hystart = HyStart::new(true);
        feed(&mut hystart, 0, RTT, true);
        feed(&mut hystart, 100_000, RTT, true);
        for n in 1..100 {
            assert!(!feed(&mut hystart, 100_000 + 3_000 * n, 2 * RTT, false));
        }
    }

    #[test]
    fn below_16_segments_nothing_is_looked_for() {
        let mut hystart = HyStart::new(false);
        for at in 0..200 {
            assert!(!hystart.ends(&ack_at(at * 1_000, RTT), 16 * SMSS - 1, SMSS));
        }
        assert!(hystart.ends(&ack_at(200_000, RTT), 16 * SMSS, SMSS) || hystart.samples == 1);
    }

    #[test]
    fn within_a_second_after_avoidance_began_nothing_is_sampled() {
        let mut hystart = HyStart::new(false).after_reduction();
        hystart.on_avoidance(Instant::from_nanos(0));
        assert!(!feed(&mut hystart, 999_999, 1, true));
        assert_eq!(hystart.delay_min, None);
        assert!(!feed(&mut hystart, 1_000_000, RTT, true));
        assert_eq!(hystart.delay_min, Some(us(RTT)));
    }
}
