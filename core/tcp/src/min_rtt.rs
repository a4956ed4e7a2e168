//! The smallest round-trip time of late: a minimum over a window of time.
//!
//! RFC 8985 section 6.2 step 1 takes `min_RTT` over a window so that it follows
//! a change of route: the minimum of the whole connection would keep what the
//! shorter route had, and all that is measured by it (the time RACK allows for
//! reordering, the size of a paced burst, the round in which buffers are
//! measured) would be too short for good. The filter is Kathleen Nichols', of
//! three samples (Linux `lib/win_minmax.c`, there over 300 s,
//! `tcp_min_rtt_wlen`):
//!
//! * the first is the least of the window;
//! * the second the least of what came after it, the third of what came after
//!   the second: who takes over when the one before is too old;
//! * a second that would still be the first itself after a quarter of the
//!   window is taken from what comes then, and a third after half of it, so
//!   that successors are spread over the window.
//!
//! So what is given is a sample of the window, and no larger than the least of
//! its later half: exact where the minimum is young, at most half a window late
//! in rising. A sample that is above the third costs two comparisons, and nothing
//! is kept per sample.
//!
//! Not here: what a change of route does to SRTT and RTO, which follow by
//! themselves.

use gigatcp_units::{Duration, Instant};

/// A sample.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    rtt: Duration,
}

/// See the module's own text.
#[derive(Clone, Debug)]
pub struct MinRtt {
    /// How far it looks back; zero is to the beginning.
    window: Duration,
    least: Option<[Sample; 3]>,
    /// When the next sample counts, however large.
    due: Instant,
}

impl MinRtt {
    /// Without a sample. A `window` of zero is the whole connection.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            least: None,
            due: Instant::FAR_FUTURE,
        }
    }

    /// The smallest sample of the window.
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
        self.due = self.due_for(&least);
        self.least = Some(least);
    }

    /// Who is too old gives way, and successors that are missing are taken from
    /// `new`.
    fn without_old(&self, least: [Sample; 3], new: Sample) -> [Sample; 3] {
        if self.window.is_zero() {
            return least;
        }
        let [first, second, third] = least;
        let age = new.at.saturating_since(first.at);
        if age > self.window {
            return self.without_old([second, third, new], new);
        }
        if second.at == first.at && age > self.window / 4 {
            return [first, new, new];
        }
        if third.at == second.at && age > self.window / 2 {
            return [first, second, new];
        }
        least
    }

    /// When one of them will be too old, or a successor be missing.
    fn due_for(&self, [first, second, third]: &[Sample; 3]) -> Instant {
        if self.window.is_zero() {
            return Instant::FAR_FUTURE;
        }
        first.at
            + if second.at == first.at {
                self.window / 4
            } else if third.at == second.at {
                self.window / 2
            } else {
                self.window
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

    proptest! {
        #[test]
        fn it_lies_between_the_minima_of_the_window_and_of_its_later_half(
            steps in prop::collection::vec((0..60_u64, 1..50_u64), 1..400),
        ) {
            const WINDOW: u64 = 1000;
            let mut min = MinRtt::new(ms(WINDOW));
            let mut all: Vec<(u64, u64)> = Vec::new();
            let mut now = 0;
            for (gap, rtt) in steps {
                now += gap;
                min.on_sample(at(now), ms(rtt));
                all.push((now, rtt));
                let least_since = |since: u64| {
                    all.iter().filter(|(at, _)| *at >= since).map(|(_, rtt)| ms(*rtt)).min()
                };
                let value = min.value();
                prop_assert!(value >= least_since(now.saturating_sub(WINDOW)));
                prop_assert!(value <= least_since(now.saturating_sub(WINDOW / 2)));
            }
        }
    }
}
