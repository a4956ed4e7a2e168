//! An interrupt for every packet.

use super::prelude::*;
use crate::doctor::law::INTERRUPT;

pub(super) const RULE: Rule = Rule {
    id: "interrupt-per-packet",
    name: "an interrupt for every packet",
    meaning: "Without coalescing the card raises an interrupt per packet. Under load the kernel \
              polls instead, so this costs most at rates just below one core's capacity.",
    detection: "The receive delay is 0, or one frame raises an interrupt, without adaptation. The \
              ceiling is one core with the CPU time of a segment and an interrupt.",
    fix: "Set a delay of some tens of microseconds, or let the driver adapt it.",
    references: &["ethtool(8)", "Mogul, Ramakrishnan 1997"],
    needs: &[Fact::Coalescing],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let coalescing = card.coalescing.filter(|coalescing| !coalescing.adaptive_rx)?;
    if coalescing.rx_us > 0 && coalescing.rx_frames != 1 || coalescing.rx_frames > 1 {
        return None;
    }
    // It has no coalescing to switch on.
    if card.driver.as_deref() == Some("virtio_net") {
        return None;
    }
    let mut work = Work::of_receiver(facts);
    work.per_segment += INTERRUPT;
    let limit = path.limit(work.core_rate(path.mss))?;
    let name = &card.name;
    let finding = Finding::new(
        Direction::Receive,
        format!(
            "coalescing of {name}: delay {} us, {}",
            coalescing.rx_us,
            counted(coalescing.rx_frames, "frame")
        ),
        format!("ethtool -c {name}"),
        format!("one core handles about {} with an interrupt per packet", human_rate(limit)),
        format!("ethtool -C {} adaptive-rx on", word(name)),
    );
    let undo = format!(
        "ethtool -C {} adaptive-rx off rx-usecs {} rx-frames {}",
        word(name),
        coalescing.rx_us, coalescing.rx_frames
    );
    let condition = "packets arrive singly; in a burst the kernel polls";
    Some(finding.only_if(condition).ceiling(limit).undo(undo))
}
