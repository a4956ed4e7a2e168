//! The largest send buffer that autotuning may reach.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "send-buffer-max",
    name: "the largest send buffer",
    meaning: "The kernel enlarges the send buffer of a connection up to the third value of \
              tcp_wmem. It holds data until it is acknowledged, so it bounds the data in flight. \
              The first and second value do not matter: the buffer is enlarged for the initial \
              window when the connection is established.",
    detection: "The mean in flight over the RTT is below the rate of the path. A program is woken at \
              two thirds of the buffer and fills it, by a super-packet of 64 KiB at least. This holds \
              for programs that wait until the socket is writable (poll); one that blocks in write \
              has bursts of several buffers in flight.",
    fix: "Raise the third value to twice the bandwidth-delay product.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "RFC 9293 section 3.8"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_wmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_wmem";

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let values = facts.triple(NAME)?;
    let window = law::send_window(values[2]);
    // Half of what a blocked write adds waits for the rest of it on the path.
    let wait = path.rate.time_for(Bytes::new(law::send_burst(values[2]) / 2));
    let loaded = Path { rtt: path.rtt + wait, ..*path };
    let limit = loaded.limit_of_window(window)?;
    let [min, default, _] = values;
    let max = buffer_for(path.bdp(), 0.5).max(USUAL_WMEM_MAX);
    let value = format!("{min} {default} {max}");
    let effect = window_over_rtt(window, &loaded);
    Some(setting(facts, Direction::Send, NAME, &value, effect).ceiling(limit))
}
