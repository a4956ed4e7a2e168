//! Windows that shrink during a pause.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "idle-restart",
    name: "slow start after a pause",
    meaning: "With tcp_slow_start_after_idle = 1 a connection that pauses for longer than its RTO \
              begins again with the initial window, as RFC 5681 recommends. Transfers that never \
              pause are not affected.",
    detection: "The setting is 1 and slow start to the bandwidth-delay product takes longer than the \
              shortest pause that triggers it (200 ms plus one RTT).",
    fix: "Switch it off if the path is yours and the application sends in bursts; pacing \
              limits the burst.",
    references: &["RFC 5681 section 4.1", "RFC 7661", "ip-sysctl (Documentation/networking/ip-sysctl.rst)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_slow_start_after_idle")],
    check,
};

const NAME: &str = "net.ipv4.tcp_slow_start_after_idle";
const MIN_RTO: Duration = Duration::from_millis(200);

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    if facts.number(NAME) != Some(1) {
        return None;
    }
    let initial = facts.metrics().initcwnd_segments.unwrap_or(law::INITIAL_WINDOW).max(1) as f64;
    let rounds = doublings(path.segments() / initial);
    let climb = Duration::from_secs_f64(rounds * path.rtt.as_secs_f64());
    if climb.as_nanos().saturating_sub(path.rtt.as_nanos()) < MIN_RTO.as_nanos() {
        return None;
    }
    let effect = format!(
        "after a pause the window begins at {initial:.0} segments and needs {} to fill the path",
        human_duration(climb)
    );
    let finding = setting(facts, Direction::Send, NAME, "0", effect);
    Some(finding.only_if("an application pauses for longer than the RTO"))
}
