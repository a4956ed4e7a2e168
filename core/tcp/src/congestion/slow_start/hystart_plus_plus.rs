//! `HyStart++` (RFC 9406).
//!
//! Rising delay does not end slow start directly. It leads into Conservative Slow Start (CSS),
//! which grows four times more slowly and either confirms the end or returns to slow start.
//! Section 4.2, per round:
//!
//! * `RttThresh` = max(4 ms, min(`lastRoundMinRTT`/8, 16 ms));
//! * with eight samples and `currentRoundMinRTT` >= `lastRoundMinRTT` + `RttThresh`, CSS begins,
//!   and `cssBaselineMinRtt` = `currentRoundMinRTT`;
//! * in CSS, with eight samples and `currentRoundMinRTT` below the baseline, the end was
//!   spurious: slow start continues;
//! * after five rounds of CSS, including the one it began in, slow start is over: ssthresh =
//!   cwnd.
//!
//! Without pacing an ACK counts for eight segments at most (L of section 4.3), with pacing for
//! all it covers. Only the first slow start of a connection uses `HyStart++` (section 4.2, at the
//! end); later ones have an ssthresh.

use gigatcp_units::Duration;

use super::super::Ack;

/// `MIN_RTT_THRESH`.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// `MAX_RTT_THRESH`.
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// `MIN_RTT_DIVISOR`.
const MIN_RTT_DIVISOR: u64 = 8;
/// `N_RTT_SAMPLE`.
const N_RTT_SAMPLE: u32 = 8;
/// `CSS_GROWTH_DIVISOR`.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// `CSS_ROUNDS`.
const CSS_ROUNDS: u32 = 5;
/// L without pacing, in segments.
const L: u64 = 8;

