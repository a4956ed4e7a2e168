//! Windows without scaling.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "window-scaling-off",
    name: "windows without scaling",
    meaning: "Without the window scale option no window exceeds 65535 bytes, in either direction: \
              both ends must offer it.",
    detection: "tcp_window_scaling is 0 and 65535 bytes over the RTT are below the rate of the path.",
    fix: "Switch it on. A middlebox that cannot handle the option is the only reason to switch \
              it off.",
    references: &["RFC 7323 section 2", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_window_scaling")],
    check,
};

const NAME: &str = "net.ipv4.tcp_window_scaling";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let window = Bytes::new(law::UNSCALED_WINDOW);
    let limit = path.limit_of_window(window).filter(|_| facts.is_off(NAME))?;
    let effect = window_over_rtt(window, path);
    let finding = setting(facts, Direction::Both, NAME, "1", effect).ceiling(limit);
    // The other end's buffer is not known.
    let own = autotuned_window(facts).filter(|_| path.direction == Direction::Receive);
    Some(finding.whatif([format!("{NAME}=1")].into_iter().chain(own)))
}
