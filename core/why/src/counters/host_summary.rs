//! Activity of a host during a test, core by core, and the command to run if one core is saturated.
//!
//! One core at 100 % of a host with 16 is 6 % on average: a mean over cores hides it. Interrupts of
//! a queue of the network card, the protocol work that follows them, and a thread that copies each
//! run on one core at a time.
//!
//! Out of scope: a thread that moves between cores. It is saturated while every core has time left;
//! [`HostUse::process`](super::HostUse::process) shows it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use gigatcp_units::Duration;

use super::host::{CardLosses, CoreTimes, HostReading};
use crate::verdict::percent;

/// Minimum busy fraction of a saturated core. The tick of `/proc/stat` and the start and the end of
/// a test, in which nothing flows yet, hide the rest.
const SATURATED: f64 = 0.9;

/// Minimum number of squeezes per second for a note. Below it, packets wait for 1 ms at most.
const SQUEEZES: f64 = 10.0;

/// Fractions of a core's time.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct CoreShares {
    /// Its number.
    pub number: u32,
    /// User mode.
    pub user: f64,
    /// Kernel mode on behalf of programs.
    pub system: f64,
    /// Packet processing after interrupts.
    pub softirq: f64,
    /// Interrupts.
    pub irq: f64,
    /// Steal time: taken by a hypervisor.
    pub steal: f64,
    /// Idle while a disk worked.
    pub iowait: f64,
}

impl CoreShares {
    /// Fractions between two readings of a core; `None` if no tick passed.
    fn between(from: &CoreTimes, to: &CoreTimes) -> Option<Self> {
        let all = to.total().saturating_sub(from.total()).as_secs_f64();
        let share =
            |of: fn(&CoreTimes) -> Duration| of(to).saturating_sub(of(from)).as_secs_f64() / all;
        (all > 0.0).then(|| Self {
            number: to.number,
            user: share(|core| core.user),
            system: share(|core| core.system),
            softirq: share(|core| core.softirq),
            irq: share(|core| core.irq),
            steal: share(|core| core.steal),
            iowait: share(|core| core.iowait),
        })
    }

    /// Busy fraction.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.softirq + self.irq + self.steal
    }

    /// Fractions with the names of `/proc/stat`.
    #[must_use]
    pub fn kinds(&self) -> [(&'static str, f64); 6] {
        [
            ("user", self.user),
            ("system", self.system),
            ("softirq", self.softirq),
            ("irq", self.irq),
            ("steal", self.steal),
            ("iowait", self.iowait),
        ]
    }

    /// Kind of work that took most time.
    fn main_kind(&self) -> &'static str {
        let busy = self.kinds().into_iter().take(5);
        busy.max_by(|a, b| a.1.total_cmp(&b.1))
            .map_or("user", |(name, _)| name)
    }
}

/// Activity of a host from one reading to another.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct HostSummary {
    /// Each core.
    pub cores: Vec<CoreShares>,
    /// CPU time of the busiest thread of the tester's process. As a fraction of a core.
    pub thread: Option<f64>,
    /// Packets dropped before protocol processing.
    pub softnet_drops: Option<u64>,
    /// Times that packet processing ended with work left.
    pub time_squeeze: Option<u64>,
    /// Losses that the interface in use counted.
    pub card: Option<CardLosses>,
    /// Time between the readings.
    pub time: Duration,
}

impl HostSummary {
    /// Summarizes the time between two readings; `None` if no time passed.
    #[must_use]
    pub fn between(
        from: &HostReading,
        to: &HostReading,
        card: Option<&CardLosses>,
    ) -> Option<Self> {
        let time = to.at.saturating_since(from.at);
        let more = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let core = |to: &CoreTimes| {
            let mut before = from.cores.iter();
            CoreShares::between(before.find(|from| from.number == to.number)?, to)
        };
        (!time.is_zero()).then(|| Self {
            cores: to.cores.iter().filter_map(core).collect(),
            thread: from
                .thread
                .zip(to.thread)
                .map(|(from, to)| to.saturating_sub(from).as_secs_f64() / time.as_secs_f64()),
            softnet_drops: more(from.softnet_drops, to.softnet_drops),
            time_squeeze: more(from.time_squeeze, to.time_squeeze),
            card: card.cloned(),
            time,
        })
    }

