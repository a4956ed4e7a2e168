//! RTT estimation and the retransmission timeout, RFC 6298.
//!
//! In its section 2, with a new sample R':
//!
//! * first sample:  SRTT = R, RTTVAR = R/2
//! * later samples: RTTVAR = 3/4 RTTVAR + 1/4 |SRTT - R'|, then
//!   SRTT = 7/8 SRTT + 1/8 R'
//! * RTO = SRTT + max(G, 4 RTTVAR), within a floor and a ceiling
//!
//! Time is in nanoseconds, so the clock granularity G is 1 ns and negligible. The caller applies
//! Karn's algorithm (section 3): samples of retransmitted octets never arrive here. The gains are
//! not divided by the number of samples per window (RFC 7323 appendix G). With one sample per ACK
//! the estimate follows the last few ACKs, as in every kernel, and the floor guards it.
//!
//! Earlier rules are available for comparison ([`RtoRule`]): RFC 793, and Jacobson's integer forms
//! of 1987 and 1988, on a clock with ticks.
//!
//! After a spurious timeout RFC 4015 requires a more conservative estimate. Pacing uses the
//! measured estimate instead: after an outage of seconds the sender would otherwise send a few
//! segments per second.

use alloc::boxed::Box;

use gigatcp_units::{Duration, Instant};

use crate::profile::EarlierRtt;

/// Rule that computes the retransmission timeout from samples.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RtoRule {
    /// RFC 793 section 3.7: SRTT = 0.9 SRTT + 0.1 R, RTO = 2 SRTT.
    Rfc793,
    /// Jacobson's mail of 1987, in ticks. Gains are 1/8 and 1/4, and RTO = SRTT + 2 RTTVAR.
    Jacobson1987,
    /// Jacobson and Karels, 1988, in ticks: the same gains, RTO = SRTT + 4 RTTVAR.
    Jacobson1988,
    /// RFC 6298 section 2.
    #[default]
    Rfc6298,
}

/// Smoothed RTT, its deviation, and the resulting timeout.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    estimate: Option<Estimate>,
    /// Estimate after a spurious timeout, until samples bring it near the measured one.
    careful: Option<Box<Estimate>>,
    initial: Duration,
    floor: Duration,
    ceiling: Duration,
    /// Added after backoff.
    slop: Duration,
    /// Whether the floor applies to 4 RTTVAR instead of RTO.
    floor_on_variance: bool,
    rule: RtoRule,
    /// Clock tick of the integer forms.
    tick: Duration,
    /// Doublings since the last valid sample, section 5 (5.5).
    backoff: u32,
}

#[derive(Clone, Copy, Debug)]
struct Estimate {
    srtt: Duration,
    rttvar: Duration,
}

impl RtoRule {
    /// All rules.
    pub(crate) const ALL: [Self; 4] = [
        Self::Rfc793,
        Self::Jacobson1987,
        Self::Jacobson1988,
        Self::Rfc6298,
    ];

    /// Name in plans.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rfc793 => "rfc793",
            Self::Jacobson1987 => "jacobson-1987",
            Self::Jacobson1988 => "jacobson-1988",
            Self::Rfc6298 => "rfc6298",
        }
    }
}

impl Estimate {
    /// Estimate of a first sample: RFC 6298 section 2, (2.2).
    fn first(rtt: Duration) -> Self {
        Self {
            srtt: rtt,
            rttvar: rtt / 2,
        }
    }

    /// Estimate after a later sample: RFC 6298 section 2, (2.3).
    fn with_sample(self, rtt: Duration) -> Self {
        let Self { srtt, rttvar } = self;
        Self {
            rttvar: (rttvar * 3 + srtt.abs_diff(rtt)) / 4,
            srtt: (srtt * 7 + rtt) / 8,
        }
    }

    /// Estimate by the gain of RFC 793; the deviation is kept but unused.
    fn with_sample_of_rfc_793(self, rtt: Duration) -> Self {
        Self {
            srtt: (self.srtt * 9 + rtt) / 10,
            ..self.with_sample(rtt)
        }
    }

    /// Estimate by Jacobson's integer form. SRTT is in eighths of a tick, the deviation in fourths,
    /// and every division rounds towards minus infinity.
    fn with_sample_in_ticks(self, rtt: Duration, tick: Duration) -> Self {
        let tick = tick.as_nanos() as i64;
        let mut average = self.srtt.as_nanos() as i64 * 8 / tick;
        let mut deviation = self.rttvar.as_nanos() as i64 * 4 / tick;
        let error = rtt.as_nanos() as i64 / tick - (average >> 3);
        average += error;
        deviation += error.abs() - (deviation >> 2);
        debug_assert!(
            average >= 0 && deviation >= 0,
            "SRTT {average} / 8 and deviation {deviation} / 4 ticks"
        );
        Self {
            srtt: Duration::from_nanos((average * tick / 8) as u64),
            rttvar: Duration::from_nanos((deviation * tick / 4) as u64),
        }
    }

