//! CPU steal time: the `steal` of proc_stat(5), the CPU time that a hypervisor gave to other
//! guests; unknown if the hypervisor does not report it.
//!
//! Counted in ticks of a hundredth of a second over all CPUs together. The resolution of a run of
//! ten seconds on two CPUs is thus one part in 2000.

use std::fs;

/// Ticks of all CPUs since boot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessorTicks {
    stolen: u64,
    all: u64,
}

impl ProcessorTicks {
    /// Ticks until now; `None` if the system does not report them.
    pub fn now() -> Option<Self> {
        Self::of(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// Parses `user nice system idle iowait irq softirq steal`. The fields that follow, guests of
    /// this machine, are contained in the first two.
    fn of(text: &str) -> Option<Self> {
        const FIELDS: usize = 8;
        let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks = line.split_ascii_whitespace().take(FIELDS);
        let ticks = ticks
            .map(|word| word.parse().ok())
            .collect::<Option<Vec<u64>>>()
            .filter(|ticks| ticks.len() == FIELDS)?;
        Some(Self {
            stolen: ticks[FIELDS - 1],
            all: ticks.iter().fold(0, |sum, more| sum.saturating_add(*more)),
        })
    }

    /// Share of the time since `before` that was stolen, 0 to 1. `None` before the first tick.
    pub fn stolen_since(self, before: Self) -> Option<f64> {
        let passed = self
            .all
            .checked_sub(before.all)
            .filter(|ticks| *ticks > 0)?;
        Some(self.stolen.saturating_sub(before.stolen) as f64 / passed as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_time_and_guests_are_not_counted_twice() {
        let before = ProcessorTicks::of("cpu  100 0 50 800 10 0 5 35 90 0\ncpu0 1\n").unwrap();
        let after = ProcessorTicks::of("cpu  150 0 60 920 10 0 5 55 99 0\n").unwrap();
        assert_eq!(after.stolen_since(before), Some(0.1));
        assert_eq!(after.stolen_since(after), None);
    }

    #[test]
    fn a_line_that_is_short_or_no_number_is_not_guessed_at() {
        for text in [
            "",
            "cpu0 1 2 3 4 5 6 7 8\n",
            "cpu 1 2 3\n",
            "cpu 1 2 3 4 5 6 x 8\n",
        ] {
            assert_eq!(ProcessorTicks::of(text), None, "{text}");
        }
    }

    #[test]
    fn this_machine_tells() {
        assert!(ProcessorTicks::now().is_some());
    }
}
