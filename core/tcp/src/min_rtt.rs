//! Minimum RTT over a window of time.
//!
//! RFC 8985 section 6.2 step 1 takes `min_RTT` over a window so that it follows a change of route.
//! The minimum of the whole connection would keep the RTT of a shorter route. Everything derived
//! from it (RACK's reordering window, the size of a paced burst, the round in which buffers are
//! measured) would then stay too short. The filter keeps three samples, as Kathleen Nichols' does
//! (Linux `lib/win_minmax.c`, there over 300 s, `tcp_min_rtt_wlen`):
//!
//! * the first is the minimum of the window;
//! * the second is the minimum of the samples after it, the third of those after the second. Each
//!   replaces its predecessor when that is too old;
//! * a sample must be a third of the window younger than its predecessor. Otherwise a sample from
//!   after that third replaces it.
//!
//! The result is therefore a sample of the window, and no larger than the smallest of its later
//! two thirds. A smaller sample counts immediately, none counts longer than the window, and a
//! sample dropped early is older than two thirds of it. That follows from two bounds that every
//! step keeps. The period of which the second is the minimum began at most a third of the window
//! after the first. The third sample has the same bound relative to the second. So when the first
//! is a window old, its successor covers all samples of the last two thirds.
//!
//! The last rule differs from the original. That replaces a successor only if it equals its
//! predecessor, after a quarter and a half of the window. If the minimum of a window comes at its
//! end and later samples are larger, its three samples are close together. They become too old
//! within moments of each other, and leave one that covers those moments only: the original bounds
//! nothing.
//!
//! A sample above the third costs two comparisons, and nothing is kept per sample.
//!
//! Out of scope: the effect of a change of route on SRTT and RTO, which follow by themselves.

use gigatcp_units::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    rtt: Duration,
}

/// Windowed minimum of RTT samples.
#[derive(Clone, Debug)]
pub struct MinRtt {
    /// Length of the window; zero for the whole connection.
    window: Duration,
    least: Option<[Sample; 3]>,
    /// Time at which the next sample counts, however large.
    due: Instant,
}

