//! Connections without timestamps.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "timestamps-off",
    name: "missing timestamps",
    meaning: "Timestamps give an RTT sample per ACK, detect spurious retransmissions (Eifel), and \
              reject old duplicates when sequence numbers wrap (PAWS).",
    detection: "tcp_timestamps is 0. The effect names the time in which half the sequence space \
              passes at the rate of the path; no rate is given.",
    fix: "Switch it on. The option takes 12 bytes of each segment.",
    references: &["RFC 7323 sections 3 to 5"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_timestamps")],
    check,
};

const NAME: &str = "net.ipv4.tcp_timestamps";
/// Half the sequence space.
const WRAP: Bytes = Bytes::new(1 << 31);

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    if !facts.is_off(NAME) {
        return None;
    }
    let effect = format!(
        "sequence numbers wrap in {} without protection against old duplicates; RTT samples are \
         missing during loss recovery",
        human_duration(path.rate.time_for(WRAP))
    );
    Some(setting(facts, Direction::Both, NAME, "1", effect))
}