    /// Busy fraction of all cores together.
    #[must_use]
    pub fn mean_busy(&self) -> f64 {
        let sum: f64 = self.cores.iter().map(CoreShares::busy).sum();
        sum / f64::max(self.cores.len() as f64, 1.0)
    }

    /// Busiest core if it is saturated.
    #[must_use]
    pub fn saturated(&self) -> Option<&CoreShares> {
        let cores = self.cores.iter();
        let first = cores.max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
        (first.busy() >= SATURATED).then_some(first)
    }

    /// Formats the saturated core; `None` if there is none. As in `core 3 was 99 % busy (softirq 92
    /// %, system 7 %), all 16 cores 8 %`.
    #[must_use]
    pub fn saturated_text(&self) -> Option<String> {
        let core = self.saturated()?;
        let mut kinds = core.kinds();
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        let shown = kinds.iter().filter(|(_, share)| *share >= 0.05);
        let shown: Vec<String> = shown
            .map(|(name, share)| format!("{name} {}", percent(*share)))
            .collect();
        let others = match self.cores.len() {
            1 => ", the only core".into(),
            count => format!(", all {count} cores {}", percent(self.mean_busy())),
        };
        let (number, busy) = (core.number, percent(core.busy()));
        Some(format!(
            "core {number} was {busy} busy ({}){others}",
            shown.join(", ")
        ))
    }

    /// A command or advice for the saturated core; `None` without one.
    #[must_use]
    pub fn core_advice(&self) -> Option<String> {
        let core = self.saturated()?;
        let number = core.number;
        let card = self.card.as_ref().map(|card| card.name.as_str());
        let is_local = card == Some("lo");
        let name = card.unwrap_or("INTERFACE");
        let is_ours = self
            .thread
            .is_some_and(|thread| thread >= 0.8 * core.busy());
        Some(match core.main_kind() {
            "steal" => "more CPUs, or dedicated ones, for this virtual machine".into(),
            "softirq" | "irq" if is_local => {
                "sender and receiver share this host's cores: test from another host".into()
            }
            "softirq" | "irq" if self.cores.len() > 1 => format!(
                "spread packet processing over cores: ethtool -L {name} combined {}, or echo {} > \
                 /sys/class/net/{name}/queues/rx-0/rps_cpus (RPS); keep the process off core \
                 {number} (-A), or move the interrupt (/proc/irq/N/smp_affinity_list)",
                self.cores.len(),
                self.mask_without(number)
            ),
            "softirq" | "irq" => format!("fewer interrupts: ethtool -C {name} adaptive-rx on"),
            _ if self.mean_busy() >= SATURATED => {
                "every core is busy: see what else runs (ps -eo pcpu,comm --sort=-pcpu | head)"
                    .into()
            }
            _ if is_ours && self.cores.len() > 1 => {
                "use more cores: more streams (-P 4), or a core that interrupts leave alone (-A)"
                    .into()
            }
            _ => format!(
                "see what runs on core {number} (ps -eLo psr,pcpu,comm --sort=-pcpu | head); move \
                 it, or the test (-A)"
            ),
        })
    }

    /// All cores except one as a mask for `rps_cpus`: groups of 32 bits.
    fn mask_without(&self, number: u32) -> String {
        let groups = self.cores.iter().map(|core| core.number / 32).max();
        let group = |index: u32| {
            let of = self.cores.iter().filter(|core| core.number / 32 == index);
            let others = of.filter(|core| core.number != number);
            others.fold(0_u32, |mask, core| mask | 1 << (core.number % 32))
        };
        let groups = (0..=groups.unwrap_or(0)).rev().map(group);
        let mut text = String::new();
        for group in groups {
            text = match text.is_empty() {
                true => format!("{group:x}"),
                false => format!("{text},{group:08x}"),
            };
        }
        text
    }

