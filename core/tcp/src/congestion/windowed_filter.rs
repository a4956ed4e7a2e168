//! Windowed maximum filter, over rounds or any other count.
//!
//! Kathleen Nichols' filter, as in Linux (`lib/win_minmax.c`): the best sample, the best after it
//! and the best after that. A sample counts no longer than `window`, and the value is never below
//! the newest sample. Within these bounds it may drop a sample early (see `min_rtt.rs`), as the
//! kernel's does.

/// Sample and the count when it was taken.
#[derive(Clone, Copy, Default, Debug)]
struct Sample {
    at: u64,
    value: u64,
}

/// Running maximum over a window of counts.
#[derive(Clone, Debug)]
pub(super) struct MaxFilter {
    window: u64,
    best: [Sample; 3],
}

impl MaxFilter {
    /// A filter without a sample: its value is zero.
    pub(super) fn new(window: u64) -> Self {
        Self {
            window,
            best: [Sample::default(); 3],
        }
    }

    /// Largest sample of the window, zero without samples.
    pub(super) fn value(&self) -> u64 {
        self.best[0].value
    }

    /// Changes the window, from the next sample on.
    pub(super) fn set_window(&mut self, window: u64) {
        self.window = window;
    }

    /// Adds a sample at count `at`, which never decreases.
    pub(super) fn on_sample(&mut self, at: u64, value: u64) {
        let new = Sample { at, value };
        let [first, second, third] = &mut self.best;
        debug_assert!(
            first.value >= second.value && second.value >= third.value,
            "the largest samples are not in order: {first:?} {second:?} {third:?}"
        );
        debug_assert!(
            first.at <= second.at && second.at <= third.at && third.at <= at,
            "a sample at {at} follows {first:?} {second:?} {third:?}"
        );
        if value >= first.value || at - third.at > self.window {
            self.best = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        self.drop_old(new);
    }

    fn drop_old(&mut self, new: Sample) {
        let [first, second, third] = self.best;
        let age = new.at - first.at;
        if age > self.window {
            self.best = [second, third, new];
            if new.at - second.at > self.window {
                self.best = [third, new, new];
            }
        } else if second.at == first.at && age > self.window / 4 {
            self.best = [first, new, new];
        } else if third.at == second.at && age > self.window / 2 {
            self.best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_value_is_no_older_than_the_window_and_not_below_the_newest(
            steps in prop::collection::vec((0..3_u64, 1..50_u64), 1..300),
            window in 1..12_u64,
        ) {
            let mut filter = MaxFilter::new(window);
            let mut seen: Vec<Sample> = Vec::new();
            let mut at = 0;
            for (gap, value) in steps {
                at += gap;
                filter.on_sample(at, value);
                seen.push(Sample { at, value });
                let since = |span: u64| {
                    let recent = seen.iter().filter(|one| one.at + span >= at);
                    recent.map(|one| one.value).max().unwrap_or(0)
                };
                prop_assert!(filter.value() <= since(window));
                prop_assert!(filter.value() >= value);
            }
        }
    }
}
