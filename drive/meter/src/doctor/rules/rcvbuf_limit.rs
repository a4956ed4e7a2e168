//! The largest receive buffer that a program may request.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "rcvbuf-limit",
    name: "the largest receive buffer a program may request",
    meaning: "A program that sets SO_RCVBUF, as testers do with -w, is granted at most \
              net.core.rmem_max, silently. The kernel doubles the value for its bookkeeping and \
              switches autotuning of that buffer off. Programs that leave SO_RCVBUF alone are not \
              limited by it: their bound is net.ipv4.tcp_rmem.",
    detection: "Twice the value, times the usable share, over the RTT is below the rate of the path.",
    fix: "Raise the value, or do not request a buffer in the program.",
    references: &["socket(7)", "FreeBSD kern/6032 (1998)"],
    needs: &[Fact::Sysctl("net.core.rmem_max")],
    check,
};

const NAME: &str = "net.core.rmem_max";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let granted = facts.number(NAME)?.saturating_mul(2);
    let share = law::window_share(facts);
    let window = law::share_of(granted, share);
    let limit = path.limit_of_window(window)?;
    let value = buffer_for(path.bdp(), 2.0 * share).to_string();
    let effect = window_over_rtt(window, path);
    let finding = setting(facts, Direction::Receive, NAME, &value, effect);
    let overrides = "it caps SO_RCVBUF silently; without SO_RCVBUF, net.ipv4.tcp_rmem applies";
    Some(
        finding
            .ceiling(limit)
            .overriding(overrides)
            .only_if("a program sets SO_RCVBUF (-w of testers)"),
    )
}
