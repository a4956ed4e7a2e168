//! A receive ring that overflows.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "rx-ring",
    name: "a small receive ring",
    meaning: "A receive ring holds what arrives while its CPU is away. If the ring is full, frames \
              are dropped in bursts.",
    detection: "Ring times MSS over the coalescing delay is below the rate of the path: it overflows \
              always. Over 1 ms, with a larger ring possible: it overflows while the CPU does \
              something else for that long.",
    fix: "Raise the ring to its maximum.",
    references: &["ethtool(8)", "experiment shalunov-stall (E08 to E16)"],
    needs: &[Fact::Rings],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let rings = card.rings?;
    // With a bound on frames the interrupt precedes a full ring.
    let unbounded = card
        .coalescing
        .filter(|wait| wait.rx_frames == 0 || wait.rx_frames >= rings.rx);
    let delay = micros(unbounded.map_or(0, |wait| wait.rx_us));
    let limit_of = |pause| path.limit(law::ring_rate(rings.rx, path.mss, pause));
    let always = limit_of(delay).filter(|_| !delay.is_zero());
    let sometimes = limit_of(law::CPU_PAUSE).filter(|_| rings.rx < rings.rx_max);
    let pause = if always.is_some() { delay } else { law::CPU_PAUSE };
    let limit = always.or(sometimes)?;
    let name = &card.name;
    let effect = format!(
        "{} x {} B hold {} of arrivals at {}",
        rings.rx,
        path.mss.as_u64(),
        human_duration(path.rate.time_for(Bytes::new(rings.rx.saturating_mul(path.mss.as_u64())))),
        human_rate(path.rate),
    );
    let (fix, undo) = if rings.rx < rings.rx_max {
        let size = |descriptors: u64| format!("ethtool -G {} rx {descriptors}", word(name));
        (size(rings.rx_max), size(rings.rx))
    } else {
        let wait = |micros: u64| format!("ethtool -C {} rx-usecs {micros}", word(name));
        (wait(50), wait(delay.as_micros()))
    };
    let finding = Finding::new(
        Direction::Receive,
        format!("receive ring of {name} = {} of {}", rings.rx, rings.rx_max),
        format!("ethtool -g {name}"),
        format!("{effect}; the CPU comes every {}", human_duration(pause)),
        fix,
    )
    .ceiling(limit)
    .undo(undo);
    Some(match always {
        Some(_) => finding,
        None => finding.only_if("the CPU of the queue is away for 1 ms"),
    })
}
