//! Receive buffers that keep their initial size.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "receive-autotuning-off",
    name: "a receive buffer that does not grow",
    meaning: "With tcp_moderate_rcvbuf = 0 the receive buffer of a connection keeps the second \
              value of tcp_rmem, whatever the path. The third value has no effect then.",
    detection: "tcp_moderate_rcvbuf is 0 and the usable share of the second value of tcp_rmem over \
              the RTT is below the rate of the path.",
    fix: "Switch autotuning on.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "Fisk, Feng 2001"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_moderate_rcvbuf"), Fact::Sysctl("net.ipv4.tcp_rmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_moderate_rcvbuf";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let [_, default, _] = facts.triple("net.ipv4.tcp_rmem")?;
    if !facts.is_off(NAME) {
        return None;
    }
    let window = law::share_of(default, law::window_share(facts));
    let limit = path.limit_of_window(window)?;
    let overrides = format!("the buffer stays at the second value of tcp_rmem, {default} B");
    let effect = window_over_rtt(window, path);
    let finding = setting(facts, Direction::Receive, NAME, "1", effect);
    Some(finding.ceiling(limit).overriding(overrides).whatif(autotuned_window(facts)))
}