    /// RTO before its bounds.
    fn rto(self, rule: RtoRule, tick: Duration) -> Duration {
        let Self { srtt, rttvar } = self;
        match rule {
            RtoRule::Rfc6298 => srtt + rttvar * 4,
            RtoRule::Rfc793 => srtt * 2,
            RtoRule::Jacobson1987 => floor_to(srtt, tick) + floor_to(rttvar * 2, tick),
            RtoRule::Jacobson1988 => floor_to(srtt, tick) + rttvar * 4,
        }
    }
}

/// Rounds a time down to whole ticks.
fn floor_to(time: Duration, tick: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() - time.as_nanos() % tick.as_nanos())
}

impl RttEstimator {
    /// An estimator without a sample.
    pub fn new(initial: Duration, floor: Duration, ceiling: Duration) -> Self {
        Self {
            estimate: None,
            careful: None,
            initial,
            floor,
            ceiling: ceiling.max(floor),
            floor_on_variance: false,
            slop: Duration::ZERO,
            rule: RtoRule::default(),
            tick: Duration::from_nanos(1),
            backoff: 0,
        }
    }

    /// Sets the estimation rule. The integer forms count ticks of a clock, each `tick` long (at
    /// least a microsecond).
    #[must_use]
    pub fn with_rule(mut self, rule: RtoRule, tick: Duration) -> Self {
        self.rule = rule;
        self.tick = tick.max(Duration::from_micros(1));
        self
    }

    /// Applies the floor to 4 RTTVAR instead of RTO, as Linux does. RTO is then never below SRTT +
    /// floor.
    #[must_use]
    pub fn with_floor_on_variance(mut self, on: bool) -> Self {
        self.floor_on_variance = on;
        self
    }

    /// Adds `slop` to every timeout but the first of a SYN (FreeBSD `tcp_rexmit_slop`).
    #[must_use]
    pub fn with_slop(mut self, slop: Duration) -> Self {
        self.slop = slop;
        self
    }

    /// Processes a sample that arrived at `now` (RFC 6298 section 2, (2.2) and (2.3)). A valid
    /// sample also ends the backoff.
    pub fn on_sample(&mut self, now: Instant, rtt: Duration) {
        let rtt = match self.rule {
            RtoRule::Rfc6298 | RtoRule::Rfc793 => rtt,
            RtoRule::Jacobson1987 | RtoRule::Jacobson1988 => self.in_ticks(now, rtt),
        };
        let estimate = match self.estimate {
            None => Estimate::first(rtt),
            Some(estimate) => self.updated(estimate, rtt),
        };
        self.estimate = Some(estimate);
        self.backoff = 0;
        if let Some(careful) = self.careful.as_deref() {
            let careful = self.updated(*careful, rtt);
            let is_near = careful.srtt <= estimate.srtt + estimate.srtt / 8;
            self.careful = (!is_near).then(|| Box::new(careful));
        }
    }

    /// Continues the estimate of an earlier connection (RFC 9040 section 6.1): the sample of the
    /// handshake is a later one of that. Without it the path is as unknown as after a lost SYN.
    pub fn continue_from(&mut self, earlier: EarlierRtt) {
        let EarlierRtt { srtt, rttvar } = earlier;
        let sample = self.estimate.map(|own| own.srtt);
        self.estimate = sample.map(|rtt| self.updated(Estimate { srtt, rttvar }, rtt));
    }

    #[inline]
    fn updated(&self, estimate: Estimate, rtt: Duration) -> Estimate {
        // The usual rule first.
        if self.rule == RtoRule::Rfc6298 {
            return estimate.with_sample(rtt);
        }
        self.updated_by_earlier_rule(estimate, rtt)
    }

    #[cold]
    fn updated_by_earlier_rule(&self, estimate: Estimate, rtt: Duration) -> Estimate {
        match self.rule {
            RtoRule::Rfc6298 => estimate.with_sample(rtt),
            RtoRule::Rfc793 => estimate.with_sample_of_rfc_793(rtt),
            RtoRule::Jacobson1987 | RtoRule::Jacobson1988 => {
                estimate.with_sample_in_ticks(rtt, self.tick)
            }
        }
    }

