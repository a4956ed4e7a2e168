//! The largest send buffer that a program may request.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "sndbuf-limit",
    name: "the largest send buffer a program may request",
    meaning: "A program that sets SO_SNDBUF, as testers do with -w, is granted at most \
              net.core.wmem_max, silently. The kernel doubles the value for its bookkeeping and \
              switches autotuning of that buffer off. Programs that leave SO_SNDBUF alone are not \
              limited by it: their bound is net.ipv4.tcp_wmem.",
    detection: "What twice the value holds in flight (as send-buffer-max) over the RTT is below the rate of \
              the path.",
    fix: "Raise the value, or do not request a buffer in the program.",
    references: &["socket(7)", "FreeBSD kern/6032 (1998)"],
    needs: &[Fact::Sysctl("net.core.wmem_max")],
    check,
};

const NAME: &str = "net.core.wmem_max";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let granted = facts.number(NAME)?.saturating_mul(2);
    let window = law::send_window(granted);
    let limit = path.limit_of_window(window)?;
    let value = buffer_for(path.bdp(), 1.0).to_string();
    let effect = window_over_rtt(window, path);
    let finding = setting(facts, Direction::Send, NAME, &value, effect);
    let overrides = "it caps SO_SNDBUF silently; without SO_SNDBUF, net.ipv4.tcp_wmem applies";
    Some(
        finding
            .ceiling(limit)
            .overriding(overrides)
            .only_if("a program sets SO_SNDBUF (-w of testers)"),
    )
}