/// `RttThresh` after a round with this minimum RTT.
fn rtt_thresh(last_round_min_rtt: Duration) -> Duration {
    (last_round_min_rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Css {
    /// `cssBaselineMinRtt`.
    baseline: Duration,
    /// Rounds of CSS begun, including the current one.
    rounds: u32,
}

/// State of section 4.2. Infinity is [`Duration::MAX`].
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStartPlusPlus {
    paced: bool,
    /// `lastRoundMinRTT`.
    last_round_min: Duration,
    /// `currentRoundMinRTT`.
    round_min: Duration,
    /// `rttSampleCount`.
    samples: u32,
    css: Option<Css>,
}

impl HyStartPlusPlus {
    pub(super) fn new(paced: bool) -> Self {
        Self {
            paced,
            last_round_min: Duration::MAX,
            round_min: Duration::MAX,
            samples: 0,
            css: None,
        }
    }

    /// Growth for an ACK that counts for `counted` octets. Segments have `smss` octets.
    pub(super) fn growth(&self, counted: u64, smss: u64) -> u64 {
        let most = if self.paced { u64::MAX } else { L * smss };
        let divisor = match self.css {
            Some(_) => CSS_GROWTH_DIVISOR,
            None => 1,
        };
        counted.min(most) / divisor
    }

    /// Whether this ACK ends slow start.
    pub(super) fn ends(&mut self, ack: &Ack) -> bool {
        if ack.round_end && self.begin_round() {
            return true;
        }
        let Some(rtt) = ack.rtt else {
            return false;
        };
        self.round_min = self.round_min.min(rtt);
        self.samples = self.samples.saturating_add(1);
        if self.samples >= N_RTT_SAMPLE {
            self.judge();
        }
        false
    }

    /// Begins a round; returns whether CSS has lasted for its rounds.
    fn begin_round(&mut self) -> bool {
        if let Some(css) = &mut self.css {
            if css.rounds == CSS_ROUNDS {
                return true;
            }
            css.rounds += 1;
            debug_assert!(
                css.rounds <= CSS_ROUNDS,
                "round {} of CSS (RFC 9406 section 4.2)",
                css.rounds
            );
        }
        self.last_round_min = self.round_min;
        self.round_min = Duration::MAX;
        self.samples = 0;
        false
    }

    fn judge(&mut self) {
        match self.css {
            Some(css) if self.round_min < css.baseline => self.css = None,
            Some(_) => {}
            None if self.last_round_min == Duration::MAX => {}
            None => {
                if self.round_min >= self.last_round_min + rtt_thresh(self.last_round_min) {
                    self.css = Some(Css {
                        baseline: self.round_min,
                        rounds: 1,
                    });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ack_at;
    use super::*;

    /// Runs a round of `acks` samples of `rtt_us`; returns whether one ended slow start.
    fn round(plus: &mut HyStartPlusPlus, rtt_us: u64, acks: u32) -> bool {
        (0..acks).any(|n| {
            plus.ends(&Ack {
                round_end: n == 0,
                ..ack_at(0, rtt_us)
            })
        })
    }

    #[test]
    fn the_threshold_is_an_eighth_of_the_last_round_within_4_and_16_milliseconds() {
        let cases = [
            (5, 4_000),
            (32, 4_000),
            (64, 8_000),
            (100, 12_500),
            (128, 16_000),
            (200, 16_000),
        ];
        for (rtt_ms, micros) in cases {
            let thresh = rtt_thresh(Duration::from_millis(rtt_ms));
            assert_eq!(thresh, Duration::from_micros(micros), "{rtt_ms} ms");
        }
    }

    #[test]
    fn delay_at_the_threshold_leads_into_conservative_slow_start_and_below_does_not() {
        let mut plus = HyStartPlusPlus::new(true);
        round(&mut plus, 100_000, 8);
        round(&mut plus, 112_499, 8);
        assert!(plus.css.is_none());
        let mut plus = HyStartPlusPlus::new(true);
        round(&mut plus, 100_000, 8);
        round(&mut plus, 112_500, 7);
        assert!(plus.css.is_none(), "seven samples do not judge");
        round(&mut plus, 130_000, 8);
        assert!(plus.css.is_some());
    }

    #[test]
    fn the_window_grows_a_quarter_as_fast_in_conservative_slow_start() {
        let mut plus = HyStartPlusPlus::new(true);
        assert_eq!(plus.growth(40_000, 1000), 40_000);
        round(&mut plus, 100_000, 8);
        round(&mut plus, 120_000, 8);
        assert_eq!(plus.growth(40_000, 1000), 10_000);
        let unpaced = HyStartPlusPlus::new(false);
        assert_eq!(unpaced.growth(40_000, 1000), 8_000);
    }

    #[test]
    fn five_rounds_of_it_end_slow_start_the_one_it_began_in_counted() {
        let mut plus = HyStartPlusPlus::new(true);
        round(&mut plus, 100_000, 8);
        for _ in 0..5 {
            assert!(!round(&mut plus, 120_000, 20));
        }
        assert!(round(&mut plus, 120_000, 1), "the sixth round begins");
    }

    #[test]
    fn a_round_trip_time_below_the_baseline_was_a_false_alarm_and_slow_start_goes_on() {
        let mut plus = HyStartPlusPlus::new(true);
        round(&mut plus, 100_000, 8);
        round(&mut plus, 120_000, 8);
        round(&mut plus, 119_999, 7);
        assert!(plus.css.is_some(), "seven samples do not judge");
        round(&mut plus, 119_999, 8);
        assert!(plus.css.is_none());
        // The next search compares with the last round.
        round(&mut plus, 135_000, 8);
        assert!(plus.css.is_some());
    }

    #[test]
    fn without_samples_nothing_is_concluded() {
        let mut plus = HyStartPlusPlus::new(true);
        let ack = Ack {
            rtt: None,
            round_end: true,
            ..ack_at(0, 1)
        };
        assert!((0..100).all(|_| !plus.ends(&ack)));
        // A round after rounds without samples has nothing to compare with.
        round(&mut plus, 900_000, 8);
        assert!(plus.css.is_none());
    }
}
