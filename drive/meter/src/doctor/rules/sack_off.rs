//! Loss recovery without selective acknowledgments.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "sack-off",
    name: "loss recovery without SACK",
    meaning: "Without SACK the sender learns of one lost segment per RTT. A slow start that \
              overshoots a full path loses up to a window of segments, and recovery takes that \
              many RTTs.",
    detection: "tcp_sack is 0. The time is up to one RTT per segment of the bandwidth-delay product; \
              how often that happens is not known, so no rate is given.",
    fix: "Switch it on.",
    references: &["RFC 2018", "RFC 6582 section 3", "RFC 6675"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_sack")],
    check,
};

const NAME: &str = "net.ipv4.tcp_sack";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    if !facts.is_off(NAME) {
        return None;
    }
    let segments = path.segments();
    let longest = Duration::from_secs_f64(segments * path.rtt.as_secs_f64());
    let effect = format!(
        "recovery of n losses takes n RTTs; an overshoot by a window of {segments:.0} segments up to {}",
        human_duration(longest)
    );
    Some(setting(facts, Direction::Both, NAME, "1", effect))
}