    /// A sample in elapsed clock ticks, as BSD counts them.
    fn in_ticks(&self, now: Instant, rtt: Duration) -> Duration {
        let tick = self.tick.as_nanos();
        let began = now.as_nanos().saturating_sub(rtt.as_nanos());
        self.tick * (now.as_nanos() / tick - began / tick)
    }

    /// Makes the estimate conservative after a spurious timeout. `rtt` is the time it should have
    /// waited for (RFC 4015 section 3.2 steps (8) and (9)).
    pub fn on_spurious_timeout(&mut self, rtt: Duration) {
        let more_careful = |estimate: Estimate| Estimate {
            srtt: estimate.srtt.max(rtt),
            rttvar: estimate.rttvar.max(rtt / 2),
        };
        self.careful = self.in_force().map(more_careful).map(Box::new);
    }

    /// Doubles the timeout after an expiry, section 5 (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// Doublings since the last valid sample.
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Ends doublings for a lost SYN with the handshake, even without a sample. Later only a
    /// sample ends them (Karn).
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Notes that a SYN was lost. Without a sample the timeout for data then starts at 3 s,
    /// section 5 (5.7).
    pub fn on_syn_lost(&mut self) {
        self.initial = self.initial.max(Duration::from_secs(3));
    }

    /// Smoothed RTT.
    pub fn srtt(&self) -> Option<Duration> {
        self.in_force().map(|estimate| estimate.srtt)
    }

    /// Mean deviation of the RTT.
    pub fn rttvar(&self) -> Option<Duration> {
        self.in_force().map(|estimate| estimate.rttvar)
    }

    /// SRTT of the samples alone, for pacing.
    pub fn measured_srtt(&self) -> Option<Duration> {
        self.estimate.map(|estimate| estimate.srtt)
    }

    fn in_force(&self) -> Option<Estimate> {
        self.careful.as_deref().copied().or(self.estimate)
    }

