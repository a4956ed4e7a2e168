//! The receive buffer that connections begin with.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "receive-buffer-default",
    name: "the initial receive buffer",
    meaning: "A connection begins with the second value of tcp_rmem. A window below ten segments \
              holds back the first flight of the sender, and autotuning grows from there once per \
              RTT.",
    detection: "Usable share of the second value is below ten segments (14600 bytes at most) while autotuning is on. The \
              cost is time at the start of each connection, not a rate.",
    fix: "Set the second value to 131072 or more.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "RFC 6928"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_rmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_rmem";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let values = facts.triple(NAME)?;
    let window = law::first_flight(values[1], facts, path)?;
    if facts.is_off("net.ipv4.tcp_moderate_rcvbuf") {
        return None;
    }
    let value = good_rmem(values, facts, path);
    let effect = format!(
        "the first window is {}, less than the first flight of a sender; slow start begins late",
        human_bytes(window),
    );
    Some(setting(facts, Direction::Receive, NAME, &value, effect))
}
