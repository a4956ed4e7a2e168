//! The share of the receive buffer that is window.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "window-share",
    name: "a small usable share of the receive buffer",
    meaning: "Before Linux 6.6, tcp_adv_win_scale sets which share of a receive buffer is \
              advertised as window: 1 - 2^-n, or 2^n for n <= 0. Later kernels measure the share \
              and ignore the setting.",
    detection: "The kernel is older than 6.6, the share is below 1/2, and the share of the third \
              value of tcp_rmem over the RTT is below the rate of the path.",
    fix: "Set it to 1, the kernel's default.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_adv_win_scale"), Fact::Sysctl("net.ipv4.tcp_rmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_adv_win_scale";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let [_, _, max] = facts.triple("net.ipv4.tcp_rmem")?;
    let share = law::window_share(facts);
    facts.sysctl(NAME)?;
    if law::is_share_measured(facts) || share >= 0.5 {
        return None;
    }
    let window = law::share_of(max, share);
    let limit = path.limit_of_window(window)?;
    let effect = format!(
        "{:.0} % of the buffer is window; {}",
        share * 100.0,
        window_over_rtt(window, path)
    );
    let finding = setting(facts, Direction::Receive, NAME, "1", effect);
    Some(finding.ceiling(limit).whatif(autotuned_window(facts)))
}
