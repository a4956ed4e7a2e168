//! This host at one moment: CPU time by core and kind, of this process, and drops.
//!
//! Read from `/proc` and `/sys`; what they lack is unknown. CPU time of cores has steps of
//! 10 ms, so readings less than 100 ms apart say little of cores. That of threads is exact.

use std::fs;

use gigatcp_units::{Duration, Instant};
use gigatcp_why::counters::{CoreTimes, HostReading};

/// Reads this host.
#[derive(Clone, Debug, Default)]
pub struct HostSampler {
    /// The interface whose drops count; `None`: all of the namespace.
    interface: Option<String>,
}

impl HostSampler {
    /// One that counts the drops of one interface.
    #[must_use]
    pub fn of_interface(name: impl Into<String>) -> Self {
        Self {
            interface: Some(name.into()),
        }
    }

    /// Reads the host at a moment of the caller's clock.
    #[must_use]
    pub fn read(&self, at: Instant) -> HostReading {
        let text = |path: &str| fs::read_to_string(path).ok();
        let threads = threads();
        HostReading {
            at,
            cores: text("/proc/stat").map_or_else(Vec::new, |stat| cores(&stat)),
            process: threads.as_deref().map(sum),
            thread: threads.and_then(|all| all.into_iter().max()),
            throttled: throttled(),
            softnet_drops: text("/proc/net/softnet_stat").map(|stat| softnet_drops(&stat)),
            nic_drops: self.nic_drops(),
            socket_drops: None,
        }
    }

    fn nic_drops(&self) -> Option<u64> {
        let count = |name: &str, counter: &str| {
            let path = format!("/sys/class/net/{name}/statistics/{counter}");
            fs::read_to_string(path).ok()?.trim().parse::<u64>().ok()
        };
        let of = |name: &str| {
            let counters = ["rx_dropped", "rx_missed_errors", "rx_fifo_errors"];
            let known = counters
                .into_iter()
                .filter_map(|counter| count(name, counter));
            known.reduce(|a, b| a + b)
        };
        if let Some(name) = &self.interface {
            return of(name);
        }
        let all = fs::read_dir("/sys/class/net").ok()?.flatten();
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| of(&name)).reduce(|a, b| a + b)
    }
}

fn sum(all: &[Duration]) -> Duration {
    all.iter().fold(Duration::ZERO, |sum, one| sum + *one)
}

/// CPU time of each thread of this process.
fn threads() -> Option<Vec<Duration>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    let times = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let ns = text.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(ns))
    });
    Some(times.collect())
}

/// Time in which the quota of this process' control group was used up: of version 2, or of the
/// `cpu` controller of version 1, which counts each CPU's.
fn throttled() -> Option<Duration> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let stat = |at: &str| fs::read_to_string(format!("/sys/fs/cgroup{at}/cpu.stat")).ok();
    let first = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        let is_cpu = controllers.split(',').any(|one| one == "cpu");
        is_cpu.then(|| stat(&format!("/{controllers}{group}")))?
    });
    let second = || {
        let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        stat(group)
    };
    throttled_of(&first.or_else(second)?)
}

/// The throttled time of a `cpu.stat`: nanoseconds in version 1, microseconds in version 2.
fn throttled_of(stat: &str) -> Option<Duration> {
    stat.lines().find_map(|line| {
        let (word, number) = line.split_once(' ')?;
        let number = number.trim().parse().ok()?;
        match word {
            "throttled_time" => Some(Duration::from_nanos(number)),
            "throttled_usec" => Some(Duration::from_micros(number)),
            _ => None,
        }
    })
}

/// The lines `cpuN` of `/proc/stat`, whose unit is 10 ms on all of Linux' machines.
fn cores(stat: &str) -> Vec<CoreTimes> {
    let lines = stat.lines().filter_map(|line| {
        let rest = line.strip_prefix("cpu")?;
        rest.starts_with(|c: char| c.is_ascii_digit())
            .then_some(rest)
    });
    lines
        .map(|line| {
            let numbers = line.split_whitespace().skip(1);
            let times: Vec<Duration> = numbers
                .map(|number| Duration::from_millis(number.parse::<u64>().unwrap_or(0) * 10))
                .collect();
            let of = |place: usize| times.get(place).copied().unwrap_or_default();
            CoreTimes {
                user: of(0) + of(1),
                system: of(2),
                idle: of(3) + of(4),
                irq: of(5),
                softirq: of(6),
                steal: of(7),
            }
        })
        .collect()
}

/// The second column of `/proc/net/softnet_stat`, of all cores.
fn softnet_drops(stat: &str) -> u64 {
    let dropped = stat.lines().filter_map(|line| {
        let column = line.split_whitespace().nth(1)?;
        u64::from_str_radix(column, 16).ok()
    });
    dropped.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_proc_are_the_kinds_of_time() {
        let stat = "cpu  9 9 9\ncpu0 100 20 30 4000 50 6 70 8 0 0\nintr 5\n";
        let ms = Duration::from_millis;
        let expected = CoreTimes {
            user: ms(1200),
            system: ms(300),
            softirq: ms(700),
            irq: ms(60),
            idle: ms(40_500),
            steal: ms(80),
        };
        assert_eq!(cores(stat), [expected]);
        assert_eq!(softnet_drops("02f2 00000010 1\n02fa 00000002 0\n"), 18);
    }

    #[test]
    fn this_host_has_cores_and_this_thread_uses_time() {
        let sampler = HostSampler::default();
        let before = sampler.read(Instant::ZERO);
        let mut sum = 0_u64;
        while sampler.read(Instant::ZERO).process == before.process {
            sum = (0..100_000_u64).fold(sum, u64::wrapping_add);
        }
        assert!(
            !before.cores.is_empty() && before.thread <= before.process,
            "{sum}"
        );
    }
}
