//! A card on another NUMA node than its interrupts.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "numa-node",
    name: "a card on another NUMA node",
    meaning: "Packets whose interrupts are handled on another NUMA node than the card's cross the \
              link between nodes, and so does every copy.",
    detection: "More than half of the card's interrupts are on CPUs of another node, and one core at \
              70 % (remote memory) handles less than the rate of the path (an estimate for about 3 \
              GHz).",
    fix: "Bind interrupts and application to CPUs of the card's node.",
    references: &["Documentation/networking/scaling.rst", "numactl(8)"],
    needs: &[Fact::NumaNode, Fact::Interrupts],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let id = card.numa_node.filter(|node| *node >= 0)?;
    let node = facts.nodes.as_deref()?.iter().find(|node| node.id == id)?;
    let per_cpu = card.interrupts_per_cpu();
    let all = total(per_cpu.iter().copied());
    let far = (0_u64..).zip(&per_cpu).filter(|(cpu, _)| !node.has(*cpu));
    let far = total(far.map(|(_, count)| *count));
    if far <= all / 2 {
        return None;
    }
    let core = Work::of_host(facts).core_rate(path.mss);
    let limit = path.limit(law::scaled(core, law::REMOTE_MEMORY))?;
    let name = &card.name;
    let lines: Vec<String> = card
        .interrupts
        .iter()
        .flatten()
        .map(|line| format!("/proc/irq/{}/smp_affinity_list", line.number))
        .collect();
    let finding = Finding::new(
        Direction::Both,
        format!("{name} on node {id}, {far} of {all} interrupts elsewhere"),
        format!("/sys/class/net/{name}/device/numa_node"),
        format!("one core handles about {} through remote memory", human_rate(limit)),
        format!("echo {} | tee {}", node.cpus, lines.join(" ")),
    );
    Some(finding.of_machine().ceiling(limit))
}
