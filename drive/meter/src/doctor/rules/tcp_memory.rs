//! Memory for all TCP connections together.

use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    id: "tcp-memory",
    name: "the memory for all TCP connections",
    meaning: "All TCP sockets share tcp_mem (pages). Above its second value the kernel is under \
              memory pressure: buffers stop growing and receive windows shrink to four segments. \
              Above the third it drops.",
    detection: "In use now (/proc/net/sockstat) is above the second value: four segments over the \
              RTT. Otherwise the buffers that the path needs exceed the second value less what is \
              in use.",
    fix: "Raise the values, or close connections that hold memory.",
    references: &["ip-sysctl (Documentation/networking/ip-sysctl.rst)", "tcp(7)"],
    needs: &[Fact::Sysctl("net.ipv4.tcp_mem"), Fact::TcpMemory],
    check,
};

const NAME: &str = "net.ipv4.tcp_mem";
/// Segments of the window that is advertised under memory pressure.
const PRESSURE_SEGMENTS: u64 = 4;

fn check(facts: &HostFacts, path: &Path) -> Option<Finding> {
    let [_, pressure, _] = facts.triple(NAME)?;
    let used = facts.tcp_memory_pages?;
    let page = facts.page_bytes.filter(|bytes| *bytes > 0).unwrap_or(4096);
    let share = law::window_share(facts);
    let window = if used >= pressure {
        Bytes::new(path.mss.as_u64().saturating_mul(PRESSURE_SEGMENTS))
    } else {
        law::share_of((pressure - used).saturating_mul(page), share)
    };
    let limit = path.limit_of_window(window)?;
    let wanted = pressure.max(used).saturating_add(buffer_for(path.bdp(), share) / page);
    let value = format!("{} {} {}", wanted / 2, wanted, wanted.saturating_mul(2));
    let effect = format!(
        "{used} pages in use, pressure from {pressure}; {}",
        window_over_rtt(window, path)
    );
    Some(setting(facts, Direction::Both, NAME, &value, effect).ceiling(limit))
}
