//! Settings below `/proc/sys` and counters below `/proc/net`.

use std::fs;
use std::io;

use crate::doctor::facts::{Conntrack, Fact, Softnet};
use crate::doctor::{HostFacts, RULES};
use gigatcp_linux::settings;

use super::{absent, file, noted, reason};

/// Settings that no rule requires but that rules take into account.
const FURTHER: [&str; 4] = [
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_no_ssthresh_metrics_save",
    "net.core.netdev_budget",
];

pub(super) fn read(facts: &mut HostFacts) {
    let needed = RULES.iter().flat_map(|rule| rule.needs);
    let mut names: Vec<&str> = needed
        .filter_map(|fact| match fact {
            Fact::Sysctl(name) => Some(*name),
            _ => None,
        })
        .chain(FURTHER)
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        match settings::read(name) {
            Ok(value) => {
                facts.sysctls.insert(name.into(), value);
            }
            Err(error) => {
                facts.unreadable.insert(name.into(), reason(&error));
            }
        }
    }
    facts.is_contained = is_contained();
    facts.kernel = file("/proc/sys/kernel/osrelease");
    facts.host = file("/proc/sys/kernel/hostname");
    facts.tcp_memory_pages = noted(facts, Fact::TcpMemory, tcp_memory());
    facts.softnet = noted(facts, Fact::Softnet, softnet());
    facts.conntrack = noted(facts, Fact::Conntrack, conntrack());
}

/// Whether the namespace is another than the machine's first. Settings of the whole machine are
/// read-only there, for root too.
fn is_contained() -> Option<bool> {
    let of_machine = fs::metadata("/proc/sys/net/ipv4/tcp_allowed_congestion_control").ok()?;
    Some(of_machine.permissions().readonly())
}

/// Pages of TCP sockets.
///
/// The line is `TCP: inuse 1 orphan 0 tw 0 alloc 1 mem 0`.
fn tcp_memory() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/sockstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"));
    let mut words = line.unwrap_or_default().split_whitespace();
    words.find(|word| *word == "mem");
    let pages = words.next().and_then(|word| word.parse().ok());
    pages.ok_or_else(|| absent("TCP memory"))
}

/// Softnet counters per CPU.
///
/// One line per CPU, hexadecimal; since 5.10 the thirteenth column is the CPU.
fn softnet() -> io::Result<Vec<Softnet>> {
    let text = fs::read_to_string("/proc/thread-self/net/softnet_stat")?;
    Ok((0..)
        .zip(text.lines())
        .map(|(row, line)| cpu_of(row, line))
        .collect())
}

fn cpu_of(row: u64, line: &str) -> Softnet {
    let columns: Vec<u64> = line
        .split_whitespace()
        .map(|word| u64::from_str_radix(word, 16).unwrap_or(0))
        .collect();
    let column = |index: usize| columns.get(index).copied();
    Softnet {
        cpu: column(12).unwrap_or(row),
        processed: column(0).unwrap_or(0),
        dropped: column(1).unwrap_or(0),
        squeezed: column(2).unwrap_or(0),
    }
}

fn conntrack() -> io::Result<Conntrack> {
    let number = |name: &str| {
        let text = settings::read(&format!("net.netfilter.{name}"))?;
        text.parse().map_err(io::Error::other)
    };
    Ok(Conntrack {
        count: number("nf_conntrack_count")?,
        max: number("nf_conntrack_max")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_softnet_stat_is_read_with_the_number_of_its_cpu() {
        let line = "0307075c 000002b9 0000000a 0 0 0 0 0 0 0 0 00000000 00000003 0 0";
        let read = cpu_of(1, line);
        let expected = Softnet {
            cpu: 3,
            processed: 50_792_284,
            dropped: 697,
            squeezed: 10,
        };
        assert_eq!(read, expected);
        assert_eq!(cpu_of(1, "05 00 00").cpu, 1);
    }
}