    /// Retransmission timeout, with backoff.
    pub fn rto(&self) -> Duration {
        let base = match self.in_force() {
            None if self.backoff == 0 => return self.initial.max(self.floor).min(self.ceiling),
            None => self.initial,
            Some(Estimate { srtt, rttvar }) if self.floor_on_variance => {
                srtt + (rttvar * 4).max(self.floor)
            }
            Some(estimate) => estimate.rto(self.rule, self.tick),
        };
        let mut timeout = base.max(self.floor);
        if self.backoff > 0 {
            timeout = timeout.saturating_mul(1 << self.backoff.min(32));
        }
        (timeout + self.slop).min(self.ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn estimator() -> RttEstimator {
        RttEstimator::new(
            Duration::from_secs(1),
            Duration::ZERO,
            Duration::from_secs(60),
        )
    }

    #[test]
    fn the_sequence_of_1987_gives_the_estimates_of_rfc_6298() {
        let mut rtt = estimator();
        rtt.on_sample(Instant::ZERO, Duration::from_millis(100));
        assert_eq!(rtt.rttvar(), Some(Duration::from_millis(50)));
        // Micro-units: milliseconds of the published table times 10^4.
        let published = [
            (120, 1_025_000, 425_000),
            (80, 996_875, 375_000),
            (100, 997_266, 282_031),
            (300, 1_247_607, 712_207),
            (100, 1_216_656, 596_057),
            (100, 1_189_574, 501_207),
            (100, 1_165_878, 423_299),
        ];
        for (sample, srtt, rttvar) in published {
            rtt.on_sample(Instant::ZERO, Duration::from_millis(sample));
            let close = |got: Option<Duration>, want: u64| {
                let got = got.unwrap().as_nanos();
                assert!(got.abs_diff(want * 100) <= 60, "{got} is not {want}00");
            };
            close(rtt.srtt(), srtt);
            close(rtt.rttvar(), rttvar);
        }
    }

    #[test]
    fn the_timeout_is_one_second_before_the_first_sample_and_srtt_plus_4_rttvar_after() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), Duration::from_secs(1));
        rtt.on_sample(Instant::ZERO, Duration::from_millis(100));
        assert_eq!(rtt.rto(), Duration::from_nanos(300 * MS));
    }

    #[test]
    fn the_timeout_doubles_up_to_its_ceiling_and_a_sample_ends_that() {
        let mut rtt = estimator();
        let seconds = [2, 4, 8, 16, 32, 60, 60];
        for want in seconds {
            rtt.back_off();
            assert_eq!(rtt.rto(), Duration::from_secs(want));
        }
        rtt.on_sample(Instant::ZERO, Duration::from_millis(10));
        assert_eq!(rtt.rto(), Duration::from_millis(30));
    }

    #[test]
    fn a_hundred_thousand_backoffs_do_not_overflow() {
        let mut rtt = estimator();
        for _ in 0..100_000 {
            rtt.back_off();
        }
        assert_eq!(rtt.rto(), Duration::from_secs(60));
    }

    #[test]
    fn linux_puts_the_floor_under_the_deviation() {
        let floor = Duration::from_millis(200);
        let mut rtt = RttEstimator::new(Duration::from_secs(3), floor, Duration::from_secs(120))
            .with_floor_on_variance(true);
        for _ in 0..100 {
            rtt.on_sample(Instant::ZERO, Duration::from_millis(83));
        }
        assert_eq!(rtt.rto(), Duration::from_millis(283));
    }

    #[test]
    fn after_a_spurious_timeout_the_timer_waits_for_what_it_should_have_waited_for() {
        let mut rtt = estimator();
        rtt.on_sample(Instant::ZERO, Duration::from_millis(100));
        rtt.on_spurious_timeout(Duration::from_millis(800));
        assert_eq!(rtt.rto(), Duration::from_millis(800 + 4 * 400));
        assert_eq!(rtt.srtt(), Some(Duration::from_millis(800)));
        assert_eq!(rtt.measured_srtt(), Some(Duration::from_millis(100)));
    }

    #[test]
    fn samples_end_the_care_after_a_spurious_timeout() {
        let mut rtt = estimator();
        rtt.on_sample(Instant::ZERO, Duration::from_millis(100));
        rtt.on_spurious_timeout(Duration::from_millis(800));
        for _ in 0..100 {
            rtt.on_sample(Instant::ZERO, Duration::from_millis(100));
        }
        let mut other = estimator();
        for _ in 0..101 {
            other.on_sample(Instant::ZERO, Duration::from_millis(100));
        }
        assert_eq!(rtt.rto(), other.rto());
    }

    #[test]
    fn the_floor_holds() {
        let mut rtt = RttEstimator::new(
            Duration::from_secs(1),
            Duration::from_millis(200),
            Duration::from_secs(60),
        );
        rtt.on_sample(Instant::ZERO, Duration::from_micros(90));
        assert_eq!(rtt.rto(), Duration::from_millis(200));
    }

    /// Vectors of Jacobson's mail of 1987, in ticks of a millisecond. They are whole ticks of SRTT
    /// and of the deviation, and the timeout.
    #[test]
    fn the_integer_form_gives_the_published_ticks() {
        let tick = Duration::from_millis(1);
        let mut rtt = estimator().with_rule(RtoRule::Jacobson1987, tick);
        let mut now = Instant::from_nanos(1_000_000_000);
        rtt.on_sample(now, tick * 100);
        let published = [
            (120, 102, 42, 187),
            (80, 99, 37, 174),
            (100, 99, 28, 156),
            (300, 125, 71, 268),
            (100, 121, 60, 241),
            (100, 119, 50, 220),
            (100, 116, 42, 201),
        ];
        for (sample, average, deviation, rto) in published {
            now += tick * 1000;
            rtt.on_sample(now, tick * sample);
            let whole = |time: Option<Duration>| time.unwrap().as_nanos() / MS;
            assert_eq!(whole(rtt.srtt()), average);
            assert_eq!(whole(rtt.rttvar()), deviation);
            assert_eq!(rtt.rto(), tick * rto);
        }
    }

    #[test]
    fn the_form_of_1988_waits_for_four_deviations_and_rfc_793_for_two_round_trips() {
        let tick = Duration::from_millis(1);
        let now = Instant::from_nanos(1_000_000_000);
        let mut rtt = estimator().with_rule(RtoRule::Jacobson1988, tick);
        rtt.on_sample(now, tick * 100);
        assert_eq!(rtt.rto(), tick * 300);
        let mut rtt = estimator().with_rule(RtoRule::Rfc793, tick);
        rtt.on_sample(now, tick * 100);
        rtt.on_sample(now, tick * 200);
        assert_eq!(rtt.rto(), tick * 220);
    }

    #[test]
    fn a_coarse_clock_sees_the_ticks_that_came() {
        let tick = Duration::from_millis(500);
        let sample = |now: u64, rtt: u64| {
            let mut estimator = estimator().with_rule(RtoRule::Jacobson1988, tick);
            estimator.on_sample(Instant::from_nanos(now * MS), Duration::from_millis(rtt));
            estimator.srtt().unwrap()
        };
        assert_eq!(sample(1000, 499), tick);
        assert_eq!(sample(1499, 499), Duration::ZERO);
        assert_eq!(sample(1600, 700), tick * 2);
    }
}
