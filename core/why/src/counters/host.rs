//! One reading of a host: CPU time by core and kind, and packets that it dropped.

use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::{Duration, Instant};

/// CPU time of one core since boot, by kind (`/proc/stat`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CoreTimes {
    /// Its number, as in `/proc/stat`: offline cores have no line there.
    pub number: u32,
    /// User mode.
    pub user: Duration,
    /// Kernel mode on behalf of programs.
    pub system: Duration,
    /// Packet processing after interrupts.
    pub softirq: Duration,
    /// Interrupts.
    pub irq: Duration,
    /// Idle, including waits for disks.
    pub idle: Duration,
    /// Part of `idle` that waited for disks.
    pub iowait: Duration,
    /// Steal time: taken by a hypervisor.
    pub steal: Duration,
}

impl CoreTimes {
    /// Total.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.user + self.system + self.softirq + self.irq + self.idle + self.steal
    }
}

/// Counters of a host at one time; they only grow.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HostReading {
    /// Time of the reading, on the clock of the connection's readings.
    pub at: Instant,
    /// Each core; empty if unknown.
    pub cores: Vec<CoreTimes>,
    /// CPU time of the process that sends or receives, all threads.
    pub process: Option<Duration>,
    /// CPU time of its busiest thread.
    pub thread: Option<Duration>,
    /// Time in which a CPU quota of its control group throttled the process.
    pub throttled: Option<Duration>,
    /// Packets dropped before protocol processing (`/proc/net/softnet_stat`).
    pub softnet_drops: Option<u64>,
    /// Times that packet processing ended with work left (third column of the same file).
    pub time_squeeze: Option<u64>,
    /// Packets that the receiving interface dropped, its ring included.
    pub nic_drops: Option<u64>,
    /// Datagrams and segments dropped at full sockets.
    pub socket_drops: Option<u64>,
}

/// Growth of an interface's counters of losses.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct CardLosses {
    /// Name of the interface.
    pub name: String,
    /// Names of the counters in `ethtool -S` and `ip -s link`, and their growth.
    pub grown: Vec<(String, u64)>,
}

/// Activity of a host between two readings, as fractions of that time and counts.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct HostUse {
    /// Busy fraction of the busiest core; steal counts as busy.
    pub core: Option<f64>,
    /// Fraction of the busiest core for packet processing.
    pub softirq: Option<f64>,
    /// CPU time of the busiest thread over the time. That of the process if the thread's is
    /// unknown.
    pub process: Option<f64>,
    /// Fraction of the time in which a CPU quota throttled the process.
    pub throttled: Option<f64>,
    /// Fraction of the time of all cores that a hypervisor took.
    pub steal: Option<f64>,
    /// Packets dropped by the interface and before protocol processing.
    pub drops: Option<u64>,
}

impl HostUse {
    /// Activity from one reading to the next; `None` if no time passed.
    #[must_use]
    pub fn between(from: &HostReading, to: &HostReading) -> Option<Self> {
        let time = to.at.saturating_since(from.at).as_secs_f64();
        if time <= 0.0 {
            return None;
        }
        let share = |from: Option<Duration>, to: Option<Duration>| {
            Some(to?.saturating_sub(from?).as_secs_f64() / time)
        };
        let more = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let cores = from.cores.iter().zip(&to.cores);
        let busiest = cores
            .clone()
            .filter_map(|(from, to)| busy(from, to))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        let total = |cores: &[CoreTimes], of: fn(&CoreTimes) -> Duration| {
            cores.iter().map(|core| of(core).as_secs_f64()).sum::<f64>()
        };
        let grown = |of| total(&to.cores, of) - total(&from.cores, of);
        let all = grown(CoreTimes::total);
        let drops = [
            more(from.softnet_drops, to.softnet_drops),
            more(from.nic_drops, to.nic_drops),
        ];
        Some(Self {
            core: busiest.map(|(busy, _)| busy),
            softirq: busiest.map(|(_, softirq)| softirq),
            process: share(from.thread, to.thread).or_else(|| share(from.process, to.process)),
            throttled: share(from.throttled, to.throttled),
            steal: (all > 0.0).then(|| grown(|core| core.steal) / all),
            drops: drops.into_iter().flatten().reduce(|a, b| a + b),
        })
    }
}

/// Busy fraction of a core, and the fraction for packet processing.
fn busy(from: &CoreTimes, to: &CoreTimes) -> Option<(f64, f64)> {
    let all = to.total().saturating_sub(from.total()).as_secs_f64();
    let share = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64() / all;
    (all > 0.0).then(|| {
        let busy = 1.0 - share(from.idle, to.idle);
        (busy.clamp(0.0, 1.0), share(from.softirq, to.softirq))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn the_busiest_core_counts_and_drops_add_up() {
        let ms = Duration::from_millis;
        let core = |user, softirq, idle| CoreTimes {
            user: ms(user),
            softirq: ms(softirq),
            idle: ms(idle),
            ..CoreTimes::default()
        };
        let from = HostReading {
            cores: vec![core(0, 0, 0), core(0, 0, 0)],
            thread: Some(ms(10)),
            nic_drops: Some(4),
            softnet_drops: Some(1),
            ..HostReading::default()
        };
        let to = HostReading {
            at: Instant::ZERO + ms(100),
            cores: vec![core(20, 70, 10), core(50, 0, 50)],
            thread: Some(ms(60)),
            nic_drops: Some(7),
            softnet_drops: Some(1),
            ..HostReading::default()
        };
        let used = HostUse::between(&from, &to).unwrap();
        assert!((used.core.unwrap() - 0.9).abs() < 1e-9);
        assert!((used.softirq.unwrap() - 0.7).abs() < 1e-9);
        assert_eq!((used.process, used.throttled), (Some(0.5), None));
        assert_eq!(used.drops, Some(3));
        assert_eq!(HostUse::between(&to, &to), None);
    }
}
