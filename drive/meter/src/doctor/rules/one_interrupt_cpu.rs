//! All interrupts of the card on one CPU.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "one-interrupt-cpu",
    name: "one CPU that takes all interrupts",
    meaning: "One CPU takes all interrupts of the card and receives all packets. Connections \
              cannot exceed what that core handles together, and it competes with the application \
              for the core.",
    detection: "At least 95 % of the card's interrupts are on one of several CPUs, packets are not \
              steered to others, and one core handles less than the rate of the path (an estimate \
              for about 3 GHz).",
    fix: "Spread the card's queues over CPUs, or steer packets (RPS).",
    references: &["Documentation/networking/scaling.rst"],
    needs: &[Fact::Interrupts, Fact::Steering],
    check,
};

/// Fraction of interrupts on one CPU that counts as all.
const ALL: f64 = 0.95;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let per_cpu = card.interrupts_per_cpu();
    let total = total(per_cpu.iter().copied());
    let (cpu, most) = per_cpu.iter().enumerate().max_by_key(|(_, count)| **count)?;
    let is_one = total > 0 && *most as f64 >= ALL * total as f64;
    if per_cpu.len() < 2 || !is_one || card.is_steered() {
        return None;
    }
    let limit = path.limit(Work::of_receiver(facts).core_rate(path.mss))?;
    let name = &card.name;
    let file = format!("/sys/class/net/{name}/queues/rx-0/rps_cpus");
    let path = word(&file);
    let old = card.rps_cpus.as_ref().and_then(|masks| masks.first());
    let finding = Finding::new(
        Direction::Receive,
        format!("interrupts of {name}: {most} of {total} on CPU {cpu}"),
        "/proc/interrupts",
        format!("one core receives about {}", human_rate(limit)),
        format!("echo {} > {path}", mask(facts.cpus.unwrap_or(per_cpu.len() as u64))),
    );
    let undo = old.map_or("0", String::as_str);
    Some(finding.of_machine().ceiling(limit).undo(format!("echo {undo} > {path}")))
}

/// Maximum number of CPUs of a kernel.
const MOST_CPUS: u64 = 8192;

/// Mask of the first `cpus` CPUs. It has groups of 32, as the kernel writes it.
fn mask(cpus: u64) -> String {
    let group = |bits: u64| format!("{:x}", (1_u64 << bits.min(32)) - 1);
    let mut words = Vec::new();
    let mut left = cpus.clamp(1, MOST_CPUS);
    while left > 32 {
        words.push(group(32));
        left -= 32;
    }
    words.insert(0, group(left));
    words.join(",")
}
