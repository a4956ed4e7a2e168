//! Time as integer nanoseconds.
//!
//! [`Instant`] counts from the start of the run (virtual time) or from any fixed time the driver
//! chooses (real time). 64 bits of nanoseconds last 584 years, so durations are added without a
//! check outside debug builds. An [`Instant`] saturates at [`Instant::FAR_FUTURE`].

use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: nanoseconds since the driver's zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Instant(u64);

impl Instant {
    /// The driver's zero.
    pub const ZERO: Self = Self(0);
    /// Later than every event: no appointment.
    pub const FAR_FUTURE: Self = Self(u64::MAX);

    /// The appointment, if it is one.
    #[inline]
    pub const fn if_due(self) -> Option<Self> {
        if self.0 == u64::MAX { None } else { Some(self) }
    }

    /// Instant `ns` nanoseconds after zero.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since zero.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is in fact later. That happens between two clocks
    /// and must not end a run.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// Seconds since zero, for printing only.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// A duration in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Duration(u64);

impl Duration {
    /// Zero duration.
    pub const ZERO: Self = Self(0);
    /// Maximum duration.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// A duration of `s` seconds, rounded to the nearest nanosecond. Negative and NaN give zero;
    /// saturates at [`Duration::MAX`].
    pub fn from_secs_f64(s: f64) -> Self {
        // `as` saturates and maps NaN to zero, as required.
        Self((s * 1e9 + 0.5) as u64)
    }

    /// Duration in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Duration in whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Duration in whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Duration in seconds.
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether the duration is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Difference, zero if it would be negative.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Product, saturating at [`Duration::MAX`].
    #[must_use]
    pub const fn saturating_mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// Absolute difference.
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl From<core::time::Duration> for Duration {
    /// Converts, saturating at [`Duration::MAX`], 584 years.
    fn from(span: core::time::Duration) -> Self {
        Self(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Duration> for core::time::Duration {
    fn from(span: Duration) -> Self {
        Self::from_nanos(span.0)
    }
}

impl From<core::time::Duration> for Instant {
    /// Converts a time since zero, saturating at [`Instant::FAR_FUTURE`].
    fn from(since_zero: core::time::Duration) -> Self {
        Self(Duration::from(since_zero).0)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;
    fn add(self, span: Duration) -> Instant {
        Instant(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Instant;
    fn sub(self, span: Duration) -> Instant {
        Instant(self.0 - span.0)
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Instant) -> Duration {
        debug_assert!(
            earlier <= self,
            "a span ends after it begins: {earlier:?} <= {self:?}"
        );
        Duration(self.0 - earlier.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    /// Saturates at [`Duration::MAX`], as the product does.
    fn add(self, other: Duration) -> Duration {
        Duration(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Duration) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, other: Duration) -> Duration {
        debug_assert!(
            other <= self,
            "no span is shorter than none: {self:?} - {other:?}"
        );
        Duration(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Duration) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    /// Saturates at [`Duration::MAX`]: the times of a capture are whatever its writer chose.
    fn mul(self, factor: u64) -> Duration {
        Duration(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, divisor: u64) -> Duration {
        Duration(self.0 / divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn constructors_and_accessors_agree_on_the_unit() {
        assert_eq!(Duration::from_secs(2), Duration::from_millis(2_000));
        assert_eq!(Duration::from_millis(3), Duration::from_micros(3_000));
        assert_eq!(Duration::from_micros(4), Duration::from_nanos(4_000));
        assert_eq!(Duration::from_nanos(1_999_999).as_micros(), 1_999);
        assert_eq!(Duration::from_nanos(1_999_999).as_millis(), 1);
        assert_eq!(Duration::from_millis(1_500).as_secs_f64(), 1.5);
        assert_eq!(Instant::from_nanos(2_500_000_000).as_secs_f64(), 2.5);
    }

    #[test]
    fn seconds_as_a_real_number_are_rounded_to_the_nearest_nanosecond() {
        assert_eq!(Duration::from_secs_f64(1.5e-9), Duration::from_nanos(2));
        assert_eq!(Duration::from_secs_f64(1.4e-9), Duration::from_nanos(1));
        assert_eq!(
            Duration::from_secs_f64(0.0703),
            Duration::from_micros(70_300)
        );
    }

    #[test]
    fn multiple_and_sum_of_spans_of_centuries_are_the_longest_span() {
        let centuries = Duration::from_secs(3_753_000 * 3600);
        assert_eq!(centuries * 2, Duration::MAX);
        assert_eq!(centuries + centuries, Duration::MAX);
    }

    #[test]
    fn seconds_that_are_no_span_become_the_nearest_that_is() {
        assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
        assert_eq!(Duration::from_secs_f64(f64::INFINITY), Duration::MAX);
        assert_eq!(Duration::from_secs_f64(1e300), Duration::MAX);
    }

    #[test]
    fn no_appointment_stays_none_when_time_is_added() {
        let never = Instant::FAR_FUTURE;
        assert_eq!(never + Duration::from_secs(1), never);
        let mut last = Instant::from_nanos(u64::MAX - 1);
        last += Duration::MAX;
        assert_eq!(last, never);
    }

    #[test]
    fn differences_that_must_not_fail_stop_at_zero() {
        let early = Instant::from_nanos(5);
        let late = Instant::from_nanos(9);
        assert_eq!(late.saturating_since(early), Duration::from_nanos(4));
        assert_eq!(early.saturating_since(late), Duration::ZERO);
        let short = Duration::from_nanos(1);
        assert_eq!(
            short.saturating_sub(Duration::from_nanos(2)),
            Duration::ZERO
        );
        assert_eq!(Duration::MAX.saturating_mul(2), Duration::MAX);
    }

    #[test]
    fn spans_of_the_standard_library_convert_both_ways_and_the_longest_is_kept() {
        use core::time::Duration as Span;
        let span = Duration::from(Span::new(3, 500));
        assert_eq!(span, Duration::from_nanos(3_000_000_500));
        assert_eq!(Span::from(span), Span::new(3, 500));
        assert_eq!(Duration::from(Span::MAX), Duration::MAX);
        assert_eq!(Instant::from(Span::from_nanos(7)), Instant::from_nanos(7));
        assert_eq!(Instant::from(Span::MAX), Instant::FAR_FUTURE);
    }

    proptest! {
        #[test]
        fn a_moment_plus_a_span_minus_the_moment_is_the_span(
            start in 0..u64::MAX / 2,
            span in 0..u64::MAX / 2,
        ) {
            let start = Instant::from_nanos(start);
            let span = Duration::from_nanos(span);
            prop_assert_eq!((start + span) - start, span);
            prop_assert_eq!((start + span) - span, start);
            prop_assert_eq!((start + span).saturating_since(start), span);
        }

        #[test]
        fn a_span_is_its_parts_and_their_remainder(
            span in any::<u64>(),
            parts in 1..u64::MAX,
        ) {
            let whole = Duration::from_nanos(span);
            let part = whole / parts;
            let rest = whole - part * parts;
            prop_assert!(rest.as_nanos() < parts);
            prop_assert_eq!(part * parts + rest, whole);
            prop_assert_eq!(whole.abs_diff(part), whole - part);
            prop_assert_eq!(part.abs_diff(whole), whole - part);
        }
    }
}