    /// Formats the drops of the host, by counter; `None` without drops.
    #[must_use]
    pub fn drops_text(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(card) = &self.card {
            let grown = card.grown.iter();
            let grown: Vec<String> = grown
                .map(|(name, count)| format!("{name} {count}"))
                .collect();
            if !grown.is_empty() {
                parts.push(format!("{}: {}", card.name, grown.join(", ")));
            }
        }
        if let Some(count) = self.softnet_drops.filter(|count| *count > 0) {
            parts.push(format!("{count} at a full backlog (softnet_stat)"));
        }
        let squeezes = self.time_squeeze.unwrap_or(0);
        if squeezes as f64 >= SQUEEZES * self.time.as_secs_f64() {
            parts.push(format!(
                "packet processing ended {squeezes} times with work left (time_squeeze)"
            ));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use gigatcp_units::Instant;

    /// A host whose cores spent this time in softirq, system and user. Times are in milliseconds of
    /// one second.
    fn second(cores: &[[u64; 3]]) -> HostSummary {
        let ms = Duration::from_millis;
        let core = |(number, [softirq, system, user]): (u32, &[u64; 3])| CoreTimes {
            number,
            softirq: ms(*softirq),
            system: ms(*system),
            user: ms(*user),
            idle: ms(1000 - softirq - system - user),
            ..CoreTimes::default()
        };
        let to = HostReading {
            at: Instant::ZERO + ms(1000),
            cores: (0..).zip(cores).map(core).collect(),
            thread: Some(ms(200)),
            softnet_drops: Some(7),
            time_squeeze: Some(3),
            ..HostReading::default()
        };
        let none = CoreTimes::default();
        let from = HostReading {
            cores: (0..)
                .zip(cores)
                .map(|(number, _)| CoreTimes { number, ..none })
                .collect(),
            thread: Some(Duration::ZERO),
            softnet_drops: Some(5),
            time_squeeze: Some(0),
            ..HostReading::default()
        };
        let card = CardLosses {
            name: "eth0".into(),
            grown: vec![("rx_missed_errors".into(), 12)],
        };
        HostSummary::between(&from, &to, Some(&card)).unwrap()
    }

    #[test]
    fn a_core_without_time_left_is_named_where_the_average_hides_it() {
        // (980 + 100) / 4 cores = 27 %.
        let host = second(&[[0; 3], [0, 100, 0], [0; 3], [920, 60, 0]]);
        assert_eq!(
            host.saturated_text().unwrap(),
            "core 3 was 98 % busy (softirq 92 %, system 6.0 %), all 4 cores 27 %"
        );
        let advice = host.core_advice().unwrap();
        assert!(advice.contains("ethtool -L eth0 combined 4"), "{advice}");
        assert!(advice.contains("echo 7 > /sys"), "{advice}");
    }

    #[test]
    fn cores_with_time_left_are_no_line() {
        let host = second(&[[400, 200, 200], [0; 3]]);
        assert_eq!((host.saturated_text(), host.core_advice()), (None, None));
    }

    #[test]
    fn another_program_on_the_core_is_not_cured_by_more_streams() {
        // The tester's thread took 20 % of a second, the core was busy for 95 %.
        let advice = second(&[[0, 0, 950], [0; 3]]).core_advice().unwrap();
        assert!(advice.starts_with("see what runs on core 0"), "{advice}");
    }

    #[test]
    fn drops_are_listed_by_counter_and_rare_squeezes_are_not() {
        assert_eq!(
            second(&[[0; 3]]).drops_text().unwrap(),
            "eth0: rx_missed_errors 12; 2 at a full backlog (softnet_stat)"
        );
    }

    #[test]
    fn masks_have_groups_of_32_bits() {
        let cores: Vec<[u64; 3]> = vec![[0; 3]; 40];
        assert_eq!(second(&cores).mask_without(33), "fd,ffffffff");
    }
}
