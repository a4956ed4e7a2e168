//! State of this host at one time: CPU time by core and kind, of this process, and drops.
//!
//! It is read from `/proc` and `/sys`; missing files give unknown values. CPU time of cores has
//! steps of 10 ms, so readings less than 100 ms apart contain little about cores. CPU time of
//! threads is exact.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;

use gigatcp_units::{Duration, Instant};
use gigatcp_why::counters::{CardLosses, CoreTimes, HostReading};

use crate::system;

/// Maximum of threads whose CPU time is read; with more, reading costs too much.
const MAX_THREADS: usize = 512;

/// Reader of this host's counters.
#[derive(Clone, Debug, Default)]
pub struct HostSampler {
    /// Interface whose drops count; `None`: all of the namespace.
    interface: Option<String>,
}

impl HostSampler {
    /// A sampler that counts the drops of one interface.
    pub fn of_interface(name: impl Into<String>) -> Self {
        Self {
            interface: Some(name.into()),
        }
    }

    /// Reads the host at time `at` of the caller's clock.
    pub fn read(&self, at: Instant) -> HostReading {
        let text = |path: &str| fs::read_to_string(path).ok();
        let thread = busiest_thread();
        let softnet = text("/proc/net/softnet_stat");
        HostReading {
            at,
            cores: text("/proc/stat").map_or_else(Vec::new, |stat| cores(&stat)),
            process: Some(process()),
            thread,
            throttled: throttled(),
            softnet_drops: softnet.as_deref().map(|stat| softnet_column(stat, 1)),
            time_squeeze: softnet.as_deref().map(|stat| softnet_column(stat, 2)),
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

/// Last boot of a host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Boot {
    /// Random ID of the boot (`/proc/sys/kernel/random/boot_id`).
    pub id: String,
    /// Time of the boot, in seconds since 1970.
    pub started: u64,
}

impl Boot {
    /// Last boot of this host; `None` if the system does not report it.
    pub fn of_this_host() -> Option<Self> {
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let started = stat.lines().find_map(|line| line.strip_prefix("btime "));
        Some(Self {
            id: id.trim().to_owned(),
            started: started?.trim().parse().ok()?,
        })
    }
}

/// Losses counted by an interface since a first reading.
#[derive(Clone, Debug)]
pub struct CardWatch {
    name: String,
    before: BTreeMap<String, u64>,
}

impl CardWatch {
    /// Reads the counters of the interface towards an address. `None` if the system does not name
    /// it.
    pub fn towards(address: IpAddr) -> Option<Self> {
        let name = system::interface_towards(address)?;
        let before = system::loss_counters(&name);
        Some(Self { name, before })
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Counters that have grown since the first reading.
    pub fn losses(&self) -> CardLosses {
        let now = system::loss_counters(&self.name).into_iter();
        let grown = now.filter_map(|(name, count)| {
            // A counter that was missing before is left out: its start is unknown.
            let more = count.checked_sub(*self.before.get(&name)?)?;
            (more > 0).then_some((name, more))
        });
        CardLosses {
            name: self.name.clone(),
            grown: grown.collect(),
        }
    }
}

/// CPU time of this process, its ended threads included.
fn process() -> Duration {
    let (user, system) = system::clock::process_split();
    (user + system).into()
}

/// CPU time of this process's busiest thread. `None` with too many threads.
fn busiest_thread() -> Option<Duration> {
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    let tasks: Vec<fs::DirEntry> = tasks.take(MAX_THREADS + 1).collect();
    if tasks.len() > MAX_THREADS {
        return None;
    }
    let times = tasks.iter().filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        let ns = text.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(ns))
    });
    times.max()
}

/// Time for which the control group of this process was throttled.
///
/// The quota is that of version 2, or of the `cpu` controller of version 1, which counts the time
/// of each CPU.
fn throttled() -> Option<Duration> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let stat = |at: &str| fs::read_to_string(format!("/sys/fs/cgroup{at}/cpu.stat")).ok();
    let first = groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        is_cpu.then(|| stat(&format!("/{controllers}{group}")))?
    });
    let second = || {
        let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
        stat(group)
    };
    throttled_of(&first.or_else(second)?)
}

/// Throttled time of a `cpu.stat`: nanoseconds in version 1, microseconds in version 2.
fn throttled_of(stat: &str) -> Option<Duration> {
    stat.lines().find_map(|line| {
        let (word, rest) = line.split_once(' ')?;
        let number = rest.trim().parse().ok()?;
        match word {
            "throttled_time" => Some(Duration::from_nanos(number)),
            "throttled_usec" => Some(Duration::from_micros(number)),
            _ => None,
        }
    })
}

/// Parses the lines `cpuN` of `/proc/stat`, whose unit is 10 ms on all Linux architectures.
fn cores(stat: &str) -> Vec<CoreTimes> {
    let lines = stat.lines().filter_map(|line| {
        let rest = line.strip_prefix("cpu")?;
        let number = rest.split(' ').next()?.parse().ok()?;
        Some((number, rest))
    });
    lines
        .map(|(number, line)| {
            let numbers = line.split_whitespace().skip(1);
            let times: Vec<Duration> = numbers
                .map(|number| Duration::from_millis(number.parse::<u64>().unwrap_or(0) * 10))
                .collect();
            let of = |place: usize| times.get(place).copied().unwrap_or_default();
            CoreTimes {
                number,
                user: of(0) + of(1),
                system: of(2),
                idle: of(3) + of(4),
                iowait: of(4),
                irq: of(5),
                softirq: of(6),
                steal: of(7),
            }
        })
        .collect()
}

/// A column of `/proc/net/softnet_stat`, summed over all cores: 1 is drops, 2 is squeezes.
fn softnet_column(stat: &str, place: usize) -> u64 {
    let counts = stat.lines().filter_map(|line| {
        let column = line.split_whitespace().nth(place)?;
        u64::from_str_radix(column, 16).ok()
    });
    counts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_proc_are_the_kinds_of_time() {
        let stat = "cpu  9 9 9\ncpu0 100 20 30 4000 50 6 70 8 0 0\nintr 5\n";
        let ms = Duration::from_millis;
        let expected = CoreTimes {
            number: 0,
            user: ms(1200),
            system: ms(300),
            softirq: ms(700),
            irq: ms(60),
            idle: ms(40_500),
            iowait: ms(500),
            steal: ms(80),
        };
        assert_eq!(cores(stat), [expected]);
        let softnet = "02f2 00000010 1\n02fa 00000002 0\n";
        assert_eq!([1, 2].map(|place| softnet_column(softnet, place)), [18, 1]);
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
