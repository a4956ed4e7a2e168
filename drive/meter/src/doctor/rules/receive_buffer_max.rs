//! The largest receive buffer that autotuning may reach.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "receive-buffer-max",
    name: "the largest receive buffer",
    meaning: "The kernel enlarges the receive buffer of a connection up to the third value of \
              tcp_rmem. Part of a buffer is bookkeeping; the rest is the largest window that is \
              ever advertised.",
    detection: "Usable share of the third value over the RTT is below the rate of the path. The \
              share is 1/2 before Linux 6.6 (tcp_adv_win_scale 1); later kernels measure it from \
              the packets that arrive.",
    fix: "Raise the third value above the bandwidth-delay product divided by the usable share.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "RFC 7323 section 2", "Fisk, Feng 2001"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_rmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_rmem";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let values = facts.triple(NAME)?;
    // A smaller share is a separate finding (window-share).
    let share = law::window_share(facts).max(0.5);
    let window = law::share_of(values[2], share);
    let limit = path.limit_of_window(window)?;
    let value = good_rmem(values, facts, path);
    let effect = window_over_rtt(window, path);
    Some(setting(facts, Direction::Receive, NAME, &value, effect).ceiling(limit))
}
