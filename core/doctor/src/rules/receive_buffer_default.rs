//! The receive buffer that connections begin with.

use alloc::format;

use gigatcp_units::Bytes;
use gigatcp_units::grammar::human_bytes;

use super::Rule;
use super::text::setting;
use crate::facts::{Fact, HostFacts};
use crate::finding::Finding;
use crate::law;
use crate::path::{Direction, Path};

pub(super) const RULE: Rule = Rule {
    id: "receive-buffer-default",
    name: "the initial receive buffer",
    meaning: "A connection begins with the second value of tcp_rmem. A window below ten segments \
              holds back the first flight of the sender, and autotuning grows from there once per \
              RTT.",
    detection: "Usable share of the second value is below ten segments while autotuning is on. The \
              cost is time at the start of each connection, not a rate.",
    fix: "Set the second value to 131072 or more.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "RFC 6928"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_rmem")],
    check,
};

const NAME: &str = "net.ipv4.tcp_rmem";
/// Segments of the initial window of RFC 6928.
const FIRST_FLIGHT: u64 = 10;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let [min, default, max] = facts.triple(NAME)?;
    let window = law::share_of(default, law::window_share(facts));
    let first_flight = FIRST_FLIGHT * path.mss.as_u64();
    if facts.is_off("net.ipv4.tcp_moderate_rcvbuf") || window.as_u64() >= first_flight {
        return None;
    }
    let value = format!("{min} {} {max}", 131_072.min(max));
    let effect = format!(
        "the first window is {}, less than a first flight of {}; slow start begins late",
        human_bytes(window),
        human_bytes(Bytes::new(first_flight)),
    );
    Some(setting(facts, Direction::Receive, NAME, &value, effect))
}
