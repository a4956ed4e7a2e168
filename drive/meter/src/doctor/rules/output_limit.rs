//! Bytes of one connection below the TCP stack.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "output-limit",
    name: "the bytes of one connection below the stack",
    meaning: "tcp_limit_output_bytes bounds what one connection may have in the queueing \
              discipline and the driver. What is sent counts until the card reports it, which \
              transmit coalescing delays.",
    detection: "The value is below two super-packets of 64 KiB. With the delay of transmit \
              interrupts known, value over delay is the ceiling.",
    fix: "Restore the kernel's default: 1048576, since 6.16 4194304.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_limit_output_bytes")],
    check,
};

const NAME: &str = "net.ipv4.tcp_limit_output_bytes";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let bytes = facts.number(NAME).filter(|bytes| *bytes < 2 * law::SUPER_PACKET)?;
    let card = facts.interface.as_ref();
    let delay = card.and_then(|card| card.coalescing).map(|coalescing| coalescing.tx_us);
    let delay = micros(delay.unwrap_or(0));
    let limit = path
        .limit(Rate::from_amount(Bytes::new(bytes), delay))
        .filter(|_| !delay.is_zero());
    let effect = format!(
        "one connection may have {bytes} B below the stack, less than two super-packets; they \
         count for up to {} after transmission",
        human_duration(delay)
    );
    let finding = setting(facts, Direction::Send, NAME, "4194304", effect);
    Some(match limit {
        Some(limit) => finding.ceiling(limit),
        None => finding.only_if("the driver reports late what it has sent"),
    })
}
