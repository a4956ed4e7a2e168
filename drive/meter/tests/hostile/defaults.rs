//! The guide's figures are the defaults.

use std::time::Duration;

use gigatcp_meter::tester::{Admission, MAX_DURATION, MAX_STAMP_RATE, MAX_TOTAL_STAMP_RATE};
use gigatcp_protocol::iperf3::{MAX_FLOWS, MAX_SIZE};

const GUIDE: &str = include_str!("../../../../docs/guide/server.md");

#[test]
fn guide_has_the_limits_that_a_server_has_by_default() {
    let Admission {
        tests,
        queue,
        per_address,
        allow,
        limits,
        connections,
        memory,
        idle,
    } = Admission::default();
    assert!(allow.is_empty() && limits.total_rate == 0);
    assert!(memory.is_some_and(|memory| memory > 0));
    assert_eq!(
        (limits.time, idle),
        (MAX_DURATION, Duration::from_secs(120))
    );
    let block = limits.block >> 20;
    let grouped = |number: u32| format!("{},{:03}", number / 1000, number % 1000);
    let datagram = grouped(limits.datagram);
    for row in [
        format!("| tests at a time | {tests}; {queue} more clients wait |"),
        format!("or of a /64 of IPv6 | {per_address} |"),
        format!("| the same of a /48 of IPv6 | {} |", per_address * 3 / 2),
        format!("| duration of a test | {MAX_DURATION} s |"),
        format!("| time without data | {} s |", idle.as_secs()),
        format!("| streams of a test | {} |", limits.streams),
        format!(
            "| connections of a test of requests | {} |",
            grouped(MAX_FLOWS)
        ),
        format!(
            "| the same of all tests, of a source | {}, {} |",
            grouped(connections),
            grouped(connections / 2)
        ),
        format!("| request, response | {} KiB each |", MAX_SIZE >> 10),
        format!("| STAMP packets of a source | {MAX_STAMP_RATE}/s |"),
        format!(
            "| STAMP packets of all | {}/s |",
            grouped(MAX_TOTAL_STAMP_RATE)
        ),
        format!("| block, datagram | {block} MiB, {datagram} bytes |"),
    ] {
        assert!(GUIDE.contains(&row), "{row}");
    }
}
