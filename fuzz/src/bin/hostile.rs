//! Prints the cost of hostile peers to an engine and a listener, as tables:
//!
//!     cargo run --release -p gigatcp-fuzz --bin hostile

use gigatcp_fuzz::flood;
use gigatcp_fuzz::memory::Counting;
use gigatcp_fuzz::peers::{self, run};
use gigatcp_tcp::profile::SynCookies;
use gigatcp_wire::IpVersion;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!(
        "{:<16} {:>9} {:>9} {:>10} {:>9} {:>8} {:>8} {:>9}  the peer",
        "attack", "segm. in", "segm. out", "memory KiB", "allocated", "ns/segm.", "cwnd", "RTO ms"
    );
    for attack in &peers::ALL {
        let cost = run(attack, IpVersion::V4);
        println!(
            "{:<16} {:>9} {:>9} {:>10} {:>9} {:>8} {:>8} {:>9}  {}",
            attack.name,
            cost.arrived,
            cost.sent,
            cost.memory >> 10,
            cost.allocations,
            cost.per_segment_ns,
            cost.cwnd,
            cost.rto.as_nanos() / 1_000_000,
            attack.what
        );
    }
    println!(
        "\n{:<16} {:>9} {:>10} {:>9} {:>8}",
        "syn flood", "answered", "memory KiB", "allocated", "let in"
    );
    for (name, cookies) in [
        ("no cookies", SynCookies::Off),
        ("while full", SynCookies::WhenFull),
        ("always", SynCookies::Always),
    ] {
        let cost = flood::run(100_000, cookies);
        println!(
            "{name:<16} {:>9} {:>10} {:>9} {:>8}",
            cost.answered,
            cost.memory >> 10,
            cost.allocations,
            cost.let_in
        );
    }
}