impl MinRtt {
    /// A filter without samples. A `window` of zero is the whole connection.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            least: None,
            due: Instant::FAR_FUTURE,
        }
    }

    /// Sets the window from the next sample on.
    pub fn set_window(&mut self, window: Duration) {
        if window != self.window {
            self.window = window;
            // The next sample checks all three.
            self.due = Instant::ZERO;
        }
    }

    /// Minimum sample of the window.
    #[inline]
    pub fn value(&self) -> Option<Duration> {
        self.least.map(|[first, ..]| first.rtt)
    }

    /// Takes a sample.
    #[inline]
    pub fn on_sample(&mut self, now: Instant, rtt: Duration) {
        if let Some([.., third]) = &self.least
            && rtt > third.rtt
            && now < self.due
        {
            return;
        }
        self.take(Sample { at: now, rtt });
    }

    fn take(&mut self, new: Sample) {
        let least = match self.least {
            Some([first, ..]) if new.rtt <= first.rtt => [new; 3],
            Some([first, second, _]) if new.rtt <= second.rtt => [first, new, new],
            Some([first, second, third]) if new.rtt <= third.rtt => [first, second, new],
            Some(least) => least,
            None => [new; 3],
        };
        let least = self.without_old(least, new);
        let [first, second, third] = &least;
        debug_assert!(
            first.rtt <= second.rtt && second.rtt <= third.rtt,
            "the smallest samples are not in order: {least:?}"
        );
        debug_assert!(
            first.at <= second.at && second.at <= third.at && third.at <= new.at,
            "a successor was taken before what it succeeds: {least:?}"
        );
        debug_assert!(
            self.window.is_zero() || new.at.saturating_since(first.at) <= self.window,
            "a sample of {:?} is the minimum at {:?}, over {:?}",
            first.at,
            new.at,
            self.window
        );
        self.due = self.due_for(&least);
        self.least = Some(least);
    }

    /// Removes samples that are too old. Missing or too close successors are taken from `new`.
    fn without_old(&self, least: [Sample; 3], new: Sample) -> [Sample; 3] {
        if self.window.is_zero() {
            return least;
        }
        let [first, second, third] = least;
        if new.at.saturating_since(first.at) > self.window {
            return self.without_old([second, third, new], new);
        }
        if self.needs_successor(&first, &second, new.at) {
            return [first, new, new];
        }
        if self.needs_successor(&second, &third, new.at) {
            return [first, second, new];
        }
        least
    }

    /// Whether `heir` followed `before` too soon to succeed it, and another is due.
    fn needs_successor(&self, before: &Sample, heir: &Sample, now: Instant) -> bool {
        let apart = before.at + self.window / 3;
        heir.at < apart && now >= apart
    }

    /// Time at which a sample becomes too old, or a successor is missing.
    fn due_for(&self, [first, second, third]: &[Sample; 3]) -> Instant {
        if self.window.is_zero() {
            return Instant::FAR_FUTURE;
        }
        let apart = self.window / 3;
        if second.at < first.at + apart {
            first.at + apart
        } else if third.at < second.at + apart {
            (second.at + apart).min(first.at + self.window)
        } else {
            first.at + self.window
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn after_a_change_to_a_longer_route_the_minimum_rises_within_a_window() {
        let mut min = MinRtt::new(ms(1000));
        for now in 0..500 {
            min.on_sample(at(now), ms(20));
        }
        for now in 500..1500 {
            min.on_sample(at(now), ms(80));
            assert_eq!(min.value(), Some(ms(20)), "at {now} ms");
        }
        min.on_sample(at(1500), ms(80));
        assert_eq!(min.value(), Some(ms(80)));
    }

    #[test]
    fn a_smaller_sample_counts_at_once() {
        let mut min = MinRtt::new(ms(1000));
        min.on_sample(at(0), ms(80));
        min.on_sample(at(1), ms(20));
        assert_eq!(min.value(), Some(ms(20)));
    }

    #[test]
    fn after_a_long_silence_nothing_old_counts() {
        let mut min = MinRtt::new(ms(1000));
        for (now, rtt) in [(0, 10), (300, 20), (600, 30), (9000, 90)] {
            min.on_sample(at(now), ms(rtt));
        }
        assert_eq!(min.value(), Some(ms(90)));
    }

    #[test]
    fn without_a_window_the_minimum_is_that_of_the_whole_connection() {
        let mut min = MinRtt::new(Duration::ZERO);
        assert_eq!(min.value(), None);
        for now in 0..100_000 {
            min.on_sample(at(now * 1000), ms(50 + now));
        }
        assert_eq!(min.value(), Some(ms(50)));
    }

    /// Samples for gaps and RTTs in milliseconds, and the filter result after each. The filter
    /// length is `WINDOW`.
    fn filtered(steps: &[(u64, u64)]) -> (Vec<(u64, u64)>, Vec<Duration>) {
        let mut min = MinRtt::new(ms(WINDOW));
        let mut now = 0;
        steps
            .iter()
            .map(|(gap, rtt)| {
                now += gap;
                min.on_sample(at(now), ms(*rtt));
                ((now, *rtt), min.value().expect("there is a sample"))
            })
            .unzip()
    }

    /// Asserts the bounds of the module header for every value.
    fn assert_bounded(steps: &[(u64, u64)]) {
        let (samples, values) = filtered(steps);
        for (newest, value) in values.into_iter().enumerate() {
            let now = samples[newest].0;
            let least_of_the_last = |span: u64| {
                samples[..=newest]
                    .iter()
                    .filter(|(at, _)| at + span >= now)
                    .map(|(_, rtt)| ms(*rtt))
                    .min()
                    .expect("the newest is one of them")
            };
            assert!(value >= least_of_the_last(WINDOW), "{newest}: {value:?}");
            assert!(
                value <= least_of_the_last(WINDOW * 2 / 3),
                "{newest}: {value:?}"
            );
        }
    }

    const WINDOW: u64 = 1000;

    #[test]
    fn three_samples_side_by_side_leave_no_gap_in_what_is_known() {
        // 2, 3 and 4 ms are close together at the end of the window of 1 ms. If all three were
        // kept, they would expire together a window later. Only 9 ms would then be left, not the 5
        // ms of the middle.
        let steps = [
            (0, 1),
            (300, 8),
            (690, 2),
            (5, 3),
            (6, 4),
            (499, 5),
            (491, 9),
            (5, 9),
            (6, 9),
        ];
        let (_, values) = filtered(&steps);
        assert_eq!(values, [1, 1, 1, 1, 2, 2, 5, 5, 5].map(ms));
        assert_bounded(&steps);
    }

    #[test]
    fn the_least_of_the_later_two_thirds_is_known_where_the_original_forgets_it() {
        // Found by the random test: the samples of 5 ms in the middle are above the three kept
        // before and below all later ones.
        const GAPS: [u64; 60] = [
            0, 21, 43, 23, 23, 17, 46, 53, 58, 42, 26, 41, 14, 58, 20, 50, 42, 18, 53, 24, 52, 19,
            47, 58, 25, 54, 32, 20, 22, 46, 55, 24, 11, 40, 40, 3, 7, 10, 41, 8, 36, 37, 47, 26,
            34, 17, 55, 53, 19, 40, 33, 49, 35, 51, 56, 31, 28, 45, 21, 3,
        ];
        const RTTS: [u64; 60] = [
            1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 4,
            5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 45, 37, 46,
            29, 17, 9,
        ];
        let steps: Vec<(u64, u64)> = GAPS.into_iter().zip(RTTS).collect();
        assert_bounded(&steps);
        let (_, values) = filtered(&steps);
        assert_eq!(values.last(), Some(&ms(5)));
    }

    proptest! {
        #[test]
        fn it_lies_between_the_minima_of_the_window_and_of_its_later_two_thirds(
            steps in prop::collection::vec((0..60_u64, 1..50_u64), 1..400),
        ) {
            assert_bounded(&steps);
        }

        #[test]
        fn it_does_so_where_round_trip_times_climb_and_where_samples_are_rare(
            steps in prop::collection::vec((0..8_u64, 0..6_u64), 1..300),
        ) {
            // Gaps from zero to half a window, and a climb with small dips.
            const GAPS: [u64; 8] = [0, 1, 2, 10, 50, 150, 330, 500];
            let climbing: Vec<(u64, u64)> = (20..)
                .zip(&steps)
                .map(|(base, (gap, dip))| (GAPS[*gap as usize], base - dip))
                .collect();
            assert_bounded(&climbing);
        }
    }
}
