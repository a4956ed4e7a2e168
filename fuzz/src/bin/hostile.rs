//! What hostile peers cost an engine, as a table:
//!
//!     cargo run --release -p gigatcp-fuzz --bin hostile

use gigatcp_fuzz::memory::Counting;
use gigatcp_fuzz::peers::{self, suffer};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!(
        "{:<16} {:>9} {:>9} {:>10} {:>8} {:>8} {:>9}  the peer",
        "attack", "segm. in", "segm. out", "memory KiB", "ns/segm.", "cwnd", "RTO ms"
    );
    for attack in &peers::ALL {
        let cost = suffer(attack);
        println!(
            "{:<16} {:>9} {:>9} {:>10} {:>8} {:>8} {:>9}  {}",
            attack.name,
            cost.arrived,
            cost.sent,
            cost.memory >> 10,
            cost.per_segment_ns,
            cost.cwnd,
            cost.rto.as_nanos() / 1_000_000,
            attack.what
        );
    }
}
