//! Compares the packet cost budget of 1988 with its arithmetic (E70, E72).

use std::sync::OnceLock;

use gigatcp_plan::record::FlowRecord;

use crate::Experiment;

fn flow(series: &str) -> &'static FlowRecord {
    static EXPERIMENT: OnceLock<Experiment> = OnceLock::new();
    EXPERIMENT
        .get_or_init(|| Experiment::run("cost-budget"))
        .flow(series)
}

/// Checks microseconds per packet, nanoseconds per byte copied, and per byte checksummed. The
/// checksum of the headers is part of the packet's cost.
fn assert_time(series: &str, packet: f64, copied: f64, summed: f64) {
    let flow = flow(series);
    // Each write ends in a segment shorter than 1408 bytes: one in twelve.
    let payload = flow.bytes as f64 / flow.segments_sent as f64;
    let expected = packet + (copied + summed) * payload / 1e3;
    let measured = payload * 8e6 / flow.goodput_bps;
    let ratio = measured / expected;
    assert!((0.995..=1.005).contains(&ratio), "{series}: {ratio:.4}");
}

#[test]
fn a_packet_takes_the_sum_of_what_is_done_to_it() {
    assert_time("stock", 1500.0, 195.0, 479.0);
    assert_time("stock-fast-sum", 1500.0, 195.0, 127.0);
    assert_time("stock-fast-copy", 1500.0, 137.0, 479.0);
    assert_time("stock-fewer-instructions", 800.0, 195.0, 479.0);
    assert_time("cleaned", 800.0, 137.0, 127.0);
    assert_time("cleaned-one-loop", 800.0, 195.0, 0.0);
    assert_time("cleaned-card-sums", 800.0, 137.0, 0.0);
    assert_time("cleaned-packet-only", 800.0, 0.0, 0.0);
}

#[test]
fn what_three_improvements_gain_together_is_more_than_the_sum_of_each_alone() {
    let mbps = |series| flow(series).goodput_bps / 1e6;
    let alone: f64 = [
        "stock-fast-sum",
        "stock-fast-copy",
        "stock-fewer-instructions",
    ]
    .map(|series| mbps(series) - mbps("stock"))
    .iter()
    .sum();
    assert!(mbps("cleaned") - mbps("stock") > 1.5 * alone);
}
