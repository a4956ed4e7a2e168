//! State of the card from `/sys` and `/proc/interrupts`: node, steering, interrupts.
//!
//! `/sys` shows the network namespace in which it was mounted. If that is another one, an interface
//! of the same name there is a different one, and nothing is read.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::doctor::HostFacts;
use crate::doctor::facts::{Fact, Interrupt, Unreadable};

use super::interface::link;
use super::{absent, file, noted};

pub(super) fn read(facts: &mut HostFacts, name: &str) {
    let directory = PathBuf::from("/sys/class/net").join(name);
    if !is_this(&directory, name) {
        for fact in [Fact::Steering, Fact::NumaNode, Fact::Interrupts] {
            let why = Unreadable {
                cause: "/sys shows another network namespace".into(),
                grant: Some("mount a sysfs in this namespace (ip netns exec does)".into()),
            };
            facts.unreadable.insert(fact.name().into(), why);
        }
        return;
    }
    let rps = noted(facts, Fact::Steering, masks(&directory));
    let node = noted(facts, Fact::NumaNode, node(&directory));
    let interrupts = noted(facts, Fact::Interrupts, interrupts(&directory, name));
    if let Some(card) = &mut facts.interface {
        card.rps_cpus = rps;
        card.numa_node = node;
        card.interrupts = interrupts;
    }
}

/// Whether the directory is that of the interface of this namespace.
fn is_this(directory: &std::path::Path, name: &str) -> bool {
    let file = |name: &str| file(directory.join(name)).unwrap_or_default();
    let Ok(link) = link(name) else {
        return false;
    };
    file("ifindex") == link.index().to_string() && file("address") == link.address()
}

/// CPU masks of the receive queues, in their order.
fn masks(directory: &std::path::Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for queue in 0.. {
        let path = directory.join(format!("queues/rx-{queue}/rps_cpus"));
        match fs::read_to_string(path) {
            Ok(mask) => found.push(mask.trim().to_owned()),
            Err(error) if queue == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(found)
}

fn node(directory: &std::path::Path) -> io::Result<i64> {
    let text = fs::read_to_string(directory.join("device/numa_node"))?;
    text.trim().parse().map_err(io::Error::other)
}

/// Interrupts of the card: those of its device, else those named after it.
fn interrupts(directory: &std::path::Path, name: &str) -> io::Result<Vec<Interrupt>> {
    let of_device: Vec<u64> = fs::read_dir(directory.join("device/msi_irqs"))
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let found = lines(&fs::read_to_string("/proc/interrupts")?, &of_device, name);
    if found.is_empty() {
        return Err(absent("interrupts"));
    }
    Ok(found)
}

fn lines(table: &str, of_device: &[u64], name: &str) -> Vec<Interrupt> {
    let mut lines = table.lines();
    let cpus = lines.next().unwrap_or_default().split_whitespace().count();
    let one = |line: &str| {
        let (before, rest) = line.split_once(':')?;
        let number = before.trim().parse().ok()?;
        let mut words = rest.split_whitespace();
        let counts = words.by_ref().take(cpus).map(str::parse);
        let per_cpu = counts.collect::<Result<_, _>>().ok()?;
        let label = words.last().unwrap_or_default();
        let is_named = label == name || label.starts_with(&format!("{name}-"));
        (of_device.contains(&number) || is_named).then_some(Interrupt { number, per_cpu })
    };
    lines.filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "           CPU0       CPU1\n \
        24:          1          0  IO-APIC   5-edge      ACPI:Ged\n \
        40:        500         20  PCI-MSI 524288-edge      eth0-TxRx-0\n \
        41:          0        700  PCI-MSI 524289-edge      mlx5_comp1@pci:0000:81:00.0\n\
        NMI:          0          0   Non-maskable interrupts\n";

    #[test]
    fn interrupts_of_a_card_are_found_by_its_device_and_by_its_name() {
        let found = lines(TABLE, &[41], "eth0");
        let numbers: Vec<_> = found.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [40, 41]);
        assert_eq!(found[0].per_cpu, [500, 20]);
        assert!(lines(TABLE, &[], "eth").is_empty());
    }
}
