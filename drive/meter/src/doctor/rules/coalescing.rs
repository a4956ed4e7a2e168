//! Interrupts that wait long for more packets.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "coalescing-delay",
    name: "a long interrupt delay",
    meaning: "Interrupt coalescing adds its delay to each RTT. Windows then carry less, and slow \
              start takes longer.",
    detection: "The receive delay is fixed and above a tenth of the RTT. The ceiling is that of the \
              receive buffer over the longer RTT, where that is below the rate of the path.",
    fix: "Lower the delay, or let the driver adapt it.",
    references: &["ethtool(8)"],
    needs: &[Fact::Coalescing],
    check,
};

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let card = facts.interface.as_ref()?;
    let coalescing = card.coalescing.filter(|coalescing| !coalescing.adaptive_rx)?;
    let delay = micros(coalescing.rx_us);
    if delay.as_nanos() <= path.rtt.as_nanos() / 10 {
        return None;
    }
    let longer = Path { rtt: Duration::from_nanos(path.rtt.as_nanos().saturating_add(delay.as_nanos())), ..*path };
    let max = facts.triple("net.ipv4.tcp_rmem").map_or(u64::MAX, |[_, _, max]| max);
    let window = law::share_of(max, law::window_share(facts));
    let limit = longer.limit_of_window(window);
    let (name, micros) = (&card.name, coalescing.rx_us);
    let finding = Finding::new(
        Direction::Receive,
        format!("interrupt delay of {name} = {micros} us"),
        format!("ethtool -c {name}"),
        format!("each RTT of {} grows by up to {micros} us", human_duration(path.rtt)),
        format!("ethtool -C {} adaptive-rx on", word(name)),
    )
    .undo(format!("ethtool -C {} adaptive-rx off rx-usecs {micros}", word(name)));
    Some(finding.ceiling(limit))
}
